//! Replaces everything in a model that says where it is from: names, texts and weights.
//!
//! ```text
//! before:  acme_ranker (float[users,64] clicks) => (float[users,1] ctr) <float[64,1] ctr_w = {0.31, …}> { ctr = MatMul(clicks, ctr_w) }
//! after:   graph_0 (float[dim_0,64] input_0) => (float[dim_0,1] output_0)
//!          <float[64,1] value_0 = {0.28, …}> { output_0 = MatMul(input_0, value_0) }
//! ```
//!
//! Equal names become equal names. Operators, types, sizes and attributes with numbers stay, and so do the words that operators know
//! (`mode`, `auto_pad`); unknown operators, their attributes and domains get other names. Weights become random numbers with
//! about the same mean, spread and range, and so do the numbers in attributes of `ai.onnx.ml`. Integers that are axes, shapes and
//! counts stay, also where these are computed ([`structure`]); so do tensors of up to four floats, which are constants of formulas
//! such as an epsilon.

mod structure;
mod weights;

pub use weights::randomized;

use super::rename::{is_formula, is_symbol, words};
use super::{Edited, types};
use bytes::Bytes;
use onnx_ir::pass::{self, Named, Report};
use onnx_ir::{Attr, AttrValue, Dim, DimValue, Entry, Model, Name, Node, Payload, Type, normalize_domain};
use onnx_ops::schema::Registry;
use std::collections::{BTreeMap, HashSet};

/// The parts to replace besides names and texts.
#[derive(Clone, Copy, Debug)]
pub struct Anonymize {
    /// Whether weights stay as they are.
    pub keep_weights: bool,
    /// Seed of random weights.
    pub seed: u64,
}

/// Replaces names, texts and weights. Weights must be in the model.
pub fn anonymize(model: &mut Model, registry: &Registry, options: Anonymize) -> Edited {
    let mut report = Report::default();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut numbered = |stem: &'static str| {
        let count = counts.entry(stem).or_default();
        *count += 1;
        format!("{stem}_{}", *count - 1)
    };
    // Two steps, because a new name may be an old one of something else.
    let renamed = pass::rename(model, &mut |named, _| {
        Some(numbered(match named {
            Named::Input => "\u{1}input",
            Named::Output => "\u{1}output",
            Named::Value => "\u{1}value",
            Named::Node => "\u{1}node",
            Named::Graph => "\u{1}graph",
        }))
    });
    if !renamed.diagnostics.is_empty() {
        return Err(renamed.diagnostics);
    }
    let named = pass::rename(model, &mut |_, name| name.strip_prefix('\u{1}').map(str::to_owned));
    if !named.diagnostics.is_empty() {
        return Err(named.diagnostics);
    }
    report.changes.extend(renamed.changes);
    let mut texts = Texts::default();
    symbols(model, &mut texts);
    operators(model, registry, &mut texts);
    header(model, &mut texts);
    details(model, &mut texts);
    strings(model, &mut texts);
    let replaced = texts.known.values().map(BTreeMap::len).sum();
    report.note(replaced, "text", "replaced");
    if !options.keep_weights {
        let count = weights::randomize(model, registry, options.seed)?;
        report.note(count, "tensor", "made random");
    }
    Ok(report)
}

/// The replacements of texts: numbered words, by kind.
#[derive(Default)]
struct Texts {
    known: BTreeMap<&'static str, BTreeMap<Vec<u8>, String>>,
}

impl Texts {
    fn text(&mut self, stem: &'static str, old: &[u8]) -> String {
        let known = self.known.entry(stem).or_default();
        let number = known.len();
        known.entry(old.to_vec()).or_insert_with(|| format!("{stem}_{number}")).clone()
    }

    fn name(&mut self, model: &mut Model, stem: &'static str, old: Option<Name>) -> Option<Name> {
        let old = old.filter(|name| !name.is_empty());
        old.map(|name| {
            let text = self.text(stem, model.names[name].as_bytes());
            model.names.intern(&text)
        })
    }
}

