//! Integer elements: into the entries of a typed field, or packed as `raw_data` has them.

use super::literals::{Refused, float64};
use super::numbers::{Number, Spelled, read_list};
use super::{Cx, Storage};
use crate::ast::{Data, ScalarKind};
use crate::lex::shown;
use crate::narrow::Narrow;
use onnx_ir::diag::{Diagnostic, Edit, Span, code};
use onnx_ir::{ElemType, Field, Payload};

impl Cx<'_> {
    /// The payload of a list of integers, or of the bit patterns of small floats, and how many there are.
    pub(super) fn integers(
        &mut self,
        data: &Data,
        elem: ElemType,
        field: Field,
        storage: Storage,
    ) -> (Payload, usize) {
        match field {
            Field::Int64 => {
                let values = self.ints(data, elem, i64::MIN, i64::MAX);
                let count = values.len();
                (Payload::int64s(values), count)
            }
            Field::Uint64 => {
                let is_wide = elem == ElemType::UINT64;
                let values = self.ints(data, elem, 0, if is_wide { u64::MAX } else { u32::MAX.into() });
                let count = values.len();
                (wide_payload(values, is_wide, storage), count)
            }
            Field::Raw | Field::Float | Field::Double | Field::Int32 | Field::String => {
                let (low, high) = bounds(elem);
                let values = match Narrow::of(elem) {
                    Some(narrow) => self.narrow_floats(data, elem, narrow),
                    None => self.ints(data, elem, low, high),
                };
                let count = values.len();
                (narrow_payload(elem, values, storage), count)
            }
        }
    }

    /// The number for `true` or `false` among elements of `bool`; reports the word.
    fn truth(&mut self, text: &str, elem: ElemType, span: Span) -> Option<&'static str> {
        let number = truth(text).filter(|_| elem == ElemType::BOOL)?;
        self.word_for_number(span, number, "elements of `bool` must be 0 or 1");
        Some(number)
    }

    /// Reports a word in the place of a number.
    pub(super) fn word_for_number(&mut self, span: Span, number: &str, label: &str) {
        let message = format!("`{}` is not a number", self.text(span));
        let edit = Edit { span, text: number.to_owned() };
        self.report(
            Diagnostic::new(&code::FOREIGN_SPELLING, span, message)
                .label(label)
                .help(format!("write `{number}`"))
                .fix(format!("write `{number}`"), vec![edit], true),
        );
    }

    fn ints<I>(&mut self, data: &Data, elem: ElemType, low: I, high: I) -> Vec<I>
    where
        I: Number + Copy + PartialOrd + std::str::FromStr,
    {
        let mut out = Vec::new();
        let name = elem.name().unwrap_or_default();
        let requested = format!("an integer that fits `{name}`");
        match data {
            Data::Numbers(span) => {
                let list = self.list_text(*span);
                // A literal and its comma take two bytes at least, usually more.
                out.reserve(list.len() / 4);
                let result = read_list(list.as_bytes(), |v: I, _| {
                    out.push(v);
                    if (low..=high).contains(&v) { Ok(()) } else { Err(Refused::Range) }
                });
                out.shrink_to_fit();
                self.bad_number(*span, result, &requested);
            }
            Data::Elements(list) => {
                for scalar in &list.items {
                    let text = self.text(scalar.span);
                    let truth = self.truth(text, elem, scalar.span);
                    let text = truth.unwrap_or(text);
                    match text.parse().or_else(|_| super::literals::meant(text).parse()) {
                        Ok(value) if (low..=high).contains(&value) => out.push(value),
                        _ => self.bad_scalar(scalar, &requested),
                    }
                }
            }
            Data::External(_) | Data::Record(_) | Data::Sparse(_) | Data::Stored(_) => {}
        }
        out
    }
}

/// Whether an integer has leading zeros, which mark a bit pattern.
fn is_padded(spelling: &[u8]) -> bool {
    matches!(spelling, [b'0', b'0'..=b'9', ..])
}

