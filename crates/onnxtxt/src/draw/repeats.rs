//! Stretches of nodes that repeat, and sections of stretches that are too long.
//!
//! ```text
//! MatMul Add Relu MatMul Add Relu MatMul Add Relu   ⟶   block 1 of 3, block 2 of 3, block 3 of 3
//! ```
//!
//! Nodes are compared in the order of the text, by operator, weights, and how far back their operands are.

use super::groups::gather;
use super::links::Link;
use super::scene::{ItemId, Kind, Reason, Scene};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Groups with fewer boxes are read as they are.
const READABLE: usize = 24;
/// The least and the greatest number of boxes of a block.
const PERIODS: std::ops::RangeInclusive<usize> = 3..=160;
/// How many repetitions are looked for: each takes as long as the group is.
const MAX_RUNS: usize = 48;
/// Operands that are further back are all alike.
const BACK: usize = 64;
/// A layout of more boxes takes seconds.
const MAX_MEMBERS: usize = 240;
/// Sections of a group, if they are not too large.
const SECTIONS: usize = 60;
/// The least number of boxes of a section.
const SECTION: usize = 40;

/// A stretch of the order in which blocks of a length follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RepeatRun {
    start: usize,
    period: usize,
    times: usize,
}

impl RepeatRun {
    fn covered(self) -> usize {
        self.period * self.times
    }
}

/// Makes groups of repeated blocks.
pub(super) fn blocks(scene: &mut Scene, group: usize, links: &[Link]) {
    let members = nodes_of(scene, group);
    if members.len() < READABLE {
        return;
    }
    let signatures = signatures(scene, &members, links);
    let crossings = crossings(&members, links);
    let mut runs = Vec::new();
    let mut parts = vec![(0, members.len())];
    while let Some((start, end)) = parts.pop() {
        let Some(run) = longest(&signatures[start..end], start, &crossings) else { continue };
        if runs.len() == MAX_RUNS {
            break;
        }
        runs.push(run);
        parts.push((start, run.start));
        parts.push((run.start + run.covered(), end));
    }
    runs.sort_by_key(|run| run.start);
    let mut parts = Vec::new();
    for run in runs {
        for time in 0..run.times {
            let from = run.start + time * run.period;
            let title = format!("block {} of {}", time + 1, run.times);
            parts.push((&members[from..from + run.period], title));
        }
    }
    gather(scene, group, parts, Reason::Repeat);
}

/// Cuts a group that is too large for one layout into sections, where few values cross.
pub(super) fn sections(scene: &mut Scene, group: usize, links: &[Link]) {
    if scene.groups[group].members.len() <= MAX_MEMBERS {
        return;
    }
    let members = nodes_of(scene, group);
    let crossings = crossings(&members, links);
    let target = (members.len() / SECTIONS).clamp(SECTION, MAX_MEMBERS * 3 / 4);
    let mut cuts = vec![0];
    let mut at = 0;
    while members.len() - at > target + target / 3 {
        // The place that the fewest values cross, near the wanted one.
        let window = at + target * 3 / 4..=at + target + target / 3;
        let best =
            window.min_by_key(|&cut| (crossings[cut], cut.abs_diff(at + target))).unwrap_or(at + target);
        cuts.push(best);
        at = best;
    }
    cuts.push(members.len());
    let count = cuts.len() - 1;
    let mut parts = Vec::new();
    for (index, ends) in cuts.windows(2).enumerate() {
        let part = &members[ends[0]..ends[1]];
        let title = match (part.first(), part.last()) {
            (Some(first), Some(last)) if is_named(scene, *first) && is_named(scene, *last) => {
                format!("{} … {}", scene.items[*first].title, scene.items[*last].title)
            }
            _ => format!("part {} of {count}", index + 1),
        };
        parts.push((part, title));
    }
    gather(scene, group, parts, Reason::Section);
}

/// Whether a box is a group with a name that says something.
fn is_named(scene: &Scene, item: ItemId) -> bool {
    scene.items[item].group().is_some_and(|group| scene.groups[group].reason == Reason::Names)
}

/// The nodes and groups among the members of a group, in their order.
fn nodes_of(scene: &Scene, group: usize) -> Vec<ItemId> {
    let is_node = |item: &&ItemId| matches!(scene.items[**item].kind, Kind::Node | Kind::Group(_));
    scene.groups[group].members.iter().filter(is_node).copied().collect()
}

