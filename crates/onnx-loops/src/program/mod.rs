//! Programs: the straight-line code for a strip.

pub(super) mod axes;
mod chain;
pub(super) mod interpret;
mod operands;
mod pipelines;

use super::lanes::{Class, LANES, Linear, Reg};
use super::pipeline::Pipeline;
use onnx_formula::{Binary, Cast, Unary};
use onnx_ir::ElemType;
pub use operands::{Operand, Types};

/// One step.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Instr {
    /// Loads elements at the offset that a function yields, which is in range.
    Load {
        to: Reg,
        operand: usize,
        elem: ElemType,
        place: Linear,
    },
    /// The same where some functions are in bounds, and a number elsewhere. Along an axis the bounds select one range of lanes.
    LoadWhere {
        to: Reg,
        operand: usize,
        elem: ElemType,
        place: Linear,
        bounds: Vec<Bound>,
        otherwise: (f64, i64),
    },
    /// 1 where some functions are in bounds, otherwise 0.
    Inside {
        to: Reg,
        bounds: Vec<Bound>,
    },
    /// The value of a function.
    Ramp {
        to: Reg,
        function: Linear,
    },
    /// `to = index`, checked to be in `0..extent`; where `mask` is 0, 0 without a check.
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
    /// Loads elements at the offsets in a register; offsets are in range except in unused lanes.
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
    /// Converts to a wider class.
    Widen {
        to: Reg,
        x: Reg,
    },
    /// `to = floor(x / by)`, or the remainder.
    Divide {
        to: Reg,
        x: Reg,
        by: i64,
        is_remainder: bool,
    },
    /// Several fused steps.
    Pipeline(Box<Pipeline>),
}

impl Instr {
    /// Whether the result depends on registers only.
    pub(super) fn is_pure(&self) -> bool {
        matches!(
            self,
            Instr::Unary { .. }
                | Instr::Binary { .. }
                | Instr::Cast { .. }
                | Instr::Select { .. }
                | Instr::Widen { .. }
        )
    }

    /// The registers that are read, in order, and then the one that is written last.
    pub(super) fn regs(&self) -> Vec<Reg> {
        let mut regs = Vec::new();
        self.clone().each_reg(&mut |reg| regs.push(*reg));
        regs
    }

    /// Visits all registers, first those that are read.
    pub(super) fn each_reg(&mut self, visit: &mut dyn FnMut(&mut Reg)) {
        match self {
            Instr::Load { to, .. } | Instr::LoadWhere { to, .. } => visit(to),
            Instr::Inside { to, .. } | Instr::Ramp { to, .. } => visit(to),
            Instr::Guard { to, index, mask, .. } => {
                visit(index);
                mask.iter_mut().for_each(&mut *visit);
                visit(to);
            }
            Instr::Step { to, sum, index, .. } => {
                visit(index);
                sum.iter_mut().for_each(&mut *visit);
                visit(to);
            }
            Instr::Gather { to, places: x, .. }
            | Instr::Unary { to, x, .. }
            | Instr::Cast { to, x, .. }
            | Instr::Widen { to, x }
            | Instr::Divide { to, x, .. } => {
                visit(x);
                visit(to);
            }
            Instr::Binary { to, a, b, .. } => {
                visit(a);
                visit(b);
                visit(to);
            }
            Instr::Select { to, condition, yes, no } => {
                visit(condition);
                visit(yes);
                visit(no);
                visit(to);
            }
            Instr::Pipeline(pipeline) => {
                pipeline.reads().for_each(&mut *visit);
                pipeline.writes().for_each(visit);
            }
        }
    }
}

