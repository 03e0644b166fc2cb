// Runs the program.

import { spawn } from "child_process";

export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, with a text as its input. */
export function run(program: string, args: readonly string[], input = "", cwd?: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: "pipe", cwd });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (stdout += part));
    child.stderr.setEncoding("utf8").on("data", (part: string) => (stderr += part));
    child.on("error", reject);
    child.on("close", (code) => {
      resolve({ code, stdout, stderr });
    });
    // A program that ends early does not read everything.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
  });
}
