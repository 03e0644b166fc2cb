//! Lowers the syntax tree to the IR.
//!
//! Nothing is rejected: the contents of the tree are stored in the model as far as it can hold them, and problems are reported.
//! Names are resolved by [`BodyBuilder`]; checking the model is the verifier's task.

mod aliases;
mod attributes;
mod fields;
mod fragment;
mod graphs;
mod header;
mod integers;
pub(crate) mod literals;
mod notes;
mod numbers;
#[cfg(feature = "print")]
mod opset;
#[cfg(feature = "print")]
mod signature;
pub(crate) mod sugar;
mod tensors;
mod types;
mod value;

use crate::ast;
use crate::lex::{Lexed, MAX_FINDINGS, lex};
use crate::parse::{self, Part, Syntax};
use fields::Fields;
use literals::{Escapes, check_escapes, unquote};
use onnx_ir::diag::{Diagnostic, Parsed, Span, code, did_you_mean};
use onnx_ir::{BodyBuilder, BodyId, Model, Name, Names, NodeId, PausedBody, Port, TypeId};
use std::collections::{HashMap, HashSet};

pub use aliases::elem_type_named;
pub(crate) use fragment::read_part_open;
pub use fragment::{
    read_attribute, read_function, read_graph, read_node, read_part, read_type, read_value_info,
};
pub use sugar::literal_of;
pub(crate) use types::dim_expression;
pub use value::{read_tensor, read_value};

pub(crate) use notes::keys;
#[cfg(feature = "print")]
pub(crate) use opset::{LoweredSet, lower_operator_set};
#[cfg(feature = "print")]
pub(crate) use signature::read_signature;
#[cfg(feature = "verify")]
pub(crate) use value::read_value_syntax;

/// Parses and lowers a model. Returns all findings, in the order of the source.
///
/// ```
/// let read = onnx_text::read_model("g (float[N] x) => (flaot[N] y) { y = Relu(x) }");
/// assert_eq!(read.diagnostics[0].message, "unknown type `flaot`");
/// assert_eq!(read.value.walk_main().count(), 1); // there is a model nevertheless
/// ```
pub fn read_model(source: &str) -> Parsed<Model> {
    if let Some(diagnostic) = too_large(source) {
        return Parsed::new(Model::new(), vec![diagnostic]);
    }
    let (mut read, literals) = read_parts(source);
    add_untyped(source, &literals, &mut read.diagnostics);
    read
}

/// A model as far as the text alone says what it is.
pub(crate) struct Open {
    pub(crate) syntax: Syntax<ast::File>,
    pub(crate) model: Model,
    /// The places of literals among the operands, whose types depend on the operators ([`literal_of`]).
    pub(crate) literals: Vec<Span>,
    pub(crate) numbers: NamedNumbers,
}

/// The nodes that have numbers for attributes among their operands, as `Constant(value = 1.0)`. Those who know the operators make
/// tensors of them where an operator wants one.
#[derive(Clone, Debug, Default)]
pub struct NamedNumbers {
    /// The nodes, in the order of the text.
    pub nodes: Vec<(BodyId, NodeId)>,
    /// The name of a tensor in an attribute of this text.
    pub tensor_name: Option<Name>,
}

/// Adds the findings about what the text alone does not say.
pub(crate) fn close(source: &str, mut read: Parsed<Open>) -> Parsed<(Syntax<ast::File>, Model)> {
    add_untyped(source, &read.value.literals, &mut read.diagnostics);
    read.map(|open| (open.syntax, open.model))
}

/// Adds the findings about literals whose types only their operators say.
fn add_untyped(source: &str, literals: &[Span], diagnostics: &mut Vec<Diagnostic>) {
    if !literals.is_empty() {
        diagnostics.extend(sugar::without_type(source, literals));
        parse::sort(diagnostics);
    }
}

/// Reads a model in which literals among the operands may have no type yet.
pub(crate) fn read_open(source: &str) -> Parsed<Open> {
    if let Some(diagnostic) = too_large(source) {
        let value = Open {
            syntax: Syntax::default(),
            model: Model::new(),
            literals: Vec::new(),
            numbers: NamedNumbers::default(),
        };
        return Parsed::new(value, vec![diagnostic]);
    }
    read_lexed(source, lex(source))
}

/// Reads a model like [`read_open`], of a text whose tokens are known; it is not too large.
pub(crate) fn read_lexed(source: &str, lexed: Lexed) -> Parsed<Open> {
    lower_parsed(source, parse::parse_lexed_model(source, lexed))
}

