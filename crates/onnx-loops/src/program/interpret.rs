//! The interpreter of programs, strip by strip.

use super::{Bound, Instr, Program};
use crate::failure::{Failure, fail};
use crate::lanes::access::{Places, gather, load};
use crate::lanes::strip::{Strip, Walk};
use crate::lanes::view::{Operands, View};
use crate::lanes::{Class, Reg, Registers};
use crate::pipeline::Out;
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::ops::Range;

pub(crate) fn numbers(program: &Program, regs: &mut Registers) {
    for &(to, float, int) in &program.numbers {
        regs.fill(to, float, int);
    }
}

/// Runs a program for a strip from a position on. If `wanted` is given, single-float results may be written there instead of into
/// the result register; returns whether they were.
pub(crate) fn run(
    program: &Program,
    regs: &mut Registers,
    operands: &Operands<'_>,
    strip: Strip,
    at: &[usize],
    wanted: Option<&mut [f32]>,
) -> Result<bool, Failure> {
    run_into(program, regs, operands, strip, at, wanted.map(Out::Single))
}

/// Runs a program with an optional destination for its result.
pub(crate) fn run_into(
    program: &Program,
    regs: &mut Registers,
    operands: &Operands<'_>,
    strip: Strip,
    at: &[usize],
    mut wanted: Option<Out<'_>>,
) -> Result<bool, Failure> {
    if let Some(chain) = &program.chain {
        let to = match &mut wanted {
            Some(Out::Single(wanted)) => Some(&mut **wanted),
            _ => None,
        };
        let is_wanted = to.is_some();
        if chain.run(program, regs, operands, (strip, at), to).is_some() {
            return Ok(is_wanted);
        }
    }
    let (instrs, last) = match (&program.instrs[..], wanted) {
        ([before @ .., last], Some(wanted)) => (before, Some((last, wanted))),
        (all, _) => (all, None),
    };
    for instr in instrs {
        step(instr, regs, operands, strip, at)?;
    }
    let Some((last, wanted)) = last else { return Ok(false) };
    let is_result =
        |to: Reg, x: Reg| program.result == Some(to) && (to.class, x.class) == (Class::Single, Class::Single);
    match (last, wanted) {
        (Instr::Unary { to, op, x }, Out::Single(wanted)) if is_result(*to, *x) => {
            regs.unary_into(wanted, *op, *x, operands);
        }
        (Instr::Binary { to, op, a, b }, Out::Single(wanted)) if is_result(*to, *a) => {
            regs.binary_into(wanted, *op, [*a, *b], operands);
        }
        (Instr::Pipeline(pipeline), wanted) if program.result.is_some_and(|it| pipeline.has_put(it)) => {
            pipeline.run(regs, operands, strip, program.result.zip(Some(wanted)))?;
        }
        (other, _) => {
            step(other, regs, operands, strip, at)?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn step(
    instr: &Instr,
    regs: &mut Registers,
    operands: &Operands<'_>,
    strip: Strip,
    at: &[usize],
) -> Result<(), Failure> {
    let n = strip.n();
    let of = |operand: usize| match operands.get(operand).copied().flatten() {
        Some(view) => Ok(view),
        None => fail!("input {operand} is left out"),
    };
    match instr {
        // Loads, and what is known of bounds.
        Instr::Load { to, operand, place, .. } => {
            load_all(regs, n, *to, (*operand, of(*operand)?), strip.walk(place, at));
        }
        Instr::LoadWhere { to, operand, place, bounds, otherwise, .. } => {
            let view = of(*operand)?;
            let walk = strip.walk(place, at);
            let bounds = Bounds::of(bounds, strip, at);
            regs.spread(n, *to, otherwise.0, otherwise.1);
            strip.each_row(|row, moved| {
                let lanes = bounds.lanes(moved, strip.lanes());
                if !lanes.is_empty() {
                    let by = walk.by[2];
                    let places = Places::Stride(walk.row(moved) + by * lanes.start as i64, by);
                    load(regs, row.start + lanes.start..row.start + lanes.end, *to, view, places);
                }
                Ok(())
            })?;
        }
        Instr::Inside { to, bounds } => {
            let bounds = Bounds::of(bounds, strip, at);
            strip.each_row(|row, moved| {
                let lanes = bounds.lanes(moved, strip.lanes());
                let row = &mut regs.int[to.at][row];
                row.fill(0);
                if !lanes.is_empty() {
                    row[lanes].fill(1);
                }
                Ok(())
            })?;
        }
        // Computed offsets.
        Instr::Ramp { to, function } => {
            let walk = strip.walk(function, at);
            strip.each_row(|row, moved| {
                let (mut value, by) = (walk.row(moved), walk.by[2]);
                for lane in &mut regs.int[to.at][row] {
                    *lane = value;
                    value += by;
                }
                Ok(())
            })?;
        }
        Instr::Guard { to, index, extent, mask } => guard(regs, n, *to, *index, *extent, *mask)?,
        Instr::Step { to, sum, index, by } => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            match sum {
                None => {
                    for (out, i) in out[..n].iter_mut().zip(&regs.int[index.at]) {
                        *out = i.wrapping_mul(*by);
                    }
                }
                Some(sum) => {
                    let pairs = regs.int[sum.at].iter().zip(&regs.int[index.at]);
                    for (out, (sum, i)) in out[..n].iter_mut().zip(pairs) {
                        *out = sum.wrapping_add(i.wrapping_mul(*by));
                    }
                }
            }
            regs.int[to.at] = out;
        }
        Instr::Gather { to, operand, places, .. } => gather(regs, n, *to, of(*operand)?, *places),
        // Arithmetic on whole registers.
        Instr::Unary { to, op, x } => regs.unary(n, *to, *op, *x, operands),
        Instr::Binary { to, op, a, b } => regs.binary(n, *to, *op, [*a, *b], operands),
        Instr::Select { to, condition, yes, no } => regs.select(n, *to, [*condition, *yes, *no], operands),
        Instr::Cast { to, cast, x } => regs.cast(n, *to, *cast, *x, operands),
        Instr::Widen { to, x } => regs.widen(n, *to, *x, operands),
        Instr::Divide { to, x, by, is_remainder } => {
            let mut out = std::mem::take(&mut regs.int[to.at]);
            for (out, x) in out[..n].iter_mut().zip(&regs.int[x.at]) {
                *out = if *is_remainder { x.rem_euclid(*by) } else { x.div_euclid(*by) };
            }
            regs.int[to.at] = out;
        }
        // Everything between loads and stores at once.
        Instr::Pipeline(pipeline) => pipeline.run(regs, operands, strip, None)?,
    }
    Ok(())
}

/// The bounds of a strip.
struct Bounds<'b>(SmallVec<[(&'b Bound, Walk); 4]>);

