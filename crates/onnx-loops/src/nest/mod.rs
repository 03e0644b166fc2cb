//! Loop nests: one of the forms of loops that compute a formula.

pub(super) mod check;
pub(super) mod choice;
mod facts;
pub(super) mod lower;
pub(super) mod memo;
mod parallel;
pub(super) mod pieces;
pub(super) mod print;
pub(super) mod run;
mod softmax;
#[cfg(test)]
mod tests;
mod work;

use super::copy::CopyPlan;
use super::epilogue::Epilogue;
use super::lanes::Class;
use super::product::{Contraction, Packed, Precision};
use super::program::Program;
use super::stencil::Stencil;
use crate::failure::Failure;
use crate::tensor::Tensor;
use onnx_formula::Combine;
use onnx_ir::ElemType;
use pieces::Pieces;

/// The loops that compute a formula.
#[derive(Clone, Debug)]
pub struct Nest {
    /// The element type of the result.
    elem: ElemType,
    /// The sizes of the axes of the result, after merging.
    dims: Vec<usize>,
    /// The sizes of the reduction axes, after merging.
    over: Vec<usize>,
    reduction: Option<Reduction>,
    /// Computes the element, or the operand of the reduction; empty if the result is computed piece by piece.
    body: Program,
    /// The epilogue: computes the element from the accumulator, along the last axis of the result.
    then: Option<Program>,
    form: Form,
}

// Plans hold one nest for each formula.
const _: () = assert!(size_of::<Nest>() <= MAX_NEST_BYTES);
/// The most bytes of a nest without what it refers to.
const MAX_NEST_BYTES: usize = 512;

/// How a nest is run. Parts that only one form needs are boxed; the pointer is followed once for each strip or block.
#[derive(Clone, Debug)]
enum Form {
    /// Strip by strip, by its programs.
    Loops(Pipelines),
    /// A reduction at statically known offsets, in single precision or of bytes.
    Stencil(Box<StencilPlan>),
    /// A matrix product, or a convolution by Winograd's algorithm.
    Product(Box<Contraction>),
    /// A copy of elements.
    Copy(Box<CopyPlan>),
    /// Piece by piece.
    Pieces(Pieces),
}

/// A reduction at statically known offsets, and what follows it.
#[derive(Clone, Debug)]
struct StencilPlan {
    taps: Stencil,
    /// The one-pass epilogue, if there is one.
    epilogue: Option<Epilogue>,
    /// Those of its programs.
    pipelines: Pipelines,
}

/// The pipelined versions of body and epilogue, which are run where they exist.
#[derive(Clone, Default, Debug)]
struct Pipelines(Option<Box<[Option<Program>; 2]>>);

impl Pipelines {
    fn body(&self) -> Option<&Program> {
        self.0.as_ref()?[0].as_ref()
    }

    fn then(&self) -> Option<&Program> {
        self.0.as_ref()?[1].as_ref()
    }

    fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        self.0.iter_mut().flat_map(|both| both.iter_mut()).flatten().for_each(|program| program.renumber(to));
    }
}

impl Nest {
    /// Whether it is a matrix product.
    pub fn is_product(&self) -> bool {
        self.contraction().is_some()
    }

    /// For a batched matrix product whose first axis counts matrices, the elements of the result per position of that axis.
    pub fn elements_of_matrix(&self) -> Option<usize> {
        let product = self.contraction()?;
        product.both.contains(&0).then(|| self.dims[1..].iter().product())
    }

    /// Whether it is a product of bytes.
    pub fn is_product_of_bytes(&self) -> bool {
        self.contraction().is_some_and(|contraction| !contraction.is_float())
    }

