//! Chains of operations on rows: of each element with a number of its row, or with the element of its column.
//!
//! ```text
//! y[r, i] = (x[r, i] - mean[r]) * by[r] * scale[i] + bias[i]
//! ```
//! Normalizations are such chains. In a [pipeline](crate::pipeline), strips of short rows have operands that are neither contiguous nor one
//! number, which are copied first. Here, each operation is a loop over a row, which stays in the first-level cache. Results are those of
//! the operations one by one.

use super::{Instr, Program};
use crate::lanes::multiversion::{Body, widest};
use crate::lanes::strip::{Strip, Walk};
use crate::lanes::view::Operands;
use crate::lanes::{Class, Reg, Registers};
use crate::zip::zip;
use onnx_formula::Binary;
use onnx_ir::ElemType;
use smallvec::SmallVec;

/// Shorter rows take longer than in a pipeline.
const MIN_LANES: usize = 32;

/// A chain that computes what a program does. Operands are the numbers of its loads.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Chain {
    /// The load of the elements that the chain begins with.
    first: usize,
    links: Vec<Link>,
}

/// An operation of a chain. What was computed before is the first operand.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Link {
    Number(Operation, f32),
    /// With a number for each row.
    Row(Operation, usize),
    /// With an element for each lane.
    Column(Operation, usize),
    Square,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Operation {
    Add,
    Sub,
    Mul,
    Div,
}

impl Operation {
    fn of(op: Binary) -> Option<Operation> {
        match op {
            Binary::Add => Some(Operation::Add),
            Binary::Sub => Some(Operation::Sub),
            Binary::Mul => Some(Operation::Mul),
            Binary::Div => Some(Operation::Div),
            _ => None,
        }
    }

    fn is_commutative(self) -> bool {
        matches!(self, Operation::Add | Operation::Mul)
    }
}

/// The contents of a register.
#[derive(Clone, Copy)]
enum Content {
    Number(f32),
    /// A load: its number, and the distance of successive lanes.
    Loaded(usize, i64),
    Chain,
}

impl Chain {
    /// The chain that the steps of a program are, whose loads are those of its pipelined version.
    pub(super) fn of(program: &Program, pipelined: &Program) -> Option<Chain> {
        let mut now: Vec<Option<Content>> = vec![None; program.counts[Class::Single as usize]];
        for (reg, float, _) in &program.numbers {
            *now.get_mut(single(*reg)?)? = Some(Content::Number(*float as f32));
        }
        let mut chain: Option<Chain> = None;
        let mut last = None;
        for instr in &program.instrs {
            let (to, content) = match instr {
                Instr::Load { to, elem: ElemType::FLOAT, place, .. } => {
                    let same = |other: &Instr| match (instr, other) {
                        (
                            Instr::Load { operand, place, .. },
                            Instr::Load { operand: other, elem: ElemType::FLOAT, place: there, .. },
                        ) => operand == other && place == there,
                        _ => false,
                    };
                    let number = pipelined.instrs.iter().position(same)?;
                    (to, Content::Loaded(number, *place.by.get(program.along)?))
                }
                Instr::Binary { to, op, a, b } => {
                    let operation = Operation::of(*op)?;
                    let of = |reg: &Reg| now.get(single(*reg)?).copied().flatten();
                    let (a, b) = (of(a)?, of(b)?);
                    // Elements that move by rows and by lanes begin the chain.
                    let link = match (a, b) {
                        (Content::Chain, Content::Chain) if operation == Operation::Mul => Link::Square,
                        (Content::Chain, x) => Link::with(operation, x)?,
                        (x, Content::Chain) if operation.is_commutative() => Link::with(operation, x)?,
                        (Content::Loaded(first, 1), x) if chain.is_none() => {
                            chain = Some(Chain { first, links: Vec::new() });
                            Link::with(operation, x)?
                        }
                        (x, Content::Loaded(first, 1)) if chain.is_none() && operation.is_commutative() => {
                            chain = Some(Chain { first, links: Vec::new() });
                            Link::with(operation, x)?
                        }
                        (_, _) => return None,
                    };
                    // The register of the chain so far is not read any more.
                    now.iter_mut().filter(|it| matches!(it, Some(Content::Chain))).for_each(|it| *it = None);
                    chain.as_mut()?.links.push(link);
                    (to, Content::Chain)
                }
                _ => return None,
            };
            *now.get_mut(single(*to)?)? = Some(content);
            last = Some(*to);
        }
        let chain = chain.filter(|_| program.result == last)?;
        let is_of_rows = |link: &Link| matches!(link, Link::Row(..) | Link::Column(..));
        (chain.links.len() > 1 && chain.links.iter().any(is_of_rows)).then_some(chain)
    }

