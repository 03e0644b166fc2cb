//! Compares what is outside the main graph: header, operator sets, functions, training.

use super::data::{FunctionDiff, GraphDiff, Kind, Options, PropertyChange};
use super::hash::Side;
use super::{graph, value};
use onnx_ir::diag::counted;
use onnx_ir::{BodyId, Function, FunctionId, Model, Name, OpsetImport, normalize_domain};
use std::collections::{HashMap, VecDeque};

/// The differences of named values. A name that occurs more than once is compared occurrence by occurrence.
pub(super) fn keyed(old: Vec<(String, String)>, new: Vec<(String, String)>) -> Vec<PropertyChange> {
    let numbered = |list: Vec<(String, String)>| {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let number = |(name, value): (String, String)| {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            ((name, *count), value)
        };
        list.into_iter().map(number).collect::<Vec<_>>()
    };
    let (old, new) = (numbered(old), numbered(new));
    let olds: HashMap<_, _> = old.iter().cloned().collect();
    let news: HashMap<_, _> = new.iter().cloned().collect();
    let changed = old
        .iter()
        .filter_map(|(key, was)| PropertyChange::of(&key.0, Some(was.clone()), news.get(key).cloned()));
    let added = new.iter().filter(|(key, _)| !olds.contains_key(key));
    changed.chain(added.map(|(key, is)| PropertyChange::added(&key.0, is))).collect()
}

pub(super) fn header(a: &Model, b: &Model) -> Vec<PropertyChange> {
    let all = |model: &Model| {
        let header = &model.header;
        let number = |name: &str, number: Option<i64>| number.map(|n| (name.to_owned(), n.to_string()));
        let text = |name: &str, text: Option<Name>| {
            text.map(|text| (name.to_owned(), value::quoted(&model.names[text])))
        };
        let mut all: Vec<(String, String)> = [
            number("ir_version", header.ir_version),
            text("producer_name", header.producer_name),
            text("producer_version", header.producer_version),
            text("domain", header.domain),
            number("model_version", header.model_version),
            text("doc_string", header.doc),
        ]
        .into_iter()
        .flatten()
        .collect();
        all.extend(value::entries(model, "metadata_props", &header.metadata));
        all.extend(model.configurations.iter().map(|configuration| {
            let names: Vec<_> = configuration.devices.iter().map(|&name| &model.names[name]).collect();
            let name = format!("configuration.{}", model.text(configuration.name));
            (
                name,
                format!(
                    "{}: {}",
                    counted(configuration.num_devices.unwrap_or_default(), "device"),
                    names.join(", ")
                ),
            )
        }));
        all
    };
    keyed(all(a), all(b))
}

pub(super) fn opsets(a: &Model, old: &[OpsetImport], b: &Model, new: &[OpsetImport]) -> Vec<PropertyChange> {
    let all = |model: &Model, imports: &[OpsetImport]| {
        let domain = |import: &OpsetImport| match normalize_domain(model.text(import.domain)) {
            "" => "ai.onnx".to_owned(),
            domain => domain.to_owned(),
        };
        imports.iter().map(|i| (domain(i), i.version.map_or("?".to_owned(), |v| v.to_string()))).collect()
    };
    keyed(all(a, old), all(b, new))
}

