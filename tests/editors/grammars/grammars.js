// Compares the TextMate grammar and the highlight.js definition with the lexer's classes, token by token, and looks for ONNX text in
// Python and Markdown.
//
//     NODE_PATH=… node tests/editors/grammars/grammars.js CLASSES.jsonl
//
// CLASSES.jsonl is what conformance/examples/token_classes.rs writes. `cargo xtask editors` installs the packages.

const fs = require("fs");
const path = require("path");
const readline = require("readline");
const hljs = require("highlight.js/lib/core");
const oniguruma = require("vscode-oniguruma");
const textmate = require("vscode-textmate");

const editors = path.join(__dirname, "../../../editors");
const table = JSON.parse(fs.readFileSync(path.join(editors, "classes.json"), "utf8"));
const shown = 12;

/** The class of each name that an engine uses. */
function classesBy(engine) {
  return new Map(Object.entries(table).map(([name, row]) => [row[engine], name]));
}

/** The grammars of the extension, with those of Python and Markdown. */
async function registry() {
  const wasm = fs.readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const files = {
    "source.onnxtxt": path.join(editors, "vscode/syntaxes/onnxtxt.tmLanguage.json"),
    "inline.onnxtxt.python": path.join(editors, "vscode/syntaxes/python.tmLanguage.json"),
    "markdown.onnxtxt.codeblock": path.join(editors, "vscode/syntaxes/markdown.tmLanguage.json"),
    "source.python": require.resolve("tm-grammars/grammars/python.json"),
    "text.html.markdown": require.resolve("tm-grammars/grammars/markdown.json"),
  };
  const injections = { "source.python": ["inline.onnxtxt.python"], "text.html.markdown": ["markdown.onnxtxt.codeblock"] };
  return new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    getInjections: (scope) => injections[scope],
    loadGrammar: async (scope) => (files[scope] ? textmate.parseRawGrammar(fs.readFileSync(files[scope], "utf8"), files[scope]) : null),
  });
}

/** Classes of the characters of a text by a TextMate grammar, line by line. */
function textmateClasses(grammar) {
  const classes = classesBy("textmate");
  return (text) => {
    const found = new Array(text.length).fill("");
    let state = textmate.INITIAL;
    let at = 0;
    for (const line of text.split("\n")) {
      const { tokens, ruleStack } = grammar.tokenizeLine(line, state);
      state = ruleStack;
      for (const { startIndex, endIndex, scopes } of tokens) {
        const name = classes.get(scopes[scopes.length - 1]) ?? "";
        found.fill(name, at + startIndex, at + Math.min(endIndex, line.length));
      }
      at += line.length + 1;
    }
    return found;
  };
}

/** Texts with ONNX text between `«` and `»`. */
const EMBEDDED = {
  "source.python": [
    'm = onnx.parser.parse_model("""«g (float[N] x) => (float[N] y) { y = Elu <alpha = 1.0> (x) }»""")\nx = 1',
    'parse_node(\n    \'«y = Relu(x)»\'\n)\ny = Relu(x)',
    'm = parse_graph(\n    r"""\n«g (float x) => (float y) {\n  y = Abs(x) # "\n}»\n""", strict=True)\nparse_model(text)',
  ],
  "text.html.markdown": [
    "# T\n\n```onnxtxt\n«g (float[N] x) => (float[N] y) { y = Relu(x) }»\n```\n\ny = Relu(x)\n",
    "```onnx\n«#@ onnxtxt 1\n## d\ng => (y) {}»\n```\ntext\n```python\ny = f(x)\n```\n",
  ],
};

