//! Two models beside one another: verify and compare.

use crate::Folder;

const ONE: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N] x) => (float[N] y)\n<float[2] w = {1, 2}>\n{\n    a = Mul(x, w)\n    [twice] b = Add(a, a)\n    y = Relu(b)\n}\n";

fn folder() -> Folder {
    let far = ONE.replace("Add(a, a)", "Mul(a, a)");
    let near = ONE.replace("{1, 2}", "{1.00001, 2}");
    Folder::new(&[
        ("one.onnxtxt", ONE.as_bytes()),
        ("far.onnxtxt", far.as_bytes()),
        ("near.onnxtxt", near.as_bytes()),
        ("x.onnxtxt", b"float[2] x = {1, 2}"),
    ])
}

#[test]
fn models_that_compute_the_same_are_told_from_others() {
    let folder = folder();
    let verify = |other: &str, code: i32| {
        folder.run(&["verify", "one.onnxtxt", other, "-i", "x.onnxtxt"]).expect(code).text().to_owned()
    };
    assert_eq!(verify("one.onnxtxt", 0), "equal    y\n");
    assert_eq!(verify("near.onnxtxt", 0), "close    y\n");
    let far = verify("far.onnxtxt", 1);
    assert!(far.starts_with("DIFFERS  y: element [0] is 2 and 1: 1e0 absolute, 1e0 relative"), "{far}");
    assert!(far.contains("\n         cosine 0.983382, differences: median 8.0e0"), "{far}");
    let json = folder
        .run(&["verify", "one.onnxtxt", "far.onnxtxt", "-i", "x.onnxtxt", "--format", "json"])
        .expect(1);
    let json: serde_json::Value = serde_json::from_str(json.text()).unwrap();
    assert_eq!((&json["same"], &json["outputs"][0]["status"]), (&false.into(), &"differs".into()));
    // Both commands take the other model in the same ways.
    for command in ["verify", "compare"] {
        for other in [&["near.onnxtxt"][..], &["--with", "near.onnxtxt"]] {
            folder.run(&[&[command, "one.onnxtxt", "-i", "x.onnxtxt"], other].concat()).expect(0);
        }
        folder.run(&[command, "one.onnxtxt"]).expect(2);
    }
    let done = folder.run(&["verify", "one.onnxtxt", "far.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("-D N=1"), "{}", done.stderr);
}

#[test]
fn the_first_difference_is_found() {
    let folder = folder();
    let compare = |arguments: &[&str], code: i32| {
        let all = [&["compare", "one.onnxtxt", "-i", "x.onnxtxt", "--with"], arguments].concat();
        folder.run(&all).expect(code).text().to_owned()
    };
    let one = "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }";
    folder.write("short.onnxtxt", one.as_bytes());
    let short = folder.run(&["compare", "short.onnxtxt", "short.onnxtxt", "-D", "N=2"]).expect(0);
    assert_eq!(short.text(), "1 of 1 results agree with short.onnxtxt\n");
    assert_eq!(compare(&["near.onnxtxt"], 0), "3 of 3 results agree with near.onnxtxt\n");
    assert_eq!(
        compare(&["far.onnxtxt"], 1),
        "first difference: `b`, which `Add` (node `twice`) computes\n  \
         element [0] is 2 and 1: 1e0 absolute, 1e0 relative, 8388608 ULP; 2 of 2 elements differ\n  \
         cosine 0.983382, differences: median 8.0e0, p90 8.0e0, p99 8.0e0, max 8.0e0\n\
         1 of 3 results agree with far.onnxtxt\n"
    );
    let near = compare(&["near.onnxtxt", "--rtol", "0", "--atol", "0"], 1);
    assert!(
        near.contains("first difference: `a`, which `Mul` computes\n  element [0] is 1 and 1.0000"),
        "{near}"
    );
    assert!(near.contains("84 ULP; 1 of 2 elements differ"), "{near}");
}

/// Results of float16 that are close as a whole are not called the same without a word.
#[test]
fn what_is_close_only_as_a_whole_is_said() {
    let one = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (float[2] x) => (float16[2] y)\n<float16[2] w = {1.0, 2.0}>\n{\n    h = Cast<to = 10>(x)\n    y = Mul(h, w)\n}\n";
    let near = one.replace("{1.0, 2.0}", "{1.03, 2.0}");
    let folder = Folder::new(&[
        ("one.onnxtxt", one.as_bytes()),
        ("near.onnxtxt", near.as_bytes()),
        ("x.onnxtxt", b"float[2] x = {1, 2}"),
    ]);
    let run = |command: &str, more: &[&str], code: i32| {
        let all = [&[command, "one.onnxtxt", "near.onnxtxt", "-i", "x.onnxtxt"], more].concat();
        folder.run(&all).expect(code).text().to_owned()
    };
    let why = "some elements differ by more than is allowed for one; the cosine similarity is at least 0.999 and no difference is \
        above 10 % of the largest number (--rtol or --atol compare each element)\n";
    let of = "2 of 2 results agree with near.onnxtxt\n1 of them only as a whole: ";
    assert_eq!(run("compare", &[], 0), format!("{of}{why}"));
    let verified = run("verify", &[], 0);
    assert!(
        verified.starts_with(&format!("close    y as a whole: {why}         cosine 0.999")),
        "{verified}"
    );
    let json: serde_json::Value = serde_json::from_str(&run("compare", &["--json"], 0)).unwrap();
    assert_eq!(json["same_only_as_a_whole"], 1);
    assert!(run("compare", &["--rtol", "0.01"], 1).starts_with("first difference: `y`"));
}

#[test]
fn a_python_that_does_not_exist_is_told() {
    let folder = folder();
    let mut command = folder.command(&["compare", "one.onnxtxt", "-i", "x.onnxtxt", "--with", "ort"]);
    let done = command.env("ONNXTXT_PYTHON", "no-such-python").output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    let stderr = String::from_utf8(done.stderr).unwrap();
    assert!(stderr.contains("cannot run no-such-python"), "{stderr}");
}

#[test]
fn onnx_runtime_computes_the_same() {
    // With the packages, which `cargo xtask venv` installs.
    if std::env::var_os("ONNXTXT_PYTHON").is_none() {
        return;
    }
    let folder = folder();
    crate::golden::PLANTED.iter().for_each(|name| folder.write(name, b"open('executed', 'w')"));
    let done = folder.run(&["compare", "one.onnxtxt", "-i", "x.onnxtxt", "--with", "ort"]).expect(0);
    assert!(!folder.path("executed").exists());
    assert!(done.text().starts_with("3 of 3 results agree with ONNX Runtime 1."), "{}", done.text());
}
