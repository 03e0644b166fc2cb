// Writes snippets/onnxtxt.json from the schemas of the program: a statement for each operator.
//
//     node scripts/snippets.mjs ONNXTXT [--check]

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";

const [program, option] = process.argv.slice(2);
const ops = (...args) => JSON.parse(execFileSync(program, ["ops", ...args, "--format", "json"], { encoding: "utf8" }));

const VALUES = { int: "0", float: "0.0", string: '"', ints: "[]", floats: "[]", strings: "[]", tensor: "float {0}", graph: "g () => () {}" };

/** Escapes what has a meaning in snippets. */
const escape = (text) => text.replace(/[$}\\]/g, "\\$&");

function statement(name, domain, version) {
  let stop = 0;
  const hole = (text) => `\${${++stop}:${escape(text)}}`;
  const results = version.outputs.filter(({ kind }, i) => i === 0 || kind === "single").map(({ name }) => hole(name));
  const attributes = version.attributes.filter(({ required }) => required).map(({ name, type }) => {
    const value = VALUES[type] ?? "";
    return `${name} = ${value === '"' ? `"${hole("")}"` : hole(value)}`;
  });
  const inputs = version.inputs.filter(({ kind }, i) => kind === "single" || (i === 0 && kind === "variadic"));
  const operator = domain === "ai.onnx" ? name : `${domain}.${name}`;
  const list = attributes.length > 0 ? ` <${attributes.join(", ")}>` : "";
  return `${results.join(", ")}${results.length > 0 ? " " : ""}= ${operator}${list} (${inputs.map(({ name }) => hole(name)).join(", ")})`;
}

const snippets = {
  "ONNX model": {
    prefix: "model",
    body: ['<ir_version: 10, opset_import: ["": 21]>', "${1:g} (${2:float[N] x}) => (${3:float[N] y})", "{", "   $0", "}"],
    description: "A model with one graph.",
  },
  "ONNX function": {
    prefix: "function",
    body: ['<domain: "${1:local}", opset_import: ["": 21]>', "${2:f} (${3:x}) => (${4:y})", "{", "   $0", "}"],
    description: "A function of the model.",
  },
};
for (const { name, domain, deprecated } of ops()) {
  if (deprecated) continue;
  const operator = domain === "ai.onnx" ? name : `${domain}.${name}`;
  const { summary, versions } = ops(operator);
  const newest = versions.reduce((one, other) => (other.since > one.since ? other : one));
  snippets[operator] = { prefix: name, body: [statement(name, domain, newest)], description: summary };
}
const text = JSON.stringify(snippets, null, 2) + "\n";
const file = new URL("../snippets/onnxtxt.json", import.meta.url);
if (option === "--check") {
  if (readFileSync(file, "utf8") !== text) {
    console.error("snippets/onnxtxt.json is not what the schemas say: node scripts/snippets.mjs ONNXTXT");
    process.exit(1);
  }
} else {
  writeFileSync(file, text);
}
