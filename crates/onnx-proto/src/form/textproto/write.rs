//! From wire format to textproto.

use crate::FileKind;
use crate::form::FormatError;
use crate::form::writer::{Document, Syntax, is_list, write};
use crate::wire::{Field, Kind, Message};

/// The encoded message as text, indented by two spaces; lists of numbers are on one line.
///
/// # Errors
///
/// The bytes are not a message of this kind.
pub fn to_text(message: &[u8], kind: FileKind) -> Result<String, FormatError> {
    write::<Textproto>(message, kind, false)
}

struct Textproto;

impl Syntax for Textproto {
    /// Only numbers share the name of their field.
    fn begin_field(document: &mut Document, field: &Field, _: bool) {
        if field.kind.is_number() {
            document.indent();
            document.out.push_str(field.name);
            document.out.push_str(if is_list(field) { ": [" } else { ": " });
        }
    }

    fn end_field(document: &mut Document, field: &Field) {
        if field.kind.is_number() {
            document.out.push_str(if is_list(field) { "]\n" } else { "\n" });
        }
    }

    fn begin_value(document: &mut Document, field: &Field, _: bool) {
        document.indent();
        document.out.push_str(field.name);
    }

    fn begin_message(document: &mut Document) {
        document.out.push_str(" {\n");
    }

    fn end_message(document: &mut Document, _: bool) {
        document.indent();
        document.out.push_str("}\n");
    }

    fn string(document: &mut Document, _: &Message, field: &Field, value: &[u8]) -> Result<(), FormatError> {
        document.out.push_str(": \"");
        escaped(&mut document.out, value, matches!(field.kind, Kind::String));
        document.out.push_str("\"\n");
        Ok(())
    }

    fn special(value: f64) -> &'static str {
        match value {
            f64::INFINITY => "inf",
            f64::NEG_INFINITY => "-inf",
            _ => "nan",
        }
    }

    fn is_quoted(_: Kind, _: bool) -> bool {
        false
    }
}

/// The content of a string. UTF-8 text stays readable; other bytes are octal escapes.
fn escaped(out: &mut String, bytes: &[u8], is_text: bool) {
    let text = std::str::from_utf8(bytes).ok().filter(|_| is_text);
    match text {
        Some(text) => text.chars().for_each(|c| match u8::try_from(c) {
            Ok(byte) if byte.is_ascii() => push_byte(out, byte),
            _ => out.push(c),
        }),
        None => bytes.iter().for_each(|&byte| push_byte(out, byte)),
    }
}

fn push_byte(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\t' => out.push_str("\\t"),
        b'\r' => out.push_str("\\r"),
        b' '..=b'~' => out.push(char::from(byte)),
        _ => {
            out.push('\\');
            out.extend([6, 3, 0].map(|shift| char::from(b'0' + (byte >> shift & 7))));
        }
    }
}
