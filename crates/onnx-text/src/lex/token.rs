//! The tokens: kinds only, the spelling stays in the source.
//!
//! White space is skipped; everything else is a token, mistakes included, so that the parser never stops at one. The patterns of the
//! kinds are in `kind.in.rs`, from which `cargo xtask codegen` makes `kind.rs`; what follows a first byte (strings, comments, lists of
//! numbers) is found by the functions below.

pub(crate) use super::kind::Kind;

use logos::Lexer;
use onnx_ir::diag::Span;

/// A token with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Whether a line break (or the start of the file) precedes it.
    pub(crate) starts_line: bool,
    pub(crate) span: Span,
}

pub(super) fn string(lexer: &mut Lexer<'_, Kind>) -> bool {
    match string_end(lexer.remainder().as_bytes()) {
        Some(length) => {
            lexer.bump(length);
            true
        }
        None => false,
    }
}

/// The length of a string including its closing quote, from after the opening one.
pub(super) fn string_end(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &rest[at..])?;
        if rest[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
        if at > rest.len() {
            return None;
        }
    }
}

pub(super) fn comment(lexer: &mut Lexer<'_, Kind>) {
    let rest = lexer.remainder().as_bytes();
    lexer.bump(memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
}

/// Lexes `{1, 2, 3}` as one token if it contains only numbers; the driver distinguishes the cases by the length.
pub(super) fn open_brace(lexer: &mut Lexer<'_, Kind>) {
    if let Some(length) = number_block(lexer.remainder().as_bytes()) {
        lexer.bump(length);
    }
}

/// Lexes `[1, 2, 3]` as one token if it contains only integers and single commas.
pub(super) fn open_bracket(lexer: &mut Lexer<'_, Kind>) {
    if let Some(length) = int_block(lexer.remainder().as_bytes()) {
        lexer.bump(length);
    }
}

/// Length of `1, 2, 3]`, if that is what follows.
fn int_block(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        while matches!(rest.get(at)?, b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
        }
        if rest[at] == b'-' {
            at += 1;
        }
        let digits = at;
        while rest.get(at)?.is_ascii_digit() {
            at += 1;
        }
        // 18 digits always fit; longer numbers are checked separately.
        if at == digits || at - digits > 18 {
            return None;
        }
        while matches!(rest.get(at)?, b' ' | b'\n' | b'\t' | b'\r') {
            at += 1;
        }
        match rest[at] {
            b',' => at += 1,
            b']' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Length of `1, 2, 3}` or `{1, 2}}` (packed elements), if only numbers, commas and white space precede the brace.
fn number_block(rest: &[u8]) -> Option<usize> {
    let packed = usize::from(rest.first() == Some(&b'{'));
    let mut at = packed;
    let first = *rest[at..].iter().find(|b| !b.is_ascii_whitespace())?;
    if !(first.is_ascii_digit() || first == b'-') {
        return None;
    }
    while NUMBER_BYTE[usize::from(*rest.get(at)?)] {
        at += 1;
    }
    let closed = rest[at] == b'}' && (packed == 0 || rest.get(at + 1) == Some(&b'}'));
    closed.then_some(at + 1 + packed)
}

/// The bytes of plain number lists, without the letters of `nan` and `inf`: such lists are lexed token by token.
static NUMBER_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"0123456789+-.eE, \t\n\r";
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
};
