//! Attributes.

use super::*;

/// `attributes = "<" (attr ("," attr)*)? ">"`
pub(in crate::parse) fn attributes(inp: &mut Inp<'_, '_>) -> Out<List<Attr>> {
    inp.parse(list(Kind::LAngle, production(attr)))
}

/// `attr = notes name (":" Ident)? ("=" attr_value)?`
pub(in crate::parse) fn attr(inp: &mut Inp<'_, '_>) -> Out<Attr> {
    let notes = notes(inp)?;
    let name = inp.parse(name())?;
    let mut ty = None;
    let colon = position(inp);
    let is_equals = |kind| {
        matches!(
            kind,
            Kind::Int | Kind::Float | Kind::Special | Kind::String | Kind::LBracket | Kind::Ints | Kind::At
        )
    };
    match (peek(inp, 0), peek(inp, 1)) {
        // `alpha: 1.0`
        (Some(Kind::Colon), Some(kind)) if is_equals(kind) => {
            emit(inp, Failure::problem(colon, Problem::ColonForEquals, Want::Equals));
            inp.skip();
            let value = Some(attr_value(inp)?);
            return Ok(Attr { notes, name, ty, value, span: name.to(last_span(inp)) });
        }
        (Some(Kind::Colon), _) => {
            ty = Some(inp.parse(token(Kind::Colon).ignore_then(token_as(Kind::Ident, Want::Type)))?);
        }
        _ => {}
    }
    let mut value = None;
    match peek(inp, 0) {
        Some(Kind::Equals) => {
            inp.skip();
            value = Some(attr_value(inp)?);
        }
        // `<alpha => (x)`
        Some(Kind::Arrow) => {
            return Err(Failure::problem(position(inp), Problem::MissingValue, Want::AttrValue));
        }
        // `alpha 1.0`
        Some(Kind::Int | Kind::Float | Kind::String | Kind::LBracket | Kind::Ints | Kind::At) => {
            return Err(Failure::expected(position(inp), Want::Equals));
        }
        _ => {}
    }
    let span = name.to(last_span(inp));
    Ok(Attr { notes, name, ty, value, span })
}

/// `attr_value = scalar | "@" name | graph | typed | "[" … "]" | Ints | "{" … "}" | Ident parts`
pub(in crate::parse) fn attr_value(inp: &mut Inp<'_, '_>) -> Out<AttrValue> {
    match peek(inp, 0) {
        None | Some(Kind::Comma | Kind::RAngle | Kind::RBrace | Kind::RBracket) => {
            Err(Failure::problem(position(inp), Problem::MissingValue, Want::AttrValue))
        }
        // `{1, 2}`, as elements of a tensor are written.
        Some(Kind::Numbers) if !inp.state().source[span_of_next(inp).range()].starts_with("{{") => {
            let at = position(inp);
            let span = span_of_next(inp);
            inp.skip();
            let items = numbers(inp.state().source, span);
            // A tensor of one element may just lack its type.
            emit(inp, Failure::between(at, at, Problem::Brackets("[", "]")).certain(items.len() > 1));
            Ok(AttrValue::List(Box::new(List { items, span })))
        }
        Some(Kind::Ints) => inp.parse(token(Kind::Ints).map(AttrValue::Ints)),
        Some(Kind::LBracket) => {
            Ok(AttrValue::List(Box::new(inp.parse(list(Kind::LBracket, production(attr_element)))?)))
        }
        Some(Kind::LBrace) => {
            if let Some(graph) = graph_without_signature(inp)? {
                return Ok(AttrValue::Graph(Box::new(graph)));
            }
            Ok(AttrValue::Braced(Box::new(inp.parse(list(Kind::LBrace, production(attr_element)))?)))
        }
        Some(Kind::At) => inp.parse(token(Kind::At).ignore_then(name()).map(AttrValue::Reference)),
        // Only a graph has annotations of its own.
        Some(Kind::Doc | Kind::Note) => Ok(AttrValue::Graph(Box::new(graph(inp)?))),
        Some(Kind::Ident | Kind::String | Kind::Bytes) if begins_graph(inp, 0) => {
            Ok(AttrValue::Graph(Box::new(graph(inp)?)))
        }
        // `then_branch = graph g () => …`
        Some(Kind::Ident) if begins_keyword(inp, 0) && begins_graph(inp, 1) => {
            Ok(AttrValue::Graph(Box::new(graph(inp)?)))
        }
        Some(Kind::Ident) if peek(inp, 1) == Some(Kind::LBrace) && begins_parts(inp, 2) => {
            word(inp, "attribute", Want::AttrValue)?;
            Ok(AttrValue::Record(Box::new(parts(inp)?)))
        }
        Some(Kind::Ident | Kind::Question) => typed(inp),
        Some(Kind::Int | Kind::Float | Kind::Special | Kind::String | Kind::Bytes) => {
            Ok(AttrValue::Scalar(scalar(inp)?))
        }
        Some(Kind::LParen) if is_literals(inp) => {
            let at = position(inp);
            let items = inp.parse(list(Kind::LParen, production(attr_element)))?;
            let last = position(inp) - 1;
            emit(inp, Failure::between(at, last, Problem::Brackets("[", "]")).certain(items.items.len() > 1));
            Ok(AttrValue::List(Box::new(items)))
        }
        // `<alpha = (x)`
        Some(Kind::LParen) => Err(Failure::problem(position(inp), Problem::MissingValue, Want::AttrValue)),
        _ => Err(Failure::expected(position(inp), Want::AttrValue)),
    }
}

