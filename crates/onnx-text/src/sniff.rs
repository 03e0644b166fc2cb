//! Detects the kind of a text from its start.

use crate::lex::{Kind, Token, lex};
use onnx_ir::ElemType;

/// The kinds of texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TextKind {
    /// A model: [`parse_model`](crate::parse_model). Also the default.
    Model,
    /// Functions without a model around them: [`parse_function`](crate::parse_function) for one.
    Functions,
    /// A value in a file of its own: [`parse_value`](crate::parse_value).
    Value,
    /// An operator set in a file of its own: [`parse_operator_set`](crate::parse_operator_set).
    OperatorSet,
}

/// The most bytes that are inspected, after leading comments.
const LOOK: usize = 4096;

/// The kind of a text, from its first words and the following brackets; never fails, so that texts with mistakes have a kind too.
///
/// A value starts with its type, a model with a header or the name of its graph, followed by `(` or `=>`. A function looks like a
/// graph; it is recognized by its parameters, or by a header with a `domain` and no `ir_version`.
///
/// ```
/// use onnx_text::{TextKind, sniff_text};
///
/// assert_eq!(sniff_text("# my model\ng (float[2] x) => (float[2] y) {}"), TextKind::Model);
/// assert_eq!(sniff_text("<domain: \"l\", opset_import: [\"\": 21]> f (x) => (y) {}"), TextKind::Functions);
/// assert_eq!(sniff_text("seq(tensor) s = [float[2] {1, 2}]"), TextKind::Value);
/// ```
pub fn sniff_text(source: &str) -> TextKind {
    let start = first_item(source);
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
            || keys.contains(&"domain") && !keys.iter().any(|k| *k == "ir_version" || *k == "producer_name");
        rest = &rest[end + 1..];
    } else if rest.first().is_some_and(|t| t.kind == Kind::Ident) && begins_value(rest, word) {
        return TextKind::Value;
    }
    // `f <alpha> (…)`
    let has_parameters = rest.get(1).is_some_and(|t| t.kind == Kind::LAngle);
    if is_function || has_parameters { TextKind::Functions } else { TextKind::Model }
}

/// The start of the first text that is not white space or a comment.
fn first_item(source: &str) -> usize {
    let mut rest = source.strip_prefix('\u{feff}').unwrap_or(source);
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('#') && !rest.starts_with("//") {
            return source.len() - rest.len();
        }
        rest = rest.find('\n').map_or("", |at| &rest[at..]);
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
            let is_type = matches!(head, "seq" | "map" | "optional" | "elem_type");
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
            depth -= 1;
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
            ("f <alpha> (x) => (y) {}", Functions),
            ("<opset_import: [\"\": 1]> f <alpha: float = 1.0> (x) => (y) {}", Functions),
            ("<overload: \"v2\"> f (x) => (y) {}", Functions),
            ("operator_set <>", OperatorSet),
            ("# s\noperator_set <ir_version: 10", OperatorSet),
            ("#@ onnxtxt 1\n#@ storage: raw\noperator_set <domain: \"d\"> operator A", OperatorSet),
            ("operator_set <alpha: float = 1.0> (x) => (y) {}", Functions),
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
