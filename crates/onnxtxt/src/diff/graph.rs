//! Compares two graphs: ports, weights, nodes.

use super::align::{Renames, align};
use super::data::{GraphDiff, Kind, Options, PropertyChange, WeightDiff};
use super::hash::{Side, same_sparse};
use super::weights::{digest, distance, same_elements};
use super::{header, nodes, value};
use onnx_ir::{BodyId, Graph, GraphId, Model, Port, SparseInitializer, Tensor};
use std::collections::HashMap;

/// The main graphs of two bodies.
pub(super) fn bodies(a: &Model, x: BodyId, b: &Model, y: BodyId, options: &Options) -> GraphDiff {
    let sides = [Side { model: a, id: x }, Side { model: b, id: y }];
    match (sides[0].body().root(), sides[1].body().root()) {
        (Some(old), Some(new)) => graphs(sides, [old, new], &Renames::new(), options),
        (None, None) => GraphDiff::default(),
        (Some(_), None) => {
            GraphDiff { properties: vec![PropertyChange::removed("graph", "graph")], ..GraphDiff::default() }
        }
        (None, Some(_)) => {
            GraphDiff { properties: vec![PropertyChange::added("graph", "graph")], ..GraphDiff::default() }
        }
    }
}

/// Two graphs; `outer` are the new names of values of enclosing graphs.
pub(super) fn graphs<'m>(
    sides: [Side<'m>; 2],
    ids: [GraphId; 2],
    outer: &Renames<'m>,
    options: &Options,
) -> GraphDiff {
    let graphs = [&sides[0].body().graphs[ids[0]], &sides[1].body().graphs[ids[1]]];
    let [a, b] = sides;
    let [x, y] = graphs;
    let views = [&nodes::view(a, x), &nodes::view(b, y)];
    let found = align(views[0], views[1], outer);
    let mut diff = GraphDiff {
        inputs: interface(sides, [&x.inputs, &y.inputs], &found.renames),
        outputs: interface(sides, [&x.outputs, &y.outputs], &Renames::new()),
        ..GraphDiff::default()
    };
    if options.interface {
        return diff;
    }
    diff.weights = weights(sides, graphs, &found.renames);
    diff.nodes = nodes::Pair { sides, graphs, views, found: &found, options }.differences();
    let declared = |side: Side<'_>, graph: &Graph, renames: &Renames<'_>| {
        let name = |port: &Port| {
            let name = side.text(port.name);
            renames.get(name).copied().filter(|new| !new.is_empty()).unwrap_or(name).to_owned()
        };
        let one = |port: &Port| (name(port), value::port_type(side.model, port) + &documented(side, port));
        graph.value_info.iter().map(one).collect()
    };
    diff.value_info = header::keyed(declared(a, x, &found.renames), declared(b, y, &Renames::new()));
    diff.properties = header::keyed(properties(a, x), properties(b, y));
    diff
}

fn documented(side: Side<'_>, port: &Port) -> String {
    let mut text = String::new();
    if let Some(doc) = port.doc {
        text += &format!(", doc_string {}", value::quoted(side.text(Some(doc))));
    }
    for (name, value) in value::entries(side.model, "", &port.metadata) {
        text += &format!(", {name} {value}");
    }
    text
}

fn properties(side: Side<'_>, graph: &Graph) -> Vec<(String, String)> {
    let text = |name: &str, text: Option<_>| text.map(|_| (name.to_owned(), value::quoted(side.text(text))));
    let mut all: Vec<_> =
        [text("name", graph.name), text("doc_string", graph.doc)].into_iter().flatten().collect();
    all.extend(value::entries(side.model, "metadata_props", &graph.metadata));
    all.extend(graph.quantization.iter().map(|annotation| {
        let parameters = value::entries(side.model, "", &annotation.parameters);
        let parameters: Vec<_> = parameters.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        (format!("quantization_annotation.{}", side.text(annotation.tensor_name)), parameters.join(", "))
    }));
    all
}

/// Inputs or outputs by name, with the positions of those that have another one.
fn interface(sides: [Side<'_>; 2], ports: [&[Port]; 2], renames: &Renames<'_>) -> Vec<PropertyChange> {
    let [a, b] = sides;
    let index =
        |side: Side<'_>, ports: &[Port]| positions(ports.iter().map(|port| side.text(port.name).to_owned()));
    let (olds, news) = (index(a, ports[0]), index(b, ports[1]));
    let mut out = Vec::new();
    let mut matched = vec![false; ports[1].len()];
    for (at, port) in ports[0].iter().enumerate() {
        let name = a.text(port.name);
        let renamed = renames.get(name).copied().unwrap_or(name);
        let old = value::port_type(a.model, port) + &documented(a, port);
        let free = news.get(renamed).and_then(|all| all.iter().find(|&&other| !matched[other]));
        let Some(&other) = free else {
            out.push(PropertyChange::removed(name, &old));
            continue;
        };
        matched[other] = true;
        let new = value::port_type(b.model, &ports[1][other]) + &documented(b, &ports[1][other]);
        let is_renamed = renamed != name;
        // The position counts as unchanged if as many ports before it are common to both.
        let rank = |ports: &[Port], side: Side<'_>, to: usize, others: &HashMap<String, Vec<usize>>| {
            ports[..to].iter().filter(|port| others.contains_key(side.text(port.name))).count()
        };
        let is_moved =
            at != other && !is_renamed && rank(ports[0], a, at, &news) != rank(ports[1], b, other, &olds);
        if old != new || is_renamed || is_moved {
            out.push(PropertyChange {
                name: renamed.to_owned(),
                old_name: is_renamed.then(|| name.to_owned()),
                old: Some(old),
                new: Some(new),
                note: is_moved.then(|| format!("position {at} → {other}")),
            });
        }
    }
    for (port, _) in ports[1].iter().zip(matched).filter(|(_, is_matched)| !is_matched) {
        out.push(PropertyChange::added(
            b.text(port.name),
            &(value::port_type(b.model, port) + &documented(b, port)),
        ));
    }
    out
}