/// Lowers what was parsed; the findings are those of both.
fn lower_parsed(source: &str, parsed: Parsed<Syntax<ast::File>>) -> Parsed<Open> {
    let Parsed { value: syntax, mut diagnostics } = parsed;
    let (Parsed { value: model, diagnostics: mut lowered }, literals, numbers) = lower_open(source, &syntax);
    diagnostics.append(&mut lowered);
    parse::sort(&mut diagnostics);
    Parsed::new(Open { syntax, model, literals, numbers }, diagnostics)
}

/// The finding for a text whose spans would overflow.
pub(crate) fn too_large(source: &str) -> Option<Diagnostic> {
    let message = "the text is larger than 4 GiB";
    let is_too_large = u32::try_from(source.len()).is_err();
    is_too_large.then(|| Diagnostic::new(&code::SOURCE_TOO_LARGE, onnx_ir::diag::Place::Nowhere, message))
}

/// Lowers a parsed model. The findings are those of lowering, without those of the parser.
pub fn lower(source: &str, syntax: &Syntax<ast::File>) -> Parsed<Model> {
    let (mut lowered, literals, _) = lower_open(source, syntax);
    add_untyped(source, &literals, &mut lowered.diagnostics);
    lowered
}

/// The same, with what depends on the operators.
fn lower_open(source: &str, syntax: &Syntax<ast::File>) -> (Parsed<Model>, Vec<Span>, NamedNumbers) {
    let mut lowering = Lowering::new(source, syntax.annotated.is_some());
    let file = &syntax.tree;
    if let Some(graph) = &file.graph {
        lowering.part(Part::GraphBegins(file, graph));
        graph.body.iter().for_each(|node| lowering.part(Part::Node(node)));
        lowering.part(Part::GraphEnds(graph));
    }
    file.functions.iter().for_each(|function| lowering.part(Part::Function(file, function)));
    lowering.end(file)
}

/// Reads a model without keeping its tree: each node is lowered when it has been parsed. The findings are the same.
fn read_parts(source: &str) -> (Parsed<Model>, Vec<Span>) {
    let lexed = lex(source);
    let mut lowering = Lowering::new(source, lexed.annotated.is_some());
    lowering.tokens = lexed.tokens.len();
    let Parsed { value: syntax, mut diagnostics } =
        parse::parse_parts(source, lexed, &mut |part| lowering.part(part));
    let (mut lowered, literals, _) = lowering.end(&syntax.tree);
    diagnostics.append(&mut lowered.diagnostics);
    parse::sort(&mut diagnostics);
    (Parsed::new(lowered.value, diagnostics), literals)
}

/// A model that is made of the parts of a file, in their order.
struct Lowering<'s> {
    cx: Cx<'s>,
    model: Model,
    /// The main graph, from its beginning to its end.
    main: Option<PausedBody>,
    has_begun: bool,
    /// The number of tokens of the text, 0 if it is not known.
    tokens: usize,
}

impl<'s> Lowering<'s> {
    fn new(source: &'s str, annotated: bool) -> Self {
        let cx = Cx::new(source, annotated);
        Lowering { cx, model: Model::new(), main: None, has_begun: false, tokens: 0 }
    }

    fn part(&mut self, part: Part<'_>) {
        let Lowering { cx, model, main, .. } = self;
        match part {
            Part::GraphBegins(file, graph) => {
                self.begin(file, Some(graph));
                if !self.cx.graph_is_placeholder {
                    let mut b = BodyBuilder::new(&mut self.model);
                    // A statement has a dozen tokens at least, with the name of a value and maybe that of the node.
                    let nodes = self.tokens / 12;
                    b.names.reserve(nodes);
                    b.reserve(nodes, nodes);
                    self.cx.begin_graph(&mut b, graph, None);
                    self.main = Some(b.pause());
                }
            }
            Part::Node(node) => {
                if let Some(paused) = main.take() {
                    let mut b = paused.resume(model);
                    cx.node(&mut b, node);
                    *main = Some(b.pause());
                }
            }
            Part::GraphEnds(graph) => {
                if let Some(paused) = main.take() {
                    let mut b = paused.resume(model);
                    cx.end_graph(&mut b, graph);
                    let body = b.finish();
                    cx.end_body(body);
                    model.main = Some(body);
                }
            }
            Part::Function(file, function) => {
                self.begin(file, None);
                _ = self.cx.function(&mut self.model, function);
            }
        }
    }

