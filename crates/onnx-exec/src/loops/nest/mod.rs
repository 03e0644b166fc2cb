//! Loop nests: one of the forms of loops that compute a formula.

pub(super) mod check;
pub(super) mod choice;
mod facts;
mod lower;
mod parallel;
pub(super) mod pieces;
mod print;
pub(super) mod run;
mod softmax;
mod work;

use super::copy::Moved;
use super::epilogue::Epilogue;
use super::lanes::Class;
use super::product::{Contraction, Packed, Precision};
use super::program::Program;
use super::stencil::Taps;
use crate::failure::Failure;
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use onnx_ops::meaning::Combine;
use pieces::Pieces;

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
pub(super) struct Reduction {
    combine: Combine,
    /// The type in which integer accumulators wrap around.
    elem: ElemType,
    /// The register class of the accumulator.
    total: Class,
    /// Whether strips go along a reduction axis.
    is_inner: bool,
}

impl Nest {
    /// Builds pipelines for the programs that loops run.
    pub(super) fn find_pipelines(&mut self) {
        if self.contraction.is_some() || self.moved.is_some() || self.pieces.is_some() {
            return;
        }
        let of_body = if self.reduction.is_some() { ElemType::FLOAT } else { self.elem };
        let then = self.then.as_ref().and_then(|then| then.in_pipelines(self.elem));
        self.in_pipelines = [self.body.in_pipelines(of_body), then.filter(|then| !then.is_single_stage())];
    }

    /// The copy that it consists of, if it does nothing else.
    fn moves(&self) -> Option<Moved> {
        if self.reduction.is_some() || self.then.is_some() {
            return None;
        }
        Moved::of(self.elem, &self.dims, &self.body)
    }

    /// Packs the constant factors of a matrix product, unless they are packed already. A convolution with non-constant weights
    /// becomes a plain product.
    pub(crate) fn pack_constants(
        &mut self,
        constants: &[Option<&Tensor>],
        packed: &mut Packed,
        precision: Precision,
    ) -> Result<(), Failure> {
        match &mut self.contraction {
            Some(contraction) => contraction.pack_constants(constants, packed, precision),
            None => Ok(()),
        }
    }
}
