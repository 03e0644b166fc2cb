//! Findings about every kind of file, in every form.

use crate::{Folder, MISTAKE, SOUND, UNDEFINED, binary};
use serde_json::Value;

#[test]
fn the_forms_of_findings() {
    let folder = Folder::new(&[("m.onnxtxt", MISTAKE.as_bytes())]);
    let found =
        |form: &str| folder.run(&["check", "--format", form, "m.onnxtxt"]).expect(1).text().to_owned();
    assert_eq!(found("short"), "m.onnxtxt:4:14: error[E0102]: missing `,` before `x`\n");
    assert!(found("github").starts_with("::error file=m.onnxtxt,line=4,col=14"));
    assert!(found("human").contains("[ m.onnxtxt:4:14 ]"));
    let json: Value = serde_json::from_str(&found("json")).unwrap();
    assert_eq!((&json["code"], &json["place"]["line"]), (&Value::from("E0102"), &Value::from(4)));
    assert_eq!(json["fixes"][0]["edits"][0]["text"], Value::from(","));
    let sarif: Value = serde_json::from_str(&found("sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], Value::from("E0102"));
}

#[test]
fn sarif_is_one_document_for_all_files_and_for_none() {
    let folder = Folder::new(&[("a.onnxtxt", MISTAKE.as_bytes()), ("b.onnxtxt", UNDEFINED.as_bytes())]);
    let done = folder.run(&["check", "--format", "sarif", "."]).expect(1);
    let sarif: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(2));
    folder.write("a.onnxtxt", SOUND.as_bytes());
    let done = folder.run(&["check", "--format", "sarif", "a.onnxtxt"]).expect(0);
    let sarif: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

#[test]
fn long_lists_are_left_out_around_a_finding_about_a_binary_model() {
    let many: Vec<String> = (0..100_000).map(|i| i.to_string()).collect();
    let [ints, floats, strings] = [", ", ".5, ", "\", \""].map(|between| many.join(between));
    let lists = format!("ints = [{ints}], floats = [{floats}.5], strings = [\"{strings}\"]");
    let text = UNDEFINED.replace("y = Relu", &format!("t = custom.Op <{lists}> (x)\n    y = Relu"));
    let folder = Folder::new(&[("m.onnx", &binary(&text))]);
    let done = folder.run(&["check", "--format", "short", "m.onnx"]).expect(1);
    let line = done.text().lines().find(|line| line.contains("imgae")).unwrap();
    let line: usize = line.split(':').nth(1).unwrap().parse().unwrap();
    let text = folder.run(&["print", "--no-metadata", "--elide", "4", "m.onnx"]).expect(0);
    assert!(text.text().len() < 1000 && text.text().contains("strings = [\"0\", \"1\", \"2\", \"3\", …]"));
    assert!(text.text().lines().nth(line - 1).unwrap().contains("imgae"), "{}", text.text());
}

#[test]
fn a_binary_model_is_shown_as_it_is_printed() {
    let folder = Folder::new(&[("m.onnx", &binary(UNDEFINED))]);
    let done = folder.run(&["check", "m.onnx"]).expect(1);
    assert!(done.text().contains("[ m.onnx, printed:"), "{}", done.text());
    assert!(done.text().contains("y = Relu(imgae)"), "{}", done.text());
    let short = folder.run(&["check", "--format", "short", "m.onnx"]).expect(1).text().to_owned();
    let line: usize = short.split(':').nth(1).unwrap().parse().unwrap();
    let text = folder.run(&["print", "--no-metadata", "m.onnx"]).expect(0);
    assert!(text.text().lines().nth(line - 1).unwrap().contains("imgae"));
}

#[test]
fn damaged_binary_files_say_at_which_byte() {
    let mut model = binary(SOUND);
    let length = model.len();
    model.truncate(length - 3);
    let folder = Folder::new(&[("m.onnx", &model)]);
    let done = folder.run(&["check", "m.onnx"]).expect(1);
    assert!(done.text().contains("error[E0301]") && done.text().contains("at byte"), "{}", done.text());
    let sizes = format!("truncated or corrupt: {length} bytes announced, {} bytes present", length - 3);
    assert!(done.text().contains(&sizes), "{}", done.text());
    // A field that is unknown: number 99.
    let mut model = binary(SOUND);
    model.extend([0x98, 0x06, 0x01]);
    folder.write("m.onnx", &model);
    let done = folder.run(&["check", "m.onnx"]).expect(0);
    assert!(done.text().contains("warning[W0306]: unknown field 99"), "{}", done.text());
}

#[test]
fn every_prefix_of_a_model_ends_with_a_finding_at_most() {
    let folder = Folder::new(&[]);
    let (model, text) = (binary(SOUND), SOUND.as_bytes().to_vec());
    for (name, content) in [("m.onnx", model), ("m.onnxtxt", text)] {
        for length in (0..content.len()).step_by(7) {
            folder.write(name, &content[..length]);
            let done = folder.run(&["check", name]);
            assert!((0..=1).contains(&done.code), "{name}, {length} bytes: {}", done.stderr);
        }
    }
}

#[test]
fn text_that_is_none_is_told() {
    let folder = Folder::new(&[("m.onnxtxt", b"g (float[N] x) => (float[N] y) { y = \"\xff\"(x) }")]);
    for command in ["check", "print", "fmt"] {
        let done = folder.run(&[command, "m.onnxtxt"]).expect(1);
        let reported = if command == "check" { done.text() } else { &done.stderr };
        assert!(reported.contains("error[E0119]: byte 38 is 0xff"), "{reported}");
    }
    folder.write("m.onnx", b"version https-git-lfs\noid sha256:0\nsize 5\n");
    let done = folder.run(&["info", "m.onnx"]).expect(1);
    assert!(done.stderr.contains("git lfs pull"), "{}", done.stderr);
    for (content, what) in [
        (
            &b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"[..],
            "this is a Git LFS pointer",
        ),
        (b"<!DOCTYPE html>\n<html></html>", "this is an HTML page"),
        (b"PK\x03\x04\x14\0\0\0archive/data.pkl", "this is a PyTorch file"),
        (b"\x1c\0\0\0TFL3\x14\0", "this is a TFLite model"),
        (b"\x80\x02}q\0.", "this is a Python pickle"),
    ] {
        folder.write("m.onnx", content);
        let done = folder.run(&["check", "--format", "short", "m.onnx"]).expect(1);
        assert!(done.text().contains(what), "{}", done.text());
        assert_eq!(done.text().matches("error[").count(), 1, "{}", done.text());
    }
    folder.write("m.json", b"{\"irVersion\": \"8\", \"graph\": }");
    let done = folder.run(&["check", "--format", "short", "m.json"]).expect(1);
    assert!(done.text().starts_with("m.json:1:2"), "{}", done.text());
}

#[test]
fn lines_of_20_megabytes_are_shown_in_part() {
    let long = SOUND.replace("t = Mul(x, w)", &format!("t = Mul(x, {})", "w".repeat(20 << 20)));
    let folder = Folder::new(&[("m.onnxtxt", long.as_bytes())]);
    let done = folder.run(&["check", "m.onnxtxt"]).expect(1);
    let longest = done.text().lines().map(|line| line.chars().count()).max();
    assert!(done.text().contains("E0203") && longest < Some(2_000), "{longest:?}");
}

/// A misspelt operand, which is likely meant, and a node out of order, which is certain.
const MENDABLE: &str = "<ir_version: 10, opset_import: [\"\": 21]>\n\
    g (float[N] image) => (float[N] y)\n{\n   y = Add(t, imgae)  # sum\n   t = Abs(image)\n}\n";

#[test]
fn findings_about_models_are_mended_in_their_text() {
    let folder = Folder::new(&[("m.onnxtxt", MENDABLE.as_bytes())]);
    let diff = folder.run(&["check", "--diff", "--unsafe-fixes", "m.onnxtxt"]).expect(1);
    assert!(diff.text().contains("+   y = Add(t, image)  # sum"), "{}", diff.text());
    assert_eq!(folder.read("m.onnxtxt"), MENDABLE.as_bytes());
    folder.run(&["check", "--fix", "m.onnxtxt"]).expect(1);
    let safe = MENDABLE.replace("   t = Abs(image)\n", "").replace("{\n", "{\n   t = Abs(image)\n");
    assert_eq!(String::from_utf8_lossy(&folder.read("m.onnxtxt")), safe);
    folder.run(&["check", "--fix", "--unsafe-fixes", "m.onnxtxt"]).expect(0);
    assert_eq!(String::from_utf8_lossy(&folder.read("m.onnxtxt")), safe.replace("imgae", "image"));
    folder.run(&["check", "--unsafe-fixes", "m.onnxtxt"]).expect(2);
}

#[test]
fn binary_models_say_that_fixes_are_for_text() {
    let folder = Folder::new(&[("m.onnx", &binary(MENDABLE))]);
    let before = folder.read("m.onnx");
    let done = folder.run(&["check", "--fix", "m.onnx"]).expect(1);
    assert!(done.stderr.contains("fixes apply only to models as text"), "{}", done.stderr);
    assert_eq!(folder.read("m.onnx"), before);
    let line = folder.run(&["check", "--format", "json", "m.onnx"]).expect(1).text().to_owned();
    let json: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(json["fixes"], serde_json::json!([]));
}

#[test]
fn fixes_have_byte_ranges_for_programs() {
    let folder = Folder::new(&[("m.onnxtxt", MENDABLE.as_bytes())]);
    let found =
        |form: &str| folder.run(&["check", "--format", form, "m.onnxtxt"]).expect(1).text().to_owned();
    let lines: Vec<Value> = found("json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fix = &lines[1]["fixes"][0];
    assert_eq!((&fix["title"], &fix["safe"]), (&Value::from("write `image`"), &Value::from(false)));
    let edit = &fix["edits"][0];
    let range = |key: &str| usize::try_from(edit[key].as_u64().unwrap()).unwrap();
    assert_eq!(&MENDABLE[range("start")..range("end")], "imgae");
    let sarif: Value = serde_json::from_str(&found("sarif")).unwrap();
    let change = &sarif["runs"][0]["results"][1]["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], Value::from("m.onnxtxt"));
    let replacement = &change["replacements"][0];
    assert_eq!(replacement["deletedRegion"]["byteOffset"], edit["start"]);
    assert_eq!(replacement["insertedContent"]["text"], Value::from("image"));
}

#[test]
fn findings_leave_out_what_they_do_not_have() {
    let folder = Folder::new(&[("m.onnxtxt", MENDABLE.as_bytes()), ("m.onnx", b"no model")]);
    for file in ["m.onnxtxt", "m.onnx"] {
        let done = folder.run(&["check", "--format", "json", file]).expect(1);
        assert!(done.text().lines().next().is_some() && !done.text().contains("null"), "{}", done.text());
    }
}

#[test]
fn what_a_profile_cannot_say_has_a_place() {
    let model = "#@ onnxtxt 1\n#@ configuration: [{name: \"c\", num_devices: 2}]\n\
        <ir_version: 11, opset_import: [\"\": 23]> g (float[N] x) => (float[N] y) { y = Relu(x) }\n";
    let folder = Folder::new(&[("m.onnxtxt", model.as_bytes())]);
    let done = folder.run(&["print", "--profile", "reference", "m.onnxtxt"]);
    assert!(done.stderr.contains("W0106") && done.stderr.contains("m.onnxtxt:3:1"), "{}", done.stderr);
}

#[test]
fn what_a_profile_cannot_say_is_reported_at_the_thing_itself() {
    let model = "#@ onnxtxt 1\n<ir_version: 11, opset_import: [\"\": 23]>\ng (float[N] x) => (\n    #@ doc_string: \"d\"\n    \
        float[N] y\n)\n<float[1] w = {1}>\n{\n    t = Relu(x)\n    #@ metadata_props: [\"k\": \"v\"]\n    y = Mul(t, w)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", model.as_bytes()), ("m.onnx", &binary(model))]);
    let done = folder.run(&["print", "--profile", "reference", "--format", "short", "m.onnxtxt"]);
    assert!(done.stderr.contains("m.onnxtxt:5:5: warning[W0106]"), "{}", done.stderr);
    assert!(done.stderr.contains("m.onnxtxt:11:5: warning[W0106]"), "{}", done.stderr);
    let done = folder.run(&["print", "--profile", "reference", "--format", "json", "m.onnx"]);
    let lines: Vec<Value> = done.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // One is about the domain of nodes, which texts leave out.
    let spots: Vec<_> = lines.iter().map(|line| (&line["place"]["line"], &line["place"]["column"])).collect();
    assert_eq!(spots, [(&3.into(), &20.into()), (&6.into(), &5.into()), (&7.into(), &5.into())], "{lines:?}");
}

/// Two nodes that give what they take, one of which is meant.
const IDLE: &str = "<ir_version: 10, opset_import: [\"\": 21], producer_name: \"a\", producer_version: \"1\", domain: \"org.example\">\n\
    g (float[N] x) => (float[N] y)\n{\n   t = Identity(x)  # onnxtxt: allow(no-op): a name for tools\n   \
    u = Identity(t)\n   y = Relu(u)\n}\n";

#[test]
fn lints_are_on_the_level_strict_in_every_form() {
    let folder = Folder::new(&[("m.onnxtxt", IDLE.as_bytes())]);
    assert_eq!(folder.run(&["check", "m.onnxtxt"]).expect(0).text(), "");
    let found = |form: &str| {
        folder.run(&["check", "--level", "strict", "--format", form, "m.onnxtxt"]).expect(0).text().to_owned()
    };
    let message = "this `Identity` has no effect: it only renames its input";
    assert_eq!(found("short"), format!("m.onnxtxt:5:8: warning[W1201]: {message}\n"));
    let github = "::warning file=m.onnxtxt,line=5,col=8,endColumn=16,title=W1201 no-op::";
    assert_eq!(found("github"), format!("{github}{message}\n"));
    let json: Value = serde_json::from_str(&found("json")).unwrap();
    let edits = json["fixes"][0]["edits"].as_array().unwrap();
    assert_eq!((&json["fixes"][0]["safe"], edits.len()), (&Value::from(true), 2));
    let sarif: Value = serde_json::from_str(&found("sarif")).unwrap();
    let replacements = &sarif["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"];
    assert_eq!(replacements.as_array().map(Vec::len), Some(2));
    folder.run(&["check", "--level", "strict", "--deny", "W1201", "m.onnxtxt"]).expect(1);
    folder.run(&["check", "--level", "strict", "--deny", "W1201", "--fix", "m.onnxtxt"]).expect(0);
    let fixed = IDLE.replace("   u = Identity(t)\n", "").replace("Relu(u)", "Relu(t)");
    assert_eq!(String::from_utf8_lossy(&folder.read("m.onnxtxt")), fixed);
}

#[test]
fn runtimes_refuse_what_they_do_not_take() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
        g (double[N] x) => (double[N] y)\n{\n    t = Acos(x)\n    y = Softplus(t)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes()), ("m.onnx", &binary(text))]);
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    for file in ["m.onnxtxt", "m.onnx"] {
        let found = folder.run(&["check", "--target", "ort,candle", "--format", "short", file]).expect(1);
        for message in [
            "error[E1022]: onnxruntime 1.31.1 on a CPU does not support `ai.onnx.Acos` with double as `input`",
            "error[E1022]: candle does not support `ai.onnx.Acos`",
            "error[E1022]: candle does not support `ai.onnx.Softplus`",
        ] {
            assert!(found.text().contains(message), "{}", found.text());
        }
        assert_eq!(found.text().lines().count(), 3, "{}", found.text());
    }
    let unknown = folder.run(&["check", "--target", "torch", "m.onnx"]).expect(2);
    assert!(unknown.stderr.contains("expected one of candle, ort, rten, tract"), "{}", unknown.stderr);
}

