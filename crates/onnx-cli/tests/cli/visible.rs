//! Texts in a model do not become commands to a terminal or a CI system, and do not deceive readers.

use crate::{Done, Folder};

/// A terminal's escape sequence, one of C1, the end of a line of a workflow, and a mark that turns the direction.
const EVIL: &str = "a\x1b[31mb\u{9b}31mc\u{202e}d\n::error::e\r::stop-commands::f\u{2028}g";

/// A model in which every name, text and string is evil.
fn evil() -> Folder {
    let json = serde_json::json!({
        "irVersion": "10", "producerName": EVIL, "producerVersion": EVIL, "domain": EVIL, "docString": EVIL,
        "metadataProps": [{ "key": EVIL, "value": EVIL }],
        "opsetImport": [{ "domain": "", "version": "21" }],
        "graph": {
            "name": EVIL, "docString": EVIL,
            "node": [
                { "name": EVIL, "opType": "Constant", "output": [EVIL], "docString": EVIL, "attribute": [
                    { "name": "value", "type": "TENSOR", "t": { "dataType": 8, "dims": ["1"],
                        "stringData": [data(EVIL)] } },
                ] },
                { "name": format!("{EVIL}2"), "opType": "Identity", "input": [EVIL], "output": [format!("{EVIL}y")] },
            ],
            "output": [{ "name": format!("{EVIL}y"), "docString": EVIL, "type": { "tensorType": { "elemType": 8,
                "shape": { "dim": [{ "dimParam": EVIL }] } } } }],
        },
    });
    Folder::new(&[("m.json", json.to_string().as_bytes())])
}

fn data(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in text.as_bytes().chunks(3) {
        let bits =
            three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte)) << (8 * (3 - three.len()));
        for digit in 0..4 {
            let is_there = digit <= three.len();
            out.push(if is_there { char::from(DIGITS[bits >> (18 - 6 * digit) & 63]) } else { '=' });
        }
    }
    out
}

#[track_caller]
fn is_harmless(done: &Done, what: &str) {
    let said = done.said();
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    let bidi =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    assert!(!said.contains(|c| control(c) || bidi(c)), "{what}: {said:?}");
    for line in said.lines() {
        let is_ours = what.contains("github")
            && (line.starts_with("::error file=") || line.starts_with("::warning file="));
        assert!(is_ours || !line.trim_start().starts_with("::"), "{what}: {said}");
    }
}

#[test]
fn nothing_that_a_model_says_is_obeyed() {
    let folder = evil();
    folder.run(&["convert", "m.json", "-o", "m.onnx"]).expect(0);
    folder.run(&["convert", "m.json", "-o", "m.onnxtxt"]).expect(0);
    for file in ["m.json", "m.onnx", "m.onnxtxt"] {
        for command in [
            &["print"][..],
            &["info"],
            &["infer"],
            &["run"],
            &["pass", "dead-code"],
            &["check", "--level", "strict"],
            &["check", "--level", "strict", "--format", "short"],
            &["check", "--level", "strict", "--format", "json"],
            &["check", "--level", "strict", "--format", "sarif"],
            &["check", "--level", "strict", "--format", "github"],
            &["lower"],
            &["verify"],
        ] {
            let done = folder.run(&[command, &[file]].concat());
            assert!(done.code < 3, "{command:?}: {}", done.stderr);
            is_harmless(&done, &format!("{command:?} {file}"));
        }
    }
}

#[test]
fn what_is_escaped_is_still_the_same_model() {
    let folder = evil();
    folder.run(&["convert", "m.json", "-o", "m.onnx"]).expect(0);
    folder.write("printed.onnxtxt", &folder.run(&["print", "m.onnx"]).expect(0).stdout);
    folder.run(&["convert", "printed.onnxtxt", "-o", "back.onnx"]).expect(0);
    assert!(folder.read("back.onnx") == folder.read("m.onnx"));
}

#[test]
fn names_of_files_are_not_obeyed_either() {
    let name = "::error::\x1b[31m\u{202e}.onnxtxt";
    let folder = Folder::new(&[(name, b"nonsense")]);
    for command in [
        &["check"][..],
        &["check", "--format", "short"],
        &["check", "--format", "github"],
        &["info"],
        &["run"],
    ] {
        let done = folder.run(&[command, &[name]].concat());
        is_harmless(&done, &format!("{command:?}"));
    }
    is_harmless(&folder.run(&["check", "::error::\x1b[31mnowhere"]).expect(2), "a file that does not exist");
}

