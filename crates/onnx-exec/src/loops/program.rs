//! What is done for one strip.

use super::{Class, Linear};
use onnx_ir::ElemType;
use onnx_ops::meaning::{Binary, Cast, Unary};

/// A register: a strip of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reg {
    pub(super) class: Class,
    /// Among those of its class.
    pub(super) at: usize,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum Instr {
    /// Elements at the place that a function says, which is in the operand.
    Load {
        to: Reg,
        operand: usize,
        elem: ElemType,
        place: Linear,
    },
    /// The value of a function.
    Ramp {
        to: Reg,
        function: Linear,
    },
    /// `to = index` if that is below the extent and not below 0; where `mask` is 0, 0 instead; else the index is out of bounds.
    Guard {
        to: Reg,
        index: Reg,
        extent: i64,
        mask: Option<Reg>,
    },
    /// `to = sum + index * by`
    Step {
        to: Reg,
        sum: Option<Reg>,
        index: Reg,
        by: i64,
    },
    /// Elements at places that a register says; none are outside but those that nobody wants.
    Gather {
        to: Reg,
        operand: usize,
        elem: ElemType,
        places: Reg,
    },
    Unary {
        to: Reg,
        op: Unary,
        x: Reg,
    },
    Binary {
        to: Reg,
        op: Binary,
        a: Reg,
        b: Reg,
    },
    Select {
        to: Reg,
        condition: Reg,
        yes: Reg,
        no: Reg,
    },
    Cast {
        to: Reg,
        cast: Cast,
        x: Reg,
    },
    /// The same number in a wider class.
    Widen {
        to: Reg,
        x: Reg,
    },
    /// `to = floor(x / by)`, or what that leaves.
    Divide {
        to: Reg,
        x: Reg,
        by: i64,
        is_remainder: bool,
    },
}

/// The steps for a strip.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    /// The axis along which strips lie.
    pub(super) along: usize,
    pub(super) instrs: Vec<Instr>,
    /// Registers that hold one number in all lanes, whatever the strip.
    pub(super) numbers: Vec<(Reg, f64, i64)>,
    /// How many registers there are of single floats, doubles and integers.
    pub(super) counts: [usize; 3],
    /// Where the result is.
    pub(super) result: Option<Reg>,
    /// Where the total of the reduction is expected.
    pub(super) total: Option<Reg>,
}

impl Program {
    pub(super) fn reg(&mut self, class: Class) -> Reg {
        let count = &mut self.counts[class as usize];
        *count += 1;
        Reg { class, at: *count - 1 }
    }
}
