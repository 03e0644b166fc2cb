//! Removes optional parts of a model.
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) <float[N] t> { [long/name] t = Abs(x)  y = Neg(t) }
//! after:   g (float[N] x) => (float[N] y)              { [long/name] t = Abs(x)  y = Neg(t) }
//! ```
//!
//! A declaration is removed only if inference yields the same type without it.

use super::Edited;
use onnx_ir::pass::{Report, compact, dead_code};
use onnx_ir::{BodyId, DimValue, GraphId, Model, Port, TensorType, TypeId, TypeKind, ValueDef};
use onnx_ops::infer::{InferOptions, declared_type, infer};
use onnx_ops::schema::Registry;

/// The parts to remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strip {
    /// Documentation of the model, its graphs, values, nodes, attributes and tensors.
    pub docs: bool,
    /// Names of nodes.
    pub names: bool,
    /// `metadata_props` of everything but the model itself.
    pub metadata: bool,
    /// Types of values that inference also yields.
    pub value_info: bool,
    /// Nodes, initializers, functions and imports that nothing uses.
    pub unused: bool,
}

impl Strip {
    /// All but names of nodes, which tools show to people.
    pub const USUAL: Strip =
        Strip { docs: true, names: false, metadata: true, value_info: true, unused: true };
}

/// Removes parts of a model that do not change what it computes.
pub fn strip(model: &mut Model, registry: &Registry, options: Strip) -> Edited {
    let mut report = Report::default();
    if options.docs {
        let count = docs(model);
        report.note(count, "doc string", "removed");
    }
    if options.metadata {
        let count = metadata(model);
        report.note(count, "metadata value", "removed");
    }
    if options.names {
        let nodes = model.bodies.values_mut().flat_map(|body| body.nodes.values_mut());
        let count = nodes.filter_map(|node| node.name.take()).count();
        report.note(count, "node name", "removed");
    }
    if options.unused {
        report.changes.extend(dead_code(model, registry).changes);
    }
    if options.value_info {
        let count = declarations(model, registry);
        report.note(count, "inferable declaration", "removed");
    }
    compact(model);
    Ok(report)
}

/// Removes documentation; returns the number of removed entries.
fn docs(model: &mut Model) -> usize {
    let mut count = 0;
    let mut take = |doc: &mut Option<onnx_ir::Name>| count += usize::from(doc.take().is_some());
    take(&mut model.header.doc);
    model.functions.values_mut().for_each(|f| take(&mut f.doc));
    for body in model.bodies.values_mut() {
        for graph in body.graphs.values_mut() {
            take(&mut graph.doc);
            let ports = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info);
            ports.for_each(|port| take(&mut port.doc));
        }
        for node in body.nodes.values_mut() {
            node.extra.iter_mut().for_each(|extra| take(&mut extra.doc));
            node.attrs.iter_mut().for_each(|attr| take(&mut attr.doc));
        }
        body.tensors.values_mut().filter_map(|t| t.extra.as_deref_mut()).for_each(|e| take(&mut e.doc));
    }
    count
}

/// Removes entries of `metadata_props`; returns their number.
fn metadata(model: &mut Model) -> usize {
    let mut count = 0;
    let mut take = |entries: &mut Vec<onnx_ir::Entry>| count += std::mem::take(entries).len();
    model.functions.values_mut().for_each(|f| take(&mut f.metadata));
    for body in model.bodies.values_mut() {
        for graph in body.graphs.values_mut() {
            take(&mut graph.metadata);
            let ports = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info);
            ports.for_each(|port| take(&mut port.metadata));
        }
        body.nodes.values_mut().filter_map(|n| n.extra.as_deref_mut()).for_each(|e| take(&mut e.metadata));
        body.tensors.values_mut().filter_map(|t| t.extra.as_deref_mut()).for_each(|e| take(&mut e.metadata));
    }
    count
}

/// Removes declarations that inference also yields; returns their number.
fn declarations(model: &mut Model, registry: &Registry) -> usize {
    let mut bare = model.clone();
    let graphs: Vec<(BodyId, GraphId)> =
        model.bodies.iter().flat_map(|(id, body)| body.graphs.ids().map(move |g| (id, g))).collect();
    for &(id, graph) in &graphs {
        bare.bodies[id].graphs[graph].value_info.clear();
    }
    let mut facts = infer(&bare, registry, &InferOptions::default()).facts;
    let mut count = 0;
    for (id, graph) in graphs {
        let declared = std::mem::take(&mut model.bodies[id].graphs[graph].value_info);
        let mut is_given = |port: &Port| {
            let Some(value) = port.value else { return false };
            let has_more = port.doc.is_some() || !port.metadata.is_empty();
            // Initializers have the types of their tensors.
            if matches!(model.bodies[id].values[value].def, ValueDef::Input(_) | ValueDef::Unbound(_))
                || has_more
            {
                return false;
            }
            let Some(ty) = port.ty else { return true };
            let inferred = declared_type(&mut bare, &mut facts, id, value, None);
            // From here on, types of both models are numbered separately.
            inferred.is_some_and(|inferred| says_all(model, ty, &bare, inferred))
        };
        let before = declared.len();
        let kept: Vec<Port> = declared.into_iter().filter(|port| !is_given(port)).collect();
        count += before - kept.len();
        model.bodies[id].graphs[graph].value_info = kept;
    }
    count
}

/// Whether an inferred type includes everything that a declared one states.
fn says_all(model: &Model, declared: TypeId, other: &Model, inferred: TypeId) -> bool {
    let (declared, inferred) = (&model.types[declared], &other.types[inferred]);
    if declared.denotation.is_some() {
        return false;
    }
    let tensor = |declared: &TensorType, inferred: &TensorType| {
        declared.elem == inferred.elem
            && match (&declared.shape, &inferred.shape) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(a), Some(b)) => {
                    a.len() == b.len()
                        && a.iter().zip(b).all(|(a, b)| match (a.value, b.value) {
                            _ if a.denotation.is_some() => false,
                            (DimValue::Unknown, _) => true,
                            (DimValue::Value(a), DimValue::Value(b)) => a == b,
                            (DimValue::Param(a), DimValue::Param(b)) => model.names[a] == other.names[b],
                            (DimValue::Value(_) | DimValue::Param(_), _) => false,
                        })
                }
            }
    };
    match (&declared.kind, &inferred.kind) {
        (TypeKind::Tensor(a), TypeKind::Tensor(b))
        | (TypeKind::SparseTensor(a), TypeKind::SparseTensor(b)) => tensor(a, b),
        (TypeKind::Sequence(Some(a)), TypeKind::Sequence(Some(b)))
        | (TypeKind::Optional(Some(a)), TypeKind::Optional(Some(b))) => says_all(model, *a, other, *b),
        (TypeKind::Unset, _) => true,
        _ => false,
    }
}
