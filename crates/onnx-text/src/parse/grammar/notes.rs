//! Annotations, and the values in them, in headers and in records.

use super::*;

/// `notes = (Doc | note_line)*`
pub(in crate::parse) fn notes(inp: &mut Inp<'_, '_>) -> Out<Notes> {
    let mut notes: Option<Box<NoteLines>> = None;
    loop {
        match peek(inp, 0) {
            Some(Kind::Doc) => {
                inp.skip();
                notes.get_or_insert_default().docs.push(last_span(inp));
            }
            Some(Kind::Note) => {
                let line = note_line(inp);
                notes.get_or_insert_default().lines.push(line);
            }
            _ => return Ok(Notes(notes)),
        }
    }
}

/// Annotations on the line of an item belong to it.
pub(in crate::parse::grammar) fn notes_on_line(inp: &mut Inp<'_, '_>, notes: &mut Notes) {
    if matches!(inp.peek(), Some(Token { kind: Kind::Note, starts_line: false, .. })) {
        let line = note_line(inp);
        notes.0.get_or_insert_default().lines.push(line);
    }
}

/// One `#@` line. Errors in it are limited to the line.
pub(in crate::parse) fn note_line(inp: &mut Inp<'_, '_>) -> NoteLine {
    inp.skip();
    let start = last_span(inp);
    let mut fields = Vec::new();
    loop {
        if peek(inp, 0) == Some(Kind::NoteEnd) {
            break;
        }
        let before = inp.save();
        match field(inp) {
            Ok(f) => fields.push(f),
            Err(failure) => {
                inp.rewind(before);
                emit(inp, failure);
                break;
            }
        }
        match peek(inp, 0) {
            Some(Kind::Comma) => inp.skip(),
            Some(Kind::NoteEnd) | None => break,
            _ => {
                let at = position(inp);
                emit(inp, Failure::expected(at, Expected::from(Want::Comma).and(Want::NoteEnd)));
                break;
            }
        }
    }
    while !matches!(peek(inp, 0), None | Some(Kind::NoteEnd)) {
        inp.skip();
    }
    let end = last_span(inp);
    inp.skip();
    NoteLine { span: start.to(end), fields }
}

/// `field = name ":" field_value`
pub(in crate::parse) fn field(inp: &mut Inp<'_, '_>) -> Out<Field> {
    let key = inp.parse(name_as(Want::Key))?;
    let at = position(inp);
    if peek(inp, 0) == Some(Kind::Equals) {
        emit(inp, Failure::problem(at, Problem::EqualsForColon, Want::Colon));
        inp.skip();
    } else {
        inp.parse(token(Kind::Colon))?;
    }
    let is_pairs = PAIRS.contains(&&inp.state().source[key.range()]);
    let value = match (peek(inp, 0), peek(inp, 1)) {
        (Some(Kind::LBracket), _) if is_pairs => FieldValue::List(pairs(inp)?),
        // `opset_import: "": 21`, `opset_import: ai.onnx: 21`
        (Some(Kind::String), Some(Kind::Colon)) | (Some(Kind::Ident), Some(Kind::Colon | Kind::Dot))
            if is_pairs =>
        {
            bare_pairs(inp)?
        }
        // `opset_import: (…)`
        (Some(Kind::LParen), _) if is_pairs => {
            let at = position(inp);
            let pairs = inp.parse(list(Kind::LParen, production(pair)))?;
            let last = position(inp) - 1;
            emit(inp, Failure::between(at, last, Problem::Brackets("[", "]")));
            FieldValue::List(pairs)
        }
        // `opset_import: {21}`: a finding tells that a pair is expected.
        (Some(Kind::Numbers), _) if is_pairs => {
            inp.skip();
            let span = last_span(inp);
            let items = ints(inp.state().source, span).filter(|at| !at.is_empty());
            let items = items.map(|at| Element { key: None, value: FieldValue::Int(at) }).collect();
            FieldValue::List(List { items, span })
        }
        _ => field_value(inp)?,
    };
    Ok(Field { key, value })
}

/// Keys whose values are pairs.
const PAIRS: [&str; 3] = ["opset_import", "metadata_props", "external_data"];

/// `"": 21, "com.acme": 1` without brackets, which are reported.
fn bare_pairs(inp: &mut Inp<'_, '_>) -> Out<FieldValue> {
    let at = position(inp);
    let mut items = vec![pair(inp)?];
    while (peek(inp, 0), peek(inp, 1), peek(inp, 2))
        == (Some(Kind::Comma), Some(Kind::String), Some(Kind::Colon))
    {
        inp.skip();
        items.push(pair(inp)?);
    }
    let last = position(inp) - 1;
    emit(inp, Failure::between(at, last, Problem::NoBrackets("[", "]")));
    let start = items[0].key.as_ref().map_or(Span::at(0), FieldValue::span);
    Ok(FieldValue::List(List { items, span: start.to(last_span(inp)) }))
}

/// `"[" (pair ("," pair)*)? "]"`
pub(in crate::parse::grammar) fn pairs(inp: &mut Inp<'_, '_>) -> Out<List<Element>> {
    if peek(inp, 0) == Some(Kind::Ints) {
        return elements(inp);
    }
    inp.parse(list(Kind::LBracket, production(pair)))
}

