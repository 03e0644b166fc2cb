//! `onnxtxt semver`: what has changed for the users of a model.

use crate::{Folder, binary};
use serde_json::Value;

const OLD: &str = "<ir_version: 8, opset_import: [\"\": 17], model_version: 281483566645248>
g (float[N,4] x, float[N,4] z, float[4] scale) => (float[N,4] y, int64[N] i)
<float[4] scale = {1, 2, 3, 4}>
{
    t = Add(x, z)
    y = Mul(t, scale)
    i = ArgMax <axis = 1, keepdims = 0> (y)
}
";

/// The text that the program writes of a change, without the last line, and that line.
fn compared(new: &str, code: i32) -> (Vec<String>, String) {
    let folder = Folder::new(&[("a", OLD.as_bytes()), ("b", new.as_bytes())]);
    let done = folder.run(&["semver", "a", "b"]).expect(code);
    let mut lines: Vec<String> = done.text().lines().map(str::to_owned).collect();
    let last = lines.pop().unwrap();
    (lines, last)
}

fn only(from: &str, to: &str) -> String {
    assert!(OLD.contains(from));
    let (lines, _) = compared(&OLD.replacen(from, to, 1), 1);
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines[0].clone()
}

#[test]
fn each_change_asks_for_its_part_of_the_version() {
    assert_eq!(
        compared(OLD, 0),
        (Vec::new(), "model_version 1.2.0 to 1.2.0: nothing has changed".to_owned())
    );
    for (from, to, line) in [
        ("float[4] scale)", "float[4] scale, bool c)", "MAJOR  b:2:48: input `c` is new, without a default"),
        ("float[N,4] x,", "double[N,4] x,", "MINOR  b:2:4: input `x` is double[N,4], and was float[N,4]"),
        ("float[N,4] x,", "int64[N,4] x,", "MAJOR  b:2:4: input `x` is int64[N,4], and was float[N,4]"),
        (
            "float[N,4] x,",
            "float[N,D] x,",
            "MINOR  b:2:4: input `x` takes more shapes: float[N,D], and it was float[N,4]",
        ),
        (
            "float[N,4] x,",
            "float[2,4] x,",
            "MAJOR  b:2:4: input `x` takes fewer shapes: float[2,4], and it was float[N,4]",
        ),
        (
            "float[N,4] z",
            "float[M,4] z",
            "MINOR  b:2:18: input `z` takes more shapes: float[M,4], and it was float[N,4]",
        ),
        (
            "float[N,4] y",
            "float[N,D] y",
            "MAJOR  b:2:52: output `y` gives more shapes: float[N,D], and it was float[N,4]",
        ),
        (
            "(float[N,4] y, int64[N] i)",
            "(int64[N] i, float[N,4] y)",
            "MAJOR  b:2:64: output `y` has another position",
        ),
        (", int64[N] i)", ")", "MAJOR  a:2:66: output `i` is gone"),
        ("int64[N] i)", "int64[N] i, float[N,4] t)", "MINOR  b:2:78: output `t` is new"),
        ("{1, 2, 3, 4}", "{1, 2, 3, 5}", "MINOR  b:2:32: input `scale` has another default"),
        ("\"\": 17", "\"\": 18", "MINOR  b:1:32: version 18 of ai.onnx is imported, and it was 17"),
        ("Add(x, z)", "Sub(x, z)", "PATCH  the interface has not changed, but the implementation has"),
    ] {
        assert_eq!(only(from, to), line);
    }
    // A renamed symbol ties the same axes.
    let (lines, _) = compared(&OLD.replace('N', "B"), 1);
    assert_eq!(lines, ["PATCH  the interface has not changed, but the implementation has"]);
}

#[test]
fn the_version_says_enough_or_not() {
    let wider = OLD.replace("float[N,4] x,", "float[N,D] x,");
    let at = |version: &str| wider.replace("281483566645248", version);
    assert_eq!(
        compared(&at("281483566645249"), 1).1,
        "model_version 1.2.0 to 1.2.1: this is a MINOR change: raise `model_version` to 1.3.0"
    );
    assert_eq!(
        compared(&at("281487861612544"), 0).1,
        "model_version 1.2.0 to 1.3.0: this is a MINOR change, and the version reflects it"
    );
    assert_eq!(
        compared(&at("7"), 1).1,
        "model_version 1.2.0 to 7: this is a MINOR change: raise `model_version` to 1.3.0"
    );
    // A negative number has a MAJOR of 32768 or more.
    assert_eq!(
        compared(&at("-4"), 0).1,
        "model_version 1.2.0 to 65535.65535.4294967292: this is a MINOR change, and the version reflects it"
    );
    let folder = Folder::new(&[("a", OLD.as_bytes()), ("c", b"float x = {1}")]);
    folder.run(&["semver", "a", "c"]).expect(2);
    folder.run(&["semver", "a", "missing"]).expect(2);
}

