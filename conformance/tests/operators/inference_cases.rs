//! The reference's own tests of shape inference: whether `check` refuses what its strict inference refuses, and infers what it infers.
//!
//! The tests are not part of the package. They are in its source distribution, whose folder `ONNXTXT_ONNX_SOURCE` names, or
//! `target/onnx-source`, where `cargo xtask venv` puts them. Where we refused less, the files `S07-*`, `S10-*` and `S15-*`
//! of `tests/suite/check` have cases of our own.

use super::inference::compare;
use conformance::corpus::{left_out, scratch, workspace};
use conformance::oracle::Oracle;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ops::infer::{InferOptions, infer};
use onnx_ops::schema::Registry;
use std::path::PathBuf;

/// Refused by the reference only: the test, and why it is right.
const ACCEPTED: &[(&str, &str)] = &[
    ("test_onehot_negative_depth", DEFAULT),
    ("test_onehot_negative_indices", DEFAULT),
    ("test_split_to_sequence_zero_scalar", DEFAULT),
    ("test_pad_legacy_total_padding_overflow[11]", DEFAULT),
    ("test_pad_legacy_total_padding_overflow[13]", DEFAULT),
    ("test_tile_dimension_overflow", DEFAULT),
    ("test_col2im_block_shape_overflow", DEFAULT),
    ("test_function_output_count_mismatch_does_not_crash", "a call need not use all outputs of a function"),
];

/// Inferred otherwise: the test, and why it is right.
const DIFFERENT: &[(&str, &str)] = &[("test_stft_reals", "`onesided` is 1 unless it is given")];

/// The reference takes it for the value.
const DEFAULT: &str =
    "an initializer that is an input too is a default since IR version 4, which a caller may replace";

/// Refused by us only: the test, the code, and why it is right.
const REFUSED: &[(&str, &str, &str)] = &[
    ("", "E0701", "an input without a type, which the checker of the reference refuses"),
    ("", "E0713", "an output without a type, which the checker of the reference refuses"),
    ("", "E0702", "an output without a shape, which the checker of the reference refuses"),
    ("", "E1002", "a deprecated operator, which the checker of the reference refuses"),
    ("TestCustomSchemaShapeInference::", "E1001", "the test registers the operator"),
    ("test_check_type_when_schema_has_empty_io", "E1001", "the test registers the operator"),
    ("test_cast_to_complex", "E1010", "Cast has no complex types"),
    ("test_quantizelinear_invalid_output_dtype", "E1010", "QuantizeLinear has no float16 results"),
    ("test_resize_size[11]", "E1015", "`sizes` may only be set if `scales` is empty"),
    ("test_rnn_layout", "E1015", "weights of one direction for two"),
    ("test_onehot_empty_depth", "E1015", "`depth` has exactly one element"),
];

#[test]
fn the_cases_of_the_reference_are_judged_alike() {
    let source = std::env::var_os("ONNXTXT_ONNX_SOURCE")
        .map_or_else(|| workspace().join("target/onnx-source"), PathBuf::from);
    let tests = source.join("tests/python/shape_inference_test.py");
    if !tests.exists() {
        left_out("the reference's tests of shape inference: no sources of the onnx package");
        return;
    }
    let Some(oracle) = Oracle::find("the reference's tests of shape inference") else { return };
    let folder = scratch("inference-cases");
    let cases = oracle.run("tests/python/shape_cases.py", &[tests.as_os_str(), folder.as_os_str()]);
    let cases = cases.as_array().expect("a list of cases");
    let mut wrong = Vec::new();
    for case in cases {
        let [file, test] = ["file", "test"].map(|key| case[key].as_str().unwrap_or_default());
        let bytes = std::fs::read(folder.join(file)).expect("the script has written it");
        let (model, mut found) = onnx_proto::read(bytes.into()).into_parts();
        let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
        found.extend(onnx_ops::check::check(&model, Registry::builtin(), &options));
        found.retain(Diagnostic::is_error);
        let is_accepted = ACCEPTED.iter().any(|(name, _)| test.contains(name));
        let is_refused =
            |d: &Diagnostic| REFUSED.iter().any(|(name, code, _)| test.contains(name) && d.code.id == *code);
        match (case["error"].as_str(), found.first()) {
            (Some(error), None) if !is_accepted => {
                wrong.push(format!("{test} ({file}) is accepted: {error}"))
            }
            (None, Some(_)) if !found.iter().all(is_refused) => {
                let all: Vec<String> = found.iter().map(ToString::to_string).collect();
                wrong.push(format!("{test} ({file}) is refused: {}", all.join("; ")));
            }
            (None, None) if !DIFFERENT.iter().any(|(name, _)| test.contains(name)) => {
                let mut inference = infer(&model, Registry::builtin(), &InferOptions::default());
                let (_, differences) = compare(test, &model, &mut inference.facts, case);
                wrong.extend(differences.into_iter().filter(|d| d.contains("contradicted")));
            }
            (Some(_), _) | (None, _) => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    assert!(cases.len() > 1000, "only {} cases", cases.len());
}