/// A warning whose mistake a runtime refuses is said once.
#[test]
fn names_that_a_runtime_refuses_are_one_finding() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[N] x) => (float[N] y) { [n] t = Abs(x)  [n] y = Neg(t) }";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    for (target, code, id) in [("ort", 1, "E1022"), ("ort,candle", 1, "E1022"), ("candle", 0, "W0234")] {
        let found = folder.run(&["check", "--target", target, "--format", "short", "m.onnxtxt"]).expect(code);
        let found: Vec<&str> = found.text().lines().collect();
        assert!(found.len() == 1 && found[0].contains(id), "{target}: {found:?}");
    }
}

#[test]
fn findings_are_on_stdout_and_how_many_there_are_is_on_stderr() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes()), ("s.onnxtxt", SOUND.as_bytes())]);
    for form in ["human", "short", "json", "sarif", "github"] {
        let done = folder.run(&["check", "--format", form, "m.onnxtxt", "s.onnxtxt"]).expect(1);
        assert!(done.text().contains("E0203"), "{form}: {}", done.text());
        assert_eq!(done.stderr, "1 error in 2 files\n", "{form}");
        let quiet = folder.run(&["check", "-q", "--format", form, "m.onnxtxt"]).expect(1);
        assert!(quiet.text().contains("E0203") && quiet.stderr.is_empty(), "{form}");
    }
    assert_eq!(folder.run(&["check", "s.onnxtxt"]).expect(0).stderr, "no findings in 1 file\n");
    // A fixed text on stdin goes to stdout, so findings do not.
    let fixed = folder.run_with(&["check", "--fix", "--unsafe-fixes", "-"], MISTAKE.as_bytes()).expect(0);
    assert!(fixed.text().contains("Add(x, x)"), "{}", fixed.text());
}

