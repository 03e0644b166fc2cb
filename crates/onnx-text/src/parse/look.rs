//! Lookahead for error recovery: the next bracket, and whether a list has been left.

use super::grammar::Inp;
use super::primitives::position;
use crate::lex::{Kind, Token};

/// The most tokens of lookahead at a mistake. Without a limit, a text full of mistakes would take quadratic time.
pub(super) const LOOK: usize = 2048;

/// The closing bracket of an opening one.
pub(super) fn closing(open: Kind) -> Kind {
    match open {
        Kind::LParen => Kind::RParen,
        Kind::LBracket => Kind::RBracket,
        Kind::LAngle => Kind::RAngle,
        _ => Kind::RBrace,
    }
}

pub(super) fn is_open(kind: Kind) -> bool {
    matches!(kind, Kind::LParen | Kind::LBracket | Kind::LBrace | Kind::LAngle)
}

pub(super) fn is_close(kind: Kind) -> bool {
    matches!(kind, Kind::RParen | Kind::RBracket | Kind::RBrace | Kind::RAngle)
}

/// Whether two items without a comma between them cannot be one that a slip has split, as `batch size` may be. A number before them
/// may have lost its comma to a digit: `axis = 10 keepdims = 1`.
pub(super) fn is_apart(inp: &mut Inp<'_, '_>, length: usize) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    let is_word = |kind: Option<Kind>| {
        matches!(
            kind,
            Some(Kind::Ident | Kind::Int | Kind::Float | Kind::Special | Kind::String | Kind::Bytes)
        )
    };
    if matches!(at.checked_sub(1).and_then(kind), Some(Kind::Int | Kind::Float)) {
        return false;
    }
    if !is_word(kind(at)) || !is_word(at.checked_sub(1).and_then(kind)) {
        // A word alone, as in `w = {1} _`, may be there by mistake.
        return kind(at + 1).is_some_and(|next| next != Kind::Comma && !is_close(next));
    }
    // `float[N] x float[N] y`, `"a": "b" "c": "d"`
    length > 1
        && match kind(at + 1) {
            Some(Kind::Equals | Kind::Colon) => true,
            Some(Kind::LBracket | Kind::Ints | Kind::LParen | Kind::Ident) => kind(at) == Some(Kind::Ident),
            _ => false,
        }
}

/// Whether a comma before the token at `at`, after an item of `length` tokens, is probably a mistake: an item of a single token
/// may have been lost instead, and a digit of a number may have become a comma.
pub(super) fn is_surplus(tokens: &[Token], at: usize, length: usize) -> bool {
    let before = at.checked_sub(1).and_then(|i| tokens.get(i)).map(|t| t.kind);
    length > 2 && !matches!(before, Some(Kind::Int | Kind::Float))
}

/// The next bracket that closes something opened before.
pub(super) fn next_close(inp: &mut Inp<'_, '_>) -> Option<Kind> {
    let at = position(inp);
    let mut depth = 0usize;
    for token in inp.full_slice()[at..].iter().take(LOOK) {
        if is_open(token.kind) {
            depth += 1;
        } else if is_close(token.kind) {
            if depth == 0 {
                return Some(token.kind);
            }
            depth -= 1;
        }
    }
    None
}

/// The bracket that closes the innermost open one before token `at`.
pub(super) fn enclosing(tokens: &[Token], at: usize) -> Option<Kind> {
    let mut depth = 0usize;
    for token in tokens[..at].iter().rev().take(LOOK) {
        if is_close(token.kind) {
            depth += 1;
        } else if is_open(token.kind) {
            if depth == 0 {
                return Some(closing(token.kind));
            }
            depth -= 1;
        }
    }
    None
}

/// The brackets that close those open before token `at`, the outermost first.
pub(super) fn open_brackets(tokens: &[Token], at: usize) -> Vec<Kind> {
    let mut closed = 0usize;
    let mut open = Vec::new();
    for token in tokens[..at].iter().rev().take(LOOK) {
        if is_close(token.kind) {
            closed += 1;
        } else if is_open(token.kind) {
            match closed {
                0 => open.push(closing(token.kind)),
                _ => closed -= 1,
            }
        }
    }
    open.reverse();
    open
}

/// How many of these tokens come before the first bracket that does not fit what is open, or before the end, if something is open
/// there.
pub(super) fn first_mismatch(open: &[Kind], tokens: &[Token]) -> usize {
    let mut open = open.to_vec();
    for (i, token) in tokens.iter().enumerate().take(LOOK) {
        if is_open(token.kind) {
            open.push(closing(token.kind));
        } else if is_close(token.kind) && open.pop() != Some(token.kind) {
            return i;
        }
    }
    if open.is_empty() { LOOK } else { tokens.len().min(LOOK) }
}

/// The role of a closing bracket that does not belong to the innermost open one, judged by which reading fits the brackets after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OddBracket {
    /// It closes what is around the innermost one, which lacks its own.
    OfEnclosing,
    /// It stands in place of another.
    Wrong,
    /// Nothing lacks it.
    Stray,
}

