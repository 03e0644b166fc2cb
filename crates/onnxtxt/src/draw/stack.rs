//! Coordinates: ranks below each other, boxes beside each other, wires around boxes.
//!
//! The page does the same whenever a group is opened or closed: `page/layout.js` is this file again, and they have to agree.
//!
//! A wire leaves a box downwards to the end of its rank, bends between ranks only, and crosses a rank at a place of its own. So no
//! wire crosses a box, however high the boxes beside it are.

use super::layers::{Layers, What};
use super::links::Link;
use super::scene::{GroupId, Item, ItemId, Kind, Mark, Reason, Scene, ValueIndex};
use super::text;
use std::collections::HashMap;

/// Space around what is in a group.
pub(super) const PAD: f64 = 18.0;
/// The height of the head of a group, and of a box.
pub(super) const HEAD: f64 = 27.0;
/// The height of a line.
pub(super) const LINE: f64 = 15.0;
/// Space between boxes, and between a wire and what is beside it.
pub(super) const BOX_GAP: f64 = 26.0;
pub(super) const WIRE_GAP: f64 = 12.0;
/// Space between ranks, and more for each wire that bends there.
pub(super) const RANK_GAP: f64 = 46.0;
pub(super) const BEND_GAP: f64 = 1.5;
pub(super) const MAX_BENDS: f64 = 40.0;
/// Space between wires that enter or leave a box.
pub(super) const PORT_GAP: f64 = 22.0;
/// Wires from a box whose types are shown.
pub(super) const MAX_LABELS: usize = 3;
/// Fonts.
pub(super) const TITLE: f64 = 13.0;
pub(super) const SMALL: f64 = 11.0;
pub(super) const LABEL: f64 = 10.0;
/// Lines of a box, and characters of a line.
pub(super) const MAX_LINES: usize = 8;
const MAX_CHARS: usize = 34;
const MAX_TITLE: usize = 30;
/// Characters of a type beside a wire.
const MAX_LABEL: usize = 30;

/// A group with coordinates, from its upper left corner.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub(super) width: f64,
    pub(super) height: f64,
    /// The upper left corners of boxes, and their sizes.
    pub(super) boxes: Vec<(ItemId, [f64; 4])>,
    pub(super) paths: Vec<Path>,
    pub(super) labels: Vec<Label>,
    /// Where values enter and leave.
    entries: HashMap<ValueIndex, f64>,
    exits: HashMap<ValueIndex, f64>,
}

/// The way of a wire in a group.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub(super) link: Link,
    pub(super) points: Vec<[f64; 2]>,
    /// Whether it ends at a box, not at the border of a group.
    pub(super) has_head: bool,
}

/// The type of a value, below the box that it is from.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) at: [f64; 2],
    pub(super) value: ValueIndex,
    pub(super) mark: Mark,
}

/// The title of a box as it is drawn.
pub(super) fn title(item: &Item) -> String {
    text::cut(&item.title, MAX_TITLE)
}

/// The lines of a box as they are drawn: label and text.
pub(super) fn lines(item: &Item) -> Vec<(String, String)> {
    let mut lines: Vec<(String, String)> = Vec::new();
    let is_all = item.lines.len() <= MAX_LINES;
    for line in item.lines.iter().take(if is_all { MAX_LINES } else { MAX_LINES - 1 }) {
        let label = text::cut(&line.label, MAX_CHARS / 2);
        let room = MAX_CHARS - label.chars().count().min(MAX_CHARS / 2);
        lines.push((
            label,
            if line.link.is_some() { text::cut(&line.text, room) } else { text::cut_end(&line.text, room) },
        ));
    }
    if !is_all {
        lines.push((String::new(), format!("… {} more", item.lines.len() + 1 - MAX_LINES)));
    }
    lines.extend(
        item.detail.changes.iter().take(3).map(|change| (String::new(), text::cut(change, MAX_CHARS + 8))),
    );
    lines
}

