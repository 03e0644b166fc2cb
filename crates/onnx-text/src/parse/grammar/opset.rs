//! Operator sets in files of their own: `grammar/opsets.md`.

use super::*;

/// The word that begins a file.
const SET: &str = "operator_set";
/// The word that starts an operator, after its header.
const OPERATOR: &str = "operator";
/// The word before the type variables.
const WHERE: &str = "where";

/// `operator_set = notes "operator_set" header (operator_item | function)*`
pub(in crate::parse) fn operator_set(inp: &mut Inp<'_, '_>) -> Out<OperatorSet> {
    let mut set = OperatorSet { notes: notes(inp)?, ..OperatorSet::default() };
    match head(inp) {
        Ok((keyword, header)) => (set.keyword, set.header) = (keyword, header),
        Err(failure) => {
            emit(inp, failure);
            skip_to_item(inp, failure.at as usize);
        }
    }
    while inp.peek().is_some() {
        let (before, at) = (inp.save(), position(inp));
        let item = if begins_operator(inp) {
            operator_item(inp).map(|operator| OpsetItem::Operator(Box::new(operator)))
        } else {
            function(inp).map(|function| OpsetItem::Function(Box::new(function)))
        };
        match item {
            Ok(item) => set.items.push(item),
            Err(failure) => {
                inp.rewind(before);
                emit(inp, failure);
                skip_to_item(inp, (failure.at as usize).max(at + 1));
            }
        }
    }
    Ok(set)
}

fn head(inp: &mut Inp<'_, '_>) -> Out<(Span, List<Field>)> {
    Ok((keyword(inp, SET, Want::OperatorSet)?, header(inp)?))
}

/// `operator_item = notes header? "operator" name signature? (values? body)?`
pub(in crate::parse) fn operator_item(inp: &mut Inp<'_, '_>) -> Out<Operator> {
    let notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let header = optional(inp, Kind::LAngle, header)?;
    inp.state().is_in_function = true;
    let keyword = keyword(inp, OPERATOR, Want::OperatorItem)?;
    let name = inp.parse(name_as(Want::Operator))?;
    let mut signature = None;
    if matches!(peek(inp, 0), Some(Kind::LAngle | Kind::LParen)) && !begins_item(inp) {
        signature = Some(self::signature(inp)?);
    }
    let (mut values, mut body) = (None, None);
    if peek(inp, 0) == Some(Kind::LAngle) && !begins_item(inp) {
        values = Some(self::values(inp)?);
    }
    if values.is_some() || peek(inp, 0) == Some(Kind::LBrace) {
        let (nodes, span) = self::body(inp)?;
        body = Some(OperatorBody { nodes, span });
    }
    let span = start.to(last_span(inp));
    Ok(Operator { notes, header, keyword, name, signature, values, body, span })
}

/// `signature = attr_params? formals arrow formals where_clause?`
pub(in crate::parse) fn signature(inp: &mut Inp<'_, '_>) -> Out<Signature> {
    let attrs = optional(inp, Kind::LAngle, attr_params)?;
    let inputs = formals(inp)?;
    inp.parse(arrow())?;
    let outputs = formals(inp)?;
    let mut variables = None;
    let is_before_name =
        |kind| matches!(kind, Kind::Ident | Kind::String | Kind::Bytes | Kind::Doc | Kind::Note);
    if is_word(inp, 0, WHERE) && peek(inp, 1).is_some_and(is_before_name) {
        variables = Some(where_clause(inp)?);
    }
    Ok(Signature { attrs, inputs, outputs, variables })
}

/// `attr_params = "<" (attr_param ("," attr_param)*)? ">"`
pub(in crate::parse) fn attr_params(inp: &mut Inp<'_, '_>) -> Out<List<AttrParam>> {
    inp.parse(list(Kind::LAngle, production(attr_param)))
}

/// `attr_param = notes name ":" Ident "?"? ("=" attr_value)?`
pub(in crate::parse) fn attr_param(inp: &mut Inp<'_, '_>) -> Out<AttrParam> {
    let notes = notes(inp)?;
    let name = inp.parse(name())?;
    let ty = Some(inp.parse(token(Kind::Colon).ignore_then(token_as(Kind::Ident, Want::Type)))?);
    let mut optional = None;
    if peek(inp, 0) == Some(Kind::Question) {
        inp.skip();
        optional = Some(last_span(inp));
    }
    let mut value = None;
    if peek(inp, 0) == Some(Kind::Equals) {
        inp.skip();
        value = Some(attr_value(inp)?);
    }
    let span = name.to(last_span(inp));
    Ok(AttrParam { attr: Attr { notes, name, ty, value, span }, optional })
}

/// `formals = "(" (formal ("," formal)*)? ")"`
pub(in crate::parse) fn formals(inp: &mut Inp<'_, '_>) -> Out<List<Formal>> {
    inp.parse(list(Kind::LParen, production(formal)))
}

