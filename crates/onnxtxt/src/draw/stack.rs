//! Coordinates: ranks below each other, boxes beside each other, wires around boxes.
//!
//! The page does the same whenever a group is opened or closed: `page/layout.js` is this file and `route` again, and they have to agree.

use super::boxes::{HEAD, LABEL, TITLE, closed_size, label, title};
use super::layers::{Layers, Occupant};
use super::links::Link;
use super::route::{Obstacles, ports, route};
use super::scene::{GroupId, Item, ItemId, Kind, Mark, Reason, Scene, ValueIndex};
use super::text;
use std::collections::HashMap;

/// Space around what is in a group.
pub(super) const PAD: f64 = 18.0;
/// Space between boxes, and between a wire and what is beside it.
pub(super) const BOX_GAP: f64 = 26.0;
pub(super) const WIRE_GAP: f64 = 12.0;
/// Space between ranks, and more for each wire that bends there.
pub(super) const RANK_GAP: f64 = 52.0;
pub(super) const BEND_GAP: f64 = 1.5;
pub(super) const MAX_BENDS: f64 = 40.0;
/// Space between wires that enter or leave a box.
pub(super) const PORT_GAP: f64 = 22.0;
/// How far a wire is straight below a box, beside the type of its value.
pub(super) const RUN: f64 = 20.0;
/// How much higher a closed group is than its front.
pub(super) const LIFT: f64 = 5.0;
/// More space above where several wires enter a group, and below where they leave it.
pub(super) const ENTRY_GAP: f64 = 14.0;
/// Wires from a box whose types are shown.
pub(super) const MAX_LABELS: usize = 3;

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
    pub(super) entries: HashMap<ValueIndex, f64>,
    pub(super) exits: HashMap<ValueIndex, f64>,
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

/// The size of a box: of an open group, that of what is in it.
pub(super) fn size(scene: &Scene, placed: &[Option<Placed>], id: ItemId) -> [f64; 2] {
    match open(scene, placed, id) {
        Some(inside) => [inside.width, inside.height],
        None => closed_size(scene, id),
    }
}

/// The content of a box that is an open group.
pub(super) fn open<'p>(scene: &Scene, placed: &'p [Option<Placed>], id: ItemId) -> Option<&'p Placed> {
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
    let head = if is_root { 0.0 } else { HEAD };
    let is_entered = layers.links.iter().filter(|link| link.from.is_none()).count() > 1;
    let is_left = layers.links.iter().any(|link| link.to.is_none());
    let top = head + PAD + if is_entered { ENTRY_GAP } else { 0.0 };
    // The labels of a box fit into its width.
    let mut leaving: HashMap<ItemId, Vec<ValueIndex>> = HashMap::new();
    for link in &layers.links {
        if let Some(from) =
            link.from.filter(|&from| is_labelled(&scene.items[from]) && open(scene, placed, from).is_none())
        {
            let values = leaving.entry(from).or_default();
            // Only as many wires as can be labelled must be distinguishable.
            if values.len() <= MAX_LABELS && !values.contains(&link.value) {
                values.push(link.value);
            }
        }
    }
    let mut sizes: HashMap<ItemId, [f64; 2]> = HashMap::new();
    for slot in layers.ranks.iter().flatten() {
        if let Occupant::Item(id) = slot.what {
            let [mut width, height] = size(scene, placed, id);
            if let Some(values) = leaving.get(&id).filter(|values| values.len() <= MAX_LABELS) {
                let labels = values.iter().map(|&value| text::mono(&label(scene, value), LABEL) + 10.0);
                width = width.max(labels.sum());
            }
            sizes.insert(id, [width, height]);
        }
    }
    // From left to right: the positions in each rank, and the width of the group.
    let xs: Vec<Vec<f64>> = layers.ranks.iter().map(|rank| positions(rank, &sizes)).collect();
    let half = |what: Occupant| match what {
        Occupant::Item(id) => sizes[&id][0] / 2.0,
        Occupant::Link(_) => 2.0,
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
    let title_width =
        scene.groups[group].item.map_or(0.0, |item| text::sans(&title(&scene.items[item]), TITLE) + 60.0);
    let spare = (title_width - (right - left) - 2.0 * PAD).max(0.0) / 2.0;
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
            Occupant::Item(id) => sizes[&id][1],
            Occupant::Link(_) => 0.0,
        });
        let height = height.fold(0.0, f64::max);
        y += (bends[at] * BEND_GAP).min(MAX_BENDS);
        for (slot, x) in rank.iter().zip(xs) {
            match slot.what {
                Occupant::Item(id) => {
                    let [w, h] = sizes[&id];
                    out.boxes.push((id, [x + shift - w / 2.0, y + (height - h) / 2.0, w, h]));
                    centers.insert(id, (at, x + shift));
                }
                Occupant::Link(link) => crossings[link].push((at, x + shift)),
            }
        }
        ranks.push([y, y + height]);
        y += height + RANK_GAP;
    }
    out.height = if ranks.is_empty() { top + PAD } else { y - RANK_GAP + PAD };
    out.height += if is_left { ENTRY_GAP } else { 0.0 };
    // Wires, around the boxes of ranks between their ends.
    let boxes: HashMap<ItemId, [f64; 4]> = out.boxes.iter().copied().collect();
    let ports = ports(scene, layers, placed, &boxes, &centers, &crossings);
    for (at, link) in layers.links.iter().enumerate() {
        let crossings = &crossings[at];
        let end = |item: Option<ItemId>, x: f64| item.map(|item| (item, centers[&item].0, x));
        let from = end(link.from, ports[at][0]);
        let to = end(link.to, ports[at][1]);
        let is_shown = |item| leaving.get(&item).is_some_and(|values| values.len() <= MAX_LABELS);
        let is_closed =
            |item: ItemId| scene.items[item].group().is_some() && open(scene, placed, item).is_none();
        let way = Obstacles {
            run: if link.from.is_some_and(is_shown) { RUN } else { 0.0 },
            lift: if link.to.is_some_and(is_closed) { LIFT } else { 0.0 },
            head,
            height: out.height,
        };
        let points = route(from, to, ports[at], crossings, &ranks, &boxes, &way);
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
    // Wires that enter or leave have one place on the border.
    for path in &mut out.paths {
        if let (None, Some(&x), [first, second, ..]) =
            (path.link.from, out.entries.get(&path.link.value), &mut path.points[..])
        {
            (first[0], second[0]) = (x, x);
        }
        if let (None, Some(&x), Some(last)) =
            (path.link.to, out.exits.get(&path.link.value), path.points.last_mut())
        {
            last[0] = x;
        }
    }
    // A label below a box for each value that leaves it.
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
    let width = |what: Occupant| match what {
        Occupant::Item(id) => sizes[&id][0],
        Occupant::Link(_) => 0.0,
    };
    let weight = |what: Occupant| match what {
        Occupant::Item(id) => sizes[&id][0],
        Occupant::Link(_) => 20.0,
    };
    let mut offsets = Vec::with_capacity(rank.len());
    let mut offset = 0.0;
    for (at, slot) in rank.iter().enumerate() {
        if let Some(before) = at.checked_sub(1).map(|before| rank[before].what) {
            let are_boxes = matches!((before, slot.what), (Occupant::Item(_), Occupant::Item(_)));
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
            if let Occupant::Link(link) = slot.what {
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
