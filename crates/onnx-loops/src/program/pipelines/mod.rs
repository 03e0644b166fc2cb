//! Finds the steps of a program that become [pipelines](Pipeline).

#[cfg(test)]
mod tests;

use super::chain::Chain;
use super::{Instr, Program};
use crate::lanes::tile::TILE;
use crate::lanes::{Class, Reg, vector_function};
use crate::pipeline::{Pipeline, Stage, StageOperand};
use foldhash::{HashMap, HashSet};
use onnx_formula::{Binary, Cast, Cost, Domain, Unary};
use onnx_ir::ElemType;

/// Whether pipelines can load elements of a type.
fn is_read(elem: ElemType) -> bool {
    use ElemType as E;
    matches!(elem, E::FLOAT | E::FLOAT16 | E::BFLOAT16 | E::UINT8 | E::INT8 | E::BOOL | E::INT32)
}

/// Whether an operation can be a stage: unless it is computed element by element.
fn has_unary(op: Unary) -> bool {
    op.domain() != Domain::Integers && (op.cost() != Cost::Function || vector_function(op).is_some())
}

fn has_binary(op: Binary) -> bool {
    op.domain() != Domain::Integers && op.cost() != Cost::Function
}

/// Whether a conversion of single floats can be a stage.
fn is_rounded(cast: Cast) -> bool {
    matches!(
        cast.to,
        ElemType::FLOAT | ElemType::FLOAT16 | ElemType::BFLOAT16 | ElemType::UINT8 | ElemType::INT8
    )
}

/// Builds the pipelines of a program.
struct Builder {
    /// The steps in SSA form.
    from: Vec<Instr>,
    /// The register that each step writes.
    writes: Vec<Reg>,
    /// For each register, by class, the steps that read it, in order.
    readers: [Vec<Vec<usize>>; 3],
    /// Integer registers that are conditions: 1 or 0.
    is_condition: Vec<bool>,
    /// Steps with equal results for all lanes of a row, which are computed once per row.
    is_even: Vec<bool>,
    result: Option<Reg>,
    /// The single-float versions of conditions.
    as_single: Vec<Option<Reg>>,
    /// Conditions that also exist as integers.
    is_int_there: Vec<bool>,
    /// The steps of the pipeline under construction, in order.
    open: Vec<usize>,
    /// The registers that these steps write.
    open_regs: HashSet<Reg>,
    program: Program,
}

impl Program {
    /// Whether it is a single pipeline that reads its operands in place, so that strips can have any length. `extents` are those
    /// of the axes from `first` on, up to the axis of the strips.
    pub(crate) fn is_streamed_in(&self, first: usize, extents: &[usize]) -> bool {
        let [loads @ .., Instr::Pipeline(pipeline)] = &self.instrs[..] else { return false };
        let Some((lanes, before)) = extents.split_last() else { return false };
        let along = self.along;
        let is_streamed = |instr: &Instr| {
            let Instr::Load { to, elem, place, .. } = instr else { return false };
            let by = &place.by;
            // The increments of rows and planes with which all lanes form one row.
            let mut count = *lanes as i64;
            let mut is_row = true;
            for (i, extent) in before.iter().enumerate().rev() {
                is_row &= *extent == 1 || by[first + i] == by[along] * count;
                count = count.saturating_mul(*extent as i64);
            }
            let is_forward = (0..before.len()).all(|i| by[first + i] >= 0);
            let fits = match by[along] {
                // A single number becomes one of a register; those of rows are read in place.
                0 => *elem == ElemType::FLOAT || is_read(*elem) && by[first..].iter().all(|by| *by == 0),
                1 => is_read(*elem),
                _ => false,
            };
            to.class == Class::Single && fits && is_forward && (is_row || *lanes >= TILE)
        };
        loads.iter().all(is_streamed) && self.result.is_some_and(|result| pipeline.has_put(result))
    }

    /// Whether it is a pipeline with a single operation, which has more overhead than a step.
    pub(crate) fn is_single_stage(&self) -> bool {
        let is_short = |instr: &Instr| match instr {
            Instr::Pipeline(pipeline) => pipeline.stages.len() <= 3,
            _ => true,
        };
        self.instrs.iter().all(is_short)
    }

