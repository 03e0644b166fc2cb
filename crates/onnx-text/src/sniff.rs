//! Detects the kind of a text from its start.

use crate::lex::{Kind, Token, lex};
use onnx_ir::ElemType;

/// The kinds of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TextKind {
    /// A model: [`parse_model`](crate::parse_model). Also the default.
    Model,
    /// A graph without a model around it. It looks like a model without a header: only a comment `# proto-message: onnx.GraphProto` tells them apart.
    Graph,
    /// A function without a model around it.
    Function,
    /// A node.
    Node,
    /// An attribute, `alpha = 0.5`.
    Attribute,
    /// A type, `float[N]`.
    Type,
    /// A declaration, `float[N] x`.
    ValueInfo,
    /// A value in a file of its own: [`parse_value`](crate::parse_value).
    Value,
    /// An operator set in a file of its own: [`parse_operator_set`](crate::parse_operator_set).
    OperatorSet,
}

/// The start of a comment before the first item that states the kind of a text, as in textproto:
///
/// ```text
/// # proto-message: onnx.GraphProto
/// g (float[N] x) => (float[N] y) { y = Relu(x) }
/// ```
pub(crate) const MARK: &str = "# proto-message: onnx.";

impl TextKind {
    /// The name of the message that such a text holds.
    pub fn message(self) -> &'static str {
        match self {
            TextKind::Model => "ModelProto",
            TextKind::Graph => "GraphProto",
            TextKind::Function => "FunctionProto",
            TextKind::Node => "NodeProto",
            TextKind::Attribute => "AttributeProto",
            TextKind::Type => "TypeProto",
            TextKind::ValueInfo => "ValueInfoProto",
            TextKind::Value => "TensorProto",
            TextKind::OperatorSet => "OperatorSetProto",
        }
    }

    /// Whether it is a part of a model: [`read_part`](crate::read_part) reads it.
    pub fn is_part(self) -> bool {
        match self {
            TextKind::Graph
            | TextKind::Function
            | TextKind::Node
            | TextKind::Attribute
            | TextKind::Type
            | TextKind::ValueInfo => true,
            TextKind::Model | TextKind::Value | TextKind::OperatorSet => false,
        }
    }

    /// The kind that a [mark](MARK) states. Values have one kind for several messages, and need none.
    fn marked(line: &str) -> Option<TextKind> {
        use TextKind::*;
        let message = line.strip_prefix(MARK)?.trim_end();
        [Model, Graph, Function, Node, Attribute, Type, ValueInfo, OperatorSet]
            .into_iter()
            .find(|kind| kind.message() == message)
    }
}

/// The most bytes that are inspected, after leading comments.
const LOOK: usize = 4096;

/// The kind of a text, from its first words and the following brackets; never fails, so that texts with mistakes have a kind too.
///
/// A value starts with its type, a model with a header or the name of its graph, followed by `(` or `=>`. A function looks like a
/// graph; it is recognized by its parameters, or by a header with a `domain` and nothing that only models have. A node or an
/// attribute is recognized by the `=` or `:` after its first words, a type or declaration because nothing follows it. A comment
/// `# proto-message: onnx.GraphProto` before the first item states the kind.
///
/// ```
/// use onnx_text::{TextKind, sniff_text};
///
/// assert_eq!(sniff_text("# my model\ng (float[2] x) => (float[2] y) {}"), TextKind::Model);
/// assert_eq!(sniff_text("<domain: \"l\", opset_import: [\"\": 21]> f (x) => (y) {}"), TextKind::Function);
/// assert_eq!(sniff_text("seq(tensor) s = [float[2] {1, 2}]"), TextKind::Value);
/// ```
pub fn sniff_text(source: &str) -> TextKind {
    let (start, marked) = first_item(source);
    if let Some(kind) = marked {
        return kind;
    }
    let mut end = source.len().min(start + LOOK);
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let source = &source[start..end];
    let tokens = lex(source).tokens;
    let mut rest = tokens.as_slice();
    let word = |token: &Token| &source[token.span.range()];
    if begins_set(rest, word) {
        return TextKind::OperatorSet;
    }
    let mut is_function = false;
    if rest.first().is_some_and(|t| t.kind == Kind::LAngle) {
        let Some(end) = closing(rest, Kind::LAngle, Kind::RAngle) else { return TextKind::Model };
        let keys = rest[..end].windows(2).filter(|t| t[0].kind == Kind::Ident && t[1].kind == Kind::Colon);
        let keys: Vec<_> = keys.map(|t| word(&t[0])).collect();
        is_function = keys.contains(&"overload")
            || keys.contains(&"domain") && !keys.iter().any(|key| OF_MODELS.contains(key));
        rest = &rest[end + 1..];
    } else if let Some(kind) = statement(rest, word) {
        return kind;
    } else if rest.first().is_some_and(|t| t.kind == Kind::Ident) && begins_value(rest, word) {
        return declaration(rest, word).unwrap_or(TextKind::Value);
    } else if let ([only], true) = (rest, rest.len() < LOOK) {
        // `float`
        if only.kind == Kind::Ident && ElemType::from_name(word(only)).is_some() {
            return TextKind::Type;
        }
    }
    // `f <alpha> (…)`
    let has_parameters = rest.get(1).is_some_and(|t| t.kind == Kind::LAngle);
    if is_function || has_parameters { TextKind::Function } else { TextKind::Model }
}