    /// Runs the chain for a strip, into `wanted` or the result register of its program; `None` if this strip does not fit, and nothing is
    /// computed.
    pub(super) fn run(
        &self,
        program: &Program,
        regs: &mut Registers,
        operands: &Operands<'_>,
        (strip, at): (Strip, &[usize]),
        wanted: Option<&mut [f32]>,
    ) -> Option<()> {
        let lanes = strip.lanes();
        if lanes < MIN_LANES {
            return None;
        }
        let source = |number: usize, lanes: usize| {
            let Instr::Load { operand, elem: ElemType::FLOAT, place, .. } = program.instrs.get(number)?
            else {
                return None;
            };
            let view = operands.get(*operand).copied().flatten()?;
            Source::of(view.words(), view.first, strip.walk(place, at), lanes)
        };
        let from = source(self.first, lanes)?;
        let mut links: SmallVec<[Resolved<'_>; 6]> = SmallVec::new();
        for link in &self.links {
            links.push(match *link {
                Link::Number(operation, number) => Resolved::Number(operation, number),
                Link::Row(operation, number) => Resolved::Row(operation, source(number, 1)?),
                Link::Column(operation, number) => Resolved::Column(operation, source(number, lanes)?),
                Link::Square => Resolved::Square,
            });
        }
        let [planes, rows, _] = strip.extents();
        let to = match wanted {
            Some(wanted) => wanted,
            None => regs.own(program.result?),
        };
        let to = to.get_mut(..strip.n())?;
        widest(Rows { from, links: &links, size: [planes, rows, lanes], to });
        Some(())
    }
}

fn single(reg: Reg) -> Option<usize> {
    (reg.class == Class::Single).then_some(reg.at)
}

impl Link {
    fn with(operation: Operation, x: Content) -> Option<Link> {
        match x {
            Content::Number(x) => Some(Link::Number(operation, x)),
            Content::Loaded(number, 0) => Some(Link::Row(operation, number)),
            Content::Loaded(number, 1) => Some(Link::Column(operation, number)),
            Content::Loaded(..) | Content::Chain => None,
        }
    }
}

/// Elements of an operand for the rows of a strip, all of which exist.
#[derive(Clone, Copy)]
struct Source<'o> {
    elements: &'o [f32],
    /// The distances of planes and rows.
    by: [usize; 2],
}

impl<'o> Source<'o> {
    /// `lanes` contiguous elements for each row of a walk; `None` if some do not exist.
    fn of(all: &'o [f32], first: i64, walk: Walk, lanes: usize) -> Option<Source<'o>> {
        let by = [usize::try_from(walk.by[0]).ok()?, usize::try_from(walk.by[1]).ok()?];
        let [planes, rows, _] = walk.extents;
        let last = by[0].checked_mul(planes.checked_sub(1)?)?;
        let last = last.checked_add(by[1].checked_mul(rows.checked_sub(1)?)?)?;
        let start = usize::try_from(walk.start - first).ok()?;
        Some(Source { elements: all.get(start..)?.get(..last.checked_add(lanes)?)?, by })
    }

    #[inline(always)]
    fn row(&self, [plane, row]: [usize; 2], lanes: usize) -> &'o [f32] {
        let first = plane * self.by[0] + row * self.by[1];
        &self.elements[first..first + lanes]
    }
}

/// A link with its operands.
#[derive(Clone, Copy)]
enum Resolved<'o> {
    Number(Operation, f32),
    Row(Operation, Source<'o>),
    Column(Operation, Source<'o>),
    Square,
}

/// The rows to compute.
struct Rows<'r> {
    from: Source<'r>,
    links: &'r [Resolved<'r>],
    /// Planes, rows and lanes.
    size: [usize; 3],
    to: &'r mut [f32],
}

impl Body for Rows<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Rows { from, links, size: [_, rows, lanes], to } = self;
        let (mut plane, mut row) = (0, 0);
        for to in to.chunks_exact_mut(lanes) {
            let at = [plane, row];
            to.copy_from_slice(from.row(at, lanes));
            for link in links {
                match link {
                    Resolved::Number(operation, x) => with_number(*operation, to, *x),
                    Resolved::Row(operation, x) => with_number(*operation, to, x.row(at, 1)[0]),
                    Resolved::Column(operation, x) => with_elements(*operation, to, x.row(at, lanes)),
                    Resolved::Square => {
                        for x in &mut *to {
                            *x *= *x;
                        }
                    }
                }
            }
            row += 1;
            if row == rows {
                (plane, row) = (plane + 1, 0);
            }
        }
    }
}

#[inline(always)]
fn with_number(operation: Operation, to: &mut [f32], x: f32) {
    match operation {
        Operation::Add => to.iter_mut().for_each(|to| *to += x),
        Operation::Sub => to.iter_mut().for_each(|to| *to -= x),
        Operation::Mul => to.iter_mut().for_each(|to| *to *= x),
        Operation::Div => to.iter_mut().for_each(|to| *to /= x),
    }
}

#[inline(always)]
fn with_elements(operation: Operation, to: &mut [f32], x: &[f32]) {
    match operation {
        Operation::Add => zip(to, x).for_each(|(to, x)| *to += x),
        Operation::Sub => zip(to, x).for_each(|(to, x)| *to -= x),
        Operation::Mul => zip(to, x).for_each(|(to, x)| *to *= x),
        Operation::Div => zip(to, x).for_each(|(to, x)| *to /= x),
    }
}
