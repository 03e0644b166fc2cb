//! Tree ensembles: TreeEnsemble, and the older TreeEnsembleClassifier and TreeEnsembleRegressor.
//!
//! The older operators identify nodes by tree and number, and leaves are nodes; the new one has separate leaves and identifies
//! nodes by index. Both become a [`Forest`].

use super::compact::{Compact, Feature};
use super::forest::{Aggregate, Forest, Next, Node, Test};
use super::scores::{Labels, Transform, best, logistic};
use super::{Samples, computed, extents, rounded, wide};
use crate::Call;
use crate::value::Value;
use foldhash::{HashMap, HashMapExt};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::Tensor;
use std::sync::OnceLock;

/// A list of floats, or the tensor attribute that later versions have for it.
fn numbers(call: &Call<'_>, name: &str) -> Result<List<f64>, Failure> {
    match call.attrs.tensor(&format!("{name}_as_tensor"))? {
        Some(tensor) => tensor.floats(),
        None => List::copied(&wide(call.attrs.floats(name))),
    }
}

/// An element that must exist in a list.
fn at<T: Copy>(list: &[T], i: usize, name: &str) -> Result<T, Failure> {
    list.get(i).copied().ok_or_else(|| Failure::new(format!("`{name}` is too short")))
}

fn index(i: i64, name: &str) -> Result<usize, Failure> {
    usize::try_from(i).map_err(|_| Failure::new(format!("`{name}` has a negative number")))
}

/// The trees of the older operators; `stem` is the prefix of the attributes for leaves.
fn old_forest(call: &Call<'_>, stem: &str) -> Result<Forest, Failure> {
    let attrs = &call.attrs;
    let ints = |name: &str| attrs.ints(name).unwrap_or_default();
    let (trees, numbers_of) = (ints("nodes_treeids"), ints("nodes_nodeids"));
    let modes = attrs.strings("nodes_modes").unwrap_or_default();
    let (features, values) = (ints("nodes_featureids"), numbers(call, "nodes_values")?);
    let (if_true, if_false) = (ints("nodes_truenodeids"), ints("nodes_falsenodeids"));
    let missing = ints("nodes_missing_value_tracks_true");
    let mut places = HashMap::with_capacity(trees.len());
    for (i, &tree) in trees.iter().enumerate() {
        let number = at(&numbers_of, i, "nodes_nodeids")?;
        if places.insert((tree, number), i).is_some() {
            fail!("tree {tree} has node {number} twice");
        }
    }
    let mut forest = Forest::default();
    leaves(call, stem, &places, &mut forest)?;
    // A node that is a leaf has the leaf with its own number, and is never tested.
    let is_leaf = |i: usize| modes.get(i).is_some_and(|mode| mode == "LEAF");
    let to = |i: usize| if is_leaf(i) { Next::Leaf(i) } else { Next::Node(i) };
    for (i, &tree) in trees.iter().enumerate() {
        let Some(mode) = modes.get(i) else { fail!("`nodes_modes` is too short") };
        let branch = |list: &[i64], name: &str| {
            let number = at(list, i, name)?;
            match places.get(&(tree, number)) {
                Some(&place) => Ok(to(place)),
                None => fail!("a branch leads to node {number} of tree {tree}, which does not exist"),
            }
        };
        forest.nodes.push(if is_leaf(i) {
            Node {
                feature: 0,
                test: Test::AtMost(0.0),
                nan_is_true: false,
                if_true: Next::Leaf(i),
                if_false: Next::Leaf(i),
            }
        } else {
            let y = at(&values, i, "nodes_values")?;
            Node {
                feature: index(at(&features, i, "nodes_featureids")?, "nodes_featureids")?,
                test: match &mode[..] {
                    "BRANCH_LEQ" => Test::AtMost(y),
                    "BRANCH_LT" => Test::Below(y),
                    "BRANCH_GTE" => Test::AtLeast(y),
                    "BRANCH_GT" => Test::Above(y),
                    "BRANCH_EQ" => Test::Equal(y),
                    "BRANCH_NEQ" => Test::Unequal(y),
                    other => fail!("there is no mode `{other}` of nodes"),
                },
                // The attribute decides, whatever the mode, and its default is false.
                nan_is_true: missing.get(i).is_some_and(|&tracks| tracks != 0),
                if_true: branch(&if_true, "nodes_truenodeids")?,
                if_false: branch(&if_false, "nodes_falsenodeids")?,
            }
        });
    }
    // The first node of each tree is its root; trees are ordered by their numbers.
    let mut roots: Vec<(i64, usize)> = trees.iter().copied().zip(0..).collect();
    roots.sort_unstable();
    roots.dedup_by_key(|(tree, _)| *tree);
    forest.roots = roots.into_iter().map(|(_, i)| to(i)).collect();
    Ok(forest)
}