/// Symbols of dimensions, also in formulas.
fn symbols(model: &mut Model, texts: &mut Texts) {
    types::map_all(model, &mut |model, dim| {
        let denotation = dim.denotation.filter(|name| is_standard(&model.names[*name]));
        let DimValue::Param(name) = dim.value else { return Dim { denotation, ..dim } };
        let text = model.names[name].to_owned();
        let new: String = match is_formula(&text) {
            true => {
                let word =
                    |part: &str| match is_symbol(part) && !["floor", "ceil", "max", "min"].contains(&part) {
                        true => texts.text("dim", part.as_bytes()),
                        false => part.to_owned(),
                    };
                words(&text).map(word).collect()
            }
            false if text.is_empty() => text,
            false => texts.text("dim", text.as_bytes()),
        };
        Dim { value: DimValue::Param(model.names.intern(&new)), denotation }
    });
    for id in model.bodies.ids().collect::<Vec<_>>() {
        for graph in model.bodies[id].graphs.ids().collect::<Vec<_>>() {
            let lists = |g: &mut onnx_ir::Graph| {
                [&mut g.inputs, &mut g.outputs, &mut g.value_info].map(std::mem::take)
            };
            let mut taken = lists(&mut model.bodies[id].graphs[graph]);
            for port in taken.iter_mut().flatten() {
                let Some(ty) = port.ty else { continue };
                let Type { kind, denotation } = model.types[ty].clone();
                let denotation = denotation.filter(|name| is_standard(&model.names[*name]));
                port.ty = Some(model.types.intern(Type { kind, denotation }));
            }
            let g = &mut model.bodies[id].graphs[graph];
            [g.inputs, g.outputs, g.value_info] = taken;
        }
    }
}

/// Whether a denotation is one of those of the specification.
fn is_standard(denotation: &str) -> bool {
    let kinds = ["DATA_", "FILTER_", "TENSOR", "IMAGE", "AUDIO", "TEXT"];
    denotation.is_empty() || kinds.iter().any(|kind| denotation.starts_with(kind))
}

/// Functions, and operators that the registry does not know, with their domains, attributes and imports.
fn operators(model: &mut Model, registry: &Registry, texts: &mut Texts) {
    let is_known = |model: &Model, domain: Option<Name>, op: Option<Name>| {
        !registry.versions(normalize_domain(model.text(domain)), model.text(op)).is_empty()
    };
    let domains: HashSet<String> = registry.domains().map(str::to_owned).chain([String::new()]).collect();
    let mut new_domain = |model: &mut Model, domain: Option<Name>| {
        if domains.contains(normalize_domain(model.text(domain))) {
            return domain;
        }
        texts_domain(texts, model, domain)
    };
    // Functions, by what calls them.
    let mut functions = BTreeMap::new();
    for f in model.functions.ids().collect::<Vec<_>>() {
        let function = &model.functions[f];
        let old = (function.domain, function.name, function.overload);
        let is_operator = is_known(model, old.0, old.1);
        let number = functions.len();
        let name = if is_operator { old.1 } else { Some(model.names.intern(&format!("function_{number}"))) };
        let domain = new_domain(model, old.0);
        let overload =
            old.2.filter(|name| !name.is_empty()).map(|_| model.names.intern(&format!("overload_{number}")));
        let key = key(model, old.0, old.1, old.2);
        functions.entry(key).or_insert((domain, name, overload, is_operator));
        let function = &mut model.functions[f];
        (function.domain, function.name, function.overload) = (domain, name, overload);
    }
    let imports = |model: &mut Model,
                   list: Vec<onnx_ir::OpsetImport>,
                   new: &mut dyn FnMut(&mut Model, Option<Name>) -> Option<Name>| {
        list.into_iter()
            .map(|import| onnx_ir::OpsetImport { domain: new(model, import.domain), ..import })
            .collect()
    };
    let list = std::mem::take(&mut model.header.opset_imports);
    model.header.opset_imports = imports(model, list, &mut new_domain);
    for f in model.functions.ids().collect::<Vec<_>>() {
        let list = std::mem::take(&mut model.functions[f].opset_imports);
        model.functions[f].opset_imports = imports(model, list, &mut new_domain);
    }
    let mut unknown = Vec::new();
    for id in model.bodies.ids().collect::<Vec<_>>() {
        for node in model.bodies[id].nodes.ids().collect::<Vec<_>>() {
            let Node { op, domain, overload, .. } = model.bodies[id].nodes[node];
            let call = functions.get(&key(model, domain, op, overload)).copied();
            let (domain, op, overload, keeps_attributes) = match call {
                Some((domain, name, overload, is_operator)) => (domain, name, overload, is_operator),
                None if is_known(model, domain, op) => (domain, op, overload, true),
                None => {
                    unknown.push((id, node));
                    (new_domain(model, domain), op, overload, false)
                }
            };
            let n = &mut model.bodies[id].nodes[node];
            (n.domain, n.op, n.overload) = (domain, op, overload);
            if !keeps_attributes && call.is_some() {
                unknown.push((id, node));
            }
        }
    }
    attributes(model, texts, &unknown, &functions.values().map(|f| (f.0, f.1)).collect());
}

