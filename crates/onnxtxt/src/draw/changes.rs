//! The differences between two models in one drawing: new, gone, and different boxes and wires.

use super::build::{Builder, ValueSource};
use super::scene::{BoxLine, Item, ItemId, Kind, Mark, Scene, Wire, WireValue};
use super::{Drawing, Options};
use crate::diff::{ModelDiff, NodeDiff, PropertyChange};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_ops::schema::Registry;
use std::collections::{HashMap, HashSet};

/// Draws the main graph of `new`, with what only `old` has; `found` are the differences between them.
pub fn draw_diff(
    models: [&Model; 2],
    registries: [&Registry; 2],
    found: &ModelDiff,
    options: &Options,
) -> Drawing {
    let [old, new] = models;
    let mut builder = Builder::new(new, registries[1]);
    builder.scene.title.clone_from(&options.title);
    builder.statistics = options.statistics;
    for weight in &found.graph.weights {
        builder.changed_weights.insert(weight.name.clone(), weight_text(weight));
    }
    builder.main(&Options { nodes: None, ..options.clone() });
    let mut union = Union { names: names(found), items: HashMap::new() };
    union.mark(&mut builder, found, old, registries[0]);
    builder.resolve();
    let mut scene = builder.scene;
    scene.is_diff = true;
    mark_wires(&mut scene);
    let mut drawing = Drawing::of(scene, options.collapse);
    drawing.mark_groups();
    drawing
}

fn weight_text(weight: &crate::diff::WeightDiff) -> String {
    match (&weight.old_type, &weight.new_type, weight.differing) {
        (Some(old), Some(new), _) if old != new => format!("{old} → {new}"),
        (_, _, Some(count)) => crate::diff::elements_differ(count),
        (None, Some(_), _) => "new".to_owned(),
        _ => "differs".to_owned(),
    }
}

/// The names that values of the old model have in the new one.
fn names(found: &ModelDiff) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let mut add = |change: &PropertyChange| {
        if let (Some(old), Some(new)) = (&change.old, &change.new) {
            names.insert(old.clone(), new.clone());
        }
    };
    found
        .graph
        .nodes
        .iter()
        .flat_map(|node| &node.renamed)
        .filter(|c| c.name.starts_with("outputs"))
        .for_each(&mut add);
    for change in &found.graph.inputs {
        if let Some(old) = &change.old_name {
            names.insert(old.clone(), change.name.clone());
        }
    }
    for weight in &found.graph.weights {
        if let Some(old) = &weight.old_name {
            names.insert(old.clone(), weight.name.clone());
        }
    }
    names
}

struct Union {
    /// New names of old values.
    names: HashMap<String, String>,
    /// The boxes of values that only the old model computes.
    items: HashMap<String, ItemId>,
}

impl Union {
    fn mark(&mut self, builder: &mut Builder<'_>, found: &ModelDiff, old: &Model, registry: &Registry) {
        self.pills(builder, found);
        let new_nodes = nodes_of(builder.model);
        for node in &found.graph.nodes {
            let Some(summary) = &node.new else { continue };
            let Some(&item) = new_nodes.get(summary.index).and_then(|id| builder.items.get(id)) else {
                continue;
            };
            let is_added = node.old.is_none();
            let made = &mut builder.scene.items[item];
            made.mark = if is_added { Mark::Added } else { Mark::Changed };
            if !is_added {
                made.detail.changes = changes(node);
            }
        }
        for function in &found.functions {
            let name = function.name.rsplit('.').next().unwrap_or(&function.name);
            for item in &mut builder.scene.items {
                if item.mark == Mark::None
                    && item.family == super::family::Family::Function
                    && item.title == name
                {
                    item.mark = Mark::Changed;
                    item.detail.changes.push("the function differs".to_owned());
                }
            }
        }
        self.removed(builder, found, old, registry);
        self.operands(builder, found, &new_nodes);
    }

