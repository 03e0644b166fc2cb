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
        (Some(Kind::LBrace), _) => Ok(Data::Elements(inp.parse(list(Kind::LBrace, production(scalar)))?)),
        (Some(Kind::LBracket), _) => Ok(Data::External(elements(inp)?)),
        _ => Err(Failure::expected(position(inp), Want::Data)),
    }
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