#[test]
fn json_and_binary_models() {
    let new = OLD.replace(", int64[N] i)", ")").replace("float[4] scale)", "float[4] scale, bool c)");
    let folder = Folder::new(&[("a.onnx", &binary(OLD)), ("b.onnxtxt", new.as_bytes())]);
    let done = folder.run(&["semver", "--json", "a.onnx", "b.onnxtxt"]).expect(1);
    let report: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!(
        (&report["needed"], &report["least"], &report["enough"]),
        (&"MAJOR".into(), &"2.0.0".into(), &false.into())
    );
    assert_eq!(report["differences"].as_array().unwrap().len(), 2);
    let moved = &report["differences"][1];
    assert!(moved["place"].as_str().unwrap().starts_with("a.onnx:") && moved["line"].is_number(), "{report}");
    // An internal change has no line, but a file.
    folder.write("c.onnxtxt", OLD.replace("Add", "Sub").as_bytes());
    let done = folder.run(&["semver", "--format", "json", "a.onnx", "c.onnxtxt"]).expect(1);
    let report: Value = serde_json::from_str(done.text()).unwrap();
    let inside = &report["differences"][0];
    assert_eq!((&inside["place"], &inside["file"]), (&"c.onnxtxt".into(), &"c.onnxtxt".into()));
    assert_eq!(inside.get("line"), None);
}

#[test]
fn operator_sets_are_compared_by_their_rules() {
    let set = "operator_set <ir_version: 10, domain: \"com.acme\", opset_version: 2>\n\
               <since_version: 2> operator Scale (T x, T scale) => (T y) where T: {float}\n";
    let wider = set.replace("T scale)", "T scale, T? bias)");
    let other = set.replace("T scale)", "T scale, T bias)");
    let grown = set.replace("opset_version: 2", "opset_version: 3")
        + "<since_version: 3> operator New (float x) => (float y)";
    let folder = Folder::new(&[("a", set.as_bytes()), ("m", OLD.as_bytes())]);
    folder.run(&["convert", "a", "-o", "a.onnx"]).expect(0);
    for (new, semver, diff, line) in [
        (set, 0, 0, "opset_version 2 to 2: nothing has changed"),
        (&wider, 0, 1, "new input `bias`, optional"),
        (
            &other,
            1,
            1,
            "b: operator `Scale` of version 2: new input `bias` (give it a `since_version` above 2)",
        ),
        (&grown, 0, 1, "operator `New` of version 3 is new"),
    ] {
        folder.write("b", new.as_bytes());
        for old in ["a", "a.onnx"] {
            let done = folder.run(&["semver", old, "b"]).expect(semver);
            assert!(done.text().contains(line), "{}", done.text());
            folder.run(&["diff", old, "b"]).expect(diff);
        }
        let json: Value =
            serde_json::from_str(folder.run(&["semver", "--json", "a", "b"]).expect(semver).text()).unwrap();
        assert_eq!(json["enough"], semver == 0);
    }
    folder.run(&["semver", "a", "m"]).expect(2);
    folder.run(&["diff", "m", "a"]).expect(2);
}

#[test]
fn versions_are_written_as_people_write_them() {
    let folder = Folder::new(&[("a", OLD.as_bytes())]);
    for (version, number) in [("3", 3), ("1.2.345", 0x0001_0002_0000_0159), ("32768.0.1", i64::MIN + 1)] {
        folder.run(&["set-metadata", "a", "--model-version", version, "-o", "b.onnxtxt"]).expect(0);
        assert_eq!(onnxtxt::open(folder.path("b.onnxtxt")).unwrap().model.header.model_version, Some(number));
        let info = folder.run(&["info", "b.onnxtxt"]).expect(0);
        assert!(info.text().contains(version), "{}", info.text());
        let done = folder.run(&["semver", "b.onnxtxt", "b.onnxtxt"]).expect(0);
        assert!(done.text().contains(&format!("{version} to {version}")), "{}", done.text());
    }
    for wrong in ["1.2", "0.0.3", "65536.0.0", "x", "1.2.3.4"] {
        folder.run(&["set-metadata", "a", "--model-version", wrong, "-o", "b.onnxtxt"]).expect(2);
    }
}