/// A domain that is not known.
fn texts_domain(texts: &mut Texts, model: &mut Model, domain: Option<Name>) -> Option<Name> {
    texts.name(model, "domain", domain)
}

type Key = (String, String, String);

fn key(model: &Model, domain: Option<Name>, op: Option<Name>, overload: Option<Name>) -> Key {
    let text = |name| model.text(name).to_owned();
    (normalize_domain(model.text(domain)).to_owned(), text(op), text(overload))
}

/// Names of attributes that no operator of a specification has, and of unknown operators.
fn attributes(
    model: &mut Model,
    texts: &mut Texts,
    unknown: &[(onnx_ir::BodyId, onnx_ir::NodeId)],
    functions: &HashSet<(Option<Name>, Option<Name>)>,
) {
    let rename = |model: &mut Model, texts: &mut Texts, attrs: &mut Vec<Attr>| {
        for attr in attrs {
            attr.name = texts.name(model, "attribute", attr.name);
        }
    };
    for &(id, node) in unknown {
        let mut attrs = std::mem::take(&mut model.bodies[id].nodes[node].attrs);
        rename(model, texts, &mut attrs);
        for value in attrs.iter_mut().flat_map(|attr| &mut attr.values) {
            match value {
                AttrValue::String(text) => *text = Bytes::from(texts.text("text", text)),
                AttrValue::Strings(list) => *value = anonymous_list(list, texts),
                _ => {}
            }
        }
        let n = &model.bodies[id].nodes[node];
        let op =
            if functions.contains(&(n.domain, n.op)) { n.op } else { texts.name(model, "Operator", n.op) };
        let n = &mut model.bodies[id].nodes[node];
        (n.attrs, n.op) = (attrs, op);
    }
    for f in model.functions.ids().collect::<Vec<_>>() {
        let mut defaults = std::mem::take(&mut model.functions[f].attribute_defaults);
        rename(model, texts, &mut defaults);
        let names = std::mem::take(&mut model.functions[f].attributes);
        let names = names.into_iter().filter_map(|name| texts.name(model, "attribute", Some(name))).collect();
        let function = &mut model.functions[f];
        (function.attributes, function.attribute_defaults) = (names, defaults);
        let body = function.body;
        for node in model.bodies[body].nodes.ids().collect::<Vec<_>>() {
            for i in 0..model.bodies[body].nodes[node].attrs.len() {
                let reference = model.bodies[body].nodes[node].attrs[i].reference;
                let new = texts.name(model, "attribute", reference);
                model.bodies[body].nodes[node].attrs[i].reference = new;
            }
        }
    }
}

fn anonymous_list(list: &onnx_ir::list::List<Bytes>, texts: &mut Texts) -> AttrValue {
    let new: Vec<Bytes> = list.iter().map(|text| Bytes::from(texts.text("text", text))).collect();
    AttrValue::Strings(new.into())
}

/// The header before the graph.
fn header(model: &mut Model, texts: &mut Texts) {
    let old = model.header.clone();
    model.header.producer_name = texts.name(model, "producer", old.producer_name);
    model.header.producer_version = texts.name(model, "version", old.producer_version);
    model.header.domain = texts.name(model, "domain", old.domain);
    model.header.model_version = old.model_version.map(|_| 1);
    model.header.doc = texts.name(model, "doc", old.doc);
    model.header.metadata = entries(model, texts, old.metadata);
    let mut configurations = std::mem::take(&mut model.configurations);
    for configuration in &mut configurations {
        configuration.name = texts.name(model, "configuration", configuration.name);
        let devices = std::mem::take(&mut configuration.devices);
        configuration.devices =
            devices.into_iter().filter_map(|d| texts.name(model, "device", Some(d))).collect();
    }
    model.configurations = configurations;
}

fn entries(model: &mut Model, texts: &mut Texts, list: Vec<Entry>) -> Vec<Entry> {
    let new = |entry: Entry| Entry {
        key: texts.name(model, "key", entry.key),
        value: texts.name(model, "text", entry.value),
    };
    list.into_iter().map(new).collect()
}

