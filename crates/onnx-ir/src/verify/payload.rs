//! Checks of stored values: T08–T10. Floats, wide integers and raw bytes of full size are never read; padding bits are.

use super::context::{Findings, VerifyContext};
use super::tensors::At;
use crate::diag::{Code, Diagnostic, code};
use crate::tensor::{Payload, first_out_of_range};
use crate::types::{ElemType, Field};

/// Reports the first value of a tensor that is out of range; whether there is none.
pub(super) fn check(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    at: At<'_>,
    elem: ElemType,
    elements: u64,
    payload: &Payload,
    subject: &dyn Fn() -> String,
) -> bool {
    let problem = match payload {
        Payload::Strings(strings) if cx.options.payloads => {
            strings.iter().enumerate().find_map(|(i, s)| string(i, s, subject))
        }
        Payload::Strings(_) => None,
        Payload::Entries { field, bytes } => padding(elem, elements, *field, bytes, subject)
            .or_else(|| cx.options.payloads.then(|| out_of_range(elem, *field, bytes, subject))?),
    };
    let Some((code, message)) = problem else { return true };
    found.push(Diagnostic::new(code, at.place, message));
    false
}

type Problem = (&'static Code, String);

fn string(i: usize, bytes: &[u8], subject: &dyn Fn() -> String) -> Option<Problem> {
    let what = if std::str::from_utf8(bytes).is_err() {
        "is not UTF-8"
    } else if bytes.starts_with("\u{feff}".as_bytes()) {
        "begins with a byte-order mark"
    } else if bytes.last() == Some(&0) {
        "ends with a NUL"
    } else {
        return None;
    };
    Some((&code::STRING_DATA_NOT_UTF8, format!("element {i} of {} {what}", subject())))
}

fn out_of_range(elem: ElemType, field: Field, bytes: &[u8], subject: &dyn Fn() -> String) -> Option<Problem> {
    let (i, entry) = first_out_of_range(elem, field, bytes)?;
    let code = if elem.bits() == Some(6) { &code::FLOAT6_PACKING } else { &code::VALUE_RANGE };
    let what = if field == Field::Raw { "byte" } else { "value" };
    let name = elem.name().unwrap_or("unknown");
    Some((code, format!("{what} {i} of {} is {entry}, which does not fit `{name}`", subject())))
}

/// Bits beyond the last element, which should be zero.
fn padding(
    elem: ElemType,
    elements: u64,
    field: Field,
    bytes: &[u8],
    subject: &dyn Fn() -> String,
) -> Option<Problem> {
    let bits = elem.bits().filter(|b| matches!(b, 2 | 4 | 6))?;
    let used = match field {
        Field::Raw => elements.checked_mul(bits.into())? % 8,
        // One byte per entry; float6 entries hold one element and have a range instead.
        Field::Int32 if bits != 6 => elements.checked_mul(bits.into())? % 8,
        Field::Int32 | Field::Float | Field::Int64 | Field::Double | Field::Uint64 | Field::String => {
            return None;
        }
    };
    if used == 0 {
        return None;
    }
    let last = match field {
        Field::Int32 => bytes.chunks_exact(4).next_back()?[0],
        _ => *bytes.last()?,
    };
    if last >> used == 0 {
        return None;
    }
    let message = format!("{} has non-zero padding bits after its last element", subject());
    Some(match bits {
        6 => (&code::FLOAT6_PACKING, message),
        _ => (&code::PADDING_BITS, message),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{VerifyOptions, verify};
    use super::*;
    use crate::diag::Severity;
    use crate::tensor::Tensor;
    use bytes::Bytes;
    use smallvec::{SmallVec, smallvec};

    fn options(elem: ElemType, n: i64, payload: Payload, payloads: bool) -> Vec<(String, Severity)> {
        let mut model = draft(|d| {
            d.graph("g", &["x"], &["y"], |d| {
                d.node("Relu", &["x"], &["y"]);
                let name = Some(d.b.name("w"));
                let data = SmallVec::from_buf([payload]);
                d.b.initializer(Tensor { name, dims: smallvec![n], elem: Some(elem), data, extra: None });
            });
        });
        model.header.ir_version = Some(14);
        let list = verify(&model, &VerifyOptions { payloads, ..VerifyOptions::default() });
        list.iter().map(|d| (format!("{} {}", d.code.id, d.message), d.severity)).collect()
    }

    fn values(elem: ElemType, n: i64, payload: Payload) -> Option<String> {
        options(elem, n, payload, true).pop().map(|(text, _)| text)
    }

    fn raw(bytes: &'static [u8]) -> Payload {
        Payload::Entries { field: Field::Raw, bytes: Bytes::from_static(bytes) }
    }

    #[test]
    fn entries_fit_narrow_types() {
        use ElemType as E;
        for (elem, good, bad) in [
            (E::INT8, -128, 128),
            (E::UINT8, 255, -1),
            (E::INT16, -32768, 32768),
            (E::FLOAT16, 65535, 65536),
            (E::FLOAT8E5M2, 255, 256),
            (E::BOOL, 1, 2),
        ] {
            assert_eq!(values(elem, 1, Payload::int32s(vec![good])), None);
            let name = elem.name().expect("a known type");
            let expected = format!("E0509 value 1 of `w` is {bad}, which does not fit `{name}`");
            assert_eq!(values(elem, 2, Payload::int32s(vec![good, bad])), Some(expected));
        }
        assert_eq!(values(E::INT32, 1, Payload::int32s(vec![i32::MIN])), None);
        let expected = "E0509 value 0 of `w` is 4294967296, which does not fit `uint32`";
        assert_eq!(values(E::UINT32, 1, Payload::uint64s(vec![1 << 32])).as_deref(), Some(expected));
        assert_eq!(values(E::UINT64, 1, Payload::uint64s(vec![u64::MAX])), None);
        let expected = "E0509 byte 1 of `w` is 7, which does not fit `bool`";
        assert_eq!(values(E::BOOL, 2, raw(&[1, 7])).as_deref(), Some(expected));
    }

    #[test]
    fn values_are_left_alone_on_request() {
        assert_eq!(options(ElemType::INT8, 1, Payload::int32s(vec![300]), false), []);
    }

    #[test]
    fn padding_is_zero() {
        let expected =
            ("W0525 `w` has non-zero padding bits after its last element".to_owned(), Severity::Warning);
        assert_eq!(options(ElemType::INT4, 3, raw(&[0x21, 0x03]), true), []);
        assert_eq!(options(ElemType::INT4, 3, raw(&[0x21, 0x43]), true), std::slice::from_ref(&expected));
        assert_eq!(options(ElemType::UINT2, 1, Payload::int32s(vec![4]), true), [expected]);
        let expected = "E0508 `w` has non-zero padding bits after its last element";
        assert_eq!(values(ElemType::FLOAT6E2M3, 1, raw(&[0x3f])), None);
        assert_eq!(values(ElemType::FLOAT6E2M3, 1, raw(&[0x40])).as_deref(), Some(expected));
        let expected = "E0508 value 0 of `w` is 64, which does not fit `float6e3m2`";
        assert_eq!(values(ElemType::FLOAT6E3M2, 1, Payload::int32s(vec![64])).as_deref(), Some(expected));
    }

    #[test]
    fn strings_are_plain_text() {
        for (bytes, what) in [
            (&b"a\xff"[..], "is not UTF-8"),
            (b"\xef\xbb\xbfa", "begins with a byte-order mark"),
            (b"a\0", "ends with a NUL"),
        ] {
            let payload = Payload::Strings(vec![Bytes::from_static(b"ok"), Bytes::from_static(bytes)]);
            let expected = format!("E0510 element 1 of `w` {what}");
            assert_eq!(values(ElemType::STRING, 2, payload), Some(expected));
        }
    }
}
