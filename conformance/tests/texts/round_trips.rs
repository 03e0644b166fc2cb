//! wire → text → wire is the identity, byte for byte, on every model of the corpus: weights in the text, and weights in
//! a file beside it.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert;
use conformance::corpus::{CorpusModel, in_parallel, left_out, models};
use onnx_proto::file;

/// Models that do not come back as they were, by the end of their name, each with the reason: its own encoding, which
/// no standard encoder writes.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// Larger models have their weights in the text only where `CI=true`: each takes seconds.
const INLINE_BYTES: u64 = 8 << 20;
/// Tensors of at least this size go into the file beside the text.
const SIDECAR_FROM: u64 = 64;

fn all_come_back(what: &str, models: &[CorpusModel], round_trip: fn(bytes::Bytes) -> Result<(), String>) {
    let failures = in_parallel(models, |model| {
        let wire = file::open(&model.path).expect("a model of the corpus can be read");
        let expected = EXCEPTIONS.iter().any(|(end, _)| model.name.ends_with(end));
        match round_trip(wire) {
            Ok(()) if expected => Some(format!("{}: comes back, and is listed as an exception", model.name)),
            Err(why) if !expected => Some(format!("{}: {why}", model.name)),
            _ => None,
        }
    });
    let failures: Vec<_> = failures.into_iter().flatten().collect();
    assert!(
        failures.is_empty(),
        "{what}: {} of {} models:\n{}",
        failures.len(),
        models.len(),
        failures.join("\n")
    );
    eprintln!("{what}: {} models, all as the same bytes", models.len());
}

#[test]
fn with_weights_in_the_text() {
    let (mut models, found) = (models(), models().len());
    if std::env::var("CI").is_err() {
        models.retain(|model| model.size <= INLINE_BYTES);
        if models.len() < found {
            left_out(&format!(
                "weights in the text of {} large models (CI=true has them; beside the text they are compared)",
                found - models.len()
            ));
        }
    }
    all_come_back("weights in the text", &models, |wire| convert::round_trip(wire).map(drop));
}

#[test]
fn with_weights_beside_the_text() {
    all_come_back("weights beside the text", &models(), |wire| {
        convert::round_trip_with_sidecar(wire, SIDECAR_FROM).map(drop)
    });
}
