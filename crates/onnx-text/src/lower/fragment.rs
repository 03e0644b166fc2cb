//! Reads single constructs: a graph, function, node, attribute, type or declaration without a model.
//!
//! Each function parses and lowers, and returns all findings in the order of the source. The result is `None` only if nothing
//! could be read. As in a whole file, annotations count if the first line is `#@ onnxtxt 1`.

use super::{Cx, Open, close, lower_parsed, read_open, too_large};
use crate::ast;
use crate::parse::{self, Syntax};
use crate::sniff::TextKind;
use onnx_ir::diag::{Parsed, Span};
use onnx_ir::{Attr, BodyBuilder, BodyId, FunctionId, Model, NodeId, Port, TypeId};

/// Reads a graph into a new body of `model`, whose main graph it does not become.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let source = "g (float[N] x) => (float[N] y) { y = Relu(x) }";
/// let body = onnx_text::read_graph(source, &mut model).into_result().unwrap();
/// model.main = body;
/// assert_eq!(body.map(|b| model.bodies[b].nodes.len()), Some(1));
/// ```
pub fn read_graph(source: &str, model: &mut Model) -> Parsed<Option<BodyId>> {
    read(source, parse::parse_graph, |cx, tree| {
        cx.file_notes(&mut model.names, &tree.notes);
        let mut b = BodyBuilder::new(model);
        cx.graph(&mut b, tree, None);
        b.finish()
    })
}

/// Reads a function and adds it to those of `model`.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let source = r#"
///     <domain: "com.acme", opset_import: ["": 21]>
///     Swish <beta: float = 1.0> (x) => (y) {
///         b = Constant <value_float: float = @beta> ()
///         s = Mul(x, b)
///         t = Sigmoid(s)
///         y = Mul(x, t)
///     }"#;
/// let function = onnx_text::read_function(source, &mut model).into_result().unwrap();
/// let function = &model.functions[function.expect("a function")];
/// assert_eq!(model.text(function.name), "Swish");
/// ```
pub fn read_function(source: &str, model: &mut Model) -> Parsed<Option<FunctionId>> {
    read(source, parse::parse_function, |cx, tree| cx.function(model, tree))
}

/// Reads a node and appends it to the current graph of `b`. Names are resolved there: the node uses values of the graph, and
/// later nodes see its results.
///
/// ```
/// use onnx_ir::{BodyBuilder, Model};
///
/// let mut model = Model::new();
/// let mut b = BodyBuilder::new(&mut model);
/// b.begin_graph(None, None);
/// for line in ["t = MatMul(x, w)", "y = LeakyRelu <alpha = 0.1> (t)"] {
///     let node = onnx_text::read_node(line, &mut b).into_result().unwrap();
///     assert!(node.is_some());
/// }
/// let nodes = b.body().nodes.values().collect::<Vec<_>>();
/// assert_eq!(nodes[0].outputs[0], nodes[1].inputs[0]);
/// # b.end_graph();
/// ```
///
/// # Panics
///
/// If no graph is open.
pub fn read_node(source: &str, b: &mut BodyBuilder<'_>) -> Parsed<Option<NodeId>> {
    read(source, parse::parse_node, |cx, tree| cx.node(b, tree))
}

/// Reads an attribute, `name = value`, for a node of `b`. Tensors and graphs go into the body of `b`; graphs belong to `owner`,
/// the node that will have the attribute. Without an owner, the value should not be a graph.
///
/// ```
/// use onnx_ir::{AttrValue, BodyBuilder, Model};
///
/// let mut model = Model::new();
/// let mut b = BodyBuilder::new(&mut model);
/// let attr = onnx_text::read_attribute("axes = [0, -1]", &mut b, None).into_result().unwrap();
/// let attr = attr.expect("an attribute");
/// assert_eq!(attr.value(), Some(&AttrValue::Ints(vec![0, -1].into())));
/// ```
pub fn read_attribute(source: &str, b: &mut BodyBuilder<'_>, owner: Option<NodeId>) -> Parsed<Option<Attr>> {
    read(source, parse::parse_attribute, |cx, tree| cx.attr(b, tree, owner)).map(Option::flatten)
}

/// Reads a type.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let ty = onnx_text::read_type("map(int64, float[N,3])", &mut model).into_result().unwrap();
/// assert_eq!(ty.map(|t| onnx_ir::type_text(&model, t)).as_deref(), Some("map(int64, float[N,3])"));
/// ```
pub fn read_type(source: &str, model: &mut Model) -> Parsed<Option<TypeId>> {
    // Only names and types of the model are touched.
    read(source, parse::parse_type, |cx, tree| cx.ty(&mut BodyBuilder::new(model), tree))
}