    /// The program with pipelines, for results of a type; `None` if no step fits.
    pub(crate) fn in_pipelines(&self, elem: ElemType) -> Option<Program> {
        let mut program = Program { instrs: Vec::new(), ..self.clone() };
        let from = self.renamed(&mut program)?;
        let mut writes = Vec::with_capacity(from.len());
        let mut readers = program.counts.map(|count| vec![Vec::new(); count]);
        let mut is_condition = vec![false; program.counts[Class::Int as usize]];
        let mut is_even_reg = program.counts.map(|count| vec![false; count]);
        for (reg, ..) in &program.numbers {
            is_even_reg[reg.class as usize][reg.at] = true;
        }
        let mut is_even = Vec::with_capacity(from.len());
        for (at, instr) in from.iter().enumerate() {
            let mut regs: Vec<Reg> = Vec::new();
            instr.clone().each_reg(&mut |reg| regs.push(*reg));
            let to = regs.pop()?;
            let is_even_now = match instr {
                Instr::Load { place, .. } => place.by[self.along] == 0,
                Instr::Unary { .. } | Instr::Binary { .. } => {
                    let is_single = |reg: &Reg| reg.class == Class::Single;
                    let is_even = |reg: &Reg| is_even_reg[reg.class as usize][reg.at];
                    is_single(&to) && regs.iter().all(|reg| is_single(reg) && is_even(reg))
                }
                _ => false,
            };
            is_even_reg[to.class as usize][to.at] = is_even_now;
            is_even.push(is_even_now);
            for reg in regs {
                readers[reg.class as usize][reg.at].push(at);
            }
            if to.class == Class::Int {
                is_condition[to.at] = is_test(instr, &is_condition);
            }
            writes.push(to);
        }
        let ints = is_condition.len();
        let mut builder = Builder {
            from,
            writes,
            readers,
            is_condition,
            is_even,
            result: program.result,
            as_single: vec![None; ints],
            is_int_there: vec![false; ints],
            open: Vec::new(),
            open_regs: HashSet::default(),
            program,
        };
        builder.all(elem)?;
        let mut program = builder.program;
        let has_pipeline = program.instrs.iter().any(|instr| matches!(instr, Instr::Pipeline(_)));
        has_pipeline.then(|| {
            program.compact();
            let is_float = elem == ElemType::FLOAT;
            program.chain = Chain::of(self, &program).filter(|_| is_float).map(Box::new);
            program
        })
    }

    /// The steps in SSA form; constants, accumulator and result of `to` are renamed accordingly.
    fn renamed(&self, to: &mut Program) -> Option<Vec<Instr>> {
        let mut now = self.counts.map(|count| vec![None; count]);
        let mut counts = [0; 3];
        let mut fresh = |class: Class| {
            counts[class as usize] += 1;
            Reg { class, at: counts[class as usize] - 1 }
        };
        for reg in to.numbers.iter_mut().map(|(reg, ..)| reg).chain(&mut to.total) {
            let new = *now[reg.class as usize][reg.at].get_or_insert_with(|| fresh(reg.class));
            *reg = new;
        }
        let mut instrs = self.instrs.clone();
        for instr in &mut instrs {
            let mut count = 0;
            instr.each_reg(&mut |_| count += 1);
            let (mut seen, mut is_all) = (0, true);
            instr.each_reg(&mut |reg| {
                seen += 1;
                let slot = &mut now[reg.class as usize][reg.at];
                // The last definition.
                if seen == count {
                    *slot = Some(fresh(reg.class));
                }
                match *slot {
                    Some(new) => *reg = new,
                    None => is_all = false,
                }
            });
            is_all.then_some(())?;
        }
        if let Some(result) = &mut to.result {
            *result = now[result.class as usize][result.at]?;
        }
        to.counts = counts;
        Some(instrs)
    }
}

/// Whether the integer result of a step is a condition, given the earlier conditions.
fn is_test(instr: &Instr, is_condition: &[bool]) -> bool {
    let is = |reg: &Reg| reg.class == Class::Int && is_condition[reg.at];
    match instr {
        Instr::Load { elem, .. } => *elem == ElemType::BOOL,
        Instr::Unary { op: Unary::Not | Unary::IsNaN, x, .. } => x.class == Class::Single || is(x),
        Instr::Binary { op: Binary::And | Binary::Or | Binary::Xor, a, b, .. } => is(a) && is(b),
        Instr::Binary { op, a, .. } => op.is_test() && a.class == Class::Single,
        Instr::Cast { cast, x, .. } => cast.to == ElemType::BOOL && x.class == Class::Single,
        _ => false,
    }
}

impl Builder {
    /// Whether a step becomes a stage.
    fn is_stage(&self, at: usize) -> bool {
        !self.is_even[at] && self.fits(&self.from[at])
    }

