//! Values of literals: strings, integers, floats.

use onnx_ir::diag::{Diagnostic, Edit, Span, code};
use std::borrow::Cow;

/// The escapes in a string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `\c` is `c` for every `c`, as the reference parser has it.
    Literal,
    /// `\n`, `\t`, `\r`, `\0`, `\xHH`, `\\`, `\"`: in byte strings and in annotations.
    Bytes,
}

/// The bytes of a spelling: an identifier, `"…"`, or `b"…"`.
pub(crate) fn unquote(spelling: &str, escapes: Escapes) -> Cow<'_, [u8]> {
    // The lexer has reported single quotes.
    let (quote, quoted, escapes) = match spelling.as_bytes() {
        [b'b', quote @ (b'"' | b'\''), ..] => (*quote, &spelling[2..], Escapes::Bytes),
        [quote @ (b'"' | b'\''), ..] => (*quote, &spelling[1..], escapes),
        _ => return Cow::Borrowed(spelling.as_bytes()),
    };
    let inner = quoted.strip_suffix(char::from(quote)).unwrap_or(quoted);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner.as_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        let Some(&c) = rest.get(at + 1) else {
            rest = &rest[at + 1..];
            break;
        };
        rest = &rest[at + 2..];
        match (escapes, c) {
            (Escapes::Literal, c) => out.push(c),
            (Escapes::Bytes, b'n') => out.push(b'\n'),
            (Escapes::Bytes, b't') => out.push(b'\t'),
            (Escapes::Bytes, b'r') => out.push(b'\r'),
            (Escapes::Bytes, b'0') => out.push(0),
            (Escapes::Bytes, b'x') => match hex(rest) {
                Some(byte) => {
                    out.push(byte);
                    rest = &rest[2..];
                }
                None => out.push(b'x'),
            },
            (Escapes::Bytes, c) => out.push(c),
        }
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

fn hex(rest: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
    u8::from_str_radix(digits, 16).ok()
}

/// A warning if a backslash in a string looks like an escape of another language.
pub(crate) fn check_escapes(spelling: &str, place: Span) -> Option<Diagnostic> {
    if !spelling.starts_with('"') {
        return None;
    }
    let mut from = 1;
    while let Some(at) = memchr::memchr(b'\\', &spelling.as_bytes()[from..]).map(|i| i + from) {
        let c = spelling[at + 1..].chars().next()?;
        if matches!(c, 'n' | 't' | 'r' | '0' | 'x' | 'u') {
            let start = place.start + u32::try_from(at).unwrap_or(0);
            let mut d = Diagnostic::new(
                &code::ESCAPE_IS_LITERAL,
                Span::new(start, start + 2),
                format!("`\\{c}` stands for the letter `{c}`"),
            )
            .label("in ONNX text, a backslash only quotes the next character");
            if c != 'u' {
                d = d.help("write a byte string, `b\"…\"`, in which escapes have their usual meaning").fix(
                    "make it a byte string",
                    vec![Edit { span: Span::at(place.start), text: "b".into() }],
                    false,
                );
            }
            return Some(d);
        }
        from = at + 1 + c.len_utf8();
    }
    None
}

/// Why a number is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It is not of the kind that is asked for.
    Kind,
    /// It does not fit.
    Range,
}

pub(crate) fn int(spelling: &str) -> Result<i64, Refused> {
    if let Ok(value) = spelling.parse() {
        return Ok(value);
    }
    let meant = meant(spelling);
    meant.parse().map_err(|_| if is_int(&meant) { Refused::Range } else { Refused::Kind })
}

/// The spelling of a number; for a foreign spelling, which the lexer has reported, the correct one.
pub(crate) fn meant(spelling: &str) -> Cow<'_, str> {
    match crate::lex::meant_number(spelling) {
        Some(right) => right.into(),
        None => spelling.into(),
    }
}

fn is_int(spelling: &str) -> bool {
    let digits = spelling.strip_prefix('-').unwrap_or(spelling);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `inf`, `-nan` and the like, in any case, as the sign and whether it is a number at all.
pub(crate) fn special(spelling: &str) -> Option<f64> {
    let (negative, word) = match spelling.strip_prefix('-') {
        Some(word) => (true, word),
        None => (false, spelling),
    };
    let value = if word.eq_ignore_ascii_case("nan") {
        f64::NAN
    } else if word.eq_ignore_ascii_case("inf") || word.eq_ignore_ascii_case("infinity") {
        f64::INFINITY
    } else {
        return None;
    };
    Some(if negative { -value } else { value })
}

/// A float literal as `f32`, correctly rounded from its decimal spelling.
pub(crate) fn float32(spelling: &str) -> Option<f32> {
    match special(spelling) {
        Some(value) if value.is_nan() => {
            Some(f32::from_bits(f32::NAN.to_bits() | (u32::from(value.is_sign_negative()) << 31)))
        }
        Some(value) if value > 0.0 => Some(f32::INFINITY),
        Some(_) => Some(f32::NEG_INFINITY),
        None => spelling.parse().or_else(|_| meant(spelling).parse()).ok(),
    }
}

/// A float literal as `f64`.
pub(crate) fn float64(spelling: &str) -> Option<f64> {
    special(spelling).or_else(|| spelling.parse().or_else(|_| meant(spelling).parse()).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_protects_one_character() {
        assert_eq!(*unquote(r#""a\"b\\c\n""#, Escapes::Literal), *br#"a"b\cn"#);
        assert_eq!(*unquote(r#""a\n\x41\0""#, Escapes::Bytes), *b"a\nA\0");
        assert_eq!(*unquote(r#"b"\xff\"""#, Escapes::Literal), *b"\xff\"");
        assert_eq!(*unquote("name", Escapes::Literal), *b"name");
    }

    #[test]
    fn suspicious_escapes_are_found_and_doubled_backslashes_are_not() {
        let place = Span::new(10, 20);
        assert!(check_escapes(r#""a\nb""#, place).is_some());
        assert!(check_escapes(r#""a\\nb\"""#, place).is_none());
        assert!(check_escapes(r#"b"\n""#, place).is_none());
    }

    #[test]
    fn special_numbers_keep_their_sign() {
        assert!(float32("-NaN").is_some_and(|f| f.is_nan() && f.is_sign_negative()));
        assert_eq!((float32("-Infinity"), float32("1e-3")), (Some(f32::NEG_INFINITY), Some(1e-3)));
        assert_eq!(
            (int("12"), int("1.5"), int("99999999999999999999")),
            (Ok(12), Err(Refused::Kind), Err(Refused::Range))
        );
    }
}