/// The line below the title of a closed group.
pub(super) fn subtitle(scene: &Scene, group: GroupId) -> String {
    match scene.node_count(group) {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

/// The type of a value as it is drawn beside a wire.
pub(super) fn label(scene: &Scene, value: ValueIndex) -> String {
    text::cut_end(&scene.values[value].ty, MAX_LABEL)
}

/// The size of a box that is closed.
pub(super) fn closed_size(scene: &Scene, id: ItemId) -> [f64; 2] {
    let item = &scene.items[id];
    let title_width = text::sans(&title(item), TITLE) + 24.0;
    if let Some(group) = item.group() {
        return [title_width.max(text::sans(&subtitle(scene, group), SMALL) + 24.0).max(130.0) + 20.0, 46.0];
    }
    let lines = lines(item);
    let line_width = |(label, line): &(String, String)| {
        text::mono(label, SMALL) + text::mono(line, SMALL) + if label.is_empty() { 24.0 } else { 31.0 }
    };
    let width = lines.iter().map(line_width).fold(title_width, f64::max);
    #[allow(clippy::cast_precision_loss, reason = "a few lines")]
    let below = lines.len() as f64 * LINE;
    match item.kind {
        Kind::Node | Kind::Group(_) => {
            [width.max(96.0), HEAD + if lines.is_empty() { 0.0 } else { below + 7.0 }]
        }
        Kind::Input | Kind::Output | Kind::Outside => {
            [width.max(64.0) + 10.0, HEAD + if lines.is_empty() { 0.0 } else { below + 2.0 }]
        }
    }
}

/// The size of a box: of an open group, that of what is in it.
pub(super) fn size(scene: &Scene, placed: &[Option<Placed>], id: ItemId) -> [f64; 2] {
    match open(scene, placed, id) {
        Some(inside) => [inside.width, inside.height],
        None => closed_size(scene, id),
    }
}

/// What is in a box that is an open group.
fn open<'p>(scene: &Scene, placed: &'p [Option<Placed>], id: ItemId) -> Option<&'p Placed> {
    let group = scene.items[id].group().filter(|&group| scene.groups[group].is_open)?;
    placed[group].as_ref()
}

/// Whether the type of a value is shown below a box.
fn is_labelled(item: &Item) -> bool {
    match item.kind {
        Kind::Node | Kind::Group(_) => true,
        Kind::Input | Kind::Output | Kind::Outside => false,
    }
}