/// The positions of each name. An invalid model can repeat names.
fn positions<K: std::hash::Hash + Eq>(names: impl Iterator<Item = K>) -> HashMap<K, Vec<usize>> {
    let mut at: HashMap<K, Vec<usize>> = HashMap::new();
    names.enumerate().for_each(|(index, name)| at.entry(name).or_default().push(index));
    at
}

/// A weight of either kind.
#[derive(Clone, Copy)]
enum Weight<'m> {
    Dense(&'m Tensor),
    Sparse(&'m SparseInitializer),
}

impl Weight<'_> {
    /// `float[3,3]`
    fn ty(self, side: Side<'_>) -> String {
        let text = |elem: Option<onnx_ir::ElemType>, dims: &[i64]| {
            let elem = elem.map_or("?".to_owned(), |e| e.name().map_or(e.0.to_string(), str::to_owned));
            let dims: Vec<_> = dims.iter().map(i64::to_string).collect();
            if dims.is_empty() { elem } else { format!("{elem}[{}]", dims.join(",")) }
        };
        match self {
            Weight::Dense(tensor) => text(tensor.elem, &tensor.dims),
            Weight::Sparse(sparse) => {
                let values = sparse.tensor.values.map(|values| &side.body().tensors[values]);
                format!("sparse_tensor({})", text(values.and_then(|values| values.elem), &sparse.tensor.dims))
            }
        }
    }

    fn digest(self) -> Option<String> {
        match self {
            Weight::Dense(tensor) => digest(tensor),
            Weight::Sparse(_) => None,
        }
    }

    fn properties(self, side: Side<'_>) -> Vec<(String, String)> {
        let Weight::Dense(tensor) = self else { return Vec::new() };
        let extra = tensor.extra();
        let mut all = value::entries(side.model, "metadata_props", &extra.metadata);
        all.extend(extra.doc.map(|doc| ("doc_string".to_owned(), value::quoted(side.text(Some(doc))))));
        if tensor.is_external() {
            all.extend(value::entries(side.model, "external_data", &extra.external));
        }
        all
    }
}

fn named<'m>(side: Side<'m>, graph: &'m Graph) -> Vec<(&'m str, Weight<'m>)> {
    let body = side.body();
    let name = |value| side.text(Some(body.values[value].name));
    let dense = graph.initializers.iter().map(|i| (name(i.value), Weight::Dense(&body.tensors[i.tensor])));
    let sparse = graph.sparse_initializers.iter().map(|i| (name(i.value), Weight::Sparse(i)));
    dense.chain(sparse).collect()
}

fn weights(sides: [Side<'_>; 2], graphs: [&Graph; 2], renames: &Renames<'_>) -> Vec<WeightDiff> {
    let [a, b] = sides;
    let (olds, news) = (named(a, graphs[0]), named(b, graphs[1]));
    let at = positions(news.iter().map(|&(name, _)| name));
    let mut matched = vec![false; news.len()];
    let mut out = Vec::new();
    for &(name, old) in &olds {
        let renamed = renames.get(name).copied().unwrap_or(name);
        let free = at.get(renamed).and_then(|all| all.iter().find(|&&other| !matched[other]));
        let Some(&other) = free else {
            out.push(alone(Kind::Removed, name, old, a));
            continue;
        };
        matched[other] = true;
        let new = news[other].1;
        let is_same = match (old, new) {
            (Weight::Dense(x), Weight::Dense(y)) => same_elements(x, y),
            (Weight::Sparse(x), Weight::Sparse(y)) => same_sparse(a, &x.tensor, b, &y.tensor),
            (Weight::Dense(_), Weight::Sparse(_)) | (Weight::Sparse(_), Weight::Dense(_)) => false,
        };
        let properties = header::keyed(old.properties(a), new.properties(b));
        if is_same && renamed == name && properties.is_empty() {
            continue;
        }
        let mut diff = alone(Kind::Changed, renamed, new, b);
        diff.old_name = (renamed != name).then(|| name.to_owned());
        diff.old_type = Some(old.ty(a));
        diff.old_digest = if is_same { diff.new_digest.clone() } else { old.digest() };
        if let (false, Weight::Dense(x), Weight::Dense(y)) = (is_same, old, new)
            && let Some(distance) = distance(x, y)
        {
            diff.differing = Some(distance.differing);
            diff.largest_difference = distance.largest;
            diff.mean_difference = distance.mean;
        }
        diff.properties = properties;
        out.push(diff);
    }
    let added = news.iter().zip(matched).filter(|(_, is_matched)| !is_matched);
    out.extend(added.map(|(&(name, new), _)| alone(Kind::Added, name, new, b)));
    out
}

fn alone(kind: Kind, name: &str, weight: Weight<'_>, side: Side<'_>) -> WeightDiff {
    let (ty, digest) = (Some(weight.ty(side)), weight.digest());
    let is_new = kind != Kind::Removed;
    let (old_type, new_type) = if is_new { (None, ty) } else { (ty, None) };
    let (old_digest, new_digest) = if is_new { (None, digest) } else { (digest, None) };
    WeightDiff {
        kind,
        name: name.to_owned(),
        old_name: None,
        old_type,
        new_type,
        old_digest,
        new_digest,
        differing: None,
        largest_difference: None,
        mean_difference: None,
        properties: Vec::new(),
    }
}
