//! Numbers and names of numbers as text.

use super::build::EncodedValue;
use crate::wire::{Cursor, Kind, Reason};

/// Parses the value of a number field from decimal text, or from the name of an enum value.
pub(super) fn parse(kind: Kind, text: &str) -> Result<EncodedValue<'static>, String> {
    let is_integer =
        !text.is_empty() && text.strip_prefix('-').unwrap_or(text).bytes().all(|b| b.is_ascii_digit());
    let does_not_fit = |name: &str| format!("{text} is out of range for {name}");
    let no_number = || format!("`{text}` is not a number");
    match kind {
        Kind::Int32 if is_integer => text.parse::<i32>().map(int).map_err(|_| does_not_fit("int32")),
        Kind::Int64 if is_integer => text.parse::<i64>().map(int).map_err(|_| does_not_fit("int64")),
        Kind::Uint64 if is_integer => {
            text.parse().map(EncodedValue::Varint).map_err(|_| does_not_fit("uint64"))
        }
        Kind::Enum(_) if is_integer => text.parse::<i32>().map(int).map_err(|_| does_not_fit("int32")),
        Kind::Enum(names) => match names.values.iter().find(|(_, name)| *name == text) {
            Some((number, _)) => Ok(int(*number)),
            None => Err(format!("{} has no value `{text}`", names.name)),
        },
        Kind::Float => match text.parse::<f32>() {
            Ok(float) if float.is_infinite() && !is_special(text) => Err(does_not_fit("float")),
            Ok(float) => Ok(EncodedValue::Float(float)),
            Err(_) => Err(no_number()),
        },
        Kind::Double => match text.parse::<f64>() {
            Ok(double) if double.is_infinite() && !is_special(text) => Err(does_not_fit("double")),
            Ok(double) => Ok(EncodedValue::Double(double)),
            Err(_) => Err(no_number()),
        },
        Kind::Int32 | Kind::Int64 | Kind::Uint64 => Err(format!("`{text}` is not an integer")),
        Kind::String | Kind::Bytes | Kind::Message(_) => Err("unexpected number".to_owned()),
    }
}

/// Integers are sign-extended on the wire.
fn int(value: impl Into<i64>) -> EncodedValue<'static> {
    EncodedValue::Varint(value.into() as u64)
}

/// An infinity or NaN by its name, not a number that is too large.
fn is_special(text: &str) -> bool {
    text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Reads the next value of a number field from the wire; [`format`] prints it.
pub(super) fn read(kind: Kind, cursor: &mut Cursor<'_>) -> Result<EncodedValue<'static>, Reason> {
    fn fixed<const SIZE: usize>(cursor: &mut Cursor<'_>) -> Result<[u8; SIZE], Reason> {
        let bytes = cursor.rest().first_chunk::<SIZE>().copied().ok_or(Reason::Truncated)?;
        cursor.skip(SIZE)?;
        Ok(bytes)
    }
    match kind {
        Kind::Float => Ok(EncodedValue::Float(f32::from_le_bytes(fixed(cursor)?))),
        Kind::Double => Ok(EncodedValue::Double(f64::from_le_bytes(fixed(cursor)?))),
        Kind::Int32
        | Kind::Enum(_)
        | Kind::Int64
        | Kind::Uint64
        | Kind::String
        | Kind::Bytes
        | Kind::Message(_) => Ok(EncodedValue::Varint(cursor.varint()?.value)),
    }
}

/// A finite float in the fewest digits that read back, also for readers that go by way of a double. For Python's,
/// `7.038531e-26` is another float and `3.4028235e38` too large, though it writes them so.
pub(super) fn format_float(float: f32, out: &mut String) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(float);
    let reads_back = |double: f64| double as f32 == float && double.abs() <= f64::from(f32::MAX);
    if text.parse().is_ok_and(reads_back) {
        out.push_str(text);
    } else {
        out.push_str(zmij::Buffer::new().format_finite(f64::from(float)));
    }
}

/// A finite double in the fewest digits that read back.
pub(super) fn format_double(double: f64, out: &mut String) {
    out.push_str(zmij::Buffer::new().format_finite(double));
}

/// Formats an integer according to the kind of the varint.
pub(super) fn format_int(kind: Kind, varint: u64, out: &mut String) {
    let mut buffer = itoa::Buffer::new();
    out.push_str(match kind {
        Kind::Uint64 => buffer.format(varint),
        Kind::Int32 | Kind::Enum(_) => buffer.format(varint as i32),
        _ => buffer.format(varint as i64),
    });
}

/// The name of an enum's value, if it has one.
pub(super) fn enum_name(kind: Kind, varint: u64) -> Option<&'static str> {
    let Kind::Enum(names) = kind else { return None };
    names.values.iter().find(|(number, _)| *number == varint as i32).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_survive_readers_that_use_doubles() {
        for float in [0.1, 1e-45, f32::MAX, -0.0, 16_777_216.0, f32::from_bits(0x15ae_43fd)] {
            let mut text = String::new();
            format_float(float, &mut text);
            let double = text.parse::<f64>().unwrap();
            assert_eq!((double as f32).to_bits(), float.to_bits(), "{text}");
            assert!(double <= f64::from(f32::MAX), "{text}");
            assert_eq!(parse(Kind::Float, &text), Ok(EncodedValue::Float(float)));
        }
    }

    #[test]
    fn numbers_fit_or_not() {
        assert_eq!(parse(Kind::Int32, "-1"), Ok(EncodedValue::Varint(u64::MAX)));
        assert_eq!(parse(Kind::Int32, "2147483648"), Err("2147483648 is out of range for int32".to_owned()));
        assert_eq!(parse(Kind::Uint64, "18446744073709551615"), Ok(EncodedValue::Varint(u64::MAX)));
        assert!(parse(Kind::Uint64, "-1").is_err());
        assert!(parse(Kind::Int64, "1.5").is_err());
        assert_eq!(parse(Kind::Float, "1e39"), Err("1e39 is out of range for float".to_owned()));
        assert_eq!(parse(Kind::Float, "-inf"), Ok(EncodedValue::Float(f32::NEG_INFINITY)));
        assert!(parse(Kind::Float, "").is_err());
    }
}
