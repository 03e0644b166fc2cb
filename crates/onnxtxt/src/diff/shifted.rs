//! Detects shifted numbers in names: exporters number values, so one inserted node renames all later values.
//!
//! Nodes are matched by a hash of everything that they depend on and a hash of everything that depends on them. If many nodes
//! matched this way have swapped names, names are ignored.

use super::align::{GraphView, NodeView};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Fewer nodes with swapped names are not a sign.
const FEW: usize = 3;

/// Pairs of nodes matched by structure alone, if names are shifted numbers.
pub(super) fn shifted(a: &GraphView<'_>, b: &GraphView<'_>) -> Option<Vec<(usize, usize)>> {
    let produced = |graph: &GraphView<'_>| -> HashMap<String, usize> {
        let outputs =
            graph.nodes.iter().enumerate().filter_map(|(at, node)| Some((first(node)?.to_owned(), at)));
        outputs.collect()
    };
    let (olds, news) = (produced(a), produced(b));
    // The usual case: the same operator computes a common name in both.
    let is_other = |(name, &old): (&String, &usize)| {
        news.get(name).is_some_and(|&new| a.nodes[old].op != b.nodes[new].op)
    };
    if olds.iter().filter(|&entry| is_other(entry)).count() < FEW {
        return None;
    }
    let mut pairs = Vec::new();
    let mut taken = (vec![false; a.nodes.len()], vec![false; b.nodes.len()]);
    for hashes in [before, behind] {
        let mut groups: HashMap<u64, (Vec<usize>, Vec<usize>)> = HashMap::new();
        for (at, hash) in hashes(a).into_iter().enumerate().filter(|(at, _)| !taken.0[*at]) {
            groups.entry(hash).or_default().0.push(at);
        }
        for (at, hash) in hashes(b).into_iter().enumerate().filter(|(at, _)| !taken.1[*at]) {
            groups.entry(hash).or_default().1.push(at);
        }
        for (old, new) in groups.into_values().filter(|(old, new)| old.len() == new.len()) {
            for (old, new) in old.into_iter().zip(new) {
                (taken.0[old], taken.1[new]) = (true, true);
                pairs.push((old, new));
            }
        }
    }
    pairs.sort_unstable();
    let is_shifted = |&&(old, new): &&(usize, usize)| match (first(&a.nodes[old]), first(&b.nodes[new])) {
        (Some(x), Some(y)) => x != y && news.contains_key(x) && olds.contains_key(y),
        (None, _) | (_, None) => false,
    };
    let count = pairs.iter().filter(is_shifted).count();
    (count >= FEW && count * 10 > pairs.len()).then_some(pairs)
}

fn first<'a>(node: &NodeView<'a>) -> Option<&'a str> {
    node.outputs.iter().copied().find(|name| !name.is_empty())
}

fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash of what each node depends on; inputs and weights count by name.
fn before(graph: &GraphView<'_>) -> Vec<u64> {
    let mut values: HashMap<&str, u64> = HashMap::new();
    let mut out = Vec::with_capacity(graph.nodes.len());
    for node in &graph.nodes {
        let operands: Vec<u64> = node
            .inputs
            .iter()
            .map(|name| values.get(name).copied().unwrap_or_else(|| hash_of(name)))
            .collect();
        let hash = hash_of((node.op, node.attrs, operands));
        for (at, name) in node.outputs.iter().enumerate() {
            values.insert(name, hash_of((hash, at)));
        }
        out.push(hash);
    }
    out
}

/// A hash of what depends on each node.
fn behind(graph: &GraphView<'_>) -> Vec<u64> {
    let mut values: HashMap<&str, u64> = HashMap::new();
    let mut out = vec![0; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate().rev() {
        let results: Vec<u64> =
            node.outputs.iter().map(|name| values.get(name).copied().unwrap_or(0)).collect();
        let hash = hash_of((node.op, node.attrs, results));
        for (at, name) in node.inputs.iter().enumerate() {
            let value = values.entry(name).or_default();
            *value = value.wrapping_add(hash_of((hash, at)));
        }
        out[at] = hash;
    }
    out
}
