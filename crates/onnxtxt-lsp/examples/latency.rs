//! How long a client waits for each answer: median and 99th percentile, for models of several sizes, over an in-memory connection.
//!
//! ```text
//! cargo xtask bench lsp
//! cargo run --profile dist -p onnxtxt-lsp --example latency -- [NODES | weights] …
//! ```
//!
//! `weights` is a model of 200 nodes with 50 MB of numbers in its text. A keystroke is an insertion of one character in a comment or
//! a name in the middle of the text; `syntax` is the time until the findings that need no types come, `types` until all come.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use lsp_server::{Connection, Message, Notification, Request, RequestId};
use onnxtxt_lsp::{Options, serve};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

const URI: &str = "file:///nowhere/m.onnxtxt";

/// Numbers of nodes that are measured.
const SIZES: [usize; 4] = [200, 2_000, 20_000, 100_000];

/// Bytes of numbers of the model with weights.
const WEIGHTS: usize = 50_000_000;

struct Client {
    connection: Connection,
    next: i32,
    version: i32,
}

impl Client {
    fn notify(&self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.connection.sender.send(notification.into()).expect("the server reads");
    }

    /// Sends a request, and returns how long its answer takes.
    fn time(&mut self, method: &str, params: Value) -> Duration {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        let begun = Instant::now();
        self.connection.sender.send(request.into()).expect("the server reads");
        loop {
            match self.connection.receiver.recv().expect("an answer") {
                Message::Response(response) if response.id == id => return begun.elapsed(),
                _ => {}
            }
        }
    }

    /// Types a character at a line, and returns how long the findings take: those about the syntax, and all.
    fn keystroke(&mut self, line: usize, text: &str) -> (Duration, Duration) {
        self.version += 1;
        let at = json!({ "line": line, "character": 0 });
        let change = json!({ "range": { "start": at, "end": at }, "text": text });
        let document = json!({ "uri": URI, "version": self.version });
        let begun = Instant::now();
        self.notify(
            "textDocument/didChange",
            json!({ "textDocument": document, "contentChanges": [change] }),
        );
        let mut times = Vec::new();
        while times.len() < 2 {
            if let Message::Notification(notification) = self.connection.receiver.recv().expect("findings")
                && notification.params["version"] == self.version
            {
                times.push(begun.elapsed());
            }
        }
        (times[0], times[1])
    }
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    println!("{:<10} {:<28} {:>10} {:>10}", "model", "request", "median", "p99");
    let sizes: Vec<usize> = match asked.iter().any(|word| word != "weights") {
        true => asked.iter().filter_map(|word| word.parse().ok()).collect(),
        false if asked.is_empty() => SIZES.to_vec(),
        false => Vec::new(),
    };
    for nodes in sizes {
        measure(&nodes.to_string(), &model(nodes, ""), nodes);
    }
    if asked.is_empty() || asked.iter().any(|word| word == "weights") {
        measure("weights", &model(200, &weights()), 200);
    }
    if let Some(peak) = peak_memory() {
        println!("peak memory: {peak}");
    }
}

/// A chain of nodes, a line each; the first one is line 5.
fn model(nodes: usize, values: &str) -> String {
    let mut text = format!(
        "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N,64] t0)\n=> (float[N,64] t{nodes})\n<{values}>\n{{\n"
    );
    for i in 0..nodes {
        let next = i + 1;
        _ = match i % 3 {
            0 => writeln!(text, "   t{next} = Relu(t{i})"),
            1 => writeln!(text, "   t{next} = Add(t{i}, t0)"),
            _ => writeln!(text, "   t{next} = Elu <alpha = 0.5> (t{i})"),
        };
    }
    text + "}\n"
}

fn weights() -> String {
    let mut text = String::with_capacity(WEIGHTS + 100);
    let mut count = 0usize;
    while text.len() < WEIGHTS {
        _ = write!(text, "{}0.{:07}", if count == 0 { "" } else { ", " }, (count * 7919) % 10_000_000);
        count += 1;
    }
    format!("float[{count}] w = {{{text}}}")
}

fn measure(name: &str, text: &str, nodes: usize) {
    let (server, connection) = Connection::memory();
    let server = std::thread::spawn(|| serve(server, Options::default()));
    let mut client = Client { connection, next: 0, version: 1 };
    // Without a pause, `types` is the time of the check itself.
    let options = json!({ "pause": 0 });
    let params =
        json!({ "processId": null, "rootUri": null, "capabilities": {}, "initializationOptions": options });
    client.time("initialize", params);
    client.notify("initialized", json!({}));
    let document = json!({ "uri": URI, "languageId": "onnxtxt", "version": 1, "text": text });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let middle = nodes / 2 + 5;
    let runs = (200_000 / nodes.max(1)).clamp(15, 100);
    let (mut syntax, mut types) = (Vec::new(), Vec::new());
    for i in 0..runs {
        // Blanks, so that the model stays in order; every line is as good as another.
        let (first, second) = client.keystroke(middle + i % 7, " ");
        syntax.push(first);
        types.push(second);
    }
    row(name, "keystroke: syntax", syntax);
    row(name, "keystroke: types", types);
    let at = json!({ "line": middle, "character": 30 });
    let document = json!({ "uri": URI });
    let screen = json!({ "start": { "line": middle, "character": 0 }, "end": { "line": middle + 50, "character": 0 } });
    let position = json!({ "textDocument": document, "position": at });
    let requests = [
        ("textDocument/hover", position.clone()),
        ("textDocument/definition", position.clone()),
        ("textDocument/references", merged(&position, json!({ "context": { "includeDeclaration": true } }))),
        ("textDocument/completion", position.clone()),
        ("textDocument/signatureHelp", position.clone()),
        ("textDocument/rename", merged(&position, json!({ "newName": "other" }))),
        ("textDocument/inlayHint", json!({ "textDocument": document, "range": screen })),
        ("textDocument/semanticTokens/range", json!({ "textDocument": document, "range": screen })),
        ("textDocument/semanticTokens/full", json!({ "textDocument": document })),
        ("textDocument/documentSymbol", json!({ "textDocument": document })),
        ("textDocument/foldingRange", json!({ "textDocument": document })),
        (
            "textDocument/formatting",
            json!({ "textDocument": document, "options": { "tabSize": 3, "insertSpaces": true } }),
        ),
    ];
    for (method, params) in requests {
        // The first one computes what all of them share.
        client.time(method, params.clone());
        let times = (0..runs).map(|_| client.time(method, params.clone())).collect();
        row(name, method.strip_prefix("textDocument/").unwrap_or(method), times);
    }
    client.time("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    server.join().expect("no panic").expect("the server ends");
}

fn merged(a: &Value, b: Value) -> Value {
    let mut all = a.clone();
    if let (Some(all), Value::Object(b)) = (all.as_object_mut(), b) {
        all.extend(b);
    }
    all
}

fn row(model: &str, what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    println!("{model:<10} {what:<28} {:>10} {:>10}", shown(at(50)), shown(at(99)));
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
