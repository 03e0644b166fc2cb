//! Wires as groups see them: from one member to another, from outside to a member, from a member to outside.

use super::scene::{ItemId, Mark, Scene, ValueIndex, Wire};
use std::collections::HashSet;

/// The part of a wire within a group, without the part within its members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(super) struct Link {
    /// The member that it leaves; `None` if it enters the group.
    pub(super) from: Option<ItemId>,
    /// The member that it leads to; `None` if it leaves the group.
    pub(super) to: Option<ItemId>,
    pub(super) value: ValueIndex,
    pub(super) mark: Mark,
}

/// The links of each group, those that are equal once, in the order of the wires.
pub(super) fn of_all(scene: &Scene) -> Vec<Vec<Link>> {
    let mut links: Vec<Vec<Link>> = vec![Vec::new(); scene.groups.len()];
    let mut seen: HashSet<(usize, Link)> = HashSet::new();
    let mut add = |group: usize, link: Link| {
        if link.from != link.to && seen.insert((group, link)) {
            links[group].push(link);
        }
    };
    for wire in &scene.wires {
        path(scene, wire, &mut add);
    }
    links
}

/// The links of a wire, in each group that it passes.
pub(super) fn path(scene: &Scene, wire: &Wire, mut add: impl FnMut(usize, Link)) {
    let (value, mark) = (wire.value, wire.mark);
    let mut ups: Vec<(usize, ItemId)> = members_towards(scene, wire.from);
    let mut downs: Vec<(usize, ItemId)> = members_towards(scene, wire.to);
    // A box that leads to what is in it, or the other way round, has no link.
    let is_inside =
        ups.iter().any(|(_, item)| *item == wire.to) || downs.iter().any(|(_, item)| *item == wire.from);
    if wire.from == wire.to || is_inside {
        return;
    }
    // The common groups are at the ends of both lists.
    while let (Some((a, _)), Some((b, _))) = (before_last(&ups), before_last(&downs))
        && a == b
    {
        ups.pop();
        downs.pop();
    }
    let (Some((top, from)), Some((_, to))) = (ups.pop(), downs.pop()) else { return };
    add(top, Link { from: Some(from), to: Some(to), value, mark });
    for (group, item) in ups {
        add(group, Link { from: Some(item), to: None, value, mark });
    }
    for (group, item) in downs {
        add(group, Link { from: None, to: Some(item), value, mark });
    }
}

fn before_last<T>(list: &[T]) -> Option<&T> {
    list.len().checked_sub(2).map(|at| &list[at])
}

/// The groups around a box, from the innermost, each with its member that the box is or is in.
fn members_towards(scene: &Scene, item: ItemId) -> Vec<(usize, ItemId)> {
    let mut member = item;
    let mut out = Vec::new();
    for group in scene.ancestors(item) {
        out.push((group, member));
        if let Some(around) = scene.groups[group].item {
            member = around;
        }
    }
    out
}
