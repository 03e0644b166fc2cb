//! What formulas give, element by element, against the outputs that ONNX's own tests of operators store.
#![allow(clippy::print_stderr, reason = "counts, for who wants to see them")]

use conformance::convert::read_wire;
use conformance::corpus::{folder, in_parallel};
use conformance::trial::{tensor, with_inputs_known};
use onnx_ir::{Model, Names, ValueId, normalize_domain};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, InferOptions, Ty, infer};
use onnx_ops::meaning::{Attributes, Cx, Dense, Elements, Mode, Number, Operand, Output, define};
use onnx_ops::schema::{Lookup, Registry};
use onnx_proto::file;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The most steps for one formula.
const EFFORT: usize = 1 << 26;

/// What became of a test.
enum Outcome {
    /// As many outputs are as they should be.
    Same,
    /// The node has no definition.
    Undefined,
    /// What is not as it should be.
    Different(String),
}

#[test]
fn formulas_give_what_backend_tests_store() {
    let Some(folder) = folder() else { return };
    let index = std::fs::read(folder.join("backend/index.json")).expect("the corpus has an index");
    let index: Value = serde_json::from_slice(&index).expect("the index is JSON");
    let cases: Vec<&Value> =
        index.as_array().expect("a list").iter().filter(|case| is_one_node(case)).collect();
    let outcomes = in_parallel(&cases, |case| judge(case, &folder.join("backend")));
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut failures = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        let Some((op, outcome)) = outcome else { continue };
        let count = counts.entry(op).or_default();
        match outcome {
            Outcome::Same => count[0] += 1,
            Outcome::Undefined => count[1] += 1,
            Outcome::Different(how) => {
                count[2] += 1;
                failures.push(format!("{}: {how}", case["name"].as_str().unwrap_or("?")));
            }
        }
    }
    for (op, [same, undefined, different]) in &counts {
        eprintln!("{op}: {same} as stored, {undefined} without a definition, {different} different");
    }
    let total: usize = counts.values().map(|count| count[0]).sum();
    let operators = counts.values().filter(|count| count[0] > 0).count();
    eprintln!("formulas: {total} tests of {operators} operators");
    assert!(failures.is_empty(), "{} tests differ:\n{}", failures.len(), failures.join("\n"));
    assert!(total > 950, "{total}");
}

fn is_one_node(case: &Value) -> bool {
    case["kind"] == "node"
        && case["random"] == false
        && case["ops"].as_array().is_some_and(|ops| ops.len() == 1)
}

/// `None` if the model has not one node, or inputs or outputs that are no tensors of numbers.
fn judge(case: &Value, backend: &Path) -> Option<(String, Outcome)> {
    let folder = backend.join(case["path"].as_str()?);
    let model = read_wire(file::open(&folder.join("model.onnx")).ok()?).ok()?;
    let data = folder.join("test_data_set_0");
    let known = with_inputs_known(&model, &data)?;
    let body = &known.bodies[known.main?];
    let graph = &body.graphs[body.root()?];
    let [node] = graph.nodes[..] else { return None };
    let n = &body.nodes[node];
    let domain = normalize_domain(known.text(n.domain));
    let op = if domain.is_empty() {
        known.text(n.op).to_owned()
    } else {
        format!("{domain}.{}", known.text(n.op))
    };
    let mut names = Names::default();
    let mut expected = Vec::new();
    for (i, port) in graph.outputs.iter().enumerate() {
        let stored = tensor(&data.join(format!("output_{i}.pb")), &mut names)?;
        expected.push((port.value?, Dense::of(&stored, usize::MAX)?));
    }
    let Some(results) = evaluate(&known) else { return Some((op, Outcome::Undefined)) };
    let tolerance = (case["rtol"].as_f64()?, case["atol"].as_f64()?);
    for (value, expected) in expected {
        let at = n.outputs.iter().position(|output| *output == Some(value))?;
        let outcome = match &results {
            Err(how) => Some(how.clone()),
            Ok(results) => match results.get(at).and_then(Option::as_ref) {
                None => Some(format!("output {at} is missing")),
                Some(result) => difference(result, &expected, tolerance),
            },
        };
        if let Some(how) = outcome {
            return Some((op, Outcome::Different(how)));
        }
    }
    Some((op, Outcome::Same))
}

