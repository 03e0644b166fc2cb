// What needs no editor: finding the program, and boxes of drawings.

import assert from "node:assert";
import { readFileSync } from "node:fs";
import path from "node:path";
import test from "node:test";
import { lineOf, page, statementOf, titleAt, titles } from "../drawing";
import { isTest } from "../golden";
import { candidates, find } from "../program";
import { run } from "../run";

const root = path.join(__dirname, "../../..");
const PROGRAM = process.env["ONNXTXT_PROGRAM"] ?? "";
const MODEL = `<ir_version: 10, opset_import: ["": 21]>
g (float[N,4] x) => (float[N,4] y)
{
   t = Abs(x)
   [r] y = Elu <alpha = 2.0> (t) # the last
}
`;
const STATEMENTS = [
  { text: "t = Abs(x)", line: 3 },
  { text: "[r] y = Elu <alpha = 2.0> (t)", line: 4 },
];

test("the program is that of the setting, the environment, or the PATH", () => {
  const places = { setting: "", python: "/env/bin/python", folders: ["/w"], path: "/usr/bin:relative:/bin", platform: "linux" as const };
  const all = ["/env/bin/onnxtxt", "/w/.venv/bin/onnxtxt", "/w/venv/bin/onnxtxt", "/usr/bin/onnxtxt", "/bin/onnxtxt"];
  assert.deepStrictEqual(candidates(places), all);
  assert.deepStrictEqual(candidates({ ...places, setting: "/own" }), ["/own"]);
  assert.strictEqual(find(places, (file) => file.startsWith("/usr")), "/usr/bin/onnxtxt");
  assert.strictEqual(find(places, () => false), undefined);
});

test("golden tests begin with directives", () => {
  assert(isTest("#@ onnxtxt 1\n# a comment\n#! check\n"));
  assert(!isTest("g () => () {}\n#! check\n"));
  assert(!isTest(""));
});

test("boxes of a drawing are the statements of its text", async () => {
  const { code, stdout, stderr } = await run(PROGRAM, ["draw", "-", "--to-format", "svg"], MODEL);
  assert.strictEqual(code, 0, stderr);
  const drawn = titles(stdout);
  assert.deepStrictEqual(drawn.map((title) => lineOf(title, STATEMENTS)), [undefined, 3, 4, undefined], drawn.join("\n"));
  assert.strictEqual(titleAt(4, drawn, STATEMENTS), drawn[2]);
  assert.strictEqual(titleAt(2, drawn, STATEMENTS), undefined);
  assert.strictEqual(statementOf("x · x"), "");
  const html = page(stdout, "n0nce");
  assert(html.includes("script-src 'nonce-n0nce'") && html.includes("<svg"));
});

test("problem matchers find findings", async () => {
  const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")) as {
    contributes: { problemMatchers: [{ pattern: { regexp: string } }] };
  };
  const matcher = new RegExp(manifest.contributes.problemMatchers[0].pattern.regexp);
  const { stdout } = await run(PROGRAM, ["check", "--format", "short", "-"], MODEL.replace("Elu", "Elo"));
  const found = stdout.split("\n").map((line) => matcher.exec(line)).find((match) => match !== null);
  assert.strictEqual(found?.[2], "5", stdout);
  assert.strictEqual(found[4], "error");
});

test("a program that does not start is an error", async () => {
  await assert.rejects(run("/nowhere/onnxtxt", ["check"]));
});
