//! Parts of the main graph that are worth a drawing of their own.

use super::build::Holders;
use crate::edit::main_graph;
use onnx_ir::{Body, Model, NodeId, ValueDef, ValueId};
use std::collections::{HashMap, HashSet, VecDeque};

/// The values that a node reads, those that graphs in it capture included.
fn operands(body: &Body, node: NodeId) -> Vec<ValueId> {
    let inner = body.subgraphs(node).flat_map(|graph| body.walk_graph(graph).nodes());
    let nodes = std::iter::once(node).chain(inner);
    nodes.flat_map(|node| body.nodes[node].inputs.iter().flatten().copied()).collect()
}

/// The nodes of the main graph that are at most `depth` edges from some of them, in their order.
pub fn around(model: &Model, nodes: &[NodeId], depth: usize) -> Vec<NodeId> {
    let Some((body, root)) = main_graph(model) else { return Vec::new() };
    let body = &model.bodies[body];
    let all = &body.graphs[root].nodes;
    let mut neighbours: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for &node in all {
        for value in operands(body, node) {
            if let ValueDef::Output(from, _) = body.values[value].def
                && from != node
            {
                neighbours.entry(from).or_default().push(node);
                neighbours.entry(node).or_default().push(from);
            }
        }
    }
    let mut near: HashMap<NodeId, usize> = HashMap::new();
    let mut queue: VecDeque<NodeId> = VecDeque::new();
    let holders = Holders::of(body);
    for &node in nodes {
        let node = holders.outermost(node);
        if near.insert(node, 0).is_none() {
            queue.push_back(node);
        }
    }
    while let Some(node) = queue.pop_front() {
        let distance = near[&node];
        if distance == depth {
            continue;
        }
        for &next in neighbours.get(&node).into_iter().flatten() {
            near.entry(next).or_insert_with(|| {
                queue.push_back(next);
                distance + 1
            });
        }
    }
    all.iter().copied().filter(|node| near.contains_key(node)).collect()
}

/// The nodes of the main graph on a path from some values to others: from anything if `from` is empty, to anything if `to` is.
pub fn between(model: &Model, from: &[ValueId], to: &[ValueId]) -> Vec<NodeId> {
    let Some((body, root)) = main_graph(model) else { return Vec::new() };
    let body = &model.bodies[body];
    let all = &body.graphs[root].nodes;
    let mut below: HashSet<ValueId> = from.iter().copied().collect();
    let mut after: HashSet<NodeId> = HashSet::new();
    for &node in all {
        if from.is_empty() || operands(body, node).iter().any(|value| below.contains(value)) {
            after.insert(node);
            below.extend(body.nodes[node].outputs.iter().flatten());
        }
    }
    let starts: HashSet<ValueId> = from.iter().copied().collect();
    let mut above: HashSet<ValueId> = to.iter().copied().collect();
    let mut before: HashSet<NodeId> = HashSet::new();
    for &node in all.iter().rev() {
        if to.is_empty() || body.nodes[node].outputs.iter().flatten().any(|value| above.contains(value)) {
            before.insert(node);
            above.extend(operands(body, node).into_iter().filter(|value| !starts.contains(value)));
        }
    }
    all.iter().copied().filter(|node| after.contains(node) && before.contains(node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::main_value;

    #[test]
    fn neighbourhoods_and_paths() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y, float[N] z) {
            a = Abs(x) b = Neg(a) c = Exp(b) d = Sin(a) y = Add(c, d) z = Sqrt(x) }";
        let model = onnx_text::read_model(text).value;
        let body = model.main_body().unwrap();
        let named = |nodes: Vec<NodeId>| -> Vec<&str> {
            nodes.iter().map(|&n| &model.names[body.values[body.nodes[n].outputs[0].unwrap()].name]).collect()
        };
        let node = |name: &str| match body.values[main_value(&model, name).unwrap()].def {
            ValueDef::Output(node, _) => node,
            _ => panic!("{name}"),
        };
        let value = |name: &str| main_value(&model, name).unwrap();
        assert_eq!(named(around(&model, &[node("b")], 1)), ["a", "b", "c"]);
        assert_eq!(named(around(&model, &[node("b")], 2)), ["a", "b", "c", "d", "y"]);
        assert_eq!(named(around(&model, &[], 9)), [""; 0]);
        assert_eq!(named(between(&model, &[value("a")], &[value("y")])), ["b", "c", "d", "y"]);
        assert_eq!(named(between(&model, &[], &[value("c")])), ["a", "b", "c"]);
        assert_eq!(named(between(&model, &[value("c")], &[])), ["y"]);
    }
}
