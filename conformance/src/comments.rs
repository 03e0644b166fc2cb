//! Comments between the tokens of a text.

/// The text of the comments of [`insert`] before their number, which does not occur elsewhere.
const MARK: &str = "comment~";

/// Byte offsets at which a comment may be put: before and behind every token, and where a line begins. Inside the lines
/// of annotations there are none.
pub fn gaps(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut gaps = Vec::new();
    let mut at = if text.starts_with("#@ onnxtxt 1") { line_end(text, 0) + 1 } else { 0 };
    while at < bytes.len() {
        gaps.push(at);
        at = match bytes[at] {
            // A text inserted at the end of this line would become a part of the comment.
            b'#' => line_end(text, at) + 1,
            b'/' if bytes.get(at + 1) == Some(&b'/') => line_end(text, at) + 1,
            // One token, if it has nothing but numbers in it.
            b'{' if bytes.get(at + 1) == Some(&b'{') => {
                text[at..].find("}}").map_or(at + 2, |end| at + end + 2)
            }
            b'"' => string_end(bytes, at),
            b'b' if bytes.get(at + 1) == Some(&b'"') => string_end(bytes, at + 1),
            b'=' if bytes.get(at + 1) == Some(&b'>') => at + 2,
            // Its last point and what follows would be a number.
            b'.' if bytes[at..].starts_with(b"...") => at + 3,
            b if is_word(b) && b != b'.' => {
                let is_number = !is_letter(b);
                let mut end = at;
                while bytes
                    .get(end)
                    .is_some_and(|&b| is_letter(b) || b.is_ascii_digit() || is_word(b) && is_number)
                {
                    end += 1;
                    // `1e+5`
                    if is_number
                        && matches!(bytes[end - 1], b'e' | b'E')
                        && matches!(bytes.get(end), Some(b'+' | b'-'))
                    {
                        end += 1;
                    }
                }
                end
            }
            _ => at + 1,
        };
    }
    gaps.push(bytes.len());
    gaps
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_word(byte: u8) -> bool {
    is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |length| from + length)
}

fn string_end(bytes: &[u8], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// Puts a comment with the number n at the n-th of these offsets, which ascend: behind what is there, or on a line of
/// its own.
pub fn insert(text: &str, at: &[usize]) -> String {
    let mut out = String::with_capacity(text.len() + at.len() * 10);
    let mut from = 0;
    for (n, &at) in at.iter().enumerate() {
        out.push_str(&text[from..at]);
        out.push_str(&if n % 2 == 0 { format!(" # {MARK}{n}\n") } else { format!("\n// {MARK}{n}\n") });
        from = at;
    }
    out.push_str(&text[from..]);
    out
}

/// The numbers of the comments of [`insert`] that a text has, in its order.
pub fn found(text: &str) -> Vec<usize> {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    text.split(MARK).skip(1).filter_map(|part| digits(part).parse().ok()).collect()
}
