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
    // Blocks without a branch inside, which the compiler does with wide registers.
    while let Some(block) = rest.get(at..).and_then(<[u8]>::first_chunk::<32>)
        && block.iter().fold(true, |all, &byte| all & is_number_byte(byte))
    {
        at += block.len();
    }
    while is_number_byte(*rest.get(at)?) {
        at += 1;
    }
    let closed = rest[at] == b'}' && (packed == 0 || rest.get(at + 1) == Some(&b'}'));
    closed.then_some(at + 1 + packed)
}

/// Whether a byte occurs in plain lists of numbers: those with the letters of `nan` and `inf` are lexed token by token.
#[inline]
fn is_number_byte(byte: u8) -> bool {
    // `+,-.0123456789` are in a row, but for the `/`.
    let is_numeric = (byte.wrapping_sub(b'+') <= b'9' - b'+') & (byte != b'/');
    let is_exponent = byte | 0x20 == b'e';
    let is_space = (byte == b' ') | (byte == b'\t') | (byte == b'\n') | (byte == b'\r');
    is_numeric | is_exponent | is_space
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_number_lists_are_known() {
        let known: Vec<u8> = (0..=u8::MAX).filter(|&byte| is_number_byte(byte)).collect();
        assert_eq!(known, b"\t\n\r +,-.0123456789Ee");
    }

    #[test]
    fn a_list_of_numbers_ends_at_its_brace_wherever_that_is() {
        for length in 0..100 {
            let inside = "1,".repeat(length) + "1";
            assert_eq!(number_block(format!("{inside}}} x").as_bytes()), Some(inside.len() + 1));
            assert_eq!(number_block(format!("{{{inside}}}}}").as_bytes()), Some(inside.len() + 3));
            assert_eq!(number_block(format!("{inside}; 1}}").as_bytes()), None);
            assert_eq!(number_block(inside.as_bytes()), None);
        }
    }
}