/// Gives a group coordinates, once all groups in it have theirs.
pub(super) fn place(scene: &Scene, layers: &Layers, placed: &[Option<Placed>], group: GroupId) -> Placed {
    let is_root = scene.groups[group].reason == Reason::Root;
    let top = if is_root { PAD } else { HEAD + PAD };
    // The labels of a box are no wider than the box.
    let mut leaving: HashMap<ItemId, Vec<ValueIndex>> = HashMap::new();
    for link in &layers.links {
        if let Some(from) =
            link.from.filter(|&from| is_labelled(&scene.items[from]) && open(scene, placed, from).is_none())
        {
            let values = leaving.entry(from).or_default();
            if !values.contains(&link.value) {
                values.push(link.value);
            }
        }
    }
    let mut sizes: HashMap<ItemId, [f64; 2]> = HashMap::new();
    for slot in layers.ranks.iter().flatten() {
        if let What::Item(id) = slot.what {
            let [mut width, height] = size(scene, placed, id);
            if let Some(values) = leaving.get(&id).filter(|values| values.len() <= MAX_LABELS) {
                let labels = values.iter().map(|&value| text::mono(&label(scene, value), LABEL) + 10.0);
                width = width.max(labels.sum());
            }
            sizes.insert(id, [width, height]);
        }
    }
    let xs: Vec<Vec<f64>> = layers.ranks.iter().map(|rank| positions(rank, &sizes)).collect();
    let half = |what: What| match what {
        What::Item(id) => sizes[&id][0] / 2.0,
        What::Link(_) => 2.0,
    };
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    for (rank, xs) in layers.ranks.iter().zip(&xs) {
        for (slot, x) in rank.iter().zip(xs) {
            left = left.min(x - half(slot.what));
            right = right.max(x + half(slot.what));
        }
    }
    if layers.ranks.is_empty() {
        (left, right) = (0.0, 0.0);
    }
    let head =
        scene.groups[group].item.map_or(0.0, |item| text::sans(&title(&scene.items[item]), TITLE) + 60.0);
    let spare = (head - (right - left) - 2.0 * PAD).max(0.0) / 2.0;
    let shift = PAD + spare - left;
    let mut out = Placed { width: right - left + 2.0 * (PAD + spare), ..Placed::default() };
    // Ranks from top to bottom.
    let bends = bends(layers, &xs);
    let mut y = top;
    let mut ranks = Vec::with_capacity(layers.ranks.len());
    let mut centers: HashMap<ItemId, (usize, f64)> = HashMap::new();
    let mut crossings: Vec<Vec<(usize, f64)>> = vec![Vec::new(); layers.links.len()];
    for (at, (rank, xs)) in layers.ranks.iter().zip(&xs).enumerate() {
        let height = rank.iter().map(|slot| match slot.what {
            What::Item(id) => sizes[&id][1],
            What::Link(_) => 0.0,
        });
        let height = height.fold(0.0, f64::max);
        y += (bends[at] * BEND_GAP).min(MAX_BENDS);
        for (slot, x) in rank.iter().zip(xs) {
            match slot.what {
                What::Item(id) => {
                    let [w, h] = sizes[&id];
                    out.boxes.push((id, [x + shift - w / 2.0, y + (height - h) / 2.0, w, h]));
                    centers.insert(id, (at, x + shift));
                }
                What::Link(link) => crossings[link].push((at, x + shift)),
            }
        }
        ranks.push([y, y + height]);
        y += height + RANK_GAP;
    }
    out.height = if ranks.is_empty() { top + PAD } else { y - RANK_GAP + PAD };
    let boxes: HashMap<ItemId, [f64; 4]> = out.boxes.iter().copied().collect();
    let ports = ports(scene, layers, placed, &boxes, &centers, &crossings);
    for (at, link) in layers.links.iter().enumerate() {
        let crossings = &crossings[at];
        let end = |item: Option<ItemId>, x: f64| item.map(|item| (item, centers[&item].0, x));
        let from = end(link.from, ports[at][0]);
        let to = end(link.to, ports[at][1]);
        let points = route(from, to, ports[at], crossings, &ranks, &boxes, out.height);
        if from.is_none() {
            out.entries.entry(link.value).or_insert(points.first().map_or(0.0, |point| point[0]));
        }
        if to.is_none() {
            out.exits.entry(link.value).or_insert(points.last().map_or(0.0, |point| point[0]));
        }
        let has_head = link.to.is_some_and(|to| {
            open(scene, placed, to).is_none_or(|open| !open.entries.contains_key(&link.value))
        });
        out.paths.push(Path { link: *link, points, has_head });
    }
    // What enters or leaves has one place on the border.
    for path in &mut out.paths {
        if let (None, Some(&x), Some(first)) =
            (path.link.from, out.entries.get(&path.link.value), path.points.first_mut())
        {
            first[0] = x;
        }
        if let (None, Some(&x), Some(last)) =
            (path.link.to, out.exits.get(&path.link.value), path.points.last_mut())
        {
            last[0] = x;
        }
    }
    let mut shown = std::collections::HashSet::new();
    for path in &out.paths {
        let Some(from) = path.link.from else { continue };
        let is_few = leaving.get(&from).is_some_and(|values| values.len() <= MAX_LABELS);
        let text = !scene.values[path.link.value].ty.is_empty();
        if is_few && text && shown.insert((from, path.link.value)) {
            let [_, y, _, h] = boxes[&from];
            out.labels.push(Label {
                at: [path.points[0][0], y + h + 15.0],
                value: path.link.value,
                mark: path.link.mark,
            });
        }
    }
    out
}

