//! Plans as text: written, read back, and run as they stand.
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
//! What follows a `#` explains, and is not read. Everything else says what is run: which formulas are computed, which of them
//! share a kernel and how many rows of it are a block, by which loops, in which order, and where results lie. The grammar is in
//! `grammar/schedule.md`.
//!
//! A text belongs to a model and to the types of its inputs. What is read must be a legal plan (`legal`) that computes what the
//! nodes define (`sample`).

mod file;
mod kernel;
mod legal;
mod read;
mod sample;
mod write;

pub(crate) use file::ScheduleFile;
pub(crate) use write::Counts;
pub(super) use write::names;
