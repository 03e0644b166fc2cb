//! Operator sets with anything in any field, and texts of them with anything in any place.

use conformance::comments;
use conformance::convert::{same_bytes, tell};
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use conformance::texts::places_are_sound;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ir::{OperatorSet, VerifyOptions};
use onnx_proto::{FileKind, json, read_operator_set, sniff, textproto, write_operator_set};
use onnx_text::{FormatOptions, RaiseOptions, check_operator_set, format_operator_set, print_operator_set};

/// Texts in which every form of the syntax occurs.
const SAMPLES: &[&str] = &[
    r#"#@ onnxtxt 1
operator_set <ir_version: 10, domain: "com.acme", opset_version: 3, doc_string: "set">

## Multiplies by a scale.
##
## Twice.
<since_version: 3, traits: [nondeterministic], num_inputs: [1, 3], opset_import: ["": 21, "com.acme": 3]>
operator Scale <
    axis: int = -1,
    mode: string,
    alpha: float?,
    ## The weights.
    w: tensor = float[2] {1, nan},
    list: ints = [],
    fs: floats = [1.5, 2.0],
    g: graph = b (u) => (v) { v = Abs(u) },
    t: type_proto = seq(float[N])
> (
    ## What is scaled.
    T x,
    T? scale,
    each U...0 "more..."
) => (T y, int64... z)
where
    T: {float, float16},
    ## Anything.
    U: {seq(float), optional(seq(int64)), map(string, float), sparse_tensor(double), opaque(com.acme, Blob)}
<float[N] y>
{
    y = Mul(x, scale)
    z = com.acme.Other <a: int = @axis> (x)
}

<since_version: 2, opset_import: ["": 21]>
operator Scale (T x) => (T y)
where T: {float}
{
    y = Identity(x)
}

operator Other

<domain: "com.acme", opset_import: ["": 21]>
helper <a, b: int = 2> (x) => (y)
{
    y = Neg(x)
}
"#,
    "operator_set <magic: _, ir_version_prerelease: \"rc\", ir_build_metadata: b\"\\xff\">\n\
     <status: experimental, since_version: 1, traits: [deprecated, function]> operator \"a b\" () => ()\n\
     <status: 7> operator b\"\\xff\" (bool, each x, each? y, each each... z) => (T...2 w) where each: {float}, T: {}\n\
     <status: _, doc_string: \"```onnxtxt\nx\n```\"> operator D\n\
     operator_ () => () {}\n\
     operator (x) => (y) {}\n",
    "operator_set <>",
];

fn read(text: &str) -> Result<OperatorSet, String> {
    let (set, diagnostics) = onnx_text::read_operator_set(text).into_parts();
    match diagnostics.iter().find(|d| d.is_error()) {
        None => Ok(set),
        Some(first) => Err(format!("{}\n{text}", tell(first, text))),
    }
}

fn print(set: &OperatorSet) -> String {
    print_operator_set(set, &RaiseOptions::default())
}

fn wire(set: &OperatorSet) -> Vec<u8> {
    write_operator_set(set).expect("it is small")
}

/// A set read from `bytes` survives conversion to text, which is in canonical form.
fn comes_back(set: &OperatorSet) -> Result<(), String> {
    let expected = wire(set);
    let text = print(set);
    let again = read(&text)?;
    same_bytes(&expected, &wire(&again)).map_err(|why| format!("{why}\n{text}"))?;
    let formatted = format(&text);
    if formatted == text { Ok(()) } else { Err(format!("{text}\n---- is not canonical:\n{formatted}")) }
}

fn format(text: &str) -> String {
    format_operator_set(text, &onnx_text::parse_operator_set(text).value, &FormatOptions::default())
}

fn check(text: &str) -> Vec<Diagnostic> {
    let options = VerifyOptions { level: Level::Strict, payloads: true };
    check_operator_set(text, &options).diagnostics
}

#[test]
fn samples_are_canonical_and_come_back() {
    for sample in SAMPLES {
        let set = read(sample).unwrap();
        comes_back(&set).unwrap();
        let bytes = wire(&set);
        let (again, diagnostics) = read_operator_set(bytes.clone().into()).into_parts();
        assert!(diagnostics.is_empty());
        assert!(wire(&again) == bytes);
        comes_back(&again).unwrap();
    }
    let operators = |sample: &str| print(&read(sample).unwrap()).matches("\noperator ").count();
    assert_eq!((operators(SAMPLES[0]), operators(SAMPLES[1])), (3, 4));
    // Bodies are where they were written; `operator (x)` is a function.
    assert_eq!(print(&read(SAMPLES[0]).unwrap()).matches("Scale").count(), 2);
}

