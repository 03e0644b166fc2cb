//! The arithmetic of a nest, to compare its time with the peak of the processor.

use super::{Form, Nest};
use crate::lanes::Class;
use crate::program::{Instr, Program};
use onnx_formula::{Binary, Cost};
use onnx_ir::ElemType;

/// The operations of a nest, by type.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Operations {
    /// On single floats, and on integers outside byte products.
    pub singles: u64,
    pub doubles: u64,
    /// Products of bytes and their sums.
    pub bytes: u64,
}

/// The weight of a function such as the exponential.
const FUNCTION: u64 = 8;

impl Nest {
    /// The operations of the nest, including all its pieces.
    pub fn operations(&self) -> Operations {
        if let Form::Pieces(pieces) = &self.form {
            return pieces
                .pieces
                .iter()
                .map(|piece| piece.nest.operations())
                .fold(Operations::default(), sum);
        }
        let count = |dims: &[usize]| dims.iter().fold(1u64, |all, d| all.saturating_mul(*d as u64));
        let (all, over) = (count(&self.dims), count(&self.over));
        let combined = u64::from(self.reduction.is_some());
        let (body, then) = (work(&self.body), self.then.as_ref().map_or(0, work));
        let behind = all.saturating_mul(then);
        let steps = all.saturating_mul(over);
        if self.is_product_of_bytes() {
            return Operations { bytes: steps.saturating_mul(2), singles: behind, doubles: 0 };
        }
        // A product is two operations for any factors.
        let each = if self.is_product() { 2 } else { body + combined };
        let operations = steps.saturating_mul(each).saturating_add(behind);
        match self.elem == ElemType::DOUBLE || self.reduction.is_some_and(|r| r.total == Class::Double) {
            true => Operations { doubles: operations, ..Operations::default() },
            false => Operations { singles: operations, ..Operations::default() },
        }
    }
}

fn sum(a: Operations, b: Operations) -> Operations {
    Operations {
        singles: a.singles.saturating_add(b.singles),
        doubles: a.doubles.saturating_add(b.doubles),
        bytes: a.bytes.saturating_add(b.bytes),
    }
}

/// The operations of a program per element.
fn work(program: &Program) -> u64 {
    let each = |instr: &Instr| match instr {
        Instr::Unary { op, .. } if op.cost() == Cost::Function => FUNCTION,
        Instr::Unary { .. } => 1,
        Instr::Binary { op: Binary::Pow, .. } => FUNCTION,
        Instr::Binary { .. } | Instr::Select { .. } => 1,
        _ => 0,
    };
    program.instrs.iter().map(each).sum()
}