/// The positions of what is in a rank: as near as possible to those wanted, in order, with space between them.
///
/// Pools of adjacent violators: what is too near is moved together, boxes less than wires.
fn positions(rank: &[super::layers::Slot], sizes: &HashMap<ItemId, [f64; 2]>) -> Vec<f64> {
    let width = |what: What| match what {
        What::Item(id) => sizes[&id][0],
        What::Link(_) => 0.0,
    };
    let weight = |what: What| match what {
        What::Item(id) => sizes[&id][0],
        What::Link(_) => 20.0,
    };
    let mut offsets = Vec::with_capacity(rank.len());
    let mut offset = 0.0;
    for (at, slot) in rank.iter().enumerate() {
        if let Some(before) = at.checked_sub(1).map(|before| rank[before].what) {
            let are_boxes = matches!((before, slot.what), (What::Item(_), What::Item(_)));
            let gap = if are_boxes { BOX_GAP } else { WIRE_GAP };
            offset += (width(before) + width(slot.what)) / 2.0 + gap;
        }
        offsets.push(offset);
    }
    // Each pool: the sum of weights, the weighted mean, how many it has.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for (slot, offset) in rank.iter().zip(&offsets) {
        let mut pool = (weight(slot.what), slot.x - offset, 1);
        while let Some(&(w, mean, count)) = pools.last()
            && mean > pool.1
        {
            pools.pop();
            pool = (w + pool.0, (w * mean + pool.0 * pool.1) / (w + pool.0), count + pool.2);
        }
        pools.push(pool);
    }
    let means = pools.iter().flat_map(|&(_, mean, count)| std::iter::repeat_n(mean, count));
    means.zip(&offsets).map(|(mean, offset)| mean + offset).collect()
}

/// How many wires bend above each rank.
fn bends(layers: &Layers, xs: &[Vec<f64>]) -> Vec<f64> {
    let mut last: Vec<Option<(usize, f64)>> = vec![None; layers.links.len()];
    let mut bends = vec![0.0; xs.len()];
    for (at, (rank, xs)) in layers.ranks.iter().zip(xs).enumerate() {
        for (slot, x) in rank.iter().zip(xs) {
            if let What::Link(link) = slot.what {
                if let Some((before, was)) = last[link]
                    && before + 1 == at
                    && (was - x).abs() > 1.0
                {
                    bends[at] += 1.0;
                }
                last[link] = Some((at, *x));
            }
        }
    }
    bends
}

/// Where each link leaves and where it ends, horizontally.
fn ports(
    scene: &Scene,
    layers: &Layers,
    placed: &[Option<Placed>],
    boxes: &HashMap<ItemId, [f64; 4]>,
    centers: &HashMap<ItemId, (usize, f64)>,
    crossings: &[Vec<(usize, f64)>],
) -> Vec<[f64; 2]> {
    let mut ports = vec![[f64::NAN; 2]; layers.links.len()];
    // Neighbours decide the order of ports on a box.
    let is_down = |link: &Link| match (link.from, link.to) {
        (Some(from), Some(to)) => centers[&from].0 < centers[&to].0,
        (None, _) | (_, None) => true,
    };
    let beside = |at: usize, is_start: bool| {
        let link = &layers.links[at];
        let list = &crossings[at];
        let near = if is_start == is_down(link) { list.first() } else { list.last() };
        let other = if is_start { link.to } else { link.from };
        let own = if is_start { link.from } else { link.to };
        near.map(|near| near.1)
            .or(other.map(|item| centers[&item].1))
            .or(own.map(|item| centers[&item].1))
            .unwrap_or(0.0)
    };
    for (side, is_start) in [(0, true), (1, false)] {
        let mut at_box: HashMap<ItemId, Vec<(f64, usize)>> = HashMap::new();
        let mut order = Vec::new();
        for (at, link) in layers.links.iter().enumerate() {
            let Some(item) = (if is_start { link.from } else { link.to }) else { continue };
            let inside = open(scene, placed, item);
            let fixed = inside.and_then(|inside| {
                if is_start { inside.exits.get(&link.value) } else { inside.entries.get(&link.value) }
            });
            match fixed {
                Some(x) => ports[at][side] = boxes[&item][0] + x,
                None => {
                    let list = at_box.entry(item).or_insert_with(|| {
                        order.push(item);
                        Vec::new()
                    });
                    list.push((beside(at, is_start), at));
                }
            }
        }
        for item in order {
            let mut list = at_box.remove(&item).unwrap_or_default();
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            // A value leaves a box at one place.
            let mut places: Vec<ValueIndex> = Vec::new();
            let mut index = Vec::with_capacity(list.len());
            for (count, (_, at)) in list.iter().enumerate() {
                let value = layers.links[*at].value;
                index.push(match places.iter().position(|&other| is_start && other == value) {
                    Some(place) => place,
                    None => {
                        let _ = count;
                        places.push(value);
                        places.len() - 1
                    }
                });
            }
            let [left, _, width, _] = boxes[&item];
            #[allow(clippy::cast_precision_loss, reason = "a few wires")]
            let count = places.len() as f64;
            let is_labelled = is_start && places.len() <= MAX_LABELS && places.len() > 1;
            let gap = if is_labelled { width / count } else { PORT_GAP.min((width - 12.0) / count) };
            for ((_, at), place) in list.iter().zip(index) {
                #[allow(clippy::cast_precision_loss, reason = "a few wires")]
                let place = place as f64;
                ports[*at][side] = left + width / 2.0 + (place - (count - 1.0) / 2.0) * gap;
            }
        }
    }
    // At the border, a wire is straight below or above its next place.
    for (at, ends) in ports.iter_mut().enumerate() {
        let list = &crossings[at];
        if ends[0].is_nan() {
            ends[0] = list.first().map_or(ends[1], |next| next.1);
        }
        if ends[1].is_nan() {
            ends[1] = list.last().map_or(ends[0], |next| next.1);
        }
        for end in ends.iter_mut().filter(|end| end.is_nan()) {
            *end = PAD;
        }
    }
    ports
}

