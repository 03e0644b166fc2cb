// Golden tests in the Test Explorer: files that begin with directives.

import * as vscode from "vscode";
import { program } from "./client";
import { isTest } from "./golden";
import { run } from "./run";

const FILES = "**/*.{onnxtxt,onnxtext}";

export function tests(): vscode.Disposable {
  const controller = vscode.tests.createTestController("onnxtxt", "ONNX golden tests");
  const look = async (uri: vscode.Uri): Promise<void> => {
    const start = new TextDecoder().decode((await vscode.workspace.fs.readFile(uri)).slice(0, 4096));
    if (isTest(start)) {
      controller.items.add(controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri));
    } else {
      controller.items.delete(uri.toString());
    }
  };
  controller.resolveHandler = async (item) => {
    if (item === undefined) {
      await Promise.all((await vscode.workspace.findFiles(FILES)).map(look));
    }
  };
  controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => execute(controller, request, token, []), true);
  controller.createRunProfile("Run and accept results", vscode.TestRunProfileKind.Run, (request, token) => execute(controller, request, token, ["--bless"]));
  const watcher = vscode.workspace.createFileSystemWatcher(FILES);
  watcher.onDidCreate(look);
  watcher.onDidChange(look);
  watcher.onDidDelete((uri) => {
    controller.items.delete(uri.toString());
  });
  return vscode.Disposable.from(controller, watcher);
}

async function execute(
  controller: vscode.TestController,
  request: vscode.TestRunRequest,
  token: vscode.CancellationToken,
  options: readonly string[],
): Promise<void> {
  const command = vscode.workspace.isTrusted ? await program() : undefined;
  const testRun = controller.createTestRun(request);
  const items = request.include ?? [...controller.items].map(([, item]) => item);
  for (const item of items) {
    if (token.isCancellationRequested || command === undefined || item.uri === undefined || request.exclude?.includes(item) === true) {
      testRun.skipped(item);
      continue;
    }
    testRun.started(item);
    const begun = Date.now();
    const { code, stdout, stderr } = await run(command, ["test", ...options, item.uri.fsPath]);
    const output = stdout + stderr;
    testRun.appendOutput(output.replace(/\r?\n/g, "\r\n"), undefined, item);
    if (code === 0) {
      testRun.passed(item, Date.now() - begun);
    } else {
      testRun.failed(item, new vscode.TestMessage(output), Date.now() - begun);
    }
  }
  testRun.end();
}