#[test]
fn members_of_archives_have_harmless_names() {
    let folder = evil();
    folder.run(&["run", "m.json", "-o", "y.npz"]).expect(0);
    let archive = folder.read("y.npz");
    assert!(!archive.windows(2).any(|pair| pair == b"\x1b["), "an escape sequence in the archive");
    assert!(!archive.windows(3).any(|c| c == "\u{202e}".as_bytes()));
}

/// The output of a command on a terminal. The names of files must not need quotes.
#[cfg(target_os = "linux")]
fn on_terminal(folder: &Folder, arguments: &str) -> String {
    let command = format!("{} {arguments}", env!("CARGO_BIN_EXE_onnxtxt"));
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(folder.path(""));
    script.env("TERM", "dumb").env("NO_COLOR", "1").stdin(std::process::Stdio::null());
    let shown = String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned();
    // The terminal itself ends lines like this; whether there are colors is for other tests.
    let mut text = shown.replace("\r\n", "\n");
    while let Some((start, rest)) = text.split_once("\u{1b}[")
        && let Some((parameters, end)) = rest.split_once('m')
        && parameters.chars().all(|c| c.is_ascii_digit() || c == ';')
        && parameters != "31"
    {
        text = format!("{start}{end}");
    }
    text
}

/// Texts of models go to files and programs as they are, and to terminals with control characters escaped.
#[cfg(target_os = "linux")]
#[test]
fn no_command_sends_the_texts_of_a_model_to_a_terminal() {
    let folder = evil();
    folder.run(&["convert", "m.json", "-o", "m.onnx"]).expect(0);
    folder.run(&["convert", "m.onnx", "-o", "m.onnxtxt", "--profile", "reference"]);
    // A string of a text may have such characters themselves.
    let text = "<ir_version: 10, opset_import: [\"\": 21], doc_string: \"\u{1b}[31m\u{9b}31m\u{202e}\">\ng (float[2] x) => (float[2] y) { y = Relu(x) }\n";
    folder.write("t.onnxtxt", text.as_bytes());
    folder.write("ours.onnxtxt", text.replace("Relu", "Abs").as_bytes());
    folder.write("theirs.onnxtxt", text.replace("Relu", "Neg").as_bytes());
    for arguments in [
        "merge t.onnxtxt ours.onnxtxt theirs.onnxtxt",
        "merge t.onnxtxt ours.onnxtxt t.onnxtxt",
        "fmt - < t.onnxtxt",
        "check --fix - < t.onnxtxt",
        "print t.onnxtxt",
        "print t.onnxtxt --profile reference",
        "print t.onnxtxt --types",
        "print t.onnxtxt --profile review",
        "convert t.onnxtxt -o - --to text",
        "convert t.onnxtxt -o - --to text --profile reference",
        "convert t.onnxtxt -o - --to json",
        "convert t.onnxtxt -o - --to textproto",
        "simplify t.onnxtxt -o -",
        "convert m.onnx -o - --to json",
        "convert m.onnx -o - --to textproto",
        "info m.onnx",
        "diff m.onnx t.onnxtxt",
    ] {
        let shown = on_terminal(&folder, arguments);
        assert!(!shown.trim().is_empty(), "{arguments}");
        let active =
            |c: char| c.is_control() && c != '\n' && c != '\t' || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!shown.contains(active), "{arguments}: {shown:?}");
    }
}

/// The README of a report is read on web pages and terminals.
#[test]
fn a_report_has_no_control_characters() {
    let folder = evil();
    for more in [&[][..], &["--anonymize"]] {
        let command = ["repro", "m.json", "-o", "report", "--", "true", "\u{1b}[31m\u{202e}{}\n| x |"];
        folder.run(&[&command[..4], more, &command[4..]].concat()).expect(0);
        let readme = String::from_utf8(folder.read("report/README.md")).unwrap();
        let active =
            |c: char| c.is_control() && c != '\n' || ('\u{2028}'..='\u{202e}').contains(&c) || c == '\u{9b}';
        assert!(!readme.contains(active), "{readme:?}");
        assert!(
            !readme.lines().any(|line| line.starts_with("| x |") || line.starts_with("::")),
            "{readme:?}"
        );
        std::fs::remove_dir_all(folder.path("report")).unwrap();
    }
}
