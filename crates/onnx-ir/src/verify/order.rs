//! Puts findings into the order of the text.

use super::context::{VerifyContext, index};
use crate::diag::{Diagnostic, Entity, Place};
use crate::ids::BodyId;
use std::collections::HashMap;

/// Part of the text, position in it, kind of thing there, number of it.
type Key = (u32, u32, u32, u32);

/// Sorts findings by their primary place; those of one place keep their order.
pub(super) fn sort(cx: &VerifyContext<'_>, list: &mut [Diagnostic]) {
    // First the header, then the bodies, then what the reference syntax cannot express.
    let ranks: HashMap<BodyId, usize> = cx.bodies.iter().enumerate().rev().map(|(i, v)| (v.id, i)).collect();
    list.sort_by_cached_key(|d| match d.primary.place {
        Place::Nowhere => (0, 0, 0, 0),
        Place::Source(span) => (0, 0, 1, span.start),
        Place::Entity(entity) => key(cx, &ranks, entity),
    });
}

fn key(cx: &VerifyContext<'_>, ranks: &HashMap<BodyId, usize>, entity: Entity) -> Key {
    let part = |body: BodyId| ranks.get(&body).map_or(u32::MAX, |&r| index(r + 1));
    let in_graph = |body, graph, kind, i| {
        let at = ranks.get(&body).map_or(0, |&r| cx.bodies[r].layout.graph_position(graph));
        (part(body), at, kind, i)
    };
    let in_node = |body, node, kind, i| {
        let at = ranks.get(&body).map_or(0, |&r| cx.bodies[r].layout.node_position(node));
        (part(body), at, kind, i)
    };
    let in_function = |f, kind, i| (part(cx.model.functions[f].body), 0, kind, i);
    let in_operator = |operator, kind: u32, i: u32| (0, 7, operator, (kind + 1) << 16 | i.min(0xffff));
    let last = index(cx.bodies.len() + 1);
    match entity {
        Entity::Header => (0, 1, 0, 0),
        Entity::IrVersion => (0, 2, 0, 0),
        Entity::OpsetImport(i) => (0, 3, 0, i),
        Entity::ModelVersion => (0, 4, 0, 0),
        Entity::ModelMetadata(i) => (0, 5, 0, i),
        Entity::OpsetVersion => (0, 6, 0, 0),
        Entity::Operator(o) => (0, 7, o, 0),
        Entity::OperatorAttribute(o, i) => in_operator(o, 0, i),
        Entity::OperatorInput(o, i) => in_operator(o, 1, i),
        Entity::OperatorOutput(o, i) => in_operator(o, 2, i),
        Entity::OperatorVariable(o, i) => in_operator(o, 3, i),
        Entity::FunctionOpsetImport(f, i) => in_function(f, 0, i),
        Entity::Function(f) => in_function(f, 1, 0),
        Entity::FunctionAttribute(f, i) => in_function(f, 2, i),
        Entity::FunctionAttributeDefault(f, i) => in_function(f, 3, i),
        Entity::Graph(body, graph) => in_graph(body, graph, 0, 0),
        Entity::Input(body, graph, i) => in_graph(body, graph, 1, i),
        Entity::Output(body, graph, i) => in_graph(body, graph, 2, i),
        Entity::ValueInfo(body, graph, i) => in_graph(body, graph, 3, i),
        Entity::Initializer(body, graph, i) | Entity::InitializerEntry(body, graph, i, _) => {
            in_graph(body, graph, 4, i)
        }
        Entity::SparseInitializer(body, graph, i) => in_graph(body, graph, 5, i),
        Entity::QuantizationAnnotation(body, graph, i) => in_graph(body, graph, 6, i),
        Entity::NodeOutput(body, node, i) => in_node(body, node, 0, i),
        Entity::Node(body, node) => in_node(body, node, 1, 0),
        Entity::NodeOp(body, node) => in_node(body, node, 2, 0),
        Entity::Attr(body, node, i)
        | Entity::AttrReference(body, node, i)
        | Entity::AttrEntry(body, node, i, _) => in_node(body, node, 3, i),
        Entity::NodeInput(body, node, i) => in_node(body, node, 4, i),
        Entity::Configuration(i) => (last, 0, 0, i),
        Entity::Training(i) => (last, 1, 0, i),
        Entity::Data(i) => (last, 2, 0, i),
    }
}
