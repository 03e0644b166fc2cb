//! Parses our texts with the reference parser: it must read the same model or reject the text.

use conformance::convert::{Printed, print, read_wire, text_to_wire, write_wire};
use conformance::corpus::{in_parallel, models, scratch};
use conformance::oracle::{Oracle, is_ok};
use conformance::random::{Choices, Generator, Random, Schema, Wildness};
use onnx_proto::external::{Layout, externalize};
use onnx_proto::file;
use onnx_text::Profile;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// Fields that annotations carry in the models of the corpus (measured: nothing else differs).
const CARRIED: &[&str] = &[
    "GraphProto.doc_string",
    "GraphProto.metadata_props",
    "NodeProto.doc_string",
    "NodeProto.metadata_props",
    "ValueInfoProto.metadata_props",
    // `domain: ""` of nodes and imports, `name: ""` of tensors, `data_location: DEFAULT`, empty `raw_data` and types.
    "presence",
    "tensor_storage",
];
/// Random models, which have anything anywhere.
const CARRIED_AT_ALL: &[&str] = &["annotations", "presence", "tensor_storage", "nan_bits"];

/// Weights of larger models are left in a file beside the text.
const INLINE_BYTES: u64 = 4 << 20;
const RANDOM_MODELS: usize = 1500;

/// A model, its text, and where both are.
struct Case {
    name: String,
    printed: Printed,
    wire: PathBuf,
    text: PathBuf,
    parsed: PathBuf,
}

impl Case {
    fn new(folder: &Path, name: String, wire: Vec<u8>, profile: Profile) -> Case {
        let model = read_wire(wire.clone().into()).unwrap_or_else(|why| panic!("{name}: {why}"));
        let file = |ending: &str| folder.join(format!("{}.{ending}", name.replace('/', "-")));
        let case = Case {
            printed: print(&model, profile),
            wire: file("onnx"),
            text: file("onnxtxt"),
            parsed: file("pb"),
            name,
        };
        fs::write(&case.wire, wire).unwrap();
        fs::write(&case.text, &case.printed.text).unwrap();
        case
    }
}

fn corpus_cases(folder: &Path, profile: Profile) -> Vec<Case> {
    in_parallel(&models(), |model| {
        let bytes = file::open(&model.path).expect("a model of the corpus can be read");
        let mut wire = bytes.to_vec();
        if model.size > INLINE_BYTES {
            let mut model = read_wire(bytes).expect("the round trips have read it");
            externalize(&mut model, 1024, Layout::One("weights.data"), false);
            wire = write_wire(&model).expect("it is smaller than before");
        }
        Case::new(folder, model.name.clone(), wire, profile)
    })
}

/// The answers of the reference parser to the texts; accepted ones are in `Case::parsed`.
fn parse(oracle: &Oracle, cases: &[Case]) -> Vec<Value> {
    let request = |case: &Case| json!({"op": "parse", "path": case.text, "out": case.parsed});
    oracle.ask(&cases.iter().map(request).collect::<Vec<_>>())
}

/// The mismatches of all cases: a text without extended forms must be accepted; an accepted one must mean the printed model, and
/// the model that we read from it as the reference does, without its annotations.
fn misread(oracle: &Oracle, cases: &[Case], ignore: &[&str]) -> Vec<String> {
    let answers = parse(oracle, cases);
    let mut wrong = Vec::new();
    let mut accepted = Vec::new();
    for (case, answer) in cases.iter().zip(&answers) {
        if is_ok(answer) {
            accepted.push(case);
            let text = &case.printed.text;
            match text_to_wire(text.strip_prefix("#@ onnxtxt 1").unwrap_or(text)) {
                Ok(ours) if ours == fs::read(&case.parsed).unwrap() => {}
                Ok(_) => wrong.push(format!("{}: read otherwise than the reference does", case.name)),
                Err(why) => wrong.push(format!("{}: the reference accepts it: {why}", case.name)),
            }
        } else if !case.printed.is_extended {
            wrong.push(format!("{}: refused: {}", case.name, answer["error"]));
        }
    }
    let request = |case: &&Case| json!({"op": "equal", "a": {"path": case.wire}, "b": {"path": case.parsed}, "ignore": ignore});
    let answers = oracle.ask(&accepted.iter().map(request).collect::<Vec<_>>());
    for (case, answer) in accepted.iter().zip(&answers) {
        if answer["equal"] != true {
            wrong.push(format!("{}: another model: {answer}", case.name));
        }
    }
    wrong
}

fn assert_none(wrong: &[String], of: usize) {
    assert!(wrong.is_empty(), "{} of {of}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn models_of_the_corpus_mean_the_same_there() {
    let Some(oracle) = Oracle::find("our texts, read by the reference") else { return };
    let cases = corpus_cases(&scratch("onnx"), Profile::Onnx);
    assert_none(&misread(&oracle, &cases, CARRIED), cases.len());
}

/// The profile `reference` says what it loses: the model comes back from there as the same bytes if that is nothing, and
/// only then.
#[test]
fn the_reference_profile_tells_its_losses() {
    let Some(oracle) = Oracle::find("the profile `reference`, read by the reference") else { return };
    let cases = corpus_cases(&scratch("reference"), Profile::Reference);
    assert_none(&untold(&oracle, &cases), cases.len());
}

#[test]
fn the_reference_profile_tells_its_losses_of_random_models() {
    let Some(oracle) = Oracle::find("random models in the profile `reference`, read by the reference") else {
        return;
    };
    let cases = random_cases(&scratch("random-reference"), Profile::Reference);
    assert_none(&untold(&oracle, &cases), cases.len());
}

fn untold(oracle: &Oracle, cases: &[Case]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (case, answer) in cases.iter().zip(parse(oracle, cases)) {
        if case.printed.is_extended || !is_ok(&answer) {
            wrong.push(format!("{}: refused: {}", case.name, answer["error"]));
            continue;
        }
        let is_same = fs::read(&case.wire).unwrap() == fs::read(&case.parsed).unwrap();
        if is_same != case.printed.losses.is_empty() {
            wrong.push(format!("{}: same bytes: {is_same}, losses: {:?}", case.name, case.printed.losses));
        }
    }
    wrong
}

/// No text of ours is read by the reference as another model, whatever the model.
#[test]
fn random_models_are_never_misread() {
    let Some(oracle) = Oracle::find("random models, read by the reference") else { return };
    let cases = random_cases(&scratch("random"), Profile::Onnx);
    let extended = cases.iter().filter(|case| case.printed.is_extended).count();
    assert!(extended > 300 && cases.len() - extended > 500, "{extended} of {} are extended", cases.len());
    assert_none(&misread(&oracle, &cases, CARRIED_AT_ALL), cases.len());
}

/// Equal in each run.
fn random_cases(folder: &Path, profile: Profile) -> Vec<Case> {
    let schema = Schema::load();
    let mut random = Random::new(1);
    (0..RANDOM_MODELS)
        .map(|number| {
            let wildness = if number % 3 == 0 { Wildness::Wild } else { Wildness::Plain };
            let choices = random.choices(20 + number % 500);
            let wire = Generator::new(&schema, Choices::new(&choices), wildness).model();
            Case::new(folder, number.to_string(), wire, profile)
        })
        .collect()
}
