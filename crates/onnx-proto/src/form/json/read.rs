//! From JSON to wire format.

use super::camel_case;
use crate::FileKind;
use crate::form::build::{EncodedValue, MessageBuilder};
use crate::form::{FormatError, number, utf8};
use crate::wire::{Field, Kind, MAX_DEPTH, Message, Repeat};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

/// Encodes a JSON document as a message. Names may be in camel case or as in the .proto; `null` means an absent field.
///
/// # Errors
///
/// The document is not JSON, has an unknown field, or a value of the wrong type; with its place.
pub fn from_json(json: &[u8], kind: FileKind) -> Result<Vec<u8>, FormatError> {
    let text = utf8(json)?;
    let failed_at = Cell::new(None);
    let mut input = serde_json::Deserializer::from_str(text);
    // Messages are counted instead.
    input.disable_recursion_limit();
    let root = MessageSeed { schema: kind.message(), depth: 0, text, failed_at: &failed_at };
    let message = root.deserialize(&mut input).and_then(|message| input.end().map(|()| message));
    message.map(Option::unwrap_or_default).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        FormatError {
            offset: failed_at.get().or_else(|| offset(text, error.line(), error.column())),
            message,
        }
    })
}

/// The byte at a line and column, both counted from 1; the column may be 0.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let start = match line.checked_sub(1)? {
        0 => 0,
        before => text.match_indices('\n').nth(before - 1)?.0 + 1,
    };
    Some((start + column.saturating_sub(1)).min(text.len()))
}

/// Reads an object as a message; `None` is `null`.
#[derive(Clone, Copy)]
struct MessageSeed<'a> {
    schema: &'static Message,
    depth: usize,
    text: &'a str,
    failed_at: &'a Cell<Option<usize>>,
}

impl MessageSeed<'_> {
    /// An error at a piece of the text.
    fn error<E: Error>(&self, piece: &str, message: impl fmt::Display) -> E {
        let offset = (piece.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize);
        if self.failed_at.get().is_none() {
            self.failed_at.set(offset.filter(|&offset| offset <= self.text.len()));
        }
        E::custom(message)
    }
}

impl<'de> DeserializeSeed<'de> for MessageSeed<'_> {
    type Value = Option<Vec<u8>>;

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        if self.depth > MAX_DEPTH {
            return Err(D::Error::custom(format_args!(
                "messages are nested more than {MAX_DEPTH} levels deep"
            )));
        }
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for MessageSeed<'_> {
    type Value = Option<Vec<u8>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as an object", self.schema.name)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut builder = MessageBuilder::new(self.schema);
        while let Some(key) = map.next_key::<&RawValue>()? {
            let name: Cow<'_, str> = serde_json::from_str::<Text<'_>>(key.get()).map_err(A::Error::custom)?.0;
            let field =
                self.schema.fields.iter().find(|field| field.name == name || camel_case(field.name) == name);
            let Some(field) = field else { return Err(self.error(key.get(), builder.unknown(&name))) };
            builder.begin(field).map_err(|message| self.error(key.get(), message))?;
            let value = FieldSeed { message: self, field, builder: &mut builder };
            match (field.repeat, field.kind) {
                (Repeat::Each | Repeat::Packed, _) => map.next_value_seed(ListSeed(value))?,
                (Repeat::Once, _) => map.next_value_seed(value)?,
            }
        }
        Ok(Some(builder.finish()))
    }
}

/// A JSON string, borrowed if it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        input.deserialize_str(TextVisitor)
    }
}

/// Reads one value of a field.
struct FieldSeed<'a, 'b> {
    message: MessageSeed<'a>,
    field: &'static Field,
    builder: &'b mut MessageBuilder,
}

impl<'de> DeserializeSeed<'de> for FieldSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        let FieldSeed { message, field, builder } = self;
        if let Kind::Message(schema) = field.kind {
            let inner = MessageSeed { schema, depth: message.depth + 1, ..message };
            match inner.deserialize(input)? {
                Some(inner) => builder.add(field, EncodedValue::Bytes(&inner)),
                None if field.repeat == Repeat::Once => {}
                None => {
                    return Err(D::Error::custom(format_args!(
                        "`{}` cannot have a null element",
                        field.name
                    )));
                }
            }
            return Ok(());
        }
        let raw = <&RawValue>::deserialize(input)?.get();
        if raw == "null" && field.repeat == Repeat::Once {
            return Ok(());
        }
        scalar(field, raw, builder).map_err(|error| message.error(raw, error))
    }
}

/// Reads all values of a field.
struct ListSeed<'a, 'b>(FieldSeed<'a, 'b>);

