//! Plans as text: printed, parsed, and run as written.
//!
//! ```text
//! plan of nodes 0..3 in graph 0
//!   reads float[64,128] X
//!   constant float[128,10] W
//!   constant float[10] B
//!   kernel 0    # MatMul+Add+Relu
//!     float[64,10] y[i0, i1] = max(total + B[i1], 0.0) where total = sum over i2 < 128 of X[i0, i2] * W[i2, i1]
//!       as matrix product, one pass for nodes 0, 1, 2
//!       # matrix product of 64x128 and 128x10
//!       # rows i0: f0 = X[128*i0 + i2], packed
//! ```
//! A `#` starts a comment. Everything else determines the run: which formulas are computed, how they are grouped into kernels and
//! blocks of rows, their loop forms, their order, and the storage of results. The grammar is in `grammar/schedule.md`.
//!
//! A text belongs to a model and to the types of its inputs. A parsed plan must be legal (`legal`) and compute what the nodes
//! define (`sample`).

mod file;
mod kernel;
mod legal;
mod read;
mod sample;
mod write;

pub(crate) use file::ScheduleFile;
#[cfg(test)]
pub(super) use read::PlanReader;
pub(crate) use write::Counts;
pub(super) use write::names;

use onnx_ir::{NodeId, ValueId};

/// The names that plans are printed with and read by.
pub(crate) trait Names {
    /// The name of a value.
    fn value(&self, value: ValueId) -> &str;

    /// The operator of a node.
    fn op(&self, node: NodeId) -> &str;
}