#[test]
fn files_that_cannot_be_read_are_findings() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes())]);
    let found = |form: &str| {
        folder.run(&["check", "--format", form, "none.onnx", "m.onnxtxt"]).expect(2).text().to_owned()
    };
    let json: Vec<Value> = found("json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&json[0]["code"], &json[0]["file"]), (&Value::from("E0131"), &Value::from("none.onnx")));
    assert_eq!(json[1]["code"], Value::from("E0203"));
    let sarif: Value = serde_json::from_str(&found("sarif")).unwrap();
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], Value::from("E0131"));
    assert!(found("github").starts_with("::error file=none.onnx,title=E0131 file-unreadable::cannot read"));
    assert!(found("human").contains("error[E0131]: cannot read none.onnx"));
}

#[test]
fn files_that_cannot_be_read_are_findings_of_every_command() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    for command in [
        &["info", "none.onnx"][..],
        &["print", "none.onnx"],
        &["fmt", "none.onnx"],
        &["convert", "none.onnx", "-o", "o.onnx"],
        &["infer", "none.onnx"],
        &["inline", "none.onnx"],
        &["pass", "dead-code", "none.onnx"],
        &["run", "none.onnx"],
        &["run", "m.onnxtxt", "-i", "x=none.onnx"],
        &["run", "m.onnxtxt", "-i", "none.onnx"],
        &["bench", "none.onnx"],
        &["lower", "none.onnx"],
        &["verify", "none.onnx", "m.onnxtxt"],
        &["compare", "none.onnx", "ort"],
        // Before anything is run, or a size of an input is asked for.
        &["compare", "m.onnxtxt", "none.onnx"],
        &["verify", "m.onnxtxt", "none.onnx"],
        &["semver", "m.onnxtxt", "none.onnx"],
        &["check", "m.onnxtxt", "--opset", "none.onnx"],
    ] {
        // Where findings are the result, they are on stdout.
        let found = |form: &str| folder.run(&[command, &["--format", form]].concat()).expect(2).said();
        let json = found("json");
        let line = json.lines().next().unwrap();
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{command:?}: {json}"));
        assert_eq!((&line["code"], &line["file"]), (&"E0131".into(), &"none.onnx".into()), "{command:?}");
        let sarif: Value = serde_json::from_str(&found("sarif")).unwrap();
        let result = &sarif["runs"][0]["results"][0];
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert_eq!((&result["ruleId"], place), (&"E0131".into(), &"none.onnx".into()), "{command:?}");
        assert!(found("github").starts_with("::error file=none.onnx,title=E0131"), "{command:?}");
        assert!(found("human").starts_with("error: cannot read none.onnx"), "{command:?}");
    }
    let folders = folder.run(&["print", ".", "--format", "short"]).expect(2);
    assert_eq!(folders.stderr, ".: error[E0131]: . is a folder\n");
}