/// The leaves of the older operators: for each node, its entries in their order.
fn leaves(
    call: &Call<'_>,
    stem: &str,
    places: &HashMap<(i64, i64), usize>,
    forest: &mut Forest,
) -> Result<(), Failure> {
    let ints = |ending: &str| call.attrs.ints(&format!("{stem}_{ending}")).unwrap_or_default();
    let (trees, nodes, targets) = (ints("treeids"), ints("nodeids"), ints("ids"));
    let weights = numbers(call, &format!("{stem}_weights"))?;
    let mut entries = Vec::with_capacity(trees.len());
    for (i, &tree) in trees.iter().enumerate() {
        let number = at(&nodes, i, &format!("{stem}_nodeids"))?;
        let Some(&place) = places.get(&(tree, number)) else {
            fail!("a weight is for node {number} of tree {tree}, which does not exist");
        };
        let name = format!("{stem}_ids");
        let target = index(at(&targets, i, &name)?, &name)?;
        entries.push((place, (target, at(&weights, i, &format!("{stem}_weights"))?)));
    }
    entries.sort_by_key(|(place, _)| *place);
    let mut start = 0;
    for place in 0..places.len() {
        let count = entries[start..].iter().take_while(|(own, _)| *own == place).count();
        forest.leaves.push(start..start + count);
        start += count;
    }
    forest.entries = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(())
}

/// The trees of a node, and the aggregation of their results.
struct Targets {
    trees: Trees,
    aggregate: Aggregate,
    transform: Transform,
    base: List<f64>,
    /// The number of targets.
    count: usize,
}

impl Targets {
    fn of(
        call: &Call<'_>,
        forest: Forest,
        aggregate: Aggregate,
        transform: Transform,
        base: List<f64>,
    ) -> Result<Targets, Failure> {
        let count = match call.attrs.int("n_targets") {
            Some(n) => index(n, "n_targets")?,
            None => forest.entries.iter().map(|(target, _)| target.saturating_add(1)).max().unwrap_or(1),
        };
        forest.check_targets(count)?;
        Ok(Targets { trees: Trees::of(forest), aggregate, transform, base, count })
    }

    /// The scores of all samples.
    fn scores(&self, call: &Call<'_>) -> Result<Scores, Failure> {
        let x = call.tensor(0)?;
        let (dims, elem) = ([extents(x)?[0], self.count], computed(x.elem()));
        let mut all = filled(call.has_room(ElemType::DOUBLE, &dims)?, 0.0)?;
        self.aggregate.begin(&mut all, elem);
        self.trees.add(x, self.aggregate, elem, &mut all, self.count)?;
        for scores in all.chunks_exact_mut(self.count.max(1)) {
            add_base(scores, &self.base, elem)?;
            self.transform.apply_to_targets(scores);
        }
        Ok(Scores { dims, all })
    }
}

pub(super) fn regress(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let targets = call.kept(&[], |_| {
        let aggregate = Aggregate::named(&call.attrs.string("aggregate_function").unwrap_or_default())?;
        let base = numbers(call, "base_values")?;
        Targets::of(call, old_forest(call, "target")?, aggregate, Transform::of(&call.attrs)?, base)
    })?;
    Ok(vec![targets.scores(call)?.tensor(ElemType::FLOAT)?.into()])
}

/// A forest, and its compact forms for each feature type, built on demand.
struct Trees {
    forest: Forest,
    single: OnceLock<Option<Compact<f32>>>,
    double: OnceLock<Option<Compact<f64>>>,
}

impl Trees {
    fn of(forest: Forest) -> Trees {
        Trees { forest, single: OnceLock::new(), double: OnceLock::new() }
    }

