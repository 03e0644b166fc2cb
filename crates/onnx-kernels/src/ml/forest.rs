//! Decision trees: the leaf that a sample reaches in each tree, and the aggregation over trees.

use super::rounded;
use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use std::ops::Range;

/// A comparison of a feature.
#[derive(Clone, Debug)]
pub(super) enum Test {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
    Above(f64),
    Equal(f64),
    Unequal(f64),
    /// Whether it is one of these, in order.
    Member(Range<usize>),
}

/// The target of a branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    Node(usize),
    Leaf(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) feature: usize,
    pub(super) test: Test,
    /// The target of NaN.
    pub(super) nan_is_true: bool,
    pub(super) if_true: Next,
    pub(super) if_false: Next,
}

#[derive(Default)]
pub(super) struct Forest {
    pub(super) nodes: Vec<Node>,
    pub(super) roots: Vec<Next>,
    /// The range of entries of each leaf.
    pub(super) leaves: Vec<Range<usize>>,
    /// Target and weight.
    pub(super) entries: Vec<(usize, f64)>,
    pub(super) members: List<f64>,
}

impl Forest {
    /// The leaf of a tree that a sample reaches.
    fn leaf(&self, root: Next, row: &[f64]) -> Result<usize, Failure> {
        let mut at = root;
        // More steps than nodes mean a cycle.
        for _ in 0..=self.nodes.len() {
            let node = match at {
                Next::Leaf(leaf) => return Ok(leaf),
                Next::Node(node) => match self.nodes.get(node) {
                    Some(node) => node,
                    None => fail!("a branch leads to node {node}, which does not exist"),
                },
            };
            let Some(&x) = row.get(node.feature) else {
                fail!("a node looks at feature {} of {}", node.feature, row.len());
            };
            at = if self.holds(node, x) { node.if_true } else { node.if_false };
        }
        fail!("the branches of a tree lead in a circle")
    }

    fn holds(&self, node: &Node, x: f64) -> bool {
        if x.is_nan() {
            return node.nan_is_true;
        }
        match node.test {
            Test::AtMost(y) => x <= y,
            Test::Below(y) => x < y,
            Test::AtLeast(y) => x >= y,
            Test::Above(y) => x > y,
            Test::Equal(y) => x == y,
            Test::Unequal(y) => x != y,
            Test::Member(ref members) => self.members[members.clone()].contains(&x),
        }
    }

    /// Calls `take` with target and weight of all reached entries, tree by tree.
    fn reached(&self, row: &[f64], mut take: impl FnMut(usize, f64)) -> Result<(), Failure> {
        for &root in &self.roots {
            let leaf = self.leaf(root, row)?;
            let Some(entries) = self.leaves.get(leaf) else {
                fail!("a branch leads to leaf {leaf}, which does not exist");
            };
            self.entries[entries.clone()].iter().for_each(|&(target, weight)| take(target, weight));
        }
        Ok(())
    }

    /// Fails if an entry has a target that does not exist.
    pub(super) fn check_targets(&self, count: usize) -> Result<(), Failure> {
        match self.entries.iter().find(|(target, _)| *target >= count) {
            Some((target, _)) => fail!("a leaf is for target {target} of {count}"),
            None => Ok(()),
        }
    }
}

/// The aggregation of weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aggregate {
    Average,
    Sum,
    Min,
    Max,
}

impl Aggregate {
    pub(super) fn named(name: &str) -> Result<Aggregate, Failure> {
        Ok(match name {
            "AVERAGE" => Aggregate::Average,
            "SUM" => Aggregate::Sum,
            "MIN" => Aggregate::Min,
            "MAX" => Aggregate::Max,
            other => fail!("there is no `aggregate_function` `{other}`"),
        })
    }

    pub(super) fn numbered(number: i64) -> Result<Aggregate, Failure> {
        Ok(match number {
            0 => Aggregate::Average,
            1 => Aggregate::Sum,
            2 => Aggregate::Min,
            3 => Aggregate::Max,
            other => fail!("there is no `aggregate_function` {other}"),
        })
    }

    /// Initializes scores. For minimum and maximum, a target without entries has the greatest or least number of the type.
    pub(super) fn begin(self, scores: &mut [f64], elem: ElemType) {
        match self {
            Aggregate::Average | Aggregate::Sum => {}
            Aggregate::Min => scores.fill(greatest(elem)),
            Aggregate::Max => scores.fill(-greatest(elem)),
        }
    }

    /// Adds to the score of each target, with sums in this type.
    pub(super) fn run(
        self,
        forest: &Forest,
        row: &[f64],
        scores: &mut [f64],
        elem: ElemType,
    ) -> Result<(), Failure> {
        let trees = forest.roots.len() as f64;
        forest.reached(row, |target, weight| {
            let score = &mut scores[target];
            *score = match self {
                Aggregate::Average => rounded(elem, *score + weight / trees),
                Aggregate::Sum => rounded(elem, *score + weight),
                Aggregate::Min => score.min(weight),
                Aggregate::Max => score.max(weight),
            };
        })
    }
}

/// The greatest finite number of a type.
fn greatest(elem: ElemType) -> f64 {
    match elem {
        ElemType::FLOAT16 => half::f16::MAX.to_f64(),
        ElemType::FLOAT => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_reach_leaves_and_circles_end() {
        let node =
            |test, if_false| Node { feature: 0, test, nan_is_true: true, if_true: Next::Leaf(0), if_false };
        let mut forest = Forest {
            nodes: vec![node(Test::AtMost(1.0), Next::Node(1)), node(Test::Member(0..2), Next::Leaf(1))],
            roots: vec![Next::Node(0)],
            leaves: vec![0..1, 1..2],
            entries: vec![(0, 10.0), (0, 20.0)],
            members: vec![3.0, 5.0].into(),
        };
        for (x, expected) in [(0.0, 10.0), (3.0, 10.0), (4.0, 20.0), (f64::NAN, 10.0)] {
            let mut scores = [0.0];
            Aggregate::Sum.run(&forest, &[x], &mut scores, ElemType::FLOAT).expect("sound");
            assert_eq!(scores, [expected], "{x}");
        }
        assert!(forest.leaf(Next::Node(0), &[]).is_err());
        assert!(forest.check_targets(0).is_err());
        forest.nodes[1].if_false = Next::Node(0);
        assert!(forest.leaf(Next::Node(0), &[4.0]).is_err());
    }
}
