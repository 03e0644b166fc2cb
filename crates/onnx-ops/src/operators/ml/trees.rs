//! Tree ensembles.
//!
//! Nodes and leaves are in parallel lists. Up to version 3, a node is identified by the number of its tree and its number in the
//! tree; version 5 uses positions in the lists.

use super::infer::{in_range, len, one_attr, post_transform, same_len};
use super::models::{classified, examples, labels, several};
use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use foldhash::HashSet;
use onnx_ir::diag::{Diagnostic, code, counted};
use onnx_ir::list::Elements;
use onnx_ir::{Payload, Tensor};

const MODES: &[&str] =
    &["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"];

/// The name of a list, or of the tensor that can replace it from version 3 on; at most one of them may be given.
fn list_or_tensor(cx: &mut NodeCx<'_, '_>, list: &'static str, tensor: &'static str) -> Option<&'static str> {
    if cx.since() < 3 || len(cx, tensor)? == 0 {
        return Some(list);
    }
    if len(cx, list)? == 0 { Some(tensor) } else { one_attr(cx, &[list, tensor]) }
}

/// The nodes of an ensemble, identified by tree and number in the tree.
enum Nodes {
    /// Numbered from 0, one tree after the other, as exporters write them: the number of nodes of each tree.
    Counted(Vec<i64>),
    Listed(HashSet<(i64, i64)>),
}

impl Nodes {
    /// The nodes in two parallel lists, or the first duplicate.
    fn new(trees: Elements<'_, i64>, ids: Elements<'_, i64>) -> Result<Nodes, (i64, i64)> {
        if let Some(counts) = counted_nodes(trees.clone(), ids.clone()) {
            return Ok(Nodes::Counted(counts));
        }
        let mut all: HashSet<(i64, i64)> = HashSet::default();
        for node in trees.zip(ids) {
            if !all.insert(node) {
                return Err(node);
            }
        }
        Ok(Nodes::Listed(all))
    }

    fn contains(&self, tree: i64, node: i64) -> bool {
        match self {
            Nodes::Counted(counts) => {
                let count = usize::try_from(tree).ok().and_then(|tree| counts.get(tree));
                count.is_some_and(|count| (0..*count).contains(&node))
            }
            Nodes::Listed(all) => all.contains(&(tree, node)),
        }
    }

    /// The first node whose branch does not lead to a node: for each node its tree, and the number in the tree that its
    /// branch leads to.
    fn lost(
        &self,
        trees: Elements<'_, i64>,
        targets: Elements<'_, i64>,
        is_leaf: impl Fn(usize) -> bool,
    ) -> Option<(usize, i64, i64)> {
        let Nodes::Counted(counts) = self else {
            return trees.first_pair(targets, |i, tree, node| !is_leaf(i) && !self.contains(tree, node));
        };
        let mut counts = (0..).zip(counts.iter().copied());
        let (mut tree, mut count, mut left) = (0, 0, 0);
        let lost = targets.first(|i, node| {
            if left == 0 {
                (tree, count) = counts.next().unwrap_or_default();
                left = count;
            }
            left -= 1;
            !(0..count).contains(&node) && !is_leaf(i)
        });
        lost.map(|(i, node)| (i, tree, node))
    }
}

/// The number of nodes of each tree, if all are numbered from 0.
fn counted_nodes(trees: Elements<'_, i64>, ids: Elements<'_, i64>) -> Option<Vec<i64>> {
    let mut counts = Vec::new();
    let mut tree = -1;
    let mut count = 0;
    let other = trees.first_pair(ids, |_, t, id| {
        if t != tree {
            if tree >= 0 {
                counts.push(count);
            }
            (tree, count) = (tree + 1, 0);
        }
        count += 1;
        t != tree || id != count - 1
    });
    if other.is_some() {
        return None;
    }
    if tree >= 0 {
        counts.push(count);
    }
    Some(counts)
}

