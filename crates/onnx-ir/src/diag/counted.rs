//! Counts in messages: a number with its noun in the singular or the plural.

use std::fmt::Display;

/// A number with its noun: `1 input`, `2 inputs`, `N axes`.
///
/// ```
/// use onnx_ir::diag::counted;
/// assert_eq!(format!("the model has {}, not {}", counted(1, "input"), 2), "the model has 1 input, not 2");
/// assert_eq!(counted(0, "group index"), "0 group indices");
/// ```
#[must_use]
pub fn counted(number: impl Display, noun: &str) -> String {
    with_noun(number.to_string(), noun)
}

/// A number with its noun and the verb: `1 step is`, `2 steps are`.
#[must_use]
pub fn counted_are(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let verb = if number == "1" { "is" } else { "are" };
    with_noun(number, noun) + " " + verb
}

fn with_noun(number: String, noun: &str) -> String {
    if number == "1" { number + " " + noun } else { number + " " + &plural(noun) }
}

/// The plural of a noun, of which only the end of the last word matters.
fn plural(noun: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| noun.ends_with(end));
    match noun.strip_suffix('y') {
        Some(stem) if !ends(&["ay", "ey", "oy"]) => return format!("{stem}ies"),
        _ => {}
    }
    for (end, plural) in [("axis", "axes"), ("index", "indices"), ("leaf", "leaves")] {
        if let Some(stem) = noun.strip_suffix(end) {
            return format!("{stem}{plural}");
        }
    }
    format!("{noun}{}", if ends(&["s", "x", "ch", "sh"]) { "es" } else { "s" })
}

/// A number with commas between groups of three digits: `1,234,567`.
#[must_use]
pub fn grouped(number: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_agree_with_their_numbers() {
        let cases = [
            ("input", "inputs"),
            ("axis", "axes"),
            ("spatial axis", "spatial axes"),
            ("group index", "group indices"),
            ("leaf", "leaves"),
            ("box", "boxes"),
            ("batch", "batches"),
            ("class", "classes"),
            ("entry", "entries"),
            ("array", "arrays"),
            ("key", "keys"),
            ("size", "sizes"),
        ];
        for (one, many) in cases {
            assert_eq!(counted(1, one), format!("1 {one}"));
            for number in [0, 2, 11, 21] {
                assert_eq!(counted(number, one), format!("{number} {many}"));
            }
            assert_eq!((counted("1", one), counted("2*N", one)), (format!("1 {one}"), format!("2*N {many}")));
        }
        assert_eq!(
            (counted_are(1, "step"), counted_are(3, "step")),
            ("1 step is".into(), "3 steps are".into())
        );
        assert_eq!(counted(grouped(12_345), "finding"), "12,345 findings");
    }

    #[test]
    fn digits_are_grouped() {
        let all = [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in all {
            assert_eq!(grouped(number), text);
        }
    }
}
