//! Types and dimensions.

use super::*;

/// `type_ = Ident dims? | Ident "(" (type_arg? ("," type_arg?)*)? ")" dims? | "?"`
pub(in crate::parse) fn type_(inp: &mut Inp<'_, '_>) -> Out<Type> {
    if peek(inp, 0) == Some(Kind::Question) {
        inp.skip();
        return Ok(Type::Unset(last_span(inp)));
    }
    let head = inp.parse(token_as(Kind::Ident, Want::Type))?;
    match peek(inp, 0) {
        Some(Kind::LParen) => {
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

/// `dim = "?" | Int | name`
pub(in crate::parse) fn dim(inp: &mut Inp<'_, '_>) -> Out<Dim> {
    let dim = match inp.peek() {
        Some(Token { kind: Kind::Question, span, .. }) => Dim::Unknown(span),
        Some(Token { kind: Kind::Int, span, .. }) => Dim::Int(span),
        // `batch.size`, `N-1`
        Some(Token { kind: Kind::Ident, span, .. }) => return Ok(Dim::Param(bare(inp, span, false))),
        Some(Token { kind: Kind::String | Kind::Bytes, span, .. }) => Dim::Param(span),
        _ => return Err(Failure::expected(position(inp), Want::Dim)),
    };
    inp.skip();
    Ok(dim)
}
