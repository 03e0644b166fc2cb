//! Floats of 16 bits and fewer: their values as literals, and literals as their bits.
//!
//! An integer literal is a bit pattern, as the reference reads it; a literal with a point or an exponent, `inf` and `nan` are
//! values (`grammar/extended.md`).

use onnx_ir::ElemType;
use onnx_ir::float::{Format, Special, exponent_of, format, power};

/// An element type whose integer literals are bit patterns.
#[derive(Clone, Copy)]
pub(crate) struct Narrow {
    format: Format,
    bits: u32,
}

impl Narrow {
    pub(crate) fn of(elem: ElemType) -> Option<Narrow> {
        let bits = elem.bits().filter(|&bits| bits <= 16)?;
        Some(Narrow { format: format(elem)?, bits })
    }

    /// The bits of the nearest number; `None` where the type does not reach so far, or has no such word.
    pub(crate) fn read(self, value: f64) -> Option<u32> {
        let bits = self.format.encode(value);
        let read = self.format.decode(bits);
        let is_right = match self.format {
            _ if value.is_nan() => read.is_nan(),
            _ if value.is_infinite() => read == value,
            Format::Power => read.is_finite() && value >= power(-127) / 2.0,
            // Without infinities, the range ends at the greatest number.
            Format::Narrow { mantissa, special: Special::Nothing, .. } => {
                let max = self.format.max();
                value.abs() < max + power(exponent_of(max) - mantissa as i32 - 1)
            }
            Format::Narrow { .. } | Format::Single | Format::Double => read.is_finite(),
        };
        is_right.then(|| u32::try_from(bits).ok()).flatten()
    }

    /// Bit patterns below this are numbers so small that a value was probably intended; 0 if there are none.
    pub(crate) fn tiny(self) -> u32 {
        match self.format {
            Format::Narrow { mantissa, .. } if self.bits == 8 => 1 << mantissa,
            Format::Narrow { .. } if self.bits == 16 => 1 << 10,
            Format::Power => 32,
            Format::Narrow { .. } | Format::Single | Format::Double => 0,
        }
    }

    /// Whether a list of bit patterns looks like values: all are small integers, and not all are 0.
    pub(crate) fn look_like_values(self, patterns: impl Iterator<Item = u32>) -> bool {
        let tiny = self.tiny();
        let mut is_some = false;
        for bits in patterns {
            if bits >= tiny {
                return false;
            }
            is_some |= bits != 0;
        }
        is_some
    }

    /// The digits of the greatest bit pattern: leading zeros up to this length mark a bit pattern.
    pub(crate) fn digits(self) -> usize {
        if self.bits > 8 { 5 } else { 3 }
    }

    /// The literal of a value: with a point or an exponent, and the fewest digits that parse to the same bits. A NaN other than
    /// `nan` and `-nan` is printed as its bit pattern.
    pub(crate) fn text(self, bits: u32) -> String {
        let value = self.format.decode(bits.into());
        let is_read = |value: f64| self.read(value) == Some(bits);
        if value.is_nan() {
            let words = [("nan", f64::NAN), ("-nan", -f64::NAN)];
            let word = words.iter().find(|(_, value)| is_read(*value)).map(|(word, _)| (*word).to_owned());
            return word.unwrap_or_else(|| bits.to_string());
        }
        if value.is_infinite() {
            return if value < 0.0 { "-inf" } else { "inf" }.to_owned();
        }
        let digits = |n: usize| format!("{value:.n$e}").parse::<f64>().ok();
        let shortest = (0..17).filter_map(digits).find(|&value| is_read(value)).unwrap_or(value);
        let short = literal(shortest);
        // 448.0, the greatest of a type, is not longer than 450.0, which reads back as the same.
        let exact = literal(value);
        if exact.len() <= short.len() { exact } else { short }
    }
}

/// A finite number in the notation of wide floats, for which `zmij` is fast: a message of the parser alone needs no other crate.
fn literal(value: f64) -> String {
    if (1e-5..1e-4).contains(&value.abs()) {
        return value.to_string();
    }
    let text = format!("{value:?}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        Some(_) | None => text,
    }
}

/// The literals of many numbers of a type. Those of 16 bits are made once each.
#[cfg(feature = "print")]
pub(crate) struct Texts {
    narrow: Narrow,
    known: Vec<Option<Box<str>>>,
}

#[cfg(feature = "print")]
impl Texts {
    pub(crate) fn new(narrow: Narrow, count: usize) -> Texts {
        let patterns = 1 << narrow.bits;
        // For few elements a table does not pay off.
        Texts { narrow, known: vec![None; if count < patterns / 16 { 0 } else { patterns }] }
    }

