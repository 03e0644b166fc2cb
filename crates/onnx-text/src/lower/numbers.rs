//! Lists of numbers straight from the source, without a token for each: the bodies of big tensors.

use super::literals::Refused;

/// A number that cannot be taken: where, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadNumber {
    /// Range of bytes of the list.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// A comma, a number or the end does not stand where it should.
    Separator,
    /// Not a number of the wanted kind, or one that does not fit.
    Number(Refused),
}

/// A number type that a list can be read into.
pub(super) trait Number: Sized {
    /// Reads the number at `at`; returns it and where it ends.
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
        match list.get(at) {
            None => return Ok(()),
            Some(b',') => at = skip_space(list, at + 1),
            Some(_) => return Err(BadNumber { start: at, end: at, why: Why::Separator }),
        }
        if at == list.len() || list[at] == b',' {
            return Err(BadNumber { start: at - 1, end: at, why: Why::Separator });
        }
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

/// Integers are read as 128 bits, so that every 64-bit range can be checked afterwards.
impl Number for i128 {
    fn read(list: &[u8], at: usize) -> Result<(Self, usize), Refused> {
        let (negative, start) = sign(list, at);
        let mut value = 0u64;
        let mut end = start;
        while let Some(digit) = digit(list, end) {
            value = value.checked_mul(10).and_then(|v| v.checked_add(digit)).ok_or(Refused::Range)?;
            end += 1;
        }
        if end == start || matches!(list.get(end), Some(b'.' | b'e' | b'E' | b'+' | b'-')) {
            return Err(Refused::Kind);
        }
        Ok((if negative { -i128::from(value) } else { i128::from(value) }, end))
    }
}

fn sign(list: &[u8], at: usize) -> (bool, usize) {
    match list.get(at) {
        Some(b'-') => (true, at + 1),
        _ => (false, at),
    }
}

fn digit(list: &[u8], at: usize) -> Option<u64> {
    let digit = list.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// The digits of a float: an integer and a power of ten.
struct Decimal {
    negative: bool,
    /// The digits as an integer, if they fit.
    mantissa: Option<u64>,
    exponent: i64,
    end: usize,
}

fn decimal(list: &[u8], at: usize) -> Result<Decimal, Refused> {
    let (negative, start) = sign(list, at);
    let mut mantissa = 0u64;
    let mut end = start;
    while let Some(d) = digit(list, end) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(d);
        end += 1;
    }
    let mut digits = end - start;
    if digits == 0 {
        return Err(Refused::Kind);
    }
    let mut exponent = 0i64;
    if list.get(end) == Some(&b'.') {
        let point = end + 1;
        end = point;
        while let Some(d) = digit(list, end) {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(d);
            end += 1;
        }
        digits += end - point;
        exponent = -i64::try_from(end - point).map_err(|_| Refused::Range)?;
    }
    if let Some(b'e' | b'E') = list.get(end) {
        let (negative, first) = match list.get(end + 1) {
            Some(b'-') => (true, end + 2),
            Some(b'+') => (false, end + 2),
            _ => (false, end + 1),
        };
        let mut power = 0i64;
        end = first;
        while let Some(d) = digit(list, end) {
            power = power.saturating_mul(10).saturating_add(d as i64);
            end += 1;
        }
        if end == first {
            return Err(Refused::Kind);
        }
        exponent = exponent.saturating_add(if negative { -power } else { power });
    }
    // 19 digits always fit 64 bits.
    Ok(Decimal { negative, mantissa: (digits <= 19).then_some(mantissa), exponent, end })
}

/// Powers of ten that are exact in an `f64`.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The value if one rounding gives it: an exact integer times or divided by an exact power of ten (Clinger 1990).
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
        // Rounding twice, to 53 and then to 24 bits, errs only if the first result lies exactly between two f32, or
        // outside their normal range.
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
        assert_eq!(list::<i128>(" 1,-2 ,\n3 "), Ok(vec![1, -2, 3]));
        assert_eq!(list::<f32>("1, -2.5e3, 3."), Ok(vec![1.0, -2500.0, 3.0]));
        assert_eq!(list::<i128>("  "), Ok(vec![]));
    }

    #[test]
    fn mistakes_have_a_place() {
        let bad = |text| list::<i128>(text).map_err(|b| (b.start, b.end, b.why));
        assert_eq!(bad("1, 2.5"), Err((3, 6, Why::Number(Refused::Kind))));
        assert_eq!(bad("1 2"), Err((2, 2, Why::Separator)));
        assert_eq!(bad("1, , 2"), Err((2, 3, Why::Separator)));
        assert_eq!(bad("1,"), Err((1, 2, Why::Separator)));
        assert_eq!(bad("99999999999999999999"), Err((0, 20, Why::Number(Refused::Range))));
    }

    #[test]
    fn floats_are_rounded_as_the_standard_library_does() {
        // Every f32 from a spread of bit patterns, shortest and long spellings, and the midpoints between them.
        for i in 0..200_000u32 {
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
