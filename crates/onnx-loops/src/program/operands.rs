//! The operands of formulas, as lowering sees them.

use onnx_ir::ElemType;

/// An operand of a formula: element type, shape, and whether it is constant.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    pub elem: ElemType,
    pub dims: &'a [usize],
    pub is_constant: bool,
}

/// The operands of formulas, by number.
pub type Types<'a> = dyn Fn(usize) -> Option<Operand<'a>> + 'a;
