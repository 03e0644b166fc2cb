//! stdin, stdout, stderr, pipes and terminals.

use crate::{Folder, MISTAKE, SOUND, UNDEFINED, binary, long_model, onnxtxt};
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn a_dash_is_stdin_and_stdout() {
    let folder = Folder::new(&[]);
    let model = binary(SOUND);
    let text = folder.run_with(&["print", "-"], &model).expect(0);
    assert_eq!(binary(text.text()), model);
    let there = folder.run_with(&["convert", "-", "-o", "-", "--to", "json"], &model).expect(0);
    let back = folder.run_with(&["convert", "-", "-o", "-", "--to", "binary"], &there.stdout).expect(0);
    assert_eq!(back.stdout, model);
    folder.run_with(&["convert", "-", "-o", "-"], &model).expect(2);
    // Without a file, these three read stdin.
    assert_eq!(folder.run_with(&["fmt"], SOUND.as_bytes()).expect(0).text(), SOUND);
    assert_eq!(folder.run_with(&["print"], SOUND.as_bytes()).expect(0).text(), SOUND);
    let found = folder.run_with(&["check", "--format", "short"], UNDEFINED.as_bytes()).expect(1);
    assert!(found.text().starts_with("<stdin>:4:14: error[E0203]"), "{}", found.text());
    let found = folder.run_with(&["check", "-", "--format", "short"], UNDEFINED.as_bytes()).expect(1);
    assert_eq!(found.text(), "<stdin>:4:14: error[E0203]: use of undefined value `imgae`\n");
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn findings_are_on_stderr_where_a_command_has_another_result() {
    let folder = Folder::new(&[("m.onnxtxt", MISTAKE.as_bytes())]);
    // The readable part is printed, and the mistake is reported.
    let done = folder.run(&["print", "m.onnxtxt"]).expect(1);
    assert!(done.text().contains("Add(x, x)") && done.stderr.contains("E0102"));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(50_000).as_bytes())]);
    for arguments in [&["print", "m.onnxtxt"][..], &["convert", "m.onnxtxt", "-o", "-", "--to", "json"]] {
        let mut child =
            folder.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let done = child.wait_with_output().unwrap();
        assert_eq!((done.status.code(), done.stderr), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = Folder::new(&[("m.onnxtxt", SOUND.as_bytes())]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done = folder.command(&["print", "m.onnxtxt"]).stdout(full).output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    folder.run(&["convert", "m.onnxtxt", "-o", "/dev/full", "--to", "binary"]).expect(2);
    folder.run(&["convert", "m.onnxtxt", "-o", "/dev/null", "--to", "binary"]).expect(0);
    let out = folder.run(&["convert", "m.onnxtxt", "-o", "/dev/stdout", "--to", "text"]).expect(0);
    assert!(out.text().contains("Relu(t)"));
}

#[test]
fn colours_are_for_terminals() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes())]);
    let has_color = |arguments: &[&str], name: &str, value: &str| {
        let mut command = folder.command(arguments);
        let done = command.env(name, value).output().unwrap();
        done.stderr.contains(&0x1b) || done.stdout.contains(&0x1b)
    };
    assert!(!has_color(&["check", "m.onnxtxt"], "TERM", "xterm"));
    assert!(has_color(&["check", "m.onnxtxt", "--color", "always"], "TERM", "xterm"));
    assert!(has_color(&["--color=always", "explain", "E0203"], "TERM", "xterm"));
    assert!(!has_color(&["check", "m.onnxtxt", "--color", "never"], "CLICOLOR_FORCE", "1"));
    assert!(!has_color(&["check", "m.onnxtxt"], "NO_COLOR", "1"));
}

#[test]
fn quiet_says_findings_only() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes())]);
    let loud = folder.run(&["check", "m.onnxtxt"]).expect(1);
    let quiet = folder.run(&["check", "-q", "m.onnxtxt"]).expect(1);
    assert!(loud.stderr.ends_with("1 error in 1 file\n") && quiet.stderr.is_empty());
    assert!(quiet.text().contains("E0203"));
    let wordy = folder.run(&["check", "-v", "m.onnxtxt"]).expect(1);
    assert!(wordy.stderr.contains("note:"));
}

#[test]
fn a_closed_stderr_changes_nothing() {
    let folder = Folder::new(&[("m.onnxtxt", long_model(3).replace("(x)", "(q)").as_bytes())]);
    let mut child = onnxtxt()
        .args(["check", "m.onnxtxt"])
        .current_dir(folder.path(""))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

/// Names of files are bytes on Unix.
#[cfg(target_os = "linux")]
#[test]
fn paths_need_not_be_utf8() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt as _;
    use std::process::Command;

    let folder = Folder::new(&[]);
    let odd = |name: &str| OsString::from(OsStr::from_bytes(&[b"\xff", name.as_bytes()].concat()));
    let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[2] x) => (float[2] y) { y = Relu(x) }\n";
    std::fs::write(folder.path("").join(odd(".onnxtxt")), text).unwrap();
    let weights = vec!["1.5"; 20_000].join(", ");
    let large = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng () => (float[20000] w) <float[20000] w = {{{weights}}}> {{}}\n"
    );
    std::fs::write(folder.path("").join(odd("large.onnxtxt")), large).unwrap();
    let run = |words: &[&str]| {
        // `%` stands for the bytes of a name.
        let words = words.iter().map(|word| match word.strip_prefix('%') {
            Some(name) => odd(name),
            None => OsString::from(word),
        });
        let done = Command::new(env!("CARGO_BIN_EXE_onnxtxt"))
            .args(words)
            .current_dir(folder.path(""))
            .output()
            .unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    for words in [
        &["check", "%.onnxtxt"][..],
        &["check", "--format", "json", "%.onnxtxt"],
        &["convert", "%.onnxtxt", "-o", "%.onnx"],
        &["convert", "%.onnx", "-o", "%again.onnxtxt"],
        &["convert", "%large.onnxtxt", "-o", "%large.onnx"],
        &["run", "%.onnx", "--random", "-o", "%.npz"],
        &["fmt", "%.onnxtxt"],
        &["repro", "%.onnx", "-o", "%report", "--", "test", "-f", "{}"],
        &["draw", "%.onnx", "-o", "%.svg"],
        &["merge", "%.onnx", "%.onnx", "%.onnx", "-o", "%merged.onnx"],
    ] {
        let (code, said) = run(words);
        assert_eq!(code, Some(0), "{words:?}: {said}");
    }
    // Weights beside a model have its name, which the model must be able to write.
    let (code, said) = run(&["convert", "%large.onnx", "-o", "%beside.onnxtxt"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("its name is not UTF-8, so the model cannot refer to them"), "{said}");
    assert!(!folder.path("").join(odd("beside.onnxtxt")).exists());
}
