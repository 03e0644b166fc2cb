//! Decision trees as compact records, traversed by several samples at a time.
//!
//! Every test becomes `x > limit`: true leads to the second of two adjacent records, false (and NaN) to the first. A leaf leads
//! to itself, so a traversal needs no branches: several samples, or one sample in several trees, advance step by step until none
//! of them moves.
//!
//! ```text
//! x <= 0.5 ? a : b          limit 0.5, first: a, b
//! x < 0.5 ? a : b           limit the number before 0.5, first: a, b
//! x >= 0.5 ? a : b          limit the number before 0.5, first: b, a
//! x == 0.5 ? a : b          limit 0.5, first: (limit the number before 0.5, first: b, a), b
//! ```
//! [`Forest`] is the reference, and the fallback if branches form cycles.

use super::forest::{Aggregate, Forest, Next, Node, Test};
use super::rounded;
use foldhash::HashMap;
use onnx_ir::ElemType;
use onnx_loops::failure::Failure;
use onnx_loops::parallel::parallel;
use onnx_loops::pool;

/// Traversals that run at the same time.
const TOGETHER: usize = 8;
/// Samples that traverse one tree before the next, while the tree is in the first-level cache.
const SAMPLES: usize = 128;
/// With fewer steps, one thread does the work.
const MIN_STEPS: usize = 1 << 14;
/// The estimated steps of a traversal.
const STEPS: usize = 8;

/// The type of comparisons: single or double floats.
pub(super) trait Feature: bytemuck::Pod + PartialOrd + Send + Sync {
    /// A value that only itself reaches.
    const GREATEST: Self;

    /// The greatest value that is at most, or below, a number; `None` if there is none.
    fn at_most(y: f64) -> Option<Self>;
    fn below(y: f64) -> Option<Self>;
    fn is_nan(self) -> bool;
}

impl Feature for f32 {
    const GREATEST: f32 = f32::INFINITY;

    fn at_most(y: f64) -> Option<f32> {
        let near = y as f32;
        let is_above = f64::from(near) > y;
        (!y.is_nan()).then(|| if is_above { near.next_down() } else { near })
    }

    fn below(y: f64) -> Option<f32> {
        let most = f32::at_most(y)?;
        match f64::from(most) < y {
            true => Some(most),
            false => (most > f32::NEG_INFINITY).then(|| most.next_down()),
        }
    }

    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }
}

impl Feature for f64 {
    const GREATEST: f64 = f64::INFINITY;

    fn at_most(y: f64) -> Option<f64> {
        (!y.is_nan()).then_some(y)
    }

    fn below(y: f64) -> Option<f64> {
        (y > f64::NEG_INFINITY).then(|| y.next_down())
    }

    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }
}

/// A test or a leaf.
#[derive(Clone, Copy)]
struct Record<T> {
    limit: T,
    feature: u32,
    /// The record for features not above the limit; the next record is for those above it.
    first: u32,
}

/// The compact form of a forest.
pub(super) struct Compact<T> {
    records: Vec<Record<T>>,
    /// For each record, whether NaN goes to the second target.
    nan_is_second: Vec<bool>,
    /// For each record, the leaf.
    leaves: Vec<u32>,
    roots: Vec<u32>,
    /// The start of the entries of each leaf, and the end of the last.
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
    /// The least number of features of a sample.
    features: usize,
    /// Whether NaN is supported: not if a test was split into several.
    knows_nan: bool,
}

/// Not a leaf.
const NONE: u32 = u32::MAX;

/// The target of a branch during construction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum BranchTarget {
    Leaf(u32),
    /// A test of the forest; if it was split, which part.
    Test(u32, u32),
}

/// A test in the form of a record.
struct Split<T> {
    limit: T,
    feature: u32,
    /// `None` if it goes to neither target.
    nan_is_second: Option<bool>,
    targets: [BranchTarget; 2],
}

