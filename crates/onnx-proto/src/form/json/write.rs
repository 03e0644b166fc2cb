//! From wire format to JSON.

use super::camel_case;
use crate::FileKind;
use crate::form::FormatError;
use crate::form::writer::{Document, Syntax, is_list, write};
use crate::wire::{Field, Kind, Message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The encoded message as JSON, indented by two spaces; lists of numbers are on one line.
///
/// # Errors
///
/// The bytes are not a message of this kind, or a string in them is not UTF-8.
pub fn to_json(message: &[u8], kind: FileKind) -> Result<String, FormatError> {
    Ok(write::<Json>(message, kind, true)? + "\n")
}

struct Json;

impl Syntax for Json {
    fn begin_field(document: &mut Document, field: &Field, is_first: bool) {
        if !is_first {
            document.out.push(',');
        }
        line(document);
        document.out.push('"');
        document.out.push_str(&camel_case(field.name));
        document.out.push_str("\": ");
        if is_list(field) {
            document.out.push('[');
            document.indent += usize::from(!field.kind.is_number());
        }
    }

    fn end_field(document: &mut Document, field: &Field) {
        if is_list(field) {
            if !field.kind.is_number() {
                document.indent -= 1;
                line(document);
            }
            document.out.push(']');
        }
    }

    fn begin_value(document: &mut Document, field: &Field, continues: bool) {
        if is_list(field) {
            document.out.push_str(if continues { "," } else { "" });
            line(document);
        }
    }

    fn begin_message(document: &mut Document) {
        document.out.push('{');
    }

    fn end_message(document: &mut Document, is_empty: bool) {
        if !is_empty {
            line(document);
        }
        document.out.push('}');
    }

    fn string(
        document: &mut Document,
        message: &Message,
        field: &Field,
        value: &[u8],
    ) -> Result<(), FormatError> {
        match (field.kind, std::str::from_utf8(value)) {
            (Kind::String, Ok(text)) => quoted(&mut document.out, text),
            (Kind::String, Err(_)) => {
                let message = format!("`{}.{}` is not UTF-8, as JSON requires", message.name, field.name);
                return Err(FormatError { offset: None, message });
            }
            _ => {
                document.out.push('"');
                STANDARD.encode_string(value, &mut document.out);
                document.out.push('"');
            }
        }
        Ok(())
    }

    fn special(value: f64) -> &'static str {
        match value {
            f64::INFINITY => "\"Infinity\"",
            f64::NEG_INFINITY => "\"-Infinity\"",
            _ => "\"NaN\"",
        }
    }

    fn is_quoted(kind: Kind, is_name: bool) -> bool {
        is_name || matches!(kind, Kind::Int64 | Kind::Uint64)
    }
}

fn line(document: &mut Document) {
    document.out.push('\n');
    document.indent();
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0'..='\x1f' | '\x7f' => {
                out.push_str("\\u00");
                out.extend([4, 0].map(|shift| char::from_digit(c as u32 >> shift & 15, 16).unwrap_or('0')));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
