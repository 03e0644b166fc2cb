//! Runs a nest.

use super::contract::Contraction;
use super::lanes::{Registers, wrap};
use super::memory::{Places, gather, load, store};
use super::moved::Moved;
use super::pieces::Pieces;
use super::program::{Instr, Program, Reg};
use super::reduce::Totals;
use super::view::Operands;
use super::{Class, LANES, Nest};
use crate::failure::{Failure, fail};
use crate::tensor::{advance, width};
use onnx_ops::meaning::Combine;
use std::ops::Range;

impl Nest {
    /// Computes some elements of the result, which stand in row-major order; of a matrix product, all at some positions of the
    /// first axis.
    pub(crate) fn run(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        if elements.is_empty() {
            return Ok(());
        }
        Worker::new(self, operands).run(elements, out)
    }
}

/// A nest with what it takes to run it, made once for any number of runs.
pub(super) enum Worker<'w> {
    Product(&'w Contraction, &'w Operands<'w>),
    Moved(&'w Moved, &'w Operands<'w>),
    Pieces(&'w Pieces, usize, Vec<Worker<'w>>),
    Strips(Box<Work<'w>>),
}

impl<'w> Worker<'w> {
    pub(super) fn new(nest: &'w Nest, operands: &'w Operands<'w>) -> Self {
        match nest {
            Nest { contraction: Some(contraction), .. } => Worker::Product(contraction, operands),
            Nest { moved: Some(moved), .. } => Worker::Moved(moved, operands),
            Nest { pieces: Some(pieces), .. } => {
                let each = pieces.pieces.iter().map(|piece| Worker::new(&piece.nest, operands)).collect();
                Worker::Pieces(pieces, width(nest.elem).unwrap_or(1), each)
            }
            nest => Worker::Strips(Box::new(Work::new(nest, operands))),
        }
    }

    /// [`Nest::run`].
    pub(super) fn run(&mut self, elements: Range<usize>, out: &mut [u8]) -> Result<(), Failure> {
        match self {
            Worker::Product(contraction, operands) => contraction.run(operands, elements, out),
            Worker::Moved(moved, operands) => moved.run(operands, elements, out),
            Worker::Pieces(pieces, width, each) => pieces.run(each, *width, elements, out),
            Worker::Strips(work) => work.run(elements, out),
        }
    }
}

/// A nest that is being run.
pub(super) struct Work<'w> {
    nest: &'w Nest,
    operands: &'w Operands<'w>,
    body: Registers,
    then: Registers,
    totals: Option<Totals>,
    /// Where totals go that nothing is computed from.
    total: Reg,
}

impl<'w> Work<'w> {
    fn new(nest: &'w Nest, operands: &'w Operands<'w>) -> Self {
        let class = nest.body.result.map_or(Class::Single, |result| result.class);
        let totals = nest.reduction.map(|reduction| Totals::new(reduction.combine));
        let class = nest.reduction.map_or(class, |reduction| reduction.total);
        let mut counts = nest.then.as_ref().map_or([0; 3], |then| then.counts);
        counts[class as usize] += 1;
        let total = Reg { class, at: counts[class as usize] - 1 };
        let mut work = Work {
            nest,
            operands,
            body: Registers::new(nest.body.counts),
            then: Registers::new(counts),
            totals,
            total,
        };
        numbers(&nest.body, &mut work.body);
        if let Some(then) = &nest.then {
            numbers(then, &mut work.then);
        }
        work
    }

    /// Some elements of the result, which stand in row-major order.
    fn run(&mut self, elements: Range<usize>, out: &mut [u8]) -> Result<(), Failure> {
        let nest = self.nest;
        let Some(width) = width(nest.elem) else { return Ok(()) };
        let mut at = vec![0; nest.dims.len() + nest.over.len()];
        let mut place = elements.start;
        for (at, d) in at[..nest.dims.len()].iter_mut().zip(&nest.dims).rev() {
            (*at, place) = (place % d, place / d);
        }
        let last = nest.dims.len() - 1;
        let mut rest = out;
        let mut left = elements.len();
        while left > 0 {
            let n = LANES.min(left).min(nest.dims[last] - at[last]);
            let Some((out, behind)) = rest.split_at_mut_checked(n * width) else {
                fail!("the result has fewer elements than are computed")
            };
            let from = self.strip(n, &mut at)?;
            store(out, nest.elem, self.results(), from);
            (rest, left) = (behind, left - n);
            at[last] += n;
            if at[last] == nest.dims[last] {
                at[last] = 0;
                advance(&mut at[..last], &nest.dims[..last]);
            }
        }
        Ok(())
    }

    /// The registers that have the result of a strip.
    fn results(&self) -> &Registers {
        if self.nest.reduction.is_some() { &self.then } else { &self.body }
    }

    /// Computes a strip along the last axis of the result, and says where it is.
    fn strip(&mut self, n: usize, at: &mut [usize]) -> Result<Reg, Failure> {
        let nest = self.nest;
        let Some(result) = nest.body.result else { fail!("a program has no result") };
        let Some(reduction) = nest.reduction else {
            run(&nest.body, &mut self.body, self.operands, n, at)?;
            return Ok(result);
        };
        let Some(totals) = &mut self.totals else { fail!("a reduction has no totals") };
        let is_empty = nest.over.contains(&0);
        if totals.is_missing(is_empty) {
            fail!("there is no greatest or least of no elements");
        }
        let split = nest.dims.len();
        let total = nest.then.as_ref().and_then(|then| then.total).unwrap_or(self.total);
        if !is_empty && let Some(taps) = &nest.taps {
            at[split..].fill(0);
            let (single, double) = totals.first(n);
            taps.run(self.operands, at, single, double)?;
            totals.put(n, &mut self.then, total, 0);
            return self.finish(n, total, at);
        }
        totals.clear(n);
        if is_empty {
            self.nothing(n, total);
        } else if reduction.is_inner {
            let first = at[split - 1];
            let (outer, inner) = nest.over.split_at(nest.over.len() - 1);
            for lane in 0..n {
                at[split - 1] = first + lane;
                at[split..].fill(0);
                loop {
                    let mut start = 0;
                    while start < inner[0] {
                        let m = LANES.min(inner[0] - start);
                        at[split + outer.len()] = start;
                        run(&nest.body, &mut self.body, self.operands, m, at)?;
                        totals.push_along(m, &self.body, result);
                        start += m;
                    }
                    if !advance(&mut at[split..split + outer.len()], outer) {
                        break;
                    }
                }
                totals.fold(&mut self.then, total, lane);
            }
            at[split - 1] = first;
        } else {
            at[split..].fill(0);
            loop {
                run(&nest.body, &mut self.body, self.operands, n, at)?;
                totals.push(n, &self.body, result);
                if !advance(&mut at[split..], &nest.over) {
                    break;
                }
            }
            totals.put(n, &mut self.then, total, 0);
        }
        if total.class == Class::Int && matches!(reduction.combine, Combine::Sum | Combine::Product) {
            for x in &mut self.then.int[total.at][..n] {
                *x = wrap(*x, reduction.elem);
            }
        }
        at[split..].fill(0);
        self.finish(n, total, at)
    }

    /// Computes a strip from its totals.
    fn finish(&mut self, n: usize, total: Reg, at: &[usize]) -> Result<Reg, Failure> {
        match &self.nest.then {
            None => Ok(total),
            Some(then) => {
                run(then, &mut self.then, self.operands, n, at)?;
                then.result.map_or_else(|| Err(Failure::new("a program has no result")), Ok)
            }
        }
    }

    /// The totals of no elements.
    fn nothing(&mut self, n: usize, total: Reg) {
        let Some(reduction) = self.nest.reduction else { return };
        let neutral = reduction.combine.neutral(reduction.elem);
        let (float, int) = match neutral {
            Some(onnx_ops::meaning::Number::Float(x)) => (x, 0),
            Some(onnx_ops::meaning::Number::Int(i)) => (i as f64, i as i64),
            None => (0.0, 0),
        };
        match total.class {
            Class::Single => self.then.single[total.at][..n].fill(float as f32),
            Class::Double => self.then.double[total.at][..n].fill(float),
            Class::Int => self.then.int[total.at][..n].fill(int),
        }
    }
}

pub(super) fn numbers(program: &Program, regs: &mut Registers) {
    for &(to, float, int) in &program.numbers {
        regs.fill(to, float, int);
    }
}

/// Runs a program for `n` lanes from a position on.
pub(super) fn run(
    program: &Program,
    regs: &mut Registers,
    operands: &Operands<'_>,
    n: usize,
    at: &[usize],
) -> Result<(), Failure> {
    let of = |operand: usize| match operands.get(operand).copied().flatten() {
        Some(view) => Ok(view),
        None => fail!("input {operand} is left out"),
    };
    for instr in &program.instrs {
        match instr {
            Instr::Load { to, operand, place, .. } => {
                let places = Places::Stride(place.at(at), place.by[program.along]);
                load(regs, 0..n, *to, of(*operand)?, places);
            }
            Instr::LoadWhere { to, operand, place, bounds, otherwise, .. } => {
                let mut lanes = 0..n;
                for bound in bounds {
                    let mine = bound.lanes(at, program.along, n);
                    lanes = lanes.start.max(mine.start)..lanes.end.min(mine.end);
                }
                if lanes.len() < n {
                    regs.fill(*to, otherwise.0, otherwise.1);
                }
                if !lanes.is_empty() {
                    let by = place.by[program.along];
                    let places = Places::Stride(place.at(at) + by * lanes.start as i64, by);
                    load(regs, lanes, *to, of(*operand)?, places);
                }
            }
            Instr::Ramp { to, function } => {
                let (mut value, by) = (function.at(at), function.by[program.along]);
                for lane in &mut regs.int[to.at][..n] {
                    *lane = value;
                    value += by;
                }
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
            Instr::Unary { to, op, x } => regs.unary(n, *to, *op, *x),
            Instr::Binary { to, op, a, b } => regs.binary(n, *to, *op, *a, *b),
            Instr::Select { to, condition, yes, no } => regs.select(n, *to, *condition, *yes, *no),
            Instr::Cast { to, cast, x } => regs.cast(n, *to, *cast, *x),
            Instr::Widen { to, x } => regs.widen(n, *to, *x),
            Instr::Divide { to, x, by, is_remainder } => {
                let mut out = std::mem::take(&mut regs.int[to.at]);
                for (out, x) in out[..n].iter_mut().zip(&regs.int[x.at]) {
                    *out = if *is_remainder { x.rem_euclid(*by) } else { x.div_euclid(*by) };
                }
                regs.int[to.at] = out;
            }
        }
    }
    Ok(())
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
