//! JSON and textproto against Python's `google.protobuf`: each side reads what the other wrote.
//!
//! Needs a Python that imports `onnx` (target/venv); says so and passes where there is none.
#![allow(clippy::print_stderr, reason = "a test that cannot run has to say so")]

use onnx_proto::{
    FileKind, json, read, read_operator_set, read_part, sniff, textproto, write, write_operator_set,
    write_part,
};
use std::path::{Path, PathBuf};
use std::process::Command;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn python() -> Option<PathBuf> {
    let candidates = [workspace().join("target/venv/bin/python"), PathBuf::from("python3")];
    candidates.into_iter().find(|python| {
        Command::new(python).args(["-c", "import onnx"]).output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn python_reads_and_writes_the_same() {
    let Some(python) = python() else {
        eprintln!("NOT RUN: JSON and textproto against Python: no Python that imports `onnx` (target/venv)");
        return;
    };
    let folder = std::env::temp_dir().join(format!("onnx-proto-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats.py");
    let run = |step: &str| {
        let status =
            Command::new(&python).args([script.as_os_str(), step.as_ref(), folder.as_os_str()]).status();
        assert!(status.unwrap().success(), "{step} failed");
    };

    run("write");
    let mut files = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() != Some("bin".as_ref()) {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let kind = FileKind::ALL.into_iter().find(|kind| name.starts_with(kind.name())).unwrap();
        if !bytes.is_empty() && kind != FileKind::Optional {
            assert_eq!(sniff(&bytes), Some(kind), "{name}");
        }

        if kind == FileKind::Model {
            let (model, diagnostics) = read(bytes.clone().into()).into_parts();
            assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
            assert!(write(&model).unwrap() == bytes, "{name}: written otherwise than read");
        }
        if kind == FileKind::OperatorSet {
            let (set, diagnostics) = read_operator_set(bytes.clone().into()).into_parts();
            assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
            assert!(write_operator_set(&set).unwrap() == bytes, "{name}: written otherwise than read");
        }
        if kind.is_part() {
            let (part, diagnostics) = read_part(bytes.clone().into(), kind).into_parts();
            assert!(diagnostics.is_empty(), "{name}: {diagnostics:?}");
            assert!(write_part(&part, kind).unwrap() == bytes, "{name}: written otherwise than read");
        }
        let theirs = std::fs::read(path.with_extension("python.json")).unwrap();
        let read = json::from_json(&theirs, kind).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(read == bytes, "{name}: JSON of Python reads as something else");
        let theirs = std::fs::read(path.with_extension("python.txtpb")).unwrap();
        let read = textproto::from_text(&theirs, kind).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(read == bytes, "{name}: textproto of Python reads as something else");

        std::fs::write(path.with_extension("ours.json"), json::to_json(&bytes, kind).unwrap()).unwrap();
        std::fs::write(path.with_extension("ours.txtpb"), textproto::to_text(&bytes, kind).unwrap()).unwrap();
        files += 1;
    }
    assert!(files > 100, "{files} files");
    run("read");
    std::fs::remove_dir_all(&folder).unwrap();
}
