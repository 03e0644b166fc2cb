// Binary models as text documents of the scheme `onnxtxt:`, which the server reads and writes.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

export class BinaryModels implements vscode.FileSystemProvider {
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;

  constructor(private readonly client: () => LanguageClient | undefined) {}

  private server(): LanguageClient {
    const client = this.client();
    if (client === undefined) {
      throw vscode.FileSystemError.Unavailable("the language server does not run");
    }
    return client;
  }

  watch(uri: vscode.Uri): vscode.Disposable {
    const pattern = new vscode.RelativePattern(vscode.Uri.file(uri.fsPath).with({ path: parent(uri.path) }), name(uri.path));
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    watcher.onDidChange(() => {
      this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
    });
    return watcher;
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    if (isExplanation(uri)) {
      return { type: vscode.FileType.File, ctime: 0, mtime: 0, size: 0, permissions: vscode.FilePermission.Readonly };
    }
    return vscode.workspace.fs.stat(vscode.Uri.file(uri.path));
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    const { text } = await this.server().sendRequest<{ text: string }>("onnxtxt/text", { uri: uri.toString(true) });
    return new TextEncoder().encode(text);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    await this.server().sendRequest("onnxtxt/write", { uri: uri.toString(true), text: new TextDecoder().decode(content) });
    this.changed.fire([{ type: vscode.FileChangeType.Changed, uri }]);
  }

  readDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
}

function isExplanation(uri: vscode.Uri): boolean {
  return uri.path.startsWith("explain/");
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

function name(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Opens the text of a model. */
export async function openText(file: vscode.Uri): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.from({ scheme: "onnxtxt", path: file.path }));
  await vscode.languages.setTextDocumentLanguage(document, "onnxtxt");
  await vscode.window.showTextDocument(document);
}
