// The page: what is in the window is drawn anew whenever the view moves far enough.

const model = JSON.parse(document.getElementById("model").textContent);
const $ = id => document.getElementById(id);
const drawing = $("drawing"), viewElement = $("view"), panel = $("panel"), search = $("search");
const view = { x: 0, y: 0, scale: 1 };
/** Below this scale, text is too small to be read and is left out. */
const READABLE = 0.3;
let flat = null, drawn = null, selected = -1, hits = [], hit = -1, frame = 0;

const escapeText = text => String(text).replace(/[&<>"']/g, c => `&#${c.charCodeAt(0)};`);
const isOpen = item => model.items[item].g !== undefined && model.groups[model.items[item].g].o;

/** Gives everything that is seen coordinates. */
function layOut() {
  const order = [], stack = [0];
  while (stack.length) {
    const g = stack.pop();
    order.push(g);
    for (const rank of model.groups[g].ranks) {
      for (let at = 0; at < rank.length; at += 2) if (rank[at] >= 0 && isOpen(rank[at])) stack.push(model.items[rank[at]].g);
    }
  }
  const placed = new Map();
  const inside = item => isOpen(item) ? placed.get(model.items[item].g) : null;
  for (const g of order.reverse()) placed.set(g, place(model.groups[g], inside));
  flat = { width: placed.get(0).width, height: placed.get(0).height, boxes: [], frames: [], paths: [], labels: [], at: new Map() };
  const put = (g, x, y, depth) => {
    const own = placed.get(g);
    for (const [item, [bx, by, w, h]] of own.boxes) {
      const box = { item, x: bx + x, y: by + y, w, h, depth };
      flat.at.set(item, box);
      if (isOpen(item)) { flat.frames.push(box); put(model.items[item].g, box.x, box.y, depth + 1); } else flat.boxes.push(box);
    }
    for (const path of own.paths) {
      let [x0, x1] = [Infinity, -Infinity];
      for (const point of path.points) { x0 = Math.min(x0, point[0]); x1 = Math.max(x1, point[0]); }
      const ys = path.points.map(point => point[1]);
      flat.paths.push({ ...path, ox: x, oy: y, box: [x0 + x, Math.min(...ys) + y, x1 + x, Math.max(...ys) + y] });
    }
    for (const label of own.labels) flat.labels.push({ ...label, x: label.x + x, y: label.y + y, inside: g > 0 });
  };
  put(0, 0, 0, 0);
  flat.frames.sort((a, b) => a.depth - b.depth);
  drawn = null;
}

function classes(item) {
  const { k, f, m } = model.items[item];
  const kind = { n: "n", g: "n k", i: "io", o: "io", x: "io outside" }[k];
  return `${kind} f-${f} ${m || ""}${item === selected ? " sel" : ""}${hits.includes(item) && hits.length < 300 ? " hit" : ""}`;
}

function boxMarkup({ item, x, y, w, h }) {
  const { k, t, l, u } = model.items[item], K = model.sizes, middle = x + w / 2;
  const rect = (shift, r) => `<rect class="o" x="${x + shift}" y="${y - shift}" width="${w}" height="${h}" rx="${r}"/>`;
  let out = `<g class="g ${classes(item)}" data-item="${item}">`;
  if (k === "g") {
    out += rect(5, 7) + rect(2.5, 7) + rect(0, 7);
    return out + `<text class="t" x="${middle}" y="${y + 20}">${escapeText(t)}</text><text class="s" x="${middle}" y="${y + 36}">${escapeText(u)}</text></g>`;
  }
  const pill = k !== "n";
  out += rect(0, pill ? Math.min(h / 2, 15) : 6);
  if (!pill && l.length) out += `<path class="b" d="M${x + 1} ${y + K.head - 1}h${w - 2}v${h - K.head - 5}q0 5 -5 5h${12 - w}q-5 0 -5 -5z"/>`;
  out += `<text class="t" x="${middle}" y="${y + 18}">${escapeText(t)}</text>`;
  let top = y + K.head + (pill ? 8 : 13);
  for (const [label, text, link] of l) {
    if (pill) out += `<text class="s v" x="${middle}" y="${top}">${escapeText(text)}</text>`;
    else {
      const shift = label ? label.length * K.small * 0.605 + 7 : 0;
      if (label) out += `<text x="${x + 11}" y="${top}">${escapeText(label)}</text>`;
      out += `<text class="v${link === null ? "" : " lk"}" x="${x + 11 + shift}" y="${top}">${escapeText(text)}</text>`;
    }
    top += K.line;
  }
  return out + "</g>";
}

function frameMarkup({ item, x, y, w, h }) {
  return `<g class="in ${model.items[item].m || ""}${item === selected ? " sel" : ""}"><rect class="fr o" x="${x}" y="${y}" width="${w}" height="${h}" rx="8"/></g>`;
}

function frameHeadMarkup({ item, x, y, w }) {
  const { t, c } = model.items[item], K = model.sizes;
  return `<g class="gh" data-item="${item}"><rect class="fh" x="${x + 1}" y="${y + 1}" width="${w - 2}" height="${K.head - 5}" rx="7"/>` +
    `<text class="t l" x="${x + 9}" y="${y + 16.5}">▾ ${escapeText(t)}</text><text class="c" x="${x + w - 10}" y="${y + 16}">${c}</text></g>`;
}

/** Draws what is in the window and around it. */
function draw() {
  frame = 0;
  const width = drawing.clientWidth, height = drawing.clientHeight, { x, y, scale } = view;
  viewElement.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  $("scale").textContent = `${Math.round(scale * 100)}%`;
  const seen = [-x / scale, -y / scale, (width - x) / scale, (height - y) / scale];
  if (drawn && drawn.text === scale >= READABLE && drawn.box[0] <= seen[0] && drawn.box[1] <= seen[1] && drawn.box[2] >= seen[2] && drawn.box[3] >= seen[3]) return;
  const mx = width / scale / 2, my = height / scale / 2;
  const box = [seen[0] - mx, seen[1] - my, seen[2] + mx, seen[3] + my];
  const isIn = (x0, y0, x1, y1) => x1 >= box[0] && y1 >= box[1] && x0 <= box[2] && y0 <= box[3];
  const isBoxIn = b => isIn(b.x - 6, b.y - 6, b.x + b.w + 6, b.y + b.h + 24);
  const frames = flat.frames.filter(isBoxIn), boxes = flat.boxes.filter(isBoxIn);
  const paths = flat.paths.filter(path => isIn(...path.box));
  let out = frames.map(frameMarkup).join("");
  const isSelected = ({ link: [from, to] }) => selected >= 0 && (from === selected || to === selected);
  const mark = path => (path.link[3] || "") + (isSelected(path) ? " sel" : "");
  if (scale >= READABLE) {
    for (const path of paths) {
      out += `<path class="w ${mark(path)}" d="${pathData(path.points, path.ox, path.oy)}"/>`;
      if (path.head) {
        const [px, py] = path.points[path.points.length - 1], before = path.points[path.points.length - 2];
        out += `<path class="h ${mark(path)}" d="M${px + path.ox} ${py + path.oy}l-3.5 ${before[1] > py ? 7 : -7}h7z"/>`;
      }
    }
    out += frames.map(frameHeadMarkup).join("") + boxes.map(boxMarkup).join("");
    for (const label of flat.labels) {
      if (isIn(label.x - 100, label.y - 12, label.x + 100, label.y)) {
        out += `<text class="y ${label.inside ? "d " : ""}${label.mark || ""}" x="${label.x}" y="${label.y}">${escapeText(model.values[label.value][2])}</text>`;
      }
    }
  } else {
    // As few elements as possible: one path for all that looks the same.
    const byClass = new Map();
    const add = (key, data) => byClass.set(key, (byClass.get(key) || "") + data);
    for (const path of paths) add(`<path class="w ${mark(path)}" d="`, pathData(path.points, path.ox, path.oy));
    for (const b of boxes) add(`<g class="g ${classes(b.item)}"><path class="o" d="`, `M${b.x} ${b.y}h${b.w}v${b.h}h${-b.w}z`);
    for (const [start, data] of byClass) out += start + data + (start.startsWith("<g") ? '"/></g>' : '"/>');
  }
  viewElement.innerHTML = out;
  drawn = { box, text: scale >= READABLE };
}

function redraw(all) {
  if (all) drawn = null;
  if (!frame) frame = requestAnimationFrame(draw);
}

function zoom(factor, cx, cy) {
  const scale = Math.min(4, Math.max(0.02, view.scale * factor));
  const x = cx === undefined ? drawing.clientWidth / 2 : cx, y = cy === undefined ? drawing.clientHeight / 2 : cy;
  view.x = x - (x - view.x) * scale / view.scale;
  view.y = y - (y - view.y) * scale / view.scale;
  view.scale = scale;
  redraw();
}

/** Shows everything, or the top if everything would be too small. */
function fit(least) {
  const w = drawing.clientWidth, h = drawing.clientHeight;
  view.scale = Math.max(least, Math.min(1.1, w / flat.width, h / flat.height));
  view.x = (w - flat.width * view.scale) / 2;
  view.y = Math.max(0, (h - flat.height * view.scale) / 2);
  redraw();
}

function center(item, least) {
  const b = flat.at.get(item);
  if (!b) return;
  view.scale = Math.max(view.scale, least);
  view.x = drawing.clientWidth / 2 - (b.x + b.w / 2) * view.scale;
  view.y = drawing.clientHeight / 2 - (b.y + Math.min(b.h, 200) / 2) * view.scale;
  redraw();
}

/** Opens the groups around a box, and shows it. */
function show(item) {
  let changed = false;
  for (let g = model.items[item].p; g > 0; g = model.items[model.groups[g].i].p) {
    if (!model.groups[g].o) { model.groups[g].o = true; changed = true; }
  }
  if (changed) layOut();
  select(item);
  center(item, 0.8);
}

/** Opens or closes a group; its upper left corner stays where it is. */
function toggle(item) {
  const before = flat.at.get(item), group = model.groups[model.items[item].g];
  const x = before.x * view.scale + view.x, y = before.y * view.scale + view.y;
  const width = before.w;
  group.o = !group.o;
  layOut();
  const after = flat.at.get(item);
  view.x = x - (after.x + (after.w - width) / 2) * view.scale;
  view.y = y - after.y * view.scale;
  redraw(true);
}

function toggleAll(open) {
  model.groups.forEach((group, at) => { if (at > 0) group.o = open; });
  layOut();
  fit(0.4);
  redraw(true);
}

function select(item) {
  selected = item;
  fillPanel();
  redraw(true);
}

function link(name) {
  return producers.has(name) ? `<a data-go="${producers.get(name)}">${escapeText(name)}</a>` : escapeText(name);
}

function number(x) {
  if (x === null || x === undefined) return "–";
  return Number.isInteger(x) ? x.toLocaleString("en") : Number(x.toPrecision(4)).toString();
}

function fillPanel() {
  panel.hidden = selected < 0;
  if (selected < 0) return;
  const item = model.items[selected];
  const kind = { i: "input", o: "output", x: "outside of the drawing" }[item.k];
  let out = `<button class="x" title="Close (Esc)" aria-label="Close">×</button><h2>${escapeText(item.tt || item.t)}</h2>`;
  if (item.n && item.n !== item.t) out += `<p class="name">${escapeText(item.n)}</p>`;
  if (kind) out += `<p class="name">${kind} ${item.l.map(line => `<span class="ty">${escapeText(line[1])}</span>`).join(" ")}</p>`;
  if (item.g !== undefined) {
    const open = model.groups[item.g].o;
    out += `<p class="name">${escapeText(item.u)}</p><p><a data-toggle="${selected}">${open ? "Collapse" : "Expand"}</a></p>`;
  }
  if (item.m) out += `<h3>Difference</h3><ul class="diff"><li>${item.m}</li>${(item.d || []).map(d => `<li>${escapeText(d)}</li>`).join("")}</ul>`;
  const section = (title, rows) => { if (rows.length) out += `<h3>${title}</h3><table>${rows.join("")}</table>`; };
  const row = (a, b) => `<tr><td>${a}</td><td>${b}</td></tr>`;
  section("Attributes", (item.a || []).map(([name, value]) => row(escapeText(name), `<code>${escapeText(value)}</code>`)));
  const operand = ([parameter, name, type], at) =>
    row(escapeText(parameter || at), name ? `${link(name)}<br><span class="ty">${escapeText(type)}</span>` : "–");
  section("Inputs", (item.i || []).map(operand));
  section("Outputs", (item.o || []).map(([, name, type], at) => row(at, `${escapeText(name)}<br><span class="ty">${escapeText(type)}</span>`)));
  if (item.w) {
    out += "<h3>Weights</h3>";
    for (const w of item.w) {
      out += `<div><code>${escapeText(w.name)}</code></div><div class="numbers">` +
        [["min", w.min], ["max", w.max], ["mean", w.mean], ["std", w.std], ["count", w.count], ["zeros", w.zeros], ["NaN", w.nan], ["inf", w.infinite]]
          .map(([label, x]) => `<span><b>${label}</b>${number(x)}</span>`).join("") + "</div>";
      const most = Math.max(1, ...w.histogram);
      if (w.histogram.length) out += `<div class="bars">${w.histogram.map(n => `<i style="height:${n / most * 100}%" title="${n}"></i>`).join("")}</div>`;
    }
  }
  if (item.x) out += `<h3>Text</h3><pre>${escapeText(item.x)}</pre>`;
  panel.innerHTML = out;
  panel.scrollTop = 0;
}

/** Finds boxes by operator, name, and names of values; `op:Conv` by operator alone. */
function find(text) {
  const wanted = text.trim().toLowerCase();
  hits = [];
  if (wanted) {
    const op = wanted.startsWith("op:") ? wanted.slice(3) : null;
    model.items.forEach((item, at) => {
      const names = op === null ? [item.tt || item.t, item.n, ...(item.z || []), ...(item.o || []).map(o => o[1])] : [item.k === "n" ? item.tt || item.t : ""];
      const matches = names.some(name => name && (op === null ? name.toLowerCase().includes(wanted) : name.toLowerCase() === op));
      if (matches) hits.push(at);
    });
  }
  hit = -1;
  $("count").textContent = wanted ? `${hits.length} found` : "";
  redraw(true);
}

function nextHit(step) {
  if (!hits.length) return;
  hit = hit < 0 ? (step > 0 ? 0 : hits.length - 1) : (hit + step + hits.length) % hits.length;
  $("count").textContent = `${hit + 1} of ${hits.length}`;
  show(hits[hit]);
}

const producers = new Map();
model.items.forEach((item, at) => {
  if (item.k === "i" && item.n) producers.set(item.n, at);
  for (const [, name] of item.o || []) if (name) producers.set(name, at);
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const families = new Map(), probe = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const item of model.items) if ("ng".includes(item.k) && (item.k === "n" || item.x)) families.set(item.f, item.m);
  $("legend").innerHTML = "";
  for (const name of families.keys()) {
    probe.innerHTML = `<g class="g f-${name}"><rect class="o"/></g>`;
    viewElement.appendChild(probe);
    const style = getComputedStyle(probe.querySelector(".o")), chip = document.createElement("span");
    chip.innerHTML = `<i style="background:${style.fill};border-color:${style.stroke}"></i>${name}`;
    $("legend").appendChild(chip);
    probe.remove();
  }
  $("legend").hidden = !families.size;
}

/** The box at a point of the window, the innermost one. */
function boxAt(px, py) {
  const x = (px - view.x) / view.scale, y = (py - view.y) / view.scale;
  const has = (b, h) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + h;
  const box = flat.boxes.find(b => has(b, b.h));
  if (box) return { item: box.item, isHead: false };
  for (let at = flat.frames.length - 1; at >= 0; at--) {
    const frame = flat.frames[at];
    if (has(frame, frame.h)) return { item: frame.item, isHead: has(frame, model.sizes.head) };
  }
  return null;
}

// Pointers: one moves the view, two zoom.
const pointers = new Map();
let moved = 0;
const local = event => { const box = drawing.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
drawing.addEventListener("pointerdown", event => {
  if (event.button > 1) return;
  drawing.setPointerCapture(event.pointerId);
  pointers.set(event.pointerId, local(event));
  if (pointers.size === 1) moved = 0;
});
drawing.addEventListener("pointermove", event => {
  const before = pointers.get(event.pointerId), now = local(event);
  if (!before) return;
  if (pointers.size === 1) {
    view.x += now[0] - before[0];
    view.y += now[1] - before[1];
  } else {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const far = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);
    zoom(far(now, other) / Math.max(1, far(before, other)), other[0], other[1]);
  }
  moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
  pointers.set(event.pointerId, now);
  if (moved > 4) drawing.classList.add("moving");
  redraw();
});
const release = event => {
  const isClick = pointers.size === 1 && moved <= 4 && event.type === "pointerup";
  pointers.delete(event.pointerId);
  drawing.classList.remove("moving");
  if (!isClick) return;
  const found = boxAt(...local(event));
  if (!found) select(-1);
  else if (found.isHead) { toggle(found.item); select(found.item); }
  else select(found.item);
};
drawing.addEventListener("pointerup", release);
drawing.addEventListener("pointercancel", release);
drawing.addEventListener("dblclick", event => {
  const found = boxAt(...local(event));
  if (found && !found.isHead && model.items[found.item].g !== undefined && !isOpen(found.item)) toggle(found.item);
});
drawing.addEventListener("wheel", event => {
  event.preventDefault();
  const unit = event.deltaMode === 1 ? 16 : 1;
  if (event.ctrlKey || event.metaKey || !event.shiftKey && Math.abs(event.deltaY) > Math.abs(event.deltaX)) {
    zoom(Math.exp(-event.deltaY * unit * 0.0016), ...local(event));
  } else {
    view.x -= event.deltaX * unit || event.deltaY * unit;
    redraw();
  }
}, { passive: false });

panel.addEventListener("click", event => {
  const { go, toggle: group } = event.target.dataset;
  if (event.target.classList.contains("x")) select(-1);
  else if (go !== undefined) show(Number(go));
  else if (group !== undefined) { if (flat.at.has(Number(group))) toggle(Number(group)); fillPanel(); }
});

search.addEventListener("input", () => find(search.value));
search.addEventListener("keydown", event => {
  if (event.key === "Enter") { event.preventDefault(); nextHit(event.shiftKey ? -1 : 1); }
  if (event.key === "Escape") { search.value = ""; find(""); search.blur(); }
});

const actions = {
  "/": () => { search.focus(); search.select(); },
  "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8), "0": () => fit(0.02),
  "1": () => zoom(1 / view.scale), "e": () => toggleAll(true), "c": () => toggleAll(false),
  "t": () => switchTheme(), "n": () => nextHit(1), "Escape": () => select(-1),
  "ArrowUp": () => { view.y += 80; }, "ArrowDown": () => { view.y -= 80; },
  "ArrowLeft": () => { view.x += 80; }, "ArrowRight": () => { view.x -= 80; },
};
document.addEventListener("keydown", event => {
  if (event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); redraw(); }
});

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
function switchTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}
prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
$("theme").addEventListener("click", switchTheme);
$("in").addEventListener("click", () => zoom(1.25));
$("out").addEventListener("click", () => zoom(0.8));
$("scale").addEventListener("click", () => zoom(1 / view.scale));
$("fit").addEventListener("click", () => fit(0.02));
$("open").addEventListener("click", () => toggleAll(true));
$("close").addEventListener("click", () => toggleAll(false));
window.addEventListener("resize", () => redraw());

setTheme(prefersDark.matches ? "dark" : "light");
layOut();
// A tall drawing begins at its top, in a size that can be read.
fit(Math.min(1, Math.max(0.5, drawing.clientWidth / flat.width)));
