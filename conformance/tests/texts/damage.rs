//! Hopeless texts and damaged files: clear diagnostics, and partial results.

use conformance::convert::{print, read_wire, same_bytes, text_to_wire, write_wire};
use conformance::corpus::in_parallel;
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use conformance::texts::{places_are_sound, small_texts, use_text};
use onnx_ir::VerifyOptions;
use onnx_ir::diag::Diagnostic;
use onnx_text::{MAX_FINDINGS, Profile, check_operator_set, read_model};
use std::fs;
use std::path::PathBuf;

/// The one diagnostic that says it; there may be others, but not thousands.
fn has_error(text: &str, wanted: &str) -> Result<(), String> {
    let found = read_model(text).diagnostics;
    places_are_sound(&found, text)?;
    let messages: Vec<_> = found.iter().filter(|d| d.is_error()).map(|d| d.message.to_string()).collect();
    let is_told = messages.iter().any(|message| message.contains(wanted));
    if is_told && found.len() <= MAX_FINDINGS + 1 {
        return Ok(());
    }
    Err(format!("{} findings, none says {wanted:?}: {:?}", found.len(), messages.first()))
}

#[test]
fn deep_nesting_is_one_clean_error() {
    const DEPTH: usize = 100_000;
    let graphs = "y = F <a = g () => (y) { ".repeat(DEPTH);
    let texts = [
        "(".repeat(DEPTH),
        "[".repeat(DEPTH),
        "{".repeat(DEPTH),
        "<".repeat(DEPTH),
        format!("g ({} x) => () {{}}", "seq(".repeat(DEPTH)),
        format!("g ({}float{} x) => () {{}}", "seq(".repeat(DEPTH), ")".repeat(DEPTH)),
        format!("g () => (y) {{ {graphs}"),
        format!("g () => (y) {{ {graphs}{}", "}>() ".repeat(DEPTH)),
        format!("g () => (y) {{ y = F <a = {}", "{".repeat(DEPTH)),
        format!("#@ onnxtxt 1\n#@ metadata_props: {}\ng () => () {{}}", "[".repeat(DEPTH)),
        format!("#@ onnxtxt 1\n#@ metadata_props: {}\ng () => () {{}}", "{a: ".repeat(DEPTH)),
        format!("#@ onnxtxt 1, storage: {}\ng () => () {{}}", "[".repeat(DEPTH)),
    ];
    for text in texts {
        let start: String = text.chars().take(40).collect();
        let told = has_error(&text, "nest too deep");
        assert_eq!(told, Ok(()), "{start}…");
        let messages: Vec<_> = read_model(&text).diagnostics.into_iter().map(|d| d.message).collect();
        assert_eq!(messages.len(), 1, "{start}…: {messages:?}");
    }
}

/// Cuts a text off between tokens; a character of several bytes stands where a closing bracket may be missing.
fn unclosed(path: &PathBuf) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let pairs = text.char_indices().zip(text.chars().skip(1));
    let ends =
        pairs.filter(|((_, c), next)| !is_word(*c) || !is_word(*next)).map(|((at, c), _)| at + c.len_utf8());
    ends.map(|end| format!("{}é", &text[..end])).find_map(|text| {
        let found = [use_text(&text), check_operator_set(&text, &VerifyOptions::default()).diagnostics];
        found
            .iter()
            .find_map(|found| places_are_sound(found, &text).err())
            .map(|why| format!("{text}\n{why}"))
    })
}

#[test]
fn what_is_not_closed_may_end_with_any_character() {
    let failures: Vec<String> = in_parallel(&small_texts(), unclosed).into_iter().flatten().collect();
    assert!(failures.is_empty(), "{} texts, such as\n{}", failures.len(), failures[0]);
}

#[test]
fn a_text_cut_off_anywhere_is_an_error() {
    for text in samples() {
        for at in (0..text.trim_end().len()).filter(|&at| text.is_char_boundary(at)) {
            let found = use_text(&text[..at]);
            assert!(
                found.iter().any(Diagnostic::is_error),
                "cut off at {at}, it has no error:\n{}",
                &text[..at]
            );
            assert_eq!(places_are_sound(&found, &text[..at]), Ok(()));
        }
    }
}

/// Texts with every construct, and no function after the graph.
fn samples() -> Vec<String> {
    let schema = Schema::load();
    let mut random = Random::new(7);
    let mut samples: Vec<String> = Vec::new();
    while samples.len() < 40 {
        let choices = random.choices(400);
        let wildness = if samples.len().is_multiple_of(2) { Wildness::Wild } else { Wildness::Plain };
        let wire = Generator::new(&schema, Choices::new(&choices), wildness).model();
        let model = read_wire(wire.into()).expect("the generator writes sound wire format");
        if model.functions.is_empty() && model.main.is_some() {
            samples.push(print(&model, Profile::Onnx).text);
        }
    }
    samples
}

