//! A client over an in-memory connection: the whole surface of the protocol.

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use onnxtxt_lsp::{Options, ServerError, serve};
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long an answer may take in an unoptimized build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

struct Client {
    connection: Connection,
    server: Option<JoinHandle<Result<(), ServerError>>>,
    next: i32,
    /// Notifications that came while something else was awaited.
    notified: Vec<Notification>,
    /// The answers that the client gives to requests of the server, by method.
    answers: fn(&Request) -> Value,
}

const MODEL: &str = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N,4] x) => (float[N,4] y)\n{\n   t = Abs(x)\n   y = Relu(t)\n}\n";
const URI: &str = "file:///nowhere/m.onnxtxt";

impl Client {
    fn start(capabilities: Value, options: Value) -> (Client, Value) {
        let (server, connection) = Connection::memory();
        let server = std::thread::spawn(|| serve(server, Options::default()));
        let mut client = Client {
            connection,
            server: Some(server),
            next: 0,
            notified: Vec::new(),
            answers: |_| Value::Null,
        };
        let params = json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "initializationOptions": options });
        let result = client.request("initialize", params).expect("the server starts");
        client.notify("initialized", json!({}));
        (client, result)
    }

    fn new() -> Client {
        let capabilities = json!({
            "general": { "positionEncodings": ["utf-16"] },
            "textDocument": {
                "completion": { "completionItem": { "snippetSupport": true } },
                "codeAction": { "codeActionLiteralSupport": { "codeActionKind": { "valueSet": [] } } },
                "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
            },
        });
        Client::start(capabilities, Value::Null).0
    }

    fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).expect("the server reads");
        id
    }

    fn notify(&mut self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.connection.sender.send(notification.into()).expect("the server reads");
    }

    fn answer(&mut self, id: &RequestId) -> Response {
        loop {
            match self.connection.receiver.recv_timeout(PATIENCE).expect("an answer") {
                Message::Response(response) if response.id == *id => return response,
                Message::Response(_) => {}
                Message::Notification(notification) => self.notified.push(notification),
                Message::Request(request) => {
                    let response = Response::new_ok(request.id.clone(), (self.answers)(&request));
                    self.connection.sender.send(response.into()).expect("the server reads");
                }
            }
        }
    }

    fn request(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.send(method, params);
        self.answer(&id).response_result.map_err(|error| (error.code, error.message))
    }

    fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "onnxtxt", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// The next published findings for which `is_wanted` holds.
    fn published(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let found = self
                .notified
                .iter()
                .position(|it| it.method == "textDocument/publishDiagnostics" && is_wanted(&it.params));
            if let Some(i) = found {
                return self.notified.remove(i).params;
            }
            match self.connection.receiver.recv_timeout(PATIENCE).expect("findings") {
                Message::Notification(notification) => self.notified.push(notification),
                other => panic!("{other:?}"),
            }
        }
    }

    fn stop(mut self) {
        self.request("shutdown", Value::Null).expect("the server stops");
        self.notify("exit", Value::Null);
        self.server.take().expect("a server").join().expect("no panic").expect("no error");
    }
}

fn document() -> Value {
    json!({ "uri": URI })
}

fn at(line: u32, character: u32) -> Value {
    json!({ "textDocument": document(), "position": { "line": line, "character": character } })
}

#[test]
fn capabilities_follow_the_client() {
    let (client, result) =
        Client::start(json!({ "general": { "positionEncodings": ["utf-8", "utf-16"] } }), Value::Null);
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-8");
    assert!(result["capabilities"]["diagnosticProvider"].is_null());
    assert_eq!(result["serverInfo"]["name"], "onnxtxt");
    client.stop();
    let (client, result) = Client::start(json!({ "textDocument": { "diagnostic": {} } }), Value::Null);
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(result["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"], true);
    client.stop();
}

