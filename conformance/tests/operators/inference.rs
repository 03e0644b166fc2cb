//! Compares inference with that of the reference: on every model of the corpus, with and without its declarations of values,
//! with and without the reference's propagation of data.
//!
//! A value is *contradicted* where a number, a rank or an element type differs, and *less known* where the reference has
//! a number, a rank or an element type and we have none. Both must be in the reviewed list below, with a reason. What we
//! know and the reference does not is counted.
#![allow(clippy::print_stderr, reason = "a table, for who wants to see it")]

use conformance::corpus::{CorpusModel, in_parallel, left_out, models, scratch};
use conformance::oracle::{Oracle, is_ok};
use onnx_ir::{Model, ValueDef};
use onnx_ops::infer::{Facts, InferOptions, Ty, infer};
use onnx_ops::schema::Registry;
use onnx_proto::file;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Larger models are compared where `CI=true`: the reference copies their weights.
const MAX_BYTES: u64 = 64 << 20;

/// Where we differ from the reference for a reason: the end of a model's name, a value (`*` is any), and why.
const REVIEWED: &[(&str, &str, &str)] = &[
    ("test_loop13_seq", "seq_res", "the reference believes that all elements have the shape of the first"),
    ("table_ch_slanet_loop", "*", "the reference calculates with extents of -1 as if they were numbers"),
    ("ddddocr_old_int8", "387", "the declared rank is wrong: onnxruntime computes rank 3"),
];

#[derive(Default)]
pub(super) struct Count {
    values: usize,
    ranks: [usize; 2],
    dims: [usize; 2],
    symbolic: [usize; 2],
    anonymous: usize,
}

#[test]
fn we_know_more_than_the_reference() {
    let Some(oracle) = Oracle::find("inference against the reference") else { return };
    let (mut models, all) = (models(), models().len());
    if std::env::var("CI").is_err() {
        models.retain(|m| m.size <= MAX_BYTES);
        if models.len() < all {
            left_out(&format!(
                "inference of {} large models against the reference (CI=true has them)",
                all - models.len()
            ));
        }
    }
    let folder = scratch("inference");
    let mut wrong = Vec::new();
    for (title, strip, data_prop) in [
        ("as they are", false, false),
        ("as they are, with data propagation", false, true),
        ("without declared types, with data propagation", true, true),
    ] {
        let mut requests = Vec::new();
        for (i, model) in models.iter().enumerate() {
            let path = model.path.display().to_string();
            requests.push(json!({"op": "infer", "path": path, "strip": strip, "data_prop": data_prop}));
            if strip {
                let out = folder.join(format!("{i}.onnx")).display().to_string();
                requests.push(json!({"op": "stripped", "path": path, "out": out}));
            }
        }
        let answers = oracle.ask(&requests);
        let step = if strip { 2 } else { 1 };
        let jobs: Vec<(usize, &CorpusModel, &Value)> =
            models.iter().enumerate().map(|(i, m)| (i, m, &answers[i * step])).collect();
        let results = in_parallel(&jobs, |(i, model, answer)| {
            let path = if strip { folder.join(format!("{i}.onnx")) } else { model.path.clone() };
            let bytes = file::open(&path).expect("a model of the corpus can be read");
            let read = onnx_proto::read(bytes).value;
            let mut inference = infer(&read, Registry::builtin(), &InferOptions::default());
            compare(&model.name, &read, &mut inference.facts, answer)
        });
        let mut total = Count::default();
        for (count, differences) in results {
            total.add(&count);
            wrong.extend(differences.into_iter().map(|d| format!("{title}: {d}")));
        }
        let failed = jobs.iter().filter(|(_, _, answer)| !is_ok(answer)).count();
        eprintln!("{}", total.table(title, models.len(), failed));
    }
    wrong.sort();
    wrong.dedup();
    let shown: Vec<_> = wrong.iter().take(1000).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), shown.join("\n"));
}

impl Count {
    fn add(&mut self, other: &Count) {
        self.values += other.values;
        self.anonymous += other.anonymous;
        for i in 0..2 {
            self.ranks[i] += other.ranks[i];
            self.dims[i] += other.dims[i];
            self.symbolic[i] += other.symbolic[i];
        }
    }

    fn table(&self, title: &str, models: usize, failed: usize) -> String {
        let row = |what: &str, [ours, theirs]: [usize; 2]| format!("  {what:<34} {ours:>9} {theirs:>9}\n");
        format!(
            "inference of {models} models {title} ({} values; the reference refuses {failed} models)\n",
            self.values
        ) + &format!("  {:<34} {:>9} {:>9}\n", "", "ours", "reference")
            + &row("values of known rank", self.ranks)
            + &row("dimensions that are numbers", self.dims)
            + &row("dimensions that are expressions", self.symbolic)
            + &format!("  {:<34} {:>9}\n", "of these anonymous symbols", self.anonymous)
    }
}

/// A type as text, taken apart: what is around the tensor, its element type, its dimensions.
#[derive(PartialEq, Debug)]
struct Parts<'a> {
    around: &'a str,
    elem: &'a str,
    dims: Option<Vec<&'a str>>,
}

