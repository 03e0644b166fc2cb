//! `print --profile review`: prints a model for reviews. Equal models give equal texts, and a small change gives a small
//! difference.
//!
//! ```text
//! float[512,10] w = {0.1, 0.2, …}  # sha256:3f2a86c04d1b
//! …
//! t = Cast <to = 10> (x)  # to: float16; float16[N]
//! ```

use crate::input::{Input, Loaded};
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{AttrValue, Body, BodyId, Graph, GraphId, Model, NodeId, Tensor, TypeId, ValueId};
use onnx_text::{Profile, RaiseOptions, SourceMap, visible};
use onnxtxt::Text;
use onnxtxt::diff::{enum_name, weights};
use std::collections::{BTreeMap, HashMap};

/// Number of elements of a tensor that are printed.
const SHOWN: usize = 4;
/// Number of digits of a digest that are printed.
const DIGITS: usize = 12;

/// The text of a file. Parts that cannot be read are listed in a comment.
pub(super) fn text(input: &Input, elide: Option<usize>) -> String {
    let shown = elide.unwrap_or(SHOWN);
    let options = RaiseOptions {
        profile: Profile::Extended,
        elide: Some(shown),
        metadata: false,
        visible: true,
        ..RaiseOptions::default()
    };
    if let Some(document) = input.document() {
        return document.text(&options);
    }
    let loaded = input.load();
    let mut out = problems(&loaded);
    if loaded.model.main.is_some() {
        let mut model = loaded.model;
        let types = plain(&mut model);
        let text = Text::new(&model, &options).to_text();
        out += &annotated(&text, &model, &types, shown);
    }
    out
}

/// The problems of the file, as comments.
fn problems(loaded: &Loaded) -> String {
    let errors = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    let lines = errors.map(|error| {
        let message = visible(&error.message).replace('\n', " ");
        format!("# error[{}]: {message}\n", error.code.id)
    });
    lines.collect()
}

/// Declared types of values.
type Types = HashMap<(BodyId, ValueId), TypeId>;

/// Removes redundant information from the model: names of nodes that follow from their results, and declared types, which are
/// returned and printed as comments.
fn plain(model: &mut Model) -> Types {
    let mut types = Types::new();
    let names = &model.names;
    for id in model.bodies.ids() {
        let body = &mut model.bodies[id];
        for graph in body.graphs.values_mut() {
            let is_inline = |port: &onnx_ir::Port| {
                let value =
                    port.value.filter(|&v| matches!(body.values[v].def, onnx_ir::ValueDef::Output(..)));
                value.zip(port.ty)
            };
            graph.value_info.iter().filter_map(is_inline).for_each(|(value, ty)| {
                types.insert((id, value), ty);
            });
            graph.value_info.retain(|port| is_inline(port).is_none());
            // Outputs declare types of node results, too.
            graph.outputs.iter().filter_map(is_inline).for_each(|(value, ty)| {
                types.insert((id, value), ty);
            });
            graph.initializers.iter().for_each(|init| {
                // How a weight is stored does not matter in a review.
                let tensor = &mut body.tensors[init.tensor];
                if let Some(extra) = &mut tensor.extra {
                    extra.doc = None;
                }
            });
        }
        for node in body.nodes.values_mut() {
            let Some(name) = node.name.map(|name| &names[name]) else { continue };
            let follows = |value: &ValueId| {
                let result = &names[body.values[*value].name];
                // `/conv/Conv_output_0` of the node `/conv/Conv`
                let rest = result.strip_prefix(name);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_output_"))
            };
            if name.is_empty() || node.outputs.iter().flatten().any(follows) {
                node.name = None;
            }
        }
    }
    types
}

