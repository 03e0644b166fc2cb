//! From wire format to textproto.

use crate::FileKind;
use crate::form::build::EncodedValue;
use crate::form::number::{enum_name, format_double, format_float, format_int, read};
use crate::form::{FormatError, in_order};
use crate::wire::{Cursor, Field, Kind, Message, Reason, Repeat, WireType};

/// The encoded message as text, indented by two spaces; lists of numbers are on one line.
///
/// # Errors
///
/// The bytes are not a message of this kind.
pub fn to_text(message: &[u8], kind: FileKind) -> Result<String, FormatError> {
    let message = in_order(message, kind)?;
    let mut writer = Writer { out: String::with_capacity(message.len()), indent: 0 };
    writer.message(Cursor::new(&message, 0), kind.message())?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    indent: usize,
}

impl Writer {
    fn message(&mut self, mut cursor: Cursor<'_>, schema: &'static Message) -> Result<(), Reason> {
        // The list of numbers that is open.
        let mut open = None;
        while !cursor.is_at_end() {
            let key = cursor.key()?;
            let Some(field) = schema.field(key.number) else {
                cursor.skip_value(key.number, key.wire, 0)?;
                continue;
            };
            let continues = open == Some(field.number);
            if !continues {
                self.end(&mut open);
                for _ in 0..self.indent {
                    self.out.push_str("  ");
                }
                self.out.push_str(field.name);
            }
            if field.kind.is_number() {
                if !continues {
                    self.out.push_str(": ");
                    if field.repeat != Repeat::Once {
                        self.out.push('[');
                        open = Some(field.number);
                    }
                }
                self.numbers(&mut cursor, field, key.wire, continues)?;
                if open.is_none() {
                    self.out.push('\n');
                }
                continue;
            }
            let (length, _) = cursor.length()?;
            let value = cursor.split(length)?;
            if let Kind::Message(inner) = field.kind {
                self.out.push_str(" {\n");
                self.indent += 1;
                self.message(value, inner)?;
                self.indent -= 1;
                for _ in 0..self.indent {
                    self.out.push_str("  ");
                }
                self.out.push_str("}\n");
            } else {
                self.out.push_str(": \"");
                self.string(value.rest(), matches!(field.kind, Kind::String));
                self.out.push_str("\"\n");
            }
        }
        self.end(&mut open);
        Ok(())
    }

    fn end(&mut self, open: &mut Option<u32>) {
        if open.take().is_some() {
            self.out.push_str("]\n");
        }
    }

    fn numbers(
        &mut self,
        cursor: &mut Cursor<'_>,
        field: &Field,
        wire: WireType,
        continues: bool,
    ) -> Result<(), Reason> {
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
            EncodedValue::Varint(varint) => match enum_name(kind, varint) {
                Some(name) => self.out.push_str(name),
                None => format_int(kind, varint, &mut self.out),
            },
            EncodedValue::Bytes(_) => {}
        }
    }

    fn special(&mut self, value: f64) {
        self.out.push_str(match value {
            f64::INFINITY => "inf",
            f64::NEG_INFINITY => "-inf",
            _ => "nan",
        });
    }

    /// The content of a string. UTF-8 text stays readable; other bytes are octal escapes.
    fn string(&mut self, bytes: &[u8], is_text: bool) {
        let text = std::str::from_utf8(bytes).ok().filter(|_| is_text);
        match text {
            Some(text) => text.chars().for_each(|c| match u8::try_from(c) {
                Ok(byte) if byte.is_ascii() => self.byte(byte),
                _ => self.out.push(c),
            }),
            None => bytes.iter().for_each(|&byte| self.byte(byte)),
        }
    }

    fn byte(&mut self, byte: u8) {
        match byte {
            b'"' => self.out.push_str("\\\""),
            b'\\' => self.out.push_str("\\\\"),
            b'\n' => self.out.push_str("\\n"),
            b'\t' => self.out.push_str("\\t"),
            b'\r' => self.out.push_str("\\r"),
            b' '..=b'~' => self.out.push(char::from(byte)),
            _ => {
                self.out.push('\\');
                self.out.extend([6, 3, 0].map(|shift| char::from(b'0' + (byte >> shift & 7))));
            }
        }
    }
}
