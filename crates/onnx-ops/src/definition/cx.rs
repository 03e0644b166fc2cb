//! The context of a node's definition.

use super::{Attributes, Definition, Dense, Expr, Formula, Index};
use onnx_ir::ElemType;

/// A node with known element types and sizes.
pub struct Cx<'a> {
    /// The inputs; `None` for omitted ones.
    pub inputs: &'a [Option<Operand<'a>>],
    /// The outputs; `None` for omitted ones.
    pub outputs: &'a [Option<Output<'a>>],
    /// The attributes and the operator.
    pub attributes: &'a Attributes<'a>,
}

/// An input.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The element type.
    pub elem: ElemType,
    /// The sizes of the axes.
    pub dims: &'a [usize],
    /// The elements, if known; those of [`value_inputs`](crate::meaning::value_inputs) must be.
    pub value: Option<&'a Dense>,
}

/// An output, as inferred.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// The element type.
    pub elem: ElemType,
    /// The sizes of the axes.
    pub dims: &'a [usize],
}

impl<'a> Cx<'a> {
    /// The version of the operator.
    pub(crate) fn since(&self) -> u32 {
        self.attributes.schema().since
    }

    pub(crate) fn input(&self, i: usize) -> Option<Operand<'a>> {
        *self.inputs.get(i)?
    }

    pub(crate) fn has_input(&self, i: usize) -> bool {
        self.input(i).is_some()
    }

    /// The first output, which is always present.
    pub(crate) fn out(&self) -> Option<Output<'a>> {
        self.output(0)
    }

    pub(crate) fn output(&self, i: usize) -> Option<Output<'a>> {
        *self.outputs.get(i)?
    }

    /// The integers of an input, or of the attribute in older versions; the outer `None` if the elements of the input are
    /// unknown.
    pub(crate) fn ints(&self, i: usize, attribute: &str) -> Option<Option<Vec<i64>>> {
        match self.input(i) {
            Some(input) => input.value?.ints().map(Some),
            None => Some(self.attributes.ints(attribute)),
        }
    }

    /// The formula of the first output, without a reduction.
    pub(crate) fn formula(&self, expr: Expr) -> Option<Formula> {
        let out = self.out()?;
        Some(Formula { elem: out.elem, dims: out.dims.to_vec(), over: None, expr, then: None })
    }

    /// A definition that is one formula.
    pub(crate) fn one(&self, formula: Formula) -> Option<Definition> {
        self.define(vec![formula], &[0])
    }

    /// A definition that is one expression.
    pub(crate) fn element(&self, expr: Expr) -> Option<Definition> {
        self.one(self.formula(expr)?)
    }

    /// A definition: the index of the formula of each output. Further outputs must be omitted.
    pub(crate) fn define(&self, formulas: Vec<Formula>, of: &[usize]) -> Option<Definition> {
        let is_complete = self.outputs.iter().skip(of.len()).all(Option::is_none);
        let outputs = of.iter().zip(self.outputs).map(|(formula, output)| output.map(|_| *formula)).collect();
        is_complete.then_some(Definition { formulas, inputs: self.inputs.len(), outputs })
    }

    /// The operand number of a formula's result.
    pub(crate) fn result(&self, formula: usize) -> usize {
        self.inputs.len() + formula
    }

    /// The element of an input, broadcast to the first output.
    pub(crate) fn broadcast(&self, i: usize) -> Option<Expr> {
        let dims = self.input(i)?.dims;
        let shift = self.out()?.dims.len().checked_sub(dims.len())?;
        let index = |(at, d): (usize, &usize)| if *d == 1 { Index::at(0) } else { Index::of(at + shift) };
        Some(Expr::Load(i, dims.iter().enumerate().map(index).collect()))
    }

    /// The only element of an input.
    pub(crate) fn scalar(&self, i: usize) -> Option<Expr> {
        let dims = self.input(i)?.dims;
        dims.iter().all(|d| *d == 1).then(|| Expr::Load(i, vec![Index::at(0); dims.len()]))
    }

    /// The attribute `axis` as an axis of a rank.
    pub(crate) fn axis(&self, rank: usize) -> Option<usize> {
        axis(self.attributes.int("axis")?, rank)
    }
}

/// Resolves an axis, which may be negative.
pub(crate) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

pub(crate) fn axes(list: Vec<i64>, rank: usize) -> Option<Vec<usize>> {
    list.into_iter().map(|a| axis(a, rank)).collect()
}

pub(crate) fn long(n: usize) -> Option<i64> {
    i64::try_from(n).ok()
}