    /// Adds the entries of reached leaves to the scores, computed in a type.
    fn add(
        &self,
        x: &Tensor,
        aggregate: Aggregate,
        elem: ElemType,
        scores: &mut [f64],
        targets: usize,
    ) -> Result<(), Failure> {
        let features = extents(x)?[1];
        let is_done = match (x.slice::<f32>(), x.slice::<f64>()) {
            (_, Ok(numbers)) => {
                let records = self.double.get_or_init(|| Compact::of(&self.forest));
                by_records(records, aggregate, elem, (numbers, features), (&mut *scores, targets))?
            }
            (Ok(numbers), _) => {
                let records = self.single.get_or_init(|| Compact::of(&self.forest));
                by_records(records, aggregate, elem, (numbers, features), (&mut *scores, targets))?
            }
            _ => {
                let numbers = x.floats()?.into_iter().map(|x| x as f32).listed()?;
                let records = self.single.get_or_init(|| Compact::of(&self.forest));
                by_records(records, aggregate, elem, (&numbers, features), (&mut *scores, targets))?
            }
        };
        if is_done {
            return Ok(());
        }
        let samples = Samples::of(x)?;
        for (sample, scores) in scores.chunks_exact_mut(targets.max(1)).enumerate() {
            aggregate.run(&self.forest, samples.row(sample), scores, elem)?;
        }
        Ok(())
    }
}

/// Computes with the compact form if it supports all samples; returns whether it did.
fn by_records<T: Feature>(
    records: &Option<Compact<T>>,
    aggregate: Aggregate,
    elem: ElemType,
    samples: (&[T], usize),
    scores: (&mut [f64], usize),
) -> Result<bool, Failure> {
    let Some(records) = records.as_ref().filter(|records| records.features() <= samples.1) else {
        return Ok(false);
    };
    if !records.knows_nan() && samples.0.iter().any(|x| x.is_nan()) {
        return Ok(false);
    }
    records.run(aggregate, elem, samples, scores)?;
    Ok(true)
}

fn add_base(scores: &mut [f64], base: &[f64], elem: ElemType) -> Result<(), Failure> {
    if !matches!(base.len(), 0 | 1) && base.len() != scores.len() {
        fail!("there are {} for {}", counted(base.len(), "base value"), counted(scores.len(), "score"));
    }
    for (score, base) in scores.iter_mut().zip(base.iter().cycle()) {
        *score = rounded(elem, *score + base);
    }
    Ok(())
}

/// The scores of all samples.
struct Scores {
    dims: [usize; 2],
    all: List<f64>,
}

impl Scores {
    fn tensor(&self, elem: ElemType) -> Result<Tensor, Failure> {
        Tensor::of_floats(elem, &self.dims, &self.all)
    }
}

/// The trees of a classifier.
struct Classes {
    trees: Trees,
    labels: Labels,
    transform: Transform,
    base: List<f64>,
    /// Whether there are at most two classes and weights give the score of the second one.
    is_binary: bool,
    /// Whether there are two classes and all weights are for the second one: the first has no score, as in ONNX Runtime.
    is_second: bool,
    /// Whether no weight is negative, so that their sum is a probability.
    is_positive: bool,
}

fn classes_of(call: &Call<'_>) -> Result<Classes, Failure> {
    let mut forest = old_forest(call, "class")?;
    let labels = Labels::of(&call.attrs, "classlabels_int64s");
    let classes = labels.count();
    forest.check_targets(classes)?;
    let first = forest.entries.first().map(|(class, _)| *class);
    let is_one = classes <= 2 && forest.entries.iter().all(|(class, _)| Some(*class) == first);
    let is_second = is_one && first == Some(1);
    let is_binary = is_one && !is_second;
    if is_binary {
        forest.entries.iter_mut().for_each(|(class, _)| *class = 0);
    }
    let is_positive = forest.entries.iter().all(|&(_, weight)| weight >= 0.0);
    let (transform, base) = (Transform::of(&call.attrs)?, numbers(call, "base_values")?);
    Ok(Classes { trees: Trees::of(forest), labels, transform, base, is_binary, is_second, is_positive })
}

