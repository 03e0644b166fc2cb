//! A row of the table of kernels.

use crate::value::Value;
use crate::{Attributes, Call, Given};
use onnx_loops::failure::Failure;

/// Computes the outputs of a node, in order. Outputs after the last used one may be missing.
pub type Kernel = fn(&mut Call<'_>) -> Result<Vec<Value>, Failure>;

/// Whether a kernel supports a node with these inputs.
type Supports = fn(&Attributes<'_>, &[Given<'_>]) -> bool;

/// A kernel. Its operator may have several, for different nodes.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) domain: &'static str,
    pub(crate) op: &'static str,
    pub(crate) kernel: Kernel,
    pub(crate) nodes: Nodes,
    pub(crate) supports: Supports,
}

/// The nodes of an operator that a kernel runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nodes {
    /// All nodes: the operator has no formula.
    All,
    /// Training nodes: those with `training_mode`, or in versions without it, those with more than their first output.
    Training,
    /// Nodes with so many inputs that the loops of their formula would choose one of them for each element.
    ManyInputs,
    /// Nodes with string inputs, or that convert to strings.
    Strings,
    /// Nodes that the formula does not support: sequences, random numbers, other modes.
    Unsupported,
    /// Nodes with long inputs, for which the kernel is much faster than the function body.
    Long,
}

/// A kernel for all nodes of an operator.
pub(crate) const fn row(domain: &'static str, op: &'static str, kernel: Kernel) -> Row {
    Row { domain, op, kernel, nodes: Nodes::All, supports: |_, _| true }
}

impl Row {
    /// Restricts a kernel to some nodes.
    pub(crate) const fn only(self, nodes: Nodes) -> Row {
        Row { nodes, ..self }
    }

    /// Restricts a kernel to nodes that it supports.
    pub(crate) const fn if_supported(self, supports: Supports) -> Row {
        Row { supports, ..self }
    }
}