    /// The operands of packed factors, which are not read any more.
    pub fn packed_operands(&self) -> impl Iterator<Item = usize> + '_ {
        let sides = self.contraction().into_iter().flat_map(|product| [(product, true), (product, false)]);
        let packed = sides.filter(|(product, is_rows)| product.is_packed(*is_rows));
        packed.flat_map(|(product, is_rows)| if is_rows { &product.a } else { &product.b }.program.operands())
    }

    /// Whether neighbouring results share operands, in a layout prepared for that.
    pub fn is_stencil(&self) -> bool {
        self.stencil().is_some_and(|stencil| stencil.taps.has_windows())
    }

    /// Whether it is a stencil of bytes.
    pub fn is_stencil_of_bytes(&self) -> bool {
        self.is_stencil() && self.reduction.is_some_and(|reduction| reduction.total == Class::Int)
    }

    /// The number of evaluated elements, counting the elements of reductions.
    pub fn steps(&self) -> usize {
        self.dims.iter().chain(&self.over).fold(1, |steps, d| steps.saturating_mul(*d))
    }

    /// The number of elements of the result.
    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }

    /// The average number of elements that are computed at a time, if loops go strip by strip.
    pub fn strip(&self) -> Option<usize> {
        match &self.form {
            Form::Loops(_) => {
                let is_inner = self.reduction.is_some_and(|reduction| reduction.is_inner);
                let axes = if is_inner { &self.over } else { &self.dims };
                Some(axes.last().copied().unwrap_or(1))
            }
            Form::Pieces(pieces) => Some(pieces.strip()),
            Form::Stencil(_) | Form::Product(_) | Form::Copy(_) => None,
        }
    }

    /// The number of its axes after merging, with those of the reduction.
    pub fn rank(&self) -> usize {
        self.dims.len() + self.over.len()
    }

    /// Whether it selects by position, piece by piece.
    pub fn is_piecewise(&self) -> bool {
        matches!(self.form, Form::Pieces(_))
    }

    /// The matrix product, if it is one.
    pub(super) fn contraction(&self) -> Option<&Contraction> {
        match &self.form {
            Form::Product(contraction) => Some(contraction),
            Form::Loops(_) | Form::Stencil(_) | Form::Copy(_) | Form::Pieces(_) => None,
        }
    }

    /// The matrix product that it must be.
    #[cfg(test)]
    pub(super) fn as_contraction(&self) -> &Contraction {
        self.contraction().unwrap_or_else(|| panic!("{self:?} is not a product"))
    }

    /// The reduction at statically known offsets, if it is one.
    fn stencil(&self) -> Option<&StencilPlan> {
        match &self.form {
            Form::Stencil(stencil) => Some(stencil),
            Form::Loops(_) | Form::Product(_) | Form::Copy(_) | Form::Pieces(_) => None,
        }
    }

    /// The one-pass epilogue, if there is one.
    fn epilogue(&self) -> Option<&Epilogue> {
        match &self.form {
            Form::Product(contraction) => contraction.epilogue(),
            Form::Stencil(stencil) => stencil.epilogue.as_ref(),
            Form::Loops(_) | Form::Copy(_) | Form::Pieces(_) => None,
        }
    }

    /// Whether it needs no pipelines, or its programs were searched for them.
    fn has_pipelines(&self) -> bool {
        self.pipelines().is_none_or(|pipelines| pipelines.0.is_some())
    }

    /// Renumbers its operands, before constants are packed.
    fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        let Nest { body, then, form, .. } = self;
        [Some(body), then.as_mut()].into_iter().flatten().for_each(|program| program.renumber(to));
        match form {
            Form::Loops(pipelines) => pipelines.renumber(to),
            Form::Stencil(stencil) => {
                stencil.taps.renumber(to);
                stencil.epilogue.iter_mut().for_each(|epilogue| epilogue.renumber(to));
                stencil.pipelines.renumber(to);
            }
            Form::Product(contraction) => contraction.renumber(to),
            Form::Copy(moved) => moved.renumber(to),
            Form::Pieces(pieces) => pieces.pieces.iter_mut().for_each(|piece| piece.nest.renumber(to)),
        }
    }

    fn pipelines(&self) -> Option<&Pipelines> {
        match &self.form {
            Form::Loops(pipelines) => Some(pipelines),
            Form::Stencil(stencil) => Some(&stencil.pipelines),
            Form::Product(_) | Form::Copy(_) | Form::Pieces(_) => None,
        }
    }

    /// The body as it is run.
    fn run_body(&self) -> &Program {
        self.pipelines().and_then(Pipelines::body).unwrap_or(&self.body)
    }

    /// The epilogue as it is run.
    fn run_then(&self) -> Option<&Program> {
        self.pipelines().and_then(Pipelines::then).or(self.then.as_ref())
    }

    /// The number of operations on elements.
    pub fn flops(&self) -> u128 {
        if let Form::Pieces(pieces) = &self.form {
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
        let pipelines = match &mut self.form {
            Form::Loops(pipelines) => pipelines,
            Form::Stencil(stencil) => &mut stencil.pipelines,
            Form::Product(_) | Form::Copy(_) | Form::Pieces(_) => return,
        };
        let of_body = if self.reduction.is_some() { ElemType::FLOAT } else { self.elem };
        let then = self.then.as_ref().and_then(|then| then.in_pipelines(self.elem));
        let then = then.filter(|then| !then.is_single_stage());
        *pipelines = Pipelines(Some(Box::new([self.body.in_pipelines(of_body), then])));
    }

    /// The copy that it consists of, if it does nothing else.
    fn copied(&self) -> Option<CopyPlan> {
        if self.reduction.is_some() || self.then.is_some() {
            return None;
        }
        CopyPlan::of(self.elem, &self.dims, &self.body)
    }

    /// Packs the constant factors of a matrix product, unless they are packed already. A convolution with non-constant weights
    /// becomes a plain product.
    pub fn pack_constants(
        &mut self,
        constants: &[Option<&Tensor>],
        packed: &mut Packed,
        precision: Precision,
    ) -> Result<(), Failure> {
        match &mut self.form {
            Form::Product(contraction) => contraction.pack_constants(constants, packed, precision),
            Form::Loops(_) | Form::Stencil(_) | Form::Copy(_) | Form::Pieces(_) => Ok(()),
        }
    }
}