    pub(crate) fn with(&mut self, bits: u32, take: impl FnOnce(&str)) {
        match self.known.get_mut(bits as usize) {
            Some(known) => take(known.get_or_insert_with(|| self.narrow.text(bits).into())),
            None => take(&self.narrow.text(bits)),
        }
    }
}

/// A number of an element type with the fewest digits that are unique in that type.
///
/// ```
/// use onnx_ir::ElemType;
///
/// assert_eq!(onnx_text::number_text(ElemType::FLOAT, f64::from(0.1f32)), "0.1");
/// assert_eq!(onnx_text::number_text(ElemType::FLOAT16, 0.0999755859375), "0.1");
/// assert_eq!(onnx_text::number_text(ElemType::DOUBLE, f64::from(0.1f32)), "0.10000000149011612");
/// ```
#[cfg(feature = "print")]
#[must_use]
pub fn number_text(elem: ElemType, value: f64) -> String {
    if !value.is_finite() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        return format!("{sign}{}", if value.is_nan() { "nan" } else { "inf" });
    }
    #[allow(clippy::cast_possible_truncation, reason = "it is a number of the type")]
    let text = match Narrow::of(elem) {
        Some(narrow) => match narrow.read(value) {
            Some(bits) => narrow.text(bits),
            None => value.to_string(),
        },
        None if elem == ElemType::FLOAT => zmij::Buffer::new().format_finite(value as f32).to_owned(),
        None => zmij::Buffer::new().format_finite(value).to_owned(),
    };
    match text.strip_suffix(".0") {
        Some("-0") | None => text,
        Some(integer) => integer.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The types, with their formats.
    fn all() -> impl Iterator<Item = (ElemType, Narrow)> {
        ElemType::ALL.iter().filter_map(|&elem| Some((elem, Narrow::of(elem)?)))
    }

    #[test]
    fn every_bit_pattern_reads_back() {
        assert_eq!(all().count(), 10);
        for (elem, narrow) in all() {
            // Some of them where each takes as long as thousands.
            let step = if !cfg!(miri) {
                1
            } else if narrow.bits > 8 {
                4_093
            } else {
                17
            };
            for bits in (0..1u32 << narrow.bits).step_by(step) {
                let text = narrow.text(bits);
                let read = match text.parse::<u32>() {
                    Ok(pattern) => Some(pattern),
                    Err(_) => crate::lower::literals::float64(&text).and_then(|value| narrow.read(value)),
                };
                assert_eq!(read, Some(bits), "{text} of {elem:?}");
                if let (Ok(value), true) = (text.parse::<f64>(), text.contains('.') || text.contains('e')) {
                    assert_eq!(text, zmij::Buffer::new().format_finite(value), "{bits:#x} of {elem:?}");
                }
            }
        }
    }

    #[test]
    fn texts_are_short() {
        let text = |elem, bits| Narrow::of(elem).unwrap().text(bits);
        assert_eq!(text(ElemType::FLOAT16, 16598), "2.418");
        assert_eq!(
            [0x7bff, 1, 0x8000, 0x3c00].map(|b| text(ElemType::FLOAT16, b)),
            ["65504.0", "6e-8", "-0.0", "1.0"]
        );
        assert_eq!(
            [0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e01].map(|b| text(ElemType::FLOAT16, b)),
            ["inf", "-inf", "nan", "-nan", "32257"]
        );
        assert_eq!([0x3dcd, 0x7f7f].map(|b| text(ElemType::BFLOAT16, b)), ["0.1", "3.39e+38"]);
        assert_eq!(text(ElemType::FLOAT8E4M3FN, 0x7e), "448.0");
        assert_eq!(text(ElemType::FLOAT8E8M0, 127), "1.0");
        assert_eq!(text(ElemType::FLOAT4E2M1, 15), "-6.0");
    }

    #[test]
    fn values_have_to_be_in_reach() {
        let read = |elem, value| Narrow::of(elem).unwrap().read(value);
        assert_eq!([65519.0, 65520.0, -1e9].map(|x| read(ElemType::FLOAT16, x)), [Some(0x7bff), None, None]);
        assert_eq!(
            [6.9, 7.0, f64::NAN, f64::INFINITY].map(|x| read(ElemType::FLOAT4E2M1, x)),
            [Some(7), None, None, None]
        );
        assert_eq!([448.0, 500.0].map(|x| read(ElemType::FLOAT8E4M3FN, x)), [Some(0x7e), None]);
        assert_eq!(
            [1.0, 0.0, -1.0, 1e39].map(|x| read(ElemType::FLOAT8E8M0, x)),
            [Some(127), None, None, None]
        );
        assert_eq!(read(ElemType::FLOAT8E4M3FNUZ, -0.0), Some(0));
    }
}
