//! Walks over an encoded message and writes its fields in a textual format: JSON and textproto differ only in [`Syntax`].

use super::build::EncodedValue;
use super::number::{enum_name, format_double, format_float, format_int, read};
use super::{FormatError, in_order};
use crate::FileKind;
use crate::wire::{Cursor, Field, Kind, Message, Reason, Repeat, WireType};

/// A document that is being written.
pub(super) struct Document {
    pub(super) out: String,
    pub(super) indent: usize,
}

impl Document {
    /// The indentation of a line, two spaces for each level.
    pub(super) fn indent(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }
}

/// The punctuation of a format. A *value* is one occurrence of a field that is not a number; numbers of one field are written on one
/// line, with commas between them.
pub(super) trait Syntax {
    /// Writes the name of a field, before its first value or number. `is_first`: the first field of its message.
    fn begin_field(document: &mut Document, field: &Field, is_first: bool);
    /// Ends a field, after its last value or number.
    fn end_field(document: &mut Document, field: &Field);
    /// Begins a value. `continues`: it is not the first one of the field.
    fn begin_value(document: &mut Document, field: &Field, continues: bool);
    /// Opens a message.
    fn begin_message(document: &mut Document);
    /// Closes a message.
    fn end_message(document: &mut Document, is_empty: bool);
    /// Writes a string or bytes, with quotes.
    ///
    /// # Errors
    ///
    /// The format cannot express them.
    fn string(
        document: &mut Document,
        message: &Message,
        field: &Field,
        value: &[u8],
    ) -> Result<(), FormatError>;
    /// An infinity or NaN.
    fn special(value: f64) -> &'static str;
    /// Whether an integer of a kind, or the name of an enum value, is quoted.
    fn is_quoted(kind: Kind, is_name: bool) -> bool;
}

impl From<Reason> for FormatError {
    fn from(reason: Reason) -> Self {
        FormatError { offset: None, message: reason.to_string() }
    }
}

/// The fields of an encoded message, without braces around them unless `is_enclosed`.
///
/// # Errors
///
/// The bytes are not a message of this kind, or the format cannot express a string in them.
pub(super) fn write<S: Syntax>(
    message: &[u8],
    kind: FileKind,
    is_enclosed: bool,
) -> Result<String, FormatError> {
    let message = in_order(message, kind)?;
    let mut document = Document { out: String::with_capacity(message.len()), indent: 0 };
    let cursor = Cursor::new(&message, 0);
    if is_enclosed {
        enclosed::<S>(&mut document, cursor, kind.message())?;
    } else {
        fields::<S>(&mut document, cursor, kind.message())?;
    }
    Ok(document.out)
}

fn enclosed<S: Syntax>(
    document: &mut Document,
    cursor: Cursor<'_>,
    schema: &'static Message,
) -> Result<(), FormatError> {
    S::begin_message(document);
    document.indent += 1;
    let is_empty = fields::<S>(document, cursor, schema)?;
    document.indent -= 1;
    S::end_message(document, is_empty);
    Ok(())
}

/// Writes the fields of a message, and returns whether it has none.
fn fields<S: Syntax>(
    document: &mut Document,
    mut cursor: Cursor<'_>,
    schema: &'static Message,
) -> Result<bool, FormatError> {
    let mut open: Option<&'static Field> = None;
    while !cursor.is_at_end() {
        let key = cursor.key()?;
        let Some(field) = schema.field(key.number) else {
            cursor.skip_value(key.number, key.wire, 0)?;
            continue;
        };
        let continues = open.is_some_and(|open| open.number == field.number);
        if !continues {
            if let Some(open) = open {
                S::end_field(document, open);
            }
            S::begin_field(document, field, open.is_none());
            open = Some(field);
        }
        if field.kind.is_number() {
            numbers::<S>(document, &mut cursor, field, key.wire, continues)?;
            continue;
        }
        let (length, _) = cursor.length()?;
        let value = cursor.split(length)?;
        S::begin_value(document, field, continues);
        match field.kind {
            Kind::Message(inner) => enclosed::<S>(document, value, inner)?,
            _ => S::string(document, schema, field, value.rest())?,
        }
    }
    if let Some(open) = open {
        S::end_field(document, open);
    }
    Ok(open.is_none())
}

fn numbers<S: Syntax>(
    document: &mut Document,
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
            document.out.push_str(", ");
        }
        number::<S>(&mut document.out, field.kind, read(field.kind, values)?);
        if wire != WireType::Bytes {
            break;
        }
    }
    Ok(())
}

fn number<S: Syntax>(out: &mut String, kind: Kind, value: EncodedValue<'_>) {
    match value {
        EncodedValue::Float(float) if float.is_finite() => format_float(float, out),
        EncodedValue::Double(double) if double.is_finite() => format_double(double, out),
        EncodedValue::Float(float) => out.push_str(S::special(f64::from(float))),
        EncodedValue::Double(double) => out.push_str(S::special(double)),
        EncodedValue::Varint(varint) => {
            let name = enum_name(kind, varint);
            let quote = if S::is_quoted(kind, name.is_some()) { "\"" } else { "" };
            out.push_str(quote);
            match name {
                Some(name) => out.push_str(name),
                None => format_int(kind, varint, out),
            }
            out.push_str(quote);
        }
        EncodedValue::Bytes(_) => {}
    }
}

/// Whether the numbers or values of a field are a list.
pub(super) fn is_list(field: &Field) -> bool {
    field.repeat != Repeat::Once
}