    /// The header and the annotations of the file, which come before everything else.
    fn begin(&mut self, file: &ast::File, graph: Option<&ast::Graph>) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.cx.file_notes(&mut self.model.names, file_notes(file, graph));
            self.cx.header(&mut self.model, file);
        }
    }

    /// The model, and what depends on the operators. `file` has the header and the main graph, of which only the
    /// annotations matter.
    fn end(mut self, file: &ast::File) -> (Parsed<Model>, Vec<Span>, NamedNumbers) {
        let graph = file.graph.as_ref();
        self.begin(file, graph);
        let Lowering { mut cx, mut model, .. } = self;
        cx.training(&mut model, file);
        cx.model_notes(&mut model, file_notes(file, graph), file.header.is_some());
        parse::sort(&mut cx.diagnostics);
        (Parsed::new(model, cx.diagnostics), cx.literals, cx.numbers)
    }
}

/// The annotations of a file: those before the header; without one, those of the graph.
fn file_notes<'a>(file: &'a ast::File, graph: Option<&'a ast::Graph>) -> &'a ast::Notes {
    match graph {
        Some(graph) if file.header.is_none() => &graph.notes,
        _ => &file.notes,
    }
}

/// Which field of a tensor a plain list of elements is stored in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Storage {
    /// The typed field of the element type.
    #[default]
    Typed,
    /// `raw_data`.
    Raw,
}

/// The state of lowering.
struct Cx<'s> {
    source: &'s str,
    diagnostics: Vec<Diagnostic>,
    /// The file's default for tensors.
    storage: Storage,
    /// `$n`
    shared: HashMap<i64, Name>,
    /// The domain of a node without a prefix. The reference parser sets it to the empty string; in a file with annotations it is
    /// absent, as most exporters write it, unless `set: ["node.domain"]` requests otherwise.
    default_domain: Option<Name>,
    /// The name of an attribute's tensor without one; likewise, `tensor.name`.
    default_tensor_name: Option<Name>,
    /// Whether the graph is a placeholder for a missing one.
    graph_is_placeholder: bool,
    /// For the results of expressions.
    fresh_names: Option<sugar::FreshNames>,
    /// The literals among the operands.
    literals: Vec<Span>,
    /// The nodes with numbers for attributes among their operands, in the bodies before this one.
    numbers: NamedNumbers,
    /// Likewise in this body.
    numbers_here: Vec<NodeId>,
    /// The stated types of results in the graph or function that is read.
    result_types: Vec<(Name, TypeId)>,
}

/// The types that the statements of a graph or function state for results, in order, and those that declarations repeat.
struct ResultTypes {
    stated: Vec<(Name, TypeId)>,
    repeated: HashSet<(Name, TypeId)>,
}

impl ResultTypes {
    fn new(stated: Vec<(Name, TypeId)>) -> Self {
        ResultTypes { stated, repeated: HashSet::new() }
    }

    /// The types by the names of the results.
    fn by_name(&self) -> HashMap<Name, TypeId> {
        // The first one of a name counts.
        self.stated.iter().rev().copied().collect()
    }

    /// Notes a declaration, which may say the same.
    fn note(&mut self, declaration: &Port) {
        if let (false, Some(name), Some(ty)) = (self.stated.is_empty(), declaration.name, declaration.ty) {
            self.repeated.insert((name, ty));
        }
    }

    /// Declares those that are not declared yet, as entries of `value_info`.
    fn declare(self, b: &mut BodyBuilder<'_>) {
        for (name, ty) in self.stated.into_iter().filter(|stated| !self.repeated.contains(stated)) {
            b.value_info(Port { name: Some(name), ty: Some(ty), ..Port::default() });
        }
    }
}

/// The name of a spelling, quoted or not.
pub(crate) fn spelled_name(spelling: &str) -> String {
    match spelling.as_bytes() {
        [b'"' | b'b', ..] if spelling.ends_with('"') => {
            String::from_utf8_lossy(&unquote(spelling, Escapes::Literal)).into_owned()
        }
        _ => spelling.to_owned(),
    }
}

impl<'s> Cx<'s> {
    fn new(source: &'s str, annotated: bool) -> Self {
        let default = (!annotated).then(Name::empty);
        Cx {
            source,
            diagnostics: Vec::new(),
            storage: Storage::Typed,
            shared: HashMap::new(),
            default_domain: default,
            default_tensor_name: default,
            graph_is_placeholder: false,
            fresh_names: None,
            literals: Vec::new(),
            numbers: NamedNumbers { nodes: Vec::new(), tensor_name: default },
            numbers_here: Vec::new(),
            result_types: Vec::new(),
        }
    }

