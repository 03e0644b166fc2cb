//! Tensors as operands of formulas that are evaluated element by element.

use super::{Tensor, width};
use onnx_formula::{Elements, Number};

impl Elements for Tensor {
    fn dims(&self) -> &[usize] {
        Tensor::dims(self)
    }

    fn number(&self, offset: usize) -> Option<Number> {
        let width = width(self.elem()).filter(|w| *w <= size_of::<u64>())?;
        let bytes = self.bytes().get(offset.checked_mul(width)?..)?.get(..width)?;
        let mut bits = [0; size_of::<u64>()];
        bits[..width].copy_from_slice(bytes);
        Number::from_bits(self.elem(), u64::from_le_bytes(bits))
    }
}