/** What is wrong with the classes of ONNX text in another language, whose own text has none. */
function embedded(classes, plain, marked) {
  const [start, end] = [marked.indexOf("«"), marked.indexOf("»") - 1];
  const text = marked.replace(/[«»]/g, "");
  const found = classes(text);
  const inner = text.slice(start, end);
  const expected = plain(inner);
  for (let at = 0; at < text.length; at++) {
    const wanted = at >= start && at < end ? expected[at - start] : "";
    // The first line of a text decides about annotations, and a block does not begin a file.
    const isAnnotation = ["Annotation", "Documentation"].includes(wanted) || found[at] === "Comment";
    if (!/\s/.test(text[at]) && found[at] !== wanted && !isAnnotation) {
      return `\`${text[at]}\` at ${at} is ${wanted || "nothing"}, not ${found[at] || "nothing"}: ${text.slice(Math.max(0, at - 20), at + 20)}`;
    }
  }
  return null;
}

/** Classes of the characters of a text by highlight.js. */
function highlightClasses() {
  hljs.registerLanguage("onnxtxt", require(path.join(editors, "highlightjs/onnxtxt.js")));
  const classes = classesBy("highlightjs");
  return (text) => {
    const found = [];
    const walk = (node, scope) => {
      for (const child of node.children) {
        if (typeof child === "string") {
          for (let i = 0; i < child.length; i++) found.push(classes.get(scope) ?? "");
        } else {
          walk(child, child.scope ?? scope);
        }
      }
    };
    walk(hljs.highlight(text, { language: "onnxtxt" })._emitter.rootNode, "");
    return found;
  };
}

/** The first difference between the classes of a text and those of its tokens. */
function difference({ text, tokens }, found) {
  // Places are characters, and those of JavaScript are units of UTF-16.
  let units = null;
  if (/[\ud800-\udfff]/.test(text)) {
    units = [0];
    for (const character of text) units.push(units[units.length - 1] + character.length);
  }
  const unit = (at) => (units ? units[at] : at);
  let end = 0;
  const check = (from, to, expected) => {
    for (let at = from; at < to; at++) {
      if (!/[\s\ufeff]/.test(text[at]) && found[at] !== expected) {
        const line = text.slice(text.lastIndexOf("\n", at - 1) + 1).split("\n")[0];
        const number = text.slice(0, at).split("\n").length;
        return `${number}: \`${text.slice(from, to)}\` is ${expected || "nothing"}, not ${found[at] || "nothing"}: ${line.slice(0, 120)}`;
      }
    }
    return null;
  };
  for (const [from, to, expected] of tokens) {
    const wrong = check(end, unit(from), "") ?? check(unit(from), unit(to), expected);
    if (wrong) return wrong;
    end = unit(to);
  }
  return null;
}

async function main() {
  const grammars = await registry();
  const plain = textmateClasses(await grammars.loadGrammar("source.onnxtxt"));
  const engines = { "TextMate grammar": plain, "highlight.js": highlightClasses() };
  const counts = Object.fromEntries(Object.keys(engines).map((name) => [name, 0]));
  let texts = 0;
  let tokens = 0;
  for await (const line of readline.createInterface({ input: fs.createReadStream(process.argv[2]) })) {
    const row = JSON.parse(line);
    texts += 1;
    tokens += row.tokens.length;
    for (const [name, classes] of Object.entries(engines)) {
      const first = difference(row, classes(row.text));
      if (first && ++counts[name] <= shown) console.log(`${name}: ${row.path}:${first}`);
    }
  }
  for (const [name, count] of Object.entries(counts)) {
    console.log(`${name}: ${count} of ${texts} texts (${tokens} tokens) differ from the lexer`);
  }
  let wrong = 0;
  for (const [scope, texts] of Object.entries(EMBEDDED)) {
    const classes = textmateClasses(await grammars.loadGrammar(scope));
    for (const marked of texts) {
      const difference = embedded(classes, plain, marked);
      if (difference) console.log(`TextMate grammar in ${scope}: ${difference}`);
      wrong += difference ? 1 : 0;
    }
  }
  console.log(`TextMate grammar: ${wrong} texts in Python and Markdown differ`);
  if (wrong > 0 || texts < 500 || Object.values(counts).some((count) => count > 0)) process.exit(1);
}

main();