    /// A body is complete.
    fn end_body(&mut self, body: BodyId) {
        self.numbers.nodes.extend(self.numbers_here.drain(..).map(|node| (body, node)));
    }

    fn text(&self, span: Span) -> &'s str {
        &self.source[span.range()]
    }

    #[cold]
    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_FINDINGS {
            self.diagnostics.push(diagnostic);
        }
    }

    /// The name of a spelling.
    fn name(&mut self, names: &mut Names, span: Span) -> Name {
        self.name_with(names, span, Escapes::Literal)
    }

    fn name_with(&mut self, names: &mut Names, span: Span, escapes: Escapes) -> Name {
        let spelling = self.text(span);
        match spelling.as_bytes() {
            [b'"', inside @ .., b'"'] if memchr::memchr(b'\\', inside).is_none() => {
                names.intern(&spelling[1..spelling.len() - 1])
            }
            [b'"' | b'b' | b'\'', .., b'"' | b'\''] | [b'"' | b'\''] => {
                if escapes == Escapes::Literal
                    && spelling.contains('\\')
                    && let Some(warning) = check_escapes(spelling, span)
                {
                    self.report(warning);
                }
                names.intern_bytes(&unquote(spelling, escapes))
            }
            _ => names.intern(spelling),
        }
    }

    /// Names with dots between them, `com.acme`. White space, comments and quotes mean nothing.
    fn dotted(&mut self, names: &mut Names, span: Span) -> Name {
        let text = self.text(span);
        if text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.') {
            return names.intern(text);
        }
        let mut joined = Vec::new();
        for token in crate::lex::lex(text).tokens {
            joined.extend_from_slice(&unquote(&text[token.span.range()], Escapes::Literal));
        }
        names.intern_bytes(&joined)
    }

    fn unknown_key(&mut self, key: Span, known: &[&'static str]) {
        let text = self.text(key);
        let near = did_you_mean(text, known.iter().copied());
        let label = match known {
            [] => "this cannot be annotated".to_owned(),
            known => format!("expected {}", crate::lex::one_of(known)),
        };
        let mut d = Diagnostic::new(&code::UNKNOWN_KEY, key, format!("unknown key `{text}`"))
            .label(label)
            .maybe_help(near.map(|n| format!("did you mean `{n}`?")));
        if let Some(near) = near {
            d = d.fix(
                format!("write `{near}`"),
                vec![onnx_ir::diag::Edit { span: key, text: near.into() }],
                false,
            );
        }
        self.report(d);
    }

    /// A word or another literal where a string belongs: it lacks quotes.
    fn without_quotes(&mut self, at: Span) {
        let text = self.text(at);
        let message = format!("expected a string, found `{}`", crate::lex::shown(text));
        let right = format!("\"{text}\"");
        self.report(
            Diagnostic::new(&code::WRONG_KIND, at, message)
                .label("expected a string")
                .help(format!("write `{}`", crate::lex::shown(&right)))
                // A name with dots is a domain; any other word may be something else.
                .fix("quote it", vec![onnx_ir::diag::Edit { span: at, text: right }], text.contains('.')),
        );
    }

    fn wrong_kind(&mut self, at: Span, wanted: &str) {
        let found = crate::lex::shown(self.text(at));
        self.report(
            Diagnostic::new(&code::WRONG_KIND, at, format!("expected {wanted}, found `{found}`"))
                .label(format!("expected {wanted}")),
        );
    }
}

/// Reads an integer; reports errors and returns `None` for other text.
fn int_at(cx: &mut Cx<'_>, span: Span) -> Option<i64> {
    match literals::int(cx.text(span)) {
        Ok(value) => Some(value),
        Err(literals::Refused::Range) => {
            let text = crate::lex::shown(cx.text(span));
            cx.report(
                Diagnostic::new(
                    &code::NUMBER_OUT_OF_RANGE,
                    span,
                    format!("`{text}` does not fit a 64-bit integer"),
                )
                .label("integers go from -2^63 to 2^63 - 1"),
            );
            None
        }
        // The lexer has reported its spelling, or it is a float.
        Err(literals::Refused::Kind) => {
            if literals::float64(cx.text(span)).is_some() {
                cx.wrong_kind(span, "an integer");
            }
            None
        }
    }
}
