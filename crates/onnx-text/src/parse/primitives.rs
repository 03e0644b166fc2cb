//! Combinators under the grammar: single tokens, and lists and blocks that recover.
//!
//! A list detects its own mistakes (a missing or stray comma, a missing or wrong bracket), reports them and continues, so that
//! one mistake costs at most one item.

use super::failure::{Expected, Failure, Problem, Want};
use super::grammar::{Inp, P, PlainReader, begins_graph, is_comparison, production};
use super::look::{
    OddBracket, begins_item, closing, enclosing, ends_here, first_mismatch, is_apart, is_close, is_open,
    is_surplus, leaves_list, next_close, odd_bracket, open_brackets,
};
use crate::ast::{List, Name, Node};
use crate::lex::{Kind, MAX_FINDINGS, Token};
use onnx_ir::diag::Span;
use smallvec::SmallVec;

/// Index of the next token.
pub(super) fn position(inp: &Inp<'_, '_>) -> usize {
    *inp.cursor().inner()
}

/// Reports a mistake and continues. Kept apart from chumsky's own list, which is reset when a parser backtracks.
pub(super) fn emit(inp: &mut Inp<'_, '_>, failure: Failure) {
    inp.state().emitted.push(failure);
}

/// Whether there are too many mistakes to continue; if so, skips the rest.
fn gives_up(inp: &mut Inp<'_, '_>) -> bool {
    let gives_up = inp.state().emitted.len() >= MAX_FINDINGS;
    if gives_up {
        while inp.peek().is_some() {
            inp.skip();
        }
    }
    gives_up
}

/// Kind of the token `ahead` tokens from here.
pub(super) fn peek(inp: &mut Inp<'_, '_>, ahead: usize) -> Option<Kind> {
    let at = position(inp) + ahead;
    inp.full_slice().get(at).map(|t| t.kind)
}

/// The span of the last consumed token.
pub(super) fn last_span(inp: &mut Inp<'_, '_>) -> Span {
    let at = position(inp);
    at.checked_sub(1).and_then(|i| inp.full_slice().get(i)).map_or(Span::at(0), |t| t.span)
}

/// One token of a kind.
pub(super) fn token<'t>(kind: Kind) -> impl P<'t, Span> {
    token_as(kind, Want::of(kind))
}

/// One token of a kind, called `want` in messages.
pub(super) fn token_as<'t>(kind: Kind, want: Want) -> impl P<'t, Span> {
    production(move |inp: &mut Inp<'t, '_>| match inp.peek() {
        Some(token) if token.kind == kind => {
            inp.skip();
            Ok(token.span)
        }
        _ => Err(Failure::expected(position(inp), want)),
    })
}

/// An identifier or a string.
pub(super) fn name<'t>() -> impl P<'t, Name> {
    name_as(Want::Name)
}

pub(super) fn name_as<'t>(want: Want) -> impl P<'t, Name> {
    production(move |inp: &mut Inp<'t, '_>| match inp.peek() {
        Some(Token { kind: Kind::Ident, span, .. }) => Ok(bare(inp, span, false)),
        Some(Token { kind: Kind::String | Kind::Bytes, span, .. }) => {
            inp.skip();
            Ok(span)
        }
        _ => Err(Failure::expected(position(inp), want)),
    })
}

/// The name of a value: `x:0` is reported as a name, too.
pub(super) fn value_name_as<'t>(want: Want) -> impl P<'t, Name> {
    production(move |inp: &mut Inp<'t, '_>| match inp.peek() {
        Some(Token { kind: Kind::Ident, span, .. }) => Ok(bare(inp, span, true)),
        // `5 = Relu(x)`
        Some(Token { kind: Kind::Int, span, .. }) if peek(inp, 1) == Some(Kind::Equals) => {
            let at = position(inp);
            inp.skip();
            emit(inp, Failure::between(at, at, Problem::BareName));
            Ok(span)
        }
        _ => inp.parse(name_as(want)),
    })
}

/// A part of the name of an operator, which dots separate from others.
pub(super) fn part_as<'t>(want: Want) -> impl P<'t, Name> {
    production(move |inp: &mut Inp<'t, '_>| match inp.peek() {
        Some(Token { kind: Kind::Ident | Kind::String | Kind::Bytes, span, .. }) => {
            inp.skip();
            Ok(span)
        }
        _ => Err(Failure::expected(position(inp), want)),
    })
}