/// An element of a list of pairs, in which two strings side by side lack a colon.
fn pair(inp: &mut Inp<'_, '_>) -> Out<Element> {
    // `: 21`
    if peek(inp, 0) == Some(Kind::Colon) {
        return Err(Failure::problem(position(inp), Problem::MissingValue, Want::String));
    }
    let ahead: [_; 3] = std::array::from_fn(|i| peek(inp, i));
    let is_string = |kind| matches!(kind, Some(Kind::String | Kind::Bytes));
    let ends = matches!(ahead[2], Some(Kind::Comma | Kind::RBracket));
    if is_string(ahead[0]) && is_string(ahead[1]) && ends {
        let key = simple_value(inp)?;
        let at = position(inp);
        emit(inp, Failure::problem(at, Problem::MissingColon, Want::Colon));
        return Ok(Element { key: Some(key), value: simple_value(inp)? });
    }
    element(inp)
}

/// `field_value = simple_value | elements | record | graph`
pub(in crate::parse) fn field_value(inp: &mut Inp<'_, '_>) -> Out<FieldValue> {
    match peek(inp, 0) {
        Some(Kind::LBracket | Kind::Ints) => Ok(FieldValue::List(elements(inp)?)),
        Some(Kind::LBrace) => Ok(FieldValue::Record(record(inp)?)),
        Some(Kind::Doc | Kind::Note) => Ok(FieldValue::Graph(Box::new(graph(inp)?))),
        Some(Kind::Ident | Kind::String | Kind::Bytes) if begins_graph(inp, 0) => {
            Ok(FieldValue::Graph(Box::new(graph(inp)?)))
        }
        _ => simple_value(inp),
    }
}

/// `record = "{" (field ("," field)*)? "}"`
pub(in crate::parse) fn record(inp: &mut Inp<'_, '_>) -> Out<List<Field>> {
    inp.parse(list(Kind::LBrace, production(field)))
}

/// `elements = "[" (element ("," element)*)? "]" | Ints`
pub(in crate::parse) fn elements(inp: &mut Inp<'_, '_>) -> Out<List<Element>> {
    if let Some(Token { kind: Kind::Ints, span, .. }) = inp.peek() {
        inp.skip();
        let element = |at| Element { key: None, value: FieldValue::Int(at) };
        let ints = ints(inp.state().source, span);
        return Ok(List { items: ints.map(element).collect(), span });
    }
    inp.parse(list(Kind::LBracket, production(element)))
}

/// `element = field_value (":" field_value)?`
pub(in crate::parse) fn element(inp: &mut Inp<'_, '_>) -> Out<Element> {
    let value = field_value(inp)?;
    match (peek(inp, 0), &value) {
        (Some(Kind::Colon), _) => inp.skip(),
        (Some(Kind::Equals), FieldValue::String(_) | FieldValue::Word(_)) => {
            let at = position(inp);
            emit(inp, Failure::problem(at, Problem::EqualsForColon, Want::Colon));
            inp.skip();
        }
        (Some(Kind::Int), FieldValue::String(_)) => {
            let at = position(inp);
            emit(inp, Failure::problem(at, Problem::MissingColon, Want::Colon));
        }
        _ => return Ok(Element { key: None, value }),
    }
    Ok(Element { key: Some(value), value: field_value(inp)? })
}

/// `simple_value = Int | Float | Special | String | Bytes | Ident | "$" Int`
pub(in crate::parse) fn simple_value(inp: &mut Inp<'_, '_>) -> Out<FieldValue> {
    let Some(Token { kind, span, .. }) = inp.peek() else {
        return Err(Failure::expected(position(inp), Want::Value));
    };
    // `ai.onnx: 21`
    if kind == Kind::Ident && peek(inp, 1) == Some(Kind::Dot) {
        return Ok(FieldValue::Word(inp.parse(name())?));
    }
    let value = match kind {
        Kind::Int => FieldValue::Int(span),
        Kind::Float | Kind::Special => FieldValue::Float(span),
        Kind::String | Kind::Bytes => FieldValue::String(span),
        Kind::Ident => FieldValue::Word(span),
        Kind::Dollar => {
            let number = inp.parse(token(Kind::Dollar).ignore_then(token(Kind::Int)))?;
            return Ok(FieldValue::Shared(span.to(number)));
        }
        Kind::Comma | Kind::RAngle | Kind::RBracket | Kind::RBrace => {
            return Err(Failure::problem(position(inp), Problem::MissingValue, Want::Value));
        }
        _ => return Err(Failure::expected(position(inp), Want::Value)),
    };
    inp.skip();
    Ok(value)
}

/// The places of the integers of `[1, 2, 3]`, which the lexer has found to be nothing else.
pub(in crate::parse) fn ints(source: &str, list: Span) -> impl Iterator<Item = Span> {
    let inside = &source[list.start as usize + 1..list.end as usize - 1];
    let mut at = list.start + 1;
    inside.split(',').map(move |part| {
        let spelling = part.trim();
        let length = |text: &str| u32::try_from(text.len()).unwrap_or(0);
        let start = at + length(&part[..part.len() - part.trim_start().len()]);
        at += length(part) + 1;
        Span::new(start, start + length(spelling))
    })
}
