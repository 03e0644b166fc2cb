// Prints what a page of `onnxtxt draw` shows at first as JSON: the size, boxes and open groups as [x, y, width, height], and wires as
// data of paths. Runs the scripts of the page up to where they draw.
//
// usage: node layout.js PAGE
"use strict";

const page = require("fs").readFileSync(process.argv[2], "utf8");
const textContent = page.match(/<script type="application\/json" id="model">([^]*?)<\/script>/)[1];
const script = page.match(/<script>([^]*?)<\/script>/)[1];
const end = script.indexOf("function classes(");
if (end < 0) throw new Error("the script of the page has no function `classes`");
const document = { getElementById: () => ({ textContent }) };
const shown = new Function("document", `${script.slice(0, end)}
layOut();
const at = ({ x, y, w, h }) => [x, y, w, h];
return {
  size: [flat.width, flat.height],
  boxes: flat.boxes.map(at),
  frames: flat.frames.map(at),
  wires: flat.paths.map(path => pathData(path.points, path.ox, path.oy)),
};`);
console.log(JSON.stringify(shown(document)));