/// An identifier. Text right after it that can only belong to it, as in `fc.weight`, `x-1` or `x:0`, forms one name that lacks
/// its quotes.
pub(super) fn bare(inp: &mut Inp<'_, '_>, first: Span, has_ports: bool) -> Name {
    let at = position(inp);
    inp.skip();
    let mut name = first;
    let joined = |t: Option<&Token>, end: u32, kinds: &[Kind]| {
        t.filter(|t| t.span.start == end && kinds.contains(&t.kind)).map(|t| t.span)
    };
    loop {
        let here = position(inp);
        let tokens = inp.full_slice();
        let (next, after) = (tokens.get(here), tokens.get(here + 1));
        let part = &[Kind::Ident, Kind::Int, Kind::Float];
        let behind = |mark: &[Kind], parts: &[Kind]| {
            joined(next, name.end, mark).and_then(|mark| joined(after, mark.end, parts))
        };
        let (taken, end) = if let Some(part) = behind(&[Kind::Dot], part) {
            (2, part)
        } else if let Some(port) = behind(&[Kind::Colon], &[Kind::Int]).filter(|_| has_ports) {
            (2, port)
        } else if let Some(part) = behind(&[Kind::Colon], &[Kind::Colon])
            .filter(|_| has_ports)
            .and_then(|colon| joined(tokens.get(here + 2), colon.end, part))
        {
            // `onnx::Relu_5`
            (3, part)
        } else if let Some(number) = joined(next, name.end, &[Kind::Int, Kind::Float]) {
            // `x-1`; `1` alone would be a part of the identifier.
            (1, number)
        } else {
            break;
        };
        for _ in 0..taken {
            inp.skip();
        }
        name = name.to(end);
    }
    if name != first {
        let last = position(inp) - 1;
        emit(inp, Failure::between(at, last, Problem::BareName));
    }
    name
}

/// `open item, item, … close`
pub(super) fn list<'t, O>(open: Kind, item: impl P<'t, O>) -> impl P<'t, List<O>> {
    production(move |inp: &mut Inp<'t, '_>| {
        let (mut items, span): (Vec<O>, Span) = items(inp, open, &item, None)?;
        // Most lists are short, and there may be many.
        items.shrink_to_fit();
        Ok(List { items, span })
    })
}

/// A list in which items may be omitted; `gap` makes one. A final empty item is dropped: `(x,)` has one item.
pub(super) fn gappy<'t, O, C: Items<O>>(
    open: Kind,
    item: impl P<'t, O>,
    gap: fn(Span) -> O,
) -> impl P<'t, (C, Span)> {
    production(move |inp: &mut Inp<'t, '_>| items(inp, open, &item, Some(gap)))
}

/// A collection for the items of a list.
pub(super) trait Items<O>: Default {
    fn push(&mut self, item: O);
    fn is_empty(&self) -> bool;
}

