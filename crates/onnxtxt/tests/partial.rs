//! Models of which parts could not be read: they are not written by accident.

use bytes::Bytes;
use onnxtxt::{CompileOptions, Error, Form, Loaded, SaveOptions};
use std::path::Path;

const TEXT: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] x) => (float[N] y) <float[4] w = {1, 2, 3, 4}> { t = Mul(x, w) y = Relu(t) }";

fn encoded(text: &str, form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    let options = SaveOptions { form: Some(form), ..SaveOptions::default() };
    assert!(onnxtxt::parse(text).write_to(&mut out, &options).unwrap().is_written);
    out
}

/// Every beginning of a model in each form, and what is none.
fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for form in [Form::Text, Form::Binary, Form::Json, Form::Textproto] {
        let whole = encoded(TEXT, form);
        all.extend(
            (0..=whole.len()).step_by(3).map(|end| (format!("{form:?} up to {end}"), whole[..end].to_vec())),
        );
    }
    for text in ["<html><body>404</body></html>", "garbage", "\u{fffd}\u{0}\u{1}", "g (flaot[N] x) => () {}"]
    {
        all.push((format!("{text:?}"), text.into()));
    }
    for byte in 0..=u8::MAX {
        all.push((format!("32 of {byte:#04x}"), vec![byte; 32]));
    }
    all
}

fn is_refused(done: Result<(), Error>, case: &str) {
    match done {
        Err(Error::Refused(why)) => {
            assert!(why.contains("could not be read and would be lost"), "{case}: {why}")
        }
        done => panic!("{case}: {done:?}"),
    }
}

#[test]
fn what_was_read_in_part_is_not_written_in_any_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let (mut partial, mut whole) = (0, 0);
    for (case, bytes) in inputs() {
        std::fs::write(&path, &bytes).unwrap();
        let mut loaded = onnxtxt::open(&path).unwrap();
        if !loaded.is_partial() {
            whole += 1;
            continue;
        }
        partial += 1;
        let mut decoded = onnxtxt::decode(Bytes::from(bytes.clone()));
        let mut became = loaded.became(loaded.model.clone());
        for form in [Form::Text, Form::Binary, Form::Json, Form::Textproto] {
            let options = SaveOptions { form: Some(form), ..SaveOptions::default() };
            for loaded in [&mut loaded, &mut became] {
                let mut out = Vec::new();
                is_refused(loaded.write_to(&mut out, &options).map(drop), &case);
                assert!(out.is_empty(), "{case}");
                is_refused(loaded.save_with(&path, &options).map(drop), &case);
            }
        }
        is_refused(loaded.save(&path), &case);
        for loaded in [&mut loaded, &mut became] {
            let found = loaded.compile(&CompileOptions::default()).err().unwrap_or_default();
            assert!(found.iter().any(onnxtxt::Diagnostic::is_error), "{case}");
        }
        if decoded.is_partial() {
            is_refused(decoded.save(&path), &case);
        }
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{case}");
    }
    assert!(partial > 300 && whole > 4, "{partial} partial, {whole} whole");
}

/// The remaining parts are written on request; a model with errors that could be read as a whole is written as it is.
#[test]
fn the_rest_is_written_on_request_and_errors_are_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let mut loaded = onnxtxt::parse(&TEXT.replace("Relu(t)", "Relu(t"));
    assert!(loaded.is_partial());
    let options = SaveOptions { partial: true, ..SaveOptions::default() };
    assert!(loaded.save_with(&path, &options).unwrap().is_written);
    let saved = onnxtxt::open(&path).unwrap();
    assert!(!saved.is_partial() && saved.text().contains("Mul(x, w)"), "{}", saved.text());

    let mut wrong = onnxtxt::parse(&TEXT.replace("Relu(t)", "Rleu(nowhere)"));
    assert!(wrong.check(onnxtxt::Level::Types).iter().any(onnxtxt::Diagnostic::is_error));
    wrong.save(&path).unwrap();
    Loaded::from(wrong.model.clone()).save(Path::new(&path)).unwrap();
}
