//! Converts a model to another version of an operator set.
//!
//! ```text
//! before:  <ir_version: 7, opset_import: ["": 12]>
//!          g (float[2,3] x) => (float[1,3] y) { y = ReduceSum <axes = [0]> (x) }
//! after:   <ir_version: 7, opset_import: ["": 13]>
//!          g (float[2,3] x) => (float[1,3] y) {
//!             y_axes = Constant <value = int64[1] {0}> ()
//!             y = ReduceSum (x, y_axes)
//!          }
//! ```
//!
//! The walk goes version by version over the main graph, training graphs and functions of the model, each from the version that
//! it imports. At each version, nodes whose operator changed are looked up in their rows: most are unchanged, some have an adapter.
//! In a downgrade, an operator that the lower version lacks is replaced by its function body, if it has one. The result of each
//! step is checked against the signatures of its target version.
//!
//! Names of inputs, outputs and all existing values are kept. An attribute that becomes an input is stored in a `Constant`, so
//! that a later downgrade can restore it; constants that are no longer read are left to the pass `dead-code`. The IR version is
//! raised if the operator set requires it, and never lowered.
//!
//! If a node cannot be converted, nothing is changed, and all such nodes of the step are reported. Before version 7, operators
//! broadcast only where an attribute says so, and some are in training mode unless another says otherwise: what a node means is written
//! into its attributes, or the conversion is refused.

mod rows;
mod sharding;
mod walk;

#[cfg(test)]
mod tests;

pub use walk::{Converted, Planned, convert_opset};