#[test]
fn changed_texts_are_read_without_panic() {
    let mut random = Random::new(3);
    for sample in samples() {
        for _ in 0..300 {
            let mut bytes = sample.clone().into_bytes();
            for _ in 0..=random.below(3) {
                change(&mut bytes, &mut random);
            }
            let text = String::from_utf8_lossy(&bytes);
            assert_eq!(places_are_sound(&use_text(&text), &text), Ok(()), "{text}");
        }
    }
}

/// A partially read model is printed, and parses to the same model.
#[test]
fn damaged_models_are_printed_and_read_back() {
    let schema = Schema::load();
    let mut random = Random::new(5);
    let survives = |wire: Vec<u8>| {
        let model = onnx_proto::read(wire.into()).value;
        let expected = write_wire(&model).unwrap();
        let text = print(&model, Profile::Onnx).text;
        assert_eq!(text_to_wire(&text).and_then(|wire| same_bytes(&expected, &wire)), Ok(()), "{text}");
    };
    for _ in 0..60 {
        let choices = random.choices(300);
        let sound = Generator::new(&schema, Choices::new(&choices), Wildness::Wild).model();
        for length in 0..sound.len() {
            survives(sound[..length].to_vec());
        }
        for _ in 0..300 {
            let mut wire = sound.clone();
            for _ in 0..=random.below(3) {
                change(&mut wire, &mut random);
            }
            survives(wire);
        }
    }
}

const PUNCTUATION: &[u8] = b"(){}[]<>,=\"#:\0x";

/// Changes, takes out or puts in a byte.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => bytes[at] = random.byte(),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => drop(bytes.remove(at)),
        _ => bytes.insert(at, PUNCTUATION[random.below(PUNCTUATION.len())]),
    }
}

/// One level of everything that nests, as the fields on the way down: types, graphs, and graphs in an attribute whose
/// fields do not fit each other.
const LEVELS: &[(&str, &[u8], &[u8])] = &[
    ("sequences", &[7, 11, 2], &[4, 1]),
    ("optionals", &[7, 11, 2], &[9, 1]),
    ("maps", &[7, 11, 2], &[5, 2]),
    ("graphs", &[7], &[1, 5, 6]),
    ("lists of graphs", &[7], &[1, 5, 11]),
    ("graphs of a training step", &[20, 1], &[1, 5, 6]),
    ("types in nested graphs", &[7, 1, 5, 14], &[4, 1]),
];

/// Every depth that the reader accepts survives conversion to text.
#[test]
fn whatever_depth_is_read_is_printed_and_read_back() {
    for (what, start, level) in LEVELS {
        let mut deepest = 0;
        for depth in 0..200 {
            let way: Vec<u8> =
                start.iter().chain(std::iter::repeat_n(*level, depth).flatten()).copied().collect();
            let wire = way.iter().rev().fold(Vec::new(), |inner, &number| delimited(number, &inner));
            let Ok(model) = read_wire(wire.clone().into()) else { continue };
            deepest = depth;
            let text = print(&model, Profile::Onnx).text;
            let again = text_to_wire(&text).and_then(|again| same_bytes(&wire, &again));
            assert_eq!(again, Ok(()), "{depth} {what}");
        }
        assert!((20..100).contains(&deepest), "{deepest} {what}");
    }
}

#[test]
fn a_hundred_thousand_nested_messages_are_one_clean_error() {
    const DEPTH: usize = 100_000;
    for (what, start, level) in LEVELS {
        // From the innermost to the outermost, written backwards.
        let way: Vec<u8> =
            start.iter().chain(level.iter().cycle().take(DEPTH * level.len())).copied().collect();
        let mut backwards = Vec::new();
        for &number in way.iter().rev() {
            let prefix = prefix(number, backwards.len());
            backwards.extend(prefix.iter().rev());
        }
        backwards.reverse();
        let diagnostics = onnx_proto::read(backwards.into()).diagnostics;
        let errors = diagnostics.iter().filter(|d| d.is_error()).count();
        assert_eq!(errors, 1, "{what}");
    }
}

/// Key and length of a message.
fn prefix(number: u8, length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for mut part in [usize::from(number) << 3 | 2, length] {
        while part >= 128 {
            out.push(part as u8 | 0x80);
            part >>= 7;
        }
        out.push(part as u8);
    }
    out
}

fn delimited(number: u8, value: &[u8]) -> Vec<u8> {
    [prefix(number, value.len()), value.to_vec()].concat()
}
