//! The elements of tensors.

use super::*;

/// `data = Numbers | "{" (scalar ("," scalar)*)? "}" | elements | record | parts`
pub(in crate::parse) fn data(inp: &mut Inp<'_, '_>, ty: Option<&Type>) -> Out<Data> {
    if peek(inp, 0) == Some(Kind::LBrace) && matches!(peek(inp, 1), Some(Kind::Note | Kind::Doc)) {
        return Ok(Data::Sparse(parts(inp)?));
    }
    if let Some(nest) = nest(inp) {
        return Ok(nested(inp, nest, ty));
    }
    match (peek(inp, 0), peek(inp, 2)) {
        (Some(Kind::Numbers), _) => {
            inp.skip();
            Ok(Data::Numbers(last_span(inp)))
        }
        (Some(Kind::LBrace), Some(Kind::Colon)) => Ok(Data::Record(record(inp)?)),
        (Some(Kind::LBrace), Some(Kind::Equals)) => Ok(Data::Sparse(parts(inp)?)),
        // `{{1, …}}`, as in prints of binary models: valid double braces are one token.
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
        // `["a", "b"]` has elements of strings only: pairs that lack their colons otherwise.
        (Some(Kind::LBracket), _) if !has_pairs(inp) && (is_of_strings(inp, ty) || !begins_string(inp)) => {
            let at = position(inp);
            let elements = inp.parse(list(Kind::LBracket, production(scalar)))?;
            let last = position(inp) - 1;
            emit(inp, Failure::between(at, last, Problem::Brackets("{", "}")));
            Ok(Data::Elements(elements))
        }
        (Some(Kind::LBracket), _) => Ok(Data::External(pairs(inp)?)),
        // `(1, 2)`
        (Some(Kind::LParen), _) if is_literals(inp) => {
            let at = position(inp);
            let elements = inp.parse(list(Kind::LParen, production(scalar)))?;
            let last = position(inp) - 1;
            emit(inp, Failure::between(at, last, Problem::Brackets("{", "}")));
            Ok(Data::Elements(elements))
        }
        // `float w = 5.0`, `float[2] w = 1, 2`
        (Some(Kind::Int | Kind::Float | Kind::Special | Kind::String), _) => {
            let at = position(inp);
            let mut items = vec![scalar(inp)?];
            let is_number = |kind| matches!(kind, Some(Kind::Int | Kind::Float | Kind::Special));
            while peek(inp, 0) == Some(Kind::Comma) && is_number(peek(inp, 1)) {
                inp.skip();
                items.push(scalar(inp)?);
            }
            let span = items[0].span.to(last_span(inp));
            let last = position(inp) - 1;
            let is_string = items[0].kind == ScalarKind::String;
            if is_string && !is_of_strings(inp, ty) {
                emit(
                    inp,
                    Failure::between(at, last, Problem::NoBrackets("[\"location\": ", "]")).certain(false),
                );
                // An entry without a key is ignored.
                return Ok(Data::External(List { items: Vec::new(), span }));
            }
            emit(inp, Failure::between(at, last, Problem::NoBrackets("{", "}")));
            Ok(Data::Elements(List { items, span }))
        }
        _ => Err(Failure::expected(position(inp), Want::Data)),
    }
}

/// Whether a tensor of this type has strings for elements; the lists of one without a type may be anything.
fn is_of_strings(inp: &mut Inp<'_, '_>, ty: Option<&Type>) -> bool {
    match ty {
        Some(Type::Tensor { elem, .. }) => &inp.state().source[elem.range()] == "string",
        Some(Type::Call { .. } | Type::Unset(_)) => false,
        None => true,
    }
}

/// Whether the list that begins here begins with a string.
fn begins_string(inp: &mut Inp<'_, '_>) -> bool {
    matches!(peek(inp, 1), Some(Kind::String | Kind::Bytes))
}

/// Whether there are nothing but literals between the bracket that begins here and its other one.
pub(in crate::parse::grammar) fn is_literals(inp: &mut Inp<'_, '_>) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let close = closing(tokens[at].kind);
    let is_literal =
        |kind| matches!(kind, Kind::Int | Kind::Float | Kind::Special | Kind::String | Kind::Bytes);
    let rest = &tokens[at + 1..];
    let length = rest.iter().take(LOOK).take_while(|t| t.kind == Kind::Comma || is_literal(t.kind)).count();
    length > 0 && rest.get(length).is_some_and(|t| t.kind == close)
}

