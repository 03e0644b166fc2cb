// A client of `onnxtxt lsp` from the makers of the protocol: every request over documents of the suite, and the shapes of the answers.
//
//     NODE_PATH=… node tests/editors/protocol.js ONNXTXT
//
// `cargo xtask editors` installs the packages.

const assert = require("assert");
const { execFileSync, spawn } = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const { pathToFileURL } = require("url");
const protocol = require("vscode-languageserver-protocol/node");
const { TextDocument } = require("vscode-languageserver-textdocument");

const program = path.resolve(process.argv[2]);
const suite = path.join(__dirname, "../suite");
const PATIENCE = 120000;

/** Texts of the suite: some of each folder, whatever their mistakes. */
function texts() {
  const found = [];
  const walk = (folder) => {
    const entries = fs.readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".onnxtxt"));
    files.filter((_, i) => i % 25 === 0).forEach((file) => found.push(path.join(folder, file.name)));
    entries.filter((entry) => entry.isDirectory()).forEach((entry) => walk(path.join(folder, entry.name)));
  };
  walk(suite);
  return found.filter((file) => fs.statSync(file).size < 20000);
}

class Client {
  constructor(folder) {
    this.process = spawn(program, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    this.exited = new Promise((resolve) => this.process.on("exit", resolve));
    this.connection = protocol.createProtocolConnection(
      new protocol.StreamMessageReader(this.process.stdout),
      new protocol.StreamMessageWriter(this.process.stdin),
    );
    this.findings = new Map();
    this.messages = [];
    this.consent = null;
    this.connection.onNotification(protocol.PublishDiagnosticsNotification.type, (params) =>
      this.findings.set(params.uri, params),
    );
    this.connection.onNotification(protocol.ShowMessageNotification.type, ({ message }) => this.messages.push(message));
    this.connection.onRequest(protocol.ShowMessageRequest.type, ({ actions }) =>
      (actions ?? []).find(({ title }) => title === this.consent) ?? null,
    );
    this.connection.onRequest(protocol.RegistrationRequest.type, () => undefined);
    this.connection.onRequest(protocol.WorkDoneProgressCreateRequest.type, () => undefined);
    this.connection.onRequest(protocol.ConfigurationRequest.type, ({ items }) => items.map(() => null));
    this.connection.onRequest(protocol.ApplyWorkspaceEditRequest.type, () => ({ applied: true }));
    for (const refresh of [protocol.SemanticTokensRefreshRequest, protocol.InlayHintRefreshRequest,
      protocol.DiagnosticRefreshRequest, protocol.CodeLensRefreshRequest]) {
      this.connection.onRequest(refresh.type, () => undefined);
    }
    this.connection.listen();
  }

  request(type, params) {
    const late = new Promise((_, reject) => {
      setTimeout(() => reject(new Error(`no answer to ${type.method}`)), PATIENCE).unref();
    });
    return Promise.race([this.connection.sendRequest(type, params), late]);
  }

  async start(folder, pulls) {
    const result = await this.request(protocol.InitializeRequest.type, {
      processId: process.pid,
      rootUri: null,
      workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "folder" }],
      capabilities: {
        general: { positionEncodings: ["utf-16"] },
        window: { workDoneProgress: true, showMessage: { messageActionItem: {} } },
        workspace: {
          applyEdit: true, configuration: true, workspaceFolders: true,
          workspaceEdit: { documentChanges: true, resourceOperations: ["create", "rename", "delete"] },
          didChangeWatchedFiles: { dynamicRegistration: true },
        },
        textDocument: {
          diagnostic: pulls ? { relatedDocumentSupport: true } : undefined,
          publishDiagnostics: { relatedInformation: true, versionSupport: true },
          completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown"] } },
          hover: { contentFormat: ["markdown"] },
          codeAction: {
            codeActionLiteralSupport: { codeActionKind: { valueSet: [] } },
            resolveSupport: { properties: ["edit"] }, dataSupport: true,
          },
          documentSymbol: { hierarchicalDocumentSymbolSupport: true },
          rename: { prepareSupport: true },
          semanticTokens: {
            requests: { full: { delta: true }, range: true }, formats: ["relative"],
            tokenTypes: Object.values(protocol.SemanticTokenTypes), tokenModifiers: Object.values(protocol.SemanticTokenModifiers),
          },
        },
      },
    });
    await this.connection.sendNotification(protocol.InitializedNotification.type, {});
    return result;
  }

  open(uri, text) {
    const textDocument = { uri, languageId: "onnxtxt", version: 1, text };
    return this.connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, { textDocument });
  }

  async published(uri, version) {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
      const found = this.findings.get(uri);
      if (found && found.version === version) return found.diagnostics;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error(`no findings for version ${version} of ${uri}`);
  }

  async stop() {
    await this.request(protocol.ShutdownRequest.type, undefined);
    await this.connection.sendNotification(protocol.ExitNotification.type);
    assert.strictEqual(await this.exited, 0);
  }
}

