//! The ways of wires in a group.
//!
//! A wire leaves a box downwards to the end of its rank, bends between ranks only, and crosses a rank at a place of its own. So no
//! wire crosses a box, however high the boxes beside it are.

use super::layers::Layers;
use super::links::Link;
use super::scene::{ItemId, Scene, ValueIndex};
use super::stack::{MAX_LABELS, PAD, PORT_GAP, Placed, open};
use super::text;
use std::collections::HashMap;

/// Where each link leaves and where it ends, horizontally.
pub(super) fn ports(
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
            let mut places: HashMap<(ValueIndex, usize), usize> = HashMap::new();
            let mut index = Vec::with_capacity(list.len());
            for (count, (_, at)) in list.iter().enumerate() {
                let (value, next) = (layers.links[*at].value, places.len());
                let other = if is_start { 0 } else { count };
                index.push(*places.entry((value, other)).or_insert(next));
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

/// The obstacles that a wire avoids.
pub(super) struct Obstacles {
    /// How far it is straight below a box.
    pub(super) run: f64,
    /// How much higher a closed group is than its front.
    pub(super) lift: f64,
    /// The height of the head of the group.
    pub(super) head: f64,
    /// The height of the group.
    pub(super) height: f64,
}

/// The points of a wire: between two points it is straight if they are below each other, and bends if they are not.
pub(super) fn route(
    from: Option<(ItemId, usize, f64)>,
    to: Option<(ItemId, usize, f64)>,
    ports: [f64; 2],
    crossings: &[(usize, f64)],
    ranks: &[[f64; 2]],
    boxes: &HashMap<ItemId, [f64; 4]>,
    way: &Obstacles,
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
            points.push([x, if is_down { ranks[rank][1].max(y + h + way.run) } else { ranks[rank][0] }]);
        }
        None => points.extend([[ports[0], 0.0], [ports[0], way.head]]),
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
            let end = if is_down { y - way.lift } else { y + h };
            let before = ranks[rank][into];
            points.push([x, if is_down { before.min(end) } else { before.max(end) }]);
            points.push([x, end]);
        }
        None => points.push([ports[1], way.height]),
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