pub(in crate::parse::grammar) fn span_of_next(inp: &mut Inp<'_, '_>) -> Span {
    inp.peek().map_or(Span::at(0), |t: Token| t.span)
}

/// The elements of `{1, 2.5}`, which the lexer has found to be numbers.
fn numbers(source: &str, list: Span) -> Vec<AttrElement> {
    let element = |span: Span| {
        let text = &source[span.range()];
        let is_float = text.contains(['.', 'e', 'E']);
        let kind = if is_float { ScalarKind::Float } else { ScalarKind::Int };
        AttrElement { notes: Notes::default(), value: AttrValue::Scalar(Scalar { kind, span }) }
    };
    ints(source, list).filter(|span| !span.is_empty()).map(element).collect()
}

/// One word and no other.
pub(in crate::parse) fn word(inp: &mut Inp<'_, '_>, text: &str, want: Want) -> Out<Span> {
    let at = position(inp);
    let span = inp.parse(token(Kind::Ident))?;
    if &inp.state().source[span.range()] == text { Ok(span) } else { Err(Failure::expected(at, want)) }
}

/// `attr_element = notes attr_value`
pub(in crate::parse) fn attr_element(inp: &mut Inp<'_, '_>) -> Out<AttrElement> {
    let mut notes = notes(inp)?;
    let mut value = attr_value(inp)?;
    // Annotations before a graph belong to the graph.
    if let AttrValue::Graph(graph) = &mut value {
        graph.notes = std::mem::take(&mut notes);
    }
    Ok(AttrElement { notes, value })
}

/// `typed = type_ | type_ name? "="? data | type_ parts`
pub(in crate::parse) fn typed(inp: &mut Inp<'_, '_>) -> Out<AttrValue> {
    let head = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let ty = type_(inp)?;
    let start = ty.span();
    let is_sparse = &inp.state().source[head.range()] == "sparse";
    if is_sparse && peek(inp, 0) == Some(Kind::LBrace) && begins_parts(inp, 1) {
        let parts = parts(inp)?;
        let span = start.to(parts.span);
        let dims = match ty {
            Type::Tensor { dims, .. } => dims.unwrap_or_default(),
            Type::Call { .. } | Type::Unset(_) => List::default(),
        };
        return Ok(AttrValue::Sparse(Box::new(SparseLiteral { dims, parts, span })));
    }
    let mut name = None;
    if matches!(peek(inp, 0), Some(Kind::Ident | Kind::String | Kind::Bytes))
        && matches!(peek(inp, 1), Some(Kind::Equals | Kind::LBrace | Kind::LBracket | Kind::Numbers))
    {
        inp.skip();
        name = Some(last_span(inp));
    }
    let has_equals = peek(inp, 0) == Some(Kind::Equals);
    if has_equals {
        inp.skip();
    }
    let has_data = matches!(peek(inp, 0), Some(Kind::LBrace | Kind::LBracket | Kind::Numbers));
    if !has_equals && !has_data && name.is_none() {
        return Ok(AttrValue::Type(Box::new(ty)));
    }
    let data = data(inp, Some(&ty))?;
    let span = start.to(data.span());
    Ok(AttrValue::Tensor(Box::new(TensorLiteral { ty, name, data, span })))
}

/// `parts = "{" (attr ("," attr)*)? "}"`
pub(in crate::parse) fn parts(inp: &mut Inp<'_, '_>) -> Out<List<Attr>> {
    inp.parse(list(Kind::LBrace, production(attr)))
}

/// Whether parts of a record begin `ahead` tokens from here: `name =` or `name: type =`.
pub(in crate::parse) fn begins_parts(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    match peek(inp, ahead) {
        // Only parts have annotations.
        Some(Kind::Note | Kind::Doc) => true,
        Some(Kind::Ident) => matches!(peek(inp, ahead + 1), Some(Kind::Equals | Kind::Colon)),
        _ => false,
    }
}

/// Whether a graph starts `ahead` tokens from here: `g =>` or `g (…) =>`. Searches only up to the end of the parentheses.
pub(in crate::parse) fn begins_graph(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    let at = position(inp) + ahead;
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    match kind(at + 1) {
        Some(Kind::Arrow) => true,
        Some(Kind::LParen) => {
            let mut depth = 0usize;
            for (i, token) in tokens.iter().enumerate().skip(at + 1) {
                match token.kind {
                    Kind::LParen | Kind::LBracket | Kind::LBrace | Kind::LAngle => depth += 1,
                    Kind::RParen if depth == 1 => {
                        return match kind(i + 1) {
                            Some(Kind::Arrow | Kind::LParen) => true,
                            Some(Kind::Equals) => kind(i + 2) == Some(Kind::RAngle),
                            _ => false,
                        };
                    }
                    Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::RAngle if depth == 1 => {
                        return false;
                    }
                    Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::RAngle => depth -= 1,
                    _ => {}
                }
            }
            false
        }
        _ => false,
    }
}
