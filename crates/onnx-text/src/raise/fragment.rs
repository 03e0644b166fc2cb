//! Prints single constructs, as [`print_model`] does for a model.
//!
//! A text starts with the line `#@ onnxtxt 1` if it needs annotations, and parses to the same construct. What
//! [`Profile::Reference`](crate::Profile::Reference) cannot express is omitted; [`raise`] lists such losses of a model.

use super::defaults::Defaults;
use super::{Raiser, raise};
use crate::ast;
use crate::lex::ANNOTATED;
use crate::print::{self, FormatOptions};
use crate::raise::RaiseOptions;
use crate::sniff::{MARK, TextKind, sniff_text};
use onnx_ir::diag::Span;
use onnx_ir::{Attr, BodyId, Data, DataRef, FunctionId, Model, Names, NodeId, Port, Tensor, TypeId};

/// A model as text.
///
/// ```
/// let source = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y)\n{\n    y = Relu(x)\n}\n";
/// let model = onnx_text::read_model(source).value;
/// assert_eq!(onnx_text::print_model(&model, &Default::default()), source);
/// ```
#[must_use]
pub fn print_model(model: &Model, options: &RaiseOptions) -> String {
    let raised = raise(model, options);
    print::format(&raised.source, &raised.syntax, &FormatOptions::default())
}

/// The root graph of a body as text.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let body = onnx_text::read_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }", &mut model).value;
/// let text = onnx_text::print_graph(&model, body.expect("a graph"), &Default::default());
/// assert_eq!(text, "g (float[N] x) => (float[N] y)\n{\n    y = Relu(x)\n}");
/// ```
#[must_use]
pub fn print_graph(model: &Model, body: BodyId, options: &RaiseOptions) -> String {
    let graph = |raiser: &mut Raiser<'_>| {
        let notes = raiser.conventions();
        raiser.root(body, Some(notes))
    };
    print(model, options, Defaults::of(model, options), graph, print::format_graph)
}

/// A function as text.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let source = "<domain: \"l\", opset_import: [\"\": 21]>\nTwice (x) => (y)\n{\n    y = Add(x, x)\n}";
/// let function = onnx_text::read_function(source, &mut model).value;
/// let text = onnx_text::print_function(&model, function.expect("a function"), &Default::default());
/// assert_eq!(text, source);
/// ```
#[must_use]
pub fn print_function(model: &Model, function: FunctionId, options: &RaiseOptions) -> String {
    print(model, options, Defaults::plain(), |raiser| raiser.function(function), print::format_function)
}

/// A node as text, with the graphs in it.
///
/// ```
/// let source = "g (x) => (y) { t = Abs(x) y = LeakyRelu <alpha = 0.1> (t) }";
/// let model = onnx_text::read_model(source).value;
/// let body = model.main.expect("a main graph");
/// let node = model.bodies[body].nodes.ids().last().expect("a node");
/// assert_eq!(
///     onnx_text::print_node(&model, body, node, &Default::default()),
///     "y = LeakyRelu <alpha = 0.1> (t)"
/// );
/// ```
#[must_use]
pub fn print_node(model: &Model, body: BodyId, node: NodeId, options: &RaiseOptions) -> String {
    print(model, options, Defaults::plain(), |raiser| raiser.node(body, node), print::format_node)
}

/// Nodes as the lines of a text, one for each, which has annotations or not.
pub(crate) fn print_nodes(model: &Model, body: BodyId, nodes: &[NodeId], is_annotated: bool) -> Vec<String> {
    let defaults = match is_annotated {
        true => {
            Defaults { is_annotated, domain_is_set: false, tensor_name_is_set: false, ..Defaults::plain() }
        }
        false => Defaults::plain(),
    };
    let options = RaiseOptions::default();
    let print = |&node: &NodeId| {
        let mut raiser = Raiser::new(model, &options, defaults.clone());
        let tree = raiser.node(body, node);
        print::format_node(&raiser.out.text, &tree, &[], &FormatOptions::default())
    };
    nodes.iter().map(print).collect()
}

