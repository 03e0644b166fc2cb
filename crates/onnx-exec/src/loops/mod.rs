//! Formulas as loop nests: each nest computes one tensor, strip by strip.
//!
//! A strip is a run of up to [`LANES`] elements along one axis, and if that is short, also along the axes before it. A
//! [`Program`] computes a strip: loads and arithmetic on whole registers of lanes, without branches. Around it are loops over the
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

mod copy;
mod epilogue;
mod lanes;
mod nest;
mod pipeline;
mod product;
mod program;
mod reduce;
mod stencil;

pub(crate) use lanes::math;
pub(crate) use lanes::multiversion::{Job, Lane, widest};
pub(crate) use lanes::view::View;
pub(crate) use nest::Nest;
pub(crate) use nest::check::agree;
pub(crate) use nest::choice::{Choice, FormName};
pub(crate) use nest::memo::Nests;
pub(crate) use nest::pieces::{MOST_PIECES, is_padding, settled};
pub(crate) use nest::run::{Worker, Workers};
pub(crate) use product::matrix::Matrix;
#[cfg(target_arch = "x86_64")]
pub(crate) use product::micro::has_tile_registers;
pub(crate) use product::recognize::MOST_EXACT;
pub(crate) use product::{Packed, Precision, peak};
pub(crate) use program::{Operand, Types};
pub(crate) use reduce::softmax::{Results, Softmax};