impl<T: Feature> Compact<T> {
    /// The compact form of a forest; `None` for invalid or cyclic branches, which the reference reports, and for forests that are
    /// too large.
    pub(super) fn of(forest: &Forest) -> Option<Compact<T>> {
        let mut compact = Compact {
            records: Vec::new(),
            nan_is_second: Vec::new(),
            leaves: Vec::new(),
            roots: Vec::with_capacity(forest.roots.len()),
            starts: Vec::with_capacity(forest.leaves.len() + 1),
            entries: Vec::new(),
            features: 1,
            knows_nan: true,
        };
        for leaf in &forest.leaves {
            compact.starts.push(u32::try_from(compact.entries.len()).ok()?);
            for (target, weight) in forest.entries.get(leaf.clone())? {
                compact.entries.push((u32::try_from(*target).ok()?, *weight));
            }
        }
        compact.starts.push(u32::try_from(compact.entries.len()).ok()?);
        has_ends(forest).then_some(())?;
        // The pair of target records of each test.
        let mut pairs: HashMap<(u32, u32), u32> = HashMap::default();
        for root in &forest.roots {
            let mut queue = vec![(compact.room(1)?, target(*root)?)];
            compact.roots.push(queue[0].0);
            // Breadth-first, so that the tests that all samples visit are adjacent.
            let mut next = 0;
            while let Some(&(place, target)) = queue.get(next) {
                next += 1;
                let at = usize::try_from(place).ok()?;
                let (test, part) = match target {
                    BranchTarget::Leaf(leaf) => {
                        ((leaf as usize) < forest.leaves.len()).then_some(())?;
                        compact.records[at].first = place;
                        compact.leaves[at] = leaf;
                        continue;
                    }
                    BranchTarget::Test(test, part) => (test, part),
                };
                let split = Split::<T>::of(forest, forest.nodes.get(test as usize)?, test, part)?;
                let first = match pairs.get(&(test, part)) {
                    Some(first) => *first,
                    None => {
                        let first = compact.room(2)?;
                        pairs.insert((test, part), first);
                        queue.extend([(first, split.targets[0]), (first + 1, split.targets[1])]);
                        first
                    }
                };
                compact.features = compact.features.max(split.feature as usize + 1);
                compact.records[at] = Record { limit: split.limit, feature: split.feature, first };
                match split.nan_is_second {
                    Some(is_second) => compact.nan_is_second[at] = is_second,
                    None => compact.knows_nan = false,
                }
            }
        }
        Some(compact)
    }

    /// Allocates records; returns the first of them.
    fn room(&mut self, count: usize) -> Option<u32> {
        let first = u32::try_from(self.records.len()).ok().filter(|first| *first < NONE / 2)?;
        let all = self.records.len() + count;
        self.records.resize(all, Record { limit: T::GREATEST, feature: 0, first });
        self.nan_is_second.resize(all, false);
        self.leaves.resize(all, NONE);
        Some(first)
    }

    /// The least number of features of a sample.
    pub(super) fn features(&self) -> usize {
        self.features
    }

    pub(super) fn knows_nan(&self) -> bool {
        self.knows_nan
    }

    /// The leaves that some traversals reach from given records, for given features.
    #[inline(always)]
    fn ends<const HAS_NAN: bool>(&self, mut at: [u32; TOGETHER], rows: [&[T]; TOGETHER]) -> [u32; TOGETHER] {
        loop {
            let mut moved = 0;
            for (at, row) in at.iter_mut().zip(&rows) {
                let record = &self.records[*at as usize];
                let x = row[record.feature as usize];
                let mut is_second = x > record.limit;
                if HAS_NAN {
                    is_second |= x.is_nan() && self.nan_is_second[*at as usize];
                }
                let next = record.first + u32::from(is_second);
                moved |= next ^ *at;
                *at = next;
            }
            if moved == 0 {
                return at;
            }
        }
    }