function inside(document, range) {
  assert(protocol.Range.is(range), JSON.stringify(range));
  const [start, end] = [document.offsetAt(range.start), document.offsetAt(range.end)];
  assert(start <= end, JSON.stringify(range));
  // Positions beyond the end of a line are moved to it.
  assert.deepStrictEqual(document.positionAt(start), { line: range.start.line, character: range.start.character });
}

function every(list, check) {
  for (const item of list ?? []) check(item);
}

/** Null for a request that the server refuses with a reason; anything else is a mistake of the server. */
function refusal(error) {
  assert.strictEqual(error.code, protocol.LSPErrorCodes.RequestFailed, error.message);
  assert(error.message);
  return null;
}

/** Places to ask about: the start and the middle of some words. */
function positions(document) {
  const found = [...document.getText().matchAll(/[A-Za-z_]\w*|"[^"\n]*"/g)];
  const step = Math.max(1, Math.floor(found.length / 12));
  return found.filter((_, i) => i % step === 0).map((match) => document.positionAt(match.index + Math.floor(match[0].length / 2)));
}

/** Asks everything about a document. Returns the methods that answered. */
async function exercise(client, document, legend) {
  const answered = new Set();
  const textDocument = { uri: document.uri };
  const whole = { start: { line: 0, character: 0 }, end: document.positionAt(document.getText().length) };
  const options = { tabSize: 3, insertSpaces: true };
  const ask = async (type, params) => {
    answered.add(type.method);
    return client.request(type, params);
  };
  const location = (item) => {
    assert(protocol.Location.is(item), JSON.stringify(item));
    if (item.uri === document.uri) inside(document, item.range);
  };

  const symbol = (item) => {
    assert(protocol.DocumentSymbol.is(item), JSON.stringify(item));
    inside(document, item.range);
    inside(document, item.selectionRange);
    every(item.children, symbol);
  };
  every(await ask(protocol.DocumentSymbolRequest.type, { textDocument }), symbol);
  every(await ask(protocol.FoldingRangeRequest.type, { textDocument }), (fold) => assert(protocol.FoldingRange.is(fold) && fold.startLine < fold.endLine));
  every(await ask(protocol.DocumentLinkRequest.type, { textDocument }), (link) => inside(document, link.range));
  every(await ask(protocol.CodeLensRequest.type, { textDocument }), (lens) => assert(protocol.CodeLens.is(lens)));
  every(await ask(protocol.InlayHintRequest.type, { textDocument, range: whole }), (hint) => assert(protocol.InlayHint.is(hint), JSON.stringify(hint)));

  const tokens = await ask(protocol.SemanticTokensRequest.type, { textDocument });
  let [line, character] = [0, 0];
  for (let i = 0; i < tokens.data.length; i += 5) {
    const [lines, characters, length, type] = tokens.data.slice(i, i + 4);
    character = lines ? characters : character + characters;
    line += lines;
    inside(document, { start: { line, character }, end: { line, character: character + length } });
    assert(length > 0 && legend.tokenTypes[type], "a token has a length and a type");
  }
  const range = await ask(protocol.SemanticTokensRangeRequest.type, { textDocument, range: whole });
  assert.deepStrictEqual(range.data, tokens.data);
  const delta = await ask(protocol.SemanticTokensDeltaRequest.type, { textDocument, previousResultId: tokens.resultId });
  assert.deepStrictEqual(delta.edits, []);

  const actions = { textDocument, range: whole, context: { diagnostics: [] } };
  for (const action of (await ask(protocol.CodeActionRequest.type, actions)) ?? []) {
    // Most edits are made when they are wanted; then the server may say why there is none.
    const isWhole = action.edit || action.command;
    const resolved = isWhole ? action : await ask(protocol.CodeActionResolveRequest.type, action).catch(refusal);
    assert(resolved === null || protocol.CodeAction.is(resolved), JSON.stringify(resolved));
  }
  for (const position of positions(document)) {
    const at = { textDocument, position };
    const hover = await ask(protocol.HoverRequest.type, at);
    assert(hover === null || protocol.Hover.is(hover), JSON.stringify(hover));
    for (const type of [protocol.DefinitionRequest.type, protocol.DeclarationRequest.type]) {
      every([await ask(type, at)].flat().filter(Boolean), location);
    }
    every(await ask(protocol.ReferencesRequest.type, { ...at, context: { includeDeclaration: true } }), location);
    every(await ask(protocol.DocumentHighlightRequest.type, at), (item) => inside(document, item.range));
    const selection = await ask(protocol.SelectionRangeRequest.type, { textDocument, positions: [position] });
    for (let node = selection[0]; node; node = node.parent) inside(document, node.range);
    const completion = await ask(protocol.CompletionRequest.type, at);
    const items = Array.isArray(completion) ? completion : (completion?.items ?? []);
    every(items, (item) => assert(typeof item.label === "string" && item.label, JSON.stringify(item)));
    if (items.length > 0) {
      assert((await ask(protocol.CompletionResolveRequest.type, items[0])).label === items[0].label);
    }
    const help = await ask(protocol.SignatureHelpRequest.type, at);
    assert(help === null || help.signatures.every((it) => it.label));
    const calls = await ask(protocol.CallHierarchyPrepareRequest.type, at);
    for (const item of calls ?? []) {
      every(await ask(protocol.CallHierarchyIncomingCallsRequest.type, { item }), (call) => inside(document, call.from.range));
      every(await ask(protocol.CallHierarchyOutgoingCallsRequest.type, { item }), (call) => inside(document, call.to.range));
    }
    const renamed = await ask(protocol.PrepareRenameRequest.type, at).catch(refusal);
    if (renamed) {
      const edit = await ask(protocol.RenameRequest.type, { ...at, newName: "renamed_by_a_client" });
      const edits = edit.documentChanges?.[0]?.edits ?? edit.changes?.[document.uri];
      assert(edits.length > 0 && edits.every((it) => protocol.TextEdit.is(it)), JSON.stringify(edit));
      TextDocument.applyEdits(document, edits);
    }
    const typed = { ...at, ch: "\n", options };
    every(await ask(protocol.DocumentOnTypeFormattingRequest.type, typed).catch(refusal), (edit) => inside(document, edit.range));
  }
  const edits = await ask(protocol.DocumentFormattingRequest.type, { textDocument, options }).catch(refusal);
  every(await ask(protocol.DocumentRangeFormattingRequest.type, { textDocument, range: whole, options }).catch(refusal), (edit) => inside(document, edit.range));
  return { answered, formatted: edits && TextDocument.applyEdits(document, edits) };
}

/** Random changes of a document, as a user types: the server has the text that the client has. */
async function changes(client, document) {
  let [current, version, seed] = [document, 1, 7];
  const random = (limit) => (seed = (seed * 1103515245 + 12345) % 2147483648) % Math.max(1, limit);
  for (let i = 0; i < 40; i++) {
    const length = current.getText().length;
    const start = random(length + 1);
    const end = Math.min(length, start + random(4));
    const range = { start: current.positionAt(start), end: current.positionAt(end) };
    const text = ["", "x", "\n", "(", '"', "é", "= Relu(x)", "{"][random(8)];
    const change = { range, text };
    current = TextDocument.update(current, [change], ++version);
    await client.connection.sendNotification(protocol.DidChangeTextDocumentNotification.type, {
      textDocument: { uri: document.uri, version }, contentChanges: [change],
    });
  }
  const whole = TextDocument.create(`${document.uri}.copy.onnxtxt`, "onnxtxt", 1, current.getText());
  await client.open(whole.uri, whole.getText());
  const [changed, fresh] = await Promise.all([client.published(document.uri, version), client.published(whole.uri, 1)]);
  // After a pause, types are checked, too.
  await new Promise((resolve) => setTimeout(resolve, 600));
  const codes = (uri) => client.findings.get(uri).diagnostics.map((it) => [it.code, it.range]);
  assert(changed && fresh);
  const ask = (uri) => client.request(protocol.SemanticTokensRequest.type, { textDocument: { uri } });
  const [one, other] = await Promise.all([ask(document.uri), ask(whole.uri)]);
  assert.deepStrictEqual(one.data, other.data, `${document.uri}: the server has another text than the client`);
  assert.deepStrictEqual(codes(document.uri), codes(whole.uri));
}

async function main() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "protocol-"));
  const files = texts();
  // Files of several folders have one name.
  const copyOf = (file) => path.join(folder, `${files.indexOf(file)}-${path.basename(file)}`);
  for (const file of files) fs.copyFileSync(file, copyOf(file));
  const client = new Client(folder);
  const { capabilities } = await client.start(folder, true);
  const answered = new Set();
  let formatted = 0;
  for (const file of files) {
    const copy = copyOf(file);
    const uri = pathToFileURL(copy).href;
    const text = fs.readFileSync(copy, "utf8");
    const document = TextDocument.create(uri, "onnxtxt", 1, text);
    await client.open(uri, text);
    const report = await client.request(protocol.DocumentDiagnosticRequest.type, { textDocument: { uri } });
    every(report.items, (item) => {
      assert(protocol.Diagnostic.is(item), JSON.stringify(item));
      inside(document, item.range);
    });
    const result = await exercise(client, document, capabilities.semanticTokensProvider.legend).catch((error) => {
      console.error(`in ${file}:`);
      throw error;
    });
    result.answered.forEach((method) => answered.add(method));
    // An editor and the command format alike.
    if (result.formatted !== null && fs.existsSync(copy)) {
      let expected = null;
      try {
        expected = execFileSync(program, ["fmt", "-"], { input: text, encoding: "utf8", stdio: ["pipe", "pipe", "ignore"], cwd: folder });
      } catch {
        expected = null;
      }
      if (expected !== null) {
        assert.strictEqual(result.formatted, expected, file);
        formatted += 1;
      }
    }
  }
  assert(formatted > 0, "no text was formatted");
  const symbols = await client.request(protocol.WorkspaceSymbolRequest.type, { query: "x" });
  assert(symbols.length > 0);
  const workspace = await client.request(protocol.WorkspaceDiagnosticRequest.type, { previousResultIds: [] });
  assert.strictEqual(workspace.items.length, files.length);
  const explained = await client.request(new protocol.RequestType("workspace/textDocumentContent"), { uri: "onnxtxt:explain/E0203" });
  assert(explained.text.includes("E0203"));
  await client.stop();

  const pushed = new Client(folder);
  await pushed.start(folder, false);
  for (const file of files.slice(0, 20)) {
    const uri = pathToFileURL(copyOf(file)).href;
    const document = TextDocument.create(uri, "onnxtxt", 1, fs.readFileSync(file, "utf8"));
    await pushed.open(uri, document.getText());
    await changes(pushed, document);
  }
  const model = pathToFileURL(path.join(folder, "run.onnxtxt")).href;
  await pushed.open(model, '<ir_version: 10, opset_import: ["": 21]>\ng (float[2] x) => (float[2] y) { y = Relu(x) }\n');
  const run = { command: "onnxtxt.run", arguments: [model] };
  await assert.rejects(pushed.request(protocol.ExecuteCommandRequest.type, run), /not allowed/);
  pushed.consent = "Allow once";
  const result = await pushed.request(protocol.ExecuteCommandRequest.type, run);
  assert(result.text.startsWith("y: float[2]"), result.text);
  await pushed.stop();
  fs.rmSync(folder, { recursive: true });
  console.log(`protocol: ${answered.size} methods over ${files.length} documents, ${formatted} formatted as by the command, random changes of 20`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
