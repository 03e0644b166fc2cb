//! Writes the texts of the project and of the corpus with the classes of their tokens, one JSON object for each line of the output.
//!
//! ```text
//! cargo run -p conformance --example token_classes > classes.jsonl
//! ```
//!
//! `cargo xtask editors` compares the grammars of editors with them. Places count characters; `errors` are those of the parser, and
//! `tokens` end before the first mistake of the lexer.

use conformance::corpus::{folder, workspace};
use onnx_ir::diag::{Code, Diagnostic, Place, code};
use onnx_text::{
    SyntaxClass, TextKind, TokenClass, parse_attribute, parse_function, parse_graph, parse_model, parse_node,
    parse_operator_set, parse_type, parse_value, parse_value_info, sniff_text, text_classes, text_tokens,
};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Longer texts have nothing that shorter ones do not have.
const MAX_BYTES: usize = 200_000;

fn main() -> io::Result<()> {
    let root = workspace();
    let mut files = Vec::new();
    for top in ["tests/suite", "crates", "examples", "snapshots"] {
        collect(&root.join(top), &mut files);
    }
    if let Some(corpus) = folder() {
        collect(&corpus, &mut files);
    }
    files.sort();
    let mut out = io::BufWriter::new(io::stdout().lock());
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if text.len() <= MAX_BYTES {
            writeln!(out, "{}", row(&path, &text))?;
        }
    }
    out.flush()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "onnxtxt") {
            files.push(path);
        }
    }
}

/// The findings that the lexer can have: after the first, tokens are not what they look like.
const LEXICAL: &[&Code] = &[
    &code::BAD_NUMBER,
    &code::FOREIGN_SPELLING,
    &code::NAME_NEEDS_QUOTES,
    &code::NESTING_TOO_DEEP,
    &code::STRAY_CHARACTER,
    &code::UNKNOWN_VERSION,
    &code::UNTERMINATED_STRING,
];

fn row(path: &Path, text: &str) -> Value {
    let kind = sniff_text(text);
    let diagnostics = diagnostics(kind, text);
    let errors = diagnostics.iter().filter(|found| found.is_error()).map(|found| found.code.id);
    let errors: Vec<_> = errors.collect();
    let place = |found: &Diagnostic| match found.primary.place {
        Place::Source(span) if LEXICAL.contains(&found.code) => Some(span.start as usize),
        Place::Source(_) | Place::Entity(_) | Place::Nowhere => None,
    };
    let sound = diagnostics.iter().filter_map(place).min().unwrap_or(text.len());
    let tokens = text_tokens(text);
    let classes = text_classes(text, &tokens);
    let mut places = Places { text, byte: 0, character: 0 };
    let mut rows = Vec::new();
    for (token, class) in tokens.iter().zip(classes) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        if end > sound {
            break;
        }
        if token.class == TokenClass::Numbers {
            items(text, start, end, |start, end, class| {
                rows.push(json!([places.at(start), places.at(end), format!("{class:?}")]));
            });
        } else {
            rows.push(json!([places.at(start), places.at(end), format!("{class:?}")]));
        }
    }
    json!({
        "path": path.display().to_string(),
        "kind": format!("{kind:?}"),
        "errors": errors,
        "text": text,
        "tokens": rows,
    })
}

/// The findings of the parser.
fn diagnostics(kind: TextKind, text: &str) -> Vec<Diagnostic> {
    match kind {
        TextKind::OperatorSet => parse_operator_set(text).diagnostics,
        TextKind::Value => parse_value(text).diagnostics,
        TextKind::Graph => parse_graph(text).diagnostics,
        TextKind::Function => parse_function(text).diagnostics,
        TextKind::Node => parse_node(text).diagnostics,
        TextKind::Attribute => parse_attribute(text).diagnostics,
        TextKind::Type => parse_type(text).diagnostics,
        TextKind::ValueInfo => parse_value_info(text).diagnostics,
        _ => parse_model(text).diagnostics,
    }
}

/// The numbers and the punctuation of a list of numbers.
fn items(text: &str, start: usize, end: usize, mut item: impl FnMut(usize, usize, SyntaxClass)) {
    let is_number = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let bytes = text.as_bytes();
    let mut at = start;
    while at < end {
        let length = bytes[at..end].iter().take_while(|byte| is_number(**byte)).count();
        if length > 0 {
            item(at, at + length, SyntaxClass::Number);
        } else if !bytes[at].is_ascii_whitespace() {
            item(at, at + 1, SyntaxClass::Punctuation);
        }
        at += length.max(1);
    }
}

/// Counts characters up to places that only grow.
struct Places<'s> {
    text: &'s str,
    byte: usize,
    character: usize,
}

impl Places<'_> {
    fn at(&mut self, byte: usize) -> usize {
        self.character += self.text[self.byte..byte].chars().count();
        self.byte = byte;
        self.character
    }
}
