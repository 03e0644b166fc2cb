//! The block at the head of an operator's documentation that holds its signature ([`signatures`](crate::signatures)).

/// The language tag of such a block.
const LANGUAGE: &str = "onnxtxt";
/// A fence has this many backticks at least.
const FENCE: usize = 3;

/// Documentation that begins with a signature, in parts: its text, and what follows.
pub(crate) fn split(doc: &[u8]) -> Option<(&str, Option<&[u8]>)> {
    let ticks = doc.iter().take_while(|&&byte| byte == b'`').count();
    let rest = doc.get(ticks..)?.strip_prefix(LANGUAGE.as_bytes())?.strip_prefix(b"\n")?;
    let end = end_of_block(rest, ticks)?;
    let text = std::str::from_utf8(rest.get(..end)?).ok()?;
    let after = rest.get(end + 1 + ticks..)?;
    let after = if after.is_empty() { None } else { Some(after.strip_prefix(b"\n\n")?) };
    (ticks == ticks_for(text)).then_some((text, after))
}

/// Documentation of these parts.
pub(crate) fn join(text: &str, doc: Option<&[u8]>) -> Vec<u8> {
    let fence = "`".repeat(ticks_for(text));
    let mut out = format!("{fence}{LANGUAGE}\n{text}\n{fence}").into_bytes();
    if let Some(doc) = doc {
        out.extend_from_slice(b"\n\n");
        out.extend_from_slice(doc);
    }
    out
}

/// A fence that no line of the text closes.
fn ticks_for(text: &str) -> usize {
    let longest = text.lines().map(|line| line.bytes().take_while(|&byte| byte == b'`').count()).max();
    longest.map_or(FENCE, |longest| FENCE.max(longest + 1))
}

/// The start of the first line, including its line break, with at least `ticks` backticks.
fn end_of_block(text: &[u8], ticks: usize) -> Option<usize> {
    if ticks < FENCE {
        return None;
    }
    memchr::memchr_iter(b'\n', text).find(|&at| {
        text.get(at + 1..at + 1 + ticks).is_some_and(|line| line.iter().all(|&byte| byte == b'`'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_falls_into_its_parts() {
        for (text, doc) in [
            ("operator A () => ()", None),
            ("operator A () => ()", Some(&b""[..])),
            ("operator A () => ()\nwhere T: {float}", Some(b"A.\n\n```onnxtxt\nx\n```")),
            ("a\n``` \n````b", Some(b"\xff")),
            ("", Some(b"\n\n")),
        ] {
            let joined = join(text, doc);
            assert_eq!(split(&joined), Some((text, doc)), "{:?}", String::from_utf8_lossy(&joined));
        }
    }

    #[test]
    fn only_what_would_be_written_is_a_block() {
        for doc in [
            "",
            "A.",
            "```onnxtxt",
            "```onnxtxt\nA",
            "```onnxtxt\nA\n``",
            "```onnxtxt\nA\n```x",
            "```onnxtxt\nA\n```\nx",
            "````onnxtxt\nA\n````",
            "```rust\nA\n```",
            "``onnxtxt\nA\n``",
        ] {
            assert_eq!(split(doc.as_bytes()), None, "{doc}");
        }
    }
}
