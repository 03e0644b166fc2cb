//! Compares the documents of `crates/onnx-ops/opsets` about contributed operators with the installed runtime.

use conformance::corpus::{left_out, models};
use conformance::oracle::Oracle;
use onnx_ir::diag::{Level, Place};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::opset::{contributed, registry_of, whole_registry};
use onnx_ops::schema::{ElemSet, Lookup, Param, ParamKind, Schema, TypeSet};
use onnx_proto::file;
use serde_json::{Value, json};

/// The operators of a domain as the package has them; none without it.
fn theirs(domain: &str) -> Option<Vec<Value>> {
    let facts = Oracle::find("facts of contributed operators")?
        .run("xtask/py/dump_contributed.py", &[domain.as_ref()]);
    if facts.is_null() {
        left_out("facts of contributed operators: no Python with the `onnxruntime` package");
    }
    facts.as_array().cloned()
}

#[test]
fn every_contributed_operator_is_the_packages() {
    let Some(theirs) = theirs("com.microsoft") else { return };
    let ours: Vec<Value> =
        contributed("com.microsoft").expect("there is a document").iter().map(schema).collect();
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn what_is_added_to_the_default_domain_is_the_packages() {
    let Some(theirs) = theirs("") else { return };
    for ours in contributed("").expect("there is a document") {
        let is_same = |schema: &&Value| schema["name"] == *ours.name && schema["since"] == ours.since;
        let same = theirs.iter().find(is_same);
        assert_eq!(Some(&schema(ours)), same);
    }
}

/// Models that have been optimized or quantized use them as the documents say.
#[test]
fn models_of_the_corpus_use_them_rightly() {
    let (mut uses, mut with) = (0, 0);
    for model in models() {
        let read =
            onnx_proto::read(file::open(&model.path).expect("a model of the corpus can be read")).value;
        let nodes = read.bodies.values().flat_map(|body| body.nodes.values());
        let used =
            nodes.filter(|node| read.text(node.domain) == "com.microsoft").map(|node| read.text(node.op));
        let used: Vec<&str> = used.collect();
        for name in &used {
            assert!(
                matches!(whole_registry().lookup("com.microsoft", name, 1), Lookup::Found(_)),
                "{}: {name}",
                model.name
            );
        }
        if used.is_empty() {
            continue;
        }
        let registry = registry_of(&read);
        with += 1;
        uses += used.len();
        let options = VerifyOptions { level: Level::Types, payloads: false };
        let found = onnx_ops::check::check(&read, registry, &options);
        let of_these = found.iter().filter(|d| d.is_error() && is_about_contributed(&read, d.primary.place));
        let found: Vec<_> = of_these.map(|d| d.message.as_str()).collect();
        assert_eq!(found, [""; 0], "{}", model.name);
    }
    if with == 0 {
        left_out("models with contributed operators: none in target/corpus (`cargo xtask corpus --set all`)");
    }
    assert!(uses >= with);
}

fn is_about_contributed(model: &Model, place: Place) -> bool {
    let Place::Entity(entity) = place else { return false };
    let is_contributed = |(body, node)| model.text(model.bodies[body].nodes[node].domain) == "com.microsoft";
    entity.node().is_some_and(is_contributed)
}

/// A schema in the form of the script.
fn schema(schema: &Schema) -> Value {
    let attributes = schema.attrs.iter();
    let variables = schema.variables.iter();
    json!({
        "name": schema.name,
        "since": schema.since,
        "inputs": schema.inputs.iter().map(param).collect::<Vec<_>>(),
        "outputs": schema.outputs.iter().map(param).collect::<Vec<_>>(),
        "attributes": attributes
            .map(|a| json!({ "name": a.name, "type": a.ty.0, "required": a.required }))
            .collect::<Vec<_>>(),
        "variables": variables
            .map(|v| json!({ "name": v.name, "types": types(&v.types) }))
            .collect::<Vec<_>>(),
        "experimental": schema.experimental,
    })
}

fn param(param: &Param) -> Value {
    let mut facts = json!({ "name": param.name, "type": param.ty });
    match param.kind {
        ParamKind::Single => facts["kind"] = json!("single"),
        ParamKind::Optional => facts["kind"] = json!("optional"),
        ParamKind::Variadic { min, homogeneous } => {
            facts["kind"] = json!("variadic");
            facts["min"] = json!(min);
            facts["homogeneous"] = json!(homogeneous);
        }
    }
    facts
}

/// The types as the package writes them, sorted. Contributed operators take tensors only, dense or sparse.
fn types(types: &TypeSet) -> Vec<String> {
    let of = |elems: ElemSet, head: &'static str| {
        elems.iter().map(move |elem| format!("{head}({})", elem.name().expect("it has a name")))
    };
    let mut all: Vec<String> =
        of(types.tensors, "tensor").chain(of(types.sparse_tensors, "sparse_tensor")).collect();
    all.sort();
    assert!(types.others.is_empty());
    all
}