/// Keys of quantization annotations that the specification knows.
const PARAMETERS: [&str; 2] = ["SCALE_TENSOR", "ZERO_POINT_TENSOR"];

/// Documentation and metadata of functions, graphs, values, nodes and tensors.
fn details(model: &mut Model, texts: &mut Texts) {
    for f in model.functions.ids().collect::<Vec<_>>() {
        let (doc, metadata) = (model.functions[f].doc, std::mem::take(&mut model.functions[f].metadata));
        let (doc, metadata) = (texts.name(model, "doc", doc), entries(model, texts, metadata));
        (model.functions[f].doc, model.functions[f].metadata) = (doc, metadata);
    }
    for id in model.bodies.ids().collect::<Vec<_>>() {
        let mut body = std::mem::take(&mut model.bodies[id]);
        for graph in body.graphs.values_mut() {
            graph.doc = texts.name(model, "doc", graph.doc);
            graph.metadata = entries(model, texts, std::mem::take(&mut graph.metadata));
            // The values of a parameter are names, which are renamed already.
            for parameter in graph.quantization.iter_mut().flat_map(|annotation| &mut annotation.parameters) {
                let is_known = PARAMETERS.contains(&model.text(parameter.key));
                parameter.key =
                    if is_known { parameter.key } else { texts.name(model, "key", parameter.key) };
            }
            let ports = graph.inputs.iter_mut().chain(&mut graph.outputs).chain(&mut graph.value_info);
            for port in ports {
                port.doc = texts.name(model, "doc", port.doc);
                port.metadata = entries(model, texts, std::mem::take(&mut port.metadata));
            }
        }
        for node in body.nodes.values_mut() {
            node.attrs.iter_mut().for_each(|attr| attr.doc = texts.name(model, "doc", attr.doc));
            let Some(extra) = node.extra.as_deref_mut() else { continue };
            extra.doc = texts.name(model, "doc", extra.doc);
            extra.metadata = entries(model, texts, std::mem::take(&mut extra.metadata));
            for device in &mut extra.devices {
                device.configuration = texts.name(model, "configuration", device.configuration);
            }
        }
        let named = initializers(&body);
        for id in body.tensors.ids().collect::<Vec<_>>() {
            let tensor = &mut body.tensors[id];
            if !named.contains(&id) {
                tensor.name = texts.name(model, "tensor", tensor.name);
            }
            let Some(extra) = tensor.extra.as_deref_mut() else { continue };
            extra.doc = texts.name(model, "doc", extra.doc);
            extra.metadata = entries(model, texts, std::mem::take(&mut extra.metadata));
        }
        model.bodies[id] = body;
    }
}

/// The tensors of a body whose names are those of values.
fn initializers(body: &onnx_ir::Body) -> HashSet<onnx_ir::TensorId> {
    let dense = body.graphs.values().flat_map(|g| &g.initializers).map(|init| init.tensor);
    let sparse =
        body.graphs.values().flat_map(|g| &g.sparse_initializers).filter_map(|init| init.tensor.values);
    dense.chain(sparse).collect()
}

/// Attributes of known operators that hold any text. Other ones hold words that the operator knows.
const FREE_TEXTS: &[&str] = &[
    "value_string",
    "value_strings",
    "default_string",
    "classes_strings",
    "classlabels_strings",
    "cats_strings",
    "keys_strings",
    "values_strings",
    "string_vocabulary",
    "pool_strings",
    "stopwords",
];

/// Texts among attributes and tensors.
fn strings(model: &mut Model, texts: &mut Texts) {
    let free: HashSet<Name> = FREE_TEXTS.iter().filter_map(|name| model.names.find(name)).collect();
    for body in model.bodies.values_mut() {
        let attrs = body.nodes.values_mut().flat_map(|node| &mut node.attrs);
        for attr in attrs.filter(|attr| attr.name.is_some_and(|name| free.contains(&name))) {
            for value in &mut attr.values {
                match value {
                    AttrValue::String(text) => *text = Bytes::from(texts.text("text", text)),
                    AttrValue::Strings(list) => *value = anonymous_list(list, texts),
                    _ => {}
                }
            }
        }
        for payload in body.tensors.values_mut().flat_map(|tensor| &mut tensor.data) {
            if let Payload::Strings(strings) = payload {
                strings.iter_mut().for_each(|text| *text = Bytes::from(texts.text("text", text)));
            }
        }
    }
}

#[cfg(test)]
mod tests;