    /// Adds the entries of reached leaves to the scores, sample by sample and tree by tree.
    pub(super) fn run(
        &self,
        aggregate: Aggregate,
        elem: ElemType,
        (samples, features): (&[T], usize),
        (scores, targets): (&mut [f64], usize),
    ) -> Result<(), Failure> {
        let count = samples.len().checked_div(features).unwrap_or(0);
        if count == 0 || targets == 0 {
            return Ok(());
        }
        let steps = count.saturating_mul(self.roots.len()).saturating_mul(STEPS);
        let threads = if steps < MIN_STEPS { 1 } else { pool::threads().min(count) };
        let each = count.div_ceil(threads).next_multiple_of(TOGETHER);
        let parts = samples.chunks(each * features).zip(scores.chunks_mut(each * targets)).collect();
        parallel(parts, |(samples, scores): (&[T], &mut [f64])| {
            let blocks = samples.chunks(SAMPLES * features).zip(scores.chunks_mut(SAMPLES * targets));
            for (samples, scores) in blocks {
                onnx_loops::budget::spend(samples.len() / features * self.roots.len())?;
                match samples.iter().any(|x| x.is_nan()) {
                    true => self.block::<true>(aggregate, elem, (samples, features), (scores, targets)),
                    false => self.block::<false>(aggregate, elem, (samples, features), (scores, targets)),
                }
            }
            Ok(())
        })
    }

    fn block<const HAS_NAN: bool>(
        &self,
        aggregate: Aggregate,
        elem: ElemType,
        samples: (&[T], usize),
        scores: (&mut [f64], usize),
    ) {
        let trees = self.roots.len() as f64;
        match (aggregate, elem) {
            (Aggregate::Sum, ElemType::FLOAT) => {
                self.walked::<HAS_NAN>(samples, scores, |score, weight| f64::from((score + weight) as f32));
            }
            (Aggregate::Sum, ElemType::DOUBLE) => {
                self.walked::<HAS_NAN>(samples, scores, |score, weight| score + weight);
            }
            (Aggregate::Sum, _) => {
                self.walked::<HAS_NAN>(samples, scores, |score, weight| rounded(elem, score + weight));
            }
            (Aggregate::Average, _) => {
                self.walked::<HAS_NAN>(samples, scores, |score, weight| {
                    rounded(elem, score + weight / trees)
                });
            }
            (Aggregate::Min, _) => self.walked::<HAS_NAN>(samples, scores, f64::min),
            (Aggregate::Max, _) => self.walked::<HAS_NAN>(samples, scores, f64::max),
        }
    }

    /// Several samples traverse each tree together; if there are fewer, each one traverses several trees.
    #[inline(always)]
    fn walked<const HAS_NAN: bool>(
        &self,
        (samples, features): (&[T], usize),
        (scores, targets): (&mut [f64], usize),
        add: impl Fn(f64, f64) -> f64,
    ) {
        let count = samples.len() / features;
        let row = |sample: usize| &samples[sample * features..][..features];
        let together = count - count % TOGETHER;
        for &root in &self.roots {
            for first in (0..together).step_by(TOGETHER) {
                let rows = std::array::from_fn(|i| row(first + i));
                let ends = self.ends::<HAS_NAN>([root; TOGETHER], rows);
                for (end, scores) in ends.iter().zip(scores[first * targets..].chunks_exact_mut(targets)) {
                    self.reached(*end, scores, &add);
                }
            }
        }
        for sample in together..count {
            let (rows, scores) = ([row(sample); TOGETHER], &mut scores[sample * targets..][..targets]);
            for roots in self.roots.chunks(TOGETHER) {
                // Unused traversals repeat the first one.
                let begin = std::array::from_fn(|i| *roots.get(i).unwrap_or(&roots[0]));
                let ends = self.ends::<HAS_NAN>(begin, rows);
                ends[..roots.len()].iter().for_each(|end| self.reached(*end, scores, &add));
            }
        }
    }

    #[inline(always)]
    fn reached(&self, end: u32, scores: &mut [f64], add: &impl Fn(f64, f64) -> f64) {
        let leaf = self.leaves[end as usize] as usize;
        let entries = self.starts[leaf] as usize..self.starts[leaf + 1] as usize;
        for &(target, weight) in &self.entries[entries] {
            let score = &mut scores[target as usize];
            *score = add(*score, weight);
        }
    }
}

