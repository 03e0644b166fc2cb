//! What passes ask about operators, whose answers are not in this crate.

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

/// What is known about operators. Calls of model-local functions are never asked about.
pub trait Operators {
    /// Whether equal inputs may give different results (random numbers).
    fn is_random(&self, op: OpRef<'_>) -> bool;

    /// Whether the input at a position may be left out.
    fn may_leave_out_input(&self, op: OpRef<'_>, i: usize) -> bool;

    /// Whether the output at a position may be left out, which changes no other output.
    fn may_leave_out_output(&self, op: OpRef<'_>, i: usize) -> bool;

    /// Whether the operator is the same one where its domain is imported in `version`.
    fn is_same(&self, op: OpRef<'_>, version: i64) -> bool;

    /// The domain whose import makes an operator known that belongs to another one.
    fn known_by(&self, op: OpRef<'_>) -> Option<&str>;
}

/// Nothing is known: no two nodes compute the same, and every output may be counted on. Inputs may be left out, because
/// nobody could tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unknown;

impl Operators for Unknown {
    fn is_random(&self, _: OpRef<'_>) -> bool {
        true
    }

    fn may_leave_out_input(&self, _: OpRef<'_>, _: usize) -> bool {
        true
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