#[test]
fn findings_are_pushed_while_a_text_changes() {
    let mut client = Client::new();
    client.open(URI, &MODEL.replace("Relu(t)", "Relu(q)"));
    let codes = |params: &Value| -> Vec<String> {
        let all = params["diagnostics"].as_array().expect("a list");
        all.iter().map(|it| it["code"].as_str().expect("a code").to_owned()).collect()
    };
    let found = client.published(|params| codes(params).contains(&"E0203".to_owned()));
    assert_eq!(found["version"], 1);
    // A syntax error comes at once; the finding about `q` stays where it is until the text is checked as a whole.
    let change = json!({ "range": { "start": { "line": 3, "character": 12 }, "end": { "line": 3, "character": 13 } }, "text": "" });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] }),
    );
    let found = client.published(|params| params["version"] == 2);
    assert!(codes(&found).iter().any(|code| code.starts_with("E01")), "{found}");
    assert!(codes(&found).contains(&"E0203".to_owned()), "{found}");
    let whole = json!({ "text": MODEL });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 3 }, "contentChanges": [whole] }),
    );
    let found = client.published(|params| params["version"] == 3);
    assert!(codes(&found).is_empty(), "{found}");
    client.notify("textDocument/didClose", json!({ "textDocument": document() }));
    client.published(|params| params["version"].is_null());
    client.stop();
}

#[test]
fn findings_are_pulled() {
    let capabilities = json!({ "textDocument": { "diagnostic": {} } });
    let (mut client, _) = Client::start(capabilities, Value::Null);
    client.open(URI, &MODEL.replace("Relu(t)", "Relu(q)"));
    let report =
        client.request("textDocument/diagnostic", json!({ "textDocument": document() })).expect("a report");
    assert_eq!((&report["kind"], &report["items"][0]["code"]), (&json!("full"), &json!("E0203")), "{report}");
    let params = json!({ "textDocument": document(), "previousResultId": report["resultId"] });
    assert_eq!(client.request("textDocument/diagnostic", params).expect("a report")["kind"], "unchanged");
    client.stop();
}

/// While the user types, a client that asks for findings has those about the syntax at once, and asks again when the server asks for it.
#[test]
fn findings_about_types_follow_after_a_pause() {
    let capabilities = json!({ "textDocument": { "diagnostic": {} }, "workspace": { "diagnostics": { "refreshSupport": true } } });
    let (mut client, _) = Client::start(capabilities, json!({ "pause": 1000 }));
    client.open(URI, MODEL);
    let change = json!({ "range": { "start": { "line": 4, "character": 13 }, "end": { "line": 4, "character": 13 } }, "text": "q" });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] }),
    );
    let pull = json!({ "textDocument": document() });
    let report = client.request("textDocument/diagnostic", pull.clone()).expect("a report");
    assert_eq!(report["items"], json!([]), "operands are not checked yet");
    loop {
        match client.connection.receiver.recv_timeout(PATIENCE).expect("a request") {
            Message::Request(request) if request.method == "workspace/diagnostic/refresh" => break,
            _ => {}
        }
    }
    let report = client.request("textDocument/diagnostic", pull).expect("a report");
    assert_eq!(report["items"][0]["code"], "E0203", "{report}");
    client.stop();
}