pub(super) fn classify(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let trees = call.kept(&[], |_| classes_of(call))?;
    let Classes { labels, is_binary, .. } = &*trees;
    let (is_binary, transform) = (*is_binary, trees.transform);
    let classes = labels.count();
    let width = if is_binary { 2 } else { classes };
    let count = extents(x)?[0];
    let dims = [count, width];
    let mut all = filled(call.has_room(ElemType::DOUBLE, &dims)?, 0.0)?;
    let mut best_ones = List::with_room(count)?;
    let own = if is_binary { classes } else { width };
    for scores in all.chunks_exact_mut(width.max(1)) {
        add_base(&mut scores[..own], &trees.base, ElemType::FLOAT)?;
    }
    trees.trees.add(x, Aggregate::Sum, ElemType::FLOAT, &mut all, width)?;
    for scores in all.chunks_exact_mut(width.max(1)) {
        let threshold = if trees.is_positive { 0.5 } else { 0.0 };
        if trees.is_second {
            best_ones.push(usize::from(scores[1] > threshold))?;
            transform.apply(scores);
        } else if is_binary {
            let score = scores[0];
            let other = if trees.is_positive { 1.0 - score } else { -score };
            best_ones.push(usize::from(score > threshold))?;
            // As probabilities they already sum to 1, as in ONNX Runtime.
            match transform {
                Transform::Logistic => scores.copy_from_slice(&[logistic(-score), logistic(score)]),
                Transform::Probit => {
                    scores.copy_from_slice(&[other, score]);
                    transform.apply(scores);
                }
                Transform::None | Transform::Softmax | Transform::SoftmaxZero => {
                    scores.copy_from_slice(&[other, score]);
                }
            }
        } else {
            best_ones.push(best(scores))?;
            transform.apply(scores);
        }
        scores.iter_mut().for_each(|x| *x = rounded(ElemType::FLOAT, *x));
    }
    let label = if classes == 1 {
        labels.yes_or_no(&best_ones.iter().map(|&class| class == 1).listed()?)?
    } else {
        labels.tensor(&best_ones)?
    };
    Ok(vec![label.into(), Scores { dims, all }.tensor(ElemType::FLOAT)?.into()])
}

/// The trees of `TreeEnsemble`.
fn new_forest(call: &Call<'_>) -> Result<Forest, Failure> {
    let attrs = &call.attrs;
    let ints = |name: &str| attrs.ints(name).unwrap_or_default();
    let tensor = |name: &str| match attrs.tensor(name)? {
        Some(tensor) => tensor.floats(),
        None => Ok(List::new()),
    };
    let features = ints("nodes_featureids");
    let (splits, modes) = (tensor("nodes_splits")?, tensor("nodes_modes")?);
    let (if_true, true_is_leaf) = (ints("nodes_truenodeids"), ints("nodes_trueleafs"));
    let (if_false, false_is_leaf) = (ints("nodes_falsenodeids"), ints("nodes_falseleafs"));
    let missing = ints("nodes_missing_value_tracks_true");
    let mut forest = Forest { members: tensor("membership_values")?, ..Forest::default() };
    let mut sets = forest.members.split(|x| x.is_nan());
    let mut start = 0;
    for (i, &feature) in features.iter().enumerate() {
        let next = |to: &[i64], is_leaf: &[i64], name: &str| {
            let place = index(at(to, i, name)?, name)?;
            Ok(if at(is_leaf, i, name)? != 0 { Next::Leaf(place) } else { Next::Node(place) })
        };
        let mode = at(&modes, i, "nodes_modes")? as u8;
        let split = at(&splits, i, "nodes_splits")?;
        let tracks = missing.get(i).is_some_and(|&tracks| tracks != 0);
        let test = match mode {
            0 => Test::AtMost(split),
            1 => Test::Below(split),
            2 => Test::AtLeast(split),
            3 => Test::Above(split),
            4 => Test::Equal(split),
            5 => Test::Unequal(split),
            6 => {
                let Some(set) = sets.next() else { fail!("`membership_values` has too few sets") };
                let end = start + set.len();
                let members = Test::Member(start..end);
                start = end + 1;
                members
            }
            other => fail!("there is no mode {other} of nodes"),
        };
        forest.nodes.push(Node {
            feature: index(feature, "nodes_featureids")?,
            // The attribute decides, whatever the mode.
            nan_is_true: tracks,
            test,
            if_true: next(&if_true, &true_is_leaf, "nodes_truenodeids")?,
            if_false: next(&if_false, &false_is_leaf, "nodes_falsenodeids")?,
        });
    }
    let weights = tensor("leaf_weights")?;
    for (i, target) in ints("leaf_targetids").into_iter().enumerate() {
        forest.leaves.push(i..i + 1);
        forest.entries.push((index(target, "leaf_targetids")?, at(&weights, i, "leaf_weights")?));
    }
    forest.roots = ints("tree_roots")
        .into_iter()
        .map(|root| Ok(Next::Node(index(root, "tree_roots")?)))
        .collect::<Result<_, Failure>>()?;
    Ok(forest)
}

pub(super) fn run(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let targets = call.kept(&[], |_| {
        let aggregate = Aggregate::numbered(call.attrs.int("aggregate_function").unwrap_or(1))?;
        let transform = Transform::numbered(call.attrs.int("post_transform").unwrap_or(0))?;
        Targets::of(call, new_forest(call)?, aggregate, transform, List::new())
    })?;
    Ok(vec![targets.scores(call)?.tensor(computed(call.tensor(0)?.elem()))?.into()])
}
