//! Makes control characters in displayed text visible.
//!
//! Names, documentation and strings of a model are untrusted. Unescaped, they could send commands to a terminal (C0 and C1
//! control characters), change the order in which the rest of a line is displayed (bidirectional marks), or send commands to a CI
//! system (a line that starts with `::`).

pub use onnx_ir::is_active;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a text has an active character, or a line after the first one that starts with `::`.
pub(crate) fn is_active_text(text: &str) -> bool {
    let is_command = |line: &str| line.trim_start().starts_with(COMMAND);
    text.contains(is_active) || (text.contains(COMMAND) && text.split('\n').skip(1).any(is_command))
}

/// The text with active characters escaped, such as `\u001b`. If the text is JSON, it stays equivalent JSON.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with(COMMAND);
    if !(text.contains(is_active) || text.contains(COMMAND) && text.split('\n').any(is_command)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 64);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        if is_command(line) {
            let (space, command) = line.split_at(line.len() - line.trim_start().len());
            push(&mut out, space);
            out.push_str("\\u003a");
            rest = &command[1..];
        }
        push(&mut out, rest);
    }
    out.into()
}

fn push(out: &mut String, text: &str) {
    for c in text.chars() {
        if is_active(c) {
            _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
}

/// The start of a workflow command of GitHub, after optional white space.
const COMMAND: &str = "::";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_active_is_escaped_and_nothing_else() {
        assert!(matches!(visible("ä ::\n\tb\u{200d}"), Cow::Borrowed(_)));
        assert_eq!(visible("\x1b[1m\u{9b}\r\u{202e}\u{2028}"), r"\u001b[1m\u009b\u000d\u202e\u2028");
        assert_eq!(visible("::a ::\n  ::b\n"), "\\u003a:a ::\n  \\u003a:b\n");
        let parts = ["::", ":", " ", "\n", "\r\n", "a", "\x1b[0m", "\u{85}", "\u{2066}", "\\", "\u{feff}"];
        let mut seed = 5_usize;
        for _ in 0..2_000 {
            let mut text = String::new();
            for _ in 0..8 {
                seed = seed.wrapping_mul(1_103_515_245).wrapping_add(12_345);
                text += parts[(seed >> 8) % parts.len()];
            }
            let shown = visible(&text).into_owned();
            assert!(!shown.contains(is_active), "{text:?}");
            assert!(!shown.lines().any(|line| line.trim_start().starts_with(COMMAND)), "{text:?}");
            assert_eq!(visible(&shown), shown);
        }
        assert!(is_active_text("a\n ::b") && !is_active_text("::b\n : :") && is_active_text("\x7f"));
    }
}