/// Every request about a document has an answer of the right shape.
#[test]
fn every_request_is_answered() {
    let mut client = Client::new();
    client.open(URI, MODEL);
    let whole = json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 9, "character": 0 } });
    let options = json!({ "tabSize": 3, "insertSpaces": true });
    let doc = || json!({ "textDocument": document() });
    let with = |mut params: Value, key: &str, value: Value| {
        params[key] = value;
        params
    };
    let rows: Vec<(&str, Value, &str, Value)> = vec![
        ("textDocument/hover", at(3, 7), "/contents/kind", json!("markdown")),
        ("textDocument/definition", at(4, 12), "/range/start/line", json!(3)),
        ("textDocument/declaration", at(4, 3), "/range/start/line", json!(1)),
        (
            "textDocument/references",
            with(at(4, 12), "context", json!({ "includeDeclaration": true })),
            "/1/range/start/line",
            json!(4),
        ),
        ("textDocument/documentHighlight", at(4, 12), "/0/kind", json!(3)),
        ("textDocument/documentSymbol", doc(), "/0/children/1/detail", json!("Abs")),
        ("textDocument/foldingRange", doc(), "/0/startLine", json!(2)),
        (
            "textDocument/selectionRange",
            with(doc(), "positions", json!([{ "line": 3, "character": 11 }])),
            "/0/parent/range/start/line",
            json!(3),
        ),
        ("textDocument/documentLink", doc(), "", json!([])),
        ("textDocument/semanticTokens/full", doc(), "/data/0", json!(0)),
        ("textDocument/semanticTokens/range", with(doc(), "range", whole.clone()), "/data/0", json!(0)),
        ("textDocument/formatting", with(doc(), "options", options.clone()), "/0/range/start/line", json!(3)),
        (
            "textDocument/rangeFormatting",
            with(with(doc(), "options", options.clone()), "range", whole.clone()),
            "/0/range/start/line",
            json!(3),
        ),
        (
            "textDocument/onTypeFormatting",
            with(with(at(5, 1), "options", options), "ch", json!("}")),
            "/0/range/start/line",
            json!(3),
        ),
        ("textDocument/prepareRename", at(3, 3), "/placeholder", json!("t")),
        (
            "textDocument/rename",
            with(at(3, 3), "newName", json!("u")),
            "/changes/file:~1~1~1nowhere~1m.onnxtxt/1/newText",
            json!("u"),
        ),
        ("textDocument/completion", at(4, 12), "/items/0/label", json!("t")),
        ("textDocument/signatureHelp", at(4, 12), "/activeParameter", json!(0)),
        ("textDocument/inlayHint", with(doc(), "range", whole.clone()), "/0/label", json!(": float[N,4]")),
        (
            "textDocument/codeAction",
            with(
                with(
                    doc(),
                    "range",
                    json!({ "start": { "line": 3, "character": 3 }, "end": { "line": 3, "character": 3 } }),
                ),
                "context",
                json!({ "diagnostics": [] }),
            ),
            "/0/title",
            json!("Declare the type `float[N,4]` of `t`"),
        ),
        ("textDocument/codeLens", doc(), "/0/command/command", json!("onnxtxt.run")),
        ("textDocument/prepareCallHierarchy", at(1, 0), "/0/name", json!("g")),
        ("workspace/symbol", json!({ "query": "x" }), "/0/name", json!("x")),
        ("workspace/textDocumentContent", json!({ "uri": "onnxtxt:explain/E0203" }), "/text", Value::Null),
        ("onnxtxt/text", json!({ "uri": "onnxtxt:explain/E0203" }), "/text", Value::Null),
    ];
    for (method, params, path, expected) in rows {
        let answer =
            client.request(method, params).unwrap_or_else(|(code, error)| panic!("{method}: {code} {error}"));
        let found = answer.pointer(path).unwrap_or_else(|| panic!("{method}: no {path} in {answer}"));
        if !expected.is_null() {
            assert_eq!(*found, expected, "{method}: {answer}");
        }
    }
    let item = client.request("textDocument/prepareCallHierarchy", at(1, 0)).expect("an item")[0].clone();
    for method in ["callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"] {
        assert_eq!(client.request(method, json!({ "item": item })).expect("calls"), json!([]), "{method}");
    }
    let tokens = client.request("textDocument/semanticTokens/full", doc()).expect("tokens");
    let delta = with(doc(), "previousResultId", tokens["resultId"].clone());
    let delta = client.request("textDocument/semanticTokens/full/delta", delta).expect("a delta");
    assert_eq!(delta["edits"], json!([]));
    client.stop();
}

#[test]
fn mistakes_of_a_client_do_not_end_the_server() {
    let mut client = Client::new();
    assert_eq!(client.request("textDocument/nothing", json!({})).unwrap_err().0, -32601);
    assert_eq!(client.request("textDocument/hover", json!({ "textDocument": 1 })).unwrap_err().0, -32602);
    let (code, message) = client.request("textDocument/hover", at(0, 0)).unwrap_err();
    assert_eq!(code, -32602);
    assert!(message.contains("/nowhere/m.onnxtxt"), "{message}");
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [] }),
    );
    client.notify("nothing/known", json!([1]));
    client.open(URI, MODEL);
    let (code, message) = client
        .request("textDocument/rename", {
            let mut params = at(3, 3);
            params["newName"] = json!("x");
            params
        })
        .unwrap_err();
    assert_eq!((code, message.as_str()), (-32803, "the name `x` is taken"));
    assert!(client.request("textDocument/hover", at(999, 999)).expect("an answer").is_null());
    client.stop();
}

