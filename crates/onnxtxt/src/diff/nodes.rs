//! Compares matched nodes.

use super::align::{Alignment, GraphView, NodeView};
use super::data::{FunctionDiff, Kind, NodeDiff, NodeSummary, Options, PropertyChange};
use super::hash::{self, Side};
use super::{graph, header, value};
use onnx_ir::{Attr, AttrValue, Graph, GraphId, NodeDeviceConfiguration, NodeId, ValueId};
use std::collections::HashMap;

/// The view of a graph for matching.
pub(super) fn view<'m>(side: Side<'m>, graph: &Graph) -> GraphView<'m> {
    let body = side.body();
    let name = |value: Option<ValueId>| value.map_or("", |value| side.text(Some(body.values[value].name)));
    let node = |&id: &NodeId| {
        let node = &body.nodes[id];
        NodeView {
            name: side.text(node.name),
            op: hash::operator(side.model, node),
            attrs: hash::attributes(side.model, body, node),
            inputs: node.inputs.iter().map(|&value| name(value)).collect(),
            outputs: node.outputs.iter().map(|&value| name(value)).collect(),
        }
    };
    let dense = graph.initializers.iter().map(|init| name(Some(init.value)));
    let sparse = graph.sparse_initializers.iter().map(|init| name(Some(init.value)));
    GraphView {
        inputs: graph.inputs.iter().map(|port| side.text(port.name)).collect(),
        weights: dense.chain(sparse).collect(),
        nodes: graph.nodes.iter().map(node).collect(),
    }
}

/// The nodes of two graphs, with their views.
pub(super) struct Pair<'p, 'm> {
    pub(super) sides: [Side<'m>; 2],
    pub(super) graphs: [&'m Graph; 2],
    pub(super) views: [&'p GraphView<'m>; 2],
    pub(super) found: &'p Alignment<'m>,
    pub(super) options: &'p Options,
}

impl Pair<'_, '_> {
    /// All nodes that differ, in the order of the second graph; removed nodes are at their old place.
    pub(super) fn differences(&self) -> Vec<NodeDiff> {
        let moved = self.found.moved();
        let mut out = Vec::new();
        let mut next = 0;
        for (index, counterpart) in self.found.backward.iter().enumerate() {
            match *counterpart {
                None => out.push(self.alone(Kind::Added, index)),
                Some(old) => {
                    while next < old && !moved[index] {
                        if self.found.forward[next].is_none() {
                            out.push(self.alone(Kind::Removed, next));
                        }
                        next += 1;
                    }
                    let node = self.changed(old, index, moved[index]);
                    if !node.is_same() {
                        out.push(node);
                    }
                }
            }
        }
        let rest = (next..self.found.forward.len()).filter(|&old| self.found.forward[old].is_none());
        out.extend(rest.map(|old| self.alone(Kind::Removed, old)));
        out
    }

    fn summary(&self, side: usize, index: usize) -> NodeSummary {
        let (view, id) = (&self.views[side].nodes[index], self.graphs[side].nodes[index]);
        let node = &self.sides[side].body().nodes[id];
        NodeSummary {
            name: view.name.to_owned(),
            op: value::operator(self.sides[side], node),
            outputs: view.outputs.iter().map(|&name| name.to_owned()).collect(),
            index,
            text: value::node(self.sides[side], id),
        }
    }

    fn alone(&self, kind: Kind, index: usize) -> NodeDiff {
        let summary = |side: usize| Some(self.summary(side, index));
        let (old, new) = match kind {
            Kind::Removed => (summary(0), None),
            Kind::Added | Kind::Changed => (None, summary(1)),
        };
        NodeDiff { old, new, ..NodeDiff::of(kind) }
    }

    fn changed(&self, old: usize, new: usize, moved: bool) -> NodeDiff {
        let [a, b] = self.sides;
        let [x, y] = [&self.views[0].nodes[old], &self.views[1].nodes[new]];
        let (m, n) = (self.graphs[0].nodes[old], self.graphs[1].nodes[new]);
        let (p, q) = (&a.body().nodes[m], &b.body().nodes[n]);
        let mut diff = NodeDiff { moved, ..NodeDiff::of(Kind::Changed) };
        if x.op != y.op {
            let change =
                PropertyChange::of("op_type", Some(value::operator(a, p)), Some(value::operator(b, q)));
            diff.operator.extend(change);
        }
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        diff.renamed.extend(PropertyChange::of("name", given(x.name), given(y.name)));
        listed("outputs", &x.outputs, &y.outputs, |name| name, &mut diff.renamed);
        listed("inputs", &x.inputs, &y.inputs, |name| self.found.counterpart(name), &mut diff.operands);
        self.attributes(m, n, &mut diff);
        let property = |side: Side<'_>, node: &onnx_ir::Node| {
            let mut all = value::entries(side.model, "metadata_props", &node.extra().metadata);
            let doc = node.extra().doc.map(|doc| value::quoted(side.text(Some(doc))));
            all.extend(doc.map(|doc| ("doc_string".to_owned(), doc)));
            all.extend(node.extra().devices.iter().map(|device| devices(side, device)));
            all
        };
        diff.properties = header::keyed(property(a, p), property(b, q));
        if !diff.is_same() {
            diff.old = Some(self.summary(0, old));
            diff.new = Some(self.summary(1, new));
        }
        diff
    }

    fn attributes(&self, m: NodeId, n: NodeId, diff: &mut NodeDiff) {
        let [a, b] = self.sides;
        let (p, q) = (&a.body().nodes[m], &b.body().nodes[n]);
        let named = |side: Side<'_>, attrs: &[Attr]| -> HashMap<String, usize> {
            let mut at = HashMap::new();
            for (index, attr) in attrs.iter().enumerate() {
                at.entry(side.text(attr.name).to_owned()).or_insert(index);
            }
            at
        };
        let (olds, news) = (named(a, &p.attrs), named(b, &q.attrs));
        for attr in &p.attrs {
            let name = a.text(attr.name);
            let old = || Some(value::attribute(a, p, attr));
            match news.get(name) {
                None => diff.attributes.extend(PropertyChange::of(name, old(), None)),
                Some(&other) => {
                    let other = &q.attrs[other];
                    if !hash::same_attribute(a, attr, b, other) {
                        let new = Some(value::attribute(b, q, other));
                        let mut change = PropertyChange::added(name, "");
                        (change.old, change.new) = (old(), new);
                        diff.attributes.push(change);
                    }
                    self.graphs(name, attr, other, diff);
                }
            }
        }
        for attr in q.attrs.iter().filter(|attr| !olds.contains_key(b.text(attr.name))) {
            diff.attributes.push(PropertyChange::added(b.text(attr.name), &value::attribute(b, q, attr)));
        }
    }