/// An attribute in a body as text; empty if the profile cannot express it.
///
/// ```
/// let model = onnx_text::read_model("g (x) => (y) { y = LeakyRelu <alpha = 0.1> (x) }").value;
/// let body = model.main.expect("a main graph");
/// let attr = &model.bodies[body].nodes.values().next().expect("a node").attrs[0];
/// assert_eq!(onnx_text::print_attribute(&model, body, attr, &Default::default()), "alpha = 0.1");
/// ```
#[must_use]
pub fn print_attribute(model: &Model, body: BodyId, attr: &Attr, options: &RaiseOptions) -> String {
    let format = |source: &str, tree: &Option<ast::Attr>, comments: &[Span], options: &FormatOptions| {
        tree.as_ref().map_or(String::new(), |tree| print::format_attribute(source, tree, comments, options))
    };
    print(model, options, Defaults::plain(), |raiser| raiser.attr(body, attr), format)
}

/// A type as text. Denotations have no place in it: [`print_value_info`] keeps them.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let ty = onnx_text::read_type("seq( float [ N,3 ] )", &mut model).value;
/// let text = onnx_text::print_type(&model, ty.expect("a type"), &Default::default());
/// assert_eq!(text, "seq(float[N,3])");
/// ```
#[must_use]
pub fn print_type(model: &Model, ty: TypeId, options: &RaiseOptions) -> String {
    print(model, options, Defaults::plain(), |raiser| raiser.ty(ty), print::format_type)
}

/// A declaration as text: an input, an output, or an entry of `value_info`.
///
/// ```
/// let model = onnx_text::read_model("g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }").value;
/// let body = model.main_body().expect("a main graph");
/// let input = &body.graphs[body.root().expect("a graph")].inputs[0];
/// assert_eq!(onnx_text::print_value_info(&model, input, &Default::default()), "float[N,3] x");
/// ```
#[must_use]
pub fn print_value_info(model: &Model, port: &Port, options: &RaiseOptions) -> String {
    print(model, options, Defaults::plain(), |raiser| raiser.port(port), print::format_value_info)
}

/// The part of a model that [`read_part`](crate::read_part) or the reader of a message has put into a model, as a whole file; empty
/// if the model has no such part. A comment states the kind where the text alone does not show it.
///
/// ```
/// use onnx_text::{TextKind, print_part, read_part};
///
/// let (_, model) = read_part("g (float[N] x) => (float[N] y) { y = Relu(x) }", TextKind::Graph).value;
/// let text = "# proto-message: onnx.GraphProto\ng (float[N] x) => (float[N] y)\n{\n    y = Relu(x)\n}\n";
/// assert_eq!(print_part(&model, TextKind::Graph, &Default::default()), text);
/// ```
#[must_use]
pub fn print_part(model: &Model, kind: TextKind, options: &RaiseOptions) -> String {
    let main = model.main.and_then(|main| Some((main, model.bodies[main].root()?)));
    let graph = main.map(|(body, root)| &model.bodies[body].graphs[root]);
    let node = main.zip(graph.and_then(|graph| graph.nodes.first().copied()));
    let input = graph.and_then(|graph| graph.inputs.first());
    let text = match kind {
        TextKind::Graph => main.map(|(body, _)| print_graph(model, body, options)),
        TextKind::Function => model.functions.ids().next().map(|first| print_function(model, first, options)),
        TextKind::Node => node.map(|((body, _), node)| print_node(model, body, node, options)),
        TextKind::Attribute => node.and_then(|((body, _), node)| {
            let attr = model.bodies[body].nodes[node].attrs.first()?;
            Some(print_attribute(model, body, attr, options))
        }),
        TextKind::ValueInfo => input.map(|port| print_value_info(model, port, options)),
        TextKind::Type => input.and_then(|port| Some(print_type(model, port.ty?, options))),
        TextKind::Model => Some(print_model(model, options)),
        TextKind::Value | TextKind::OperatorSet => None,
    };
    let Some(mut text) = text else { return String::new() };
    if sniff_text(&text) != kind {
        // Nothing may precede the line that declares annotations.
        let at = if text.starts_with(ANNOTATED) { ANNOTATED.len() + 1 } else { 0 };
        text.insert_str(at.min(text.len()), &format!("{MARK}{}\n", kind.message()));
    }
    text.push('\n');
    text
}

