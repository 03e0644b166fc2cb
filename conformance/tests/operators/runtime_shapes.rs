//! Compares inferred facts of real models with onnxruntime: element type, rank and sizes of every value, with symbols replaced by
//! the sizes of the inputs.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::corpus::{CorpusModel, in_parallel, left_out, models};
use conformance::inferred::symbols;
use conformance::oracle::{Oracle, is_ok};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{InferOptions, Ty, elem_text, infer};
use onnx_ops::schema::Registry;
use onnx_proto::file;
use serde_json::{Value, json};

/// Larger models take onnxruntime too long, which computes every value of each, unless everything is checked.
const MAX_BYTES: u64 = 16 << 20;
/// And these take it too long in any case.
const MAX_BYTES_OF_ALL: u64 = 64 << 20;

/// Where the runtime differs from the specification, or a model from what it declares: the end of a model's name, a value
/// (`*` is any), and why.
const REVIEWED: &[(&str, &str, &str)] = &[
    ("lgbm_cls", "label", "the model declares an output of one element, and gives one for each row"),
    (
        "ppocrv2_rec_crnn",
        "save_infer_model/scale_0.tmp_1",
        "the model declares the extent that one size of input gives",
    ),
];

#[test]
fn inferred_shapes_are_those_that_are_computed() {
    let Some(oracle) = Oracle::find("inference against onnxruntime") else { return };
    let mut models: Vec<CorpusModel> =
        models().into_iter().filter(|m| m.name.starts_with("models/")).collect();
    let all = models.len();
    models.retain(|m| {
        m.size <= if std::env::var("ONNXTXT_ALL").is_err() { MAX_BYTES } else { MAX_BYTES_OF_ALL }
    });
    if models.len() < all {
        let rest = all - models.len();
        left_out(&format!("inference of {rest} large models against onnxruntime, which runs for minutes"));
    }
    let request = |m: &CorpusModel| json!({"op": "runtime", "path": m.path.display().to_string()});
    let answers = oracle.ask(&models.iter().map(request).collect::<Vec<_>>());
    let jobs: Vec<(&CorpusModel, &Value)> =
        models.iter().zip(&answers).filter(|(_, answer)| is_ok(answer)).collect();
    let results = in_parallel(&jobs, |(model, answer)| compare(model, answer));
    let mut counts = [0; 3];
    let mut wrong = Vec::new();
    for (count, differences) in results {
        (0..3).for_each(|i| counts[i] += count[i]);
        wrong.extend(differences);
    }
    let [values, dims, open] = counts;
    eprintln!(
        "inference against onnxruntime: {} of {} models run, {values} values, {dims} extents agree, {open} are left open",
        jobs.len(),
        models.len()
    );
    assert!(!jobs.is_empty() || models.is_empty(), "onnxruntime runs none of the models");
    let shown: Vec<_> = wrong.iter().take(300).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), shown.join("\n"));
}

fn compare(model: &CorpusModel, answer: &Value) -> ([usize; 3], Vec<String>) {
    let read = onnx_proto::read(file::open(&model.path).expect("a model of the corpus can be read")).value;
    let mut inference = infer(&read, Registry::builtin(), &InferOptions::default());
    let facts = &mut inference.facts;
    let symbols = symbols(&read, |_, port| {
        let extents = answer["inputs"][read.text(port.name)].as_array()?;
        extents.iter().map(Value::as_i64).collect()
    });
    let (mut counts, mut differences) = ([0; 3], Vec::new());
    let main = read.main.expect("a model has a graph");
    let body = &read.bodies[main];
    let root = body.root().expect("a body has a graph");
    for &node in &body.graphs[root].nodes {
        for &value in body.nodes[node].outputs.iter().flatten() {
            let name = &read.names[body.values[value].name];
            let actual = &answer["shapes"][name];
            let (Some(dtype), Some(shape)) = (actual[0].as_str(), actual[1].as_array()) else { continue };
            let Ty::Tensor(ty) = facts.resolved(main, value).ty else { continue };
            let is_reviewed =
                REVIEWED.iter().any(|(end, v, _)| model.name.ends_with(end) && (*v == "*" || *v == name));
            counts[0] += 1;
            let mut problem = None;
            if ty.elem.is_some_and(|e| !is_type(&elem_text(e), dtype)) {
                problem = Some(format!("type {dtype}"));
            }
            match &ty.shape {
                None => counts[2] += shape.len(),
                Some(dims) if dims.len() != shape.len() => problem = Some(format!("rank {}", shape.len())),
                Some(dims) => {
                    for (&dim, actual) in dims.iter().zip(shape) {
                        let known = match dim {
                            Dim::Const(n) => Some(n),
                            dim => facts.dims.eval(dim, |symbol| symbols.get(symbol).copied().flatten()),
                        };
                        match known {
                            None => counts[2] += 1,
                            Some(n) if Some(n) == actual.as_i64() => counts[1] += 1,
                            Some(n) => problem = Some(format!("{actual} instead of {n}")),
                        }
                    }
                }
            }
            if let Some(problem) = problem.filter(|_| !is_reviewed) {
                let op = read.text(body.nodes[node].op);
                let ours = Ty::Tensor(ty).text(&facts.dims);
                differences.push(format!(
                    "{}: {op} {name}: {problem}: ours {ours}, computed {dtype}{:?}",
                    model.name,
                    actual[1].to_string()
                ));
            }
        }
    }
    (counts, differences)
}

/// Whether numpy's name is that of an element type.
fn is_type(elem: &str, dtype: &str) -> bool {
    let numpy = match elem {
        "float" => "float32",
        "double" => "float64",
        "string" => "object",
        other => other,
    };
    numpy == dtype || elem == "string" && (dtype.starts_with("<U") || dtype == "str") || numpy == "bfloat16"
}
