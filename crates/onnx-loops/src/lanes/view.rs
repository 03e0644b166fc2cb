//! Memory that loops read.

use crate::tensor::{Tensor, width};
use onnx_ir::ElemType;

/// Elements of a tensor in memory, from one of them on.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The element type.
    pub elem: ElemType,
    /// The bytes of the elements.
    pub bytes: &'a [u8],
    /// The index of the first of them in the tensor. Elements before it are never read.
    pub first: i64,
}

/// The operands of formulas, by number.
pub type Operands<'a> = [Option<View<'a>>];

impl<'a> View<'a> {
    /// All of a tensor.
    #[inline]
    pub fn of(tensor: &'a Tensor) -> Self {
        View { elem: tensor.elem(), bytes: tensor.bytes(), first: 0 }
    }

    /// The elements as words of their width, for which they are aligned; empty for another width.
    #[inline]
    pub fn words<T: bytemuck::Pod>(&self) -> &'a [T] {
        match width(self.elem) {
            Some(width) if width == size_of::<T>() => bytemuck::try_cast_slice(self.bytes).unwrap_or(&[]),
            Some(_) | None => &[],
        }
    }
}