/// A function with bounds: at least `from` and less than `to`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Bound {
    pub(super) function: Linear,
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Bound {
    /// The lanes of `0..n` in bounds, for a value that starts at `base` and grows by `by` per lane.
    #[inline]
    pub(super) fn of(&self, base: i64, by: i64, n: usize) -> std::ops::Range<usize> {
        Bound::lanes_of(self.from..self.to, base, by, n)
    }

    /// The range of an index for which a comparison with a number is true, with ends that are safe from overflow.
    pub(super) fn asked(op: Binary, n: i128) -> Option<(i64, i64)> {
        // Beyond all index values.
        let (least, most) = (i64::MIN / 4, i64::MAX / 4);
        let n = i64::try_from(n).ok().filter(|n| (least..most).contains(n))?;
        Some(match op {
            Binary::GreaterOrEqual => (n, most),
            Binary::Greater => (n + 1, most),
            Binary::Less => (least, n),
            Binary::LessOrEqual => (least, n + 1),
            Binary::Equal => (n, n + 1),
            _ => return None,
        })
    }

    /// The lanes of `0..n` in which a value that starts at `base` and grows by `by` per lane is in a range.
    pub(super) fn lanes_of(
        within: std::ops::Range<i64>,
        base: i64,
        by: i64,
        n: usize,
    ) -> std::ops::Range<usize> {
        // The first lane whose value is at least `least`, for growing values.
        let first = |least: i64, base: i64, by: i64| match by {
            // Divisions are slow.
            1 => least - base,
            _ => -(base - least).div_euclid(by),
        };
        let (start, end) = match by {
            0 if within.contains(&base) => (0, i64::MAX),
            0 => (0, 0),
            1.. => (first(within.start, base, by), first(within.end, base, by)),
            // Falling values are growing values with the opposite sign.
            _ => (first(1 - within.end, -base, -by), first(1 - within.start, -base, -by)),
        };
        let clamp = |lane: i64| usize::try_from(lane.max(0)).unwrap_or(usize::MAX).min(n);
        clamp(start)..clamp(end).max(clamp(start))
    }
}

/// The steps for a strip.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Program {
    /// The axis of the strips.
    pub(super) along: usize,
    pub(super) instrs: Vec<Instr>,
    /// Registers with a constant in all lanes.
    pub(super) numbers: Vec<(Reg, f64, i64)>,
    /// The number of single-float, double and integer registers.
    pub(super) counts: [usize; 3],
    /// The register of the result.
    pub(super) result: Option<Reg>,
    /// The register in which the accumulator is expected.
    pub(super) total: Option<Reg>,
    /// A chain of operations on rows that computes what the steps do, and is faster for short rows.
    pub(super) chain: Option<Box<chain::Chain>>,
}

impl Program {
    /// The operands that it loads.
    pub(super) fn operands(&self) -> impl Iterator<Item = usize> {
        self.instrs.iter().filter_map(|instr| match instr {
            Instr::Load { operand, .. }
            | Instr::LoadWhere { operand, .. }
            | Instr::Gather { operand, .. } => Some(*operand),
            _ => None,
        })
    }

