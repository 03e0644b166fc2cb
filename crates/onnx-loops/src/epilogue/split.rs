//! Epilogues whose first part is computed in one pass, and its function by a program: a byte, or a linear function.
//!
//! ```text
//! x = total * scale[column] + bias[column]
//! y = 0.5 * x * (1 + erf(x / sqrt(2)))
//!
//! byte = uint8(min(max(round((total + sum[column]) * scale[column]) + zero, 0), 255))
//! y = uint8(min(max(round((float(byte) * a + float(x[row, column]) * b) / c) + d, 0), 255))
//! ```
//! This is a quantized convolution with a residual. The first part is in integers and doubles, the second in single floats, which
//! are several times as fast without the first. A linear function is computed while accumulators are in registers, and what follows has
//! no operands, so that any stretch of results is computed at once.

use super::{Epilogue, Shape};
use crate::lanes::{Class, Reg};
use crate::program::{Instr, Program};
use onnx_ir::ElemType;

/// The part that is computed in one pass, and its type: a byte or a single float.
#[derive(Clone, Debug)]
pub(crate) struct First {
    pub(crate) epilogue: Epilogue,
    pub(crate) elem: ElemType,
}

/// The parts of a program: the one that is computed in one pass, and a program whose total is its result, as a single float.
pub(crate) fn split(
    then: &Program,
    elem: ElemType,
    total: Class,
    shape: Shape<'_>,
) -> Option<(First, Program)> {
    let reads = Reads::of(then)?;
    let line = || (elem == ElemType::FLOAT).then(|| line_first(then, &reads, total, shape)).flatten();
    byte_first(then, &reads, total, shape).or_else(line)
}

/// A function without operands of the last value that is computed in one pass.
fn line_first(then: &Program, reads: &Reads, total: Class, shape: Shape<'_>) -> Option<(First, Program)> {
    let last = then.instrs.len() - 1;
    (then.result?.class == Class::Single).then_some(())?;
    (0..last).rev().find_map(|at| {
        let to = then.instrs[at].regs().pop().filter(|to| to.class == Class::Single)?;
        let wanted = reads.needed(last, &[at]);
        let is_function = wanted
            .iter()
            .enumerate()
            .all(|(i, wanted)| !wanted || i > at && !reads.of_total[i] && then.instrs[i].is_pure());
        is_function.then_some(())?;
        let first = Program { result: Some(to), ..kept(then, &reads.needed(at, &[])) };
        let epilogue = Epilogue::of(Some(&first), ElemType::FLOAT, total, shape)?;
        let rest = Program { total: Some(to), ..kept(then, &wanted) };
        Some((First { epilogue, elem: ElemType::FLOAT }, rest))
    })
}

/// A function of a byte.
fn byte_first(then: &Program, reads: &Reads, total: Class, shape: Shape<'_>) -> Option<(First, Program)> {
    let mut casts = then.instrs.iter().enumerate().filter_map(|(at, instr)| match instr {
        Instr::Cast { to, cast, .. } if matches!(cast.to, ElemType::UINT8 | ElemType::INT8) => {
            Some((at, *to, cast.to))
        }
        _ => None,
    });
    // The byte of the last instruction is the result.
    let last = then.instrs.len() - 1;
    let (cast, to, elem) = casts.next().filter(|(at, ..)| *at < last)?;
    let first = Program { result: Some(to), ..kept(then, &reads.needed(cast, &[])) };
    let epilogue = Epilogue::of(Some(&first), elem, total, shape)?;

    // The byte is read as a single float only, by instructions that are left out with it.
    let is_float = |at: usize| match &then.instrs[at] {
        Instr::Cast { to, cast, .. } => cast.to == ElemType::FLOAT && to.class == Class::Single,
        Instr::Widen { to, .. } => to.class == Class::Single,
        _ => false,
    };
    let floats: Vec<usize> =
        (0..then.instrs.len()).filter(|at| reads.from[*at].contains(&Some(cast))).collect();
    let are_floats = floats.iter().all(|at| is_float(*at) && *at < last);
    (!floats.is_empty() && are_floats).then_some(())?;
    let mut rest = then.clone();
    let single = Reg { class: Class::Single, at: rest.counts[Class::Single as usize] };
    rest.counts[Class::Single as usize] += 1;
    for (at, instr) in rest.instrs.iter_mut().enumerate() {
        let mut number = 0;
        let from = &reads.from[at];
        instr.each_reg(&mut |reg| {
            if from.get(number).copied().flatten().is_some_and(|from| floats.contains(&from)) {
                *reg = single;
            }
            number += 1;
        });
    }
    let wanted = reads.needed(last, &floats);
    let has_total = wanted.iter().zip(&reads.of_total).any(|(wanted, of_total)| *wanted && *of_total);
    (!has_total).then_some(())?;
    let rest = Program { total: Some(single), ..kept(&rest, &wanted) };
    Some((First { epilogue, elem }, rest))
}

/// A program without the instructions that are not wanted.
fn kept(program: &Program, wanted: &[bool]) -> Program {
    let kept = program.instrs.iter().zip(wanted).filter(|(_, wanted)| **wanted);
    Program { instrs: kept.map(|(instr, _)| instr.clone()).collect(), ..program.clone() }
}

/// Where the registers that instructions read were written.
struct Reads {
    /// For each register that an instruction reads, in order, the instruction that wrote it.
    from: Vec<Vec<Option<usize>>>,
    /// Whether an instruction reads the total.
    of_total: Vec<bool>,
}

impl Reads {
    /// Of a program whose last instruction writes the result.
    fn of(then: &Program) -> Option<Reads> {
        let mut written: Vec<(Reg, usize)> = Vec::new();
        let mut reads = Reads { from: Vec::new(), of_total: Vec::new() };
        let mut last = None;
        for (at, instr) in then.instrs.iter().enumerate() {
            (!matches!(instr, Instr::Pipeline(_))).then_some(())?;
            let mut regs = instr.regs();
            let to = regs.pop()?;
            let of = |reg: &Reg| written.iter().rev().find(|(other, _)| other == reg).map(|(_, at)| *at);
            let from: Vec<Option<usize>> = regs.iter().map(of).collect();
            let is_total = |(reg, from): (&Reg, &Option<usize>)| from.is_none() && then.total == Some(*reg);
            reads.of_total.push(regs.iter().zip(&from).any(is_total));
            reads.from.push(from);
            written.push((to, at));
            last = Some(to);
        }
        (last.is_some() && last == then.result).then_some(reads)
    }

    /// The instructions that one needs, itself among them, without some others and what only these need.
    fn needed(&self, of: usize, without: &[usize]) -> Vec<bool> {
        let mut wanted = vec![false; self.from.len()];
        let mut next = vec![of];
        while let Some(at) = next.pop() {
            if !wanted[at] && !without.contains(&at) {
                wanted[at] = true;
                next.extend(self.from[at].iter().flatten());
            }
        }
        wanted
    }
}
