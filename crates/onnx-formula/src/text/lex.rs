//! The lexer of formulas and schedules.
//!
//! Written by hand: six kinds of tokens need no generator, and the generator of this project is used only for the syntax of
//! models.

use std::ops::Range;

/// A token. The meaning of a word depends on its context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token {
    /// A keyword, a function, an element type, an index or a name.
    Word,
    /// A name in double quotes.
    Quoted,
    /// A slot without a name.
    Slot,
    /// Digits alone.
    Int,
    /// Digits with a point, an exponent or an `f`.
    Float,
    /// Anything else.
    Symbol,
}

/// Two-character symbols.
const PAIRS: [&[u8]; 6] = [b"<<", b">>", b"<=", b">=", b"==", b".."];
/// One-character symbols.
const SYMBOLS: &[u8] = b"-[](){},=+*/%<>&|^:;";

/// The tokens of a text with their bytes; fails at a byte where no token starts. Blanks and comments, from `#` to the end of a
/// line, separate tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, usize> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&first) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = match first {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'#' => {
                at += rest.iter().position(|c| *c == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'"' => quoted(rest).map(|length| (Token::Quoted, length)),
            b'%' if digits(&rest[1..]) > 0 => Some((Token::Slot, 1 + digits(&rest[1..]))),
            b'0'..=b'9' => Some(number(rest)),
            c if c.is_ascii_alphabetic() || c == b'_' => {
                let is_inner = |c: &u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.');
                Some((Token::Word, rest.iter().take_while(|c| is_inner(c)).count()))
            }
            _ if PAIRS.iter().any(|pair| rest.starts_with(pair)) => Some((Token::Symbol, 2)),
            c if SYMBOLS.contains(&c) => Some((Token::Symbol, 1)),
            _ => None,
        };
        let (token, length) = length.ok_or(at)?;
        tokens.push((token, at..at + length));
        at += length;
    }
    Ok(tokens)
}

/// The length of a quoted name, which ends on the same line.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\n' => return None,
            // The next byte may start a multi-byte character, whose other bytes are never quotes.
            b'\\' if text.get(at + 1).is_some_and(|next| *next != b'\n') => at += 2,
            b'\\' => return None,
            _ => at += 1,
        }
    }
}

/// The length of a number without a sign. A point or exponent without following digits is not part of it.
fn number(text: &[u8]) -> (Token, usize) {
    let int = digits(text);
    let mut end = int;
    if text.get(end) == Some(&b'.') && digits(&text[end + 1..]) > 0 {
        end += 1 + digits(&text[end + 1..]);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(text.get(end + 1 + sign..).unwrap_or_default());
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    end += usize::from(text.get(end) == Some(&b'f'));
    (if end == int { Token::Int } else { Token::Float }, end)
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

/// Words that cannot be names, because they start something else where a name may occur.
const RESERVED: [&str; 25] = [
    "total", "sum", "product", "max", "min", "first", "last", "argmax", "argmin", "over", "of", "where",
    "and", "or", "xor", "not", "if", "else", "inf", "NaN", "index", "bits", "as", "at", "in",
];

/// Whether a name needs no quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    if let Some(number) = name.strip_prefix('%') {
        return !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    }
    let mut bytes = name.bytes();
    let is_first = |c: u8| c.is_ascii_alphabetic() || c == b'_';
    bytes.next().is_some_and(is_first)
        && bytes.all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'.')
        && !RESERVED.contains(&name)
        && index_of(name).is_none()
        && onnx_ir::ElemType::from_name(name).is_none()
}

/// The number of an index: 3 for `i3`.
pub(super) fn index_of(word: &str) -> Option<usize> {
    let digits = word.strip_prefix('i')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_apart() {
        let text = "%3[i0] <= 1.5e-3f ..2 \"a \\\" b\" # x \" y\n1e 7";
        let found: Vec<(Token, &str)> =
            tokens(text).expect("tokens").into_iter().map(|(token, at)| (token, &text[at])).collect();
        use Token::*;
        let expected = [
            (Slot, "%3"),
            (Symbol, "["),
            (Word, "i0"),
            (Symbol, "]"),
            (Symbol, "<="),
            (Float, "1.5e-3f"),
            (Symbol, ".."),
            (Int, "2"),
            (Quoted, "\"a \\\" b\""),
            (Int, "1"),
            (Word, "e"),
            (Int, "7"),
        ];
        assert_eq!(found[..12], expected[..]);
        // No token starts with a single point.
        assert_eq!(tokens("7.x"), Err(1));
        assert_eq!((tokens("\"a\n\""), tokens("é")), (Err(0), Err(0)));
    }
}