/// The closing bracket at `at`, where a block opened at `open_at` is not closed.
pub(super) fn odd_bracket(tokens: &[Token], open_at: usize, at: usize) -> OddBracket {
    let kind = tokens[at].kind;
    let around = open_brackets(tokens, open_at);
    let with = |own: Kind| around.iter().copied().chain([own]).collect::<Vec<_>>();
    let enclosing = first_mismatch(&around, &tokens[at..]);
    let wrong = first_mismatch(&with(kind), &tokens[at..]);
    let stray = 1 + first_mismatch(&with(closing(tokens[open_at].kind)), &tokens[at + 1..]);
    if wrong > stray && wrong > enclosing {
        OddBracket::Wrong
    } else if enclosing > stray {
        OddBracket::OfEnclosing
    } else {
        OddBracket::Stray
    }
}

/// Whether what follows a comma in a list cannot be another item of it, but belongs to the list around: `[1, 2, name = 3`,
/// `["": 21, domain: "d"`, `{1, 2, float[2] v = …`.
pub(super) fn leaves_list(tokens: &[Token], open_at: usize, comma: usize) -> bool {
    let kind = |i: usize| tokens.get(i).map(|t| t.kind);
    if !matches!(kind(open_at), Some(Kind::LBracket | Kind::LBrace)) || kind(comma + 1) != Some(Kind::Ident) {
        return false;
    }
    let is_key =
        |i: usize| kind(i) == Some(Kind::Ident) && matches!(kind(i + 1), Some(Kind::Equals | Kind::Colon));
    let is_literal =
        matches!(kind(open_at + 1), Some(Kind::Int | Kind::Float | Kind::Special | Kind::String));
    // `float {1}`, an element of a list of tensors, has no key.
    let is_value = matches!(kind(comma + 2), Some(Kind::Ident | Kind::LBracket | Kind::Ints | Kind::String));
    let leaves = !is_key(open_at + 1) && is_key(comma + 1) && kind(comma + 3) != Some(Kind::LBrace)
        || is_literal && is_value;
    // Otherwise its bracket is there.
    leaves && {
        let around = open_brackets(tokens, open_at);
        let own: Vec<Kind> = around.iter().copied().chain([closing(tokens[open_at].kind)]).collect();
        first_mismatch(&around, &tokens[comma..]) > first_mismatch(&own, &tokens[comma..])
    }
}

/// Whether an item of some list can begin with this.
pub(super) fn begins_item(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Ident
            | Kind::String
            | Kind::Bytes
            | Kind::Int
            | Kind::Float
            | Kind::Special
            | Kind::Question
            | Kind::Ints
            | Kind::Note
            | Kind::Doc
            | Kind::At
            | Kind::Dollar
    )
}

/// Whether an open list has probably been left: at the end of the file, before a body or an arrow, or at a line that starts a
/// statement, unless its closing bracket comes before the next statement.
pub(super) fn ends_here(inp: &mut Inp<'_, '_>, open: Kind) -> bool {
    let at = position(inp);
    let tokens = inp.full_slice();
    let Some(next) = tokens.get(at) else { return true };
    match next.kind {
        Kind::RBrace | Kind::NoteEnd => return open != Kind::LBrace,
        Kind::Arrow | Kind::LBrace => return true,
        // `y = Relu <alpha = 1 (x)`
        Kind::LParen => return open == Kind::LAngle,
        _ if !next.starts_line => return false,
        _ => {}
    }
    let close = closing(open);
    let mut depth = 0usize;
    let mut names_only = true;
    for (i, token) in tokens.iter().enumerate().skip(at).take(LOOK) {
        match token.kind {
            kind if depth == 0 && kind == close => return false,
            Kind::RBrace | Kind::Arrow if depth == 0 => return true,
            Kind::LBrace if depth == 0 && open != Kind::LAngle => return true,
            // `a, b = Op(`: a statement. In a list of attributes, `a = Op` needs further lookahead.
            Kind::Equals if depth == 0 && names_only => {
                return open != Kind::LAngle || begins_call(&tokens[i + 1..]);
            }
            Kind::Ident | Kind::String | Kind::Comma => {}
            kind if is_open(kind) => {
                depth += 1;
                names_only = false;
            }
            kind if is_close(kind) => {
                depth = depth.saturating_sub(1);
                names_only = false;
            }
            _ => names_only = false,
        }
    }
    true
}

/// `Op(`, `dom.Op <`, `Op:v2(`
pub(super) fn begins_call(tokens: &[Token]) -> bool {
    let mut at = 0;
    while tokens.get(at).is_some_and(|t| matches!(t.kind, Kind::Ident))
        && tokens.get(at + 1).is_some_and(|t| matches!(t.kind, Kind::Dot | Kind::Colon))
    {
        at += 2;
    }
    tokens.get(at).is_some_and(|t| t.kind == Kind::Ident)
        && tokens.get(at + 1).is_some_and(|t| matches!(t.kind, Kind::LParen | Kind::LAngle))
}
