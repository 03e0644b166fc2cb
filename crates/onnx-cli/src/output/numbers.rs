//! Numbers for people: counts with a noun, groups of digits, sizes in bytes.

use onnx_ir::diag::counted;
pub(crate) use onnx_ir::diag::grouped;

/// `1 error`, `2 errors`
pub(crate) fn count(number: usize, word: &str) -> String {
    counted(grouped(number as u64), word)
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
        assert_eq!((count(1, "entry"), count(1234, "entry")), ("1 entry".into(), "1,234 entries".into()));
        assert_eq!(
            (bytes(1), bytes(1023), bytes(1536)),
            ("1 byte".into(), "1,023 bytes".into(), "1.5 KiB".into())
        );
        assert_eq!(bytes(400 << 20), "400.0 MiB");
    }
}
