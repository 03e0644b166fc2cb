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
fn begins_call(tokens: &[Token]) -> bool {
    let mut at = 0;
    while tokens.get(at).is_some_and(|t| matches!(t.kind, Kind::Ident))
        && tokens.get(at + 1).is_some_and(|t| matches!(t.kind, Kind::Dot | Kind::Colon))
    {
        at += 2;
    }
    tokens.get(at).is_some_and(|t| t.kind == Kind::Ident)
        && tokens.get(at + 1).is_some_and(|t| matches!(t.kind, Kind::LParen | Kind::LAngle))
}
