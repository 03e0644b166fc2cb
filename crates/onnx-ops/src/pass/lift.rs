//! Converts `Constant` nodes to initializers.
//!
//! ```text
//! before:  g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> ()     y = Add(x, c) }
//! after:   g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Add(x, c) }
//! ```
//!
//! Runtimes treat both alike, but passes and people look for weights among the initializers. Constants are kept in functions,
//! which have no initializers, and in models with an old IR version, where an initializer would be an input; so are constants
//! that a graph returns, sparse ones and strings.

use crate::derivative::is_trained;
use crate::lint::local_functions;
use crate::schema::Registry;
use onnx_ir::pass::Report;
use onnx_ir::{
    Attr, AttrValue, BodyId, ElemType, GraphId, Initializer, Model, NodeId, Payload, Tensor, TensorId, Use,
    Uses, ValueDef, ValueId, normalize_domain,
};

/// Before this IR version, initializers are inputs.
const INITIALIZERS_ALONE: i64 = 4;

/// Converts the constants of graphs to initializers.
pub fn lift_constants(model: &mut Model, _: &Registry) -> Report {
    let mut report = Report::default();
    if model.header.ir_version.is_none_or(|version| version < INITIALIZERS_ALONE) || is_trained(model) {
        return report;
    }
    let local = local_functions(model);
    let functions: Vec<BodyId> = model.functions.values().map(|function| function.body).collect();
    let mut count = 0;
    for id in model.bodies.ids().collect::<Vec<_>>() {
        if functions.contains(&id) || model.bodies[id].root().is_none() {
            continue;
        }
        let is_hidden = local.iter().any(|(domain, op)| domain.is_empty() && model.names.is(*op, "Constant"));
        let uses = Uses::of(&model.bodies[id]);
        let nodes: Vec<NodeId> = model.bodies[id].nodes.ids().collect();
        let mut lifted: Vec<NodeId> = Vec::new();
        for node in nodes.into_iter().filter(|_| !is_hidden) {
            let Some((graph, value, attr)) = constant(model, id, node, &uses) else { continue };
            let Some(tensor) = stored(model, id, &attr) else { continue };
            let body = &mut model.bodies[id];
            body.tensors[tensor].name = Some(body.values[value].name);
            body.values[value].def = ValueDef::Initializer(graph);
            body.graphs[graph].initializers.push(Initializer { value, tensor });
            body.graphs[graph].value_info.retain(|port| port.value != Some(value));
            lifted.push(node);
        }
        for graph in model.bodies[id].graphs.values_mut().filter(|_| !lifted.is_empty()) {
            graph.nodes.retain(|node| lifted.binary_search(node).is_err());
        }
        count += lifted.len();
    }
    report.note(count, "constant", "made an initializer");
    report
}

/// The graph, value and attribute of a constant that can become an initializer.
fn constant(model: &Model, id: BodyId, node: NodeId, uses: &Uses) -> Option<(GraphId, ValueId, Attr)> {
    let body = &model.bodies[id];
    let (n, graph) = (&body.nodes[node], uses.graph_of(node)?);
    let ([attr], [Some(value)], []) = (&n.attrs[..], &n.outputs[..], &n.inputs[..]) else { return None };
    let is_constant = normalize_domain(model.text(n.domain)).is_empty() && model.text(n.op) == "Constant";
    let is_plain = n.extra.is_none() && attr.reference.is_none();
    let is_returned = uses.of_value(*value).iter().any(|user| matches!(user, Use::Output(..)));
    (is_constant && is_plain && !is_returned).then(|| (graph, *value, attr.clone()))
}

/// The tensor of a constant; numbers are converted to one.
fn stored(model: &mut Model, id: BodyId, attr: &Attr) -> Option<TensorId> {
    let value = attr.value()?;
    let name = model.text(attr.name);
    let made = |elem: ElemType, dims: &[i64], payload: Payload| {
        let mut tensor = Tensor { elem: Some(elem), ..Tensor::default() };
        tensor.dims.extend(dims.iter().copied());
        tensor.data.push(payload);
        Some(tensor)
    };
    let len = |n: usize| i64::try_from(n).ok();
    let tensor = match (name, value) {
        ("value", AttrValue::Tensor(tensor)) => return Some(*tensor),
        ("value_int", AttrValue::Int(i)) => made(ElemType::INT64, &[], Payload::int64s(vec![*i])),
        ("value_float", AttrValue::Float(x)) => made(ElemType::FLOAT, &[], Payload::floats(vec![*x])),
        ("value_ints", AttrValue::Ints(list)) => {
            made(ElemType::INT64, &[len(list.len())?], Payload::int64s(list.to_vec()))
        }
        ("value_floats", AttrValue::Floats(list)) => {
            made(ElemType::FLOAT, &[len(list.len())?], Payload::floats(list.to_vec()))
        }
        _ => None,
    }?;
    Some(model.bodies[id].tensors.push(tensor))
}
