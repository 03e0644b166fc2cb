//! Comments where readers need them: headings in long functions, and bounds in `SAFETY` comments.

use super::Finding;
use super::budget::{self, Budget};
use super::source::File;

/// A function with more lines than this has headings.
const MAX_LINES_WITHOUT_HEADINGS: usize = 60;
/// One line of comment is due for so many lines of a long function.
const LINES_PER_HEADING: usize = 20;

/// Long functions without headings that are older than the rule.
const LONG_FUNCTIONS: Budget = &[("crates/onnx-kernels", 10), ("crates/onnx-ops", 9)];

/// `SAFETY` comments without a bound that are older than the rule.
const UNBOUNDED: Budget = &[];

/// Functions of more than 60 lines have a comment as a heading for each of their paragraphs.
pub(super) fn long_functions_have_headings(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && !file.is_generated()) {
        let comments: Vec<bool> = file.text.lines().map(is_comment).collect();
        for function in functions(&file.code) {
            let lines = function.last - function.first;
            let headings = comments[function.first..function.last].iter().filter(|is| **is).count();
            let due = lines / LINES_PER_HEADING;
            if lines > MAX_LINES_WITHOUT_HEADINGS && headings < due {
                let message = format!(
                    "`{}` has {lines} lines and {headings} lines of comments: begin its paragraphs with comments \
                     that name them, at least {due}, or make functions of them",
                    function.name
                );
                findings.push(Finding::new(&file.path, function.first, message));
            }
        }
    }
    budget::beyond("long functions have headings", findings, LONG_FUNCTIONS)
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// A function: its name, and the lines of its body, from the one after the brace to that of the closing brace.
struct Function {
    name: String,
    first: usize,
    last: usize,
}

/// The functions of code without comments and strings.
fn functions(code: &str) -> Vec<Function> {
    let line_of = |at: usize| code[..at].matches('\n').count() + 1;
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_keyword = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let rest = &code[at + 3..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        // A type `fn (…)` has no name, and a declaration in a trait has no body.
        let Some(open) = body(rest).filter(|_| is_keyword && !name.is_empty()) else { continue };
        let start = at + 3 + open;
        let first = line_of(start);
        let last = (line_of(start + block(&code[start..])) - 1).max(first);
        found.push(Function { name, first, last });
    }
    found
}

/// The brace that opens the body, if there is a body. An array type has a semicolon inside brackets.
fn body(signature: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in signature.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '{' if depth == 0 => return Some(at),
            ';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The length of a block in braces.
fn block(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// Claims about memory.
const CLAIMS: &[&str] =
    &["are there", "is there", "there are", "there is", "points to", "point to", "room", "likewise"];
/// Words of a bound.
const BOUNDS: &[&str] = &[
    "aligned", "as many", "at least", "at most", "bound", "bounds", "checked", "exactly", "first", "last",
    "len", "length", "lengths", "multiple", "range", "shorter", "size", "sizes", "within",
];
const NUMBERS: &[&str] = &["one", "two", "four", "eight", "sixteen", "all lanes"];

/// A `SAFETY` comment that claims that memory exists says how much, and which check makes sure of it.
pub(super) fn safety_names_a_bound(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let content = line.trim_start().trim_start_matches(['/', '!']).trim_start();
            if !is_comment(line) || !(content.starts_with("SAFETY:") || content.starts_with("# Safety")) {
                continue;
            }
            let block: Vec<&str> = lines[at..].iter().copied().take_while(|line| is_comment(line)).collect();
            if !is_bounded(&block.join(" ")) {
                let message = "the comment claims that memory is there, and names no bound: say which pointer, how far, and \
                               what checked it";
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    budget::beyond("SAFETY names a bound", findings, UNBOUNDED)
}

/// Whether a comment claims nothing about memory, or says how much of it.
fn is_bounded(comment: &str) -> bool {
    let text = comment.to_lowercase();
    let has = |words: &[&str]| {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        words.iter().any(|word| {
            text.match_indices(word).any(|(at, _)| {
                !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word)
            })
        })
    };
    !has(CLAIMS) || has(BOUNDS) || has(NUMBERS) || text.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of so many lines, with a comment on each of the given ones.
    fn function(lines: usize, headings: &[usize]) -> File {
        let line = |at| {
            if headings.contains(&at) { "    // Heading.\n" } else { "    let s = \"} // { fn g() {\";\n" }
        };
        let body: String = (0..lines).map(line).collect();
        File::new(
            "crates/a/src/b.rs",
            format!("fn short() {{}}\nfn long(f: fn (usize), x: [u8; 2]) {{\n{body}}}\nfn last();\n"),
        )
    }

    #[test]
    fn long_functions_without_headings_are_found() {
        let found = |lines, headings: &[usize]| {
            let found = long_functions_have_headings(&[function(lines, headings)]);
            found.iter().map(|finding| (finding.line, finding.message.clone())).collect::<Vec<_>>()
        };
        assert_eq!(found(60, &[]), []);
        assert_eq!(found(61, &[1, 20, 40]), []);
        let [(line, message)] = &found(61, &[1, 20])[..] else { panic!("one finding") };
        assert_eq!(*line, 2);
        assert!(message.starts_with("`long` has 61 lines and 2 lines of comments"), "{message}");
    }

    #[test]
    fn claims_about_memory_need_a_bound() {
        for good in [
            "// SAFETY: the processor has the instructions.",
            "// SAFETY: `from` points to 8 numbers.",
            "// SAFETY: `at + i` is less than the length of `sums` for every bit of `mask`: there are no others.",
            "/// # Safety /// There are at least `count` columns from `at` on.",
        ] {
            assert!(is_bounded(good), "{good}");
        }
        for bad in ["/// # Safety /// They are there.", "// SAFETY: there is room.", "// SAFETY: likewise."] {
            assert!(!is_bounded(bad), "{bad}");
        }
        let text = "//! x\n// SAFETY: the columns\n// are there.\nunsafe { f() }\n".to_owned();
        assert_eq!(safety_names_a_bound(&[File::new("crates/a/src/b.rs", text)])[0].line, 2);
    }
}
