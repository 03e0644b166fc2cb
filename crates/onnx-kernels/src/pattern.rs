//! The RegexFullMatch kernel: matches whole strings against patterns in RE2 syntax.
//!
//! The regex library's syntax is close to RE2 but differs: its `\d \w \s \b` include Unicode; its classes nest and intersect;
//! some escapes are missing or mean something else. [`translated`] rewrites an RE2 pattern to an equivalent one. Syntax:
//! github.com/google/re2/wiki/Syntax.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::tensor::Tensor;
use regex::bytes::Regex;
use std::iter::Peekable;
use std::str::Chars;

pub(crate) const ROWS: &[Row] = &[row("", "RegexFullMatch", full_match)];

fn full_match(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let pattern = call.attrs.string("pattern").unwrap_or_default();
    let regex = build(&pattern, &format!(r"\A(?:{})\z", translated(&pattern)))?;
    let matches = x.string_slice()?.iter().map(|text| regex.is_match(text.as_bytes()));
    Ok(vec![Tensor::of_bools(x.dims(), matches)?.into()])
}

/// Compiles a pattern in RE2 syntax.
pub(crate) fn compiled(pattern: &str) -> Result<Regex, Failure> {
    build(pattern, &translated(pattern))
}

fn build(pattern: &str, translated: &str) -> Result<Regex, Failure> {
    match Regex::new(translated) {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(most)) => {
            fail!("the pattern `{pattern}` takes more than {}", counted(most, "byte"))
        }
        Err(_) => fail!("`{pattern}` is not a pattern in the syntax of RE2"),
    }
}

/// The pattern in the syntax of the library.
fn translated(pattern: &str) -> String {
    let mut to = String::with_capacity(pattern.len() + 8);
    let mut from = pattern.chars().peekable();
    while let Some(c) = from.next() {
        match c {
            '\\' if from.peek() == Some(&'Q') => {
                from.next();
                to.push_str(&regex::escape(&quoted(&mut from)));
            }
            '\\' => escape(&mut from, &mut to, PatternPlace::Outside),
            '[' => class(&mut from, &mut to),
            c => to.push(c),
        }
    }
    to
}

/// Literal text up to `\E` or the end.
fn quoted(from: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(c) = from.next() {
        if c == '\\' && from.peek() == Some(&'E') {
            from.next();
            break;
        }
        text.push(c);
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternPlace {
    Outside,
    InClass,
}

/// The escape after a backslash.
fn escape(from: &mut Peekable<Chars<'_>>, to: &mut String, place: PatternPlace) {
    let Some(c) = from.next() else {
        to.push('\\');
        return;
    };
    match c {
        'd' => to.push_str("[0-9]"),
        'D' => to.push_str("[^0-9]"),
        's' => to.push_str(r"[\t\n\f\r ]"),
        'S' => to.push_str(r"[^\t\n\f\r ]"),
        'w' => to.push_str("[0-9A-Za-z_]"),
        'W' => to.push_str("[^0-9A-Za-z_]"),
        'b' | 'B' if place == PatternPlace::Outside => {
            to.push_str(r"(?-u:\");
            to.push(c);
            to.push(')');
        }
        // Any single byte.
        'C' if place == PatternPlace::Outside => to.push_str("(?s-u:.)"),
        '0'..='7' => {
            let mut code = u32::from(c) - u32::from('0');
            let mut digits = 1;
            while digits < 3
                && let Some(digit) = from.peek().and_then(|c| c.to_digit(8))
            {
                code = code * 8 + digit;
                digits += 1;
                from.next();
            }
            // A single digit other than 0 is a back-reference, which neither supports.
            match (c, digits) {
                ('1'..='7', 1) => to.extend(['\\', c]),
                _ => to.push_str(&format!(r"\x{{{code:x}}}")),
            }
        }
        c if c.is_ascii_alphanumeric() => to.extend(['\\', c]),
        c => to.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
    }
}

/// A class after its opening bracket: `[`, `&`, `~` and a second `-` in it are literal.
fn class(from: &mut Peekable<Chars<'_>>, to: &mut String) {
    to.push('[');
    if from.next_if_eq(&'^').is_some() {
        to.push('^');
    }
    let mut is_first = true;
    while let Some(c) = from.next() {
        match c {
            ']' if !is_first => {
                to.push(']');
                return;
            }
            '\\' => escape(from, to, PatternPlace::InClass),
            '[' if from.peek() == Some(&':') => {
                to.push('[');
                for c in from.by_ref() {
                    to.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '-' if is_first || to.ends_with('-') => to.push_str(r"\-"),
            '[' | ']' | '&' | '~' => to.extend(['\\', c]),
            c => to.push(c),
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_re2() {
        let matches = |pattern: &str, text: &str| {
            Regex::new(&format!(r"\A(?:{})\z", translated(pattern))).expect(pattern).is_match(text.as_bytes())
        };
        for (pattern, text, expected) in [
            (r"\d+", "12", true),
            (r"\d+", "١٢", false),
            (r"[\d.]+", "1.5", true),
            (r"[a&&b]+", "&ab", true),
            (r"[[a]+", "[a", true),
            (r"[[:alpha:]]+", "ab", true),
            (r"[]a]+", "]a", true),
            (r"[^]a]+", "bc", true),
            (r"[+--]+", "+,-", true),
            (r"\Qa.b\E+", "a.bb", true),
            (r"\Qa.b\E", "axb", false),
            (r"\x41\101\0", "AA\0", true),
            (r"\<a\>", "<a>", true),
            (r"a|ab", "ab", true),
            (r"(?i)straße\b.*", "STRAßE x", true),
            (r"\C\C", "é", true),
            (r".", "é", true),
            (r"(\W[\w.-]+@[\w]+)", "a@b", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} on {text}");
        }
    }
}
