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
    /// Elements as above where some functions lie in their bounds, else a number. Along an axis, that is one stretch of lanes.
    LoadWhere {
        to: Reg,
        operand: usize,
        elem: ElemType,
        place: Linear,
        bounds: Vec<Bound>,
        otherwise: (f64, i64),
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

/// A function that is to be at least the first and less than the second number.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bound {
    pub(super) function: Linear,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Bound {
    /// The lanes, of `n` from a position on, for which it holds.
    pub(super) fn lanes(&self, at: &[usize], along: usize, n: usize) -> std::ops::Range<usize> {
        let (base, by) = (self.function.at(at), self.function.by[along]);
        // The first lane whose value is at least `least`, of values that grow.
        let first = |least: i64, base: i64, by: i64| -(base - least).div_euclid(by);
        let (start, end) = match by {
            0 if (self.from..self.to).contains(&base) => (0, i64::MAX),
            0 => (0, 0),
            1.. => (first(self.from, base, by), first(self.to, base, by)),
            // Values that fall are values that grow with the other sign.
            _ => (first(1 - self.to, -base, -by), first(1 - self.from, -base, -by)),
        };
        let clamp = |lane: i64| usize::try_from(lane.max(0)).unwrap_or(usize::MAX).min(n);
        clamp(start)..clamp(end).max(clamp(start))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_for_the_lanes_that_they_say() {
        for by in -3..=3 {
            for base in -9..=9 {
                let bound =
                    Bound { function: Linear { base, by: [by].into_iter().collect() }, from: -2, to: 5 };
                let lanes = bound.lanes(&[0], 0, 8);
                for lane in 0..8 {
                    let is_in = (-2..5).contains(&(base + by * lane as i64));
                    assert_eq!(lanes.contains(&lane), is_in, "{base} + {by} * {lane}: {lanes:?}");
                }
            }
        }
    }
}
