//! ONNX text in other files: fenced blocks of Markdown, and strings that Python gives to `parse_model` and the like.
//!
//! Each is a document of its own in which everything around it is blank, so that its lines and columns are those of the file.

use super::lines::Encoding;
use std::ops::Range;

/// Files that may hold ONNX text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Host {
    Markdown,
    Python,
}

/// A part of a file that is ONNX text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// Whether it is a model as a whole; of other parts, only the syntax can be checked.
    pub(crate) is_model: bool,
}

impl Host {
    /// By the extension of the file.
    pub(crate) fn of(uri: &str) -> Option<Host> {
        match uri.rsplit_once('.')?.1 {
            "md" | "markdown" => Some(Host::Markdown),
            "py" | "pyi" => Some(Host::Python),
            _ => None,
        }
    }

    /// The parts of a file that are ONNX text, in order.
    pub(crate) fn regions(self, text: &str) -> Vec<Region> {
        match self {
            Host::Markdown => fences(text),
            Host::Python => strings(text),
        }
    }
}

/// The languages of blocks of Markdown that are ONNX text.
const LANGUAGES: [&str; 2] = ["onnxtxt", "onnx"];

/// The content of blocks whose info string begins with one of [`LANGUAGES`].
fn fences(text: &str) -> Vec<Region> {
    let mut regions = Vec::new();
    let mut open: Option<(&str, usize, bool)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        let length = content.len() - content.trim_start_matches(['`', '~']).len();
        match open {
            Some((fence, start, is_ours))
                if content == &fence[..fence.len().min(length)] && length >= fence.len() =>
            {
                if is_ours {
                    regions.push(Region { range: start..at, is_model: true });
                }
                open = None;
            }
            None if length >= 3 => {
                let language = content[length..].split_whitespace().next().unwrap_or_default();
                open = Some((&content[..length], at + line.len(), LANGUAGES.contains(&language)));
            }
            Some(_) | None => {}
        }
        at += line.len();
    }
    regions
}

/// The functions of the package `onnx.parser`.
const PARSERS: [&str; 4] = ["parse_model", "parse_graph", "parse_function", "parse_node"];

/// The first string between the parentheses of a call.
fn strings(text: &str) -> Vec<Region> {
    let mut regions = Vec::new();
    for name in PARSERS {
        for (at, _) in text.match_indices(name) {
            let rest = &text[at + name.len()..];
            let Some(call) = rest.trim_start().strip_prefix('(') else { continue };
            let argument = call.trim_start().trim_start_matches(['r', 'R', 'f', 'F']);
            let Some(quote) =
                ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| argument.starts_with(quote))
            else {
                continue;
            };
            let start = text.len() - argument.len() + quote.len();
            let end = text[start..].find(quote).map_or(text.len(), |length| start + length);
            regions.push(Region { range: start..end, is_model: name == "parse_model" });
        }
    }
    regions.sort_by_key(|region| region.range.start);
    regions
}

/// The text in which everything outside of a range is blank. Lines and columns stay.
pub(crate) fn blanked(text: &str, range: &Range<usize>, encoding: Encoding) -> String {
    let mut out = String::with_capacity(text.len());
    let blank = |out: &mut String, part: &str| {
        for c in part.chars() {
            match c {
                '\n' | '\r' => out.push(c),
                c => (0..encoding.width(c)).for_each(|_| out.push(' ')),
            }
        }
    };
    blank(&mut out, &text[..range.start]);
    out += &text[range.clone()];
    blank(&mut out, &text[range.end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(host: Host, text: &str) -> Vec<&str> {
        host.regions(text).into_iter().map(|region| &text[region.range]).collect()
    }

    #[test]
    fn blocks_and_strings_are_found() {
        let text = "# T\n```onnxtxt\ng () => () {}\n```\n```python\nx\n```\n  ~~~ onnx title\n  a\n  ~~~\n````onnxtxt\n```\n````\n";
        assert_eq!(found(Host::Markdown, text), ["g () => () {}\n", "  a\n", "```\n"]);
        let text = "m = onnx.parser.parse_model(\n  r\"\"\"g () => () {}\"\"\")\nn = parse_node('y = Abs(x)')\nparse_model(text)\n";
        assert_eq!(found(Host::Python, text), ["g () => () {}", "y = Abs(x)"]);
        assert_eq!(
            Host::Python.regions(text).iter().map(|region| region.is_model).collect::<Vec<_>>(),
            [true, false]
        );
        assert_eq!(found(Host::Python, "parse_model('''"), [""]);
        assert_eq!(found(Host::Markdown, "```onnxtxt\nx"), [""; 0]);
    }

    #[test]
    fn blank_text_keeps_lines_and_columns() {
        let text = "ä = p(\"x\ny\")\n😀";
        let start = text.find('x').unwrap();
        let range = start..start + 3;
        assert_eq!(blanked(text, &range, Encoding::Utf16), "       x\ny  \n  ");
        assert_eq!(blanked(text, &range, Encoding::Utf8), "        x\ny  \n    ");
    }
}