/// The text with comments at the ends of lines.
fn annotated(text: &str, model: &Model, types: &Types, shown: usize) -> String {
    let syntax = onnx_text::parse_model(text).value;
    // Ids are assigned in document order, so those of the text are those of a model that was read. In a model with other ids,
    // only what agrees under the same id is annotated.
    let lowered = onnx_text::lower(text, &syntax).value;
    let map = SourceMap::new(text, &syntax.tree, &lowered);
    let mut comments: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut note = |span: Option<Span>, comment: String| {
        let Some(end) = span.map(|span| span.end as usize).filter(|&end| text.is_char_boundary(end)) else {
            return;
        };
        let line = text[end..].find('\n').map_or(text.len(), |at| end + at);
        comments.entry(line).or_default().push(comment);
    };
    for (id, body) in model.bodies.iter() {
        for (graph_id, graph) in body.graphs.iter() {
            digests((id, graph_id), (body, graph), &map, shown, &mut note);
        }
        for (node, _) in body.nodes.iter() {
            let op = |model: &Model| {
                let node = model.bodies.get(id).and_then(|body| body.nodes.get(node));
                node.map(|node| model.text(node.op).to_owned())
            };
            if let Some(comment) = of_node(model, id, node, types).filter(|_| op(model) == op(&lowered)) {
                note(map.span(Entity::Node(id, node)), comment);
            }
        }
    }
    let mut out = String::with_capacity(text.len() * 3 / 2);
    let mut at = 0;
    for (line, comments) in comments {
        out += &text[at..line];
        out += "  # ";
        out += &visible(&comments.join("; "));
        at = line;
    }
    out += &text[at..];
    without_storage(&out)
}

/// The text without annotations about storage.
fn without_storage(text: &str) -> String {
    let is_storage = |line: &&str| {
        let line = line.trim_start();
        ["#@ onnxtxt ", "#@ storage: ", "#@ unset: "].iter().any(|note| line.starts_with(note))
    };
    text.split_inclusive('\n').filter(|line| !is_storage(line)).collect()
}

/// Digests of weights that are not printed as a whole.
fn digests(
    (id, graph_id): (BodyId, GraphId),
    (body, graph): (&Body, &Graph),
    map: &SourceMap<'_>,
    shown: usize,
    note: &mut impl FnMut(Option<Span>, String),
) {
    for (index, init) in graph.initializers.iter().enumerate() {
        let tensor = &body.tensors[init.tensor];
        let Some(digest) = short_digest(tensor, shown) else { continue };
        let Ok(at) = u32::try_from(index) else { break };
        let span = map.span(Entity::Initializer(id, graph_id, at));
        note(span, digest);
    }
}

fn short_digest(tensor: &Tensor, shown: usize) -> Option<String> {
    let is_whole = tensor.element_count().is_some_and(|count| count <= shown as u64);
    if is_whole || tensor.is_external() {
        return None;
    }
    let digest = weights::digest(tensor)?;
    Some(format!("sha256:{}", &digest[..DIGITS.min(digest.len())]))
}

/// The comment of a node: names of element types, digests of its tensors, and the types of its results.
fn of_node(model: &Model, id: BodyId, node: NodeId, types: &Types) -> Option<String> {
    let body = &model.bodies[id];
    let is_standard = |domain| onnx_ir::normalize_domain(model.text(domain)).is_empty();
    let node = &body.nodes[node];
    let mut parts = Vec::new();
    for attr in &node.attrs {
        let name = model.text(attr.name);
        match attr.values.first() {
            Some(AttrValue::Int(number)) if is_standard(node.domain) => {
                let meaning = enum_name(name, *number);
                parts.extend(meaning.map(|meaning| format!("{name}: {meaning}")));
            }
            Some(AttrValue::Tensor(tensor)) => {
                let digest = short_digest(&body.tensors[*tensor], SHOWN);
                parts.extend(digest.map(|digest| format!("{name}: {digest}")));
            }
            _ => {}
        }
    }
    let ty = |value: &Option<ValueId>| value.and_then(|value| types.get(&(id, value)));
    if node.outputs.iter().any(|value| ty(value).is_some()) {
        let text = |value| ty(value).map_or("?".to_owned(), |&ty| onnx_ir::type_text(model, ty));
        parts.push(node.outputs.iter().map(text).collect::<Vec<_>>().join(", "));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
