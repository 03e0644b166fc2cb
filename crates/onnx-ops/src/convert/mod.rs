//! Brings a model to another version of an operator set.
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
//! The walk goes version by version, over the main graph, trainings and the functions of the model, each from the version
//! that it imports. At each version, nodes of operators that the version changed are looked up in `table`: most stay as
//! they are, some have an adapter. Down, an operator that the lower version has not is replaced by its function body, if
//! it has one. Whatever comes out of a step is compared with the signatures of the version that it leads to.
//!
//! Names of inputs and outputs stay, and so do those of all values that were there. What was an attribute and is an input
//! comes from a `Constant`, so that it can be known again on the way back; a constant that nothing reads any more is left to
//! the pass `dead-code`. The IR version is raised where the operator set was released with a later one, and never lowered.
//!
//! If one node cannot be brought to the version, nothing is changed, and all such nodes of the step are told. Not before
//! version 7: there, operators could be in training, broadcast otherwise, and computed in place.

mod broadcast;
mod coerced;
mod inputs;
mod norm;
mod resize;
mod scan;
mod sharding;
mod site;
mod table;
mod trees;
mod values;
mod walk;

#[cfg(test)]
mod tests;

pub use walk::{Converted, Planned, convert_opset};
