//! Exit codes, and what each command does.

use crate::{Folder, MISTAKE, SOUND, UNDEFINED, binary};

#[test]
fn exit_codes_are_0_done_1_findings_2_usage() {
    let folder = Folder::new(&[
        ("sound.onnxtxt", SOUND.as_bytes()),
        ("undefined.onnxtxt", UNDEFINED.as_bytes()),
        ("mistake.onnxtxt", MISTAKE.as_bytes()),
        ("broken.onnx", b"\x08\x0a\x3a\x7f"),
    ]);
    for (code, arguments) in [
        (0, &["check", "sound.onnxtxt"][..]),
        (1, &["check", "undefined.onnxtxt"]),
        (1, &["check", "sound.onnxtxt", "mistake.onnxtxt"]),
        (1, &["check", "broken.onnx"]),
        (2, &["check", "none.onnx"]),
        (2, &["check", "sound.onnxtxt", "--select", "E9999"]),
        (0, &["info", "undefined.onnxtxt"]),
        (1, &["info", "broken.onnx"]),
        (0, &["print", "undefined.onnxtxt"]),
        (1, &["print", "mistake.onnxtxt"]),
        (2, &["print", "."]),
        (1, &["print"]),
        (2, &["prnt", "sound.onnxtxt"]),
        (2, &["print", "--elide", "x", "sound.onnxtxt"]),
        (0, &["fmt", "--check", "sound.onnxtxt"]),
        (1, &["fmt", "--check", "mistake.onnxtxt"]),
        (0, &["convert", "undefined.onnxtxt", "-o", "undefined.onnx"]),
        (1, &["convert", "mistake.onnxtxt", "-o", "mistake.onnx"]),
        (2, &["convert", "sound.onnxtxt", "-o", "sound.xyz"]),
        (2, &["convert", "sound.onnxtxt", "-o", "none/sound.onnx"]),
        (2, &["convert", "sound.onnxtxt"]),
        (0, &["explain", "E0203"]),
        (2, &["explain", "E9999"]),
        (0, &["limits"]),
        (2, &["cache", "--unused-for", "7d"]),
        (2, &["cache", "--clean", "--unused-for", "7"]),
        (0, &["man"]),
        (0, &["man", "convert"]),
        (2, &["man", "nothing"]),
        (0, &["completions", "bash"]),
        (0, &["--help"]),
        (0, &["--version"]),
        (0, &[]),
    ] {
        let done = folder.run(arguments);
        assert_eq!(done.code, code, "{arguments:?}: {}", done.stderr);
    }
    // An unreadable part is not written.
    assert!(!folder.names().iter().any(|name| name == "mistake.onnx"));
}

#[test]
fn help_of_every_command_ends_with_examples() {
    let folder = Folder::new(&[]);
    for command in
        ["info", "print", "convert", "fmt", "check", "explain", "completions", "man", "limits", "cache"]
    {
        let help = folder.run(&[command, "--help"]).expect(0);
        let (_, examples) = help.text().split_once("\nExample").unwrap_or_else(|| panic!("{command}"));
        assert!(examples.contains(&format!("onnxtxt {command}")), "{command}: {examples}");
    }
}

#[test]
fn info_is_one_screen() {
    let folder = Folder::new(&[("m.onnx", &binary(SOUND))]);
    let info = folder.run(&["info", "m.onnx"]).expect(0);
    assert!(info.text().lines().count() < 24);
    for part in
        ["ai.onnx 21", "float[N] x", "float[N] y", "Mul 1, Relu 1", "2 parameters", "problems    none"]
    {
        assert!(info.text().contains(part), "{part}: {}", info.text());
    }
}

/// `info` counts what `check` finds: rules of the structure, of types, of files, and mistakes of the text.
#[test]
fn info_and_check_agree() {
    let lines = [
        "y = Relu(imgae)",
        "y = Add(x x)",
        "y = Add(x, s)",
        "y = Relu(x)",
        "y = Reshape(x)",
        "y = Abs <a = 1> (x)",
    ];
    let lists =
        ["", "<float[2] w = [\"location\": \"nowhere.bin\"]>", "<float[2] w = {1}>", "<bool[2] w = {0, 7}>"];
    for line in lines {
        for list in lists {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x, string[2] s) => (float[2] y)\n{list}\n{{\n    {line}\n}}\n"
            );
            let folder = Folder::new(&[("m.onnxtxt", text.as_bytes())]);
            let found = folder.run(&["check", "--format", "short", "m.onnxtxt"]);
            let found = format!("{}{}", found.text(), found.stderr);
            let found = found.lines().filter(|line| line.contains(": error[")).count();
            let info = folder.run(&["info", "m.onnxtxt"]);
            let reported =
                info.text().lines().find(|line| line.contains("problems")).unwrap_or_default().to_owned();
            let expected = match found {
                0 => !reported.contains(" error"),
                1 => reported.contains(" 1 error"),
                many => reported.contains(&format!(" {many} errors")),
            };
            assert!(expected, "{found} errors, {reported}\n{text}");
        }
    }
}

