//! The elements of tensors.

use super::*;

/// `data = Numbers | "{" (scalar ("," scalar)*)? "}" | elements | record | parts`
pub(in crate::parse) fn data(inp: &mut Inp<'_, '_>) -> Out<Data> {
    if peek(inp, 0) == Some(Kind::LBrace) && matches!(peek(inp, 1), Some(Kind::Note | Kind::Doc)) {
        return Ok(Data::Sparse(parts(inp)?));
    }
    match (peek(inp, 0), peek(inp, 2)) {
        (Some(Kind::Numbers), _) => {
            inp.skip();
            Ok(Data::Numbers(last_span(inp)))
        }
        (Some(Kind::LBrace), Some(Kind::Colon)) => Ok(Data::Record(record(inp)?)),
        (Some(Kind::LBrace), Some(Kind::Equals)) => Ok(Data::Sparse(parts(inp)?)),
        // `{{1, …}}`, as prints of binary models have it: what is right in double braces is one token.
        (Some(Kind::LBrace), _) if peek(inp, 1) == Some(Kind::LBrace) => {
            inp.skip();
            let at = position(inp);
            emit(inp, Failure::expected(at, Want::Literal));
            let elements = inp.parse(list(Kind::LBrace, production(scalar)))?;
            if peek(inp, 0) == Some(Kind::RBrace) {
                inp.skip();
            }
            Ok(Data::Elements(elements))
        }
        (Some(Kind::LBrace), _) => Ok(Data::Elements(inp.parse(list(Kind::LBrace, production(scalar)))?)),
        // `[1, 2]`, as lists are written.
        (Some(Kind::Ints), _) => {
            let at = position(inp);
            emit(inp, Failure::between(at, at, Problem::Brackets("{", "}")));
            inp.skip();
            Ok(Data::Numbers(last_span(inp)))
        }
        (Some(Kind::LBracket), _) if !has_pairs(inp) => {
            let at = position(inp);
            let elements = inp.parse(list(Kind::LBracket, production(scalar)))?;
            let last = position(inp) - 1;
            emit(inp, Failure::between(at, last, Problem::Brackets("{", "}")));
            Ok(Data::Elements(elements))
        }
        (Some(Kind::LBracket), _) => Ok(Data::External(elements(inp)?)),
        _ => Err(Failure::expected(position(inp), Want::Data)),
    }
}

/// Whether the list that begins here has something but literals: external data are pairs, `[]` has none.
fn has_pairs(inp: &mut Inp<'_, '_>) -> bool {
    let at = position(inp) + 1;
    let rest = &inp.full_slice()[at..];
    let is_literal = |t: &&Token| {
        matches!(t.kind, Kind::Int | Kind::Float | Kind::Special | Kind::Ident | Kind::String | Kind::Bytes)
    };
    let is_part = |t: &&Token| t.kind == Kind::Comma || is_literal(t);
    let length = rest.iter().take_while(is_part).count();
    length == 0 || rest.get(length).is_none_or(|t| t.kind != Kind::RBracket) || !is_literal(&&rest[0])
}

/// `scalar = Int | Float | Special | Ident | String | Bytes`
pub(in crate::parse) fn scalar(inp: &mut Inp<'_, '_>) -> Out<Scalar> {
    let Some(Token { kind, span, .. }) = inp.peek() else {
        return Err(Failure::expected(position(inp), Want::Literal));
    };
    let kind = match kind {
        Kind::Int => ScalarKind::Int,
        Kind::Float => ScalarKind::Float,
        Kind::Special | Kind::Ident => ScalarKind::Special,
        Kind::String | Kind::Bytes => ScalarKind::String,
        _ => return Err(Failure::expected(position(inp), Want::Literal)),
    };
    inp.skip();
    Ok(Scalar { kind, span })
}
