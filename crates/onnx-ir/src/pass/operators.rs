//! Operator properties that passes need, provided by another crate.

use crate::attr::AttrType;

/// An operator as a node means it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpRef<'a> {
    /// The domain; `""` is ai.onnx.
    pub domain: &'a str,
    /// The name of the operator.
    pub op: &'a str,
    /// The version of the domain that the model or function imports, if it does.
    pub version: Option<i64>,
}

/// Operator properties. Calls of model-local functions are never queried.
pub trait Operators {
    /// Whether equal inputs may yield different results (random numbers).
    fn is_random(&self, op: OpRef<'_>) -> bool;

    /// Whether the input at a position may be left out.
    fn may_leave_out_input(&self, op: OpRef<'_>, i: usize) -> bool;

    /// The type of an attribute, and whether a node must have it; `None` for an unknown one.
    fn attribute(&self, op: OpRef<'_>, name: &str) -> Option<(AttrType, bool)>;

    /// Whether the output at a position may be left out, which changes no other output.
    fn may_leave_out_output(&self, op: OpRef<'_>, i: usize) -> bool;

    /// Whether the operator is the same one where its domain is imported in `version`.
    fn is_same(&self, op: OpRef<'_>, version: i64) -> bool;

    /// The domain whose import defines an operator of another domain.
    fn known_by(&self, op: OpRef<'_>) -> Option<&str>;
}

/// Unknown operators: no two nodes are equal, and every output is required. Inputs may be omitted, because the requirement is
/// unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unknown;

impl Operators for Unknown {
    fn is_random(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn may_leave_out_input(&self, _: OpRef<'_>, _: usize) -> bool {
        true
    }

    fn attribute(&self, _: OpRef<'_>, _: &str) -> Option<(AttrType, bool)> {
        None
    }

    fn may_leave_out_output(&self, _: OpRef<'_>, _: usize) -> bool {
        false
    }

    fn is_same(&self, op: OpRef<'_>, version: i64) -> bool {
        op.version == Some(version)
    }

    fn known_by(&self, _: OpRef<'_>) -> Option<&str> {
        None
    }
}
