//! Groups of boxes that belong together: by their names, because they repeat, or because there are too many.
//!
//! ```text
//! /layer1/layer1.0/conv1/Conv   /layer1/layer1.0/relu/Relu   /layer1/layer1.1/conv1/Conv   ⟶   layer1 { layer1.0 { … } layer1.1 { … } }
//! ```

use super::links::Link;
use super::scene::{BoxLine, Group, Item, ItemId, Kind, Reason, Scene, ValueIndex, Wire};
use super::{cycles, links, repeats};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The fewest boxes of a group.
const MIN_BOXES: usize = 3;
/// Names are groups up to this depth.
const DEPTH: usize = 12;
/// How often groups on cycles are dissolved.
const ROUNDS: usize = 200;
/// A value with at least so many uses has no wires to those that are far away.
const MANY: usize = 5;
/// How many boxes are between what is far away.
const FAR: usize = 40;

/// A layout has time for so many crossings of wires and ranks, and for so many wires.
const MAX_CROSSED: usize = 2_500;
const MAX_LINKS: usize = 1_200;

/// Makes the groups of a scene.
pub(super) fn arrange(scene: &mut Scene) {
    let mut cut = Cut::new();
    cut_long_wires(scene, &mut cut);
    for group in 0..scene.groups.len() {
        by_names(scene, group);
    }
    dissolve_cycles(scene);
    // Changes of one group leave the links of others as they are.
    for (group, links) in links::of_all(scene).iter().enumerate() {
        repeats::blocks(scene, group, links);
    }
    for (group, links) in links::of_all(scene).iter().enumerate() {
        repeats::sections(scene, group, links);
    }
    cut_costly_wires(scene, &mut cut);
}

/// Wires that are lines: where they lead to, where they come from, and their value.
type Cut = HashSet<(ItemId, ItemId, ValueIndex)>;

/// Replaces long wires of values that many boxes read, such as a mask, by lines in these boxes.
fn cut_long_wires(scene: &mut Scene, cut: &mut Cut) {
    let mut uses: HashMap<usize, usize> = HashMap::new();
    for wire in &scene.wires {
        *uses.entry(wire.value).or_default() += 1;
    }
    let wires = std::mem::take(&mut scene.wires);
    let mut wired = HashSet::new();
    for wire in wires {
        let Wire { from, to, value, .. } = wire;
        // One wire at least shows that it is used.
        let is_first = wired.insert(value);
        if is_first || uses[&value] < MANY || to.abs_diff(from) < FAR {
            scene.wires.push(wire);
        } else {
            make_line(scene, wire, cut);
        }
    }
}

/// Makes a line of a wire, one for equal wires.
fn make_line(scene: &mut Scene, wire: Wire, cut: &mut Cut) {
    if cut.insert((wire.to, wire.from, wire.value)) {
        let text = format!("← {}", scene.values[wire.value].name);
        scene.items[wire.to].lines.push(BoxLine { label: String::new(), text, link: Some(wire.from) });
    }
}

/// Where wires cross more ranks than a layout has time for, the longest ones are lines as well.
fn cut_costly_wires(scene: &mut Scene, cut: &mut Cut) {
    let links = links::of_all(scene);
    let mut cuts: HashSet<(usize, Link)> = HashSet::new();
    for (group, links) in links.iter().enumerate() {
        let spans = spans(&scene.groups[group].members, links);
        let (mut crossed, mut left) = (spans.iter().sum::<usize>(), links.len());
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(spans[at]));
        for at in order {
            if crossed <= MAX_CROSSED && left <= MAX_LINKS {
                break;
            }
            cuts.insert((group, links[at]));
            (crossed, left) = (crossed - spans[at], left - 1);
        }
    }
    if cuts.is_empty() {
        return;
    }
    for wire in std::mem::take(&mut scene.wires) {
        let mut is_cut = false;
        links::path(scene, &wire, |group, link| is_cut |= cuts.contains(&(group, link)));
        if is_cut {
            make_line(scene, wire, cut);
        } else {
            scene.wires.push(wire);
        }
    }
}

/// How many ranks each link crosses, about.
fn spans(members: &[ItemId], links: &[Link]) -> Vec<usize> {
    let index: HashMap<ItemId, usize> = members.iter().enumerate().map(|(at, &item)| (item, at)).collect();
    let place = |item: Option<ItemId>| item.and_then(|item| index.get(&item).copied());
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    for link in links {
        if let (Some(from), Some(to)) = (place(link.from), place(link.to)) {
            into[to].push(from);
        }
    }
    let mut ranks = vec![0_usize; members.len()];
    for at in 0..members.len() {
        ranks[at] =
            into[at].iter().filter(|&&from| from < at).map(|&from| ranks[from] + 1).max().unwrap_or(0);
    }
    let deepest = ranks.iter().max().map_or(0, |deepest| deepest + 1);
    let rank = |item: Option<ItemId>, outside: usize| place(item).map_or(outside, |at| ranks[at]);
    links.iter().map(|link| rank(link.from, 0).abs_diff(rank(link.to, deepest))).collect()
}

/// A folder of names.
#[derive(Default)]
struct Folder {
    folders: BTreeMap<String, Folder>,
    items: Vec<ItemId>,
}

/// The group or the members that a folder becomes.
enum GroupEntry {
    Item(ItemId),
    Group(String, Vec<GroupEntry>),
}

