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

mod check;
mod choice;
mod copy;
mod epilogue;
mod facts;
mod lanes;
mod lower;
mod parallel;
mod pieces;
mod pipeline;
mod print;
mod product;
mod program;
mod reduce;
mod run;
mod scratch;
mod stencil;
mod work;

pub(crate) use check::agree;
pub(crate) use choice::{Choice, Form};
use copy::Moved;
use epilogue::Epilogue;
pub(crate) use lanes::multiversion::{Job, widest};
pub(crate) use lanes::view::View;
pub(crate) use lower::{Operand, Types};
use onnx_ir::ElemType;
use onnx_ops::meaning::Combine;
pub(crate) use parallel::{parallel, share};
use pieces::Pieces;
pub(crate) use pieces::{MOST_PIECES, is_padding, settled};
use product::Contraction;
pub(crate) use product::matrix::Matrix;
#[cfg(target_arch = "x86_64")]
pub(crate) use product::micro::has_tile_registers;
pub(crate) use product::recognize::MOST_EXACT;
pub(crate) use product::{Packed, Precision};
use program::Program;
pub(crate) use reduce::softmax::{Results, Softmax};
pub(crate) use run::{Worker, Workers};
pub(crate) use scratch::scratch;
use smallvec::SmallVec;
use stencil::Taps;

/// The most elements of a strip: enough to amortize the overhead of a step, and few enough for the registers of a program, of 4
/// or 8 KiB each, to stay in the first-level cache.
pub(crate) const LANES: usize = 1024;

/// The loops that compute a formula.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// The element type of the result.
    elem: ElemType,
    /// The sizes of the axes of the result, after merging.
    dims: Vec<usize>,
    /// The sizes of the reduction axes, after merging.
    over: Vec<usize>,
    reduction: Option<Reduction>,
    /// Computes the element, or the operand of the reduction.
    body: Program,
    /// The epilogue: computes the element from the accumulator, along the last axis of the result.
    then: Option<Program>,
    /// Pipelined versions of both, which are run if they exist.
    in_pipelines: [Option<Program>; 2],
    /// The matrix product, if it is one.
    contraction: Option<Contraction>,
    /// Its reduction, if it is in single precision with statically known offsets.
    taps: Option<Taps>,
    /// The one-pass epilogue of a stencil, if it has one.
    epilogue: Option<Epilogue>,
    /// The copy, if it only moves elements.
    moved: Option<Moved>,
    /// Its pieces, if it selects by position; then the body is empty.
    pieces: Option<Pieces>,
}

impl Nest {
    /// Whether it is a matrix product.
    pub(crate) fn is_product(&self) -> bool {
        self.contraction.is_some()
    }

    /// For a batched matrix product whose first axis counts matrices, the elements of the result per position of that axis.
    pub(crate) fn elements_of_matrix(&self) -> Option<usize> {
        let product = self.contraction.as_ref()?;
        product.both.contains(&0).then(|| self.dims[1..].iter().product())
    }

    /// Whether it is a product of bytes.
    pub(crate) fn is_product_of_bytes(&self) -> bool {
        self.contraction.as_ref().is_some_and(|contraction| !contraction.is_float())
    }

    /// The operands of packed factors, which are not read any more.
    pub(crate) fn packed_operands(&self) -> impl Iterator<Item = usize> + '_ {
        let sides = self.contraction.iter().flat_map(|product| [(product, true), (product, false)]);
        let packed = sides.filter(|(product, is_rows)| product.is_packed(*is_rows));
        packed.flat_map(|(product, is_rows)| if is_rows { &product.a } else { &product.b }.program.operands())
    }

    /// Whether neighbouring results share operands, in a layout prepared for that.
    pub(crate) fn is_stencil(&self) -> bool {
        self.taps.as_ref().is_some_and(Taps::has_windows)
    }

    /// Whether it is a stencil of bytes.
    pub(crate) fn is_stencil_of_bytes(&self) -> bool {
        self.is_stencil() && self.reduction.is_some_and(|reduction| reduction.total == Class::Int)
    }

    /// The number of evaluated elements, counting the elements of reductions.
    pub(crate) fn steps(&self) -> usize {
        self.dims.iter().chain(&self.over).fold(1, |steps, d| steps.saturating_mul(*d))
    }

    /// The number of elements of the result.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether it selects by position, piece by piece.
    pub(crate) fn is_piecewise(&self) -> bool {
        self.pieces.is_some()
    }

    /// The body as it is run.
    fn run_body(&self) -> &Program {
        self.in_pipelines[0].as_ref().unwrap_or(&self.body)
    }

    /// The epilogue as it is run.
    fn run_then(&self) -> Option<&Program> {
        self.in_pipelines[1].as_ref().or(self.then.as_ref())
    }

    /// The number of operations on elements.
    pub(crate) fn flops(&self) -> u128 {
        if let Some(pieces) = &self.pieces {
            return pieces.pieces.iter().map(|piece| piece.nest.flops()).sum();
        }
        let count = |dims: &[usize]| dims.iter().map(|d| *d as u128).product::<u128>();
        let each = |program: &Program| program.work() as u128;
        let all = count(&self.dims);
        let combined = u128::from(self.reduction.is_some());
        all * count(&self.over) * (each(&self.body) + combined) + all * self.then.as_ref().map_or(0, each)
    }
}

/// The reduction of a nest.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    combine: Combine,
    /// The type in which integer accumulators wrap around.
    elem: ElemType,
    /// The register class of the accumulator.
    total: Class,
    /// Whether strips go along a reduction axis.
    is_inner: bool,
}

/// The class of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Class {
    /// Floats of at most 32 bits.
    Single,
    Double,
    /// Integers and booleans, as signed 64-bit integers.
    Int,
}

impl Class {
    /// The class for elements of a type; `None` if they are not numbers.
    fn of(elem: ElemType) -> Option<Class> {
        use ElemType as E;
        Some(match elem {
            E::DOUBLE => Class::Double,
            E::STRING | E::COMPLEX64 | E::COMPLEX128 => return None,
            E::BOOL | E::INT2 | E::INT4 | E::UINT2 | E::UINT4 => Class::Int,
            _ if elem.is_integer() => Class::Int,
            _ if elem.name().is_some() => Class::Single,
            _ => return None,
        })
    }
}

/// A linear function of the axes of a nest: those of the result, then those of the reduction.
#[derive(Clone, PartialEq, Debug)]
struct Linear {
    base: i64,
    by: SmallVec<[i64; 6]>,
}

impl Linear {
    fn at(&self, position: &[usize]) -> i64 {
        // Offsets and strides of existing tensors do not overflow.
        self.by.iter().zip(position).fold(self.base, |sum, (by, at)| sum + by * (*at as i64))
    }
}