/// Checks `nodes_*`: lists of equal length, known modes, branches to nodes of the same tree.
fn nodes(cx: &mut NodeCx<'_, '_>) -> Option<Nodes> {
    let values = list_or_tensor(cx, "nodes_values", "nodes_values_as_tensor")?;
    let hitrates = list_or_tensor(cx, "nodes_hitrates", "nodes_hitrates_as_tensor")?;
    let required = [
        "nodes_nodeids",
        "nodes_featureids",
        "nodes_modes",
        "nodes_truenodeids",
        "nodes_falsenodeids",
        values,
    ];
    same_len(cx, "nodes_treeids", &required, &[hitrates, "nodes_missing_value_tracks_true"])?;
    let mut leaves = Vec::with_capacity(len(cx, "nodes_modes")?);
    let mut modes = cx.each_string("nodes_modes")?;
    let other = modes.find(|mode| {
        let is_leaf = *mode == b"LEAF";
        leaves.push(is_leaf);
        !is_leaf && !MODES.iter().any(|known| known.as_bytes() == *mode)
    });
    if let Some(other) = other {
        let other = String::from_utf8_lossy(other).into_owned();
        let near = onnx_ir::diag::did_you_mean(&other, MODES.iter().copied());
        let message = format!("unknown node mode `{other}`");
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("nodes_modes"), message);
        cx.fail(diagnostic.maybe_help(near.map(|n| format!("did you mean `{n}`?"))))?;
        return None;
    }
    let is_leaf = |i: usize| leaves.get(i).is_some_and(|leaf| *leaf);
    let all = match Nodes::new(cx.each_int("nodes_treeids")?, cx.each_int("nodes_nodeids")?) {
        Ok(all) => all,
        Err((tree, node)) => {
            cx.fail_at_attr("nodes_nodeids", format!("node {node} occurs twice in tree {tree}"))?;
            return None;
        }
    };
    for name in ["nodes_truenodeids", "nodes_falsenodeids"] {
        let lost = all.lost(cx.each_int("nodes_treeids")?, cx.each_int(name)?, is_leaf);
        if let Some((i, tree, node)) = lost {
            let message =
                format!("the branch of entry {i} leads to node {node}, which tree {tree} does not have");
            cx.fail_at_attr(name, message)?;
        }
    }
    columns(cx, |i| !is_leaf(i))?;
    Some(all)
}

/// Checks that the features of branches are columns of the input.
fn columns(cx: &mut NodeCx<'_, '_>, is_branch: impl Fn(usize) -> bool) -> Infer {
    let last = cx.shape(0).filter(|s| s.len() <= 2).and_then(|s| s.last().copied());
    let columns = last.and_then(|d| cx.dims().as_const(d)).unwrap_or(i64::MAX);
    let features = cx.each_int("nodes_featureids")?;
    let other = features.first(|i, feature| !(0..columns).contains(&feature) && is_branch(i));
    let Some((_, other)) = other else { return Some(()) };
    let diagnostic = |cx: &NodeCx<'_, '_>, message| {
        Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("nodes_featureids"), message)
    };
    if other < 0 {
        let message = format!("negative feature {other}");
        return cx.fail(diagnostic(cx, message));
    }
    let ty = cx.ty(0).clone().text(cx.dims());
    let message = format!("feature {other} is out of range for {}", counted(columns, "column"));
    cx.fail(diagnostic(cx, message).related(cx.at_input(0), format!("this is {ty}")))
}

