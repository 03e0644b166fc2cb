//! Ranks and orders of the boxes of each group, by the library dagre.
//!
//! A group is laid out by itself, with the groups in it as boxes. Two boxes that are not seen stand for what is outside: wires that
//! enter come from the first, wires that leave lead to the second. Of the layout only ranks and horizontal positions are used, of
//! boxes and of the places where wires cross a rank; [`stack`] makes coordinates of them.

use super::links::{self, Link};
use super::scene::{ItemId, Kind, Scene};
use super::stack::{self, Placed};
use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};
use std::collections::{HashMap, HashSet};

/// The layout of a group: what is in each rank, from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub(super) ranks: Vec<Vec<Slot>>,
    pub(super) links: Vec<Link>,
}

/// A place in a rank.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slot {
    pub(super) what: Occupant,
    /// The horizontal position of the middle.
    pub(super) x: f64,
}

/// The item at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Occupant {
    Item(ItemId),
    /// A link, by its index, on its way to another rank.
    Link(usize),
}

/// The layouts of all groups.
pub(super) fn of_all(scene: &Scene) -> Vec<Layers> {
    let mut links = links::of_all(scene);
    let mut layers: Vec<Layers> = vec![Layers::default(); scene.groups.len()];
    let mut placed: Vec<Option<Placed>> = vec![None; scene.groups.len()];
    let mut known: HashMap<Shape, Vec<Vec<Slot>>> = HashMap::new();
    for group in scene.groups_inside_out() {
        let links = std::mem::take(&mut links[group]);
        let members = &scene.groups[group].members;
        let sizes: Vec<[f64; 2]> = members.iter().map(|&item| stack::size(scene, &placed, item)).collect();
        let shape = Shape::of(scene, members, &sizes, &links);
        // Blocks that repeat are laid out once. Places are by position here, and by box where they are used.
        let ranks = known.entry(shape).or_insert_with_key(|shape| shape.ranks(&sizes)).clone();
        let named = |slot: Slot| match slot.what {
            Occupant::Item(at) => Slot { what: Occupant::Item(members[at]), ..slot },
            Occupant::Link(_) => slot,
        };
        let ranks = ranks.into_iter().map(|rank| rank.into_iter().map(named).collect()).collect();
        layers[group] = Layers { ranks, links };
        placed[group] = Some(stack::place(scene, &layers[group], &placed, group));
    }
    layers
}

/// All that a layout depends on.
#[derive(PartialEq, Eq, Hash)]
struct Shape {
    /// In tenths of pixels, and whether a box belongs to the top or bottom.
    boxes: Vec<(i64, i64, u8)>,
    /// By positions of boxes.
    links: Vec<(Option<usize>, Option<usize>)>,
}

/// The boxes that stand for what is outside.
const ABOVE: &str = "above";
const BELOW: &str = "below";
/// Space between boxes, and between wires.
const BOX_GAP: f64 = 26.0;
const WIRE_GAP: f64 = 14.0;

impl Shape {
    fn of(scene: &Scene, members: &[ItemId], sizes: &[[f64; 2]], links: &[Link]) -> Shape {
        let index: HashMap<ItemId, usize> =
            members.iter().enumerate().map(|(at, &item)| (item, at)).collect();
        let at = |item: Option<ItemId>| item.and_then(|item| index.get(&item).copied());
        #[allow(clippy::cast_possible_truncation, reason = "sizes of boxes on a page")]
        let tenths = |x: f64| (x * 10.0).round() as i64;
        let side = |&item: &ItemId| match scene.items[item].kind {
            Kind::Input => 1,
            Kind::Output => 2,
            Kind::Node | Kind::Outside | Kind::Group(_) => 0,
        };
        let boxes =
            members.iter().zip(sizes).map(|(item, [w, h])| (tenths(*w), tenths(*h), side(item))).collect();
        Shape { boxes, links: links.iter().map(|link| (at(link.from), at(link.to))).collect() }
    }