    fn graphs(&self, name: &str, x: &Attr, y: &Attr, diff: &mut NodeDiff) {
        let all = |attr: &Attr| -> Vec<GraphId> {
            attr.values.iter().flat_map(AttrValue::graphs).copied().collect()
        };
        let (olds, news) = (all(x), all(y));
        for (at, (&old, &new)) in olds.iter().zip(&news).enumerate() {
            let renames = &self.found.renames;
            let graph = graph::graphs(self.sides, [old, new], renames, self.options);
            if !graph.is_empty() {
                let name = if news.len() > 1 { format!("{name}[{at}]") } else { name.to_owned() };
                diff.graphs.push(FunctionDiff { kind: Kind::Changed, name, properties: Vec::new(), graph });
            }
        }
    }
}

/// Values by position.
fn listed<'n>(
    field: &str,
    old: &[&'n str],
    new: &[&'n str],
    counterpart: impl Fn(&'n str) -> &'n str,
    out: &mut Vec<PropertyChange>,
) {
    for at in 0..old.len().max(new.len()) {
        let given = |list: &[&'n str]| list.get(at).copied().filter(|name| !name.is_empty());
        let (was, is) = (given(old), given(new));
        if was.map(&counterpart) != is {
            let name = format!("{field}[{at}]");
            let text = |name: Option<&str>| name.map(str::to_owned);
            // A changed operand can have the old name if the previous value was renamed.
            let mut change = PropertyChange::added(&name, "");
            (change.old, change.new) = (text(was), text(is));
            out.push(change);
        }
    }
}

fn devices(side: Side<'_>, device: &NodeDeviceConfiguration) -> (String, String) {
    let shards = device.sharding.iter().map(|shard| {
        let dim = |dim: onnx_ir::DimValue| match dim {
            onnx_ir::DimValue::Unknown => "?".to_owned(),
            onnx_ir::DimValue::Value(extent) => extent.to_string(),
            onnx_ir::DimValue::Param(name) => side.text(Some(name)).to_owned(),
        };
        let axes: Vec<_> = shard
            .axes
            .iter()
            .map(|axis| (axis.axis, axis.parts.iter().map(|p| (dim(p.dim), p.shards)).collect::<Vec<_>>()))
            .collect();
        let groups: Vec<_> = shard.groups.iter().map(|group| (group.key, &group.devices)).collect();
        format!("{} on {:?} {groups:?} {axes:?}", side.text(shard.tensor_name), shard.devices)
    });
    let shards: Vec<_> = shards.collect();
    let name = format!("device_configurations.{}", side.text(device.configuration));
    (name, format!("stage {:?}: {}", device.pipeline_stage, shards.join("; ")))
}
