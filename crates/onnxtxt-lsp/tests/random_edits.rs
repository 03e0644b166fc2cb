//! Random edits of texts of the suite: after each, the document equals a fresh one, and no request panics. Of longer texts, the findings
//! about edited statements alone equal those of a text that is read as a whole.
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

fn number_of_edits() -> usize {
    std::env::var("ONNXTXT_EDITS").ok().and_then(|edits| edits.parse().ok()).unwrap_or(EDITS)
}

/// Copies of each statement of a text, so that most statements are far from an edit.
const COPIES: usize = 20;

/// Texts that are typed within a statement; a bracket or a quote alone often changes what the rest of the text is.
const IN_STATEMENTS: [&str; 10] = ["x", " ", ",", "1", "=", ".", "-", "y = Abs(x)", "\n", "# c\n"];

fn word(random: &mut Random) -> &'static str {
    match random.below(3) {
        0 => WORDS[random.below(WORDS.len())],
        _ => IN_STATEMENTS[random.below(IN_STATEMENTS.len())],
    }
}

/// Edits of one long text.
const EDITS_OF_LONG_TEXT: usize = 8;

/// A text with copies of the statements of its bodies on lines of their own; `None` if it has none.
fn longer(text: &str) -> Option<String> {
    let read = onnx_text::parse_model(text);
    let graph = read.value.tree.graph.iter().flat_map(|graph| &graph.body);
    let functions = read.value.tree.functions.iter().flat_map(|function| &function.body);
    let mut out = text.to_owned();
    let mut nodes: Vec<_> = graph.chain(functions).map(|node| node.span).collect();
    nodes.sort_unstable();
    for node in nodes.iter().rev() {
        let copy = format!("\n{}", &text[node.range()]);
        out.insert_str(node.end as usize, &copy.repeat(COPIES));
    }
    (!nodes.is_empty()).then_some(out)
}

/// A replacement as a client sends it; the text follows.
fn typed(
    document: &Document,
    text: &mut String,
    (start, end): (usize, usize),
    word: &str,
) -> TextDocumentContentChangeEvent {
    let offset = |at: usize| u32::try_from(at).unwrap();
    let lines = document.lines();
    let range = Range { start: lines.position(text, offset(start)), end: lines.position(text, offset(end)) };
    text.replace_range(start..end, word);
    TextDocumentContentChangePartial::new(range, None, word.to_owned()).into()
}

/// Edits in one place after another, as people make them, and findings after each. A pause, in which all findings are computed, comes
/// now and then.
#[test]
fn findings_about_edited_statements_equal_those_of_fresh_documents() {
    let edits = number_of_edits();
    let texts: Vec<String> = texts(edits).iter().filter_map(|text| longer(text)).collect();
    assert!(texts.len() > 100, "{} texts", texts.len());
    let mut random = Random::new(11);
    let (mut done, mut of_statements) = (0, 0);
    while done < edits {
        let mut text = texts[random.below(texts.len())].clone();
        let uri = Uri("file:///m.onnxtxt".to_owned());
        let fresh = |text: &str| {
            onnxtxt_lsp::Snapshot::of_text(uri.clone(), text.to_owned(), Encoding::Utf8, Arc::default())
        };
        let mut document = Document::new(uri.clone(), 0, text.clone(), Encoding::Utf8, Arc::default());
        let mut at = 0;
        for version in 0..EDITS_OF_LONG_TEXT {
            // A pause.
            if version % 5 == 0 {
                _ = onnxtxt_lsp::published(&document.snapshot(), true);
            }
            if version % 4 == 0 {
                at = random.below(text.len() + 1);
            }
            let start = settled(&text, at);
            let end = match random.below(4) {
                0 => settled(&text, start + 1 + random.below(4)),
                _ => start,
            };
            let word = word(&mut random);
            let change = typed(&document, &mut text, (start, end), word);
            at = start + word.len();
            document.change(i32::try_from(version).unwrap(), vec![change]);
            let snapshot = document.snapshot();
            let found = onnxtxt_lsp::published(&snapshot, false);
            of_statements += usize::from(!snapshot.is_read());
            assert_eq!(found, onnxtxt_lsp::published(&fresh(&text), false), "{text}");
            done += 1;
        }
    }
    assert!(of_statements > done / 10, "{of_statements} of {done}");
}

/// A long list of numbers is not read again, and all findings are the same.
#[test]
fn findings_beside_long_lists_of_numbers_equal_those_of_fresh_documents() {
    let numbers = vec!["0.25"; 5_000].join(", ");
    let model = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N,5000] x) => (float[N,5000] y)\n\
         <float[5000] w = {{{numbers}}}, int64[2] s = {{-1, 5000}}>\n\
         {{\n  a = Add(x, w)\n  b = Reshape(a, s)\n  c = Relu(b)\n  y = Mul(c, w)\n}}\n"
    );
    let uri = Uri("file:///m.onnxtxt".to_owned());
    let mut random = Random::new(13);
    let (mut done, mut without_numbers) = (0, 0);
    while done < number_of_edits() / 4 {
        let mut text = model.clone();
        let mut document = Document::new(uri.clone(), 0, text.clone(), Encoding::Utf16, Arc::default());
        _ = onnxtxt_lsp::published(&document.snapshot(), true);
        let body = text.rfind('{').unwrap();
        for version in 0..10 {
            // One edit of ten is anywhere.
            let from = if random.below(10) == 0 { 0 } else { body };
            let start = settled(&text, from + random.below(text.len() + 1 - from));
            let end = if random.below(3) == 0 { settled(&text, start + 2) } else { start };
            let word = word(&mut random);
            let change = typed(&document, &mut text, (start, end), word);
            document.change(version, vec![change]);
            let snapshot = document.snapshot();
            for is_all in [false, true] {
                let found = onnxtxt_lsp::published(&snapshot, is_all);
                let fresh = onnxtxt_lsp::Snapshot::of_text(
                    uri.clone(),
                    text.clone(),
                    Encoding::Utf16,
                    Arc::default(),
                );
                assert_eq!(found, onnxtxt_lsp::published(&fresh, is_all), "{}", &text[body..]);
            }
            without_numbers += usize::from(!snapshot.is_read());
            done += 1;
        }
    }
    assert!(without_numbers > done / 10, "{without_numbers} of {done}");
}

#[test]
fn documents_equal_fresh_ones_after_every_edit() {
    let edits = number_of_edits();
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
                _ => typed(&document, &mut text, (start, end), word),
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
