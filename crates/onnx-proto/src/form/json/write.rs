//! From wire format to JSON.

use super::camel_case;
use crate::FileKind;
use crate::form::build::EncodedValue;
use crate::form::number::{enum_name, format_double, format_float, format_int, read};
use crate::form::{FormatError, in_order};
use crate::wire::{Cursor, Field, Kind, Message, Reason, Repeat, WireType};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The encoded message as JSON, indented by two spaces; lists of numbers are on one line.
///
/// # Errors
///
/// The bytes are not a message of this kind, or a string in them is not UTF-8.
pub fn to_json(message: &[u8], kind: FileKind) -> Result<String, FormatError> {
    let message = in_order(message, kind)?;
    let mut writer = Writer { out: String::with_capacity(message.len()), indent: 0 };
    writer.message(Cursor::new(&message, 0), kind.message())?;
    writer.out.push('\n');
    Ok(writer.out)
}

struct Writer {
    out: String,
    indent: usize,
}

impl From<Reason> for FormatError {
    fn from(reason: Reason) -> Self {
        FormatError { offset: None, message: reason.to_string() }
    }
}

impl Writer {
    fn message(&mut self, mut cursor: Cursor<'_>, schema: &'static Message) -> Result<(), FormatError> {
        self.out.push('{');
        self.indent += 1;
        let mut open: Option<&'static Field> = None;
        while !cursor.is_at_end() {
            let key = cursor.key()?;
            let Some(field) = schema.field(key.number) else {
                cursor.skip_value(key.number, key.wire, 0)?;
                continue;
            };
            let continues = open.is_some_and(|open| open.number == field.number);
            if !continues {
                self.end(open);
                if open.is_some() {
                    self.out.push(',');
                }
                self.line();
                self.out.push('"');
                self.out.push_str(&camel_case(field.name));
                self.out.push_str("\": ");
                if field.repeat != Repeat::Once {
                    self.out.push('[');
                    self.indent += usize::from(!field.kind.is_number());
                }
                open = Some(field);
            }
            if field.kind.is_number() {
                self.numbers(&mut cursor, field, key.wire, continues)?;
                continue;
            }
            if field.repeat != Repeat::Once {
                self.out.push_str(if continues { "," } else { "" });
                self.line();
            }
            let (length, _) = cursor.length()?;
            let value = cursor.split(length)?;
            match field.kind {
                Kind::Message(inner) => self.message(value, inner)?,
                Kind::String => match std::str::from_utf8(value.rest()) {
                    Ok(text) => self.string(text),
                    Err(_) => {
                        let message =
                            format!("`{}.{}` is not UTF-8, as JSON requires", schema.name, field.name);
                        return Err(FormatError { offset: None, message });
                    }
                },
                _ => {
                    self.out.push('"');
                    STANDARD.encode_string(value.rest(), &mut self.out);
                    self.out.push('"');
                }
            }
        }
        self.end(open);
        self.indent -= 1;
        if open.is_some() {
            self.line();
        }
        self.out.push('}');
        Ok(())
    }

    /// Closes the list of the field that came last.
    fn end(&mut self, open: Option<&'static Field>) {
        if let Some(field) = open.filter(|field| field.repeat != Repeat::Once) {
            if !field.kind.is_number() {
                self.indent -= 1;
                self.line();
            }
            self.out.push(']');
        }
    }

    fn line(&mut self) {
        self.out.push('\n');
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn numbers(
        &mut self,
        cursor: &mut Cursor<'_>,
        field: &Field,
        wire: WireType,
        continues: bool,
    ) -> Result<(), FormatError> {
        let mut list;
        let values = if wire == WireType::Bytes {
            let (length, _) = cursor.length()?;
            list = cursor.split(length)?;
            &mut list
        } else {
            cursor
        };
        let mut is_first = !continues;
        while !values.is_at_end() {
            if !std::mem::take(&mut is_first) {
                self.out.push_str(", ");
            }
            let value = read(field.kind, values)?;
            self.number(field.kind, value);
            if wire != WireType::Bytes {
                break;
            }
        }
        Ok(())
    }

    fn number(&mut self, kind: Kind, value: EncodedValue<'_>) {
        match value {
            EncodedValue::Float(float) if float.is_finite() => format_float(float, &mut self.out),
            EncodedValue::Double(double) if double.is_finite() => format_double(double, &mut self.out),
            EncodedValue::Float(float) => self.special(f64::from(float)),
            EncodedValue::Double(double) => self.special(double),
            EncodedValue::Varint(varint) => {
                let name = enum_name(kind, varint);
                let quote =
                    if name.is_some() || matches!(kind, Kind::Int64 | Kind::Uint64) { "\"" } else { "" };
                self.out.push_str(quote);
                match name {
                    Some(name) => self.out.push_str(name),
                    None => format_int(kind, varint, &mut self.out),
                }
                self.out.push_str(quote);
            }
            EncodedValue::Bytes(_) => {}
        }
    }

    fn special(&mut self, value: f64) {
        self.out.push_str(match value {
            f64::INFINITY => "\"Infinity\"",
            f64::NEG_INFINITY => "\"-Infinity\"",
            _ => "\"NaN\"",
        });
    }

    fn string(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                '\r' => self.out.push_str("\\r"),
                '\0'..='\x1f' | '\x7f' => {
                    self.out.push_str("\\u00");
                    self.out.extend(
                        [4, 0].map(|shift| char::from_digit(c as u32 >> shift & 15, 16).unwrap_or('0')),
                    );
                }
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}