fn target(next: Next) -> Option<BranchTarget> {
    Some(match next {
        Next::Leaf(leaf) => BranchTarget::Leaf(u32::try_from(leaf).ok()?),
        Next::Node(node) => BranchTarget::Test(u32::try_from(node).ok()?, 0),
    })
}

impl<T: Feature> Split<T> {
    /// A test in record form, or a part of a membership test: for each number whether a feature is at most it, and then whether
    /// it is below it.
    fn of(forest: &Forest, node: &Node, test: u32, part: u32) -> Option<Split<T>> {
        let (yes, no) = (target(node.if_true)?, target(node.if_false)?);
        let (limit, targets) = match node.test {
            Test::AtMost(y) => (T::at_most(y), [yes, no]),
            Test::Below(y) => (T::below(y), [yes, no]),
            // Comparisons with NaN are false.
            Test::AtLeast(y) | Test::Above(y) if y.is_nan() => (None, [yes, no]),
            Test::AtLeast(y) => (T::below(y), [no, yes]),
            Test::Above(y) => (T::at_most(y), [no, yes]),
            Test::Equal(y) => among::<T>(&[y], (test, part), [yes, no]),
            Test::Unequal(y) => among::<T>(&[y], (test, part), [no, yes]),
            Test::Member(ref members) => {
                among::<T>(forest.members.get(members.clone())?, (test, part), [yes, no])
            }
        };
        // Without a limit, every feature is above it.
        let (limit, targets) = match limit {
            Some(limit) => (limit, targets),
            None => (T::GREATEST, [targets[1]; 2]),
        };
        let nan = if node.nan_is_true { yes } else { no };
        let nan_is_second = targets.iter().position(|target| *target == nan).map(|at| at == 1);
        Some(Split { limit, feature: u32::try_from(node.feature).ok()?, nan_is_second, targets })
    }
}

/// The limit and targets of a part of a membership test.
fn among<T: Feature>(
    numbers: &[f64],
    (test, part): (u32, u32),
    [yes, no]: [BranchTarget; 2],
) -> (Option<T>, [BranchTarget; 2]) {
    let at = part as usize / 2;
    let otherwise = if at + 1 < numbers.len() { BranchTarget::Test(test, part / 2 * 2 + 2) } else { no };
    match numbers.get(at) {
        Some(number) if part % 2 == 0 => {
            (T::at_most(*number), [BranchTarget::Test(test, part + 1), otherwise])
        }
        Some(number) => (T::below(*number), [otherwise, yes]),
        None => (None, [no, no]),
    }
}

