//! The row of an operator.

use crate::bodies::Draft;
use crate::bodies::site::CallSite;
use crate::change::{VersionChange, same};
use crate::definition::{Attributes, Cx, Definition};
use crate::derivative::Derivative;
use crate::engine::Rule;
use crate::lint::Lint;
use crate::work::Work;

/// Builds the formulas of a node; `None` if it has none.
pub(crate) type Define = fn(&Cx<'_>) -> Option<Definition>;

/// The output shape of a node that inference does not know, from its attributes and the shape of the first input.
pub(crate) type OpenShape = fn(&Attributes<'_>, &[usize]) -> Option<Vec<usize>>;

/// Builds the function body of a node; `None` if the facts about the node are insufficient.
pub(crate) type Body = fn(&CallSite<'_>) -> Option<Draft>;

/// Most rules that an operator has: it has several if its versions are too different for one function.
const MAX_RULES: usize = 3;

/// An operator, and what this crate knows about it beside its signatures.
pub(crate) struct Operator {
    /// The domain, `""` for ai.onnx.
    pub(crate) domain: &'static str,
    /// The name.
    pub(crate) name: &'static str,
    /// The rules for shapes, each with its first version.
    rules: [Option<(u32, Rule)>; MAX_RULES],
    /// The formulas of its results.
    pub(crate) define: Option<Define>,
    /// The inputs whose elements determine shapes and formulas.
    pub(crate) reads: &'static [usize],
    /// The shape of the output where the documentation leaves it open.
    pub(crate) open_shape: Option<OpenShape>,
    /// The function that builds its body, and the first version of ai.onnx for which the body is valid.
    pub(crate) body: Option<(i64, Body)>,
    /// The versions at which nodes are converted.
    changes: &'static [VersionChange],
    /// The versions at which nodes stay as they are.
    unchanged: &'static [u32],
    /// The work of a node.
    pub(crate) work: Option<Work>,
    /// Its derivative.
    pub(crate) derivative: Option<Derivative>,
    /// The lints of its nodes.
    pub(crate) lints: &'static [Lint],
    /// The reason why it is known, but not run.
    pub(crate) refusal: Option<&'static str>,
}

/// A row of ai.onnx.
pub(super) const fn op(name: &'static str) -> Operator {
    Operator::new("", name)
}

/// A row of ai.onnx.ml.
pub(super) const fn of_ml(name: &'static str) -> Operator {
    Operator::new("ai.onnx.ml", name)
}

/// A row of ai.onnx.preview.
pub(super) const fn of_preview(name: &'static str) -> Operator {
    Operator::new("ai.onnx.preview", name)
}

/// A row of ai.onnx.preview.training.
pub(super) const fn of_training(name: &'static str) -> Operator {
    Operator::new("ai.onnx.preview.training", name)
}

/// A row of com.microsoft, whose operators have one version. Their bodies import version 18 of ai.onnx, or the later one of
/// their user.
pub(super) const fn of_runtime(name: &'static str) -> Operator {
    Operator::new("com.microsoft", name)
}

impl Operator {
    /// An operator of which only the signature is known.
    pub(super) const fn new(domain: &'static str, name: &'static str) -> Operator {
        Operator {
            domain,
            name,
            rules: [None; MAX_RULES],
            define: None,
            reads: &[],
            open_shape: None,
            body: None,
            changes: &[],
            unchanged: &[],
            work: None,
            derivative: None,
            lints: &[],
            refusal: None,
        }
    }

    /// Infers all versions by a rule.
    pub(super) const fn infer(self, rule: Rule) -> Operator {
        self.infer_from(1, rule)
    }

    /// Infers versions from `since` on by another rule. Rules are stated in order of their versions.
    pub(super) const fn infer_from(mut self, since: u32, rule: Rule) -> Operator {
        let mut at = 0;
        while self.rules[at].is_some() {
            at += 1;
        }
        self.rules[at] = Some((since, rule));
        self
    }

    /// Defines the results by formulas.
    pub(super) const fn define(mut self, define: Define) -> Operator {
        self.define = Some(define);
        self
    }

    /// States the inputs whose elements determine shapes and formulas, so they must be known; also for operators without
    /// formulas.
    pub(super) const fn reads(mut self, inputs: &'static [usize]) -> Operator {
        self.reads = inputs;
        self
    }

    /// Computes the output shape where the documentation leaves it open, so inference does not know it, but all
    /// implementations agree.
    pub(super) const fn open_shape(mut self, shape: OpenShape) -> Operator {
        self.open_shape = Some(shape);
        self
    }

    /// Builds the function body for each node. `since` is the first version of ai.onnx for which the body is valid: it may
    /// be later than that of the operator, because the body uses newer operators such as `CastLike`, which gives constants
    /// the type of an input.
    pub(super) const fn body(mut self, since: i64, body: Body) -> Operator {
        self.body = Some((since, body));
        self
    }

    /// Converts nodes at these versions.
    pub(super) const fn converted(mut self, changes: &'static [VersionChange]) -> Operator {
        self.changes = changes;
        self
    }

    /// Keeps nodes at these versions, which allow more types, values or shapes, clarify the specification, or add inputs,
    /// outputs and attributes whose defaults keep the meaning.
    pub(super) const fn unchanged(mut self, versions: &'static [u32]) -> Operator {
        self.unchanged = versions;
        self
    }

    /// States the work of a node; by default, an operation for each element of the result.
    pub(super) const fn work(mut self, work: Work) -> Operator {
        self.work = Some(work);
        self
    }

    /// Differentiates nodes; by default, through the function body.
    pub(super) const fn derivative(mut self, derivative: Derivative) -> Operator {
        self.derivative = Some(derivative);
        self
    }

    /// Checks nodes by these lints.
    pub(super) const fn lints(mut self, lints: &'static [Lint]) -> Operator {
        self.lints = lints;
        self
    }

    /// States why it is not run, in words that complete "it cannot be run: ".
    pub(super) const fn refused(mut self, reason: &'static str) -> Operator {
        self.refusal = Some(reason);
        self
    }

    /// The rule of a version.
    pub(crate) fn rule(&self, version: u32) -> Option<Rule> {
        let applies = |(since, _): &&(u32, Rule)| *since <= version;
        self.rules.iter().flatten().rfind(applies).map(|(_, rule)| *rule)
    }

    /// The conversion at a version.
    pub(crate) fn change(&self, since: u32) -> Option<VersionChange> {
        self.changes().find(|change| change.since == since)
    }

    /// The conversions of all its versions.
    pub(crate) fn changes(&self) -> impl Iterator<Item = VersionChange> {
        self.changes.iter().copied().chain(self.unchanged.iter().map(|since| same(*since)))
    }
}