/// Keys in the header of a model that the header of a function does not have.
const OF_MODELS: [&str; 4] = ["ir_version", "producer_name", "producer_version", "model_version"];

/// The start of the first text that is not white space or a comment, and the kind that a comment before it states.
fn first_item(source: &str) -> (usize, Option<TextKind>) {
    let mut rest = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut marked = None;
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('#') && !rest.starts_with("//") {
            return (source.len() - rest.len(), marked);
        }
        let end = rest.find('\n').unwrap_or(rest.len());
        marked = marked.or_else(|| TextKind::marked(&rest[..end]));
        rest = &rest[end..];
    }
}

/// Whether a text begins like a node, `y = Relu(x)`, or like an attribute, `alpha = 0.5`.
fn statement<'s>(tokens: &[Token], word: impl Fn(&Token) -> &'s str) -> Option<TextKind> {
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    let is_name = |i: usize| matches!(kind(i), Some(Kind::Ident | Kind::String));
    match kind(0) {
        // The name of the node.
        Some(Kind::LBracket) => return Some(TextKind::Node),
        Some(Kind::Ident | Kind::String) => {}
        _ => return None,
    }
    match kind(1) {
        Some(Kind::Comma) if is_name(2) => Some(TextKind::Node),
        // `alpha: float = 0.5`
        Some(Kind::Colon) => Some(TextKind::Attribute),
        Some(Kind::Equals) if is_name(2) => {
            let head = word(&tokens[2]);
            let is_type = ElemType::from_name(head).is_some()
                || matches!(head, "seq" | "map" | "optional" | "sparse_tensor" | "opaque");
            let end = closing(tokens.get(3..).unwrap_or_default(), Kind::LParen, Kind::RParen);
            // `body = g (x) => (y) {…}`
            let is_graph =
                kind(3) == Some(Kind::LParen) && end.is_some_and(|end| kind(end + 4) == Some(Kind::Arrow));
            let is_call = matches!(kind(3), Some(Kind::LParen | Kind::LAngle | Kind::Dot | Kind::Colon));
            Some(if is_call && !is_type && !is_graph { TextKind::Node } else { TextKind::Attribute })
        }
        // `w = {1, 2}` is a value without its type.
        Some(Kind::Equals) if !matches!(kind(2), None | Some(Kind::LBrace | Kind::Numbers)) => {
            Some(TextKind::Attribute)
        }
        _ => None,
    }
}

/// Whether a text that begins with a type is the type alone, or a declaration without elements.
fn declaration<'s>(tokens: &[Token], word: impl Fn(&Token) -> &'s str) -> Option<TextKind> {
    let rest = &tokens[1..];
    let after = match rest.first()?.kind {
        Kind::LParen => closing(rest, Kind::LParen, Kind::RParen)? + 1,
        Kind::LBracket => closing(rest, Kind::LBracket, Kind::RBracket)? + 1,
        Kind::Ints => 1,
        Kind::Ident | Kind::String if ElemType::from_name(word(&tokens[0])).is_some() => 0,
        _ => return None,
    };
    match rest.get(after..)? {
        [] => Some(TextKind::Type),
        [name] if matches!(name.kind, Kind::Ident | Kind::String) => Some(TextKind::ValueInfo),
        _ => None,
    }
}

/// Whether the word that starts an operator set precedes a header. A function of that name has `(` after its parameters.
fn begins_set<'s>(tokens: &[Token], word: impl Fn(&Token) -> &'s str) -> bool {
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    if kind(0) != Some(Kind::Ident) || word(&tokens[0]) != "operator_set" {
        return false;
    }
    match kind(1) {
        None => true,
        Some(Kind::LAngle) => closing(&tokens[1..], Kind::LAngle, Kind::RAngle)
            .is_none_or(|end| kind(end + 2) != Some(Kind::LParen)),
        Some(_) => false,
    }
}