/// A tensor as text, with the strings of `names`.
///
/// ```
/// use onnx_ir::{ElemType, Names, Payload, Tensor};
///
/// let mut names = Names::new();
/// let tensor = Tensor {
///     name: Some(names.intern("w")),
///     dims: [2].as_slice().into(),
///     elem: Some(ElemType::FLOAT),
///     data: [Payload::floats(vec![1.0, 0.5])].into_iter().collect(),
///     extra: None,
/// };
/// assert_eq!(onnx_text::print_tensor(&tensor, &names, &Default::default()), "float[2] w = {1, 0.5}");
/// ```
#[must_use]
pub fn print_tensor(tensor: &Tensor, names: &Names, options: &RaiseOptions) -> String {
    print_data(DataRef::Tensor(tensor), names, options)
}

/// A tensor of a model as text: [`print_tensor`] without a copy of the strings, of which a model may have many.
///
/// ```
/// let model = onnx_text::read_model("g () => (float[2] w) <float[2] w = {1, 0.5}> {}").value;
/// let tensor = model.main_body().expect("a main graph").tensors.values().next().expect("a tensor");
/// assert_eq!(onnx_text::print_tensor_of(&model, tensor, &Default::default()), "float[2] w = {1, 0.5}");
/// ```
#[must_use]
pub fn print_tensor_of(model: &Model, tensor: &Tensor, options: &RaiseOptions) -> String {
    print_data_of(model, DataRef::Tensor(tensor), options)
}

/// A value in a file of its own as text (`grammar/values.md`), with the strings of `names` and without a line break at
/// the end.
///
/// ```
/// use onnx_ir::Names;
///
/// let mut names = Names::new();
/// let source = r#"map(string) "my map" = {string_keys = ["a"], values = seq(tensor) "" = [float v = {0.5}]}"#;
/// let data = onnx_text::read_value(source, &mut names).value;
/// assert_eq!(onnx_text::print_value(&data.expect("a map"), &names, &Default::default()), source);
/// ```
#[must_use]
pub fn print_value(data: &Data, names: &Names, options: &RaiseOptions) -> String {
    print_data(data.data_ref(), names, options)
}

fn print_data(value: DataRef<'_>, names: &Names, options: &RaiseOptions) -> String {
    // The strings are copied: a value has few, and raising needs a model.
    let model = Model { names: names.clone(), ..Model::new() };
    print_data_of(&model, value, options)
}

fn print_data_of(model: &Model, value: DataRef<'_>, options: &RaiseOptions) -> String {
    let defaults = match options.profile {
        super::Profile::Onnx | super::Profile::Extended if options.summarize.is_none() => {
            Defaults::of_value(value)
        }
        super::Profile::Onnx | super::Profile::Extended | super::Profile::Reference => Defaults::plain(),
    };
    print(model, options, defaults, |raiser| raiser.value_file(value), print::format_value)
}

/// Raises a construct and prints its tree; with annotations, if the first try has found something to annotate.
fn print<T>(
    model: &Model,
    options: &RaiseOptions,
    defaults: Defaults,
    construct: impl Fn(&mut Raiser<'_>) -> T,
    format: impl FnOnce(&str, &T, &[Span], &FormatOptions) -> String,
) -> String {
    let mut raiser = Raiser::new(model, options, defaults);
    let mut tree = construct(&mut raiser);
    if raiser.notes_missed {
        let defaults = Defaults {
            is_annotated: true,
            domain_is_set: false,
            tensor_name_is_set: false,
            ..Defaults::plain()
        };
        raiser = Raiser::new(model, options, defaults);
        tree = construct(&mut raiser);
    }
    let text = format(&raiser.out.text, &tree, &[], &FormatOptions::default());
    if raiser.defaults.is_annotated { format!("{ANNOTATED}\n{text}") } else { text }
}
