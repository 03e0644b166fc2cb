//! Types and dimensions.

use super::*;
use crate::parse::look::{is_close, is_open};

/// `type_ = Ident dims? | Ident "(" (type_arg? ("," type_arg?)*)? ")" dims? | "?"`
pub(in crate::parse) fn type_(inp: &mut Inp<'_, '_>) -> Out<Type> {
    if peek(inp, 0) == Some(Kind::Question) {
        inp.skip();
        return Ok(Type::Unset(last_span(inp)));
    }
    let head = type_name(inp)?;
    match peek(inp, 0) {
        Some(Kind::LParen) => {
            if let Some(args) = unclosed_arg(inp)? {
                return Ok(Type::Call { head, args });
            }
            let (items, span) = inp.parse(gappy(Kind::LParen, production(type_arg), TypeArg::Name))?;
            // `elem_type(99)[2]`: an element type without a name.
            if matches!(peek(inp, 0), Some(Kind::LBracket | Kind::Ints)) {
                return Ok(Type::Tensor { elem: head.to(span), dims: Some(dims(inp)?) });
            }
            Ok(Type::Call { head, args: List { items, span } })
        }
        Some(Kind::LBracket | Kind::Ints) => Ok(Type::Tensor { elem: head, dims: Some(dims(inp)?) }),
        _ => Ok(Type::Tensor { elem: head, dims: None }),
    }
}

/// The name of a type. What has dots, as `np.float32`, is one of another tool.
fn type_name(inp: &mut Inp<'_, '_>) -> Out<Span> {
    let mut name = inp.parse(token_as(Kind::Ident, Want::Type))?;
    while let (Some(Token { kind: Kind::Dot, span: dot, .. }), Some(Kind::Ident | Kind::Int)) =
        (inp.peek(), peek(inp, 1))
    {
        if dot.start != name.end {
            break;
        }
        inp.skip();
        inp.skip();
        name = name.to(last_span(inp));
    }
    Ok(name)
}

/// `(float[N]` of `seq(float[N] s, …`, whose bracket is not closed: a name follows the type. Reports it.
fn unclosed_arg(inp: &mut Inp<'_, '_>) -> Out<Option<List<TypeArg>>> {
    let open_at = position(inp);
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    let mut end = open_at + 2;
    match kind(end) {
        Some(Kind::Ints) => end += 1,
        Some(Kind::LBracket) => {
            let is_end = |t: &Token| is_close(t.kind) || is_open(t.kind) && t.kind != Kind::LBracket;
            let dims = tokens[end..].iter().take(LOOK).position(is_end);
            let is_closed = |dims: usize| tokens[end + dims].kind == Kind::RBracket;
            end += dims.filter(|&dims| is_closed(dims)).map_or(0, |dims| dims + 1);
        }
        _ => {}
    }
    let is_unclosed = kind(open_at + 1) == Some(Kind::Ident)
        && kind(end) == Some(Kind::Ident)
        && matches!(kind(end + 1), Some(Kind::Comma | Kind::RParen | Kind::RAngle));
    if !is_unclosed {
        return Ok(None);
    }
    let open = inp.parse(token(Kind::LParen))?;
    let arg = type_arg(inp)?;
    let at = position(inp);
    emit(inp, Failure::problem(at, Problem::NotClosed, Want::RParen).inside(open_at));
    Ok(Some(List { items: vec![arg], span: open.to(last_span(inp)) }))
}

/// `float{N,4} x`, `float<N> x`: a type with the wrong brackets around its dimensions, if the next tokens are one.
pub(in crate::parse::grammar) fn misbracketed_type(inp: &mut Inp<'_, '_>) -> Out<Option<Type>> {
    let at = position(inp);
    let tokens = inp.full_slice();
    let is_dim = |kind| matches!(kind, Kind::Ident | Kind::Int | Kind::String | Kind::Question | Kind::Comma);
    let end = match tokens.get(at + 1).map(|t| t.kind) {
        Some(Kind::Numbers) => at + 2,
        Some(Kind::LBrace | Kind::LAngle) => {
            let dims = tokens[at + 2..].iter().take(LOOK).take_while(|t| is_dim(t.kind)).count();
            let close = tokens.get(at + 2 + dims).map(|t| t.kind);
            if dims == 0 || close != Some(closing(tokens[at + 1].kind)) {
                return Ok(None);
            }
            at + 3 + dims
        }
        _ => return Ok(None),
    };
    if !matches!(tokens.get(end).map(|t| t.kind), Some(Kind::Ident | Kind::String)) {
        return Ok(None);
    }
    let elem = inp.parse(token_as(Kind::Ident, Want::Type))?;
    let dims = match inp.peek() {
        Some(Token { kind: Kind::Numbers, span, .. }) => {
            inp.skip();
            let dims = ints(inp.state().source, span).filter(|span| !span.is_empty());
            List { items: dims.map(Dim::Int).collect(), span }
        }
        Some(Token { kind, .. }) => inp.parse(list(kind, production(dim)))?,
        None => return Ok(None),
    };
    emit(inp, Failure::between(at + 1, end - 1, Problem::Brackets("[", "]")));
    Ok(Some(Type::Tensor { elem, dims: Some(dims) }))
}