fn parts(text: &str) -> Parts<'_> {
    let mut at = 0;
    for kind in ["seq(", "optional(", "sparse_tensor("].iter().cycle().take(9) {
        if text[at..].starts_with(kind) {
            at += kind.len();
        }
    }
    if text[at..].starts_with("map(") {
        at += text[at..].find(' ').map_or(0, |space| space + 1);
    }
    let (around, tensor) = text.split_at(at);
    let depth = around.matches('(').count();
    let tensor = &tensor[..tensor.len() - depth];
    let Some((elem, dims)) = tensor.split_once('[') else {
        return Parts { around, elem: tensor, dims: Some(Vec::new()) };
    };
    let dims = dims.strip_suffix(']').unwrap_or(dims);
    Parts { around, elem, dims: (!dims.is_empty()).then(|| split(dims)) }
}

/// At commas outside of brackets: an expression may have some.
fn split(dims: &str) -> Vec<&str> {
    let (mut depth, mut start, mut list) = (0, 0, Vec::new());
    for (i, c) in dims.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                list.push(&dims[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    list.push(&dims[start..]);
    list
}

pub(super) fn compare(name: &str, model: &Model, facts: &mut Facts, answer: &Value) -> (Count, Vec<String>) {
    let mut count = Count::default();
    let mut differences = Vec::new();
    let Some(main) = model.main else { return (count, differences) };
    let body = &model.bodies[main];
    let Some(root) = body.root() else { return (count, differences) };
    let theirs: BTreeMap<&str, &str> = answer["types"]
        .as_object()
        .map(|types| types.iter().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?))).collect())
        .unwrap_or_default();
    for &node in &body.graphs[root].nodes {
        for &value in body.nodes[node].outputs.iter().flatten() {
            if !matches!(body.values[value].def, ValueDef::Output(by, _) if by == node) {
                continue;
            }
            let value_name = &model.names[body.values[value].name];
            let ty = facts.resolved(main, value).ty;
            let text = ty.text(&facts.dims);
            count.values += 1;
            let ours = parts(&text);
            count_parts(&mut count, 0, &ours);
            if let Ty::Tensor(t) = &ty {
                let fresh = t.shape.iter().flatten().filter(|&&d| facts.dims.is_fresh(d));
                count.anonymous += fresh.count();
            }
            let Some(reference) = theirs.get(value_name) else { continue };
            let reference_parts = parts(reference);
            count_parts(&mut count, 1, &reference_parts);
            if let Some(what) = difference(&ours, &reference_parts) {
                let is_reviewed = REVIEWED.iter().any(|(end, v, _)| {
                    name.trim_end_matches("/model").ends_with(end) && (*v == "*" || *v == value_name)
                });
                if !is_reviewed {
                    let op = model.text(body.nodes[node].op);
                    differences
                        .push(format!("{name}: {op} {value_name}: {what}: ours {text}, theirs {reference}"));
                }
            }
        }
    }
    (count, differences)
}

fn count_parts(count: &mut Count, side: usize, parts: &Parts<'_>) {
    let Some(dims) = &parts.dims else { return };
    if parts.elem != "?" {
        count.ranks[side] += 1;
    }
    for dim in dims {
        if dim.parse::<i64>().is_ok_and(|n| n >= 0) {
            count.dims[side] += 1;
        } else if *dim != "?" && !dim.starts_with("unk__") && !dim.starts_with("-1") {
            count.symbolic[side] += 1;
        }
    }
}

/// How our type contradicts theirs or says less, if it does.
fn difference(ours: &Parts<'_>, theirs: &Parts<'_>) -> Option<&'static str> {
    let is_unknown = |p: &Parts<'_>| p.elem == "?";
    if is_unknown(theirs) {
        return None;
    }
    if is_unknown(ours) {
        return Some("less known (type)");
    }
    if ours.around != theirs.around || ours.elem != theirs.elem {
        return Some("contradicted (type)");
    }
    let (Some(a), Some(b)) = (&ours.dims, &theirs.dims) else {
        return (theirs.dims.is_some()).then_some("less known (rank)");
    };
    if a.len() != b.len() {
        return Some("contradicted (rank)");
    }
    for (a, b) in a.iter().zip(b) {
        // A negative number is an unknown dimension (28 of 491 real models write -1).
        if let Some(number) = b.parse::<i64>().ok().filter(|&n| n >= 0) {
            match a.parse::<i64>() {
                Ok(ours) if ours != number => return Some("contradicted (dimension)"),
                Ok(_) => {}
                Err(_) => return Some("less known (dimension)"),
            }
        } else if *a == "?" && *b != "?" && !b.starts_with("unk__") && !b.starts_with('-') {
            return Some("less known (symbol)");
        }
    }
    None
}

#[test]
fn types_are_taken_apart() {
    let p = parts("seq(float[N,max(A, B)])");
    assert_eq!((p.around, p.elem, p.dims), ("seq(", "float", Some(vec!["N", "max(A, B)"])));
    assert_eq!(parts("float[]").dims, None);
    assert_eq!(parts("int64").dims, Some(vec![]));
}