    /// Whether a step can be a stage.
    fn fits(&self, instr: &Instr) -> bool {
        let is_single = |reg: &Reg| reg.class == Class::Single;
        let is_condition = |reg: &Reg| reg.class == Class::Int && self.is_condition[reg.at];
        match instr {
            Instr::Unary { to, op, x } => {
                let is_of_type = is_single(x) && (is_single(to) || is_condition(to));
                has_unary(*op) && (is_of_type || *op == Unary::Not && is_condition(x))
            }
            Instr::Binary { to, op, a, .. } => {
                let is_of_type = is_single(a) && (is_single(to) || is_condition(to));
                has_binary(*op) && (is_of_type || is_condition(a) && is_condition(to))
            }
            Instr::Select { to, .. } => is_single(to),
            Instr::Cast { to, cast, x } => match (x.class, to.class) {
                (Class::Single, Class::Single) => is_rounded(*cast),
                (Class::Single, Class::Int) => cast.to == ElemType::BOOL,
                (Class::Int, Class::Single) => is_condition(x) && cast.to == ElemType::FLOAT,
                (_, _) => false,
            },
            _ => false,
        }
    }

    fn all(&mut self, elem: ElemType) -> Option<()> {
        for at in 0..self.from.len() {
            let instr = self.from[at].clone();
            if self.is_stage(at) {
                self.open.push(at);
                self.open_regs.insert(self.writes[at]);
                continue;
            }
            let mut reads: Vec<Reg> = Vec::new();
            instr.clone().each_reg(&mut |reg| reads.push(*reg));
            let to = reads.pop()?;
            if reads.iter().any(|reg| self.open_regs.contains(reg)) {
                self.close();
            }
            for reg in reads {
                self.as_int(reg)?;
            }
            // A condition that only pipelines read is loaded as a single float.
            if let (Instr::Load { operand, place, elem, .. }, true) = (&instr, self.is_only_single(to)) {
                let single = self.program.reg(Class::Single);
                self.as_single[to.at] = Some(single);
                let (operand, place, elem) = (*operand, place.clone(), *elem);
                self.program.instrs.push(Instr::Load { to: single, operand, elem, place });
                continue;
            }
            if to.class == Class::Int {
                self.is_int_there[to.at] = true;
            }
            self.program.instrs.push(instr);
        }
        self.close();
        if let Some(result) = self.program.result.filter(|result| result.class == Class::Int) {
            match self.as_single[result.at] {
                Some(single) if elem == ElemType::BOOL => self.program.result = Some(single),
                Some(_) => self.as_int(result)?,
                None => {}
            }
        }
        self.converted(elem);
        Some(())
    }

    /// Whether only stages read a condition register.
    fn is_only_single(&self, reg: Reg) -> bool {
        let is_condition = reg.class == Class::Int && self.is_condition[reg.at];
        is_condition && self.result != Some(reg) && {
            let readers = &self.readers[Class::Int as usize][reg.at];
            readers.iter().all(|reader| self.is_stage(*reader))
        }
    }

    /// Converts a condition of a pipeline to an integer, if needed.
    fn as_int(&mut self, reg: Reg) -> Option<()> {
        if reg.class != Class::Int || self.is_int_there[reg.at] {
            return Some(());
        }
        if let Some(x) = self.as_single[reg.at] {
            self.is_int_there[reg.at] = true;
            self.program.instrs.push(Instr::Cast { to: reg, cast: ElemType::BOOL.into(), x });
        }
        Some(())
    }

    /// The single-float register that a pipeline reads instead of another one.
    fn as_single(&mut self, reg: Reg) -> Reg {
        if reg.class == Class::Single {
            return reg;
        }
        if let Some(single) = self.as_single[reg.at] {
            return single;
        }
        let to = self.program.reg(Class::Single);
        self.as_single[reg.at] = Some(to);
        self.program.instrs.push(Instr::Cast { to, cast: ElemType::FLOAT.into(), x: reg });
        to
    }

    /// The source for reading a register.
    fn source(&mut self, stages: &mut Stages, reg: Reg) -> StageOperand {
        match stages.kept(reg) {
            Some(kept) => StageOperand::Kept(kept),
            None => StageOperand::Reg(self.as_single(reg)),
        }
    }

    /// Makes a register the current value.
    fn first(&mut self, stages: &mut Stages, reg: Reg) {
        if stages.now != Some(reg) {
            let source = self.source(stages, reg);
            stages.push(Stage::Load(source));
        }
    }

