//! Lists of numbers straight from the source, without a token for each: the bodies of big tensors. Measured by
//! `cargo xtask bench float/parse int64/parse int8/parse`.

use super::literals::Refused;

/// An invalid number, with its place and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadNumber {
    /// Range of bytes of the list.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A misplaced comma, number or end.
    Separator,
    /// Not a number of the expected kind, or out of range.
    Number(Refused),
}

/// A number type that a list can be read into.
pub(super) trait Number: Sized {
    /// Reads the number at `at`; returns it and its end.
    fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused>;
}

/// Reads `1, 2, 3` (no brackets). Stops at the first mistake.
pub(super) fn read_list<N: Number>(
    list: &[u8],
    mut each: impl FnMut(N, usize) -> Result<(), Refused>,
) -> Result<(), BadNumber> {
    let mut at = skip_space(list, 0);
    if at == list.len() {
        return Ok(());
    }
    loop {
        let bad = |why| BadNumber { start: at, end: number_end(list, at), why };
        let (number, end) = N::read(list, at).map_err(|r| bad(Why::Number(r)))?;
        each(number, at).map_err(|r| bad(Why::Number(r)))?;
        at = skip_space(list, end);
        let comma = at;
        match list.get(at) {
            None => return Ok(()),
            Some(b',') => at = skip_space(list, at + 1),
            Some(_) => return Err(BadNumber { start: at, end: at, why: Why::Separator }),
        }
        // The comma without a number before or after it.
        let stray = match list.get(at) {
            None => comma,
            Some(b',') => at,
            Some(_) => continue,
        };
        return Err(BadNumber { start: stray, end: stray + 1, why: Why::Separator });
    }
}

fn skip_space(list: &[u8], mut at: usize) -> usize {
    while list.get(at).is_some_and(|b| b.is_ascii_whitespace() || *b == b'\x0b') {
        at += 1;
    }
    at
}

fn number_end(list: &[u8], at: usize) -> usize {
    let length = list[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)).count();
    at + length
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused> {
                let (negative, start) = sign(list, at);
                let (value, end) = digits(list, start, 0);
                if end == start || matches!(list.get(end), Some(b'.' | b'e' | b'E' | b'+' | b'-')) {
                    return Err(Refused::Kind);
                }
                // 18 digits always fit 64 bits.
                if end - start <= 18 {
                    let value = value.cast_signed();
                    let value = if negative { -value } else { value };
                    return Ok((value.try_into().map_err(|_| Refused::Range)?, end));
                }
                let text = std::str::from_utf8(&list[at..end]).map_err(|_| Refused::Kind)?;
                Ok((text.parse().map_err(|_| Refused::Range)?, end))
            }
        }
    )*};
}

integers!(i32, i64, u64);

/// A literal by its spelling: an integer is the bit pattern of a narrow float, anything else its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spelled {
    Bits(i32),
    Value(f64),
}

impl Number for Spelled {
    fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused> {
        match i32::read(list, at) {
            Ok((bits, end)) => Ok((Spelled::Bits(bits), end)),
            Err(Refused::Kind) => f64::read(list, at).map(|(value, end)| (Spelled::Value(value), end)),
            Err(Refused::Range) => Err(Refused::Range),
        }
    }
}

#[inline]
fn sign(list: &[u8], at: usize) -> (bool, usize) {
    match list.get(at) {
        Some(b'-') => (true, at + 1),
        _ => (false, at),
    }
}

/// Reads the digits at `at` after those of `value`; returns the number, modulo 2^64, and its end.
///
/// Eight digits at a time in one register (Lemire, "Quickly parsing eight digits", 2018): a loop over single digits would be
/// mispredicted once per number.
#[inline]
fn digits(list: &[u8], at: usize, value: u64) -> (u64, usize) {
    let (mut value, mut at) = (value, at);
    while let Some(chunk) = list.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let digits = u64::from_le_bytes(*chunk) ^ 0x3030_3030_3030_3030;
        // The high bit of each byte that is not a digit; bytes after the first of them do not matter.
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
        let count = others.trailing_zeros() as usize / 8;
        if count == 0 {
            return (value, at);
        }
        let aligned = digits << (64 - 8 * count);
        value = value.wrapping_mul(INT_POWERS[count]).wrapping_add(eight_digits(aligned));
        at += count;
        if count < 8 {
            return (value, at);
        }
    }
    digits_one_by_one(list, at, value)
}

#[inline]
fn digits_one_by_one(list: &[u8], at: usize, value: u64) -> (u64, usize) {
    let (mut value, mut at) = (value, at);
    while let Some(digit) = list.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (value, at)
}

/// The number that eight bytes of 0 to 9 spell, the first in the low byte.
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let fours = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let rest = ((pairs >> 16) & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    fours.wrapping_add(rest) >> 32
}

const INT_POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The digits of a float: an integer and a power of ten.
struct Decimal {
    negative: bool,
    /// The digits as an integer, if they fit.
    mantissa: Option<u64>,
    exponent: i64,
    end: usize,
}

