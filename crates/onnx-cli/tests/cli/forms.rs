//! Between the forms and back.

use crate::{Folder, SOUND, binary, long_model};

#[test]
fn every_form_comes_back_byte_for_byte() {
    let model = binary(SOUND);
    let folder = Folder::new(&[("m.onnx", &model)]);
    for name in ["m.onnxtxt", "m.onnxtext", "m.json", "m.txtpb", "m.textproto", "m.pb"] {
        folder.run(&["convert", "m.onnx", "-o", name]).expect(0);
        folder.run(&["convert", name, "-o", "back.onnx"]).expect(0);
        assert!(folder.read("back.onnx") == model, "{name}");
    }
}

#[test]
fn fields_that_the_format_does_not_know_are_not_dropped_in_passing() {
    let mut model = binary(SOUND);
    let sound = model.clone();
    model.extend([0x98, 0x06, 0x01]); // field 99 of the model, a number
    let folder = Folder::new(&[("m.onnx", &model)]);
    let refused = folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt"]).expect(1);
    assert!(refused.stderr.contains("error[W0306]: unknown field 99 of `ModelProto`"), "{}", refused.stderr);
    assert_eq!(folder.names(), ["m.onnx"]);
    folder.run(&["convert", "--drop-unknown", "m.onnx", "-o", "m.onnxtxt"]).expect(0);
    folder.run(&["convert", "m.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == sound);
}

#[test]
fn content_says_what_a_file_is() {
    let folder = Folder::new(&[("text.onnx", SOUND.as_bytes()), ("binary.onnxtxt", &binary(SOUND))]);
    let text = folder.run(&["print", "text.onnx"]).expect(0);
    let binary = folder.run(&["info", "binary.onnxtxt"]).expect(0);
    assert!(text.text().contains("Relu(t)") && binary.text().contains("model as binary"));
}

#[test]
fn large_weights_go_beside_a_text_and_come_back() {
    let numbers = (0..10_000).map(|number| format!("{number}.5")).collect::<Vec<_>>().join(", ");
    let large = SOUND.replace("w = {1, 2}", &format!("w = {{1, 2}}, float[10000] big = {{{numbers}}}"));
    let model = binary(&large);
    let folder = Folder::new(&[("m.onnx", &model)]);
    folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt"]).expect(0);
    assert_eq!(folder.names(), ["m.onnx", "m.onnxtxt", "m.onnxtxt.data"]);
    assert!(folder.read("m.onnxtxt").len() < 1_000);
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    folder.run(&["convert", "m.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == model);
    // To another text, which gets a file of its own.
    folder.run(&["convert", "m.onnxtxt", "-o", "other.onnxtxt"]).expect(0);
    folder.run(&["convert", "other.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == model && folder.names().contains(&"other.onnxtxt.data".to_owned()));
    // Inline.
    folder.run(&["convert", "m.onnxtxt", "-o", "inline.onnxtxt", "--weights", "inline"]).expect(0);
    assert!(folder.read("inline.onnxtxt").len() > 50_000);
    folder.run(&["convert", "inline.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == model);
    // Standard output has nothing beside it.
    let out = folder.run(&["convert", "m.onnx", "-o", "-", "--to", "text"]).expect(0);
    assert!(out.text().contains("9999.5"));
    folder.run(&["convert", "m.onnx", "-o", "-", "--to", "text", "--weights", "sidecar"]).expect(2);
}

#[test]
fn binary_models_with_external_data_are_joined_and_split() {
    let numbers = (0..10_000).map(|number| format!("{number}.5")).collect::<Vec<_>>().join(", ");
    let two = format!("w = {{1, 2}}, float[10000] big = {{{numbers}}}, float[10000] more = {{{numbers}}}");
    let model = binary(&SOUND.replace("w = {1, 2}", &two));
    let folder = Folder::new(&[("m.onnx", &model)]);
    folder.run(&["convert", "m.onnx", "-o", "one.onnx", "--weights", "sidecar"]).expect(0);
    assert_eq!(folder.read("one.onnx.data").len(), 40_960 + 40_000);
    // Runtimes refuse entries that they do not know.
    assert!(!folder.read("one.onnx").windows(7).any(|word| word == b"onnxtxt"));
    folder.run(&["convert", "one.onnx", "-o", "many.onnx", "--weights", "files"]).expect(0);
    assert_eq!(std::fs::read_dir(folder.path("many.onnx.weights")).unwrap().count(), 2);
    for split in ["one.onnx", "many.onnx"] {
        folder.run(&["check", "--level", "strict", split]).expect(0);
        folder.run(&["convert", split, "-o", "back.onnx", "--weights", "inline"]).expect(0);
        // These tensors, now in raw_data.
        let text = folder.run(&["print", "--profile", "reference", "back.onnx"]).expect(0);
        assert!(text.stdout == folder.run(&["print", "--profile", "reference", "m.onnx"]).expect(0).stdout);
    }
    // A text of an external model stays external.
    folder.run(&["convert", "one.onnx", "-o", "one.onnxtxt"]).expect(0);
    folder.run(&["convert", "one.onnxtxt", "-o", "again.onnx"]).expect(0);
    assert!(folder.read("again.onnx") == folder.read("one.onnx"));
}

#[test]
fn values_in_files_of_their_own_have_every_form() {
    // TensorProto: dims [1], data_type FLOAT, name x, raw_data.
    let tensor = b"\x08\x01\x10\x01\x42\x01x\x4a\x04\0\0\x80\x3f";
    let folder = Folder::new(&[("input_0.pb", tensor)]);
    let info = folder.run(&["info", "input_0.pb"]).expect(0);
    assert!(info.text().contains("float[1] x = {1}"), "{}", info.text());
    let json = folder.run(&["convert", "input_0.pb", "-o", "-", "--to", "json"]).expect(0);
    assert!(json.text().contains("\"dataType\": 1"), "{}", json.text());
    for name in ["x.onnxtxt", "x.json", "x.txtpb"] {
        folder.run(&["convert", "input_0.pb", "-o", name]).expect(0);
        folder.run(&["check", name]).expect(0);
        folder.run(&["convert", name, "-o", "back.pb"]).expect(0);
        assert_eq!(folder.read("back.pb"), tensor, "{name}");
    }
    let text = folder.run(&["print", "input_0.pb"]).expect(0);
    assert_eq!(text.stdout, folder.read("x.onnxtxt"));
    folder.run(&["fmt", "--check", "x.onnxtxt"]).expect(0);
    folder.write("x.onnxtxt", b"float[1] x = {1, 2}");
    let found = folder.run(&["check", "--format", "short", "x.onnxtxt"]).expect(1);
    assert!(found.text().starts_with("x.onnxtxt:1:14: error[E0114]"), "{}", found.text());
    // A value that does not hold what it says, as text and as bytes.
    folder.write("s.onnxtxt", b"seq(seq) s = [\n    seq(tensor) [float[9] {1, 2, 3, 4, 5, 6, 7, 8, 9}],\n    seq(map) t = [float {1}]\n]\n");
    folder.run(&["convert", "s.onnxtxt", "-o", "s.pb"]).expect(0);
    for (name, place) in [("s.onnxtxt", "3:5"), ("s.pb", "1:55")] {
        let found = folder.run(&["check", "--format", "short", name]).expect(1);
        let message = "error[E0711]: `t` is a sequence of `map`, but holds a `tensor`";
        assert_eq!(found.text().trim_end(), format!("{name}:{place}: {message}"));
        folder.run(&["check", "--level", "syntax", name]).expect(0);
    }
}

#[test]
fn a_long_model_is_read_and_written() {
    let text = long_model(20_000);
    let model = binary(&text);
    let folder = Folder::new(&[("m.onnx", &model)]);
    folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt"]).expect(0);
    folder.run(&["convert", "m.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == model);
}

#[test]
fn results_are_json_where_it_is_asked_for() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    for arguments in [
        &["info", "m.onnxtxt"][..],
        &["ops", "Relu"],
        &["ops"],
        &["infer", "m.onnxtxt"],
        &["infer", "m.onnxtxt", "--why", "y"],
        &["bench", "m.onnxtxt", "-D", "N=2", "--runs", "1"],
        &["lower", "m.onnxtxt", "-D", "N=2", "--emit", "stats"],
        &["verify", "m.onnxtxt", "m.onnxtxt", "-D", "N=2"],
        &["compare", "m.onnxtxt", "m.onnxtxt", "-D", "N=2"],
        &["semver", "m.onnxtxt", "m.onnxtxt"],
        &["diff", "m.onnxtxt", "m.onnxtxt"],
        &["explain", "E0203"],
        &["explain", "Relu"],
        &["explain", "--list"],
        &["limits"],
        &["pass", "--list"],
    ] {
        let done = folder.run(&[arguments, &["--format", "json"]].concat()).expect(0);
        let json: Result<serde_json::Value, _> = serde_json::from_str(done.text());
        assert!(json.is_ok_and(|json| !json.is_null()), "{arguments:?}: {}", done.text());
    }
    folder.write("w.onnxtxt", SOUND.replace("    t", " t").as_bytes());
    folder.write("old.onnxtxt", SOUND.replace("21", "12").as_bytes());
    let plan =
        folder.run(&["pass", "--plan", "convert-opset=21", "old.onnxtxt", "--format", "json"]).expect(0);
    for line in plan.text().lines() {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(step["pass"], "convert-opset");
    }
    let unformatted = folder.run(&["fmt", "--check", "w.onnxtxt", "--format", "json"]).expect(1);
    let unformatted: serde_json::Value = serde_json::from_str(unformatted.text()).unwrap();
    assert_eq!(unformatted, serde_json::json!({ "file": "w.onnxtxt", "formatted": false }));
    let info = folder.run(&["info", "--format", "json", "m.onnxtxt"]).expect(0);
    let info: serde_json::Value = serde_json::from_str(info.text()).unwrap();
    assert_eq!((&info["inputs"][0]["shape"][0], &info["weights"]["parameters"]), (&"N".into(), &2.into()));
}

#[test]
fn a_file_is_converted_in_place() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    folder.run(&["convert", "m.onnxtxt", "--in-place"]).expect(0);
    assert_eq!(folder.read("m.onnxtxt"), SOUND.as_bytes());
    folder.run(&["convert", "m.onnxtxt", "--in-place", "--to", "json"]).expect(0);
    assert!(folder.read("m.onnxtxt").starts_with(b"{"));
    assert!(
        folder.run_with(&["convert", "-", "--in-place"], SOUND.as_bytes()).expect(2).stderr.contains("-o")
    );
}

#[test]
fn a_text_for_readers_that_join_lines_is_noted_and_can_be_written() {
    let model = "#@ onnxtxt 1\n<ir_version: 10, opset_import: [\"\": 21]>\n## says more\ng (float[2] x) => (float[2] y)\n{\n    y = Relu(x)\n}\n";
    let folder = Folder::new(&[("m.onnx", &binary(model))]);
    let done = folder.run(&["convert", "m.onnx", "-o", "m.onnxtext"]).expect(0);
    assert_eq!(done.stderr.matches("join the lines").count(), 1, "{}", done.stderr);
    folder.run(&["convert", "m.onnxtext", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == folder.read("m.onnx"));
    let plain =
        folder.run(&["convert", "m.onnx", "--profile", "reference", "-o", "plain.onnxtext"]).expect(0);
    assert!(!plain.stderr.contains("join the lines"), "{}", plain.stderr);
    let text = String::from_utf8(folder.read("plain.onnxtext")).unwrap();
    assert!(!text.contains('#'), "{text}");
    // As such a reader sees it.
    folder.write("joined.onnxtxt", text.replace('\n', " ").as_bytes());
    folder.run(&["check", "joined.onnxtxt"]).expect(0);
    let done = folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt"]).expect(0);
    assert!(!done.stderr.contains("join the lines"), "{}", done.stderr);
}
