//! The grammar. Production names are those of `grammar/onnx-text.ebnf`.
//!
//! A production is a function over chumsky's input; `production` makes it a parser that combines with the others.
//! Functions refer to each other freely, so recursion costs nothing and owns nothing.

mod value;

pub(super) use value::value;

use super::failure::{Expected, Failure, Problem, Want};
use super::primitives::{
    arrow, block, emit, gappy, last_span, list, name, name_as, node_equals, peek, position, token, token_as,
};
use crate::ast::*;
use crate::lex::{Kind, Token};
use chumsky::input::InputRef;
use chumsky::inspector::SimpleState;
use chumsky::prelude::*;
use onnx_ir::diag::Span;
use smallvec::SmallVec;

/// What the parser reads.
pub(super) type In<'t> = &'t [Token];
/// How it fails.
pub(super) type X<'t> = extra::Full<Failure, SimpleState<Context<'t>>, ()>;
/// What the parser carries along.
pub(super) struct Context<'t> {
    /// The text of the tokens.
    pub(super) source: &'t str,
    /// Mistakes that were mended.
    pub(super) emitted: Vec<Failure>,
}
/// Its position in the input.
pub(super) type Inp<'t, 'p> = InputRef<'t, 'p, In<'t>, X<'t>>;
/// What a production gives.
pub(super) type Out<O> = Result<O, Failure>;

/// A parser of ours.
pub(super) trait P<'t, O>: Parser<'t, In<'t>, O, X<'t>> + Clone {}
impl<'t, O, T: Parser<'t, In<'t>, O, X<'t>> + Clone> P<'t, O> for T {}

/// A production as a parser.
pub(super) fn production<'t, O>(f: impl Fn(&mut Inp<'t, '_>) -> Out<O> + Clone) -> impl P<'t, O> {
    custom::<_, In<'t>, _, X<'t>>(f)
}

// ---- files ----

/// `model = (notes header)? graph function*`
pub(super) fn model(inp: &mut Inp<'_, '_>) -> Out<File> {
    let mut file = File::default();
    // Notes in front belong to the header if there is one, to the graph otherwise.
    let mut first = notes(inp)?;
    if peek(inp, 0) == Some(Kind::LAngle) {
        file.notes = std::mem::take(&mut first);
        file.header = Some(header(inp)?);
    }
    file.graph = item_or_body(inp, graph);
    if let Some(graph) = &mut file.graph
        && !first.is_empty()
    {
        graph.notes = first;
    }
    while inp.peek().is_some() {
        let at = position(inp);
        if let Some(f) = item_or_body(inp, function) {
            file.functions.push(f);
        }
        if position(inp) == at {
            inp.skip();
        }
    }
    Ok(file)
}

/// A graph or function. Where its signature is beyond repair, its body is still read, for what is wrong in it.
fn item_or_body<O>(inp: &mut Inp<'_, '_>, item: fn(&mut Inp<'_, '_>) -> Out<O>) -> Option<O> {
    let before = inp.save();
    let failure = match item(inp) {
        Ok(out) => return Some(out),
        Err(failure) => failure,
    };
    inp.rewind(before);
    emit(inp, failure);
    while position(inp) < failure.at as usize && inp.peek().is_some() {
        inp.skip();
    }
    while !matches!(peek(inp, 0), None | Some(Kind::LBrace)) {
        inp.skip();
    }
    // A failure here is one at the end of the file, and the one above has been told.
    let _ = body(inp);
    None
}

/// Everything up to the end of the input; `None` if it cannot be read at all.
pub(super) fn whole<'t, O>(item: fn(&mut Inp<'t, '_>) -> Out<O>) -> impl P<'t, Option<O>> {
    production(move |inp: &mut Inp<'t, '_>| {
        let before = inp.save();
        let out = match item(inp) {
            Ok(out) => {
                if inp.peek().is_some() {
                    let at = position(inp);
                    emit(inp, Failure::expected(at, Want::End));
                }
                Some(out)
            }
            Err(failure) => {
                inp.rewind(before);
                emit(inp, failure);
                None
            }
        };
        while inp.peek().is_some() {
            inp.skip();
        }
        Ok(out)
    })
}

/// `header = "<" field ("," field)* ">"`
fn header(inp: &mut Inp<'_, '_>) -> Out<List<Field>> {
    inp.parse(list(Kind::LAngle, production(field)))
}

// ---- notes and fields ----

