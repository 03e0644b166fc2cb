// The drawing of a model, and which box is which statement. A box has a title: `Relu · r · [r] y = Relu(t)`.

export interface Statement {
  /** The text of the statement. */
  text: string;
  /** Its first line. */
  line: number;
}

/** The text of a statement in the title of a box, or "" if the box is not a statement. */
export function statementOf(title: string): string {
  const parts = title.split(" · ");
  return parts.length < 3 ? "" : parts.slice(2).join(" · ");
}

/** Without blanks, and without what a title cuts off. */
function key(text: string): string {
  return text.replace(/#.*$/gm, "").replace(/\s+/g, "").replace(/…$/, "");
}

/** The statement of a box. */
export function lineOf(title: string, statements: readonly Statement[]): number | undefined {
  const wanted = key(statementOf(title));
  return wanted === "" ? undefined : statements.find(({ text }) => key(text).startsWith(wanted))?.line;
}

/** The box of the statement at a line: the last one that begins there or above. */
export function titleAt(line: number, titles: readonly string[], statements: readonly Statement[]): string | undefined {
  let best: { title: string; line: number } | undefined;
  for (const title of titles) {
    const start = lineOf(title, statements);
    if (start !== undefined && start <= line && (best === undefined || start >= best.line)) {
      best = { title, line: start };
    }
  }
  return best?.title;
}

/** The page that shows a drawing. It runs only the script with this nonce, and loads nothing. */
export function page(svg: string, nonce: string): string {
  return `<!DOCTYPE html>
<html>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<style>
  body { margin: 0; padding: 1em; }
  .g { cursor: pointer; }
  .g.selected .o { stroke-width: 3; }
</style>
</head>
<body>
${svg}
<script nonce="${nonce}">
  const api = acquireVsCodeApi();
  const boxes = [...document.querySelectorAll("g.g")];
  const titleOf = (box) => box.querySelector("title")?.textContent ?? "";
  const select = (title) => {
    for (const box of boxes) {
      const isSelected = titleOf(box) === title;
      box.classList.toggle("selected", isSelected);
      if (isSelected) box.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  };
  for (const box of boxes) {
    box.addEventListener("click", () => { select(titleOf(box)); api.postMessage({ select: titleOf(box) }); });
  }
  window.addEventListener("message", ({ data }) => select(data.select));
  api.postMessage({ titles: boxes.map(titleOf) });
</script>
</body>
</html>`;
}

/** The titles of the boxes of a drawing. */
export function titles(svg: string): string[] {
  const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", "#39": "'" };
  const found = svg.matchAll(/<g class="g[^"]*"><title>([^<]*)<\/title>/g);
  return [...found].map(([, title]) => (title ?? "").replace(/&(\w+|#39);/g, (all, name: string) => entities[name] ?? all));
}