/// The content of a block at each place: equal for boxes that are alike.
fn signatures(scene: &Scene, members: &[ItemId], links: &[Link]) -> Vec<u64> {
    let index: HashMap<ItemId, usize> = members.iter().enumerate().map(|(at, &item)| (item, at)).collect();
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    for link in links {
        let Some(&to) = link.to.as_ref().and_then(|item| index.get(item)) else { continue };
        let from = link.from.as_ref().and_then(|item| index.get(item));
        let distance = from.and_then(|&from| to.checked_sub(from)).filter(|d| *d <= BACK);
        back[to].push(distance.unwrap_or(usize::MAX));
    }
    let signature = |(at, &item): (usize, &ItemId)| {
        let item = &scene.items[item];
        let mut hasher = DefaultHasher::new();
        let hash = &mut hasher;
        item.title.hash(hash);
        item.lines.len().hash(hash);
        item.group().map(|group| scene.node_count(group)).hash(hash);
        back[at].hash(hash);
        hasher.finish()
    };
    members.iter().enumerate().map(signature).collect()
}

/// How many values cross each place between members.
fn crossings(members: &[ItemId], links: &[Link]) -> Vec<usize> {
    let index: HashMap<ItemId, usize> = members.iter().enumerate().map(|(at, &item)| (item, at)).collect();
    let mut last: HashMap<usize, (usize, usize)> = HashMap::new();
    for link in links {
        let ends =
            (link.from.as_ref().and_then(|i| index.get(i)), link.to.as_ref().and_then(|i| index.get(i)));
        if let (Some(&from), Some(&to)) = ends {
            let range = last.entry(link.value).or_insert((from, to));
            *range = (range.0.min(from).min(to), range.1.max(to).max(from));
        }
    }
    let mut change = vec![0_isize; members.len() + 2];
    for (from, to) in last.into_values() {
        change[from + 1] += 1;
        change[to + 1] -= 1;
    }
    let mut crossing = 0;
    change
        .iter()
        .map(|change| {
            crossing += change;
            usize::try_from(crossing).unwrap_or(0)
        })
        .collect()
}

/// The repetition that covers most; of those that cover about as much, the one with the shortest blocks.
fn longest(signatures: &[u64], offset: usize, crossings: &[usize]) -> Option<RepeatRun> {
    let mut best: Option<RepeatRun> = None;
    for period in PERIODS {
        if period * 2 > signatures.len() {
            break;
        }
        let mut start = 0;
        while start + period < signatures.len() {
            let same = (start..signatures.len() - period)
                .take_while(|&at| signatures[at] == signatures[at + period]);
            let length = same.count();
            let times = length / period + 1;
            let is_enough = times >= 3 || (times == 2 && period >= 10);
            if is_enough && !is_uniform(&signatures[start..start + period]) {
                let spare = length % period;
                // Blocks begin where the fewest values cross.
                let phase = (0..=spare).min_by_key(|&phase| crossings[offset + start + phase]).unwrap_or(0);
                let run = RepeatRun { start: offset + start + phase, period, times };
                if best.is_none_or(|best| run.covered() > best.covered() + best.covered() / 10) {
                    best = Some(run);
                }
            }
            start += length + 1;
        }
    }
    best
}

/// Whether all are the same, so that a block would be arbitrary.
fn is_uniform(signatures: &[u64]) -> bool {
    signatures.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::{RepeatRun, longest};

    #[test]
    fn the_longest_repetition_is_found_with_the_shortest_blocks() {
        let signatures = [9, 8, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 7];
        let run = longest(&signatures, 0, &[0; 20]);
        assert_eq!(run, Some(RepeatRun { start: 2, period: 3, times: 4 }));
        assert_eq!(longest(&[1; 40], 0, &[0; 50]), None);
        assert_eq!(longest(&[1, 2, 3, 4, 1, 2, 3, 4], 0, &[0; 10]), None);
    }

    #[test]
    fn blocks_begin_where_few_values_cross() {
        let signatures = [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2];
        let mut crossings = [5; 13];
        crossings[2] = 1;
        assert_eq!(longest(&signatures, 0, &crossings), Some(RepeatRun { start: 2, period: 3, times: 3 }));
    }
}
