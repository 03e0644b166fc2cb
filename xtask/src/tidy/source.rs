//! A file as the rules see it: its text, and for Rust its code with everything blanked that is not code.

use std::ops::Range;

pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
    /// `text` with comments, strings and test code replaced by spaces: offsets and lines stay the same. Empty for
    /// other files than Rust.
    pub(crate) code: String,
}

impl File {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let code = if path.ends_with(".rs") { code_of(path, &text) } else { String::new() };
        Self { path: path.to_owned(), text, code }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    pub(crate) fn is_generated(&self) -> bool {
        self.text.lines().take(5).any(|line| line.contains("@generated"))
    }

    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }

    /// 1-based lines of the code in which `word` stands, not as a part of a longer identifier.
    pub(crate) fn lines_with(&self, word: &str) -> Vec<usize> {
        let lines = self.code.lines().enumerate();
        lines.filter(|(_, line)| has_word(line, word)).map(|(at, _)| at + 1).collect()
    }
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let starts_inside = before.is_some_and(is_part) && word.starts_with(is_part);
        let ends_inside = after.is_some_and(is_part) && word.ends_with(is_part);
        !starts_inside && !ends_inside
    })
}

fn code_of(path: &str, text: &str) -> String {
    // Files under tests/, benches/ and examples/ are test code as a whole, and so is a file of a test module.
    let is_test = path.split('/').any(|part| matches!(part, "tests" | "benches" | "examples" | "tests.rs"));
    if is_test {
        return blank(text, std::iter::once(0..text.len()));
    }
    let mut code = blank(text, not_code(text));
    while let Some(range) = test_item(&code) {
        code = blank(&code, std::iter::once(range));
    }
    code
}

fn blank(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in ranges {
        out += &text[end..range.start];
        // One space a byte, so that offsets stay.
        out.extend(text[range.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
        end = range.end;
    }
    out + &text[end..]
}

/// Comments, strings and character literals.
fn not_code(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest, at.checked_sub(1).map(|before| bytes[before])) {
            length
        } else if rest.starts_with('"') {
            quoted(rest)
        } else if rest.starts_with('\'') {
            character(rest)
        } else {
            0
        };
        if length > 0 {
            ranges.push(at..at + length);
            at += length;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    ranges
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn raw_string(rest: &str, before: Option<u8>) -> Option<usize> {
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return None;
    }
    let body =
        rest.strip_prefix("br").or_else(|| rest.strip_prefix("cr")).or_else(|| rest.strip_prefix('r'))?;
    let hashes = body.len() - body.trim_start_matches('#').len();
    let inner = body[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let end = inner.find(&close).map_or(inner.len(), |end| end + close.len());
    Some(rest.len() - inner.len() + end)
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal, or 0 for a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => {
            let _escaped = chars.next();
            chars.find(|&(_, c)| c == '\'').map_or(0, |(at, _)| at + 1)
        }
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 0,
        },
        None => 0,
    }
}

/// The next item under `#[cfg(test)]` or `#[cfg(all(test, …))]`: up to the end of its braces, or its semicolon.
fn test_item(code: &str) -> Option<Range<usize>> {
    let start = ["#[cfg(test)]", "#[cfg(all(test,"].iter().filter_map(|mark| code.find(mark)).min()?;
    let mut depth = 0_usize;
    for (at, c) in code[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(start..start + at + 1);
                }
            }
            ';' if depth == 0 => return Some(start..start + at + 1),
            _ => {}
        }
    }
    Some(start..code.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        File::new("a/src/b.rs", text.to_owned()).code
    }

    #[test]
    fn comments_and_strings_are_blank() {
        assert_eq!(code("a // b\nc /* d /* e */ */ f"), "a     \nc                 f");
        assert_eq!(code(r##"x("y\"z", r#"u"v"#, b"w", 'c', '\'') + 'a"##).replace(' ', ""), "x(,,b,,)+'a");
        assert_eq!(code("let var = 1; r\"s\"").trim(), "let var = 1;");
    }

    #[test]
    fn lines_survive_blanking() {
        let text = "a\n/* ä\n*/ b\n\"é\nx\" c";
        assert_eq!(code(text).lines().count(), text.lines().count());
        assert_eq!(code(text).len(), text.len());
    }

    #[test]
    fn test_modules_are_blank() {
        assert_eq!(
            code("a\n#[cfg(test)]\nmod tests { fn f() { x.unwrap() } }\nb").replace([' ', '\n'], ""),
            "ab"
        );
        assert_eq!(code("#[cfg(test)] mod t;\nb").trim(), "b");
        assert_eq!(code("#[cfg(all(test, unix))] mod t { fn f() {} }\nb").trim(), "b");
        assert_eq!(File::new("a/tests/b.rs", "x".to_owned()).code, " ");
    }

    #[test]
    fn words_are_whole() {
        assert!(has_word("use logos::Lexer", "logos"));
        assert!(has_word("x = ::prost::Message", "prost::"));
        assert!(!has_word("use prost_reflect::X", "prost"));
        assert!(!has_word("my_logos", "logos"));
    }
}
