// The language server.

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions, Trace } from "vscode-languageclient/node";
import { find } from "./program";

/** The folder of the selected Python environment, if the extension for Python says so. */
async function python(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<{
    environments?: { getActiveEnvironmentPath(): { path: string } };
  }>("ms-python.python");
  if (extension === undefined) {
    return undefined;
  }
  const api = await extension.activate();
  return api.environments?.getActiveEnvironmentPath().path;
}

/** The program; says so where there is none. */
export async function program(): Promise<string | undefined> {
  const folders = vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : [];
  const found = find({
    setting: vscode.workspace.getConfiguration("onnxtxt").get("program", ""),
    python: vscode.workspace.isTrusted ? await python() : undefined,
    folders: folders.map(({ uri }) => uri.fsPath),
    path: process.env["PATH"] ?? "",
    platform: process.platform,
  });
  if (found === undefined) {
    const choice = await vscode.window.showErrorMessage(
      "The program `onnxtxt` was not found: install it (`pip install onnxtxt`), or name it in the settings.",
      "Open Settings",
    );
    if (choice !== undefined) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "onnxtxt.program");
    }
  }
  return found;
}

function settings(): object {
  const { level, inlayHints, pause, trusted } = vscode.workspace.getConfiguration("onnxtxt") as unknown as Record<string, unknown>;
  return { level, inlayHints, pause, trusted: vscode.workspace.isTrusted && trusted };
}

/** Starts the server. */
export async function start(): Promise<LanguageClient | undefined> {
  const command = await program();
  if (command === undefined) {
    return undefined;
  }
  const server: ServerOptions = { command, args: ["lsp"] };
  const selector = [
    { scheme: "file", language: "onnxtxt" },
    { scheme: "untitled", language: "onnxtxt" },
    { scheme: "onnxtxt" },
  ];
  const embedded = vscode.workspace.getConfiguration("onnxtxt").get<boolean>("embedded", true);
  const others = embedded ? ["python", "markdown"].map((language) => ({ scheme: "file", language })) : [];
  const options: LanguageClientOptions = {
    documentSelector: [...selector, ...others],
    initializationOptions: settings(),
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/onnxtxt.toml") },
  };
  const client = new LanguageClient("onnxtxt", "ONNX text", server, options);
  await client.start();
  await client.setTrace(Trace.fromString(vscode.workspace.getConfiguration("onnxtxt").get("trace.server", "off")));
  return client;
}

/** Sends changed settings. */
export function configure(client: LanguageClient): Promise<void> {
  return client.sendNotification("workspace/didChangeConfiguration", { settings: { onnxtxt: settings() } });
}
