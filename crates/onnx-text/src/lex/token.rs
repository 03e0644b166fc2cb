//! The tokens, and the one place that names logos.
//!
//! Kinds only: the spelling stays in the source. White space is skipped; everything else is a token, mistakes
//! included, so that the parser never stops at one.

use logos::{Lexer, Logos};
use onnx_ir::diag::Span;

/// A token with its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Whether a line break (or the start of the file) precedes it.
    pub(crate) starts_line: bool,
    pub(crate) span: Span,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Logos)]
#[logos(skip r"[ \t\n\v\f\r]+")]
#[repr(u8)]
pub(crate) enum Kind {
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    /// `"…"`, line breaks allowed.
    #[token("\"", string)]
    String,
    /// `b"…"` with escapes for any byte.
    #[token("b\"", string)]
    Bytes,
    #[regex(r"-?[0-9]+", priority = 5)]
    Int,
    #[regex(r"-?[0-9]+(\.[0-9]*([eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+)", priority = 6)]
    Float,
    /// `-inf`, `-nan`; without the sign they are identifiers.
    #[regex(r"-([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY]|[nN][aA][nN])", priority = 6)]
    Special,
    /// `{…}` of plain numbers, braces included.
    #[token("{", open_brace)]
    LBrace,
    #[token("}")]
    RBrace,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[", open_bracket)]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("<")]
    LAngle,
    #[token(">")]
    RAngle,
    #[token(",")]
    Comma,
    #[token("=")]
    Equals,
    #[token("=>")]
    Arrow,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("@")]
    At,
    #[token("?")]
    Question,
    #[token("$")]
    Dollar,

    /// To the end of the line, the line break not included.
    #[token("#", comment)]
    #[token("//", comment)]
    Comment,

    // Made from comments by the driver in files that have annotations.
    /// `#@` at the start of an annotation.
    Note,
    /// The end of an annotation's line.
    NoteEnd,
    /// A `##` line.
    Doc,
    /// `{1, 2, 3}` of plain numbers, made from `LBrace`.
    Numbers,
    /// `[1, 2, 3]` of plain integers, made from `LBracket`.
    Ints,

    // Mistakes, which the driver reports and replaces.
    /// `0x1F`, `1e`, `3abc`
    #[regex(r"-?[0-9][0-9A-Za-z_.]*", priority = 4)]
    BadNumber,
    /// `/layer/T`, `-x`: a run that looks like a name but is not one.
    #[regex(r##"(/[^/ \t\n\v\f\r"#(){}\[\]<>,=:@?$;.]|[^/ \t\n\v\f\r"#(){}\[\]<>,=:@?$;.0-9A-Za-z_])[^ \t\n\v\f\r"#(){}\[\]<>,=:@?$;]*"##, priority = 1)]
    BadName,
    #[token(";")]
    Semicolon,
    /// A string that nothing closes.
    Unterminated,
    /// Anything else.
    Unknown,
}

fn string(lexer: &mut Lexer<'_, Kind>) -> bool {
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

fn comment(lexer: &mut Lexer<'_, Kind>) {
    let rest = lexer.remainder().as_bytes();
    lexer.bump(memchr::memchr(b'\n', rest).unwrap_or(rest.len()));
}

/// Lexes `{1, 2, 3}` as one token if it contains only numbers; the driver distinguishes the cases by the length.
fn open_brace(lexer: &mut Lexer<'_, Kind>) {
    if let Some(length) = number_block(lexer.remainder().as_bytes()) {
        lexer.bump(length);
    }
}

/// Lexes `[1, 2, 3]` as one token if it contains only integers and single commas.
fn open_bracket(lexer: &mut Lexer<'_, Kind>) {
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
