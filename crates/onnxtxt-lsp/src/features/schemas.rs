//! Operators of nodes, and their signatures as text.

use crate::document::Snapshot;
use onnxtxt::ir::{BodyId, ElemType, NodeId, normalize_domain};
use onnxtxt::ops::infer::attribute_words;
use onnxtxt::ops::schema::{AttrParam, Lookup, Param, ParamKind, Registry, Schema};

/// The callee of a node.
pub(super) enum Called<'s> {
    /// A function of the model, by its position.
    Function { id: usize, name: String },
    /// An operator.
    Operator { schema: &'s Schema },
}

/// The callee of a node of the model; `None` for an unknown operator.
pub(super) fn called(snapshot: &Snapshot, body: BodyId, node: NodeId) -> Option<Called<'_>> {
    let model = snapshot.model();
    let node = &model.bodies[body].nodes[node];
    let (domain, op) = (model.text(node.domain), model.text(node.op));
    named(snapshot, domain, op, model.newest_import(body, domain))
}

/// The function or operator of this name, in the imported version or else the newest.
pub(super) fn named<'s>(
    snapshot: &'s Snapshot,
    domain: &str,
    op: &str,
    version: Option<i64>,
) -> Option<Called<'s>> {
    let model = snapshot.model();
    let is_it = |function: &onnxtxt::ir::Function| {
        normalize_domain(model.text(function.domain)) == normalize_domain(domain)
            && model.text(function.name) == op
    };
    if let Some(id) = model.functions.values().position(is_it) {
        return Some(Called::Function { id, name: op.to_owned() });
    }
    let registry = snapshot.registry();
    schema_of(registry, domain, op, version).map(|schema| Called::Operator { schema })
}

fn schema_of<'r>(registry: &'r Registry, domain: &str, op: &str, version: Option<i64>) -> Option<&'r Schema> {
    match registry.lookup(domain, op, version.unwrap_or(i64::MAX)) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } => registry.versions(domain, op).first().map(|id| registry.get(*id)),
        Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// The version of a domain that the part of a text around a byte imports.
pub(super) fn imported(snapshot: &Snapshot, offset: u32, domain: &str) -> Option<i64> {
    let model = snapshot.model();
    let body = snapshot.map().node_at(offset).map(|at| at.body).or(model.main)?;
    let functions = &snapshot.tree().functions;
    let around =
        functions.iter().position(|function| function.span.start <= offset && offset <= function.span.end);
    let body = around.and_then(|i| Some(model.functions[model.functions.id_at(i)?].body)).unwrap_or(body);
    model.newest_import(body, domain)
}

/// `Gemm <alpha: float = 1.0, …> (T A, T B, T? C) => (T Y)`
pub(super) fn signature(schema: &Schema) -> String {
    let mut out = schema.name.to_string();
    if !schema.attrs.is_empty() {
        let attrs: Vec<String> = schema.attrs.iter().map(attribute).collect();
        out += &format!(" <{}>", attrs.join(", "));
    }
    let list = |params: &[Param]| params.iter().map(parameter).collect::<Vec<_>>().join(", ");
    out + &format!(" ({}) => ({})", list(&schema.inputs), list(&schema.outputs))
}

/// `T X`, `T? B`, `T... inputs`
pub(super) fn parameter(param: &Param) -> String {
    let mark = match param.kind {
        ParamKind::Single => "",
        ParamKind::Optional => "?",
        ParamKind::Variadic { .. } => "...",
    };
    format!("{}{mark} {}", param.ty, param.name)
}

/// `alpha: float = 1.0`, `kernel_shape: ints`
pub(super) fn attribute(attr: &AttrParam) -> String {
    let ty = attr.ty.name().unwrap_or("?");
    match &attr.default {
        Some(default) => format!("{}: {ty} = {}", attr.name, default.text()),
        None => format!("{}: {ty}", attr.name),
    }
}

/// The values that a string attribute may have; empty if any.
pub(super) fn allowed_words(registry: &Registry, schema: &Schema, attr: &str) -> Vec<String> {
    attribute_words(registry, schema, attr)
}

/// The numbers of element types with their names.
pub(super) fn elem_types() -> impl Iterator<Item = (i32, &'static str)> {
    ElemType::ALL.iter().filter_map(|elem| Some((elem.0, elem.name()?)))
}
