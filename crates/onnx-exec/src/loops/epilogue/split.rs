//! Epilogues that make a byte first: the byte is computed in one pass, and what follows by a program.
//!
//! ```text
//! byte = uint8(min(max(round((total + sum[column]) * scale[column]) + zero, 0), 255))
//! y = uint8(min(max(round((float(byte) * a + float(x[row, column]) * b) / c) + d, 0), 255))
//! ```
//! This is a quantized convolution with a residual. The first part is in integers and doubles, the second in single floats, which
//! are several times as fast without the first.

use super::{Epilogue, Shape};
use crate::loops::Class;
use crate::loops::program::{Instr, Program, Reg};
use onnx_ir::ElemType;

/// The byte of an epilogue.
#[derive(Clone, Debug)]
pub(in crate::loops) struct ByteFirst {
    pub(in crate::loops) epilogue: Epilogue,
    pub(in crate::loops) is_signed: bool,
}

/// The parts of a program: what makes a byte, and a program whose total is the byte as a single float.
pub(in crate::loops) fn split(
    then: &Program,
    total: Class,
    shape: Shape<'_>,
) -> Option<(ByteFirst, Program)> {
    let reads = Reads::of(then)?;
    let casts = then.instrs.iter().enumerate().filter_map(|(at, instr)| match instr {
        Instr::Cast { to, cast, .. } if matches!(cast.to, ElemType::UINT8 | ElemType::INT8) => {
            Some((at, *to, cast.to))
        }
        _ => None,
    });
    // The last byte is the result.
    let (cast, to, elem) = casts.take(1).find(|(at, ..)| at + 1 < then.instrs.len())?;
    let of_byte = reads.needed(&[cast]);
    let keep = |wanted: &[bool]| {
        let kept = then.instrs.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        kept.map(|(instr, _)| instr.clone()).collect::<Vec<_>>()
    };
    let first = Program { instrs: keep(&of_byte), result: Some(to), ..then.clone() };
    let epilogue = Epilogue::of(Some(&first), elem, total, shape)?;

    // The byte is read as a single float only, by instructions that are left out with it.
    let is_float = |at: usize| match &then.instrs[at] {
        Instr::Cast { to, cast, .. } => cast.to == ElemType::FLOAT && to.class == Class::Single,
        Instr::Widen { to, .. } => to.class == Class::Single,
        _ => false,
    };
    let floats: Vec<usize> =
        (0..then.instrs.len()).filter(|at| reads.from[*at].contains(&Some(cast))).collect();
    (!floats.is_empty() && floats.iter().all(|at| is_float(*at))).then_some(())?;
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
    let results = then.instrs.len() - 1;
    let mut wanted = reads.needed_without(&[results], &floats);
    floats.iter().for_each(|at| wanted[*at] = false);
    let of_total = |at: usize| wanted[at] && reads.of_total[at];
    (!(0..wanted.len()).any(of_total)).then_some(())?;
    let mut number = 0;
    rest.instrs.retain(|_| {
        number += 1;
        wanted[number - 1]
    });
    rest.total = Some(single);
    Some((ByteFirst { epilogue, is_signed: elem == ElemType::INT8 }, rest))
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
            let mut regs: Vec<Reg> = Vec::new();
            instr.clone().each_reg(&mut |reg| regs.push(*reg));
            // The last register is the one that is written.
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

    /// The instructions that some need, themselves among them.
    fn needed(&self, of: &[usize]) -> Vec<bool> {
        self.needed_without(of, &[])
    }

    /// The same, without what only some others need.
    fn needed_without(&self, of: &[usize], without: &[usize]) -> Vec<bool> {
        let mut wanted = vec![false; self.from.len()];
        let mut next = of.to_vec();
        while let Some(at) = next.pop() {
            if !wanted[at] {
                wanted[at] = true;
                if !without.contains(&at) {
                    next.extend(self.from[at].iter().flatten());
                }
            }
        }
        wanted
    }
}
