//! Constructs of other languages in the place of a declaration, statement or operand: each is one mistake, and is read as what
//! was meant, where that is certain.
//!
//! ```text
//! graph g (x: float[N]) => (float[N] y) {       a keyword; a type after the name
//!    y = Loop <body = { a = Relu(x) }> (m, c)   a graph without a signature
//!    z = Add(y, {1.0})                          elements of a tensor as an operand
//!    return z                                   a statement that does not exist
//! }
//! ```

use super::*;
use crate::parse::look::begins_call;

/// Words that begin a graph or function in other languages.
const KEYWORDS: [&str; 8] = ["graph", "subgraph", "model", "module", "function", "func", "fn", "def"];

/// `x: float[N]`: reports it.
pub(in crate::parse::grammar) fn type_behind_name(inp: &mut Inp<'_, '_>) -> Out<Option<(Type, Name)>> {
    let ahead = [peek(inp, 0), peek(inp, 1), peek(inp, 2)];
    if !matches!(ahead, [Some(Kind::Ident | Kind::String), Some(Kind::Colon), Some(Kind::Ident)]) {
        return Ok(None);
    }
    let at = position(inp);
    let name = inp.parse(name())?;
    inp.parse(token(Kind::Colon))?;
    let ty = type_(inp)?;
    let last = position(inp) - 1;
    emit(inp, Failure::between(at, last, Problem::TypeAfterName));
    Ok(Some((ty, name)))
}

/// Whether a keyword and a graph or function begin `ahead` tokens from here: `graph g (…)`.
pub(in crate::parse::grammar) fn begins_keyword(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    let at = position(inp) + ahead;
    let (source, tokens) = (inp.state().source, inp.full_slice());
    let is_keyword =
        tokens.get(at).is_some_and(|t| t.kind == Kind::Ident && KEYWORDS.contains(&&source[t.span.range()]));
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    is_keyword
        && matches!(kind(at + 1), Some(Kind::Ident | Kind::String))
        && matches!(kind(at + 2), Some(Kind::LParen | Kind::LAngle | Kind::Arrow))
}

/// Skips a keyword before the name of a graph or function, and reports it.
pub(in crate::parse::grammar) fn keyword_before(inp: &mut Inp<'_, '_>) {
    if begins_keyword(inp, 0) {
        let at = position(inp);
        inp.skip();
        emit(inp, Failure::between(at, at + 1, Problem::Keyword));
    }
}

/// `return y`, `return (y, z)`
pub(in crate::parse::grammar) fn return_statement(inp: &mut Inp<'_, '_>) -> Out<()> {
    let (at, source) = (position(inp), inp.state().source);
    let tokens = inp.full_slice();
    let is_return = tokens.get(at).is_some_and(|t| &source[t.span.range()] == "return");
    let operands = tokens.get(at + 1..).unwrap_or_default();
    let begins = operands.first().is_some_and(|t| {
        !t.starts_line && matches!(t.kind, Kind::Ident | Kind::String | Kind::LParen | Kind::LBracket)
    });
    if !is_return || !begins {
        return Ok(());
    }
    let length = operands.iter().take(LOOK).take_while(|t| !t.starts_line && t.kind != Kind::RBrace).count();
    Err(Failure::between(at, at + length, Problem::Return))
}

/// `{ a = Relu(x) … }` where a graph belongs: reports it, and reads the nodes.
pub(in crate::parse::grammar) fn graph_without_signature(inp: &mut Inp<'_, '_>) -> Out<Option<Graph>> {
    let at = position(inp);
    let tokens = inp.full_slice();
    let names = tokens[at + 1..]
        .iter()
        .take(LOOK)
        .take_while(|t| matches!(t.kind, Kind::Ident | Kind::String | Kind::Comma));
    let equals = at + 1 + names.count();
    let is_node = equals > at + 1
        && tokens.get(equals).is_some_and(|t| t.kind == Kind::Equals)
        && begins_call(&tokens[equals + 1..]);
    if !is_node {
        return Ok(None);
    }
    emit(inp, Failure::problem(at, Problem::NoSignature, Want::Graph));
    let name = Span::at(tokens[at].span.start);
    let (body, body_span) = body(inp)?;
    Ok(Some(Graph {
        notes: Notes::default(),
        name,
        inputs: None,
        outputs: List { items: Vec::new(), span: name },
        values: None,
        body,
        body_span,
        span: body_span,
    }))
}

/// `{1.5}` in place of an operand: reports it, and takes its text for the name of a value. A list of numbers in brackets is an operand.
pub(in crate::parse::grammar) fn literal_operand(inp: &mut Inp<'_, '_>) -> Option<Name> {
    let at = position(inp);
    let length = match peek(inp, 0) {
        Some(Kind::Numbers) => 1,
        Some(kind @ (Kind::LBracket | Kind::LBrace)) if is_literals(inp) && !begins_numbers(inp) => {
            let close = closing(kind);
            inp.full_slice()[at..].iter().take(LOOK).position(|t| t.kind == close)? + 1
        }
        _ => return None,
    };
    let start = span_of_next(inp);
    for _ in 0..length {
        inp.skip();
    }
    let problem = match inp.state().is_in_function {
        true => Problem::LiteralInFunction,
        false => Problem::Literal,
    };
    // `Add(x {1.0})` is one mistake.
    let emitted = &mut inp.state().emitted;
    if emitted.last().is_some_and(|f| f.problem == Problem::MissingComma && f.at as usize == at) {
        emitted.pop();
    }
    emit(inp, Failure::between(at, at + length - 1, problem));
    Some(start.to(last_span(inp)))
}