impl<O> Items<O> for Vec<O> {
    fn push(&mut self, item: O) {
        self.push(item);
    }
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<O, const N: usize> Items<O> for SmallVec<[O; N]> {
    fn push(&mut self, item: O) {
        self.push(item);
    }
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

fn items<'t, O, C: Items<O>>(
    inp: &mut Inp<'t, '_>,
    open: Kind,
    item: &impl P<'t, O>,
    gap: Option<fn(Span) -> O>,
) -> Result<(C, Span), Failure> {
    let open_at = position(inp);
    let start = inp.parse(token(open))?;
    let close = closing(open);
    let mut out = C::default();
    // Tokens of the last item.
    let mut length = 0;
    loop {
        if gives_up(inp) {
            return Ok((out, start.to(last_span(inp))));
        }
        // At the start of an item.
        match peek(inp, 0) {
            Some(kind) if kind == close => {
                let end = last_of_next(inp);
                return Ok((out, start.to(end)));
            }
            Some(Kind::Comma) => {
                let at = position(inp);
                match gap {
                    Some(gap) => {
                        let here = last_span(inp).end;
                        out.push(gap(Span::at(here)));
                    }
                    None => {
                        let is_certain = is_surplus(inp.full_slice(), at, length);
                        let stray = Failure::problem(at, Problem::StrayComma, Expected::default());
                        emit(inp, stray.certain(is_certain));
                    }
                }
                inp.skip();
                continue;
            }
            // `float[}`
            Some(kind)
                if is_close(kind)
                    && out.is_empty()
                    && !starts_line(inp)
                    && !is_of_enclosing(inp, open_at, kind) =>
            {
                let at = position(inp);
                emit(inp, Failure::problem(at, Problem::WrongBracket, Want::of(close)).inside(open_at));
                inp.skip();
                return Ok((out, start.to(last_span(inp))));
            }
            // `<ir_version: 10,` before a graph
            Some(Kind::Ident | Kind::String)
                if open == Kind::LAngle && length > 0 && starts_line(inp) && begins_graph(inp, 0) =>
            {
                return Ok((out, not_closed(inp, open_at, close, start)));
            }
            _ => {}
        }
        let before = inp.save();
        let first_item = out.is_empty();
        match inp.parse(item) {
            Ok(value) => {
                length = position(inp) - *before.cursor().inner();
                out.push(value);
            }
            Err(failure) => {
                // Nothing of an item here: the bracket may just not be closed.
                let nothing = failure.at as usize == *before.cursor().inner();
                inp.rewind(before);
                if nothing && ends_here(inp, open) {
                    return Ok((out, not_closed(inp, open_at, close, start)));
                }
                let failure = if nothing && first_item {
                    Failure { expected: failure.expected.and(Want::of(close)), ..failure }
                } else {
                    failure
                };
                // A comma was missed before something that is not an item.
                let emitted = &mut inp.state().emitted;
                let is_comma = |f: &Failure| f.problem == Problem::MissingComma && f.at == failure.at;
                if nothing && emitted.last().is_some_and(is_comma) {
                    emitted.pop();
                }
                emit(inp, failure.inside(open_at));
                // `<alpha = (x)`: nothing that is left belongs to the list.
                let found = inp.full_slice().get(failure.at as usize).map(|t| t.kind);
                if open == Kind::LAngle
                    && failure.problem == Problem::MissingValue
                    && matches!(found, Some(Kind::LParen | Kind::Arrow))
                {
                    // The `>` of the arrow ends the list.
                    let end = failure.at as usize + usize::from(found == Some(Kind::Arrow));
                    while position(inp) < end {
                        inp.skip();
                    }
                    return Ok((out, start.to(last_span(inp))));
                }
                skip_item(inp, open, failure.at as usize);
            }
        }
        // After an item.
        match peek(inp, 0) {
            Some(Kind::Comma) if leaves_list(inp.full_slice(), open_at, position(inp)) => {
                return Ok((out, not_closed(inp, open_at, close, start)));
            }
            Some(Kind::Comma) => {
                let comma = position(inp);
                inp.skip();
                if peek(inp, 0) == Some(close) && gap.is_none() {
                    let is_certain = is_surplus(inp.full_slice(), comma, length);
                    let stray = Failure::problem(comma, Problem::StrayComma, Expected::default());
                    emit(inp, stray.certain(is_certain));
                }
            }
            Some(kind) if kind == close => {}
            // `<float[2] w => {`
            Some(Kind::Arrow) if open == Kind::LAngle && length > 0 => {
                let at = position(inp);
                emit(inp, Failure::problem(at, Problem::MissingValue, Want::Value).inside(open_at));
                inp.skip();
                return Ok((out, start.to(last_span(inp))));
            }
            // It closes an enclosing list: this list was not closed.
            Some(kind) if is_close(kind) && is_of_enclosing(inp, open_at, kind) => {
                return Ok((out, not_closed(inp, open_at, close, start)));
            }
            Some(kind) if is_close(kind) && !starts_line(inp) => {
                let at = position(inp);
                emit(inp, Failure::problem(at, Problem::WrongBracket, Want::of(close)).inside(open_at));
                inp.skip();
                return Ok((out, start.to(last_span(inp))));
            }
            _ if ends_here(inp, open) => {
                return Ok((out, not_closed(inp, open_at, close, start)));
            }
            Some(kind) => {
                let at = position(inp);
                if begins_item(kind) && next_close(inp) != Some(close) {
                    return Ok((out, not_closed(inp, open_at, close, start)));
                } else if begins_item(kind) {
                    // `x -1` may be `x - 1`.
                    let is_certain = is_apart(inp, length) && !begins_with_minus(inp);
                    emit(inp, Failure::problem(at, Problem::MissingComma, Want::Comma).certain(is_certain));
                } else {
                    emit(
                        inp,
                        Failure::expected(at, Expected::from(Want::Comma).and(Want::of(close)))
                            .inside(open_at),
                    );
                    skip_item(inp, open, at + 1);
                    if peek(inp, 0) == Some(Kind::Comma) {
                        inp.skip();
                    }
                }
            }
            None => return Ok((out, not_closed(inp, open_at, close, start))),
        }
    }
}

/// Whether the next token is a negative number.
fn begins_with_minus(inp: &mut Inp<'_, '_>) -> bool {
    let source = inp.state().source;
    inp.peek().is_some_and(|t: Token| source.as_bytes().get(t.span.start as usize) == Some(&b'-'))
}

/// Whether the next bracket closes something around the one opened at `open_at`; `Relu(x}` before the `}` of the body has a wrong
/// bracket instead.
fn is_of_enclosing(inp: &mut Inp<'_, '_>, open_at: usize, kind: Kind) -> bool {
    let tokens = inp.full_slice();
    if enclosing(tokens, open_at) != Some(kind) {
        return false;
    }
    let at = position(inp);
    // `float[2,3) x, …`: no name follows the end of the list around it.
    let kind_at = |i: usize| tokens.get(i).map(|t| t.kind);
    let is_name = matches!(kind_at(at + 1), Some(Kind::Ident | Kind::String)) && !tokens[at + 1].starts_line;
    if is_name && kind != Kind::RBrace && matches!(kind_at(at + 2), Some(Kind::Comma | Kind::RParen)) {
        return false;
    }
    let starts_line = |i: usize| tokens.get(i).is_none_or(|t| t.starts_line);
    let mut opened = open_brackets(tokens, open_at);
    let as_written = first_mismatch(&opened, &tokens[at..]);
    opened.push(kind);
    if first_mismatch(&opened, &tokens[at..]) > as_written {
        return false;
    }
    let is_doubled = kind_at(at + 1) == Some(kind);
    // `Relu(x}` before another statement
    let goes_on = kind == Kind::RBrace
        && matches!(kind_at(at + 1), Some(Kind::Ident | Kind::String))
        && matches!(kind_at(at + 2), Some(Kind::Equals | Kind::Comma));
    !((is_doubled || goes_on) && !starts_line(at) && starts_line(at + 1))
}

fn last_of_next(inp: &mut Inp<'_, '_>) -> Span {
    inp.skip();
    last_span(inp)
}

pub(super) fn starts_line(inp: &mut Inp<'_, '_>) -> bool {
    inp.peek().is_none_or(|t: Token| t.starts_line)
}

/// Reports an unclosed bracket; returns the span so far.
fn not_closed(inp: &mut Inp<'_, '_>, open_at: usize, close: Kind, start: Span) -> Span {
    let at = position(inp);
    emit(inp, Failure::problem(at, Problem::NotClosed, Want::of(close)).inside(open_at));
    start.to(last_span(inp))
}

/// Skips from a mistake at token `from` to the next comma or closing bracket of the list, or to where the list has
/// been left.
fn skip_item(inp: &mut Inp<'_, '_>, open: Kind, from: usize) {
    while position(inp) < from && inp.peek().is_some() {
        inp.skip();
    }
    // Brackets that the broken item has left open.
    let mut depth = 0usize;
    loop {
        match peek(inp, 0) {
            None | Some(Kind::NoteEnd) => return,
            Some(Kind::Comma) if depth == 0 => return,
            Some(kind) if is_close(kind) => {
                if depth == 0 {
                    return;
                }
                depth -= 1;
            }
            Some(kind) if is_open(kind) && !(depth == 0 && kind == Kind::LBrace && open != Kind::LBrace) => {
                depth += 1
            }
            Some(_) if depth == 0 && ends_here(inp, open) => return,
            Some(_) => {}
        }
        inp.skip();
    }
}

/// `{ item item … }`: a block of nodes, each of which `each` gets. A broken one is skipped to the next line that begins a statement.
/// Does not fail after the opening brace.
pub(super) fn block<'t>(
    inp: &mut Inp<'t, '_>,
    item: impl P<'t, Node>,
    each: &mut dyn FnMut(&mut Node),
) -> Result<Span, Failure> {
    let open_at = position(inp);
    let start = inp.parse(token(Kind::LBrace))?;
    let mut plain = PlainReader::new();
    loop {
        if gives_up(inp) {
            return Ok(start.to(last_span(inp)));
        }
        let source = inp.state().source;
        let has_plain_reader = inp.state().has_plain_reader;
        while has_plain_reader && let Some(end) = plain.read(source, inp.full_slice(), position(inp)) {
            while position(inp) < end {
                inp.skip();
            }
            each(&mut plain.node);
        }
        match peek(inp, 0) {
            Some(Kind::RBrace) => {
                inp.skip();
                return Ok(start.to(last_span(inp)));
            }
            None => return Ok(not_closed(inp, open_at, Kind::RBrace, start)),
            // A header or a signature of a function: the body before it was not closed.
            Some(Kind::LAngle) if starts_line(inp) => {
                return Ok(not_closed(inp, open_at, Kind::RBrace, start));
            }
            Some(Kind::Ident | Kind::String) if starts_line(inp) && begins_graph(inp, 0) => {
                return Ok(not_closed(inp, open_at, Kind::RBrace, start));
            }
            // `a = Relu(x) ]`
            Some(kind) if is_close(kind) => {
                let at = position(inp);
                match odd_bracket(inp.full_slice(), open_at, at) {
                    OddBracket::Wrong => {
                        let wrong = Failure::problem(at, Problem::WrongBracket, Want::RBrace);
                        emit(inp, wrong.inside(open_at));
                        inp.skip();
                        return Ok(start.to(last_span(inp)));
                    }
                    OddBracket::OfEnclosing => {
                        return Ok(not_closed(inp, open_at, Kind::RBrace, start));
                    }
                    OddBracket::Stray => {}
                }
            }
            // The next attribute of the node that owns this graph.
            Some(Kind::Comma) if begins_branch(inp) => {
                return Ok(not_closed(inp, open_at, Kind::RBrace, start));
            }
            _ => {}
        }
        let before = inp.save();
        match inp.parse(&item) {
            Ok(mut node) => each(&mut node),
            Err(failure) => {
                let begin = *before.cursor().inner();
                inp.rewind(before);
                let failure = if failure.at as usize == begin {
                    Failure { expected: Expected::from(Want::Node).and(Want::RBrace), ..failure }
                } else {
                    failure
                };
                emit(inp, failure);
                skip_statement(inp, failure.at as usize);
            }
        }
    }
}

