//! Runs the command on a copy of the folders that it writes to.

use super::{Args, edits};
use crate::dirs;
use std::fs;
use std::path::Path;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target)
        } else {
            _ = fs::copy(entry.path(), target).unwrap()
        }
    }
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for part in ["crates/onnx-ops/docs", "crates/onnx-ops/opsets", "crates/onnx-ops/src/operators"] {
        copy(&dirs::root().join(part), &folder.path().join(part));
    }
    folder
}

/// The paths and contents of what is written.
fn write(
    root: &Path,
    name: &str,
    domain: &str,
    family: Option<&str>,
) -> Result<Vec<(String, String)>, String> {
    let args = Args { name: name.into(), domain: domain.into(), family: family.map(Into::into) };
    let edits = edits(root, &args).map_err(|error| format!("{error:#}"))?;
    for edit in &edits {
        fs::create_dir_all(edit.path.parent().unwrap()).unwrap();
        fs::write(&edit.path, &edit.content).unwrap();
    }
    let path = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
    Ok(edits.into_iter().map(|edit| (path(&edit.path), edit.content)).collect())
}

#[test]
fn an_operator_of_onnx_gets_a_row_an_example_and_a_suite_file() {
    let tree = tree();
    let written = write(tree.path(), "Softcap", "ai.onnx", Some("activation")).unwrap();
    let paths: Vec<&str> = written.iter().map(|(path, _)| &**path).collect();
    assert_eq!(
        paths,
        [
            "crates/onnx-ops/src/operators/activation/mod.rs",
            "crates/onnx-ops/docs/ai.onnx/Softcap.onnxtxt",
            "tests/suite/run/Softcap.onnxtxt"
        ]
    );
    let table = &written[0].1;
    let at = |text: &str| table.find(text).unwrap_or_else(|| panic!("{text} is not in\n{table}"));
    assert!(
        at("op(\"Sigmoid\")") < at("    op(\"Softcap\"),\n")
            && at("op(\"Softcap\")") < at("op(\"Softplus\")")
    );
    assert!(written[1].1.contains("y = Softcap(x)") && written[2].1.starts_with("#! run\n"));
    let again = write(tree.path(), "Softcap", "ai.onnx", Some("activation")).unwrap_err();
    assert_eq!(again, "`activation` has a row for `Softcap` of ai.onnx");
}

#[test]
fn every_family_accepts_a_row_of_every_domain() {
    let tree = tree();
    let operators = tree.path().join("crates/onnx-ops/src/operators");
    for family in super::row::families(&operators).unwrap() {
        let old = fs::read_to_string(operators.join(&family).join("mod.rs")).unwrap();
        for (domain, row) in [
            ("ai.onnx", "op(\"AAA\")"),
            ("ai.onnx.ml", "of_ml(\"AAA\")"),
            ("com.acme", "Operator::new(\"com.acme\", \"AAA\")"),
        ] {
            let new = super::row::insert(&operators, &family, domain, "AAA").unwrap().content;
            assert!(new.contains(&format!("&[\n    {row},\n")), "{new}");
            let rows = |text: &str| text.matches(".infer(").count();
            assert_eq!(rows(&new), rows(&old));
        }
    }
}

#[test]
fn an_operator_of_another_domain_gets_a_signature_with_a_body() {
    let tree = tree();
    let written = write(tree.path(), "Blend", "com.acme", None).unwrap();
    assert_eq!(written.len(), 2);
    assert_eq!(written[0].0, "crates/onnx-ops/opsets/com.acme.onnxtxt");
    assert!(written[0].1.contains("domain: \"com.acme\"") && written[0].1.ends_with("Y = Identity(X)\n}\n"));
    assert!(written[1].1.contains("y = com.acme.Blend(x)"));
    let next = write(tree.path(), "Add", "com.acme", None).unwrap();
    let at = |text: &str| next[0].1.find(text).unwrap();
    assert!(at("operator Add ") < at("operator Blend "));
    let among = write(tree.path(), "Mulish", "com.microsoft", Some("contributed")).unwrap();
    assert!(among[0].1.contains("    of_runtime(\"Mulish\"),\n"));
    let at = |text: &str| among[1].1.find(text).unwrap();
    assert!(
        at("\noperator MulInteger ") < at("\noperator Mulish ")
            && at("\noperator Mulish ") < at("\noperator MultiHeadAttention ")
    );
}

#[test]
fn mistakes_are_reported() {
    let tree = tree();
    let fails = |name, domain, family| write(tree.path(), name, domain, family).unwrap_err();
    assert!(fails("Soft cap", "ai.onnx", None).contains("is not the name of an operator"));
    assert!(fails("Softcap", "ai..onnx", None).contains("is not a domain"));
    assert!(fails("Softcap", "ai.onnx", None).contains("needs `--family`: one of activation, "));
    assert!(
        fails("Softcap", "ai.onnx", Some("soft")).contains("`soft` is not a family: one of activation, ")
    );
    assert!(fails("BiasGelu", "com.microsoft", None).contains("`com.microsoft` has `BiasGelu`"));
}
