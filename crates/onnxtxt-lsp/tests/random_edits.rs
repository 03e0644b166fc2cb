//! Random edits of texts of the suite: after each, the document equals a fresh one, and no request panics.
//!
//! `ONNXTXT_EDITS=N` makes N edits, also of the texts of the corpus.

use conformance::random::Random;
use conformance::texts::small_texts;
use gen_lsp_types::{
    Range, TextDocumentContentChangeEvent, TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument, Uri,
};
use onnxtxt_lsp::{Document, Encoding, LineTable};
use std::sync::Arc;

/// Edits without the variable: a few seconds in an unoptimized build.
const EDITS: usize = 2_000;

/// Edits of one text.
const EDITS_OF_TEXT: usize = 25;

/// The typed and pasted texts.
const WORDS: [&str; 24] = [
    "",
    " ",
    "\n",
    "\r\n",
    "\r",
    "x",
    "=",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "[",
    "]",
    ",",
    "\"",
    "#",
    "ä",
    "😀",
    "y = Abs(x)",
    "float[N] ",
    "<alpha = 1.0>",
    "#@ onnxtxt 1\n",
];

fn texts(edits: usize) -> Vec<String> {
    let mut paths = small_texts();
    if edits > EDITS
        && let Some(folder) = conformance::corpus::folder()
    {
        paths.extend(onnxtxt::files::below(&folder, &["onnxtxt"]).unwrap_or_default());
    }
    paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// A place between characters; the two of `\r\n` are one.
fn settled(text: &str, at: usize) -> usize {
    let at = text.floor_char_boundary(at.min(text.len()));
    if text[..at].ends_with('\r') && text[at..].starts_with('\n') { at - 1 } else { at }
}

#[test]
fn documents_equal_fresh_ones_after_every_edit() {
    let edits = std::env::var("ONNXTXT_EDITS").ok().and_then(|edits| edits.parse().ok()).unwrap_or(EDITS);
    let texts = texts(edits);
    assert!(texts.len() > 100, "{} texts", texts.len());
    let mut random = Random::new(7);
    let mut done = 0;
    while done < edits {
        let mut text = texts[random.below(texts.len())].clone();
        let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][random.below(3)];
        let uri = Uri("file:///m.onnxtxt".to_owned());
        let mut document = Document::new(uri.clone(), 0, text.clone(), encoding, Arc::default());
        for version in 0..EDITS_OF_TEXT {
            let length = text.len() + 1;
            let (a, b) = (settled(&text, random.below(length)), settled(&text, random.below(length)));
            // Mostly a few characters, sometimes a large part.
            let (start, end) = match random.below(8) {
                0 => (a.min(b), a.max(b)),
                1 | 2 => (a, settled(&text, a + 3)),
                _ => (a, a),
            };
            let word = WORDS[random.below(WORDS.len())];
            let change = match random.below(40) {
                0 => {
                    text = texts[random.below(texts.len())].clone();
                    TextDocumentContentChangeWholeDocument { text: text.clone() }.into()
                }
                _ => {
                    let lines = document.lines();
                    let offset = |at: usize| u32::try_from(at).unwrap();
                    let range = Range {
                        start: lines.position(&text, offset(start)),
                        end: lines.position(&text, offset(end)),
                    };
                    text.replace_range(start..end, word);
                    TextDocumentContentChangePartial::new(range, None, word.to_owned()).into()
                }
            };
            let change: TextDocumentContentChangeEvent = change;
            // A snapshot that a request still holds does not change.
            let before = document.snapshot();
            let held = before.text().to_owned();
            document.change(i32::try_from(version).unwrap(), vec![change]);
            assert_eq!(before.text(), held);
            assert_eq!(document.text(), text);
            assert_eq!(*document.lines(), LineTable::new(&text, encoding));
            onnxtxt_lsp::exercise(&document.snapshot(), random.below(text.len() + 1));
            done += 1;
        }
    }
}
