// ONNX text in Visual Studio Code: the language server, models as text, drawings, tests and tasks.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { BinaryModels, openText } from "./binary";
import { configure, start } from "./client";
import { Tasks } from "./tasks";
import { tests } from "./testing";
import { draw, ModelEditor } from "./view";

let client: LanguageClient | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.workspace.registerFileSystemProvider("onnxtxt", new BinaryModels(() => client), { isCaseSensitive: true }),
    vscode.window.registerCustomEditorProvider("onnxtxt.model", new ModelEditor()),
    vscode.tasks.registerTaskProvider("onnxtxt", new Tasks()),
    tests(),
    vscode.commands.registerTextEditorCommand("onnxtxt.draw", (editor) => {
      void draw(editor);
    }),
    vscode.commands.registerCommand("onnxtxt.openText", openText),
    vscode.commands.registerCommand("onnxtxt.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration("onnxtxt.program") || event.affectsConfiguration("onnxtxt.embedded")) {
        await restart();
      } else if (event.affectsConfiguration("onnxtxt") && client !== undefined) {
        await configure(client);
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(restart),
  );
  client = await start();
}

async function restart(): Promise<void> {
  await client?.stop();
  client = await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
