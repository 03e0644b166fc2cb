//! Fused pipelines of single-float steps, whose values stay in hardware registers.
//!
//! A separate step reads lanes from the first-level cache and writes lanes to it. A [`Pipeline`] applies all its operations to a
//! tile of lanes before the next tile; a value that is used later is saved in memory. Conditions are single floats too: 1 for
//! true and 0 for false. Narrow elements are widened when they are loaded and narrowed when they are stored.
//!
//! ```text
//! f1 = x[i0]; f2 = Sub f1 m; f3 = Exp f2; f4 = Mul f3 w      load x; Sub m; Exp; Mul w; put f4
//! ```
//! Each operation is that of the separate step, so results are equal bit for bit.

mod run;
mod tile;

use super::lanes::Reg;
use onnx_formula::{Binary, Unary};
use onnx_ir::ElemType;
pub(super) use run::Out;
pub(super) use tile::divide;

/// A pipeline of stages.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Pipeline {
    pub(super) stages: Vec<Stage>,
    /// The most values that are saved at a time.
    pub(super) kept: usize,
}

/// An operation on the current value of a pipeline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stage {
    /// Loads another value.
    Load(StageOperand),
    /// Saves the value in a slot.
    Keep(usize),
    /// Stores the value as a result, in a register.
    Put(Reg),
    Unary(Unary),
    /// With another value as the second operand; comparisons yield 1 or 0.
    Binary(Binary, StageOperand),
    /// With another value as the first operand.
    Swapped(Binary, StageOperand),
    /// Selects the first source where the value is not 0, otherwise the second.
    Select(StageOperand, StageOperand),
    /// Rounds to a type.
    Round(ElemType),
}

/// An operand of a stage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum StageOperand {
    Reg(Reg),
    Kept(usize),
}

impl Pipeline {
    /// The registers that are read.
    pub(super) fn reads(&mut self) -> impl Iterator<Item = &mut Reg> {
        let sources = self.stages.iter_mut().flat_map(|stage| match stage {
            Stage::Load(a) | Stage::Binary(_, a) | Stage::Swapped(_, a) => [Some(a), None],
            Stage::Select(a, b) => [Some(a), Some(b)],
            Stage::Keep(_) | Stage::Put(_) | Stage::Unary(_) | Stage::Round(_) => [None, None],
        });
        sources.flatten().filter_map(|source| match source {
            StageOperand::Reg(reg) => Some(reg),
            StageOperand::Kept(_) => None,
        })
    }

    /// Whether a register is written.
    pub(super) fn has_put(&self, reg: Reg) -> bool {
        self.stages.contains(&Stage::Put(reg))
    }

    /// The registers that are written.
    pub(super) fn writes(&mut self) -> impl Iterator<Item = &mut Reg> {
        self.stages.iter_mut().filter_map(|stage| match stage {
            Stage::Put(reg) => Some(reg),
            _ => None,
        })
    }
}
