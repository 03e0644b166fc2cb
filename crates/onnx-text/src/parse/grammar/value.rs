//! Values in files of their own: `grammar/values.md`.

use super::*;
use crate::lex::MAX_NESTING;

/// `value = notes value_kind`
pub(in crate::parse) fn value(inp: &mut Inp<'_, '_>) -> Out<Value> {
    let notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    if inp.state().depth > MAX_NESTING {
        return Err(Failure::problem(position(inp), Problem::TooDeep, Expected::default()));
    }
    inp.state().depth += 1;
    let kind = value_kind(inp);
    inp.state().depth -= 1;
    Ok(Value { notes, kind: kind?, span: start.to(last_span(inp)) })
}

/// `value_kind = typed | sequence | map | optional_value`
pub(super) fn value_kind(inp: &mut Inp<'_, '_>) -> Out<ValueKind> {
    let word = match inp.peek() {
        Some(Token { kind: Kind::Ident, span, .. }) => &inp.state().source[span.range()],
        _ => return Err(Failure::expected(position(inp), Want::Type)),
    };
    match (word, peek(inp, 1)) {
        ("seq", Some(Kind::LParen)) => sequence(inp),
        ("map", Some(Kind::LParen)) => map(inp),
        ("optional", Some(Kind::LParen)) => optional_value(inp),
        _ => {
            let at = position(inp);
            match typed(inp)? {
                AttrValue::Tensor(tensor) => Ok(ValueKind::Tensor(tensor)),
                AttrValue::Sparse(sparse) => Ok(ValueKind::Sparse(sparse)),
                // Without elements.
                AttrValue::Type(_) => {
                    let mut want = Expected::from(Want::Equals).and(Want::Data);
                    match peek(inp, 0) {
                        Some(Kind::Ident | Kind::String | Kind::Bytes) => inp.skip(),
                        _ => want = want.and(Want::Name),
                    }
                    Err(Failure::expected(position(inp), want))
                }
                _ => Err(Failure::expected(at, Want::Type)),
            }
        }
    }
}

/// `sequence = value_head "="? "[" (value ("," value)*)? "]"`
pub(super) fn sequence(inp: &mut Inp<'_, '_>) -> Out<ValueKind> {
    let head = value_head(inp)?;
    equals(inp);
    if peek(inp, 0) == Some(Kind::Ints) {
        // Numbers alone are not tensors.
        return Err(Failure::expected(position(inp), Want::LBracket));
    }
    let items = inp.parse(list(Kind::LBracket, production(value)))?;
    Ok(ValueKind::Sequence(Box::new(head), items))
}

/// `map = value_head "="? "{" (map_part ("," map_part)*)? "}"`
pub(super) fn map(inp: &mut Inp<'_, '_>) -> Out<ValueKind> {
    let head = value_head(inp)?;
    equals(inp);
    let parts = inp.parse(list(Kind::LBrace, production(map_part)))?;
    Ok(ValueKind::Map(Box::new(head), parts))
}

/// `map_part = Ident "=" (elements | value)`
pub(super) fn map_part(inp: &mut Inp<'_, '_>) -> Out<MapPart> {
    let key = inp.parse(token_as(Kind::Ident, Want::Key).then_ignore(token(Kind::Equals)))?;
    let value = match peek(inp, 0) {
        Some(Kind::LBracket | Kind::Ints) => MapPartValue::Keys(elements(inp)?),
        _ => MapPartValue::Values(Box::new(value(inp)?)),
    };
    Ok(MapPart { key, value })
}

/// `optional_value = value_head "=" ("none" | value | "[" (value ("," value)*)? "]")`
pub(super) fn optional_value(inp: &mut Inp<'_, '_>) -> Out<ValueKind> {
    let head = value_head(inp)?;
    inp.parse(token(Kind::Equals))?;
    let content = match inp.peek() {
        Some(Token { kind: Kind::LBracket, .. }) => {
            Content::Many(inp.parse(list(Kind::LBracket, production(value)))?)
        }
        Some(Token { kind: Kind::Ident, span, .. })
            if &inp.state().source[span.range()] == "none"
                && matches!(peek(inp, 1), None | Some(Kind::Comma | Kind::RBracket | Kind::RBrace)) =>
        {
            inp.skip();
            Content::None(span)
        }
        _ => Content::One(Box::new(value(inp)?)),
    };
    Ok(ValueKind::Optional(Box::new(head), content))
}

/// `value_head = Ident "(" (Int | type_)? ")" name?`
pub(super) fn value_head(inp: &mut Inp<'_, '_>) -> Out<ValueHead> {
    let word = inp.parse(token(Kind::Ident))?;
    let open = inp.parse(token(Kind::LParen))?;
    let arg = match peek(inp, 0) {
        Some(Kind::RParen) => None,
        Some(Kind::Int) => Some(inp.parse(token(Kind::Int))?),
        _ => Some(type_(inp)?.span()),
    };
    let close = inp.parse(token(Kind::RParen))?;
    let name = match peek(inp, 0) {
        Some(Kind::Ident | Kind::String | Kind::Bytes) => Some(inp.parse(name())?),
        _ => None,
    };
    Ok(ValueHead { word, arg, args: open.to(close), name })
}

fn equals(inp: &mut Inp<'_, '_>) {
    if peek(inp, 0) == Some(Kind::Equals) {
        inp.skip();
    }
}