#[test]
fn stdin_is_read_once() {
    let folder = Folder::new(&[]);
    let done = folder.run_with(&["check", "-", "-", "--format", "short"], SOUND.as_bytes()).expect(2);
    let message = "stdin can be read only once, but `-` is given twice";
    assert_eq!(done.text(), format!("<stdin>: error[E0131]: {message}\n"));
    let done = folder.run_with(&["semver", "-", "-"], SOUND.as_bytes()).expect(2);
    assert_eq!(done.stderr, format!("error: {message}\n"));
}

#[test]
fn what_is_not_shown_is_counted() {
    let nodes: String = (0..150).map(|i| format!("    t{i} = Add(u{i}, x)\n")).collect();
    let text = SOUND.replace("    t = Mul", &format!("{nodes}    t = Mul"));
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let done = folder.run(&["check", "--format", "short", "m.onnxtxt"]).expect(1);
    assert_eq!((done.text().lines().count(), &done.stderr[..]), (101, "150 errors in 1 file\n"));
    // The end of the output.
    let last = done.text().lines().last().unwrap();
    assert_eq!(last, "m.onnxtxt:105:16: error[E0203]: 50 more findings of this kind");
    let info = folder.run(&["info", "m.onnxtxt"]).expect(0);
    assert!(info.text().contains("problems    150 errors"), "{}", info.text());
}

