//! wire → IR → wire is the identity, byte for byte, on every model and every value that can be found.
//!
//! Looks at `target/corpus` (`cargo xtask corpus`) and at the test data of the `onnx` package in `target/venv`. A file
//! may come out different only if the walker says what is unusual about its encoding, and then it has to come out the
//! same from the second time on.
#![allow(clippy::print_stderr, reason = "a test that cannot run, or only in part, has to say so")]

use bytes::Bytes;
use onnx_ir::Names;
use onnx_proto::{FileKind, ScanDepth, file, read, read_data, sniff, walk, write, write_data};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files of another encoding than standard encoders', by the end of their path, with the reason.
const UNUSUAL: &[(&str, &str)] = &[];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "onnx" || ending == "pb") {
            found.push(path);
        }
    }
}

fn round_trip(bytes: &Bytes, kind: FileKind) -> Result<Vec<u8>, String> {
    let (written, diagnostics) = match kind {
        FileKind::Model => {
            let (model, diagnostics) = read(bytes.clone()).into_parts();
            (write(&model), diagnostics)
        }
        _ => {
            let mut names = Names::new();
            let (data, diagnostics) = read_data(bytes.clone(), kind, &mut names).into_parts();
            let data = data.ok_or_else(|| format!("{kind:?}, {diagnostics:?}"))?;
            (write_data(&data, &names), diagnostics)
        }
    };
    if let Some(first) = diagnostics.first() {
        return Err(format!("{} diagnostics: {}", diagnostics.len(), first.message));
    }
    written.map_err(|error| error.to_string())
}

#[test]
fn files_come_back_byte_for_byte() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    files(&workspace.join("target/corpus"), &mut found);
    let corpus = found.len();
    for entry in std::fs::read_dir(workspace.join("target/venv/lib")).into_iter().flatten().flatten() {
        files(&entry.path().join("site-packages/onnx/backend/test/data"), &mut found);
    }
    if corpus == 0 || corpus == found.len() {
        eprintln!(
            "NOT RUN in part: {corpus} files in target/corpus, {} in target/venv",
            found.len() - corpus
        );
    }
    found.sort();

    let mut failed = Vec::new();
    let mut kinds = BTreeMap::new();
    for path in &found {
        let bytes = file::open(path).unwrap();
        if bytes.is_empty() {
            continue;
        }
        let Some(kind) = sniff(&bytes) else {
            failed.push(format!("{}: no kind", path.display()));
            continue;
        };
        *kinds.entry(kind.name()).or_insert(0) += 1;
        match round_trip(&bytes, kind) {
            Ok(written) if written == bytes => {}
            Ok(written) => {
                let mut unusual = BTreeMap::new();
                walk(&bytes, kind, ScanDepth::Numbers, &mut |finding| {
                    *unusual.entry(format!("{:?} {:?}", finding.kind, finding.field)).or_insert(0) += 1;
                })
                .unwrap();
                let expected = UNUSUAL.iter().any(|(end, _)| path.ends_with(end));
                let again = round_trip(&written.clone().into(), kind);
                if !expected || unusual.is_empty() || again.as_ref() != Ok(&written) {
                    failed.push(format!(
                        "{}: {} → {} bytes, {unusual:?}",
                        path.display(),
                        bytes.len(),
                        written.len()
                    ));
                }
            }
            Err(error) => failed.push(format!("{}: {error}", path.display())),
        }
    }
    eprintln!("{} files: {kinds:?}", found.len());
    assert!(failed.is_empty(), "{} files:\n{}", failed.len(), failed.join("\n"));
}