/// Elements in lists of lists: the tokens from one bracket to the other.
struct Nest {
    end: usize,
    /// The lengths of the lists, from the outermost to the innermost; `None` if they differ.
    shape: Option<Vec<usize>>,
}

/// `[[1, 2], [3, 4]]` in brackets of any kind, if that is what begins here.
fn nest(inp: &mut Inp<'_, '_>) -> Option<Nest> {
    let at = position(inp);
    let source = inp.state().source;
    let tokens = inp.full_slice();
    let opens = |kind| matches!(kind, Kind::LBracket | Kind::LBrace | Kind::LParen);
    let is_list = |kind| opens(kind) || matches!(kind, Kind::Ints | Kind::Numbers);
    if !opens(tokens.get(at)?.kind) || !is_list(tokens.get(at + 1)?.kind) {
        return None;
    }
    // For each open list, the number of its items; the shape of the closed lists.
    let mut open: Vec<(Kind, usize)> = Vec::new();
    let mut inner: Vec<Option<Vec<usize>>> = Vec::new();
    let mut agree = true;
    let mut end = at;
    loop {
        let token = tokens.get(end)?;
        let mut closed: Option<Vec<usize>> = None;
        match token.kind {
            kind if opens(kind) => {
                open.push((closing(kind), 0));
                inner.push(None);
            }
            Kind::Comma => {}
            Kind::Int | Kind::Float | Kind::Special => {
                agree &= inner.last().is_some_and(Option::is_none);
                open.last_mut()?.1 += 1;
            }
            Kind::Ints | Kind::Numbers => closed = Some(vec![ints(source, token.span).count()]),
            kind => {
                let (close, count) = open.pop()?;
                let shape = inner.pop()?;
                if close != kind {
                    return None;
                }
                closed = Some([vec![count], shape.unwrap_or_default()].concat());
            }
        }
        if let Some(shape) = closed {
            let Some(outer) = open.last_mut() else {
                return Some(Nest { end: end + 1, shape: Some(shape).filter(|_| agree) });
            };
            outer.1 += 1;
            let known = inner.last_mut()?;
            agree &= known.as_ref().is_none_or(|known| *known == shape) && (known.is_some() || outer.1 == 1);
            *known = Some(shape);
        }
        end += 1;
    }
}

/// Reads elements in lists of lists, which are reported.
fn nested(inp: &mut Inp<'_, '_>, nest: Nest, ty: Option<&Type>) -> Data {
    let at = position(inp);
    let source = inp.state().source;
    let mut items = Vec::new();
    for token in &inp.full_slice()[at..nest.end] {
        let kind = |span: Span| match source[span.range()].contains(['.', 'e', 'E']) {
            true => ScalarKind::Float,
            false => ScalarKind::Int,
        };
        let of = |kind| Scalar { kind, span: token.span };
        match token.kind {
            Kind::Int => items.push(of(ScalarKind::Int)),
            Kind::Float => items.push(of(ScalarKind::Float)),
            Kind::Special => items.push(of(ScalarKind::Special)),
            Kind::Ints | Kind::Numbers => {
                let spans = ints(source, token.span).filter(|span| !span.is_empty());
                items.extend(spans.map(|span| Scalar { kind: kind(span), span }));
            }
            _ => {}
        }
    }
    while position(inp) < nest.end {
        inp.skip();
    }
    let dims = match ty {
        Some(Type::Tensor { dims: Some(dims), .. }) => {
            let number = |dim: &Dim| match dim {
                Dim::Int(span) => source[span.range()].parse().ok(),
                Dim::Param(_) | Dim::Expr(_) | Dim::Unknown(_) => None,
            };
            dims.items.iter().map(number).collect::<Option<Vec<usize>>>()
        }
        Some(Type::Tensor { dims: None, .. } | Type::Call { .. } | Type::Unset(_)) | None => None,
    };
    // If the lists have the lengths of the axes, their order is certain.
    let is_certain = dims.is_some() && dims == nest.shape;
    emit(inp, Failure::between(at, nest.end - 1, Problem::NestedElements).certain(is_certain));
    let span = inp.full_slice()[at].span.to(last_span(inp));
    Data::Elements(List { items, span })
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