#[test]
fn findings_of_binary_models_with_packed_elements_have_places() {
    let elements: Vec<String> = (0..16).map(|i| (i % 8).to_string()).collect();
    let packed = format!("<int4[16] p = {{{{{}}}}}, float[2] w", elements.join(", "));
    let text = SOUND.replace("<float[2] w", &packed).replace("Relu(t)", "Relu(q)");
    let folder = Folder::new(&[("m.onnx", &binary(&text))]);
    let done = folder.run(&["check", "m.onnx", "--format", "short"]).expect(1);
    assert!(done.text().starts_with("m.onnx:"), "{}", done.text());
    let line = done.text().lines().find(|line| line.contains("E0203")).unwrap();
    let place: Vec<&str> = line.split(": ").next().unwrap().split(':').collect();
    assert_eq!(place.len(), 3, "{line}");
}

#[test]
fn noisy_lints_are_counted() {
    let nodes: String = (0..20).map(|i| format!("    \"t {i}\" = Identity(x)\n")).collect();
    let text = SOUND.replace("    t = Mul", &format!("{nodes}    t = Mul"));
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let strict = |more: &[&str]| {
        let all = [&["check", "--level", "strict", "--format", "short", "m.onnxtxt"], more].concat();
        folder.run(&all).expect(0)
    };
    let done = strict(&[]);
    let noisy: Vec<&str> = done.text().lines().filter(|line| line.contains("[W1201]")).collect();
    assert_eq!(noisy.len(), 1, "{}", done.text());
    assert!(
        noisy[0].starts_with("m.onnxtxt:5:") && noisy[0].contains("20 findings, the first one:"),
        "{}",
        noisy[0]
    );
    assert_eq!(strict(&["--select", "W1201"]).text().lines().count(), 20);
    assert!(strict(&["-v"]).text().lines().filter(|line| line.contains("[W1201]")).count() == 20);
    let json = folder.run(&["check", "--level", "strict", "--format", "json", "m.onnxtxt"]).expect(0);
    assert_eq!(json.text().lines().filter(|line| line.contains("W1201")).count(), 20);
    let many: String = (0..200).map(|i| format!("    \"t {i}\" = Identity(x)\n")).collect();
    folder.write("m.onnxtxt", SOUND.replace("    t = Mul", &format!("{many}    t = Mul")).as_bytes());
    assert!(strict(&[]).text().contains("200 findings, the first one:"), "{}", strict(&[]).text());
}

