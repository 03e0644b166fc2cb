//! Formulas as loop nests: each nest computes one tensor, strip by strip.
//!
//! This crate knows formulas, tensors and threads, but no operators, nodes or graphs: `onnx-exec` plans which formulas of a model
//! become nests, and runs them. Most of it is what that crate needs and not an interface for others.
//!
//! A strip is a run of up to 1024 elements along one axis, and if that is short, also along the axes before it. A
//! program computes a strip: loads and arithmetic on whole registers of lanes, without branches. Around it are loops over the
//! other axes. Axes that all loads traverse in the same way are merged, so a chain of elementwise operators is one long loop for
//! any rank.
//!
//! ```text
//! y = Softmax(x), x: float[2,3]                            as it prints
//!   m[i0]     = max over i1 of x[i0, i1]                   float t2[2]: max over i1 < 3, along i1
//!                                                             r0 = load %0[3*i0 + i1]
//! ```
//! A reduction vectorizes along an axis of the result (one lane per element) or along a reduction axis (the lanes are combined at
//! the end), whichever suits its loads. The order of combining depends only on the sizes.
//!
//! Formulas that have no nest (bit operations on other types, unsigned 64-bit integers) are evaluated element by element.

pub mod budget;
mod copy;
mod epilogue;
pub mod failure;
mod lanes;
pub mod list;
mod nest;
pub mod pack_cache;
pub mod parallel;
mod pipeline;
pub mod pool;
mod product;
mod program;
pub mod random;
pub mod recycle;
mod reduce;
pub mod scratch;
mod stencil;
pub mod sync;
pub mod tensor;
mod zip;

pub use budget::{Interrupt, Memory};
pub use failure::Failure;
pub use lanes::math;
pub use lanes::multiversion::{Body, Lane, widest};
pub use lanes::view::{Operands, View};
pub use list::List;
pub use nest::Nest;
pub use nest::check::agree;
pub use nest::choice::{Choice, FormName};
pub use nest::lower::times_of_power;
pub use nest::memo::Nests;
pub use nest::pieces::{MAX_PIECES, is_padding};
pub use nest::print::Names;
pub use nest::run::{Worker, Workers};
pub use pack_cache::PackedStore;
pub use product::matrix::Matrix;
#[cfg(target_arch = "x86_64")]
pub use product::micro::has_tile_registers;
pub use product::recognize::MAX_EXACT_PRODUCTS;
pub use product::{Packed, Precision, peak};
pub use program::{Operand, Types};
pub use random::Random;
pub use reduce::softmax::{Results, Softmax};
pub use tensor::{Element, OutputMemory, Tensor};