impl<'de> DeserializeSeed<'de> for ListSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` as a list", self.0.field.name)
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let FieldSeed { message, field, builder } = self.0;
        while list.next_element_seed(FieldSeed { message, field, builder: &mut *builder })?.is_some() {}
        Ok(())
    }
}

fn scalar(field: &'static Field, raw: &str, builder: &mut MessageBuilder) -> Result<(), String> {
    let is_string = raw.starts_with('"');
    if field.kind.is_number() {
        let text = if is_string { raw.trim_matches('"') } else { raw };
        builder.add(field, number_of(field.kind, text, is_string)?);
        return Ok(());
    }
    if !is_string {
        return Err(format!("`{}` is a string", field.name));
    }
    let Text(text) = serde_json::from_str(raw).map_err(|error| error.to_string())?;
    match field.kind {
        Kind::Bytes => builder.add(field, EncodedValue::Bytes(&base64(&text)?)),
        _ => builder.add(field, EncodedValue::Bytes(text.as_bytes())),
    }
    Ok(())
}

fn number_of(kind: Kind, text: &str, is_string: bool) -> Result<EncodedValue<'static>, String> {
    let is_float = matches!(kind, Kind::Float | Kind::Double);
    match text {
        "NaN" | "Infinity" | "-Infinity" if is_float && is_string => number::parse(kind, text),
        _ if is_float && !text.ends_with(|c: char| c.is_ascii_digit()) => {
            Err(format!("`{text}` is not a number"))
        }
        // An integer may be written like a float: 1.0, 1e3.
        _ if !is_float && !is_string && text.contains(['.', 'e', 'E']) => {
            let value = text.parse::<f64>().map_err(|_| format!("`{text}` is not a number"))?;
            match value.fract() == 0.0 && value.abs() < 9e15 {
                true => number::parse(kind, &(value as i64).to_string()),
                false => Err(format!("{text} is not an integer")),
            }
        }
        _ => number::parse(kind, text),
    }
}

/// Base64 with either alphabet, padded or not.
fn base64(text: &str) -> Result<Vec<u8>, String> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
    const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);
    let engine = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    engine.decode(text).map_err(|error| format!("invalid Base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str) -> (Option<usize>, String) {
        let error = from_json(json.as_bytes(), FileKind::Tensor).unwrap_err();
        (error.offset, error.message)
    }

    #[test]
    fn numbers_and_bytes_have_several_forms() {
        let json = r#"{"data_type": 1.0, "dims": ["2", 3, 4e0], "rawData": "-_8", "floatData": null, "segment": {"begin": "-1"}}"#;
        let expected = [
            &[0x08, 2, 0x08, 3, 0x08, 4, 0x10, 1, 0x1a, 11, 0x08][..],
            &[0xff; 9],
            &[1, 0x4a, 2, 0xfb, 0xff],
        ];
        assert_eq!(from_json(json.as_bytes(), FileKind::Tensor).unwrap(), expected.concat());
    }

    #[test]
    fn errors_have_a_place() {
        assert_eq!(error(r#"{"dims": [1, "x"]}"#), (Some(13), "`x` is not an integer".to_owned()));
        assert_eq!(
            error(r#"{"nme": "x"}"#),
            (Some(1), "TensorProto has no field `nme`; did you mean `name`?".to_owned())
        );
        assert_eq!(error("{\n \"dims\": 1}").0, Some(11));
        assert_eq!(error(r#"{"name": "x", "name": "y"}"#), (Some(14), "`name` occurs twice".to_owned()));
        assert_eq!(
            error(r#"{"floatData": [1e39]}"#),
            (Some(15), "1e39 is out of range for float".to_owned())
        );
        assert_eq!(error(r#"{"name": "x""#).0, Some(11));
        assert_eq!(
            error(r#"{"dataLocation": "INSIDE"}"#).1,
            "TensorProto.DataLocation has no value `INSIDE`"
        );
        assert_eq!(error("{} x").0, Some(3));
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |levels: usize| {
            let open = "{\"sequenceType\":{\"elemType\":".repeat(levels);
            let type_proto = format!("{open}{{}}{}", "}}".repeat(levels));
            format!("{{\"functions\":[{{\"valueInfo\":[{{\"type\":{type_proto}}}]}}]}}")
        };
        assert!(from_json(nested(48).as_bytes(), FileKind::Model).is_ok());
        let error = from_json(nested(100_000).as_bytes(), FileKind::Model).unwrap_err();
        assert_eq!(error.message, "messages are nested more than 100 levels deep");
        assert!(from_json("[".repeat(100_000).as_bytes(), FileKind::Model).is_err());
        assert!(
            from_json(format!("{{\"irVersion\":{}", "[".repeat(100_000)).as_bytes(), FileKind::Model)
                .is_err()
        );
    }
}