/// Whether the forest has no cycles.
fn has_ends(forest: &Forest) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        New,
        /// On the current path.
        Open,
        Done,
    }
    let mut states = vec![VisitState::New; forest.nodes.len()];
    let mut way: Vec<(usize, usize)> = Vec::new();
    for root in &forest.roots {
        let mut next = Some(*root);
        loop {
            if let Some(Next::Node(node)) = next {
                match states.get(node) {
                    Some(VisitState::New) => {
                        states[node] = VisitState::Open;
                        way.push((node, 0));
                    }
                    Some(VisitState::Open) | None => return false,
                    Some(VisitState::Done) => {}
                }
            }
            let Some((node, branch)) = way.last_mut() else { break };
            *branch += 1;
            next = match branch {
                1 => Some(forest.nodes[*node].if_true),
                2 => Some(forest.nodes[*node].if_false),
                _ => {
                    states[*node] = VisitState::Done;
                    way.pop();
                    None
                }
            };
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random forest with all kinds of tests.
    fn forest(seed: usize) -> Forest {
        let mut state = seed as u64 * 7919 + 1;
        let mut draw = |of: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % of
        };
        let count = 1 + draw(40);
        let members: Vec<f64> = (0..12).map(|i| f64::from(i % 5) - 1.5).collect();
        let mut forest = Forest { members: members.into(), ..Forest::default() };
        for leaf in 0..10 {
            let first = forest.entries.len();
            forest.entries.extend((0..draw(3)).map(|_| (draw(3), draw(100) as f64 / 7.0)));
            forest.leaves.push(first..forest.entries.len());
            assert!(leaf < 10);
        }
        for node in 0..count {
            let y = [-0.5, 0.0, 0.1, 0.5, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300][draw(9)];
            let test = match draw(7) {
                0 => Test::AtMost(y),
                1 => Test::Below(y),
                2 => Test::AtLeast(y),
                3 => Test::Above(y),
                4 => Test::Equal(y),
                5 => Test::Unequal(y),
                _ => Test::Member(draw(6)..6 + draw(6)),
            };
            // Branches lead forward, so there are no cycles.
            let mut next = || match node + 1 + draw(8) {
                later if later < count => Next::Node(later),
                _ => Next::Leaf(draw(10)),
            };
            let (if_true, if_false) = (next(), next());
            forest.nodes.push(Node { feature: draw(4), test, nan_is_true: draw(2) == 1, if_true, if_false });
        }
        forest.roots = (0..1 + draw(20)).map(|_| Next::Node(draw(count))).collect();
        forest
    }

    #[test]
    fn records_lead_where_the_plain_trees_lead() {
        const VALUES: [f32; 12] =
            [-2.0, -0.5, -0.0, 0.0, 0.1, 0.5, 1.0, 1.5, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::NAN];
        let all = [Aggregate::Sum, Aggregate::Average, Aggregate::Min, Aggregate::Max];
        let mut with_nan = 0;
        for seed in 0..300 {
            let (forest, aggregate) = (forest(seed), all[seed % 4]);
            let compact = Compact::<f32>::of(&forest).expect("branches end");
            let wide = Compact::<f64>::of(&forest).expect("branches end");
            for count in [1, 3, 8, 29] {
                // Every other forest is tested with NaN, if both forms support it.
                let kinds = if seed % 2 == 0 && compact.knows_nan() && wide.knows_nan() { 12 } else { 11 };
                with_nan += usize::from(kinds == 12);
                let x: Vec<f32> = (0..count * 4).map(|i| VALUES[(i * 5 + i / 7 + seed) % kinds]).collect();
                let doubles: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
                for elem in [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16] {
                    let mut expected = vec![1.0; count * 3];
                    for (row, scores) in doubles.chunks_exact(4).zip(expected.chunks_exact_mut(3)) {
                        aggregate.begin(scores, elem);
                        aggregate.run(&forest, row, scores, elem).expect("sound");
                    }
                    let mut scores = vec![1.0; count * 3];
                    aggregate.begin(&mut scores, elem);
                    compact.run(aggregate, elem, (&x, 4), (&mut scores, 3)).expect("sound");
                    assert_eq!(scores, expected, "{seed} {count}");
                    let mut scores = vec![1.0; count * 3];
                    aggregate.begin(&mut scores, elem);
                    wide.run(aggregate, elem, (&doubles, 4), (&mut scores, 3)).expect("sound");
                    assert_eq!(scores, expected, "{seed} {count}");
                }
            }
        }
        assert!(with_nan > 20, "{with_nan}");
    }

    #[test]
    fn circles_and_ends_in_nowhere_have_no_records() {
        let node = |if_false| {
            let (test, nan_is_true) = (Test::AtMost(1.0), false);
            Node { feature: 0, test, nan_is_true, if_true: Next::Leaf(0), if_false }
        };
        let mut forest = Forest {
            nodes: vec![node(Next::Node(1)), node(Next::Leaf(0))],
            roots: vec![Next::Node(0)],
            leaves: std::iter::once(0..1).collect(),
            entries: vec![(0, 10.0)],
            ..Forest::default()
        };
        assert!(Compact::<f32>::of(&forest).is_some());
        for next in [Next::Node(0), Next::Node(1), Next::Node(2), Next::Leaf(1)] {
            forest.nodes[1].if_false = next;
            assert!(Compact::<f32>::of(&forest).is_none());
        }
    }
}