#[test]
fn requests_are_cancelled_and_outdated() {
    let (server, connection) = Connection::memory();
    let options = Options { workers: 1, ..Options::default() };
    let server = std::thread::spawn(|| serve(server, options));
    let mut client =
        Client { connection, server: Some(server), next: 0, notified: Vec::new(), answers: |_| Value::Null };
    let params = json!({ "processId": null, "rootUri": null, "capabilities": { "textDocument": { "diagnostic": {} } } });
    client.request("initialize", params).expect("the server starts");
    client.notify("initialized", json!({}));
    // Enough nodes that the first request is still running when the others are outdated.
    let nodes: String = (0..3_000).map(|i| format!("   t{} = Abs(t{i})\n", i + 1)).collect();
    client.open(
        URI,
        &format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] t0) => (float[N] t3000)\n{{\n{nodes}}}\n"
        ),
    );
    let first = client.send("textDocument/diagnostic", json!({ "textDocument": document() }));
    let second = client.send("textDocument/hover", at(4, 4));
    client.notify("$/cancelRequest", json!({ "id": 3 }));
    let code = |response: Response| response.response_result.err().map(|error| error.code);
    assert_eq!(code(client.answer(&second)), Some(-32800));
    let third = client.send("textDocument/completion", at(4, 12));
    let change = json!({ "text": MODEL });
    client.notify(
        "textDocument/didChange",
        json!({ "textDocument": { "uri": URI, "version": 2 }, "contentChanges": [change] }),
    );
    assert_eq!(code(client.answer(&first)), Some(-32801));
    // An editor continues with these while the user types.
    let completion = client.answer(&third).response_result.expect("completions of the text as it was");
    assert!(completion["items"].as_array().is_some_and(|items| !items.is_empty()));
    assert!(client.request("textDocument/hover", at(3, 3)).is_ok());
    client.stop();
}

#[test]
fn commands_ask_before_they_run_anything() {
    let mut client = Client::new();
    client.open(URI, &MODEL.replace('N', "2"));
    let command = || json!({ "command": "onnxtxt.run", "arguments": [URI] });
    assert_eq!(client.request("workspace/executeCommand", command()).unwrap_err().1, "it was not allowed");
    client.answers = |request| match request.method.as_str() {
        "window/showMessageRequest" => json!({ "title": "Allow once" }),
        _ => Value::Null,
    };
    let result = client.request("workspace/executeCommand", command()).expect("a result");
    assert!(result["text"].as_str().is_some_and(|text| text.starts_with("y: float[2,4]")), "{result}");
    client.answers = |_| Value::Null;
    assert!(client.request("workspace/executeCommand", command()).is_err(), "once is once");
    client.stop();
    let (mut client, _) = Client::start(json!({}), json!({ "trusted": true }));
    client.open(URI, &MODEL.replace('N', "2"));
    assert!(client.request("workspace/executeCommand", command()).is_ok());
    client.stop();
}