/// Whether a type with dots in its name begins here: dimensions or a name follow it.
pub(in crate::parse::grammar) fn is_dotted_type(inp: &mut Inp<'_, '_>) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    let mut end = at + 1;
    while (kind(end), kind(end + 1)) == (Some(Kind::Dot), Some(Kind::Ident)) {
        end += 2;
    }
    end > at + 1 && matches!(kind(end), Some(Kind::LBracket | Kind::Ints | Kind::Ident | Kind::String))
}

/// `type_arg = type_ | Ident ("." Ident)+ | String | Bytes | Int`
pub(in crate::parse) fn type_arg(inp: &mut Inp<'_, '_>) -> Out<TypeArg> {
    match peek(inp, 0) {
        Some(Kind::String | Kind::Bytes | Kind::Int) => {
            inp.skip();
            Ok(TypeArg::Name(last_span(inp)))
        }
        // `opaque(com.acme, Blob)`
        Some(Kind::Ident) if peek(inp, 1) == Some(Kind::Dot) => {
            let mut name = inp.parse(token(Kind::Ident))?;
            while peek(inp, 0) == Some(Kind::Dot) {
                name = name.to(inp.parse(token(Kind::Dot).ignore_then(token(Kind::Ident)))?);
            }
            Ok(TypeArg::Name(name))
        }
        _ => type_(inp).map(TypeArg::Type),
    }
}

/// `dims = "[" (dim ("," dim)*)? "]" | Ints`
pub(in crate::parse) fn dims(inp: &mut Inp<'_, '_>) -> Out<List<Dim>> {
    if let Some(Token { kind: Kind::Ints, span, .. }) = inp.peek() {
        inp.skip();
        let ints = ints(inp.state().source, span);
        return Ok(List { items: ints.map(Dim::Int).collect(), span });
    }
    inp.parse(list(Kind::LBracket, production(dim)))
}

/// `dim = "?" | Int | name | dim_sum`
pub(in crate::parse) fn dim(inp: &mut Inp<'_, '_>) -> Out<Dim> {
    if begins_dim_sum(inp) {
        let start = span_of_next(inp);
        dim_sum(inp)?;
        return Ok(Dim::Expr(start.to(last_span(inp))));
    }
    let dim = match inp.peek() {
        Some(Token { kind: Kind::Question, span, .. }) => Dim::Unknown(span),
        Some(Token { kind: Kind::Int, span, .. }) => Dim::Int(span),
        // `batch.size`
        Some(Token { kind: Kind::Ident, span, .. }) => return Ok(Dim::Param(bare(inp, span, false))),
        Some(Token { kind: Kind::String | Kind::Bytes, span, .. }) => Dim::Param(span),
        _ => return Err(Failure::expected(position(inp), Want::Dim)),
    };
    inp.skip();
    Ok(dim)
}

/// Whether a dimension is an expression: `P+S`, `(H-1)/2`, `max(P, S)`.
fn begins_dim_sum(inp: &mut Inp<'_, '_>) -> bool {
    match (peek(inp, 0), peek(inp, 1)) {
        (Some(Kind::LParen | Kind::Sign), _) | (Some(Kind::Ident), Some(Kind::LParen)) => true,
        (Some(Kind::Ident | Kind::Int), Some(Kind::Sign)) => true,
        (Some(Kind::Ident), Some(Kind::Int)) => is_difference(inp, 1),
        _ => false,
    }
}

/// `dim_sum = Sign? dim_part (Sign Sign? dim_part | Int)*`: which signs bind first is for those to decide who read the text.
pub(in crate::parse) fn dim_sum(inp: &mut Inp<'_, '_>) -> Out<()> {
    loop {
        if peek(inp, 0) == Some(Kind::Sign) {
            inp.skip();
        }
        dim_part(inp)?;
        // `N-1` has no sign of its own.
        while peek(inp, 0) == Some(Kind::Int) && is_difference(inp, 0) {
            inp.skip();
        }
        if peek(inp, 0) != Some(Kind::Sign) {
            return Ok(());
        }
        inp.skip();
    }
}

/// `dim_part = Ident | Int | "(" dim_sum ")" | Ident "(" dim_sum ("," dim_sum)* ")"`
pub(in crate::parse) fn dim_part(inp: &mut Inp<'_, '_>) -> Out<()> {
    match peek(inp, 0) {
        Some(Kind::Int) => {
            inp.skip();
            return Ok(());
        }
        Some(Kind::Ident) => {
            inp.skip();
            if peek(inp, 0) != Some(Kind::LParen) {
                return Ok(());
            }
        }
        Some(Kind::LParen) => {}
        _ => return Err(Failure::expected(position(inp), Want::Dim)),
    }
    let open_at = position(inp);
    inp.skip();
    dim_sum(inp)?;
    while peek(inp, 0) == Some(Kind::Comma) {
        inp.skip();
        dim_sum(inp)?;
    }
    inp.parse(token(Kind::RParen)).map_err(|failure| failure.inside(open_at))?;
    Ok(())
}

/// Whether an integer is the `-1` of `N-1`.
fn is_difference(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    let (at, source) = (position(inp) + ahead, inp.state().source);
    let tokens = inp.full_slice();
    let before = at.checked_sub(1).and_then(|i| tokens.get(i));
    let is_signed = |t: &Token| source[t.span.range()].starts_with('-');
    before
        .is_some_and(|before| tokens.get(at).is_some_and(|t| is_signed(t) && t.span.start == before.span.end))
}