    /// Renumbers its operands.
    pub(super) fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        for instr in &mut self.instrs {
            match instr {
                Instr::Load { operand, .. }
                | Instr::LoadWhere { operand, .. }
                | Instr::Gather { operand, .. } => *operand = to(*operand),
                Instr::Inside { .. }
                | Instr::Ramp { .. }
                | Instr::Guard { .. }
                | Instr::Step { .. }
                | Instr::Unary { .. }
                | Instr::Binary { .. }
                | Instr::Select { .. }
                | Instr::Cast { .. }
                | Instr::Widen { .. }
                | Instr::Divide { .. }
                | Instr::Pipeline(_) => {}
            }
        }
    }

    /// Rebases the program from a position of an axis to its first position.
    pub(super) fn shift(&mut self, axis: usize, position: usize) {
        let shift = |function: &mut Linear| function.base += function.by[axis] * position as i64;
        for instr in &mut self.instrs {
            match instr {
                Instr::Load { place, .. } => shift(place),
                Instr::LoadWhere { place, bounds, .. } => {
                    shift(place);
                    bounds.iter_mut().for_each(|bound| shift(&mut bound.function));
                }
                Instr::Inside { bounds, .. } => {
                    bounds.iter_mut().for_each(|bound| shift(&mut bound.function));
                }
                Instr::Ramp { function, .. } => shift(function),
                Instr::Guard { .. }
                | Instr::Step { .. }
                | Instr::Gather { .. }
                | Instr::Unary { .. }
                | Instr::Binary { .. }
                | Instr::Select { .. }
                | Instr::Cast { .. }
                | Instr::Widen { .. }
                | Instr::Divide { .. }
                | Instr::Pipeline(_) => {}
            }
        }
    }

    /// Reuses registers after their last read, so that all fit into the first-level cache.
    pub(super) fn compact(&mut self) {
        let mut last = [const { Vec::new() }; 3];
        for (class, count) in self.counts.iter().enumerate() {
            // Constants, accumulator and result keep their registers.
            last[class] = vec![usize::MAX; *count];
        }
        let fixed: Vec<Reg> =
            self.numbers.iter().map(|(reg, ..)| *reg).chain(self.result).chain(self.total).collect();
        for (i, instr) in self.instrs.iter_mut().enumerate() {
            instr.each_reg(&mut |reg| last[reg.class as usize][reg.at] = i);
        }
        for reg in &fixed {
            last[reg.class as usize][reg.at] = usize::MAX;
        }
        let mut counts = [0; 3];
        let mut free = [const { Vec::new() }; 3];
        let mut moved = last.each_ref().map(|last| vec![None; last.len()]);
        let mut take = |free: &mut [Vec<usize>; 3], class: usize| {
            free[class].pop().unwrap_or_else(|| {
                counts[class] += 1;
                counts[class] - 1
            })
        };
        for reg in &fixed {
            let class = reg.class as usize;
            if moved[class][reg.at].is_none() {
                moved[class][reg.at] = Some(take(&mut free, class));
            }
        }
        for (i, instr) in self.instrs.iter_mut().enumerate() {
            // Freed at its end, since a step never writes a register that it reads.
            let mut dead: Vec<Reg> = Vec::new();
            instr.each_reg(&mut |reg| {
                let class = reg.class as usize;
                let old = reg.at;
                let at = *moved[class][old].get_or_insert_with(|| take(&mut free, class));
                reg.at = at;
                if last[class][old] == i {
                    last[class][old] = usize::MAX;
                    dead.push(*reg);
                }
            });
            dead.iter().for_each(|reg| free[reg.class as usize].push(reg.at));
        }
        let to = |reg: &mut Reg| reg.at = moved[reg.class as usize][reg.at].unwrap_or(reg.at);
        self.numbers
            .iter_mut()
            .map(|(reg, ..)| reg)
            .chain(&mut self.result)
            .chain(&mut self.total)
            .for_each(to);
        self.counts = counts;
    }

    /// Removes a final conversion from single floats to stored integers, which the store does.
    pub(super) fn narrow_at_the_end(&mut self, elem: ElemType) {
        if let Some(Instr::Cast { to, cast, x }) = self.instrs.last()
            && self.result == Some(*to)
            && (x.class, cast.to) == (Class::Single, elem)
            && matches!(elem, ElemType::UINT8 | ElemType::INT8 | ElemType::INT32)
        {
            self.result = Some(*x);
            self.instrs.pop();
        }
    }

    /// The number of operations per element.
    pub(super) fn work(&self) -> usize {
        let is_work = |instr: &&Instr| {
            matches!(instr, Instr::Unary { .. } | Instr::Binary { .. } | Instr::Select { .. })
        };
        self.instrs.iter().filter(is_work).count()
    }

    /// The relative cost of an element if strips go along its axis, which has this extent.
    pub(super) fn cost(&self, extent: usize) -> f64 {
        let loads = self.instrs.iter().map(|instr| match instr {
            Instr::Load { place, .. } | Instr::LoadWhere { place, .. } => match place.by[self.along] {
                0 | 1 => 1.0,
                _ => 4.0,
            },
            Instr::Gather { .. } => 4.0,
            _ => 1.0,
        });
        // The overhead of a strip.
        loads.sum::<f64>() + 40.0 / extent.clamp(1, LANES) as f64
    }

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
                let lanes = bound.of(base, by, 8);
                for lane in 0..8 {
                    let is_in = (-2..5).contains(&(base + by * lane as i64));
                    assert_eq!(lanes.contains(&lane), is_in, "{base} + {by} * {lane}: {lanes:?}");
                }
            }
        }
    }

    #[test]
    fn registers_are_used_again_when_nobody_reads_them() {
        let mut program = Program::default();
        let number = program.reg(Class::Single);
        program.numbers.push((number, 1.0, 0));
        let mut x = number;
        for _ in 0..9 {
            let to = program.reg(Class::Single);
            program.instrs.push(Instr::Binary { to, op: Binary::Add, a: x, b: number });
            x = to;
        }
        program.result = Some(x);
        program.compact();
        // The constant, the result, and two that alternate.
        assert_eq!(program.counts, [4, 0, 0]);
        for instr in &program.instrs {
            let Instr::Binary { to, a, b, .. } = instr else { panic!("{instr:?}") };
            assert!(to != a && to != b && *b == program.numbers[0].0);
        }
    }
}
