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

/// The text of the user is still there if anything goes wrong after the editor is closed, and only the user can read it.
#[test]
fn an_edited_text_is_never_lost() {
    use std::os::unix::fs::PermissionsExt as _;
    for (file, editor, code, why) in [
        ("m.onnxtxt", "sh -c 'printf \"# mine \\377\\n\" >>\"$0\"'", 1, "not UTF-8"),
        ("m.onnx", "sh -c 'printf \"# mine \\377\\n\" >>\"$0\"'", 1, "not UTF-8"),
        ("m.onnx", "sh -c 'echo \"# mine\" >>\"$0\"; exit 3'", 2, "failed (exit status: 3)"),
        ("m.onnxtxt", "sh -c 'echo \"# mine\" >>\"$0\"; kill -KILL $$'", 2, "failed"),
        ("m.onnxtxt", "sh -c 'echo \"# mine\" >>\"$0\"; chmod 400 m.onnxtxt'", 2, "is read-only"),
        (
            "m.onnxtxt",
            "sh -c 'echo \"# mine\" >>\"$0\"; touch -d 2001-01-01 m.onnxtxt'",
            2,
            "changed meanwhile",
        ),
        (
            "m.onnx",
            "sh -c 'sed -i s/Relu/Tanh/ \"$0\"; echo \"# mine\" >>\"$0\"; chmod 400 m.onnx'",
            2,
            "is read-only",
        ),
    ] {
        let folder = Folder::new(&[("m.onnx", &binary(SOUND)), ("m.onnxtxt", SOUND.as_bytes())]);
        let before = folder.read(file);
        let done = edit(&folder, editor, &[file]).expect(code);
        assert!(done.stderr.contains(why), "{editor}: {}", done.stderr);
        assert_eq!(folder.read(file), before, "{editor}");
        let kept = done.stderr.split("the edited text is in ").nth(1);
        let kept = kept.unwrap_or_else(|| panic!("{editor}: {}", done.stderr)).lines().next().unwrap();
        let content = std::fs::read(kept).unwrap();
        assert!(content.windows(6).any(|bytes| bytes == b"# mine"), "{editor}");
        let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let kept = std::path::Path::new(kept);
        assert_eq!((mode(kept), mode(kept.parent().unwrap())), (0o600, 0o700), "{editor}");
        std::fs::remove_dir_all(kept.parent().unwrap()).unwrap();
    }
    // An editor that fails without a change leaves nothing.
    let folder = Folder::new(&[("m.onnx", &binary(SOUND))]);
    let done = edit(&folder, "false", &["m.onnx"]).expect(2);
    assert!(!done.stderr.contains("the edited text"), "{}", done.stderr);
}

#[test]
fn a_private_model_stays_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new(&[("m.onnx", &binary(SOUND)), ("m.onnxtxt", SOUND.as_bytes())]);
    let mode = |name: &str| folder.path(name).metadata().unwrap().permissions().mode() & 0o777;
    for file in ["m.onnx", "m.onnxtxt"] {
        std::fs::set_permissions(folder.path(file), std::fs::Permissions::from_mode(0o600)).unwrap();
        let editor = "sh -c 'stat -c %a \"$0\" \"$(dirname \"$0\")\" >seen; sed -i s/Relu/Tanh/ \"$0\"'";
        edit(&folder, editor, &[file]).expect(0);
        assert_eq!(String::from_utf8(folder.read("seen")).unwrap(), "600\n700\n");
        edit(&folder, "sed -i s/Tanh/Relu/", &[file, "-o", "new.onnx"]).expect(0);
        assert_eq!((mode(file), mode("new.onnx")), (0o600, 0o600));
        std::fs::remove_file(folder.path("new.onnx")).unwrap();
    }
}