#[test]
fn folders_have_settings_symbols_and_findings() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let uri = |name: &str| format!("file://{}", path(name).display());
    std::fs::write(path("a.onnxtxt"), MODEL.replace("Relu(t)", "Relu(q)")).expect("written");
    std::fs::write(path("onnxtxt.toml"), "allow = [\"value-undefined\"]").expect("written");
    let (server, connection) = Connection::memory();
    let server = std::thread::spawn(|| serve(server, Options::default()));
    let mut client =
        Client { connection, server: Some(server), next: 0, notified: Vec::new(), answers: |_| Value::Null };
    let params = json!({
        "processId": null, "rootUri": null,
        "workspaceFolders": [{ "uri": format!("file://{}", folder.path().display()), "name": "f" }],
        "capabilities": { "textDocument": { "diagnostic": {} }, "workspace": { "didChangeWatchedFiles": { "dynamicRegistration": true } } },
    });
    client.request("initialize", params).expect("the server starts");
    client.notify("initialized", json!({}));
    let codes = |report: &Value| -> Vec<Value> {
        let items = report["items"][0]["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|it| it["code"].clone()).collect()
    };
    let report =
        client.request("workspace/diagnostic", json!({ "previousResultIds": [] })).expect("a report");
    assert_eq!(report["items"][0]["uri"], json!(uri("a.onnxtxt")), "{report}");
    assert!(!codes(&report).contains(&json!("E0203")), "{report}");
    std::fs::write(path("onnxtxt.toml"), "").expect("written");
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": uri("onnxtxt.toml"), "type": 2 }] }),
    );
    let report =
        client.request("workspace/diagnostic", json!({ "previousResultIds": [] })).expect("a report");
    assert!(codes(&report).contains(&json!("E0203")), "{report}");
    let known = json!([{ "uri": report["items"][0]["uri"], "value": report["items"][0]["resultId"] }]);
    let again =
        client.request("workspace/diagnostic", json!({ "previousResultIds": known })).expect("a report");
    assert_eq!(again["items"][0]["kind"], "unchanged");
    let symbols = client.request("workspace/symbol", json!({ "query": "g" })).expect("symbols");
    assert_eq!(symbols[0]["location"]["uri"], json!(uri("a.onnxtxt")));
    // A mistake in the settings is shown.
    std::fs::write(path("onnxtxt.toml"), "level = \"loud\"").expect("written");
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": uri("onnxtxt.toml"), "type": 2 }] }),
    );
    client.open(&uri("a.onnxtxt"), MODEL);
    client
        .request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri("a.onnxtxt") } }))
        .expect("a report");
    assert!(client.notified.iter().any(|it| {
        it.method == "window/showMessage"
            && it.params["message"]
                .as_str()
                .is_some_and(|text| text.contains("onnxtxt.toml:1: unknown level `loud`"))
    }));
    client.stop();
}

#[test]
fn a_log_has_messages_and_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let (server, connection) = Connection::memory();
    let options = Options { log: Some(log.clone()), ..Options::default() };
    let server = std::thread::spawn(|| serve(server, options));
    let mut client =
        Client { connection, server: Some(server), next: 0, notified: Vec::new(), answers: |_| Value::Null };
    client
        .request("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }))
        .expect("a server");
    client.notify("initialized", json!({}));
    client.open(URI, MODEL);
    client.request("textDocument/hover", at(3, 7)).expect("an answer");
    client.stop();
    let text = std::fs::read_to_string(log).expect("a log");
    for part in ["<- textDocument/didOpen", "<- textDocument/hover 2", "textDocument/hover: ", "-> answer 2"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_trace_has_the_times_of_requests() {
    let mut client = Client::new();
    client.open(URI, MODEL);
    let traced = |client: &mut Client| {
        let notified = std::mem::take(&mut client.notified);
        notified
            .into_iter()
            .filter(|sent| sent.method == "$/logTrace")
            .map(|sent| sent.params)
            .collect::<Vec<_>>()
    };
    client.request("textDocument/hover", at(3, 7)).expect("an answer");
    assert_eq!(traced(&mut client), [] as [Value; 0]);
    client.notify("$/setTrace", json!({ "value": "messages" }));
    client.request("textDocument/hover", at(3, 7)).expect("an answer");
    let messages = traced(&mut client);
    let message = messages.first().and_then(|params| params["message"].as_str()).expect("a trace");
    assert!(message.starts_with("textDocument/hover 3: ") && message.ends_with(" ms"), "{message}");
    assert!(messages.iter().all(|params| params.get("verbose").is_none()), "{messages:?}");
    client.notify("$/setTrace", json!({ "value": "verbose" }));
    client.request("textDocument/hover", at(3, 7)).expect("an answer");
    let verbose = traced(&mut client).pop().map(|params| params["verbose"].clone());
    assert_eq!(verbose, Some(json!(format!("answered; {URI}"))));
    client.stop();
}
