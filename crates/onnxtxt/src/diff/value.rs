//! Text of parts of models for differences.

use super::hash::Side;
use onnx_ir::{Attr, ElemType, Entry, Model, Node, Port, TypeId, normalize_domain};
use onnx_text::{Profile, RaiseOptions};

/// The most elements of tensors and lists that are shown.
const SHOWN: usize = 8;
/// Longer texts of nodes are cut: a node may hold a whole graph.
const LONGEST: usize = 600;

fn options() -> RaiseOptions {
    RaiseOptions {
        profile: Profile::Extended,
        elide: Some(SHOWN),
        metadata: false,
        visible: true,
        ..RaiseOptions::default()
    }
}

/// `float[N,3]`
pub(super) fn type_of(model: &Model, ty: TypeId) -> String {
    onnx_text::print_type(model, ty, &options())
}

/// The declared type of a port; `?` if there is none.
pub(super) fn port_type(model: &Model, port: &Port) -> String {
    let ty = port.ty.map_or_else(|| "?".to_owned(), |ty| type_of(model, ty));
    let denotation = port.ty.and_then(|ty| model.types[ty].denotation);
    denotation.map_or(ty.clone(), |name| format!("{ty} ({})", &model.names[name]))
}

/// Attributes whose integer is an element type.
const ELEM_TYPES: [&str; 8] = [
    "to",
    "dtype",
    "output_dtype",
    "output_datatype",
    "stash_type",
    "softmax_precision",
    "precision",
    "qk_matmul_output_dtype",
];

/// The name for the number of an enumerated attribute of a standard operator: `float` for `to = 1`.
pub fn enum_name(attribute: &str, number: i64) -> Option<&'static str> {
    let elem = i32::try_from(number).ok().map(ElemType)?;
    elem.name().filter(|_| ELEM_TYPES.contains(&attribute))
}

/// The value of an attribute as text, without its name.
pub(super) fn attribute(side: Side<'_>, node: &Node, attr: &Attr) -> String {
    let text = onnx_text::print_attribute(side.model, side.id, attr, &options());
    let mut value = text.split_once(" = ").map_or(&*text, |(_, value)| value).to_owned();
    let is_standard = normalize_domain(side.text(node.domain)).is_empty();
    if let (true, Some(onnx_ir::AttrValue::Int(number))) = (is_standard, attr.values.first())
        && let Some(name) = enum_name(side.text(attr.name), *number)
    {
        value += &format!(" ({name})");
    }
    cut(value)
}

/// A node as text.
pub(super) fn node(side: Side<'_>, id: onnx_ir::NodeId) -> String {
    if side.body().subgraphs(id).next().is_some() {
        return without_graphs(side, id);
    }
    cut(onnx_text::print_node(side.model, side.id, id, &options()))
}

/// `y = If(c)`, because the subgraphs of a node can be as long as models.
fn without_graphs(side: Side<'_>, id: onnx_ir::NodeId) -> String {
    let node = &side.body().nodes[id];
    let list = |values: &[Option<onnx_ir::ValueId>]| {
        let name = |value: &Option<_>| value.map_or("", |v| side.text(Some(side.body().values[v].name)));
        values.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    cut(format!("{} = {}({})", list(&node.outputs), operator(side, node), list(&node.inputs)))
}

/// `com.example.Gelu`
pub(super) fn operator(side: Side<'_>, node: &Node) -> String {
    let domain = normalize_domain(side.text(node.domain));
    let overload = side.text(node.overload);
    let dot = if domain.is_empty() { "" } else { "." };
    let colon = if overload.is_empty() { "" } else { ":" };
    format!("{domain}{dot}{}{colon}{overload}", side.text(node.op))
}

/// Named values, with their keys prefixed: `metadata_props.author`.
pub(super) fn entries(model: &Model, field: &str, entries: &[Entry]) -> Vec<(String, String)> {
    let name = |entry: &Entry| match field {
        "" => model.text(entry.key).to_owned(),
        field => format!("{field}.{}", model.text(entry.key)),
    };
    entries.iter().map(|entry| (name(entry), quoted(model.text(entry.value)))).collect()
}

/// A quoted string, shortened.
pub(super) fn quoted(text: &str) -> String {
    cut(format!("{text:?}"))
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}