pub(super) fn functions(a: &Model, b: &Model, options: &Options) -> Vec<FunctionDiff> {
    type Key = (String, String, String);
    let key = |model: &Model, function: &Function| -> Key {
        let domain = normalize_domain(model.text(function.domain)).to_owned();
        (domain, model.text(function.name).to_owned(), model.text(function.overload).to_owned())
    };
    let name = |(domain, name, overload): &Key| {
        let dot = if domain.is_empty() { "" } else { "." };
        let colon = if overload.is_empty() { "" } else { ":" };
        format!("{domain}{dot}{name}{colon}{overload}")
    };
    let by_key = |model: &Model| {
        let mut map: HashMap<Key, VecDeque<FunctionId>> = HashMap::new();
        for (id, function) in model.functions.iter() {
            map.entry(key(model, function)).or_default().push_back(id);
        }
        map
    };
    let mut news = by_key(b);
    let mut out = Vec::new();
    for function in a.functions.values() {
        let key = key(a, function);
        let Some(other) = news.get_mut(&key).and_then(VecDeque::pop_front) else {
            out.push(alone(Kind::Removed, name(&key)));
            continue;
        };
        let other = &b.functions[other];
        let mut properties = opsets(a, &function.opset_imports, b, &other.opset_imports);
        properties.iter_mut().for_each(|change| change.name.insert_str(0, "opset_import."));
        properties.extend(keyed(parameters(a, function), parameters(b, other)));
        let graph = graph::bodies(a, function.body, b, other.body, options);
        if !properties.is_empty() || !graph.is_empty() {
            out.push(FunctionDiff { kind: Kind::Changed, name: name(&key), properties, graph });
        }
    }
    let mut added: Vec<FunctionId> = news.into_values().flatten().collect();
    added.sort_unstable();
    out.extend(added.into_iter().map(|id| alone(Kind::Added, name(&key(b, &b.functions[id])))));
    out
}

fn parameters(model: &Model, function: &Function) -> Vec<(String, String)> {
    let side = Side { model, id: function.body };
    let mut all: Vec<(String, String)> = function
        .attributes
        .iter()
        .map(|&name| (format!("attribute.{}", &model.names[name]), "required".to_owned()))
        .collect();
    let node = onnx_ir::Node::default();
    all.extend(
        function.attribute_defaults.iter().map(|attr| {
            (format!("attribute.{}", model.text(attr.name)), value::attribute(side, &node, attr))
        }),
    );
    all.extend(function.doc.map(|doc| ("doc_string".to_owned(), value::quoted(&model.names[doc]))));
    all.extend(value::entries(model, "metadata_props", &function.metadata));
    all
}

fn alone(kind: Kind, name: String) -> FunctionDiff {
    FunctionDiff { kind, name, properties: Vec::new(), graph: GraphDiff::default() }
}

pub(super) fn training(a: &Model, b: &Model, options: &Options) -> Vec<FunctionDiff> {
    let mut out = Vec::new();
    for at in 0..a.training.len().max(b.training.len()) {
        let (Some(x), Some(y)) = (a.training.get(at), b.training.get(at)) else {
            let kind = if a.training.len() > at { Kind::Removed } else { Kind::Added };
            out.push(alone(kind, format!("training_info[{at}]")));
            continue;
        };
        let bindings = |model: &Model, info: &onnx_ir::TrainingInfo| {
            let mut all = value::entries(model, "initialization_binding", &info.initialization_bindings);
            all.extend(value::entries(model, "update_binding", &info.update_bindings));
            all
        };
        let properties = keyed(bindings(a, x), bindings(b, y));
        for (name, old, new) in
            [("initialization", x.initialization, y.initialization), ("algorithm", x.algorithm, y.algorithm)]
        {
            let name = format!("training_info[{at}].{name}");
            out.extend(body(a, old, b, new, name, options));
        }
        if !properties.is_empty() {
            let name = format!("training_info[{at}]");
            out.push(FunctionDiff { kind: Kind::Changed, name, properties, graph: GraphDiff::default() });
        }
    }
    out
}

fn body(
    a: &Model,
    old: Option<BodyId>,
    b: &Model,
    new: Option<BodyId>,
    name: String,
    options: &Options,
) -> Option<FunctionDiff> {
    match (old, new) {
        (Some(old), Some(new)) => {
            let graph = graph::bodies(a, old, b, new, options);
            let diff = FunctionDiff { kind: Kind::Changed, name, properties: Vec::new(), graph };
            (!diff.graph.is_empty()).then_some(diff)
        }
        (Some(_), None) => Some(alone(Kind::Removed, name)),
        (None, Some(_)) => Some(alone(Kind::Added, name)),
        (None, None) => None,
    }
}
