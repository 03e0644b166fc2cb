// Tasks that run the program on the folder: check, test, fmt.

import * as vscode from "vscode";
import { program } from "./client";

interface Definition extends vscode.TaskDefinition {
  command: string;
  paths?: string[];
}

const COMMANDS = ["check", "test", "fmt"];

export class Tasks implements vscode.TaskProvider {
  async provideTasks(): Promise<vscode.Task[]> {
    const command = await program();
    if (command === undefined) {
      return [];
    }
    return COMMANDS.map((name) => task(command, { type: "onnxtxt", command: name }));
  }

  async resolveTask(unresolved: vscode.Task): Promise<vscode.Task | undefined> {
    const command = await program();
    return command === undefined ? undefined : task(command, unresolved.definition as Definition);
  }
}

function task(program: string, definition: Definition): vscode.Task {
  const format = definition.command === "check" ? ["--format", "short"] : [];
  const execution = new vscode.ProcessExecution(program, [definition.command, ...format, ...(definition.paths ?? ["."])]);
  const made = new vscode.Task(definition, vscode.TaskScope.Workspace, definition.command, "onnxtxt", execution, "$onnxtxt");
  made.group = definition.command === "test" ? vscode.TaskGroup.Test : vscode.TaskGroup.Build;
  return made;
}
