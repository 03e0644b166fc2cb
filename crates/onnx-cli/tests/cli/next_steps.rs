//! The first step without arguments, and the next one after a mistake.

use crate::{Folder, SOUND, UNDEFINED};

#[test]
fn the_program_alone_says_what_it_is_for() {
    let done = Folder::new(&[]).run(&[]).expect(0);
    assert!(done.stderr.is_empty(), "{}", done.stderr);
    assert!(done.text().starts_with("ONNX models as text") && done.text().lines().count() <= 20);
    for part in ["  look ", "  for git ", " backend-test ", "onnxtxt check model.onnx", "--help"] {
        assert!(done.text().contains(part), "{part}: {}", done.text());
    }
}

#[test]
fn a_mistake_is_followed_by_the_next_step() {
    let folder = Folder::new(&[
        ("models/digits.onnxtxt", SOUND.as_bytes()),
        ("models/other.onnx", b""),
        ("broken.onnxtxt", UNDEFINED.as_bytes()),
        ("typo.onnxtxt", SOUND.replace("Relu", "Rellu").as_bytes()),
        ("a.npy", b""),
    ]);
    for (arguments, code, step) in [
        (&["frobnicate"][..], 2, "help: `onnxtxt` alone lists the commands"),
        (
            &["models/digits.onnxtxt"],
            2,
            "help: a command comes before the file: `onnxtxt info models/digits.onnxtxt`",
        ),
        (&["missing.onnx"], 2, "`onnxtxt info missing.onnx`"),
        (&["run"], 2, "help: for example: onnxtxt run model.onnx -i x=x.npy"),
        (&["convert", "models/digits.onnxtxt"], 2, "help: for example: onnxtxt convert model.onnx -o "),
        (&["check", "--fxi", "broken.onnxtxt"], 2, "help: for example: onnxtxt check model.onnx"),
        (&["info", "models/digts.onnxtxt"], 2, "help: did you mean `models/digits.onnxtxt`?"),
        (&["info", "models/digits.onnx"], 2, "help: did you mean `models/digits.onnxtxt`?"),
        (&["info", "brokn.onnxtxt"], 2, "help: did you mean `broken.onnxtxt`?"),
        (
            &["info", "models/nothing.onnx"],
            2,
            "help: models of this folder: `models/digits.onnxtxt`, `models/other.onnx`",
        ),
        (&["info", "none/m.onnx"], 2, "help: there is no folder `none`"),
        (&["info", "models"], 2, "help: name a file in it; `check`, `fmt` and `test` accept folders"),
        (&["run", "models/digits.onnxtxt", "-i", "x=b.npy"], 2, "help: did you mean `a.npy`?"),
        (&["run", "broken.onnxtxt", "--random"], 1, "note: `onnxtxt check` shows all problems"),
        (&["run", "typo.onnxtxt", "--random"], 1, "`onnxtxt check --fix --unsafe-fixes` applies the fixes"),
    ] {
        let done = folder.run(arguments).expect(code);
        assert!(done.stderr.contains(step), "{arguments:?}: {}", done.stderr);
    }
    // Where findings are the result, the step is one of them.
    let done = folder.run(&["check", "models/digts.onnxtxt"]).expect(2);
    assert!(done.text().contains("did you mean `models/digits.onnxtxt`?"), "{}", done.said());
    // Success has no next step.
    for arguments in [&["--version"][..], &["run", "--help"], &["info", "models/digits.onnxtxt"]] {
        let done = folder.run(arguments).expect(0);
        assert!(!done.said().contains("help: "), "{arguments:?}: {}", done.said());
    }
}
