//! The operands of formulas, as lowering sees them.

use onnx_ir::ElemType;

/// An operand of a formula: element type, shape, and whether it is constant.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The element type.
    pub elem: ElemType,
    /// The sizes of its axes.
    pub dims: &'a [usize],
    /// Whether it is equal in all runs.
    pub is_constant: bool,
}

/// The operands of formulas, by number.
pub type Types<'a> = dyn Fn(usize) -> Option<Operand<'a>> + 'a;
