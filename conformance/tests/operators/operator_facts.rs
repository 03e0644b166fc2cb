//! Compares the registry's facts of every version of every operator with the installed package.

use conformance::oracle::Oracle;
use onnx_ir::releases;
use onnx_ops::schema::{
    AttrParam, BodyKind, Default, ElemSet, Lookup, Param, ParamKind, Registry, Schema, TypeSet,
};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The facts of the package; empty without it.
static THEIRS: LazyLock<Option<Value>> = LazyLock::new(|| {
    Oracle::find("facts of operators").map(|oracle| oracle.run("xtask/py/dump_schemas.py", &[]))
});

#[test]
fn every_fact_is_the_packages() {
    let Some(theirs) = &*THEIRS else { return };
    let registry = Registry::builtin();
    let ours: Vec<Value> = registry
        .domains()
        .flat_map(|domain| registry.operators(domain).map(move |name| (domain, name)))
        .flat_map(|(domain, name)| registry.versions(domain, name))
        .map(|id| schema(registry.get(*id)))
        .collect();
    let theirs = theirs["schemas"].as_array().expect("there are schemas");
    for (ours, theirs) in ours.iter().zip(theirs) {
        let name = format!("{}.{} {}", theirs["domain"], theirs["name"], theirs["since"]);
        for (key, value) in theirs.as_object().expect("schemas are objects") {
            assert_eq!(ours[key], *value, "{name}: {key}");
        }
        assert_eq!(ours, theirs, "{name}");
    }
    assert_eq!((ours.len(), theirs.len()), (659, 659));
}

#[test]
fn every_version_finds_the_packages_schema() {
    let Some(theirs) = &*THEIRS else { return };
    let registry = Registry::builtin();
    let mut looked_up = 0;
    for row in theirs["lookups"].as_array().expect("there are lookups") {
        let text = |key: &str| row[key].as_str().expect("it is text").to_owned();
        let (domain, name) = (text("domain"), text("name"));
        for (version, since) in (1..).zip(row["since"].as_array().expect("it is a list")) {
            let found = registry.lookup(&domain, &name, version);
            match (found, since.as_u64()) {
                (Lookup::Found(id), Some(since)) => assert_eq!(u64::from(registry.get(id).since), since),
                (Lookup::TooNew { since }, None) => assert!(i64::from(since) > version),
                (found, since) => panic!("{domain}.{name} at {version}: {found:?}, theirs {since:?}"),
            }
            if domain.is_empty() {
                assert_eq!(found, registry.lookup("ai.onnx", &name, version));
            }
            looked_up += 1;
        }
    }
    assert_eq!(looked_up, 203 * 28 + 19 * 5 + 1 + 4);
    for (domain, newest) in theirs["newest"].as_object().expect("there are domains") {
        assert_eq!(registry.newest_version(domain).map(i64::from), newest.as_i64(), "{domain}");
        assert_eq!(releases::newest_version(domain), newest.as_i64(), "{domain}");
    }
}

#[test]
fn releases_are_the_packages() {
    let Some(theirs) = &*THEIRS else { return };
    let ours: Vec<Value> = releases::RELEASES
        .iter()
        .map(|r| {
            let mut row = vec![json!(r.package), json!(r.ir_version), json!(r.opset), json!(r.ml)];
            row.extend(r.training.map(Value::from));
            Value::Array(row)
        })
        .collect();
    assert_eq!(theirs["releases"], Value::Array(ours));
}

/// A schema in the form of the script.
fn schema(schema: &Schema) -> Value {
    let Schema { domain, name, since, inputs, outputs, attrs, variables, .. } = schema;
    let ((min_input, max_input), (min_output, max_output)) = (schema.input_range(), schema.output_range());
    for attr in attrs.iter() {
        assert_eq!(schema.attr(&attr.name).map(|a| &a.name), Some(&attr.name), "{name}");
    }
    for variable in variables.iter() {
        assert_eq!(schema.variable(&variable.name).map(|v| &v.types), Some(&variable.types), "{name}");
    }
    json!({
        "domain": domain,
        "name": name,
        "since": since,
        "inputs": inputs.iter().map(param).collect::<Vec<_>>(),
        "outputs": outputs.iter().map(param).collect::<Vec<_>>(),
        "attributes": attrs.iter().map(attr).collect::<Vec<_>>(),
        "variables": variables
            .iter()
            .map(|v| json!({ "name": v.name, "types": types(&v.types) }))
            .collect::<Vec<_>>(),
        "min_input": min_input,
        "max_input": max_input,
        "min_output": min_output,
        "max_output": max_output,
        "input_counts": schema.input_counts,
        "output_counts": schema.output_counts,
        "deprecated": schema.deprecated,
        "experimental": schema.experimental,
        "random": schema.random,
        "body": match schema.body {
            BodyKind::None => "none",
            BodyKind::Fixed => "fixed",
            BodyKind::PerNode => "per_node",
        },
    })
}

fn param(param: &Param) -> Value {
    let kind = match param.kind {
        ParamKind::Single => "single",
        ParamKind::Optional => "optional",
        ParamKind::Variadic { .. } => "variadic",
    };
    let mut facts =
        json!({ "name": param.name, "kind": kind, "type": param.ty, "types": types(&param.types) });
    if let ParamKind::Variadic { min, homogeneous } = param.kind {
        facts["min"] = json!(min);
        facts["homogeneous"] = json!(homogeneous);
    }
    facts
}

fn attr(attr: &AttrParam) -> Value {
    let mut facts = json!({ "name": attr.name, "type": attr.ty.0, "required": attr.required });
    if let Some(default) = &attr.default {
        facts["default"] = match default {
            Default::Float(value) => json!(value.to_bits()),
            Default::Int(value) => json!(value),
            Default::String(value) => json!(value),
            Default::Ints(values) => json!(values),
            Default::Strings(values) => json!(values),
            Default::Floats(_) | Default::Other(_) => panic!("{}: no built-in operator has one", attr.name),
        };
    }
    facts
}

/// The types as the package writes them, sorted.
fn types(types: &TypeSet) -> Vec<String> {
    let of = |elems: ElemSet, open: &'static str, close: &'static str| {
        elems.iter().map(move |elem| format!("{open}{}{close}", elem.name().expect("it has a name")))
    };
    let mut all: Vec<String> = of(types.tensors, "tensor(", ")")
        .chain(of(types.sparse_tensors, "sparse_tensor(", ")"))
        .chain(of(types.sequences, "seq(tensor(", "))"))
        .chain(of(types.optionals, "optional(tensor(", "))"))
        .chain(of(types.optional_sequences, "optional(seq(tensor(", ")))"))
        .chain(types.others.iter().map(|ty| ty.clone().into_owned()))
        .collect();
    all.sort();
    all
}
