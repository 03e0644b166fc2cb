//! The operands of formulas, as lowering sees them.

use onnx_ir::ElemType;

/// An operand of a formula: element type, shape, and whether it is constant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'a> {
    pub(crate) elem: ElemType,
    pub(crate) dims: &'a [usize],
    pub(crate) is_constant: bool,
}

/// The operands of formulas, by number.
pub(crate) type Types<'a> = dyn Fn(usize) -> Option<Operand<'a>> + 'a;