impl GroupEntry {
    fn first(&self) -> ItemId {
        match self {
            GroupEntry::Item(item) => *item,
            GroupEntry::Group(_, entries) => entries.first().map_or(0, GroupEntry::first),
        }
    }

    fn count(&self) -> usize {
        match self {
            GroupEntry::Item(_) => 1,
            GroupEntry::Group(_, entries) => entries.iter().map(GroupEntry::count).sum(),
        }
    }
}

impl Folder {
    fn entries(self) -> Vec<GroupEntry> {
        let mut entries: Vec<GroupEntry> = self.items.into_iter().map(GroupEntry::Item).collect();
        for (name, folder) in self.folders {
            let mut inner = folder.entries();
            if let [GroupEntry::Group(below, _)] = &mut inner[..] {
                // A folder with one folder in it.
                *below = format!("{name}/{below}");
                entries.append(&mut inner);
            } else if inner.iter().map(GroupEntry::count).sum::<usize>() < MIN_BOXES {
                entries.append(&mut inner);
            } else {
                entries.push(GroupEntry::Group(name, inner));
            }
        }
        entries.sort_by_key(GroupEntry::first);
        entries
    }
}

fn by_names(scene: &mut Scene, group: usize) {
    let mut root = Folder::default();
    let mut others = Vec::new();
    for &member in &scene.groups[group].members {
        let item = &scene.items[member];
        let is_node = matches!(item.kind, Kind::Node | Kind::Group(_));
        let path = item.name.trim_start_matches('/');
        if !is_node || !path.contains('/') {
            others.push(member);
            continue;
        }
        let mut folder = &mut root;
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        for _ in 0..DEPTH {
            let Some(part) = parts.next() else { break };
            if parts.peek().is_none() {
                break;
            }
            folder = folder.folders.entry(part.to_owned()).or_default();
        }
        folder.items.push(member);
    }
    let mut entries = root.entries();
    // A folder of everything says nothing.
    while let [GroupEntry::Group(..)] = &entries[..] {
        let Some(GroupEntry::Group(_, inner)) = entries.pop() else { break };
        entries = inner;
    }
    if entries.iter().all(|entry| matches!(entry, GroupEntry::Item(_))) {
        return;
    }
    entries.extend(others.into_iter().map(GroupEntry::Item));
    entries.sort_by_key(GroupEntry::first);
    put(scene, group, entries);
}

/// Makes entries the members of a group.
fn put(scene: &mut Scene, group: usize, entries: Vec<GroupEntry>) {
    scene.groups[group].members.clear();
    for entry in entries {
        match entry {
            GroupEntry::Item(item) => {
                scene.items[item].parent = group;
                scene.groups[group].members.push(item);
            }
            GroupEntry::Group(name, inner) => {
                let item = scene.add_group(group, name, Reason::Names);
                if let Some(made) = scene.items[item].group() {
                    put(scene, made, inner);
                }
            }
        }
    }
}

/// Puts the members of groups of names that lie on cycles into the groups around them, the smallest group first.
fn dissolve_cycles(scene: &mut Scene) {
    for _ in 0..ROUNDS {
        let links = links::of_all(scene);
        let mut victims = Vec::new();
        for (group, links) in scene.groups.iter().zip(&links) {
            for cycle in cycles::cycles(&group.members, links) {
                let groups =
                    cycle.iter().filter_map(|&item| scene.items[item].group().map(|inner| (item, inner)));
                let named = groups.filter(|(_, inner)| scene.groups[*inner].reason == Reason::Names);
                victims.extend(named.min_by_key(|(item, inner)| (scene.node_count(*inner), *item)));
            }
        }
        if victims.is_empty() {
            break;
        }
        for (item, group) in victims {
            dissolve(scene, item, group);
        }
    }
}

fn dissolve(scene: &mut Scene, item: ItemId, group: usize) {
    let parent = scene.items[item].parent;
    let members = std::mem::take(&mut scene.groups[group].members);
    for &member in &members {
        scene.items[member].parent = parent;
    }
    let list = &mut scene.groups[parent].members;
    if let Some(at) = list.iter().position(|&other| other == item) {
        list.splice(at..=at, members);
    }
}

/// Puts stretches of the members of a group into groups of their own, in their place.
pub(super) fn gather(scene: &mut Scene, group: usize, parts: Vec<(&[ItemId], String)>, reason: Reason) {
    // The group in which a member is now, for the first member of each part and for the others.
    let mut firsts: HashMap<ItemId, ItemId> = HashMap::new();
    let mut gathered: HashSet<ItemId> = HashSet::new();
    for (members, title) in parts {
        let (inner, item) = (scene.groups.len(), scene.items.len());
        scene.items.push(Item::new(group, Kind::Group(inner), title));
        for &member in members {
            scene.items[member].parent = inner;
        }
        gathered.extend(members);
        firsts.extend(members.first().map(|&first| (first, item)));
        scene.groups.push(Group { reason, item: Some(item), members: members.to_vec(), is_open: true });
    }
    let before = std::mem::take(&mut scene.groups[group].members);
    let after = before.into_iter().filter_map(|member| match firsts.get(&member) {
        Some(&item) => Some(item),
        None => (!gathered.contains(&member)).then_some(member),
    });
    scene.groups[group].members = after.collect();
}
