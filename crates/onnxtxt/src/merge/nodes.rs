//! Matches the nodes of three versions of a graph and gives each value one name.

use super::list::Keys;
use super::three::Merger;
use crate::diff::align::{Alignment, GraphView, NodeView, Renames, align};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}

fn texts<'v>(value: &'v Value, name: &str) -> Vec<&'v str> {
    let list = value.get(name).and_then(Value::as_array);
    list.map_or(Vec::new(), |list| list.iter().map(|item| item.as_str().unwrap_or("")).collect())
}

fn view(nodes: &[Value]) -> GraphView<'_> {
    let node = |value| NodeView {
        name: text(value, "name"),
        op: operator(value),
        attrs: attributes(value),
        inputs: texts(value, "input"),
        outputs: texts(value, "output"),
    };
    GraphView { nodes: nodes.iter().map(node).collect(), ..GraphView::default() }
}

fn operator(node: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in ["domain", "opType", "overload"] {
        onnx_ir::normalize_domain(text(node, name)).hash(&mut hasher);
    }
    hasher.finish()
}

fn attributes(node: &Value) -> u64 {
    let one = |attr: &Value| {
        let mut hasher = DefaultHasher::new();
        if attr.get("g").is_some() || attr.get("graphs").is_some() {
            // Graphs are merged separately.
            text(attr, "name").hash(&mut hasher);
        } else {
            attr.to_string().hash(&mut hasher);
        }
        hasher.finish()
    };
    let list = node.get("attribute").and_then(Value::as_array);
    list.map_or(0, |list| list.iter().map(one).fold(0, u64::wrapping_add))
}

/// The view of a whole graph or function.
fn graph_view<'v>(graph: &'v Map<String, Value>) -> GraphView<'v> {
    let names = |field: &str| {
        let list = graph.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        // The inputs of functions are strings.
        list.iter().map(|item| item.as_str().unwrap_or_else(|| text(item, "name"))).collect()
    };
    let nodes = graph.get("node").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    GraphView { inputs: names("input"), weights: names("initializer"), ..view(nodes) }
}

/// Keys for the nodes of three lists: nodes of the base have one each, new nodes get one derived from their results.
pub(super) fn keys(lists: [&[Value]; 3]) -> Option<Keys> {
    let views = lists.map(view);
    let base: Vec<String> = (0..lists[0].len()).map(|at| at.to_string()).collect();
    let side = |to: usize| {
        let found = align(&views[0], &views[to], &Renames::new());
        let mut seen: HashMap<String, usize> = HashMap::new();
        let key = |(at, old): (usize, &Option<usize>)| match old {
            Some(old) => old.to_string(),
            None => {
                let key = views[to].nodes[at].outputs.join(", ");
                let count = seen.entry(key.clone()).or_default();
                *count += 1;
                format!("new {key} {count}")
            }
        };
        found.backward.iter().enumerate().map(key).collect()
    };
    Some([base, side(1), side(2)])
}

/// The three versions with the merged names of values.
pub(super) fn with_same_names(
    merger: &mut Merger,
    path: &str,
    versions: [&Map<String, Value>; 3],
) -> [Map<String, Value>; 3] {
    let views = versions.map(graph_view);
    let owned = |found: Alignment<'_>| -> HashMap<String, String> {
        let renames = found.renames.iter().filter(|(old, new)| old != new && !new.is_empty());
        renames.map(|(&old, &new)| (old.to_owned(), new.to_owned())).collect()
    };
    let ours = owned(align(&views[0], &views[1], &Renames::new()));
    let theirs = owned(align(&views[0], &views[2], &Renames::new()));
    let mut result = versions.map(Clone::clone);
    if ours.is_empty() && theirs.is_empty() {
        return result;
    }
    let mut olds: Vec<&String> =
        ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name))).collect();
    olds.sort();
    let mut renames: [HashMap<String, String>; 3] = Default::default();
    for old in olds {
        let (x, y) = (ours.get(old), theirs.get(old));
        let name = match (x, y) {
            (Some(x), Some(y)) if x != y => {
                let (x, y) = (Value::from(x.as_str()), Value::from(y.as_str()));
                let what = format!("{path}.value[{old}].name");
                let chosen = merger.conflict(&what, Some(&x), Some(&y));
                chosen.as_ref().and_then(Value::as_str).unwrap_or(old).to_owned()
            }
            (Some(name), _) | (None, Some(name)) => name.clone(),
            (None, None) => continue,
        };
        for (side, current) in [Some(old), x.or(Some(old)), y.or(Some(old))].into_iter().enumerate() {
            if let Some(current) = current.filter(|current| **current != name) {
                renames[side].insert(current.clone(), name.clone());
            }
        }
    }
    for (graph, renames) in result.iter_mut().zip(&renames) {
        if !renames.is_empty() {
            rename_graph(graph, renames);
        }
    }
    result
}

fn rename(value: &mut Value, renames: &HashMap<String, String>) {
    if let Some(name) = value.as_str().and_then(|name| renames.get(name)) {
        *value = Value::from(name.as_str());
    }
}

fn items<'v>(object: &'v mut Map<String, Value>, field: &str) -> &'v mut [Value] {
    object.get_mut(field).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Renames values in a graph and its nested graphs.
fn rename_graph(graph: &mut Map<String, Value>, renames: &HashMap<String, String>) {
    for field in ["input", "output", "initializer", "valueInfo"] {
        for item in items(graph, field) {
            match item {
                Value::Object(port) => {
                    if let Some(name) = port.get_mut("name") {
                        rename(name, renames);
                    }
                }
                other => rename(other, renames),
            }
        }
    }
    for node in items(graph, "node").iter_mut().filter_map(Value::as_object_mut) {
        for field in ["input", "output"] {
            items(node, field).iter_mut().for_each(|name| rename(name, renames));
        }
        for attr in items(node, "attribute").iter_mut().filter_map(Value::as_object_mut) {
            if let Some(graph) = attr.get_mut("g").and_then(Value::as_object_mut) {
                rename_graph(graph, renames);
            }
            items(attr, "graphs")
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(|g| rename_graph(g, renames));
        }
    }
}
