//! `onnxtxt lsp` on its streams, and `onnxtxt.toml`.

use super::*;
use std::io::BufReader;

/// A message with its header.
fn framed(content: &str) -> String {
    format!("Content-Length: {}\r\n\r\n{content}", content.len())
}

/// The content of the next message.
fn next(stream: &mut impl std::io::BufRead) -> String {
    let mut length = 0;
    loop {
        let mut line = String::new();
        assert!(stream.read_line(&mut line).unwrap() > 0, "the server has ended");
        match line.trim_end() {
            "" => break,
            line => length = line.strip_prefix("Content-Length: ").map_or(length, |n| n.parse().unwrap()),
        }
    }
    let mut content = vec![0; length];
    stream.read_exact(&mut content).unwrap();
    String::from_utf8(content).unwrap()
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}"#;

#[test]
fn a_session_on_stdin_and_stdout() {
    let mut server = onnxtxt()
        .args(["lsp", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    input.write_all(framed(INITIALIZE).as_bytes()).unwrap();
    assert!(next(&mut output).contains("\"hoverProvider\":true"));
    let document = serde_json::json!({ "uri": "file:///nowhere/m.onnxtxt", "languageId": "onnxtxt", "version": 1, "text": UNDEFINED });
    let opened = serde_json::json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": { "textDocument": document } });
    let initialized = r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
    input.write_all((framed(initialized) + &framed(&opened.to_string())).as_bytes()).unwrap();
    while !next(&mut output).contains("use of undefined value `imgae`") {}
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    input.write_all(framed(shutdown).as_bytes()).unwrap();
    while !next(&mut output).contains("\"id\":2") {}
    input.write_all(framed(r#"{"jsonrpc":"2.0","method":"exit"}"#).as_bytes()).unwrap();
    drop(input);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_client_that_ends_without_asking_is_an_error() {
    let done = Folder::new(&[]).run_with(&["lsp"], framed(INITIALIZE).as_bytes()).expect(2);
    assert!(done.stderr.contains("the language server ended"), "{}", done.stderr);
}

/// `check` and `fmt` follow the file of the nearest folder; the command line comes first.
#[test]
fn the_settings_of_a_folder_apply() {
    let folder = Folder::new(&[("m.onnxtxt", UNDEFINED.as_bytes())]);
    folder.run(&["check", "m.onnxtxt"]).expect(1);
    folder.write("onnxtxt.toml", b"allow = ['value-undefined', 'unused']");
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    folder.write("onnxtxt.toml", b"level = 'syntax'");
    folder.run(&["check", "m.onnxtxt"]).expect(0);
    folder.run(&["check", "--level", "spec", "m.onnxtxt"]).expect(1);
    folder.write("onnxtxt.toml", b"level = 'loud'");
    let done = folder.run(&["check", "m.onnxtxt"]).expect(2);
    assert!(done.stderr.contains("onnxtxt.toml:1: unknown level `loud`"), "{}", done.stderr);
    let long = "g (float[N] a_long_name_of_an_input) => (float[N] y) { y = Relu(a_long_name_of_an_input) }";
    folder.write("m.onnxtxt", long.as_bytes());
    folder.write("onnxtxt.toml", b"line-width = 40");
    folder.run(&["fmt", "m.onnxtxt"]).expect(0);
    let text = String::from_utf8(folder.read("m.onnxtxt")).unwrap();
    assert!(text.lines().all(|line| line.len() <= 45), "{text}");
}