#[test]
fn a_folder_without_models_is_an_error() {
    let folder = Folder::new(&[("notes.md", b"x")]);
    let done = folder.run(&["check", "."]);
    assert_eq!(done.code, 2, "{}", done.stderr);
    assert!(done.stderr.contains("folder . contains no models"), "{}", done.stderr);
    let done = folder.run(&["check", ".", "--format", "json"]).expect(2);
    let found: Value = serde_json::from_str(done.text()).unwrap();
    assert_eq!((&found["code"], &found["file"]), (&"E0131".into(), &".".into()));
}

#[test]
fn what_the_reference_rejects_is_reported_where_it_is_asked_for() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y)\n<float16[2] w = {0.5, 1.5}>\n{\n    \
                t = Cast <to = 10> (x) // to half\n    u = Mul(t, w)\n    y = Cast <to = 1> (u)\n}\n";
    let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
    let plain = folder.run(&["check", "--format", "short", "m.onnxtxt"]).expect(0);
    assert_eq!(plain.text().matches("W0132").count(), 1, "{}", plain.text());
    let strict = folder.run(&["check", "--format", "short", "--profile", "reference", "m.onnxtxt"]).expect(0);
    assert_eq!(strict.text().matches("W0132").count(), 2, "{}", strict.text());
    assert!(strict.text().contains("m.onnxtxt:3:17: warning[W0132]"), "{}", strict.text());
    folder.run(&["check", "--profile", "reference", "--deny", "warnings", "m.onnxtxt"]).expect(1);
    // Text that is printed for the reference has none.
    let printed = folder.run(&["print", "--profile", "reference", "m.onnxtxt"]).expect(0);
    folder.write("plain.onnxtxt", printed.text().as_bytes());
    let after = folder.run(&["check", "--profile", "reference", "--deny", "warnings", "plain.onnxtxt"]);
    assert_eq!(after.code, 0, "{}{}", after.text(), after.stderr);
}