#[test]
fn print_shows_what_is_asked_for() {
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                g (float[N] x) => (float[N] y)\n<float[3] w = {1, 2, 3}, float[N] t>\n{\n    t = Mul(x, w)\n    y = Relu(t)\n}\n";
    let folder = Folder::new(&[("m.onnx", &binary(text))]);
    let full = folder.run(&["print", "m.onnx"]).expect(0);
    assert!(full.text().contains("{1, 2, 3}"));
    let elided = folder.run(&["print", "--elide", "1", "m.onnx"]).expect(0);
    assert!(elided.text().contains("{1, …}"), "{}", elided.text());
    let typed = folder.run(&["print", "--types", "m.onnx"]).expect(0);
    assert!(typed.text().contains("t = Mul(x, w)  # float[3]"), "{}", typed.text());
    let reference = folder.run(&["print", "--profile", "reference", "m.onnx"]).expect(0);
    assert!(!reference.text().contains("#@"));
}

#[test]
fn fmt_formats_in_place_and_leaves_mistakes_alone() {
    let ugly =
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) # why\n}\n";
    let folder = Folder::new(&[
        ("ugly.onnxtxt", ugly.as_bytes()),
        ("mistake.onnxtxt", MISTAKE.as_bytes()),
        ("note.txt", b"not a model"),
    ]);
    let check = folder.run(&["fmt", "--check", "."]).expect(1);
    assert_eq!(check.text().trim(), "./ugly.onnxtxt");
    let diff = folder.run(&["fmt", "--diff", "ugly.onnxtxt"]).expect(1);
    assert!(diff.text().contains("+    y = Relu(x)  # why"), "{}", diff.text());
    assert_eq!(folder.read("ugly.onnxtxt"), ugly.as_bytes());

    let done = folder.run(&["fmt", "."]).expect(1);
    assert!(done.stderr.contains("missing `,`"), "{}", done.stderr);
    assert_eq!(folder.read("mistake.onnxtxt"), MISTAKE.as_bytes());
    assert_ne!(folder.read("ugly.onnxtxt"), ugly.as_bytes());
    folder.run(&["fmt", "--check", "ugly.onnxtxt"]).expect(0);
    folder.run(&["fmt", "note.txt", "--check"]).expect(1);
}

#[test]
fn fixes_are_applied_shown_and_certain() {
    let folder = Folder::new(&[("m.onnxtxt", MISTAKE.as_bytes())]);
    let diff = folder.run(&["check", "--diff", "--unsafe-fixes", "m.onnxtxt"]).expect(1);
    assert!(diff.text().contains("+    y = Add(x, x)"), "{}", diff.text());
    assert_eq!(folder.read("m.onnxtxt"), MISTAKE.as_bytes());
    folder.run(&["check", "--fix", "--unsafe-fixes", "m.onnxtxt"]).expect(0);
    assert_eq!(folder.read("m.onnxtxt"), MISTAKE.replace("x x", "x, x").as_bytes());
}

#[test]
fn findings_are_selected_ignored_and_denied() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes())]);
    folder.run(&["check", "--ignore", "E02", "m.onnxtxt"]).expect(0);
    folder.run(&["check", "--ignore", "value-undefined", "m.onnxtxt"]).expect(0);
    folder.run(&["check", "--select", "G03", "m.onnxtxt"]).expect(1);
    folder.run(&["check", "--select", "E0204", "m.onnxtxt"]).expect(0);
    folder.run(&["check", "--level", "syntax", "m.onnxtxt"]).expect(0);
    folder.write("w.onnxtxt", SOUND.replace("t = Mul", "\"a b\" = Abs(x)\n    t = Mul").as_bytes());
    folder.run(&["check", "--level", "strict", "w.onnxtxt"]).expect(0);
    let denied = folder.run(&["check", "--level", "strict", "--deny", "warnings", "w.onnxtxt"]).expect(1);
    assert!(denied.text().contains("error[W"), "{}", denied.text());
}

#[test]
fn explain_knows_codes_by_id_name_and_rule() {
    let folder = Folder::new(&[]);
    let by_id = folder.run(&["explain", "E0203"]).expect(0);
    for key in ["e0203", "value-undefined", "G03"] {
        assert_eq!(folder.run(&["explain", key]).expect(0).stdout, by_id.stdout);
    }
    let list = folder.run(&["explain", "--list"]).expect(0);
    assert!(list.text().lines().any(|line| line.starts_with("E0203 G03  value-undefined")));
    let unknown = folder.run(&["explain", "value-undefned"]).expect(2);
    assert!(unknown.stderr.contains("did you mean `value-undefined`?"), "{}", unknown.stderr);
}
