//! Signatures as JSON, with every type spelled out.

use super::domain_text;
use super::list::Listed;
use super::spec::Operator;
use onnx_ops::infer::elem_text;
use onnx_ops::schema::{
    AttrParam, BodyKind, Default, ElemSet, Param, ParamKind, Registry, Schema, TypeSet, docs,
};
use serde_json::{Value, json};

/// All operators of a table, without their signatures.
#[must_use]
pub fn operators_json(registry: &Registry, operators: &[Listed<'_>]) -> Value {
    let one = |operator: &Listed<'_>| {
        let versions = registry.versions(operator.domain, operator.name);
        let versions: Vec<u32> = versions.iter().map(|id| registry.get(*id).since).collect();
        json!({
            "domain": domain_text(operator.domain),
            "name": operator.name,
            "since": operator.shown.since,
            "versions": versions,
            "deprecated": operator.shown.deprecated,
            "experimental": operator.shown.experimental,
            "function_body": body(operator.shown.body),
            "summary": summary(registry, operator.domain, operator.name),
        })
    };
    operators.iter().map(one).collect()
}

/// One operator, with the requested signature or all of them.
#[must_use]
pub fn operator_json(registry: &Registry, operator: &Operator<'_>) -> Value {
    let Operator { domain, name, asked } = *operator;
    let versions = registry.versions(domain, name).iter();
    let shown = versions.filter(|id| asked.is_none_or(|asked| asked == **id)).map(|id| registry.get(*id));
    json!({
        "domain": domain_text(domain),
        "name": name,
        "summary": summary(registry, domain, name),
        "versions": shown.map(signature).collect::<Vec<_>>(),
        "example": docs::example(domain, name),
    })
}

fn summary<'r>(registry: &'r Registry, domain: &str, name: &str) -> Option<&'r str> {
    registry.summary(*registry.versions(domain, name).last()?)
}

fn signature(schema: &Schema) -> Value {
    let variables = schema.variables.iter().map(|v| (v.name.to_string(), types(&v.types).into()));
    json!({
        "since": schema.since,
        "deprecated": schema.deprecated,
        "experimental": schema.experimental,
        "random": schema.random,
        "function_body": body(schema.body),
        "inputs": schema.inputs.iter().map(param).collect::<Vec<_>>(),
        "input_counts": schema.input_counts,
        "outputs": schema.outputs.iter().map(param).collect::<Vec<_>>(),
        "output_counts": schema.output_counts,
        "attributes": schema.attrs.iter().map(attribute).collect::<Vec<_>>(),
        "type_variables": variables.collect::<serde_json::Map<_, _>>(),
    })
}

fn body(body: BodyKind) -> Option<&'static str> {
    match body {
        BodyKind::None => None,
        BodyKind::Fixed => Some("fixed"),
        BodyKind::PerNode => Some("per-node"),
    }
}

fn param(param: &Param) -> Value {
    let kind = match param.kind {
        ParamKind::Single => "single",
        ParamKind::Optional => "optional",
        ParamKind::Variadic { .. } => "variadic",
    };
    let mut value = json!({
        "name": param.name,
        "kind": kind,
        "type": param.ty,
        "types": types(&param.types),
    });
    if let ParamKind::Variadic { min, homogeneous } = param.kind {
        value["min"] = min.into();
        value["homogeneous"] = homogeneous.into();
    }
    value
}

fn attribute(attr: &AttrParam) -> Value {
    json!({
        "name": attr.name,
        "type": attr.ty.name(),
        "required": attr.required,
        "element_type": attr.is_elem_type(),
        "default": attr.default.as_ref().map(default),
    })
}

fn default(default: &Default) -> Value {
    match default {
        // The shortest digits, not those of the nearest double.
        Default::Float(x) => number(*x),
        Default::Int(i) => json!(i),
        Default::String(text) | Default::Other(text) => json!(text),
        Default::Floats(all) => all.iter().copied().map(number).collect(),
        Default::Ints(all) => json!(all),
        Default::Strings(all) => json!(all),
    }
}

fn number(x: f32) -> Value {
    x.to_string().parse().map_or_else(|_| json!(x.to_string()), |x: f64| json!(x))
}

/// The types, as spelled in signatures.
fn types(set: &TypeSet) -> Vec<String> {
    let mut out = Vec::new();
    let mut add = |elems: ElemSet, before: &str, after: &str| {
        out.extend(elems.iter().map(|elem| format!("{before}{}{after}", elem_text(elem))));
    };
    add(set.tensors, "tensor(", ")");
    add(set.sparse_tensors, "sparse_tensor(", ")");
    add(set.sequences, "seq(tensor(", "))");
    add(set.optionals, "optional(tensor(", "))");
    add(set.optional_sequences, "optional(seq(tensor(", ")))");
    out.extend(set.others.iter().map(|other| other.to_string()));
    out
}