/// Checks that the votes of leaves are parallel lists, for existing nodes.
fn votes(
    cx: &mut NodeCx<'_, '_>,
    all: &Nodes,
    [trees, ids, targets]: [&'static str; 3],
    weights: [&'static str; 2],
) -> Infer {
    let weights = list_or_tensor(cx, weights[0], weights[1])?;
    same_len(cx, trees, &[ids, targets, weights], &[])?;
    let lost = cx.each_int(trees)?.first_pair(cx.each_int(ids)?, |_, tree, node| !all.contains(tree, node));
    match lost {
        Some((_, tree, node)) => {
            let message = format!("tree {tree} has no node {node}");
            cx.fail_at_attr(ids, message)
        }
        None => Some(()),
    }
}

pub(super) fn classifier(cx: &mut NodeCx<'_, '_>) -> Infer {
    let labels = labels(cx, "classlabels_int64s")?;
    classified(cx, several(labels));
    post_transform(cx)?;
    let all = nodes(cx)?;
    let lists = ["class_treeids", "class_nodeids", "class_ids"];
    votes(cx, &all, lists, ["class_weights", "class_weights_as_tensor"])?;
    in_range(cx, "class_ids", labels, "class")?;
    base_values(cx, labels, "class")
}

pub(super) fn regressor(cx: &mut NodeCx<'_, '_>) -> Infer {
    let examples = examples(cx).unwrap_or(Dim::Unknown);
    let targets = if cx.has_attr("n_targets") { Some(cx.int("n_targets")?) } else { None };
    cx.set_shape(0, [examples, targets.map_or(Dim::Unknown, Dim::Const)]);
    post_transform(cx)?;
    cx.one_of("aggregate_function", &["AVERAGE", "SUM", "MIN", "MAX"])?;
    let all = nodes(cx)?;
    let lists = ["target_treeids", "target_nodeids", "target_ids"];
    votes(cx, &all, lists, ["target_weights", "target_weights_as_tensor"])?;
    let targets = positive(cx, targets?)?;
    in_range(cx, "target_ids", targets, "target")?;
    base_values(cx, targets, "target")
}

fn positive(cx: &mut NodeCx<'_, '_>, targets: i64) -> Option<usize> {
    let count = usize::try_from(targets).ok().filter(|n| *n > 0);
    if count.is_none() {
        cx.fail_at_attr("n_targets", counted(targets, "target"))?;
    }
    count
}

/// The base values: none, or one for each score. (Two classes may share one.)
fn base_values(cx: &mut NodeCx<'_, '_>, count: usize, noun: &str) -> Infer {
    let name = list_or_tensor(cx, "base_values", "base_values_as_tensor")?;
    let values = len(cx, name)?;
    if values == 0 || values == count || values == 1 && count == 2 {
        return Some(());
    }
    cx.fail_at_attr(name, format!("{} for {}", counted(values, "base value"), counted(count, noun)))
}

/// `TreeEnsemble`: branches lead to positions among the nodes or the leaves.
pub(super) fn ensemble(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_rank(0, 2);
    let targets = if cx.has_attr("n_targets") { Some(cx.int("n_targets")?) } else { None };
    let examples = shape.map_or(Dim::Unknown, |s| s[0]);
    cx.set_shape(0, [examples, targets.map_or(Dim::Unknown, Dim::Const)]);
    numbered(cx, "post_transform", 4)?;
    numbered(cx, "aggregate_function", 3)?;
    let required = [
        "nodes_modes",
        "nodes_splits",
        "nodes_truenodeids",
        "nodes_trueleafs",
        "nodes_falsenodeids",
        "nodes_falseleafs",
    ];
    let optional = ["nodes_hitrates", "nodes_missing_value_tracks_true"];
    let nodes = same_len(cx, "nodes_featureids", &required, &optional)?;
    let leaves = same_len(cx, "leaf_targetids", &["leaf_weights"], &[])?;
    for name in ["nodes_splits", "leaf_weights", "nodes_hitrates", "membership_values"] {
        elem_of_input(cx, name)?;
    }
    if let Some(other) = cx.tensor("nodes_modes").and_then(unknown_mode) {
        return cx.fail_at_attr("nodes_modes", format!("unknown node mode {other}: expected 0 to 6"));
    }
    for (ids, leafs) in [("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs")]
    {
        let ends = |leaf| match leaf {
            0 => Some((nodes, "node")),
            1 => Some((leaves, "leaf")),
            _ => None,
        };
        let lost = cx.each_int(ids)?.first_pair(cx.each_int(leafs)?, |_, id, leaf| {
            ends(leaf).is_none_or(|(count, _)| id.cast_unsigned() >= count as u64)
        });
        let Some((_, id, leaf)) = lost else { continue };
        return match ends(leaf) {
            Some((count, noun)) => {
                cx.fail_at_attr(ids, format!("{id} is out of range for {}", counted(count, noun)))
            }
            None => cx.fail_at_attr(leafs, format!("invalid leaf flag {leaf}: expected 0 or 1")),
        };
    }
    in_range(cx, "tree_roots", nodes, "node")?;
    columns(cx, |_| true)?;
    let targets = positive(cx, targets?)?;
    in_range(cx, "leaf_targetids", targets, "target")
}

/// Checks an attribute with numbers from 0 to `most`.
fn numbered(cx: &mut NodeCx<'_, '_>, name: &str, most: i64) -> Infer {
    let number = cx.int(name)?;
    if (0..=most).contains(&number) {
        return Some(());
    }
    cx.fail_at_attr(name, format!("`{name}` must be 0 to {most}, but is {number}"))
}

/// Checks that a tensor has the element type of the input.
fn elem_of_input(cx: &mut NodeCx<'_, '_>, name: &str) -> Infer {
    let (Some(input), Some(elem)) = (cx.elem(0), cx.tensor(name).and_then(|t| t.elem)) else {
        return Some(());
    };
    if input == elem {
        return Some(());
    }
    let (input, elem) = (input.name().unwrap_or("?"), elem.name().unwrap_or("?"));
    let message = format!("`{name}` is {elem}, but the input is {input}");
    let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr(name), message);
    cx.fail(diagnostic.related(cx.at_input(0), format!("this is {input}")))
}

/// The first invalid mode in a tensor of bytes.
fn unknown_mode(modes: &Tensor) -> Option<u8> {
    match &modes.data[..] {
        [Payload::Entries { field: onnx_ir::Field::Raw, bytes }] => bytes.iter().copied().find(|m| *m > 6),
        [Payload::Entries { field: onnx_ir::Field::Int32, bytes }] => {
            bytes.as_chunks::<4>().0.iter().map(|b| b[0]).find(|m| *m > 6)
        }
        _ => None,
    }
}
