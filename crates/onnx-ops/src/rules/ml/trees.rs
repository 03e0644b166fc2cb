//! Ensembles of trees.
//!
//! Nodes and leaves are in parallel lists. Up to version 3, a node has the number of its tree and its number in the
//! tree; version 5 has positions in the lists.

use super::models::{classified, examples, labels, several};
use super::{counted, in_range, len, one_attr, post_transform, same_len};
use crate::dims::Dim;
use crate::infer::{Infer, NodeCx};
use foldhash::HashSet;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{Payload, Tensor};

const MODES: &[&str] =
    &["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"];

/// The name of a list, or that of the tensor which may stand for it from version 3 on; at most one of them is given.
fn list_or_tensor(cx: &mut NodeCx<'_, '_>, list: &'static str, tensor: &'static str) -> Option<&'static str> {
    if cx.since() < 3 || len(cx, tensor)? == 0 {
        return Some(list);
    }
    if len(cx, list)? == 0 { Some(tensor) } else { one_attr(cx, &[list, tensor]) }
}

/// What `nodes_*` say: their lists are of one length, modes are known, branches lead to nodes of the same tree.
fn nodes(cx: &mut NodeCx<'_, '_>) -> Option<HashSet<(i64, i64)>> {
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
    let modes = cx.strings("nodes_modes")?;
    if let Some(other) = modes.iter().find(|m| !MODES.contains(&m.as_str())) {
        let near = onnx_ir::diag::did_you_mean(other, MODES.iter().copied());
        let message = format!("`{other}` is no mode of a node");
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("nodes_modes"), message);
        cx.fail(diagnostic.maybe_help(near.map(|n| format!("did you mean `{n}`?"))))?;
    }
    let is_leaf = |i: usize| modes.get(i).is_some_and(|m| m == "LEAF");
    let (trees, ids) = (cx.ints("nodes_treeids")?, cx.ints("nodes_nodeids")?);
    let mut all: HashSet<(i64, i64)> = HashSet::default();
    all.reserve(trees.len());
    for node in trees.iter().copied().zip(ids) {
        if !all.insert(node) {
            cx.fail_at_attr("nodes_nodeids", format!("node {} is twice in tree {}", node.1, node.0))?;
        }
    }
    for name in ["nodes_truenodeids", "nodes_falsenodeids"] {
        let targets = cx.ints(name)?;
        let lost = trees
            .iter()
            .zip(targets)
            .enumerate()
            .find(|(i, (t, n))| !is_leaf(*i) && !all.contains(&(**t, *n)));
        if let Some((i, (tree, node))) = lost {
            let message = format!("the branch of entry {i} leads to node {node}, which tree {tree} has not");
            cx.fail_at_attr(name, message)?;
        }
    }
    let branches = cx.ints("nodes_featureids")?.into_iter().enumerate().filter(|(i, _)| !is_leaf(*i));
    columns(cx, branches.map(|(_, feature)| feature).collect())?;
    Some(all)
}

/// Holds that features are columns of the input.
fn columns(cx: &mut NodeCx<'_, '_>, features: Vec<i64>) -> Infer {
    let last = cx.shape(0).filter(|s| s.len() <= 2).and_then(|s| s.last().copied());
    let columns = last.and_then(|d| cx.dims().as_const(d)).unwrap_or(i64::MAX);
    let Some(other) = features.iter().find(|f| !(0..columns).contains(*f)) else { return Some(()) };
    let diagnostic = |cx: &NodeCx<'_, '_>, message| {
        Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("nodes_featureids"), message)
    };
    if *other < 0 {
        let message = format!("feature {other} is negative");
        return cx.fail(diagnostic(cx, message));
    }
    let ty = cx.ty(0).clone().text(cx.dims());
    let message = format!("there is no feature {other} among {columns}");
    cx.fail(diagnostic(cx, message).related(cx.at_input(0), format!("this is {ty}")))
}

/// Holds that the votes of leaves are parallel lists, for nodes that exist.
fn votes(
    cx: &mut NodeCx<'_, '_>,
    all: &HashSet<(i64, i64)>,
    [trees, ids, targets]: [&'static str; 3],
    weights: [&'static str; 2],
) -> Infer {
    let weights = list_or_tensor(cx, weights[0], weights[1])?;
    same_len(cx, trees, &[ids, targets, weights], &[])?;
    let lost = cx.ints(trees)?.into_iter().zip(cx.ints(ids)?).find(|vote| !all.contains(vote));
    match lost {
        Some((tree, node)) => cx.fail_at_attr(ids, format!("tree {tree} has no node {node}")),
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
    in_range(cx, "class_ids", labels, "classes")?;
    base_values(cx, labels, "classes")
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
    in_range(cx, "target_ids", targets, "targets")?;
    base_values(cx, targets, "targets")
}

fn positive(cx: &mut NodeCx<'_, '_>, targets: i64) -> Option<usize> {
    let count = usize::try_from(targets).ok().filter(|n| *n > 0);
    if count.is_none() {
        cx.fail_at_attr("n_targets", format!("{targets} targets"))?;
    }
    count
}

/// What is added to the scores: nothing, or a number for each. (Two classes may share one.)
fn base_values(cx: &mut NodeCx<'_, '_>, count: usize, what: &str) -> Infer {
    let name = list_or_tensor(cx, "base_values", "base_values_as_tensor")?;
    let values = len(cx, name)?;
    if values == 0 || values == count || values == 1 && count == 2 {
        return Some(());
    }
    cx.fail_at_attr(name, format!("{} for {count} {what}", counted(values, "base value")))
}

/// `TreeEnsemble`: branches lead to positions among the nodes, or among the leaves.
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
        return cx.fail_at_attr("nodes_modes", format!("{other} is no mode of a node, which are 0 to 6"));
    }
    for (ids, leafs) in [("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs")]
    {
        in_range(cx, leafs, 2, "kinds of branches")?;
        let (ids_list, leafs) = (cx.ints(ids)?, cx.ints(leafs)?);
        let lost = ids_list.into_iter().zip(leafs).find(|(id, leaf)| {
            let count = if *leaf == 1 { leaves } else { nodes };
            usize::try_from(*id).map_or(true, |id| id >= count)
        });
        if let Some((id, leaf)) = lost {
            let (count, what) = if leaf == 1 { (leaves, "leaves") } else { (nodes, "nodes") };
            return cx.fail_at_attr(ids, format!("{id} is none of {count} {what}"));
        }
    }
    in_range(cx, "tree_roots", nodes, "nodes")?;
    let features = cx.ints("nodes_featureids")?;
    columns(cx, features)?;
    let targets = positive(cx, targets?)?;
    in_range(cx, "leaf_targetids", targets, "targets")
}

/// An attribute that is one of the numbers up to `most`.
fn numbered(cx: &mut NodeCx<'_, '_>, name: &str, most: i64) -> Infer {
    let number = cx.int(name)?;
    if (0..=most).contains(&number) {
        return Some(());
    }
    cx.fail_at_attr(name, format!("`{name}` is {number}, not in [0, {most}]"))
}

/// Holds that a tensor has the element type of the input.
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

/// The first number that is no mode, in a tensor of bytes.
fn unknown_mode(modes: &Tensor) -> Option<u8> {
    match &modes.data[..] {
        [Payload::Entries { field: onnx_ir::Field::Raw, bytes }] => bytes.iter().copied().find(|m| *m > 6),
        [Payload::Entries { field: onnx_ir::Field::Int32, bytes }] => {
            bytes.as_chunks::<4>().0.iter().map(|b| b[0]).find(|m| *m > 6)
        }
        _ => None,
    }
}