impl<'b> Bounds<'b> {
    fn of(bounds: &'b [Bound], strip: Strip, at: &[usize]) -> Self {
        Bounds(bounds.iter().map(|bound| (bound, strip.walk(&bound.function, at))).collect())
    }

    /// The lanes of `0..n` for which all bounds hold.
    fn lanes(&self, moved: [usize; 2], n: usize) -> Range<usize> {
        self.0.iter().fold(0..n, |lanes, (bound, value)| {
            let mine = bound.of(value.row(moved), value.by[2], lanes.end);
            lanes.start.max(mine.start)..lanes.end.min(mine.end)
        })
    }
}

/// Loads all lanes of a strip. Single floats are copied into the register only when an operation needs that.
fn load_all(regs: &mut Registers, n: usize, to: Reg, (operand, view): (usize, View<'_>), walk: Walk) {
    let first = usize::try_from(walk.start - view.first).ok();
    match (walk.stride(), first) {
        (Some(0), Some(first)) if view.elem == ElemType::FLOAT && to.class == Class::Single => {
            if let Some(x) = view.words::<f32>().get(first) {
                return regs.fill(to, (*x).into(), 0);
            }
        }
        // One number for all lanes.
        (Some(0), Some(_)) if to.class == Class::Single => {
            load(regs, 0..1, to, view, Places::Stride(walk.start, 0));
            let x = regs.own(to).first().copied().unwrap_or_default();
            return regs.fill(to, x.into(), 0);
        }
        (Some(1), Some(first)) if view.elem == ElemType::FLOAT && to.class == Class::Single => {
            let count = view.words::<f32>().len();
            if count >= n && first <= count - n {
                return regs.lend(to, operand, first);
            }
        }
        (Some(by), _) if to.class != Class::Single => {
            return load(regs, 0..n, to, view, Places::Stride(walk.start, by));
        }
        (None, _) if to.class != Class::Single => {
            return load(regs, 0..n, to, view, Places::Rows(walk.merged()));
        }
        (_, _) => {}
    }
    regs.promise(to, operand, walk);
}

fn guard(
    regs: &mut Registers,
    n: usize,
    to: Reg,
    index: Reg,
    extent: i64,
    mask: Option<Reg>,
) -> Result<(), Failure> {
    let mut out = std::mem::take(&mut regs.int[to.at]);
    let mut outside = None;
    for (lane, (out, i)) in out[..n].iter_mut().zip(&regs.int[index.at]).enumerate() {
        let is_in = (0..extent).contains(i);
        *out = if is_in { *i } else { 0 };
        if !is_in && mask.is_none_or(|mask| regs.int[mask.at][lane] != 0) {
            outside = Some(*i);
        }
    }
    regs.int[to.at] = out;
    match outside {
        Some(i) => fail!("index {i} is outside of {extent}"),
        None => Ok(()),
    }
}