/// `formal = notes "each"? type_ ("?" | "." "." "." Int?)? name?`
pub(in crate::parse) fn formal(inp: &mut Inp<'_, '_>) -> Out<Formal> {
    let notes = notes(inp)?;
    let start = inp.peek().map_or(Span::at(0), |t: Token| t.span);
    let mut each = None;
    // A type may have this name too; then a name or the end of the formal follows.
    if is_word(inp, 0, "each") && peek(inp, 1) == Some(Kind::Ident) && !ends_formal(peek(inp, 2)) {
        inp.skip();
        each = Some(last_span(inp));
    }
    let ty = type_(inp)?;
    let count = match peek(inp, 0) {
        Some(Kind::Question) => {
            inp.skip();
            FormalCount::Optional(last_span(inp))
        }
        Some(Kind::Dot) => {
            let dots =
                inp.parse(token(Kind::Dot).ignore_then(token(Kind::Dot)).ignore_then(token(Kind::Dot)))?;
            let min = if peek(inp, 0) == Some(Kind::Int) { Some(inp.parse(token(Kind::Int))?) } else { None };
            FormalCount::Variadic(Span::new(dots.start.saturating_sub(2), dots.end), min)
        }
        _ => FormalCount::One,
    };
    let mut formal_name = None;
    if matches!(peek(inp, 0), Some(Kind::Ident | Kind::String | Kind::Bytes)) {
        formal_name = Some(inp.parse(name())?);
    }
    Ok(Formal { notes, each, ty, count, name: formal_name, span: start.to(last_span(inp)) })
}

/// `where_clause = "where" variable ("," variable)*`
pub(in crate::parse) fn where_clause(inp: &mut Inp<'_, '_>) -> Out<WhereClause> {
    let keyword = keyword(inp, WHERE, Want::Name)?;
    let mut variables = vec![variable(inp)?];
    loop {
        match (peek(inp, 0), peek(inp, 1)) {
            (Some(Kind::Comma), _) => inp.skip(),
            (Some(Kind::Ident), Some(Kind::Colon)) => {
                let at = position(inp);
                emit(inp, Failure::problem(at, Problem::MissingComma, Want::Comma));
            }
            _ => return Ok(WhereClause { keyword, variables }),
        }
        variables.push(variable(inp)?);
    }
}

/// `variable = notes name ":" type_set`
pub(in crate::parse) fn variable(inp: &mut Inp<'_, '_>) -> Out<Variable> {
    let notes = notes(inp)?;
    let name = inp.parse(name().then_ignore(token(Kind::Colon)))?;
    Ok(Variable { notes, name, types: type_set(inp)? })
}

/// `type_set = "{" (type_ ("," type_)*)? "}"`
pub(in crate::parse) fn type_set(inp: &mut Inp<'_, '_>) -> Out<List<Type>> {
    inp.parse(list(Kind::LBrace, production(type_)))
}

/// One word, where another would be a mistake.
fn keyword(inp: &mut Inp<'_, '_>, text: &str, want: Want) -> Out<Span> {
    if !is_word(inp, 0, text) {
        return Err(Failure::expected(position(inp), want));
    }
    inp.skip();
    Ok(last_span(inp))
}

fn is_word(inp: &mut Inp<'_, '_>, ahead: usize, text: &str) -> bool {
    let token = inp.full_slice().get(position(inp) + ahead);
    token.is_some_and(|t| t.kind == Kind::Ident && &inp.state().source[t.span.range()] == text)
}

fn ends_formal(kind: Option<Kind>) -> bool {
    matches!(kind, None | Some(Kind::Comma | Kind::RParen))
}

/// Whether an operator begins here: notes, a header perhaps, and the word.
fn begins_operator(inp: &mut Inp<'_, '_>) -> bool {
    let mut ahead = 0;
    loop {
        match peek(inp, ahead) {
            Some(Kind::Doc) => ahead += 1,
            Some(Kind::Note) => {
                while !matches!(peek(inp, ahead), None | Some(Kind::NoteEnd)) {
                    ahead += 1;
                }
                ahead += 1;
            }
            Some(Kind::LAngle) => match header_end(inp, ahead) {
                Some(end) => ahead = end + 1,
                None => return false,
            },
            _ => break,
        }
    }
    is_word(inp, ahead, OPERATOR)
        && matches!(peek(inp, ahead + 1), Some(Kind::Ident | Kind::String | Kind::Bytes))
}

/// The end of a header that starts `ahead` tokens from here. Headers and attribute lists have a colon after the first name, but
/// only a header starts an item.
fn header_end(inp: &mut Inp<'_, '_>, ahead: usize) -> Option<usize> {
    let from = position(inp) + ahead;
    for (i, token) in inp.full_slice().get(from..)?.iter().enumerate() {
        match token.kind {
            Kind::RAngle => return Some(ahead + i),
            Kind::LAngle if i == 0 => {}
            // No header has these: it is not closed. Looking further would take quadratic time.
            Kind::LAngle | Kind::LBrace | Kind::RBrace | Kind::Arrow => return None,
            _ => {}
        }
    }
    None
}

/// Whether the next angle bracket starts an item, after an operator has ended: a name follows its contents, not `(` or `{`.
fn begins_item(inp: &mut Inp<'_, '_>) -> bool {
    if peek(inp, 0) != Some(Kind::LAngle) {
        return false;
    }
    header_end(inp, 0)
        .is_some_and(|end| matches!(peek(inp, end + 1), Some(Kind::Ident | Kind::String | Kind::Bytes)))
}

/// Skips an invalid item, from the mistake at token `from` to a possible start of the next one. Its body is still parsed to
/// report errors in it.
fn skip_to_item(inp: &mut Inp<'_, '_>, from: usize) {
    while position(inp) < from && inp.peek().is_some() {
        inp.skip();
    }
    let mut before = None;
    while let Some(Token { kind, starts_line, .. }) = inp.peek() {
        match kind {
            // Not the types of a variable.
            Kind::LBrace if starts_line || matches!(before, Some(Kind::RParen | Kind::RAngle)) => {
                // A failure here is at the end of the file, and the earlier one has been reported.
                let _ = body(inp);
                return;
            }
            Kind::LAngle | Kind::Doc | Kind::Note if starts_line => return,
            Kind::Ident if starts_line && is_word(inp, 0, OPERATOR) => return,
            _ => {}
        }
        before = Some(kind);
        inp.skip();
    }
}
