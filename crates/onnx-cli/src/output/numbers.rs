//! Numbers for people: counts with a noun, groups of digits, sizes in bytes.

/// `1 error`, `2 errors`
pub(crate) fn count(number: usize, word: &str) -> String {
    format!("{} {word}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// `1,234,567`
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `97.5 MiB`
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return count(usize::try_from(number).unwrap_or(usize::MAX), "byte");
    }
    #[allow(clippy::cast_precision_loss, reason = "three digits are shown")]
    let mut size = number as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_234_567)),
            ("0".into(), "999".into(), "1,234,567".into())
        );
        assert_eq!(
            (bytes(1), bytes(1023), bytes(1536)),
            ("1 byte".into(), "1,023 bytes".into(), "1.5 KiB".into())
        );
        assert_eq!(bytes(400 << 20), "400.0 MiB");
    }
}
