//! Reports that others can reproduce: repro.

use crate::{Folder, binary};

const SECRET: &str =
    "<ir_version: 10, opset_import: [\"\": 21], producer_name: \"acme\", doc_string: \"ads\">
acme_ranker (float[users,4] clicks) => (float[users,8] ctr)
<float[4,8] ctr_weights = {
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6,
    0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6}>
{
    [ad_score] s = MatMul(clicks, ctr_weights)
    ctr = Sigmoid(s)
}
";

#[test]
fn a_report_is_complete_and_says_nothing_of_its_owner() {
    let folder = Folder::new(&[("secret.onnxtxt", SECRET.as_bytes()), ("secret.onnx", &binary(SECRET))]);
    for file in ["secret.onnx", "secret.onnxtxt"] {
        folder.run(&["repro", file, "--anonymize", "-D", "users=3", "-o", "report"]).expect(0);
        let names = |folder: &Folder| {
            let entries = std::fs::read_dir(folder.path("report")).unwrap();
            let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        let model = file.replace("secret", "model");
        assert_eq!(names(&folder), ["README.md", "inputs.npz", &model]);
        for name in names(&folder) {
            let content = String::from_utf8_lossy(&folder.read(&format!("report/{name}"))).into_owned();
            for word in ["acme", "ads", "click", "ctr", "users", "ad_score", "secret"] {
                assert!(!content.contains(word), "{name}: {word}");
            }
        }
        let readme = String::from_utf8(folder.read("report/README.md")).unwrap();
        assert!(readme.contains(&format!("    onnxtxt run {model} -i inputs.npz")), "{readme}");
        assert!(readme.contains("| operators | 2 nodes: 1 MatMul, 1 Sigmoid |"), "{readme}");
        assert!(readme.contains("| input | `input_0`: float[3,4], in inputs.npz |"), "{readme}");
        let path = format!("report/{model}");
        folder.run(&["check", &path]).expect(0);
        let done = folder.run(&["run", &path, "-i", "report/inputs.npz"]).expect(0);
        assert!(done.text().contains("float[3,8] output_0"), "{}", done.text());
        std::fs::remove_dir_all(folder.path("report")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn the_readme_tells_whether_the_problem_is_still_there() {
    let folder = Folder::new(&[("m.onnx", &binary(SECRET))]);
    let fails = ["--", "sh", "-c", "exit 7 # {}"];
    folder.run(&[&["repro", "m.onnx", "--anonymize", "-o", "report.zip"][..], &fails].concat()).expect(0);
    folder.run(&[&["repro", "m.onnx", "--anonymize", "-o", "again.zip"][..], &fails].concat()).expect(0);
    assert_eq!(folder.read("report.zip"), folder.read("again.zip"));
    let archive = String::from_utf8_lossy(&folder.read("report.zip")).into_owned();
    assert!(archive.contains("README.md") && archive.contains("model.onnx"));
    let depends = ["--", "sh", "-c", "! grep -q acme {}"];
    let done =
        folder.run(&[&["repro", "m.onnx", "--anonymize", "-o", "differs"][..], &depends].concat()).expect(0);
    assert!(
        done.stderr.contains("exits with 0 for the model in differs, but it exits with 1 for m.onnx"),
        "{}",
        done.stderr
    );
    // As it is.
    folder.run(&["repro", "m.onnx", "-D", "users=1", "-o", "plain"]).expect(0);
    let same = folder.run(&["diff", "m.onnx", "plain/model.onnx"]);
    same.expect(0);
    let done = folder.run(&["repro", "m.onnx", "-o", "plain"]).expect(2);
    assert!(done.stderr.contains("plain exists"), "{}", done.stderr);
}

#[cfg(unix)]
#[test]
fn the_readme_tells_what_the_problem_depends_on_and_no_paths() {
    let folder = Folder::new(&[("m.onnx", &binary(SECRET)), ("acme.py", b"")]);
    let report = |script: &str| {
        let command =
            ["repro", "m.onnx", "--anonymize", "-o", "report", "--", "/bin/sh", "-c", script, "x", "{}"];
        let done = folder.run(&command).expect(0);
        let readme = String::from_utf8(folder.read("report/README.md")).unwrap();
        std::fs::remove_dir_all(folder.path("report")).unwrap();
        (done.stderr, readme)
    };
    // The bytes of 0.1, and a name.
    let weights = r#"LC_ALL=C grep -qa "$(printf '\315\314\314=')" $1 # acme.py /srv/acme"#;
    let (said, readme) = report(weights);
    assert!(said.contains("depends on the weights: `--keep-weights` keeps them"), "{said}");
    assert!(readme.contains("it depends on the weights."), "{readme}");
    assert!(
        readme.contains("    sh -c ") && readme.contains("# PATH_") && readme.contains(".py PATH_"),
        "{readme}"
    );
    assert!(!readme.contains("acme") && !readme.contains("target") && !readme.contains("/bin"), "{readme}");
    let (said, readme) = report("grep -q ctr_weights $1");
    assert!(said.contains("depends on names, texts"), "{said}");
    assert!(readme.contains("it depends on names, texts"), "{readme}");
}
