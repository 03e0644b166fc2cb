//! Formulas as loops: each nest computes one tensor, strip by strip.
//!
//! A strip is a stretch of up to [`LANES`] elements along one axis, and where that is short, along the axes before it. What has to
//! be done for a strip is a [`Program`]: loads, arithmetic on whole registers of lanes, no branches. Around it are plain loops over
//! the other axes. Axes that all loads walk through in the same way are one axis, so that a chain of elementwise operators is one
//! long loop whatever its rank.
//!
//! ```text
//! y = Softmax(x), x: float[2,3]                            as it prints
//!   m[i0]     = max over i1 of x[i0, i1]                   float t2[2]: max over i1 < 3, along i1
//!                                                             r0 = load %0[3*i0 + i1]
//! ```
//! A reduction runs along an axis of the result (a lane for each element) or along one that is reduced (the lanes are combined
//! at the end), whichever its loads like better. The order in which elements are combined depends on the extents alone.
//!
//! Whatever has no nest here (bits of other types, numbers of 64 bits without a sign) is evaluated element by element.

mod axes;
mod channels;
mod check;
mod choice;
mod contract;
mod epilogue;
mod facts;
mod gathered;
mod interpret;
mod lanes;
mod lower;
pub(crate) mod math;
mod matrix;
mod memory;
mod micro;
mod moved;
mod narrow;
mod parallel;
pub(crate) mod peak;
mod pieces;
mod pipeline;
mod print;
mod product;
mod program;
mod reduce;
mod run;
mod scratch;
mod strip;
mod sums;
mod taps;
mod tiles;
mod total;
mod view;
mod widest;
mod windows;
mod work;

pub(crate) use check::agree;
pub(crate) use choice::{Choice, Form};
use contract::Contraction;
pub(crate) use contract::{Packed, Precision};
use epilogue::Epilogue;
pub(crate) use lower::{Operand, Types};
pub(crate) use matrix::Matrix;
use moved::Moved;
use onnx_ir::ElemType;
use onnx_ops::meaning::Combine;
pub(crate) use parallel::{parallel, share};
use pieces::Pieces;
pub(crate) use pieces::{is_padding, settled};
pub(crate) use product::MOST_EXACT;
use program::Program;
pub(crate) use run::{Worker, Workers};
pub(crate) use scratch::scratch;
use smallvec::SmallVec;
use taps::Taps;
pub(crate) use view::View;
pub(crate) use widest::{Job, widest};

/// The most elements of a strip: enough for a step to be more than what it takes to begin it, and so few that the registers of a
/// program, each of 4 KiB or 8 KiB, stay in the first cache.
pub(crate) const LANES: usize = 1024;

/// The loops that compute a formula.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    /// The element type of the result.
    elem: ElemType,
    /// Extents of the axes of the result, those that are walked through alike put together.
    dims: Vec<usize>,
    /// Extents of the axes that are reduced, likewise.
    over: Vec<usize>,
    reduction: Option<Reduction>,
    /// The element, or what is combined.
    body: Program,
    /// The element computed from the total, along the last axis of the result.
    then: Option<Program>,
    /// The same two in pipelines, as they are run, if they have any.
    in_pipelines: [Option<Program>; 2],
    /// The matrix product that it is.
    contraction: Option<Contraction>,
    /// Its reduction, if it is one of single floats with places that are known before.
    taps: Option<Taps>,
    /// What is computed from the totals of a stencil, if one pass does it.
    epilogue: Option<Epilogue>,
    /// The elements that it only moves.
    moved: Option<Moved>,
    /// What it is walked through by, if it chooses by position; the body does nothing then.
    pieces: Option<Pieces>,
}

impl Nest {
    /// Whether it is a matrix product.
    pub(crate) fn is_product(&self) -> bool {
        self.contraction.is_some()
    }

    /// How many elements of the result belong to one position of the first axis, if it is many matrix products and that axis tells
    /// some from others.
    pub(crate) fn elements_of_matrix(&self) -> Option<usize> {
        let product = self.contraction.as_ref()?;
        product.both.contains(&0).then(|| self.dims[1..].iter().product())
    }

    /// Whether it is one of bytes.
    pub(crate) fn is_product_of_bytes(&self) -> bool {
        self.contraction.as_ref().is_some_and(|contraction| !contraction.is_float())
    }

    /// The operands that its factors are made of which have been packed, and are read no more.
    pub(crate) fn packed_operands(&self) -> impl Iterator<Item = usize> + '_ {
        let sides = self.contraction.iter().flat_map(|product| [(product, true), (product, false)]);
        let packed = sides.filter(|(product, is_rows)| product.is_packed(*is_rows));
        packed.flat_map(|(product, is_rows)| if is_rows { &product.a } else { &product.b }.program.operands())
    }

    /// Whether neighbours share what it reduces, which is laid out for them.
    pub(crate) fn is_stencil(&self) -> bool {
        self.taps.as_ref().is_some_and(Taps::has_windows)
    }

    /// Whether it is a stencil of bytes.
    pub(crate) fn is_stencil_of_bytes(&self) -> bool {
        self.is_stencil() && self.reduction.is_some_and(|reduction| reduction.total == Class::Int)
    }

    /// How many elements are computed, those that are combined counted.
    pub(crate) fn steps(&self) -> usize {
        self.dims.iter().chain(&self.over).fold(1, |steps, d| steps.saturating_mul(*d))
    }

    /// How many elements the result has.
    pub(crate) fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// Whether it chooses by position, piece by piece.
    pub(crate) fn is_piecewise(&self) -> bool {
        self.pieces.is_some()
    }

    /// The body as it is run.
    fn run_body(&self) -> &Program {
        self.in_pipelines[0].as_ref().unwrap_or(&self.body)
    }

    /// What is done with totals, as it is run.
    fn run_then(&self) -> Option<&Program> {
        self.in_pipelines[1].as_ref().or(self.then.as_ref())
    }

    /// How many operations on elements there are.
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

/// How a nest reduces.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    combine: Combine,
    /// What totals of integers wrap around in.
    elem: ElemType,
    /// What the total is.
    total: Class,
    /// Whether the strips lie along an axis that is reduced.
    is_inner: bool,
}

/// What the lanes of a register are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Class {
    /// Floats of at most 32 bits.
    Single,
    Double,
    /// Integers and booleans, in 64 bits with a sign.
    Int,
}

impl Class {
    /// What elements of a type are computed as; `None` if they are no numbers.
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

/// A linear function of the axes of a nest: those of the result, then those that are reduced.
#[derive(Clone, PartialEq, Debug)]
struct Linear {
    base: i64,
    by: SmallVec<[i64; 6]>,
}

impl Linear {
    fn at(&self, position: &[usize]) -> i64 {
        // Positions and strides of tensors that exist fit.
        self.by.iter().zip(position).fold(self.base, |sum, (by, at)| sum + by * (*at as i64))
    }
}