/// The points of a wire: between two points it is straight if they are below each other, and bends if they are not.
fn route(
    from: Option<(ItemId, usize, f64)>,
    to: Option<(ItemId, usize, f64)>,
    ports: [f64; 2],
    crossings: &[(usize, f64)],
    ranks: &[[f64; 2]],
    boxes: &HashMap<ItemId, [f64; 4]>,
    height: f64,
) -> Vec<[f64; 2]> {
    let is_down = match (from, to) {
        (Some((_, a, _)), Some((_, b, _))) => a < b,
        (None, _) | (_, None) => true,
    };
    let mut points = Vec::with_capacity(crossings.len() * 2 + 4);
    let (out, into) = if is_down { (1, 0) } else { (0, 1) };
    match from {
        Some((item, rank, x)) => {
            let [_, y, _, h] = boxes[&item];
            points.push([x, if is_down { y + h } else { y }]);
            points.push([x, ranks[rank][out]]);
        }
        None => points.push([ports[0], 0.0]),
    }
    let mut cross = |(rank, x): (usize, f64)| {
        points.push([x, ranks[rank][into]]);
        points.push([x, ranks[rank][out]]);
    };
    if is_down {
        crossings.iter().copied().for_each(&mut cross);
    } else {
        crossings.iter().rev().copied().for_each(&mut cross);
    }
    match to {
        Some((item, rank, x)) => {
            let [_, y, _, h] = boxes[&item];
            points.push([x, ranks[rank][into]]);
            points.push([x, if is_down { y } else { y + h }]);
        }
        None => points.push([ports[1], height]),
    }
    points
}

/// Points as the data of an SVG path, from an origin.
pub(super) fn path_data(points: &[[f64; 2]], [left, top]: [f64; 2]) -> String {
    let n = text::number;
    let mut out = String::new();
    let mut last: Option<[f64; 2]> = None;
    for &[x, y] in points {
        let (x, y) = (x + left, y + top);
        match last {
            None => out += &format!("M{} {}", n(x), n(y)),
            Some([was, before]) if (was - x).abs() < 0.05 => {
                if (before - y).abs() >= 0.05 {
                    out += &format!("V{}", n(y));
                }
            }
            Some([was, before]) => {
                let middle = f64::midpoint(before, y);
                out += &format!("C{} {} {} {} {} {}", n(was), n(middle), n(x), n(middle), n(x), n(y));
            }
        }
        last = Some([x, y]);
    }
    out
}