/// Whether a comma and an attribute with a graph follow: `, else_branch = e () => …`.
pub(super) fn begins_branch(inp: &mut Inp<'_, '_>) -> bool {
    let ahead: [_; 4] = std::array::from_fn(|i| peek(inp, i));
    // `, update_binding: […]` after a graph of a training.
    if ahead[..3] == [Some(Kind::Comma), Some(Kind::Ident), Some(Kind::Colon)] {
        return true;
    }
    matches!(
        ahead,
        [Some(Kind::Comma), Some(Kind::Ident), Some(Kind::Equals), Some(Kind::Ident | Kind::String)]
    ) && begins_graph(inp, 3)
}

/// Skips the rest of a broken statement.
fn skip_statement(inp: &mut Inp<'_, '_>, from: usize) {
    let begin = position(inp);
    while position(inp) < from && inp.peek().is_some() {
        inp.skip();
    }
    let mut depth = 0usize;
    loop {
        match peek(inp, 0) {
            None => return,
            Some(Kind::RBrace) if depth == 0 => return,
            Some(_) if depth == 0 && position(inp) > begin && starts_line(inp) => return,
            Some(Kind::LAngle | Kind::RAngle) if is_comparison(inp) => {}
            Some(kind) if is_open(kind) => depth += 1,
            Some(kind) if is_close(kind) => depth = depth.saturating_sub(1),
            Some(_) => {}
        }
        inp.skip();
    }
}

