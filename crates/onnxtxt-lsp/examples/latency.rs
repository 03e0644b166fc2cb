//! How long a client waits for each answer: median and 99th percentile, for models of several sizes, over an in-memory connection.
//!
//! ```text
//! cargo xtask bench lsp [--write]
//! cargo run --profile dist -p onnxtxt-lsp --example latency -- [--markdown] [NODES | weights] …
//! ```
//!
//! `weights` is a model of 200 nodes with 50 MB of numbers in its text. A keystroke makes a mistake in a line in the middle of the text, or
//! takes it back; the findings about the syntax come first, and all of them after a check of operators and types.

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

    /// Types a character at the start of a line, or deletes the first one, and returns how long the findings take: those about the syntax,
    /// and all.
    fn keystroke(&mut self, line: usize, text: &str) -> (Duration, Duration) {
        self.version += 1;
        let start = json!({ "line": line, "character": 0 });
        let end = json!({ "line": line, "character": usize::from(text.is_empty()) });
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
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
    let mut asked: Vec<String> = std::env::args().skip(1).collect();
    let before = asked.len();
    asked.retain(|word| word != "--markdown");
    let is_markdown = asked.len() < before;
    if !is_markdown {
        println!("{:<10} {:<28} {:>10} {:>10}", "model", "request", "median", "p99");
    }
    let sizes: Vec<usize> = match asked.iter().any(|word| word != "weights") {
        true => asked.iter().filter_map(|word| word.parse().ok()).collect(),
        false if asked.is_empty() => SIZES.to_vec(),
        false => Vec::new(),
    };
    let mut measured = Vec::new();
    for nodes in sizes {
        measured.push(Measured::of(counted_nodes(nodes), &model(nodes, ""), nodes, is_markdown));
    }
    if asked.is_empty() || asked.iter().any(|word| word == "weights") {
        let name = "200 nodes, 50 MB of weights".to_owned();
        measured.push(Measured::of(name, &model(200, &weights()), 200, is_markdown));
    }
    if is_markdown {
        print!("{}", markdown(&measured));
    }
}

/// `2,000 nodes`
fn counted_nodes(nodes: usize) -> String {
    match nodes {
        0..1_000 => format!("{nodes} nodes"),
        _ => format!("{},{:03} nodes", nodes / 1_000, nodes % 1_000),
    }
}

/// The measurements of a model.
struct Measured {
    model: String,
    rows: Vec<Row>,
    /// The greatest memory of the process so far: models are measured in the order of their sizes.
    memory: Option<String>,
}

/// The times of a request.
struct Row {
    request: String,
    median: Duration,
    p99: Duration,
}

impl Measured {
    fn of(model: String, text: &str, nodes: usize, is_quiet: bool) -> Measured {
        let rows = measure(text, nodes);
        let memory = peak_memory();
        if !is_quiet {
            for Row { request, median, p99 } in &rows {
                println!("{model:<10} {request:<28} {:>10} {:>10}", shown(*median), shown(*p99));
            }
            println!("{model:<10} {:<28} {:>10}", "memory", memory.as_deref().unwrap_or("?"));
        }
        Measured { model, rows, memory }
    }
}

/// A table: a line for each request, a column for each model, with median and 99th percentile.
fn markdown(measured: &[Measured]) -> String {
    let mut out = String::from("| median, p99 |");
    measured.iter().for_each(|of| out += &format!(" {} |", of.model));
    out += &format!("\n| --- |{}\n", " --- |".repeat(measured.len()));
    for (i, first) in measured.first().into_iter().flat_map(|of| of.rows.iter().enumerate()) {
        out += &format!("| {} |", first.request);
        for row in measured.iter().filter_map(|of| of.rows.get(i)) {
            out += &format!(" {}, {} |", shown(row.median), shown(row.p99));
        }
        out.push('\n');
    }
    out += "| memory of the process |";
    measured.iter().for_each(|of| out += &format!(" {} |", of.memory.as_deref().unwrap_or("")));
    out + "\n"
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
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

fn measure(text: &str, nodes: usize) -> Vec<Row> {
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
        // A comma is a mistake, and is deleted again. Every line is as good as another.
        let (first, second) = client.keystroke(middle + i / 2 % 7, if i % 2 == 0 { "," } else { "" });
        syntax.push(first);
        types.push(second);
    }
    let mut rows = vec![
        row("findings about the syntax after a keystroke", syntax),
        row("all findings after a keystroke", types),
    ];
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
        rows.push(row(method.strip_prefix("textDocument/").unwrap_or(method), times));
    }
    client.time("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    server.join().expect("no panic").expect("the server ends");
    rows
}

fn merged(a: &Value, b: Value) -> Value {
    let mut all = a.clone();
    if let (Some(all), Value::Object(b)) = (all.as_object_mut(), b) {
        all.extend(b);
    }
    all
}

fn row(request: &str, mut times: Vec<Duration>) -> Row {
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    Row { request: request.to_owned(), median: at(50), p99: at(99) }
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(format!("{} MB", kilobytes / 1024))
}
