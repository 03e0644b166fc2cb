// The drawing of a model in a view beside its text, with the selections in step; and of binary models in the place of an editor.

import * as crypto from "crypto";
import * as vscode from "vscode";
import { program } from "./client";
import { lineOf, page, type Statement, titleAt, titles } from "./drawing";
import { run } from "./run";

async function svg(source: vscode.TextDocument | vscode.Uri): Promise<string> {
  const command = await program();
  if (command === undefined) {
    throw new Error("the program `onnxtxt` was not found");
  }
  const isFile = source instanceof vscode.Uri;
  const args = ["draw", isFile ? source.fsPath : "-", "--to-format", "svg"];
  const { code, stdout, stderr } = await run(command, args, isFile ? "" : source.getText());
  if (code !== 0) {
    throw new Error(stderr.trim());
  }
  return stdout;
}

function nonce(): string {
  return crypto.randomBytes(16).toString("base64url");
}

/** The statements of a document, as the server finds them. */
async function statements(document: vscode.TextDocument): Promise<Statement[]> {
  const symbols = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    "vscode.executeDocumentSymbolProvider",
    document.uri,
  );
  const found: Statement[] = [];
  const add = (symbol: vscode.DocumentSymbol): void => {
    found.push({ text: document.getText(symbol.range), line: symbol.range.start.line });
    symbol.children.forEach(add);
  };
  (symbols ?? []).forEach(add);
  return found;
}

/** Draws the model of an editor beside it. */
export async function draw(editor: vscode.TextEditor): Promise<void> {
  const { document } = editor;
  const panel = vscode.window.createWebviewPanel(
    "onnxtxt.drawing",
    `Drawing of ${document.uri.path.slice(document.uri.path.lastIndexOf("/") + 1)}`,
    { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    { enableScripts: true, localResourceRoots: [] },
  );
  let drawn: string[] = [];
  const update = async (): Promise<void> => {
    try {
      const drawing = await svg(document);
      drawn = titles(drawing);
      panel.webview.html = page(drawing, nonce());
    } catch (error) {
      // The text has mistakes while it is typed: the last drawing stays.
      if (drawn.length === 0) {
        await vscode.window.showErrorMessage(String(error));
      }
    }
  };
  let timer: NodeJS.Timeout | undefined;
  const disposables = [
    vscode.workspace.onDidChangeTextDocument((event) => {
      if (event.document === document) {
        clearTimeout(timer);
        timer = setTimeout(() => void update(), 500);
      }
    }),
    vscode.window.onDidChangeTextEditorSelection(async ({ textEditor, selections }) => {
      const line = selections[0]?.active.line;
      if (textEditor.document === document && line !== undefined) {
        await panel.webview.postMessage({ select: titleAt(line, drawn, await statements(document)) });
      }
    }),
    panel.webview.onDidReceiveMessage(async (message: { select?: string }) => {
      const line = message.select === undefined ? undefined : lineOf(message.select, await statements(document));
      if (line !== undefined) {
        const range = document.lineAt(line).range;
        await vscode.window.showTextDocument(document, { viewColumn: editor.viewColumn ?? vscode.ViewColumn.One, selection: range });
      }
    }),
  ];
  panel.onDidDispose(() => {
    clearTimeout(timer);
    disposables.forEach((disposable) => {
      disposable.dispose();
    });
  });
  await update();
}

/** Shows the drawing of a binary model where an editor would be. */
export class ModelEditor implements vscode.CustomReadonlyEditorProvider {
  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => undefined };
  }

  async resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    panel.webview.options = { enableScripts: true, localResourceRoots: [] };
    panel.webview.html = page(await svg(document.uri), nonce());
  }
}