#[test]
fn random_sets_come_back() {
    let schema = Schema::load();
    let mut random = Random::new(11);
    for _ in 0..1500 {
        let choices = random.choices(400);
        let bytes = Generator::new(&schema, Choices::new(&choices), Wildness::Wild).operator_set();
        let (mut set, diagnostics) = read_operator_set(bytes.clone().into()).into_parts();
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        assert_eq!(same_bytes(&bytes, &wire(&set)), Ok(()));
        comes_back(&set).unwrap();
        document(&mut set, &mut random);
        comes_back(&set).unwrap();
        let found = check(&print(&set));
        assert_eq!(places_are_sound(&found, &print(&set)), Ok(()));
    }
}

/// Gives operators documentation that is a signature, nearly one, or one of another operator.
fn document(set: &mut OperatorSet, random: &mut Random) {
    const PARTS: &[&str] = &[
        "operator NAME (T x) => (T y)\nwhere T: {float}",
        "<traits: [deprecated]>\noperator NAME <a: int = 1, s: string?> () => (int64...2 y)",
        "operator NAME (T x) => (T y) where T: {float}",
        "operator Another (T x) => (T y)\nwhere T: {float}",
        "operator NAME () => ()",
        "operator NAME",
        "<since_version: 1>\noperator NAME () => ()",
        "operator NAME <a: string = \"\n```\"> () => ()",
        "operator NAME (float[2] x) => ()",
    ];
    for i in 0..set.operators.len() {
        let name = set.operators[i].name.map(|name| set.model.names[name].to_owned()).unwrap_or_default();
        let part = PARTS[random.below(PARTS.len())].replace("NAME", &format!("{name:?}"));
        let part = if random.below(2) == 0 { part } else { part.replace('"', "") };
        let fence = "`".repeat(3 + random.below(2));
        let end = ["", "\n\n", "\n\nDoc.", "\n", " \n\nDoc.", "\n\n\r "][random.below(6)];
        let doc = format!("{fence}onnxtxt\n{part}\n{fence}{end}");
        set.operators[i].doc = Some(set.model.names.intern(&doc));
    }
    let domain = set.model.header.domain;
    for (operator, function) in set.operators.iter().zip(set.model.functions.values_mut()) {
        (function.name, function.domain) = (operator.name, domain);
    }
}

#[test]
fn json_and_textproto_come_back() {
    let schema = Schema::load();
    let mut random = Random::new(12);
    for _ in 0..300 {
        let choices = random.choices(300);
        let bytes = Generator::new(&schema, Choices::new(&choices), Wildness::Tame).operator_set();
        let kind = FileKind::OperatorSet;
        let text = json::to_json(&bytes, kind).unwrap();
        assert!(json::from_json(text.as_bytes(), kind).unwrap() == bytes, "{text}");
        let text = textproto::to_text(&bytes, kind).unwrap();
        assert!(textproto::from_text(text.as_bytes(), kind).unwrap() == bytes, "{text}");
    }
}

#[test]
fn sets_are_known_by_their_magic() {
    for sample in &SAMPLES[..1] {
        assert_eq!(sniff(&wire(&read(sample).unwrap())), Some(FileKind::OperatorSet));
    }
}

#[test]
fn comments_are_kept() {
    for sample in SAMPLES {
        let text = print(&read(sample).unwrap());
        let expected = wire(&read(&text).unwrap());
        let gaps = comments::gaps(&text);
        for gap in &gaps {
            let commented = comments::insert(&text, &[*gap]);
            let again = read(&commented).map(|set| wire(&set));
            let same = again.and_then(|again| same_bytes(&expected, &again));
            assert_eq!(same, Ok(()), "{commented}");
            let tidy = format(&commented);
            assert_eq!(comments::found(&tidy), comments::found(&commented), "{commented}\n----\n{tidy}");
            let again = read(&tidy).map(|set| wire(&set));
            let same = again.and_then(|again| same_bytes(&expected, &again));
            assert_eq!(same, Ok(()), "{commented}\n----\n{tidy}");
            assert_eq!(format(&tidy), tidy);
        }
    }
}