    /// Inputs and outputs.
    fn pills(&mut self, builder: &mut Builder<'_>, found: &ModelDiff) {
        let sides = [(Kind::Input, &found.graph.inputs), (Kind::Output, &found.graph.outputs)];
        for (kind, changes) in sides {
            for change in changes {
                let at = builder.scene.groups[0].members.iter().copied().find(|&item| {
                    let item = &builder.scene.items[item];
                    item.kind == kind && item.name == change.name
                });
                match (at, &change.old) {
                    (Some(at), None) => builder.scene.items[at].mark = Mark::Added,
                    (Some(at), Some(_)) => {
                        let item = &mut builder.scene.items[at];
                        item.mark = Mark::Changed;
                        item.detail.changes.push(one(change));
                    }
                    (None, Some(old)) => {
                        let mut item = Item::new(0, kind, change.name.clone());
                        item.name.clone_from(&change.name);
                        item.mark = Mark::Removed;
                        item.lines.push(BoxLine { label: String::new(), text: old.clone(), link: None });
                        let id = builder.scene.add(item);
                        if kind == Kind::Input {
                            self.items.insert(change.name.clone(), id);
                        }
                    }
                    (None, None) => {}
                }
            }
        }
    }

    /// Nodes that only the old model has.
    fn removed(&mut self, builder: &mut Builder<'_>, found: &ModelDiff, old: &Model, registry: &Registry) {
        let Some(main) = old.main else { return };
        let body = &old.bodies[main];
        let all = nodes_of(old);
        let gone: HashSet<NodeId> = found
            .graph
            .nodes
            .iter()
            .filter(|node| node.new.is_none())
            .filter_map(|node| all.get(node.old.as_ref()?.index).copied())
            .collect();
        // A second builder draws nodes of the old model into the scene of the new one.
        let mut before = Builder::new(old, registry);
        before.scene = std::mem::take(&mut builder.scene);
        before.statistics = builder.statistics;
        before.begin_scope(main);
        // Values that the new model has as well come from there.
        let name_of = |value: ValueId| &old.names[body.values[value].name];
        let news = sources(builder);
        if let Some(root) = body.root() {
            for value in body.graphs[root].values(body) {
                let name = name_of(value);
                let new = self.names.get(name).map_or(name, String::as_str);
                if let Some(source) = news.get(new) {
                    let shown = match source {
                        ValueSource::Weight(_, text) => ValueSource::Constant(text.clone()),
                        other => other.clone(),
                    };
                    before.sources.insert((0, value), shown);
                } else if let Some(&item) = self.items.get(name) {
                    before.sources.insert((0, value), ValueSource::Item(item));
                } else if let Some(init) =
                    body.graphs[root].initializers.iter().find(|init| init.value == value)
                {
                    let ty = before.type_text(0, value);
                    before.sources.insert((0, value), ValueSource::Weight(init.tensor, ty));
                }
            }
        }
        // The removed nodes, in their order.
        let order = || all.iter().filter(|node| gone.contains(node));
        for &node in order() {
            if let Some(item) = before.node(0, node, 0, None) {
                before.scene.items[item].mark = Mark::Removed;
            }
        }
        for &node in order() {
            let item = before.items.get(&node).copied();
            for value in body.nodes[node].outputs.iter().flatten() {
                if let Some(item) = item {
                    self.items.insert(name_of(*value).to_owned(), item);
                }
            }
        }
        before.uses.iter_mut().for_each(|used| used.mark = Mark::Removed);
        before.resolve();
        builder.scene = before.scene;
        // Those that read their results, in the old model.
        let mut add = |name: &str, to: Option<ItemId>| {
            let (Some(&from), Some(to)) = (self.items.get(name), to) else { return };
            builder.scene.values.push(WireValue { name: name.to_owned(), ty: String::new() });
            let value = builder.scene.values.len() - 1;
            builder.scene.wires.push(Wire { from, to, value, mark: Mark::Removed });
        };
        for &node in all.iter().filter(|node| !gone.contains(node)) {
            let node = &body.nodes[node];
            let result = node.outputs.iter().flatten().next().map(|&value| name_of(value));
            let source = result.and_then(|name| news.get(self.names.get(name).map_or(name, String::as_str)));
            let to = source
                .and_then(|source| if let ValueSource::Item(item) = source { Some(*item) } else { None });
            node.inputs.iter().flatten().for_each(|&value| add(name_of(value), to));
        }
    }