    /// Ends the pipeline under construction.
    fn close(&mut self) {
        let open = std::mem::take(&mut self.open);
        self.open_regs.clear();
        let is_open = |at: &usize| open.binary_search(at).is_ok();
        let mut stages = Stages::default();
        for (i, &at) in open.iter().enumerate() {
            let (instr, to) = (self.from[at].clone(), self.writes[at]);
            match &instr {
                Instr::Unary { op, x, .. } => {
                    self.first(&mut stages, *x);
                    stages.push(Stage::Unary(*op));
                }
                Instr::Binary { op, a, b, .. } if stages.now == Some(*b) && a != b => {
                    let a = self.source(&mut stages, *a);
                    stages.push(Stage::Swapped(*op, a));
                }
                Instr::Binary { op, a, b, .. } => {
                    self.first(&mut stages, *a);
                    let b = self.source(&mut stages, *b);
                    stages.push(Stage::Binary(*op, b));
                }
                Instr::Select { condition, yes, no, .. } => {
                    self.first(&mut stages, *condition);
                    let (yes, no) = (self.source(&mut stages, *yes), self.source(&mut stages, *no));
                    stages.push(Stage::Select(yes, no));
                }
                Instr::Cast { cast, x, .. } => {
                    self.first(&mut stages, *x);
                    match cast.to {
                        ElemType::FLOAT => {}
                        ElemType::BOOL => {
                            stages.push(Stage::Unary(Unary::Not));
                            stages.push(Stage::Unary(Unary::Not));
                        }
                        elem => stages.push(Stage::Round(elem)),
                    }
                }
                // Other steps are not stages.
                _ => {}
            }
            stages.now = Some(to);
            let readers = &self.readers[to.class as usize][to.at];
            let reads: usize = readers.iter().filter(|reader| is_open(reader)).count();
            let next = open.get(i + 1).map(|next| &self.from[*next]);
            let is_taken = next.is_some_and(|next| is_first_of(next, to));
            stages.keep(to, reads - usize::from(is_taken));
            if readers.iter().any(|reader| !is_open(reader)) || self.result == Some(to) {
                let out = match to.class {
                    Class::Int => {
                        let single = self.program.reg(Class::Single);
                        self.as_single[to.at] = Some(single);
                        single
                    }
                    Class::Single | Class::Double => to,
                };
                stages.push(Stage::Put(out));
            }
        }
        if !stages.pipeline.stages.is_empty() {
            self.program.instrs.push(Instr::Pipeline(Box::new(stages.pipeline)));
        }
    }

    /// A program that only converts elements becomes one pipeline.
    fn converted(&mut self, elem: ElemType) {
        let Some(result) = self.program.result else { return };
        let loads = self.program.instrs.iter().find_map(|instr| match instr {
            Instr::Load { to, elem, .. } if *to == result => Some(*elem),
            _ => None,
        });
        if loads.is_some_and(|of| (of, elem) != (ElemType::FLOAT, ElemType::FLOAT))
            && result.class == Class::Single
        {
            let to = self.program.reg(Class::Single);
            let stages = vec![Stage::Load(StageOperand::Reg(result)), Stage::Put(to)];
            self.program.instrs.push(Instr::Pipeline(Box::new(Pipeline { stages, kept: 0 })));
            self.program.result = Some(to);
        }
    }
}

/// Whether a step can take a value as its first operand, as the current value.
fn is_first_of(instr: &Instr, value: Reg) -> bool {
    match instr {
        Instr::Unary { x, .. } | Instr::Cast { x, .. } => *x == value,
        Instr::Binary { a, b, .. } => *a == value || *b == value,
        Instr::Select { condition, .. } => *condition == value,
        _ => false,
    }
}

/// The stages of a pipeline under construction.
#[derive(Default)]
struct Stages {
    pipeline: Pipeline,
    /// The current value.
    now: Option<Reg>,
    /// Saved values that are still to be read: slot and remaining reads.
    values: HashMap<Reg, (usize, usize)>,
    /// Slots that hold no such value.
    free: Vec<usize>,
}

impl Stages {
    fn push(&mut self, stage: Stage) {
        self.pipeline.stages.push(stage);
    }

    /// Saves the current value for later reads.
    fn keep(&mut self, value: Reg, reads: usize) {
        if reads == 0 {
            return;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.pipeline.kept += 1;
            self.pipeline.kept - 1
        });
        self.values.insert(value, (number, reads));
        self.push(Stage::Keep(number));
    }

    /// The slot of a saved value; counts one read.
    fn kept(&mut self, value: Reg) -> Option<usize> {
        let (number, left) = self.values.get_mut(&value)?;
        let number = *number;
        *left -= 1;
        if *left == 0 {
            self.values.remove(&value);
            self.free.push(number);
        }
        Some(number)
    }
}
