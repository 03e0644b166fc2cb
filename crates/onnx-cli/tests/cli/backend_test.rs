//! ONNX's own tests: which folders are cases, their results, and the summary.

use crate::{Folder, SOUND};

/// A folder with a case: a model, its input, and what it gave once.
fn case(folder: &Folder, name: &str, model: &str, input: &str) {
    let place = |file: &str| format!("{name}/{file}");
    std::fs::create_dir_all(folder.path(&place("test_data_set_0"))).unwrap();
    folder.write(&place("m.onnxtxt"), model.as_bytes());
    folder.write(&place("x.onnxtxt"), input.as_bytes());
    folder.run(&["convert", &place("m.onnxtxt"), "-o", &place("model.onnx")]).expect(0);
    folder.run(&["convert", &place("x.onnxtxt"), "-o", &place("test_data_set_0/input_0.pb")]).expect(0);
    let results = place("test_data_set_0");
    folder.run(&["run", &place("model.onnx"), "-i", &results, "--output-dir", &results, "--fuel", "1000"]);
}

#[test]
fn cases_pass_or_fail() {
    let folder = Folder::new(&[]);
    case(&folder, "all/good", SOUND, "float[2] x = {1, 2}");
    case(&folder, "all/bad", SOUND, "float[2] x = {1, 2}");
    folder.run(&["convert", "all/bad/x.onnxtxt", "-o", "all/bad/test_data_set_0/output_0.pb"]).expect(0);
    let done = folder.run(&["backend-test", "all"]).expect(1);
    assert_eq!(
        done.text(),
        "FAILED  all/bad: output 0 of test_data_set_0: element 1 is 4, expected 2; the largest difference is 2e0\n\
         ok      all/good\n1 passed, 1 failed\n"
    );
    let done = folder.run(&["backend-test", "--failed", "all/good"]).expect(0);
    assert_eq!(done.text(), "1 passed, 0 failed\n");
    let done = folder.run(&["backend-test", "all", "--format", "json"]).expect(1);
    let lines: Vec<serde_json::Value> =
        done.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["case"], &lines[0]["passed"]), (&"all/bad".into(), &false.into()));
    assert!(lines[0]["why"].as_str().unwrap().contains("element 1 is 4"), "{lines:?}");
    assert_eq!(lines[1], serde_json::json!({ "case": "all/good", "passed": true }));
    assert_eq!(lines[2], serde_json::json!({ "passed": 1, "failed": 1 }));
    folder.run(&["backend-test", "all/good/test_data_set_0"]).expect(2);
}

#[test]
fn machines_share_the_cases() {
    let folder = Folder::new(&[]);
    for name in ["all/a", "all/b", "all/c"] {
        case(&folder, name, SOUND, "float[2] x = {1, 2}");
    }
    folder.run(&["convert", "all/b/x.onnxtxt", "-o", "all/b/test_data_set_0/output_0.pb"]).expect(0);
    let share = |shard: &str, code: i32| {
        let done = folder.run(&["backend-test", "all", "--shard", shard, "--junit", "r.xml"]).expect(code);
        (done.text().to_owned(), String::from_utf8(folder.read("r.xml")).unwrap())
    };
    let (text, report) = share("1/2", 0);
    assert_eq!(text, "ok      all/a\nok      all/c\n2 passed, 0 failed\n");
    assert!(
        report.contains("<testsuite name=\"onnxtxt backend 1/2\" tests=\"2\" failures=\"0\""),
        "{report}"
    );
    let (text, report) = share("2/2", 1);
    assert!(text.starts_with("FAILED  all/b: ") && text.ends_with("0 passed, 1 failed\n"), "{text}");
    assert!(report.contains("<testcase name=\"all/b\" classname=\"all/b/model.onnx\""), "{report}");
    assert!(report.contains("<failure message=\"output 0 of test_data_set_0: element 1 is 4"), "{report}");
    let (text, _) = share("4/4", 0);
    assert_eq!(text, "0 passed, 0 failed\n");
}

#[test]
fn a_case_that_never_ends_fails() {
    let model = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float x) => (float y)\n<int64 most = {9223372036854775807}, bool yes = {1}>\n{\n    \
        y = Loop(most, yes, x) <body = b (int64 i, bool c, float a) => (bool d, float z) { n = Not(c) d = Not(n) z = Neg(a) }>\n}\n";
    let folder = Folder::new(&[]);
    case(&folder, "all/slow", model, "float x = {1}");
    let done = folder.run(&["backend-test", "--timeout", "0.2", "all"]).expect(1);
    assert_eq!(done.text(), "FAILED  all/slow: takes longer than 0.2 s\n0 passed, 1 failed\n");
}
