//! `onnxtxt test`: golden tests, each directive, and how they fail.

use crate::Folder;

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[2] x) => (float[2] y)\n{\n    t = Identity(x)\n    y = Add(t, t)\n}\n";

fn with(head: &str) -> String {
    format!("{head}{MODEL}")
}

/// Runs one test, which has to end with this code; what is on stdout.
fn tested(text: &str, code: i32) -> String {
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    folder.run(&["test", "a.onnxtxt"]).expect(code).text().to_owned()
}

#[test]
fn a_model_is_kept_as_it_is_until_it_is_blessed() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    folder.run(&["convert", "m.onnxtxt", "-o", "m.onnx"]).expect(0);
    let printed = folder.run(&["print", "m.onnx"]).expect(0).text().to_owned();
    folder.write("a.onnxtxt", format!("#! print\n{printed}").as_bytes());

    let missing = folder.run(&["test", "."]).expect(1).text().to_owned();
    assert!(missing.contains("missing snapshot") && missing.ends_with("0 passed, 1 failed\n"), "{missing}");
    folder.run(&["test", ".", "--bless"]).expect(0);
    assert!(folder.names().contains(&"a.print.snap".to_owned()), "{:?}", folder.names());
    assert_eq!(folder.run(&["test", "."]).expect(0).text().to_owned(), "1 passed, 0 failed\n");

    folder.write("a.onnxtxt", format!("#! print\n{}", printed.replace("Add", "Mul")).as_bytes());
    let failed = folder.run(&["test", "."]).expect(1).text().to_owned();
    assert!(failed.contains("Add") && failed.contains("Mul"), "{failed}");
    assert!(failed.contains("onnxtxt test ./a.onnxtxt --filter a"), "{failed}");
    folder.run(&["test", ".", "--bless"]).expect(0);
    folder.run(&["test", "."]).expect(0);
}

#[test]
fn outputs_are_compared() {
    let head = "#! run\n#! input float[2] x = {1, 2}\n";
    assert_eq!(tested(&with(&format!("{head}#! expect float[2] y = {{2, 4}}\n")), 0), "1 passed, 0 failed\n");
    let wrong = tested(&with(&format!("{head}#! expect float[2] y = {{2, 5}}\n")), 1);
    assert!(wrong.contains("output `y`: 1 of 2 elements differ"), "{wrong}");
    tested(&with(&format!("{head}#! expect float[2] y = {{2, 5}} rtol=0.5 atol=0\n")), 0);
    let name = tested(&with(&format!("{head}#! expect float[2] z = {{2, 4}}\n")), 1);
    assert!(name.contains("no output `z`; it has y"), "{name}");
    let shape = tested(&with(&format!("{head}#! expect float[1] y = {{2}}\n")), 1);
    assert!(shape.contains("is float[2], but float[1] is expected"), "{shape}");
    let input = tested(&with("#! run\n#! input float[2] q = {1, 2}\n"), 1);
    assert!(input.contains("no input `q`"), "{input}");
    tested(&with("#! run\n"), 0);
}

#[test]
fn passes_are_checked_and_keep_results() {
    let head = "#! pass remove-no-ops\n#! expect same as before the pass\n# CHECK: Add(x, x)\n# CHECK-NOT: Identity\n";
    tested(&with(head), 0);
    let wrong = tested(&with(&head.replace("Add", "Sub")), 1);
    assert!(wrong.contains("`CHECK: Sub(x, x)` is not found"), "{wrong}");
    let none = tested(&with("#! expect same as before the pass\n"), 1);
    assert!(none.contains("needs a directive"), "{none}");
}

#[test]
fn other_directives_and_claims() {
    tested(&with("#! check\n#! roundtrip\n#! infer\n# CHECK: float[2] t\n"), 0);
    tested(&with("#! lower\n# CHECK: plan of nodes\n"), 0);
    let text = with("#! check\n").replace("Add(t, t)", "Add(t, nowhere)");
    let failed = tested(&text, 1);
    assert!(failed.contains("not claimed") && failed.contains("error[E0203]"), "{failed}");
    let claimed =
        text.replace("nowhere)\n", "nowhere)\n#              ^ error[E0203]: use of undefined value\n");
    tested(&claimed, 0);
}

#[test]
fn wrong_directives_are_named() {
    let failed = tested(&with("#! chekc\n"), 1);
    assert!(failed.contains("line 1: unknown directive `chekc`: did you mean `check`?"), "{failed}");
    for head in
        ["#! print --elide many\n", "#! input 5\n", "#! run\n#! expect y\n", "#! pass nothing\n", "#!\n"]
    {
        tested(&with(head), 1);
    }
    tested("#! print\n{{{", 1);
    tested("#! run\n", 1);
}

#[test]
fn files_may_hold_several_cases() {
    let text = format!("#! check\n#--- one\n{MODEL}#--- two\n{}", MODEL.replace("Add(t, t)", "Add(t, u)"));
    let folder = Folder::new(&[("a.onnxtxt", text.as_bytes())]);
    assert_eq!(folder.run(&["test", "--list"]).expect(0).text().to_owned(), "a/one\na/two\n");
    assert!(folder.run(&["test"]).expect(1).text().to_owned().ends_with("1 passed, 1 failed\n"));
    assert_eq!(folder.run(&["test", "--filter", "one"]).expect(0).text().to_owned(), "1 passed, 0 failed\n");
    folder.run(&["test", "--filter", "three"]).expect(2);

    folder.run(&["test", "--junit", "r.xml"]).expect(1);
    let report = String::from_utf8(folder.read("r.xml")).unwrap();
    assert!(report.contains("tests=\"2\" failures=\"1\"") && report.contains("name=\"a/two\""), "{report}");
    let github = folder.run(&["test", "--format", "github"]).expect(1).text().to_owned();
    assert!(github.starts_with("::error file="), "{github}");
    let json = folder.run(&["test", "--format", "json"]).expect(1).text().to_owned();
    assert!(json.contains("\"passed\":false"), "{json}");
}

#[test]
fn folders_without_tests_are_an_error() {
    let folder = Folder::new(&[("m.onnxtxt", MODEL.as_bytes())]);
    folder.run(&["test"]).expect(2);
    folder.run(&["test", "nowhere"]).expect(2);
}

#[test]
fn the_suite_of_the_project_is_run_by_the_same_harness() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let folder = Folder::new(&[]);
    let (suite, snapshots) = (format!("{root}/tests/suite/pass"), format!("{root}/snapshots/pass"));
    let text = folder.run(&["test", &suite, "--snapshots", &snapshots]).expect(0).text().to_owned();
    assert!(text.ends_with(" passed, 0 failed\n"), "{text}");
}

/// The examples of docs/testing.md: each block that begins with a directive passes, once its snapshot is written.
#[test]
fn the_examples_of_the_documentation_pass() {
    let page = include_str!("../../../../docs/testing.md");
    let blocks: Vec<&str> =
        page.split("```").skip(1).step_by(2).filter(|block| block.starts_with("\n#!")).collect();
    assert!(blocks.len() >= 2);
    for block in blocks {
        let folder = Folder::new(&[("a.onnxtxt", block.trim_start().as_bytes())]);
        folder.run(&["test", "--bless"]).expect(0);
        folder.run(&["test"]).expect(0);
    }
}
