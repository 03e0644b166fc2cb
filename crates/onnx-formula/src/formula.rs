//! Formulas of whole tensors, reductions, and definitions of several formulas.

use crate::Expr;
use onnx_ir::ElemType;

/// The definition of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// Formulas in order. Operand `n` is input `n` of the node; the operand [`inputs`](Self::inputs)` + f` is the result of
    /// formula `f`, which only later formulas can load.
    pub formulas: Vec<Formula>,
    /// The number of inputs of the node, including omitted ones.
    pub inputs: usize,
    /// The formula of each output, `None` for omitted outputs.
    pub outputs: Vec<Option<usize>>,
}

/// The definition of the elements of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Formula {
    /// The element type of the result.
    pub elem: ElemType,
    /// The sizes of the result: index `n` of a position is below size `n`.
    pub dims: Vec<usize>,
    /// The reduction, if there is one.
    pub over: Option<Reduction>,
    /// The element, or the operand of the reduction.
    pub expr: Expr,
    /// The epilogue: computes the element from the accumulator ([`Expr::Total`]) and from loads at the indices of the result; by
    /// default the accumulator is the element.
    pub then: Option<Expr>,
}

/// A reduction over further indices.
#[derive(Clone, PartialEq, Debug)]
pub struct Reduction {
    /// The sizes; indices are numbered after those of the result.
    pub dims: Vec<usize>,
    /// The combining operation.
    pub combine: Combine,
    /// The type of the accumulator: integers wrap around in it. Floats may be summed in it; [`Definition::evaluate`] sums in
    /// double precision.
    pub elem: ElemType,
}

/// The combining operation of a reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Combine {
    /// The sum; its identity is 0.
    Sum,
    /// The product; its identity is 1.
    Product,
    /// The maximum, NaN if an element is NaN; its identity is the least number of the type.
    Max,
    /// The minimum; its identity is the greatest number of the type.
    Min,
    /// The index of the maximum in row-major order of the reduction, as `int64`.
    ArgMax(Keep),
    /// The index of the minimum.
    ArgMin(Keep),
}

/// Which of several equal elements an arg reduction returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Keep {
    First,
    Last,
}

impl Formula {
    /// Adds a reduction.
    pub fn over(self, dims: Vec<usize>, combine: Combine, elem: ElemType) -> Formula {
        Formula { over: Some(Reduction { dims, combine, elem }), ..self }
    }

    /// Adds an epilogue.
    pub fn then(self, then: Expr) -> Formula {
        Formula { then: Some(then), ..self }
    }
}
