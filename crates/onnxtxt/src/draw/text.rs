//! Text in drawings: escaped, cut, and as wide as it will be.

use onnx_text::visible;

/// Escapes the markup of XML and HTML, and removes characters that XML cannot have or that act instead of being seen.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// At most so many characters, cut in the middle: the ends of names say most.
pub(super) fn cut(text: &str, most: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= most {
        return text.to_owned();
    }
    let tail = most / 2;
    let head = most.saturating_sub(tail + 1);
    chars[..head].iter().chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect()
}

/// At most so many characters, cut at the end.
pub(super) fn cut_end(text: &str, most: usize) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(most.saturating_sub(1)).collect();
    match (chars.next(), chars.next()) {
        (None, _) => head,
        (Some(last), None) => head + &last.to_string(),
        (Some(_), Some(_)) => head + "…",
    }
}

/// The width of text in a font of equal widths, in pixels.
pub(super) fn mono(text: &str, size: f64) -> f64 {
    columns(text) * size * 0.605
}

/// The width of text in other fonts, at most.
pub(super) fn sans(text: &str, size: f64) -> f64 {
    let width = |c: char| match c {
        'i' | 'l' | 'j' | 't' | 'f' | 'I' | '.' | ',' | ':' | '|' | ' ' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' => 0.95,
        'A'..='Z' => 0.74,
        c if u32::from(c) > 0x1100 => 1.05,
        _ => 0.62,
    };
    text.chars().map(width).sum::<f64>() * size
}

fn columns(text: &str) -> f64 {
    text.chars().map(|c| if u32::from(c) > 0x1100 && c != '…' && c != '←' { 2.0 } else { 1.0 }).sum()
}

/// A number with few digits: coordinates.
pub(super) fn number(x: f64) -> String {
    let rounded = (x * 10.0).round() / 10.0;
    // Not `-0`.
    format!("{}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_markup_or_acts() {
        assert_eq!(
            escaped("<a & \"b\">\u{202e}\u{1b}\u{0}"),
            "&lt;a &amp; &quot;b&quot;&gt;\\u202e\\u001b\\u0000"
        );
        assert_eq!(escaped("a\nb\u{ffff}"), "a b\u{fffd}");
    }

    #[test]
    fn long_names_keep_their_ends() {
        assert_eq!(cut("/layer1/layer1.0/conv1/Conv", 11), "/laye…/Conv");
        assert_eq!(
            (cut("short", 5), cut_end("shorter", 5), cut_end("short", 5)),
            ("short".into(), "shor…".into(), "short".into())
        );
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([number(1.0), number(-0.01), number(12.345)], ["1", "0", "12.3"]);
    }
}