#[inline]
fn decimal(list: &[u8], at: usize) -> Result<Decimal, Refused> {
    let (negative, start) = sign(list, at);
    // Few digits precede the point.
    let (mut mantissa, mut end) = digits_one_by_one(list, start, 0);
    let mut count = end - start;
    if count == 0 {
        return Err(Refused::Kind);
    }
    let mut exponent = 0i64;
    if list.get(end) == Some(&b'.') {
        let point = end + 1;
        (mantissa, end) = digits(list, point, mantissa);
        count += end - point;
        exponent = -i64::try_from(end - point).map_err(|_| Refused::Range)?;
    }
    if let Some(b'e' | b'E') = list.get(end) {
        let (negative, first) = match list.get(end + 1) {
            Some(b'-') => (true, end + 2),
            Some(b'+') => (false, end + 2),
            _ => (false, end + 1),
        };
        let power;
        (power, end) = digits(list, first, 0);
        if end == first {
            return Err(Refused::Kind);
        }
        // More than eight digits are far beyond any float.
        let power = if end - first > 8 { i64::from(u32::MAX) } else { power.cast_signed() };
        exponent = exponent.saturating_add(if negative { -power } else { power });
    }
    // 19 digits always fit 64 bits.
    Ok(Decimal { negative, mantissa: (count <= 19).then_some(mantissa), exponent, end })
}

/// Powers of ten that are exact in an `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The value if one rounding suffices: an exact integer times or divided by an exact power of ten (Clinger 1990).
#[inline]
fn exact(d: &Decimal) -> Option<f64> {
    let mantissa = d.mantissa.filter(|&m| m <= 1 << 53)? as f64;
    let value = if d.exponent >= 0 {
        mantissa * POWERS.get(usize::try_from(d.exponent).ok()?)?
    } else {
        mantissa / POWERS.get(usize::try_from(-d.exponent).ok()?)?
    };
    Some(if d.negative { -value } else { value })
}

impl Number for f64 {
    fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused> {
        let d = decimal(list, at)?;
        Ok((exact(&d).map_or_else(|| slow(list, at, d.end), Ok)?, d.end))
    }
}

impl Number for f32 {
    fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused> {
        let d = decimal(list, at)?;
        // Rounding twice, to 53 and then to 24 bits, is wrong only if the first result is exactly between two f32, or outside
        // their normal range.
        let value = exact(&d).filter(|v| {
            let normal = (f64::from(f32::MIN_POSITIVE)..1e38).contains(&v.abs());
            (normal && v.to_bits() & 0x1fff_ffff != 0x1000_0000) || *v == 0.0
        });
        match value {
            Some(v) => Ok((v as f32, d.end)),
            None => Ok((slow(list, at, d.end)?, d.end)),
        }
    }
}

fn slow<F: std::str::FromStr + Into<f64> + Copy>(list: &[u8], at: usize, end: usize) -> Result<F, Refused> {
    let parsed = std::str::from_utf8(&list[at..end]).ok().and_then(|s| s.parse::<F>().ok());
    match parsed {
        None => Err(Refused::Kind),
        // A literal of digits that rounds to infinity.
        Some(value) if value.into().is_infinite() => Err(Refused::Range),
        Some(value) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list<N: Number>(text: &str) -> Result<Vec<N>, BadNumber> {
        let mut out = Vec::new();
        read_list(text.as_bytes(), |n, _| {
            out.push(n);
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn lists_are_read_with_any_white_space() {
        assert_eq!(list::<i64>(" 1,-2 ,\n3 "), Ok(vec![1, -2, 3]));
        assert_eq!(list::<f32>("1, -2.5e3, 3."), Ok(vec![1.0, -2500.0, 3.0]));
        assert_eq!(list::<i64>("  "), Ok(vec![]));
    }

    #[test]
    fn mistakes_have_a_place() {
        let bad = |text| list::<i64>(text).map_err(|b| (b.start, b.end, b.why));
        assert_eq!(bad("1, 2.5"), Err((3, 6, Why::Number(Refused::Kind))));
        assert_eq!(bad("1 2"), Err((2, 2, Why::Separator)));
        assert_eq!(bad("1, , 2"), Err((3, 4, Why::Separator)));
        assert_eq!(bad("1,"), Err((1, 2, Why::Separator)));
        assert_eq!(bad("99999999999999999999"), Err((0, 20, Why::Number(Refused::Range))));
        assert_eq!(list::<u64>("18446744073709551615, 1"), Ok(vec![u64::MAX, 1]));
        assert_eq!(list::<i64>("-9223372036854775808"), Ok(vec![i64::MIN]));
        assert!(list::<u64>("-1").is_err() && list::<i32>("2147483648").is_err());
    }

    #[test]
    fn floats_are_rounded_as_the_standard_library_does() {
        // Every f32 from a spread of bit patterns, shortest and long spellings, and the midpoints between them.
        let count: u32 = if cfg!(miri) { 100 } else { 200_000 };
        for i in 0..count {
            let bits = i.wrapping_mul(21_473) ^ (i << 13);
            let value = f32::from_bits(bits);
            if !value.is_finite() {
                continue;
            }
            for text in [
                format!("{value}"),
                format!("{value:e}"),
                format!("{:.12e}", f64::from(value) * (1.0 + 2f64.powi(-25))),
            ] {
                let (got, end) = f32::read(text.as_bytes(), 0).expect("a float");
                assert_eq!(
                    (got.to_bits(), end),
                    (text.parse::<f32>().expect("a float").to_bits(), text.len()),
                    "{text}"
                );
            }
            let wide = f64::from_bits((u64::from(bits) << 32) | u64::from(bits));
            if wide.is_finite() {
                let text = format!("{wide:e}");
                assert_eq!(
                    f64::read(text.as_bytes(), 0).map(|r| r.0.to_bits()),
                    Ok(wide.to_bits()),
                    "{text}"
                );
            }
        }
    }
}