impl Cx<'_> {
    /// The bits of narrow floats: integers are bit patterns, all other numbers are values.
    fn narrow_floats(&mut self, data: &Data, elem: ElemType, narrow: Narrow) -> Vec<i32> {
        let name = elem.name().unwrap_or_default();
        let (_, high) = bounds(elem);
        let mut out = Vec::new();
        // Whether all are integers without leading zeros.
        let mut are_plain = true;
        let to_bits = |number: Spelled| match number {
            Spelled::Bits(bits) => (0..=high).contains(&bits).then_some(bits),
            Spelled::Value(value) => narrow.read(value).and_then(|bits| i32::try_from(bits).ok()),
        };
        let is_plain = |number: Spelled, spelling: &[u8]| match number {
            Spelled::Bits(_) => !is_padded(spelling),
            Spelled::Value(_) => false,
        };
        match data {
            Data::Numbers(span) => {
                let list = self.list_text(*span).as_bytes();
                out.reserve(list.len() / 4);
                let result = read_list(list, |number: Spelled, at| {
                    out.push(to_bits(number).ok_or(Refused::Range)?);
                    are_plain = are_plain && is_plain(number, &list[at..]);
                    Ok(())
                });
                out.shrink_to_fit();
                self.bad_number(*span, result, &format!("a number that fits `{name}`"));
            }
            Data::Elements(list) => {
                for scalar in &list.items {
                    let text = self.text(scalar.span);
                    let number = match scalar.kind {
                        ScalarKind::Int => text.parse().map(Spelled::Bits).ok(),
                        ScalarKind::Float | ScalarKind::Special => float64(text).map(Spelled::Value),
                        ScalarKind::String => None,
                    };
                    let overflows = matches!(number, Some(Spelled::Value(value)) if value.is_infinite())
                        && scalar.kind == ScalarKind::Float;
                    match number.and_then(to_bits).filter(|_| !overflows) {
                        Some(bits) => {
                            are_plain =
                                are_plain && number.is_some_and(|number| is_plain(number, text.as_bytes()));
                            out.push(bits);
                        }
                        None if scalar.kind == ScalarKind::String => self.bad_scalar(scalar, "a number"),
                        None => self.out_of_range(scalar.span, name),
                    }
                }
            }
            Data::External(_) | Data::Record(_) | Data::Sparse(_) | Data::Stored(_) => {}
        }
        if are_plain && narrow.look_like_values(out.iter().map(|&bits| bits.cast_unsigned())) {
            self.warn_bit_patterns(data, elem, narrow, &out);
        }
        out
    }

    fn out_of_range(&mut self, span: Span, name: &str) {
        let text = shown(self.text(span));
        let message = format!("`{text}` is not a number of type `{name}`");
        let d = Diagnostic::new(&code::ELEMENT_OUT_OF_RANGE, span, message);
        self.report(d.label(format!("expected a number that fits `{name}`")));
    }

    #[cold]
    fn warn_bit_patterns(&mut self, data: &Data, elem: ElemType, narrow: Narrow, bits: &[i32]) {
        let name = elem.name().unwrap_or_default();
        let Some(&first) = bits.iter().find(|&&bits| bits != 0) else { return };
        let value = narrow.text(first.cast_unsigned());
        let digits = narrow.digits();
        let mut d = Diagnostic::new(
            &code::BIT_PATTERNS_LIKE_VALUES,
            data.span(),
            format!("integers in a `{name}` tensor are bit patterns: `{first}` is {value}"),
        )
        .label("all of these are small integers and look like values")
        .help(format!("write `{first}.0` for the number {first}, or `{first:0digits$}` for the bit pattern"));
        if bits.len() <= MAX_FIXED_ELEMENTS {
            let list: Vec<String> = bits.iter().map(|bits| format!("{bits}.0")).collect();
            let text = format!("{{{}}}", list.join(", "));
            d = d.fix("write values", vec![Edit { span: data.span(), text }], false);
        }
        self.report(d);
    }
}