/// `notes = ("##" text | "#@" field ("," field)* end-of-line)*`
fn notes(inp: &mut Inp<'_, '_>) -> Out<Notes> {
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

/// One `#@` line. What is wrong in it ends with it.
fn note_line(inp: &mut Inp<'_, '_>) -> NoteLine {
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

/// `field = name ":" field-value`
fn field(inp: &mut Inp<'_, '_>) -> Out<Field> {
    let key = inp.parse(name_as(Want::Key).then_ignore(token(Kind::Colon)))?;
    Ok(Field { key, value: field_value(inp)? })
}

/// `field-value = int | float | string | word | "$" int | elements | record | graph`
fn field_value(inp: &mut Inp<'_, '_>) -> Out<FieldValue> {
    match peek(inp, 0) {
        Some(Kind::LBracket | Kind::Ints) => Ok(FieldValue::List(elements(inp)?)),
        Some(Kind::LBrace) => Ok(FieldValue::Record(record(inp)?)),
        Some(Kind::Doc | Kind::Note) => Ok(FieldValue::Graph(Box::new(graph(inp)?))),
        Some(Kind::Ident | Kind::String | Kind::Bytes) if begins_graph(inp) => {
            Ok(FieldValue::Graph(Box::new(graph(inp)?)))
        }
        _ => simple_value(inp),
    }
}

/// `record = "{" field ("," field)* "}"`
fn record(inp: &mut Inp<'_, '_>) -> Out<List<Field>> {
    inp.parse(list(Kind::LBrace, production(field)))
}

/// `elements = "[" (element ("," element)*)? "]"`
fn elements(inp: &mut Inp<'_, '_>) -> Out<List<Element>> {
    if let Some(Token { kind: Kind::Ints, span, .. }) = inp.peek() {
        inp.skip();
        let element = |at| Element { key: None, value: FieldValue::Int(at) };
        let ints = ints(inp.state().source, span);
        return Ok(List { items: ints.map(element).collect(), span });
    }
    inp.parse(list(Kind::LBracket, production(element)))
}

/// `element = field-value (":" field-value)?`
fn element(inp: &mut Inp<'_, '_>) -> Out<Element> {
    let value = field_value(inp)?;
    match (peek(inp, 0), &value) {
        (Some(Kind::Colon), _) => inp.skip(),
        (Some(Kind::Int), FieldValue::String(_)) => {
            let at = position(inp);
            emit(inp, Failure::problem(at, Problem::MissingColon, Want::Colon));
        }
        _ => return Ok(Element { key: None, value }),
    }
    Ok(Element { key: Some(value), value: field_value(inp)? })
}

/// `int | float | string | word | "$" int`
fn simple_value(inp: &mut Inp<'_, '_>) -> Out<FieldValue> {
    let Some(Token { kind, span, .. }) = inp.peek() else {
        return Err(Failure::expected(position(inp), Want::Value));
    };
    let value = match kind {
        Kind::Int => FieldValue::Int(span),
        Kind::Float | Kind::Special => FieldValue::Float(span),
        Kind::String | Kind::Bytes => FieldValue::String(span),
        Kind::Ident => FieldValue::Word(span),
        Kind::Dollar => {
            let number = inp.parse(token(Kind::Dollar).ignore_then(token(Kind::Int)))?;
            return Ok(FieldValue::Shared(span.to(number)));
        }
        _ => return Err(Failure::expected(position(inp), Want::Value)),
    };
    inp.skip();
    Ok(value)
}

/// The places of the integers of `[1, 2, 3]`, which the lexer has found to be nothing else.
fn ints(source: &str, list: Span) -> impl Iterator<Item = Span> {
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

// ---- graphs and functions ----

/// `graph = notes name value-infos? "=>" value-infos values? body`
pub(super) fn graph(inp: &mut Inp<'_, '_>) -> Out<Graph> {
    let notes = notes(inp)?;
    let name = inp.parse(name_as(Want::Graph))?;
    let inputs = optional(inp, Kind::LParen, value_infos)?;
    inp.parse(arrow())?;
    let outputs = value_infos(inp)?;
    let values = optional(inp, Kind::LAngle, values)?;
    let (body, body_span) = body(inp)?;
    Ok(Graph { notes, name, inputs, outputs, values, body, body_span, span: name.to(body_span) })
}

/// `function = notes header? name parameters? value-infos "=>" value-infos values? body`
pub(super) fn function(inp: &mut Inp<'_, '_>) -> Out<Function> {
    let notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let header = optional(inp, Kind::LAngle, header)?;
    let name = inp.parse(name_as(Want::Function))?;
    let attrs = optional(inp, Kind::LAngle, attributes)?;
    let inputs = value_infos(inp)?;
    inp.parse(arrow())?;
    let outputs = value_infos(inp)?;
    let values = optional(inp, Kind::LAngle, values)?;
    let (body, body_span) = body(inp)?;
    Ok(Function {
        notes,
        header,
        name,
        attrs,
        inputs,
        outputs,
        values,
        body,
        body_span,
        span: start.to(body_span),
    })
}

/// `body = "{" node* "}"`
fn body(inp: &mut Inp<'_, '_>) -> Out<(Vec<Node>, Span)> {
    inp.parse(block(production(node), Want::Node))
}

/// `value-infos = "(" (value-info ("," value-info)*)? ")"`
fn value_infos(inp: &mut Inp<'_, '_>) -> Out<List<ValueInfo>> {
    inp.parse(list(Kind::LParen, production(value_info)))
}

/// `values = "<" (value-info ("," value-info)*)? ">"`
fn values(inp: &mut Inp<'_, '_>) -> Out<List<ValueInfo>> {
    inp.parse(list(Kind::LAngle, production(value_info)))
}

/// A part that is there if the next token is `open`.
fn optional<'t, O>(
    inp: &mut Inp<'t, '_>,
    open: Kind,
    part: impl Fn(&mut Inp<'t, '_>) -> Out<O>,
) -> Out<Option<O>> {
    if peek(inp, 0) == Some(open) { part(inp).map(Some) } else { Ok(None) }
}

/// `value-info = notes type? name ("=" data)?`
pub(super) fn value_info(inp: &mut Inp<'_, '_>) -> Out<ValueInfo> {
    let notes = notes(inp)?;
    let start = inp.peek().map(|t: Token| t.span);
    let ty = match (peek(inp, 0), peek(inp, 1)) {
        (
            Some(Kind::Ident),
            Some(Kind::Ident | Kind::String | Kind::Bytes | Kind::LBracket | Kind::Ints | Kind::LParen),
        )
        | (Some(Kind::Question), _) => Some(type_(inp)?),
        _ => None,
    };
    let name = inp.parse(name()).map_err(|f| match ty {
        Some(_) => f,
        None => Failure { expected: f.expected.and(Want::Type), ..f },
    })?;
    let mut data = None;
    if peek(inp, 0) == Some(Kind::Equals) {
        inp.skip();
        data = Some(self::data(inp)?);
    }
    let end = last_span(inp);
    Ok(ValueInfo { notes, ty, name, data, span: start.map_or(end, |s| s.to(end)) })
}

// ---- types ----

/// `type = word dims? | word "(" type-args ")" dims? | "?"`
pub(super) fn type_(inp: &mut Inp<'_, '_>) -> Out<Type> {
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

/// `type-arg = type | string | int`
fn type_arg(inp: &mut Inp<'_, '_>) -> Out<TypeArg> {
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

/// `dims = "[" (dim ("," dim)*)? "]"`
fn dims(inp: &mut Inp<'_, '_>) -> Out<List<Dim>> {
    if let Some(Token { kind: Kind::Ints, span, .. }) = inp.peek() {
        inp.skip();
        let ints = ints(inp.state().source, span);
        return Ok(List { items: ints.map(Dim::Int).collect(), span });
    }
    inp.parse(list(Kind::LBracket, production(dim)))
}

/// `dim = "?" | int | name`
fn dim(inp: &mut Inp<'_, '_>) -> Out<Dim> {
    let dim = match inp.peek() {
        Some(Token { kind: Kind::Question, span, .. }) => Dim::Unknown(span),
        Some(Token { kind: Kind::Int, span, .. }) => Dim::Int(span),
        Some(Token { kind: Kind::Ident | Kind::String | Kind::Bytes, span, .. }) => Dim::Param(span),
        _ => return Err(Failure::expected(position(inp), Want::Dim)),
    };
    inp.skip();
    Ok(dim)
}

// ---- tensors ----

/// `data = numbers | "{" (scalar ("," scalar)*)? "}" | record | parts | elements`
fn data(inp: &mut Inp<'_, '_>) -> Out<Data> {
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

/// `scalar = int | float | special | string`
fn scalar(inp: &mut Inp<'_, '_>) -> Out<Scalar> {
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

// ---- nodes ----

/// `node = notes ("[" name? "]")? names "=" operator attributes? "(" names ")" attributes?`
pub(super) fn node(inp: &mut Inp<'_, '_>) -> Out<Node> {
    let mut notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let node_name = optional(inp, Kind::LBracket, node_name)?;
    let outputs = names(inp)?;
    inp.parse(node_equals())?;
    let (domain, op, overload) = operator(inp)?;
    let mut attrs = optional(inp, Kind::LAngle, attributes)?;
    if attrs.is_none() && peek(inp, 0) != Some(Kind::LParen) {
        return Err(Failure::expected(position(inp), Expected::from(Want::LParen).and(Want::LAngle)));
    }
    let (inputs, inputs_span) = inp.parse(gappy(Kind::LParen, name(), |at| at))?;
    if attrs.is_none() {
        attrs = optional(inp, Kind::LAngle, attributes)?;
    }
    let span = start.to(last_span(inp));
    // Annotations on the same line belong to what they follow.
    if matches!(inp.peek(), Some(Token { kind: Kind::Note, starts_line: false, .. })) {
        let line = note_line(inp);
        notes.0.get_or_insert_default().lines.push(line);
    }
    if peek(inp, 0) == Some(Kind::Comma) {
        // `a = F(x), y = G(a)`: statements have no separator.
        let at = position(inp);
        emit(inp, Failure::problem(at, Problem::StrayComma, Expected::default()));
        inp.skip();
    }
    Ok(Node { notes, name: node_name, outputs, domain, op, overload, attrs, inputs, inputs_span, span })
}

/// `"[" name? "]"`
fn node_name(inp: &mut Inp<'_, '_>) -> Out<Name> {
    let open = inp.parse(token(Kind::LBracket))?;
    let node_name =
        if peek(inp, 0) == Some(Kind::RBracket) { Span::at(open.end) } else { inp.parse(name())? };
    inp.parse(token(Kind::RBracket))?;
    Ok(node_name)
}

/// `names = name? ("," name?)*`; a final empty one is dropped.
fn names(inp: &mut Inp<'_, '_>) -> Out<SmallVec<[Name; 2]>> {
    let mut out = SmallVec::new();
    loop {
        match peek(inp, 0) {
            Some(Kind::Comma) => out.push(Span::at(last_span(inp).end)),
            Some(Kind::Equals) => return Ok(out),
            _ => out.push(inp.parse(name_as(if out.is_empty() { Want::Node } else { Want::Name }))?),
        }
        if peek(inp, 0) != Some(Kind::Comma) {
            return Ok(out);
        }
        inp.skip();
    }
}

/// `operator = (name ".")* name (":" name)?`
fn operator(inp: &mut Inp<'_, '_>) -> Out<(Option<Span>, Name, Option<Name>)> {
    let mut op = inp.parse(name_as(Want::Operator))?;
    let mut domain: Option<Span> = None;
    while peek(inp, 0) == Some(Kind::Dot) {
        inp.skip();
        domain = Some(domain.map_or(op, |d| d.to(op)));
        op = inp.parse(name_as(Want::Operator))?;
    }
    let mut overload = None;
    if peek(inp, 0) == Some(Kind::Colon) {
        overload = Some(inp.parse(token(Kind::Colon).ignore_then(name()))?);
    }
    Ok((domain, op, overload))
}

// ---- attributes ----

/// `attributes = "<" (attr ("," attr)*)? ">"`
fn attributes(inp: &mut Inp<'_, '_>) -> Out<List<Attr>> {
    inp.parse(list(Kind::LAngle, production(attr)))
}

/// `attr = notes name (":" word)? ("=" attr-value)?`
pub(super) fn attr(inp: &mut Inp<'_, '_>) -> Out<Attr> {
    let notes = notes(inp)?;
    let name = inp.parse(name())?;
    let mut ty = None;
    if peek(inp, 0) == Some(Kind::Colon) {
        ty = Some(inp.parse(token(Kind::Colon).ignore_then(token_as(Kind::Ident, Want::Type)))?);
    }
    let mut value = None;
    match peek(inp, 0) {
        Some(Kind::Equals) => {
            inp.skip();
            value = Some(attr_value(inp)?);
        }
        // `alpha: 1.0`, `alpha 1.0`
        Some(Kind::Int | Kind::Float | Kind::String | Kind::LBracket | Kind::Ints | Kind::At) => {
            return Err(Failure::expected(position(inp), Want::Equals));
        }
        _ => {}
    }
    let span = name.to(last_span(inp));
    Ok(Attr { notes, name, ty, value, span })
}

/// `attr-value = scalar | "@" name | graph | typed | parts | "[" … "]" | "{" … "}"`
fn attr_value(inp: &mut Inp<'_, '_>) -> Out<AttrValue> {
    match peek(inp, 0) {
        Some(Kind::Ints) => inp.parse(token(Kind::Ints).map(AttrValue::Ints)),
        Some(Kind::LBracket) => {
            Ok(AttrValue::List(Box::new(inp.parse(list(Kind::LBracket, production(attr_element)))?)))
        }
        Some(Kind::LBrace) => {
            Ok(AttrValue::Braced(Box::new(inp.parse(list(Kind::LBrace, production(attr_element)))?)))
        }
        Some(Kind::At) => inp.parse(token(Kind::At).ignore_then(name()).map(AttrValue::Reference)),
        // Only a graph has annotations of its own.
        Some(Kind::Doc | Kind::Note) => Ok(AttrValue::Graph(Box::new(graph(inp)?))),
        Some(Kind::Ident | Kind::String | Kind::Bytes) if begins_graph(inp) => {
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
        _ => Err(Failure::expected(position(inp), Want::AttrValue)),
    }
}

/// One word and no other.
fn word(inp: &mut Inp<'_, '_>, text: &str, want: Want) -> Out<Span> {
    let at = position(inp);
    let span = inp.parse(token(Kind::Ident))?;
    if &inp.state().source[span.range()] == text { Ok(span) } else { Err(Failure::expected(at, want)) }
}

/// `attr-element = notes attr-value`
fn attr_element(inp: &mut Inp<'_, '_>) -> Out<AttrElement> {
    let mut notes = notes(inp)?;
    let mut value = attr_value(inp)?;
    // In front of a graph they are the graph's.
    if let AttrValue::Graph(graph) = &mut value {
        graph.notes = std::mem::take(&mut notes);
    }
    Ok(AttrElement { notes, value })
}

/// `typed = type ((name? "="?) data)? | "sparse" dims parts`
fn typed(inp: &mut Inp<'_, '_>) -> Out<AttrValue> {
    let head = position(inp);
    let ty = type_(inp)?;
    let start = ty.span();
    if peek(inp, 0) == Some(Kind::LBrace) && begins_parts(inp, 1) {
        if &inp.state().source[inp.full_slice()[head].span.range()] != "sparse" {
            return Err(Failure::expected(position(inp), Want::Data));
        }
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
    let data = data(inp)?;
    let span = start.to(data.span());
    Ok(AttrValue::Tensor(Box::new(TensorLiteral { ty, name, data, span })))
}

/// `parts = "{" attr ("," attr)* "}"`
fn parts(inp: &mut Inp<'_, '_>) -> Out<List<Attr>> {
    inp.parse(list(Kind::LBrace, production(attr)))
}

/// Whether parts of a record begin `ahead` tokens from here: `name =` or `name: type =`.
fn begins_parts(inp: &mut Inp<'_, '_>, ahead: usize) -> bool {
    match peek(inp, ahead) {
        // Only parts have annotations.
        Some(Kind::Note | Kind::Doc) => true,
        Some(Kind::Ident) => matches!(peek(inp, ahead + 1), Some(Kind::Equals | Kind::Colon)),
        _ => false,
    }
}

/// Whether a graph begins here: `g =>` or `g (…) =>`. Looks no further than the end of the parentheses.
fn begins_graph(inp: &mut Inp<'_, '_>) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    match kind(at + 1) {
        Some(Kind::Arrow) => true,
        Some(Kind::LParen) => {
            let mut depth = 0usize;
            for (i, token) in tokens.iter().enumerate().skip(at + 1) {
                match token.kind {
                    Kind::LParen => depth += 1,
                    Kind::RParen if depth == 1 => {
                        return match kind(i + 1) {
                            Some(Kind::Arrow | Kind::LParen) => true,
                            Some(Kind::Equals) => kind(i + 2) == Some(Kind::RAngle),
                            _ => false,
                        };
                    }
                    Kind::RParen => depth -= 1,
                    Kind::LBrace | Kind::RBrace => return false,
                    _ => {}
                }
            }
            false
        }
        _ => false,
    }
}
