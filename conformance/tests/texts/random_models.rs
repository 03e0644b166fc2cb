//! Properties of models with anything in any field.

use bytes::Bytes;
use conformance::comments;
use conformance::convert::{self, print, read_wire, round_trip, same_bytes, text_to_wire, write_wire};
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use onnx_proto::{FileKind, ScanDepth, json, textproto, walk};
use onnx_text::{FormatOptions, Profile, format, lower, parse_model};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::load);

/// Unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 2000;
/// Decisions that one model takes at most.
const CHOICES: usize = 700;

fn model(choices: &[u8], wildness: Wildness) -> Bytes {
    Generator::new(&SCHEMA, Choices::new(choices), wildness).model().into()
}

/// A model in wire format, which failures show as textproto.
struct Wire(Bytes);

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&textproto::to_text(&self.0, FileKind::Model).map_err(|_| fmt::Error)?)
    }
}

fn wires(wildness: Wildness) -> impl Strategy<Value = Wire> {
    prop::collection::vec(any::<u8>(), 0..CHOICES).prop_map(move |choices| Wire(model(&choices, wildness)))
}

fn config() -> ProptestConfig {
    let given = std::env::var_os("PROPTEST_CASES").is_some();
    let default = ProptestConfig::default();
    let cases = if given { default.cases } else { CASES };
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..default }
}

fn check(result: Result<(), String>) -> Result<(), TestCaseError> {
    result.map_err(TestCaseError::fail)
}

/// Formats a text, which has to be one without errors.
fn formatted(text: &str, options: &FormatOptions) -> Result<String, String> {
    let parsed = parse_model(text);
    if let Some(error) = parsed.diagnostics.iter().find(|d| d.is_error()) {
        return Err(convert::tell(error, text));
    }
    Ok(format(text, &parsed.value, options))
}

fn same_text(expected: &str, actual: &str) -> Result<(), String> {
    let differ = expected.lines().zip(actual.lines()).find(|(a, b)| a != b);
    match differ {
        _ if expected == actual => Ok(()),
        Some((a, b)) => Err(format!("`{a}` became `{b}`, in\n{expected}")),
        None => Err(format!("one text is longer:\n{expected}\n----\n{actual}")),
    }
}

/// Where comments may be, chosen by `choices`.
fn commented(text: &str, choices: &[u8]) -> String {
    let gaps = comments::gaps(text);
    let chosen: BTreeSet<usize> =
        choices.iter().zip(1..).map(|(&c, i)| gaps[usize::from(c) * 131 * i % gaps.len()]).collect();
    comments::insert(text, &chosen.into_iter().collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(config())]

    /// The generator writes as a standard encoder does, so the reader and writer have to agree on every byte.
    #[test]
    fn wire_comes_back(Wire(wire) in wires(Wildness::Wild)) {
        let mut unusual = Vec::new();
        walk(&wire, FileKind::Model, ScanDepth::Numbers, &mut |f| unusual.push(f.path.to_string())).unwrap();
        prop_assert_eq!(unusual, Vec::<String>::new());
        check(read_wire(wire.clone()).and_then(|model| same_bytes(&wire, &write_wire(&model)?)))?;
    }

    #[test]
    fn text_comes_back(Wire(wire) in wires(Wildness::Wild)) {
        check(round_trip(wire).map(drop))?;
    }

    #[test]
    fn weights_beside_the_text_come_back(Wire(wire) in wires(Wildness::Wild)) {
        check(convert::round_trip_with_sidecar(wire, 1).map(drop))?;
    }

    /// Printed text is in canonical form, and narrow lines have the same meaning as wide ones.
    #[test]
    fn printed_texts_are_canonical(Wire(wire) in wires(Wildness::Wild), width in 1usize..120) {
        let text = print(&read_wire(wire.clone()).unwrap(), Profile::Onnx).text;
        check(formatted(&text, &FormatOptions::default()).and_then(|again| same_text(&text, &again)))?;
        let narrow = FormatOptions { width };
        let narrowed = formatted(&text, &narrow).map_err(TestCaseError::fail)?;
        check(text_to_wire(&narrowed).and_then(|again| same_bytes(&wire, &again)))?;
        check(formatted(&narrowed, &narrow).and_then(|again| same_text(&narrowed, &again)))?;
    }

    /// Comments between any two tokens stay, in their order, and change nothing.
    #[test]
    fn comments_are_kept(
        Wire(wire) in wires(Wildness::Wild),
        places in prop::collection::vec(any::<u8>(), 1..12),
    ) {
        let text = print(&read_wire(wire.clone()).unwrap(), Profile::Onnx).text;
        let commented = commented(&text, &places);
        check(text_to_wire(&commented).and_then(|again| same_bytes(&wire, &again)).map_err(|why| format!("{why}\n{commented}")))?;
        let tidy = formatted(&commented, &FormatOptions::default()).map_err(TestCaseError::fail)?;
        prop_assert_eq!(comments::found(&tidy), comments::found(&commented), "{}\n----\n{}", commented, tidy);
        check(text_to_wire(&tidy).and_then(|again| same_bytes(&wire, &again)).map_err(|why| format!("{why}\n{tidy}")))?;
        check(formatted(&tidy, &FormatOptions::default()).and_then(|again| same_text(&tidy, &again)))?;
    }

    /// The profile `reference` has no annotations, and no errors but those of elements that it had to leave out.
    #[test]
    fn the_reference_profile_is_plain(Wire(wire) in wires(Wildness::Wild)) {
        let printed = print(&read_wire(wire.clone()).unwrap(), Profile::Reference);
        prop_assert!(!printed.is_extended);
        let parsed = parse_model(&printed.text);
        prop_assert!(parsed.value.annotated.is_none());
        let lowered = lower(&printed.text, &parsed.value);
        let mut complaints = parsed.diagnostics;
        if printed.losses.is_empty() {
            complaints.extend(lowered.diagnostics);
        }
        let error = complaints.iter().find(|d| d.is_error()).map(|d| convert::tell(d, &printed.text));
        prop_assert_eq!(error, None, "{}", printed.text);
    }

    #[test]
    fn json_and_textproto_come_back(Wire(wire) in wires(Wildness::Tame)) {
        let text = json::to_json(&wire, FileKind::Model).map_err(|e| TestCaseError::fail(e.message))?;
        let again = json::from_json(text.as_bytes(), FileKind::Model).map_err(|e| TestCaseError::fail(e.message))?;
        check(same_bytes(&wire, &again))?;
        let text = textproto::to_text(&wire, FileKind::Model).map_err(|e| TestCaseError::fail(e.message))?;
        let again = textproto::from_text(text.as_bytes(), FileKind::Model).map_err(|e| TestCaseError::fail(e.message))?;
        check(same_bytes(&wire, &again))?;
    }
}

/// A field that never occurs would not be tested.
#[test]
fn every_field_occurs() {
    let mut seen = BTreeSet::new();
    let mut random = Random::new(1);
    for _ in 0..CASES {
        let choices = random.choices(CHOICES);
        SCHEMA.occurring(&model(&choices, Wildness::Wild), &mut seen);
    }
    let missing: Vec<_> = SCHEMA.fields_of_models().into_iter().filter(|name| !seen.contains(name)).collect();
    assert_eq!(missing, [""; 0]);
}