/// The longest list that a fix writes anew.
const MAX_FIXED_ELEMENTS: usize = 64;

/// The number of a word for a truth value.
pub(super) fn truth(word: &str) -> Option<&'static str> {
    match word {
        "true" | "True" | "TRUE" => Some("1"),
        "false" | "False" | "FALSE" => Some("0"),
        _ => None,
    }
}

/// The range of literals of a type in `int32_data`; bit patterns for the small floats.
fn bounds(elem: ElemType) -> (i32, i32) {
    use ElemType as E;
    match elem {
        E::INT32 => (i32::MIN, i32::MAX),
        E::INT16 => (i16::MIN.into(), i16::MAX.into()),
        E::INT8 => (i8::MIN.into(), i8::MAX.into()),
        E::INT4 => (-8, 7),
        E::INT2 => (-2, 1),
        E::BOOL => (0, 1),
        _ => (0, (1 << elem.bits().unwrap_or(8).min(16)) - 1),
    }
}

fn raw(bytes: Vec<u8>) -> Payload {
    Payload::Entries { field: Field::Raw, bytes: bytes.into() }
}

/// `uint32` and `uint64`.
#[allow(clippy::cast_possible_truncation, reason = "literals have been checked against the bounds")]
fn wide_payload(values: Vec<u64>, is_wide: bool, storage: Storage) -> Payload {
    match (storage, Payload::uint64s(values)) {
        // The entries are the raw bytes already.
        (Storage::Raw, Payload::Entries { bytes, .. }) if is_wide => {
            Payload::Entries { field: Field::Raw, bytes }
        }
        (Storage::Raw, Payload::Entries { bytes, .. }) => {
            raw(bytes.chunks_exact(8).flat_map(|entry| entry[..4].iter().copied()).collect())
        }
        (_, payload) => payload,
    }
}

/// The types of `int32_data`.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "literals have been checked against the bounds"
)]
fn narrow_payload(elem: ElemType, values: Vec<i32>, storage: Storage) -> Payload {
    let bits = elem.bits().unwrap_or(32);
    match (storage, bits) {
        (Storage::Typed, 2 | 4) => Payload::int32s(packed(&values, bits).map(i32::from).collect()),
        (Storage::Raw, 2 | 4) => raw(packed(&values, bits).collect()),
        (Storage::Typed, _) => Payload::int32s(values),
        (Storage::Raw, 6) => raw(pack_six(&values)),
        (Storage::Raw, 8) => raw(values.iter().map(|&v| v as u8).collect()),
        (Storage::Raw, 16) => raw(values.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect()),
        (Storage::Raw, _) => match Payload::int32s(values) {
            // The entries are the raw bytes already.
            Payload::Entries { bytes, .. } => Payload::Entries { field: Field::Raw, bytes },
            payload @ Payload::Strings(_) => payload,
        },
    }
}

/// Two or four elements a byte, the first in the low bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the low bits are taken")]
fn packed(values: &[i32], bits: u32) -> impl Iterator<Item = u8> {
    let mask = (1u8 << bits) - 1;
    let shift = move |i: usize| i as u32 * bits;
    values.chunks(8 / bits as usize).map(move |chunk| {
        chunk.iter().enumerate().fold(0u8, |byte, (i, &v)| byte | ((v as u8 & mask) << shift(i)))
    })
}

/// Six bits an element, one after the other, low bits first.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "six bits are taken")]
fn pack_six(values: &[i32]) -> Vec<u8> {
    let mut out = vec![0u8; (values.len() * 6).div_ceil(8)];
    for (i, &value) in values.iter().enumerate() {
        let bit = i * 6;
        let shifted = (value as u16 & 0x3f) << (bit % 8);
        out[bit / 8] |= shifted as u8;
        if shifted > 0xff {
            out[bit / 8 + 1] |= (shifted >> 8) as u8;
        }
    }
    out
}
