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