    /// The items of each rank.
    fn ranks(&self, sizes: &[[f64; 2]]) -> Vec<Vec<Slot>> {
        if sizes.len() > MAX_BOXES {
            return self.rows();
        }
        // The graph for the library: boxes, and links between them.
        let options = GraphOptions { directed: true, multigraph: true, compound: false };
        let mut graph: Graph<NodeLabel, EdgeLabel> = Graph::with_options(options);
        for (at, [width, height]) in sizes.iter().enumerate() {
            let label = NodeLabel { width: *width, height: *height, ..NodeLabel::default() };
            graph.set_node(at.to_string(), Some(label));
        }
        let is_entered = self.links.iter().any(|(from, _)| from.is_none());
        let is_left = self.links.iter().any(|(_, to)| to.is_none());
        for (name, is_there) in [(ABOVE, is_entered), (BELOW, is_left)] {
            if is_there {
                graph.set_node(name, Some(NodeLabel { width: 1.0, height: 1.0, ..NodeLabel::default() }));
            }
        }
        let edge = |weight: i32| EdgeLabel { weight, ..EdgeLabel::default() };
        let name =
            |end: Option<usize>, outside: &str| end.map_or_else(|| outside.to_owned(), |at| at.to_string());
        for (at, (from, to)) in self.links.iter().enumerate() {
            let weight = if from.is_some() && to.is_some() { 2 } else { 1 };
            graph.set_edge(name(*from, ABOVE), name(*to, BELOW), Some(edge(weight)), Some(&at.to_string()));
        }
        // The boxes that stand for the outside are above and below all others.
        let (from, to): (HashSet<_>, HashSet<_>) = self.links.iter().copied().unzip();
        for at in 0..sizes.len() {
            if is_entered && !to.contains(&Some(at)) {
                graph.set_edge(ABOVE, at.to_string(), Some(edge(0)), Some("order"));
            }
            if is_left && !from.contains(&Some(at)) {
                graph.set_edge(at.to_string(), BELOW, Some(edge(0)), Some("order"));
            }
        }
        if sizes.is_empty() {
            return Vec::new();
        }
        let spaces = LayoutOptions { nodesep: BOX_GAP, edgesep: WIRE_GAP, ..LayoutOptions::default() };
        dagre::layout(&mut graph, Some(spaces));
        // Boxes of the same height are a rank; a link takes a place in each rank that it crosses.
        let place = |at: usize| {
            let label = graph.node(&at.to_string());
            label.map_or((0.0, 0.0), |label| (label.x.unwrap_or(0.0), label.y.unwrap_or(0.0)))
        };
        let places: Vec<(f64, f64)> = (0..sizes.len()).map(place).collect();
        let mut heights: Vec<f64> = places.iter().map(|(_, y)| *y).collect();
        heights.sort_by(f64::total_cmp);
        heights.dedup_by(|a, b| (*a - *b).abs() < 0.01);
        let rank = |y: f64| heights.partition_point(|height| *height < y - 0.01).min(heights.len() - 1);
        let mut ranks: Vec<Vec<Slot>> = vec![Vec::new(); heights.len()];
        for (at, (x, y)) in places.iter().enumerate() {
            ranks[rank(*y)].push(Slot { what: Occupant::Item(at), x: *x });
        }
        for (at, (from, to)) in self.links.iter().enumerate() {
            let ends = [from.map(|from| rank(places[from].1)), to.map(|to| rank(places[to].1))];
            let [first, last] = match ends {
                [Some(from), Some(to)] => [from.min(to) + 1, from.max(to)],
                [None, Some(to)] => [0, to],
                [Some(from), None] => [from + 1, heights.len()],
                [None, None] => [0, heights.len()],
            };
            if first >= last {
                continue;
            }
            let edge = graph.edge(&name(*from, ABOVE), &name(*to, BELOW), Some(&at.to_string()));
            let mut points: Vec<(f64, f64)> =
                edge.map(|edge| edge.points.iter().map(|p| (p.y, p.x)).collect()).unwrap_or_default();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            for rank in first..last {
                ranks[rank].push(Slot { what: Occupant::Link(at), x: crossing(&points, heights[rank]) });
            }
        }
        for rank in &mut ranks {
            rank.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        ranks
    }
}

/// The library lays out at most so many boxes. Groups are smaller, unless a graph has more inputs and outputs.
const MAX_BOXES: usize = 400;
/// Boxes in a row of what the library does not lay out.
const ROW: usize = 24;

impl Shape {
    /// A layout without the library, which would take minutes: rows of boxes, each below all that it reads.
    fn rows(&self) -> Vec<Vec<Slot>> {
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); self.boxes.len()];
        for (from, to) in &self.links {
            if let (Some(from), Some(to)) = (from, to) {
                into[*to].push(*from);
            }
        }
        let mut ranks = vec![0_usize; self.boxes.len()];
        for at in 0..ranks.len() {
            // Outputs come last in a drawing, and what they read before them.
            ranks[at] =
                into[at].iter().filter(|&&from| from < at).map(|&from| ranks[from] + 1).max().unwrap_or(0);
        }
        let deepest = ranks.iter().max().map_or(0, |deepest| deepest + 1);
        let mut rows: Vec<Vec<Slot>> = Vec::new();
        for rank in 0..deepest {
            let boxes: Vec<usize> = (0..ranks.len()).filter(|&at| ranks[at] == rank).collect();
            for row in boxes.chunks(ROW) {
                let mut x = 0.0;
                let slots = row.iter().map(|&at| {
                    #[allow(clippy::cast_precision_loss, reason = "sizes of boxes on a page")]
                    let width = self.boxes[at].0 as f64 / 10.0;
                    let middle = x + width / 2.0;
                    x += width + BOX_GAP;
                    Slot { what: Occupant::Item(at), x: middle }
                });
                let mut slots: Vec<Slot> = slots.collect();
                slots.iter_mut().for_each(|slot| slot.x -= x / 2.0);
                rows.push(slots);
            }
        }
        rows
    }
}

/// Where a line crosses a height. Points are height and position, by height.
fn crossing(points: &[(f64, f64)], y: f64) -> f64 {
    let at = points.partition_point(|point| point.0 < y);
    match (at.checked_sub(1).and_then(|before| points.get(before)), points.get(at)) {
        (Some(&(y0, x0)), Some(&(y1, x1))) if y1 > y0 => x0 + (x1 - x0) * (y - y0) / (y1 - y0),
        (_, Some(point)) | (Some(point), None) => point.1,
        (None, None) => 0.0,
    }
}