/// Reads a declaration, `type name`. It is tied to no value: [`BodyBuilder::input_port`] and its like do that.
///
/// ```
/// let mut model = onnx_ir::Model::new();
/// let port = onnx_text::read_value_info("float[N,\"height/2\"] image", &mut model).into_result().unwrap();
/// assert_eq!(port.map(|p| model.text(p.name).to_owned()).as_deref(), Some("image"));
/// ```
pub fn read_value_info(source: &str, model: &mut Model) -> Parsed<Option<Port>> {
    read(source, parse::parse_value_info, |cx, tree| {
        cx.no_data(tree, "declaration");
        cx.port(&mut BodyBuilder::new(model), tree)
    })
}

/// Reads a text that is a part of a model into a model with nothing else: a graph becomes the main graph, a function the only
/// function, a node the only node of an unnamed main graph, an attribute the only one of such a node, a declaration or a type that
/// of the only input. The syntax is that of such a model, so that findings have places.
///
/// ```
/// use onnx_text::TextKind;
///
/// let (_, model) = onnx_text::read_part("y = Relu(x)", TextKind::Node).into_result().unwrap();
/// assert_eq!(model.walk_main().count(), 1);
/// ```
pub fn read_part(source: &str, kind: TextKind) -> Parsed<(Syntax<ast::File>, Model)> {
    close(source, read_part_open(source, kind))
}

/// The same, in which literals among the operands may have no type yet.
pub(crate) fn read_part_open(source: &str, kind: TextKind) -> Parsed<Open> {
    if too_large(source).is_some() {
        return read_open(source);
    }
    let parsed = match kind {
        TextKind::Graph => around(parse::parse_graph(source), |tree| tree),
        TextKind::Function => parse::parse_function(source).map(|syntax| {
            syntax.map(|tree| ast::File { functions: tree.into_iter().collect(), ..ast::File::default() })
        }),
        TextKind::Node => around(parse::parse_node(source), graph_of_node),
        TextKind::Attribute => around(parse::parse_attribute(source), |attr| {
            let span = attr.span;
            let attrs = ast::List { items: vec![attr], span };
            graph_of_node(ast::Node { attrs: Some(attrs), ..ast::Node::at(span) })
        }),
        TextKind::ValueInfo => around(parse::parse_value_info(source), graph_of_input),
        TextKind::Type => around(parse::parse_type(source), |ty| {
            let span = ty.span();
            let name = Span::at(span.end);
            graph_of_input(ast::ValueInfo {
                notes: ast::Notes::default(),
                ty: Some(ty),
                name,
                data: None,
                span,
            })
        }),
        TextKind::Model | TextKind::Value | TextKind::OperatorSet => parse::parse_model(source),
    };
    lower_parsed(source, parsed)
}

/// A file whose only content is a graph around a construct.
fn around<T>(
    parsed: Parsed<Syntax<Option<T>>>,
    graph: impl FnOnce(T) -> ast::Graph,
) -> Parsed<Syntax<ast::File>> {
    parsed.map(|syntax| syntax.map(|tree| ast::File { graph: tree.map(graph), ..ast::File::default() }))
}

fn graph_of_node(node: ast::Node) -> ast::Graph {
    let span = node.span;
    ast::Graph {
        name: Span::at(span.start),
        outputs: ast::List { items: Vec::new(), span: Span::at(span.start) },
        body: vec![node],
        body_span: span,
        span,
        ..ast::Graph::default()
    }
}

fn graph_of_input(input: ast::ValueInfo) -> ast::Graph {
    let span = input.span;
    let end = Span::at(span.end);
    ast::Graph {
        name: Span::at(span.start),
        inputs: Some(ast::List { items: vec![input], span }),
        outputs: ast::List { items: Vec::new(), span: end },
        body_span: end,
        span,
        ..ast::Graph::default()
    }
}

/// Parses a construct and lowers its tree.
pub(super) fn read<T, O>(
    source: &str,
    parse: fn(&str) -> Parsed<Syntax<Option<T>>>,
    lower: impl FnOnce(&mut Cx<'_>, &T) -> O,
) -> Parsed<Option<O>> {
    read_tree(source, parse, lower).map(|(_, out)| out)
}

/// Reads a fragment, and returns its syntax tree as well.
pub(super) fn read_tree<T, O>(
    source: &str,
    parse: fn(&str) -> Parsed<Syntax<Option<T>>>,
    lower: impl FnOnce(&mut Cx<'_>, &T) -> O,
) -> Parsed<(Syntax<Option<T>>, Option<O>)> {
    if let Some(diagnostic) = too_large(source) {
        return Parsed::new((Syntax::default(), None), vec![diagnostic]);
    }
    let Parsed { value: syntax, mut diagnostics } = parse(source);
    let mut cx = Cx::new(source, syntax.annotated.is_some());
    let out = syntax.tree.as_ref().map(|tree| lower(&mut cx, tree));
    diagnostics.append(&mut cx.diagnostics);
    diagnostics.extend(super::sugar::without_type(source, &cx.literals));
    parse::sort(&mut diagnostics);
    Parsed::new((syntax, out), diagnostics)
}
