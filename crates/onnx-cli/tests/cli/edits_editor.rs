//! Edits in an editor: edit.
#![cfg(unix)]

use crate::{Done, Folder, SOUND, binary, weighty};
use std::process::Stdio;

/// Runs `edit` with an editor that is a command.
fn edit(folder: &Folder, editor: &str, arguments: &[&str]) -> Done {
    let mut command = folder.command(&[&["edit"][..], arguments].concat());
    command.env_remove("VISUAL").env("EDITOR", editor).stdin(Stdio::null());
    Done::of(command.output().unwrap())
}

#[test]
fn models_of_every_form_are_edited_as_text() {
    let folder =
        Folder::new(&[("m.onnx", &binary(SOUND)), ("m.onnxtxt", format!("# mine\n{SOUND}").as_bytes())]);
    folder.run(&["convert", "m.onnx", "-o", "m.json"]).expect(0);
    for file in ["m.onnx", "m.json", "m.onnxtxt"] {
        let done = edit(&folder, "sed -i s/Relu/Sigmoid/", &[file]).expect(0);
        assert!(done.stderr.contains(&format!("{file} written")), "{}", done.stderr);
        let text = folder.run(&["print", file]).expect(0);
        assert!(text.text().contains("y = Sigmoid(t)"), "{}", text.text());
    }
    // A text is what the editor wrote.
    let text = format!("# mine\n{}", SOUND.replace("Relu", "Sigmoid"));
    assert_eq!(String::from_utf8(folder.read("m.onnxtxt")).unwrap(), text);
    let before = folder.read("m.onnx");
    let done = edit(&folder, "true", &["m.onnx"]).expect(0);
    assert!(done.stderr.contains("nothing changed"), "{}", done.stderr);
    let done = edit(&folder, "sed -i s/Sigmoid/Tanh/", &["m.onnx", "--dry-run"]).expect(0);
    assert!(done.text().contains("+    y = Tanh(t)"), "{}", done.text());
    assert_eq!(folder.read("m.onnx"), before);
    let done =
        edit(&folder, "sed -i s/Sigmoid/Tanh/", &["m.onnx", "--print-diff", "-o", "new.onnxtxt"]).expect(0);
    assert!(done.text().contains("-    y = Sigmoid(t)"), "{}", done.text());
    assert!(String::from_utf8(folder.read("new.onnxtxt")).unwrap().contains("Tanh"));
    assert_eq!(folder.read("m.onnx"), before);
}

#[test]
fn weights_stay_where_they_are() {
    let text = weighty(0, 100);
    let folder = Folder::new(&[("m.onnx", &binary(&text))]);
    let before = folder.read("m.onnx");
    let look = "sh -c 'grep kept-0 \"$0\" >seen; sed -i s/Relu/Tanh/ \"$0\"'";
    edit(&folder, look, &["m.onnx"]).expect(0);
    assert_eq!(
        String::from_utf8(folder.read("seen")).unwrap().trim(),
        r#"float[100] big = ["location": "kept-0"]"#
    );
    // Only the operator differs.
    let after = folder.read("m.onnx");
    assert_eq!(after.len(), before.len());
    assert_eq!(after.iter().zip(&before).filter(|(a, b)| a != b).count(), 4);
    let done = edit(&folder, "sed -i 's/float.100. big/float[50] big/'", &["m.onnx"]).expect(1);
    assert!(done.stderr.contains("keep its type"), "{}", done.stderr);
    // Weights beside the model stay beside it.
    folder.run(&["convert", "m.onnx", "-o", "w.onnx", "--weights", "files"]).expect(0);
    folder.run(&["convert", "m.onnx", "-o", "t.onnxtxt", "--weights", "sidecar"]).expect(0);
    for file in ["w.onnx", "t.onnxtxt"] {
        edit(&folder, "sed -i s/Tanh/Relu/", &[file]).expect(0);
        let done = folder.run(&["run", file, "--random", "-D", "N=2"]).expect(0);
        assert!(done.text().contains('y'), "{}", done.text());
    }
}

#[test]
fn an_edit_with_errors_leaves_the_model_and_keeps_the_text() {
    let folder = Folder::new(&[("m.onnx", &binary(SOUND)), ("m.onnxtxt", SOUND.as_bytes())]);
    let before = folder.read("m.onnx");
    for (file, editor) in
        [("m.onnx", "sed -i 's/Relu(t)/Relu(nothing)/'"), ("m.onnxtxt", "sed -i 's/Relu(t/Relu(/'")]
    {
        let done = edit(&folder, editor, &[file]).expect(1);
        assert!(done.stderr.contains("error[") && done.stderr.contains("stays as it is"), "{}", done.stderr);
        let kept = done.stderr.split("the edited text is in ").nth(1).unwrap().trim();
        assert!(std::fs::read_to_string(kept).unwrap().contains("Relu("));
        std::fs::remove_dir_all(std::path::Path::new(kept).parent().unwrap()).unwrap();
    }
    assert_eq!(folder.read("m.onnx"), before);
    assert_eq!(folder.read("m.onnxtxt"), SOUND.as_bytes());
    let done = edit(&folder, "false", &["m.onnx"]).expect(2);
    assert!(done.stderr.contains("the editor `false` failed"), "{}", done.stderr);
    folder.run(&["edit", "-"]).expect(2);
}