    /// Operands that are other values.
    fn operands(&mut self, builder: &mut Builder<'_>, found: &ModelDiff, new_nodes: &[NodeId]) {
        let sources = sources(builder);
        for node in &found.graph.nodes {
            let (Some(_), Some(new)) = (&node.old, &node.new) else { continue };
            let Some(&id) = new_nodes.get(new.index) else { continue };
            let Some(&item) = builder.items.get(&id) else { continue };
            for change in &node.operands {
                let at = change.name.trim_start_matches("inputs[").trim_end_matches(']').parse::<usize>();
                let Some(body) = builder.model.main_body() else { continue };
                let value = at.ok().and_then(|at| body.nodes[id].inputs.get(at).copied().flatten());
                for used in
                    builder.uses.iter_mut().filter(|used| used.to == item && Some(used.key.1) == value)
                {
                    used.mark = Mark::Added;
                }
                let Some(name) = &change.old else { continue };
                let new = self.names.get(name).unwrap_or(name);
                // Removed boxes have their wires already.
                let from = match sources.get(new.as_str()) {
                    Some(ValueSource::Item(from)) if !self.items.contains_key(name) => Some(*from),
                    _ => None,
                };
                if let Some(from) = from {
                    builder.scene.values.push(WireValue { name: name.clone(), ty: String::new() });
                    let value = builder.scene.values.len() - 1;
                    builder.scene.wires.push(Wire { from, to: item, value, mark: Mark::Removed });
                }
            }
        }
    }
}

/// Where the values of the main graph come from, by name.
fn sources(builder: &Builder<'_>) -> HashMap<String, ValueSource> {
    let main = builder.sources.keys().filter(|key| key.0 == 0).copied().collect::<Vec<_>>();
    let mut out = HashMap::new();
    for key in main {
        let origin = builder.origin(key);
        if let Some(source) = builder.sources.get(&origin) {
            out.insert(builder.name(key).to_owned(), source.clone());
        }
    }
    out
}

fn nodes_of(model: &Model) -> Vec<NodeId> {
    let Some(body) = model.main_body() else { return Vec::new() };
    body.root().map(|root| body.graphs[root].nodes.clone()).unwrap_or_default()
}

/// `alpha: 0.1 → 0.25`
fn one(change: &PropertyChange) -> String {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "–".to_owned());
    format!("{}: {} → {}", change.name, side(&change.old), side(&change.new))
}

fn changes(node: &NodeDiff) -> Vec<String> {
    let parts = [&node.operator, &node.attributes, &node.operands, &node.renamed, &node.properties];
    let mut out: Vec<String> = parts.into_iter().flatten().map(one).collect();
    if node.moved {
        out.push("moved".to_owned());
    }
    out.extend(node.graphs.iter().map(|graph| format!("{} differs", graph.name)));
    out
}

/// Wires from or to what is new or gone are new or gone.
fn mark_wires(scene: &mut Scene) {
    for wire in &mut scene.wires {
        let ends = [scene.items[wire.from].mark, scene.items[wire.to].mark];
        if wire.mark == Mark::None {
            wire.mark = [Mark::Removed, Mark::Added]
                .into_iter()
                .find(|mark| ends.contains(mark))
                .unwrap_or(Mark::None);
        }
    }
}

impl Drawing {
    /// Groups with something different in them are different, so that it is seen when they are closed.
    fn mark_groups(&mut self) {
        for group in self.scene.groups_inside_out() {
            let is_marked = self.scene.groups[group]
                .members
                .iter()
                .any(|&item| self.scene.items[item].mark != Mark::None);
            if let (true, Some(item)) = (is_marked, self.scene.groups[group].item) {
                let item = &mut self.scene.items[item];
                item.mark = if item.mark == Mark::None { Mark::Changed } else { item.mark };
            }
        }
    }
}