/// Whether a type is followed by what no name of a graph is followed by.
fn begins_value<'s>(tokens: &[Token], word: impl Fn(&Token) -> &'s str) -> bool {
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    let head = word(&tokens[0]);
    match kind(1) {
        // `seq(tensor) s`, but not `seq(x) => (y)`.
        Some(Kind::LParen) => {
            let is_type =
                matches!(head, "seq" | "map" | "optional" | "elem_type" | "sparse_tensor" | "opaque");
            let end = closing(&tokens[1..], Kind::LParen, Kind::RParen);
            is_type && end.is_some_and(|end| kind(end + 2) != Some(Kind::Arrow))
        }
        // `float[2] x`; nothing else has brackets after its first word.
        Some(Kind::LBracket | Kind::Ints | Kind::LBrace | Kind::Numbers | Kind::Equals) => true,
        // `float x = {1}`
        Some(Kind::Ident | Kind::String | Kind::Bytes) => {
            ElemType::from_name(head).is_some() || kind(2) == Some(Kind::Equals)
        }
        _ => false,
    }
}

/// The position of the bracket that closes the first one.
fn closing(tokens: &[Token], open: Kind, close: Kind) -> Option<usize> {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        if token.kind == open {
            depth += 1;
        } else if token.kind == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use TextKind::*;

    #[test]
    fn kinds_are_told_by_their_first_words() {
        for (source, kind) in [
            ("", Model),
            ("# nothing", Model),
            ("g => () {}", Model),
            ("g (float[2] x) => () {}", Model),
            ("float (float x) => () {}", Model),
            ("seq (tensor) => () {}", Model),
            ("optional(tensor) => (y) {}", Model),
            ("\"a b\" (x) => () {}", Model),
            ("#@ onnxtxt 1\n#@ storage: raw\n<ir_version: 10> g () => () {}", Model),
            ("<ir_version: 10, domain: \"d\"> g () => () {}", Model),
            ("<ir_version: 10", Model),
            ("g (flaot x", Model),
            ("f <alpha> (x) => (y) {}", Function),
            ("<opset_import: [\"\": 1]> f <alpha: float = 1.0> (x) => (y) {}", Function),
            ("<overload: \"v2\"> f (x) => (y) {}", Function),
            ("<domain: \"d\", model_version: 3> g () => () {}", Model),
            ("# proto-message: onnx.GraphProto\ng (float[N] x) => () {}", Graph),
            ("#@ onnxtxt 1\n# proto-message: onnx.NodeProto\ng (float[N] x) => () {}", Node),
            ("# proto-message: onnx.Unknown\ng (float[N] x) => () {}", Model),
            ("y = Relu(x)", Node),
            ("y = com.acme.Relu:o <a = 1> (x)", Node),
            ("a, b = Split(x)", Node),
            ("[n] y = Relu(x)", Node),
            ("y = If (c) <then_branch = g () => (z) {}>", Node),
            ("\"y 1\" = Relu(x)", Node),
            ("alpha = 0.5", Attribute),
            ("alpha: float = @beta", Attribute),
            ("axes = [1, 2]", Attribute),
            ("axes = [1.5, 2.5]", Attribute),
            ("value = float[2] {1, 2}", Attribute),
            ("type_proto = seq(float[N])", Attribute),
            ("mode = \"linear\"", Attribute),
            ("body = g (x) => (y) { y = Relu(x) }", Attribute),
            ("float", Type),
            ("float[N]", Type),
            ("float[2,3]", Type),
            ("seq(float[N])", Type),
            ("sparse_tensor(float[N])", Type),
            ("map(int64, seq(float))", Type),
            ("float[N] x", ValueInfo),
            ("float x", ValueInfo),
            ("seq(float[N]) \"x y\"", ValueInfo),
            ("sparse_tensor (x) => (y) {}", Model),
            ("operator_set <>", OperatorSet),
            ("# s\noperator_set <ir_version: 10", OperatorSet),
            ("#@ onnxtxt 1\n#@ storage: raw\noperator_set <domain: \"d\"> operator A", OperatorSet),
            ("operator_set <alpha: float = 1.0> (x) => (y) {}", Function),
            ("operator_set (x) => (y) {}", Model),
            ("float x = {1}", Value),
            ("float \"\" = {1}", Value),
            ("float {1}", Value),
            ("flaot[2] x = {1, 2}", Value),
            ("flaot x = {1, 2}", Value),
            ("\u{feff}#@ onnxtxt 1\n#@ storage: raw // x\n // y\nfloat[2,3] x = {}", Value),
            ("sparse [3] {values = float[1] {1}, indices = int64[1] {0}}", Value),
            ("seq(seq) [", Value),
            ("seq() []", Value),
            ("map(int64) m = {", Value),
            ("elem_type(99)[2] x = {raw_data: b\"\"}", Value),
            ("optional() = none", Value),
        ] {
            assert_eq!(sniff_text(source), kind, "{source}");
        }
    }
}
