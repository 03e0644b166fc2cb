//! Characters that are not displayed but act on what displays them. `onnx-text` and `onnx-formula` escape them.

/// Whether a character does something instead of being seen. Line breaks and tabs are not among them.
pub fn is_active(c: char) -> bool {
    let is_bidirectional = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}');
    (c.is_control() && c != '\n' && c != '\t') || is_bidirectional || is_separator
}
