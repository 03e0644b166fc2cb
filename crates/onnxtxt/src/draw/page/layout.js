"use strict";
// Coordinates of open groups: the same as stack.rs, which explains it.

/** Positions of what is in a rank, as near as possible to those wanted. */
function positions(rank, width) {
  const K = model.sizes, offsets = [], pools = [];
  let offset = 0;
  for (let at = 0; at < rank.length; at += 2) {
    const what = rank[at];
    if (at > 0) {
      const before = rank[at - 2];
      offset += (width(before) + width(what)) / 2 + (before >= 0 && what >= 0 ? K.boxGap : K.wireGap);
    }
    offsets.push(offset);
    let pool = [what >= 0 ? width(what) : 20, rank[at + 1] - offset, 1];
    while (pools.length && pools[pools.length - 1][1] > pool[1]) {
      const [w, mean, count] = pools.pop();
      pool = [w + pool[0], (w * mean + pool[0] * pool[1]) / (w + pool[0]), count + pool[2]];
    }
    pools.push(pool);
  }
  const out = [];
  for (const [, mean, count] of pools) for (let i = 0; i < count; i++) out.push(mean + offsets[out.length]);
  return out;
}

/** Gives a group coordinates, once those in it have theirs. `inside(item)` is what is in an open group. */
function place(group, inside) {
  const K = model.sizes, { ranks, links } = group;
  const isRoot = group.r === "root", headHeight = isRoot ? 0 : K.head;
  const top = headHeight + K.pad + (links.filter(link => link[0] < 0).length > 1 ? K.entryGap : 0);
  const leaving = new Map();
  for (const [from, , value] of links) {
    if (from < 0 || inside(from) || !"ng".includes(model.items[from].k)) continue;
    const values = leaving.get(from) || [];
    if (!values.includes(value)) values.push(value);
    leaving.set(from, values);
  }
  const sizes = new Map();
  for (const rank of ranks) for (let at = 0; at < rank.length; at += 2) {
    const item = rank[at];
    if (item < 0) continue;
    const open = inside(item), values = leaving.get(item);
    let [w, h] = open ? [open.width, open.height] : model.items[item].s;
    if (values && values.length <= K.maxLabels) {
      w = Math.max(w, values.reduce((sum, v) => sum + model.values[v][2].length * K.label * 0.605 + 10, 0));
    }
    sizes.set(item, [w, h]);
  }
  const width = what => what >= 0 ? sizes.get(what)[0] : 0;
  const xs = ranks.map(rank => positions(rank, width));
  let left = Infinity, right = -Infinity;
  ranks.forEach((rank, r) => xs[r].forEach((x, i) => {
    const half = rank[2 * i] >= 0 ? width(rank[2 * i]) / 2 : 2;
    left = Math.min(left, x - half);
    right = Math.max(right, x + half);
  }));
  if (!ranks.length) left = right = 0;
  const head = isRoot ? 0 : model.items[group.i].hw;
  const spare = Math.max(0, head - (right - left) - 2 * K.pad) / 2, shift = K.pad + spare - left;
  const out = { width: right - left + 2 * (K.pad + spare), height: 0, boxes: new Map(), paths: [], labels: [], entries: new Map(), exits: new Map() };
  // Ranks from top to bottom.
  const last = new Map(), rows = [], centers = new Map(), crossings = links.map(() => []);
  let y = top;
  ranks.forEach((rank, r) => {
    let height = 0, bends = 0;
    for (let at = 0; at < rank.length; at += 2) {
      if (rank[at] >= 0) height = Math.max(height, sizes.get(rank[at])[1]);
      else {
        const x = xs[r][at / 2], before = last.get(rank[at]);
        if (before && before[0] + 1 === r && Math.abs(before[1] - x) > 1) bends++;
        last.set(rank[at], [r, x]);
      }
    }
    y += Math.min(bends * K.bendGap, K.maxBends);
    for (let at = 0; at < rank.length; at += 2) {
      const x = xs[r][at / 2] + shift;
      if (rank[at] >= 0) {
        const [w, h] = sizes.get(rank[at]);
        out.boxes.set(rank[at], [x - w / 2, y + (height - h) / 2, w, h]);
        centers.set(rank[at], [r, x]);
      } else crossings[-1 - rank[at]].push([r, x]);
    }
    rows.push([y, y + height]);
    y += height + K.rankGap;
  });
  out.height = (ranks.length ? y - K.rankGap + K.pad : top + K.pad) + (links.some(link => link[1] < 0) ? K.entryGap : 0);
  const isDown = ([from, to]) => from < 0 || to < 0 || centers.get(from)[0] < centers.get(to)[0];
  const ports = links.map(() => [NaN, NaN]);
  for (const side of [0, 1]) {
    const atBox = new Map();
    links.forEach((link, at) => {
      const own = link[side], other = link[1 - side];
      if (own < 0) return;
      const open = inside(own), fixed = open && (side ? open.entries : open.exits).get(link[2]);
      if (fixed !== undefined && fixed !== null) { ports[at][side] = out.boxes.get(own)[0] + fixed; return; }
      const list = crossings[at];
      const near = (side === 0) === isDown(link) ? list[0] : list[list.length - 1];
      const x = near ? near[1] : centers.get(other >= 0 ? other : own)[1];
      if (!atBox.has(own)) atBox.set(own, []);
      atBox.get(own).push([x, at]);
    });
    for (const [item, list] of atBox) {
      list.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      const places = [], index = list.map(([, at]) => {
        const value = links[at][2], known = side ? -1 : places.indexOf(value);
        return known >= 0 ? known : places.push(value) - 1;
      });
      const [x, , w] = out.boxes.get(item), count = places.length;
      const gap = !side && count > 1 && count <= K.maxLabels ? w / count : Math.min(K.portGap, (w - 12) / count);
      list.forEach(([, at], i) => { ports[at][side] = x + w / 2 + (index[i] - (count - 1) / 2) * gap; });
    }
  }
  ports.forEach((ends, at) => {
    const list = crossings[at];
    if (isNaN(ends[0])) ends[0] = list.length ? list[0][1] : ends[1];
    if (isNaN(ends[1])) ends[1] = list.length ? list[list.length - 1][1] : ends[0];
    for (const side of [0, 1]) if (isNaN(ends[side])) ends[side] = K.pad;
  });
  links.forEach((link, at) => {
    const [from, to, value] = link, down = isDown(link), points = [], leave = down ? 1 : 0, enter = down ? 0 : 1;
    if (from >= 0) {
      const [, y, , h] = out.boxes.get(from);
      const run = (leaving.get(from) || []).length, row = rows[centers.get(from)[0]];
      points.push([ports[at][0], down ? y + h : y]);
      points.push([ports[at][0], down ? Math.max(row[1], y + h + (run && run <= K.maxLabels ? K.run : 0)) : row[0]]);
    } else points.push([ports[at][0], 0], [ports[at][0], headHeight]);
    const list = down ? crossings[at] : crossings[at].slice().reverse();
    for (const [r, x] of list) points.push([x, rows[r][enter]], [x, rows[r][leave]]);
    if (to >= 0) {
      const [, y, , h] = out.boxes.get(to), lift = model.items[to].k === "g" && !inside(to) ? K.lift : 0;
      const end = down ? y - lift : y + h, before = rows[centers.get(to)[0]][enter];
      points.push([ports[at][1], down ? Math.min(before, end) : Math.max(before, end)], [ports[at][1], end]);
    } else points.push([ports[at][1], out.height]);
    if (from < 0 && !out.entries.has(value)) out.entries.set(value, points[0][0]);
    if (to < 0 && !out.exits.has(value)) out.exits.set(value, points[points.length - 1][0]);
    const open = to >= 0 && inside(to);
    out.paths.push({ link, points, head: to >= 0 && !(open && open.entries.has(value)) });
  });
  const shown = new Set();
  for (const { link: [from, to, value, mark], points } of out.paths) {
    if (from < 0) points[0][0] = points[1][0] = out.entries.get(value);
    if (to < 0) points[points.length - 1][0] = out.exits.get(value);
    const few = from >= 0 && (leaving.get(from) || []).length, key = from + ":" + value;
    if (few && few <= K.maxLabels && model.values[value][2] && !shown.has(key)) {
      shown.add(key);
      const [, y, , h] = out.boxes.get(from);
      out.labels.push({ x: points[0][0], y: y + h + 15, value, mark });
    }
  }
  return out;
}

/** Points as the data of a path. */
function pathData(points, left, top) {
  const n = x => Math.round(x * 10) / 10;
  let out = "", was = NaN, before = NaN;
  points.forEach(([px, py], at) => {
    const x = px + left, y = py + top;
    if (at === 0) out += `M${n(x)} ${n(y)}`;
    else if (Math.abs(was - x) < 0.05) { if (Math.abs(before - y) >= 0.05) out += `V${n(y)}`; }
    else { const middle = (before + y) / 2; out += `C${n(was)} ${n(middle)} ${n(x)} ${n(middle)} ${n(x)} ${n(y)}`; }
    was = x; before = y;
  });
  return out;
}