/// `=>`, or a misspelled one.
pub(super) fn arrow<'t>() -> impl P<'t, ()> {
    production(move |inp: &mut Inp<'t, '_>| {
        let at = position(inp);
        match (peek(inp, 0), peek(inp, 1)) {
            (Some(Kind::Arrow), _) => inp.skip(),
            (Some(Kind::Equals), Some(Kind::RAngle)) => {
                emit(inp, Failure::problem(at, Problem::SplitArrow, Want::Arrow));
                inp.skip();
                inp.skip();
            }
            (Some(Kind::LParen), _) => emit(inp, Failure::problem(at, Problem::MissingArrow, Want::Arrow)),
            // `(x) = (y)`, `(x): (y)`
            (Some(Kind::Equals | Kind::Colon | Kind::RAngle), Some(Kind::LParen)) => {
                emit(inp, Failure::problem(at, Problem::WrongArrow, Want::Arrow));
                inp.skip();
            }
            _ => return Err(Failure::expected(at, Want::Arrow)),
        }
        Ok(())
    })
}

/// `=` between results and operator, or the place where it is missing.
pub(super) fn node_equals<'t>() -> impl P<'t, ()> {
    production(move |inp: &mut Inp<'t, '_>| {
        let at = position(inp);
        match (peek(inp, 0), peek(inp, 1)) {
            (Some(Kind::Equals), _) => inp.skip(),
            (Some(Kind::Ident), Some(Kind::LParen | Kind::LAngle | Kind::Dot)) if !starts_line(inp) => {
                emit(inp, Failure::problem(at, Problem::MissingEquals, Want::Equals));
            }
            _ => return Err(Failure::expected(at, Expected::from(Want::Equals).and(Want::Comma))),
        }
        Ok(())
    })
}