#[test]
fn changed_texts_are_read_without_panic() {
    const PIECES: &[&str] = &[
        "operator ",
        "<",
        ">",
        "(",
        ")",
        "{",
        "}",
        "where ",
        "T: {float}",
        "?",
        "...",
        "each ",
        ",",
        "\n",
        "##",
        "=> ",
    ];
    let mut random = Random::new(13);
    for i in 0..6000 {
        let mut text = SAMPLES[i % 2].to_owned();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            let at = (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            match random.below(3) {
                0 => drop(text.remove(at)),
                1 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
                _ => text.truncate(at.max(1)),
            }
        }
        let found = check(&text);
        assert_eq!(places_are_sound(&found, &text), Ok(()), "{text}");
        let set = onnx_text::read_operator_set(&text).value;
        // The partially read set is a set like any other.
        let bytes = wire(&set);
        let again = read_operator_set(bytes.into()).value;
        comes_back(&again).unwrap();
        if read(&text).is_ok() {
            let tidy = format(&text);
            let again = read(&tidy).map(|again| wire(&again));
            assert_eq!(
                again.and_then(|again| same_bytes(&wire(&set), &again)),
                Ok(()),
                "{text}\n----\n{tidy}"
            );
            assert_eq!(format(&tidy), tidy, "{text}");
        }
    }
}

/// A partially read set is a set like any other.
#[test]
fn damaged_bytes_are_read_and_come_back() {
    let sound = wire(&read(SAMPLES[0]).unwrap());
    let mut random = Random::new(14);
    for length in 0..sound.len() {
        let (set, diagnostics) = read_operator_set(sound[..length].to_vec().into()).into_parts();
        comes_back(&set).unwrap();
        assert!(length == 0 || !diagnostics.is_empty() || wire(&set).len() == length);
    }
    for _ in 0..2000 {
        let mut bytes = sound.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        let set = read_operator_set(bytes.into()).value;
        comes_back(&set).unwrap();
        check(&print(&set));
    }
}

/// Twice as many operators take no more than about twice as long, whatever is wrong with them.
#[test]
fn time_is_linear() {
    let text = |count: usize, item: &str| {
        "operator_set <ir_version: 10, domain: \"d\", opset_version: 1>\n".to_owned() + &item.repeat(count)
    };
    for item in [
        "operator A (U x) => (U x, T y)\n",
        "<since_version: 1> operator A <a: int = 1> (T x) => (T y) where T: {float} { y = Abs(q) }\n",
        "operator A <\n",
        "<operator",
        "operator A (T x",
        "where T: {float",
    ] {
        let seconds = |count: usize| {
            let text = text(count, item);
            let start = std::time::Instant::now();
            check(&text);
            let set = onnx_text::read_operator_set(&text).value;
            print(&set);
            start.elapsed().as_secs_f64()
        };
        seconds(100);
        let (few, many) = (seconds(500).min(seconds(500)), seconds(4000).min(seconds(4000)));
        assert!(many < 30.0 * few + 0.05, "{item}: {few} s and {many} s");
    }
}

/// One mistake in one operator costs no more than that operator.
#[test]
fn what_follows_a_broken_operator_is_read() {
    let good = "\n<since_version: 1>\noperator Last (T x) => (T y)\nwhere T: {float}\n";
    for broken in [
        "operator A (T x => (T y)",
        "operator A (T x) (T y) where T {float}",
        "operator A <a = 1> (T x) => (T y)",
        "<since_version 1> operator A",
        "operator A (T x) => (T y) { y = Abs(x }",
        "operator 7",
        "<since_version: 1",
    ] {
        let text = format!("operator_set <ir_version: 10, opset_version: 1>\n{broken}{good}");
        let (set, diagnostics) = onnx_text::read_operator_set(&text).into_parts();
        assert!(diagnostics.iter().any(Diagnostic::is_error), "{text}");
        let last = set.operators.last().and_then(|operator| operator.name).map(|name| &set.model.names[name]);
        assert_eq!(last, Some("Last"), "{text}: {diagnostics:#?}");
    }
}

/// The examples of the manual are as it says.
#[test]
fn the_manual_is_right() {
    let manual = include_str!("../../grammar/opsets.md");
    let mut examples = 0;
    for (i, part) in manual.split("\n```").enumerate().skip(1) {
        let Some(example) = part.strip_prefix("onnxtxt\n").filter(|_| i % 2 == 1) else { continue };
        if example.starts_with("operator Scale") {
            continue; // how a signature looks in documentation
        }
        examples += 1;
        let example = format!("{example}\n");
        let options = VerifyOptions::default();
        let found = check_operator_set(&example, &options).diagnostics;
        assert!(found.is_empty(), "{found:#?}\n{example}");
        assert_eq!(print(&read(&example).unwrap()), example);
    }
    assert_eq!(examples, 5);
}
