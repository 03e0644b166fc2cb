//! The text that a raised tree points into: one spelling after the other, in document order.

use crate::ast::ELIDED;
use crate::identifier::quote;
use crate::visible::is_active;
use onnx_ir::diag::Span;
use std::fmt::Write;

/// Spellings, set apart by white space.
#[derive(Default)]
pub(crate) struct Buffer {
    pub(crate) text: String,
}

impl Buffer {
    fn start(&self) -> usize {
        self.text.len()
    }

    fn end(&mut self, start: usize) -> Span {
        let offset = |at| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span::new(offset(start), offset(self.text.len()));
        self.text.push(' ');
        span
    }

    /// The place where the next spelling will begin.
    pub(crate) fn here(&self) -> Span {
        Span::at(u32::try_from(self.text.len()).unwrap_or(u32::MAX))
    }

    /// From an earlier place to the end of the last spelling.
    pub(crate) fn since(&self, start: Span) -> Span {
        let end = self.text.len().saturating_sub(1);
        Span::new(start.start, u32::try_from(end).unwrap_or(u32::MAX).max(start.start))
    }

    pub(crate) fn put(&mut self, word: &str) -> Span {
        let start = self.start();
        self.text.push_str(word);
        self.end(start)
    }

    pub(crate) fn int(&mut self, value: impl itoa::Integer) -> Span {
        self.put(itoa::Buffer::new().format(value))
    }

    /// `[1, 2, 3]`, or `[1, 2, …]` if others are elided.
    pub(crate) fn ints(&mut self, list: impl Iterator<Item = i64>, is_cut: bool) -> Span {
        let start = self.start();
        let mut separator = "[";
        let mut buffer = itoa::Buffer::new();
        for value in list {
            self.text.push_str(separator);
            self.text.push_str(buffer.format(value));
            separator = ", ";
        }
        if is_cut {
            self.text.push_str(separator);
            self.text.push_str(ELIDED);
        }
        self.text.push(']');
        self.end(start)
    }

    /// A float with a point or an exponent, so that it reads as one.
    pub(crate) fn float(&mut self, value: f32) -> Span {
        if value.is_nan() {
            return self.put(if value.is_sign_negative() { "-nan" } else { "nan" });
        }
        if value.is_infinite() {
            return self.put(if value < 0.0 { "-inf" } else { "inf" });
        }
        let mut buffer = zmij::Buffer::new();
        self.put(buffer.format_finite(value))
    }

    pub(crate) fn double(&mut self, value: f64) -> Span {
        if value.is_nan() {
            return self.put(if value.is_sign_negative() { "-nan" } else { "nan" });
        }
        if value.is_infinite() {
            return self.put(if value < 0.0 { "-inf" } else { "inf" });
        }
        let mut buffer = zmij::Buffer::new();
        self.put(buffer.format_finite(value))
    }

    /// A string as the reference reads it: a backslash protects quotes and backslashes, everything else is itself.
    pub(crate) fn string(&mut self, text: &str) -> Span {
        let start = self.start();
        quote(text, &mut self.text);
        self.end(start)
    }

    /// A string with the escapes of annotations: on one line.
    pub(crate) fn escaped(&mut self, text: &str) -> Span {
        let start = self.start();
        self.text.push('"');
        let special = |c: char| c < ' ' || matches!(c, '"' | '\\') || is_active(c);
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| special(*c)) {
            self.text.push_str(&rest[..at]);
            let end = at + c.len_utf8();
            rest.as_bytes()[at..end].iter().for_each(|&byte| self.escape(byte));
            rest = &rest[end..];
        }
        self.text.push_str(rest);
        self.text.push('"');
        self.end(start)
    }

    /// `b"…"`: any bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.start();
        self.text.push_str("b\"");
        for &byte in bytes {
            match byte {
                b' '..=b'~' if byte != b'"' && byte != b'\\' => self.text.push(char::from(byte)),
                _ => self.escape(byte),
            }
        }
        self.text.push('"');
        self.end(start)
    }

    fn escape(&mut self, byte: u8) {
        match byte {
            b'\n' => self.text.push_str("\\n"),
            b'\t' => self.text.push_str("\\t"),
            b'\r' => self.text.push_str("\\r"),
            b'"' => self.text.push_str("\\\""),
            b'\\' => self.text.push_str("\\\\"),
            _ => {
                let _ = write!(self.text, "\\x{byte:02x}");
            }
        }
    }
}