/// What the only node gives, if it has a definition.
fn evaluate(model: &Model) -> Option<Result<Vec<Option<Dense>>, String>> {
    let main = model.main?;
    let body = &model.bodies[main];
    let graph = &body.graphs[body.root()?];
    let node = &body.nodes[*graph.nodes.first()?];
    let domain = normalize_domain(model.text(node.domain));
    let version = model.opset_version(model.imports_of(main), domain)?;
    let Lookup::Found(id) = Registry::builtin().lookup(domain, model.text(node.op), version) else {
        return None;
    };
    let attributes = Attributes::of(model, body, node, Registry::builtin().get(id))?;
    let stored = |value: ValueId| {
        let init = graph.initializers.iter().find(|init| init.value == value)?;
        Dense::of(&body.tensors[init.tensor], usize::MAX)
    };
    let inputs: Vec<Option<Dense>> = (node.inputs.iter())
        .map(|value| value.map_or(Some(None), |value| stored(value).map(Some)))
        .collect::<Option<_>>()?;
    let operands: Vec<Option<Operand<'_>>> = (inputs.iter())
        .map(|dense| dense.as_ref().map(|d| Operand { elem: d.elem, dims: &d.dims, value: Some(d) }))
        .collect();
    let facts = infer(model, Registry::builtin(), &InferOptions::default()).facts;
    let types: Vec<_> = (node.outputs.iter())
        .map(|value| value.map_or(Some(None), |value| output(facts.get(main, value)).map(Some)))
        .collect::<Option<_>>()?;
    let outputs: Vec<Option<Output<'_>>> =
        (types.iter()).map(|ty| ty.as_ref().map(|(elem, dims)| Output { elem: *elem, dims })).collect();
    let cx = Cx { inputs: &operands, outputs: &outputs, attributes: &attributes };
    let definition = define(&cx)?;
    let elements: Vec<Option<&dyn Elements>> =
        inputs.iter().map(|dense| dense.as_ref().map(|dense| dense as &dyn Elements)).collect();
    Some(
        definition
            .evaluate(&elements, Mode::Reference, EFFORT)
            .ok_or_else(|| format!("no result of {definition:?}")),
    )
}

/// The element type and the extents of a tensor, if they are known.
fn output(fact: &Fact) -> Option<(onnx_ir::ElemType, Vec<usize>)> {
    let Ty::Tensor(tensor) = &fact.ty else { return None };
    let extent = |d: &Dim| match d {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    };
    Some((fact.ty.elem()?, tensor.shape.as_ref()?.iter().map(extent).collect::<Option<_>>()?))
}

fn difference(result: &Dense, expected: &Dense, (rtol, atol): (f64, f64)) -> Option<String> {
    if (result.elem, &result.dims) != (expected.elem, &expected.dims) {
        let tell = |dense: &Dense| format!("{}{:?}", dense.elem.name().unwrap_or("?"), dense.dims);
        return Some(format!("{} instead of {}", tell(result), tell(expected)));
    }
    let is_same = |a: &Number, b: &Number| match (a, b) {
        (Number::Int(a), Number::Int(b)) => a == b,
        (Number::Float(a), Number::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= atol + rtol * b.abs()
        }
        _ => false,
    };
    let mut pairs = result.numbers.iter().zip(&expected.numbers).enumerate();
    pairs
        .find(|(_, (a, b))| !is_same(a, b))
        .map(|(i, (a, b))| format!("element {i} is {a:?} instead of {b:?}"))
}
