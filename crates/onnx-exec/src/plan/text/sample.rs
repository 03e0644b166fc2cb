//! Checks on samples that a plan computes what its nodes define.
//!
//! For each tensor that a plan computes and a node defines, some elements are computed twice in double precision: by the formula
//! of the plan, and by the formulas of the nodes down to the operands of the plan's formula, whose elements are made up. A
//! mistake in an edited formula shows in nearly all elements; different rounding shows in few.

use crate::plan::{Plan, PlanStep, Slot, SlotSource, root};
use foldhash::{HashMap, HashSet};
use onnx_formula::{Elements, Formula, Mode, Number};
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, Hasher};

/// Samples per tensor.
const SAMPLES: usize = 24;
/// The most elements that are loaded and combined for one sample, and for all; larger samples are skipped.
const MAX_SAMPLE_LOADS: u64 = 1 << 18;
const MAX_LOADS: u64 = 1 << 25;
/// One of this many samples may differ, by rounding to the other side of a step.
const RARE: usize = 8;
/// The tolerance for floats, relative to the larger one or to 1.
const TOLERANCE: f64 = 1e-3;

/// A slot whose elements differ from what the nodes define, with an explanation.
pub(super) fn differs(
    plan: &Plan,
    definition: &[Slot],
    formulas: &[(usize, Formula)],
) -> Option<(usize, String)> {
    let scheduled: Vec<(usize, &Formula)> = (plan.steps.iter())
        .filter_map(|step| match step {
            PlanStep::Kernel(kernel) => Some(&kernel.members),
            PlanStep::Node(_) | PlanStep::Publish(..) | PlanStep::Release(..) => None,
        })
        .flatten()
        .map(|member| (member.assignment.slot, &member.assignment.formula))
        .collect();
    let left = Cell::new(MAX_LOADS);
    let mut scheduled_side = Side::new(&plan.slots, scheduled.iter().copied(), &left);
    let mut defined_side =
        Side::new(definition, formulas.iter().map(|(slot, formula)| (*slot, formula)), &left);
    for (slot, formula) in scheduled.iter().filter(|(slot, _)| *slot < definition.len()) {
        let leaves = scheduled_side.leaves(*slot, definition.len());
        scheduled_side.stop_at(&leaves);
        defined_side.stop_at(&leaves);
        let count = plan.slots[*slot].count();
        let (mut looked, mut found) = (0usize, Vec::new());
        for at in samples(*slot, count) {
            let logical = logical(&plan.slots[*slot], at);
            let (a, b) = (scheduled_side.element(*slot, at), defined_side.element(*slot, logical));
            let (Some(a), Some(b)) = (a, b) else {
                // A sample that was skipped for its size proves nothing.
                if a.is_none() && b.is_some() && !scheduled_side.is_out() {
                    let why = format!("element {at} is read from where there is none");
                    return Some((*slot, why));
                }
                continue;
            };
            looked += 1;
            if !is_close(a, b, formula.elem) {
                found.push((at, a, b));
            }
        }
        if let Some((at, a, b)) = found.first().filter(|_| found.len() > looked / RARE) {
            let shown = |number: &Number| match number {
                Number::Int(n) => n.to_string(),
                Number::Float(x) => format!("{:?}", *x as f32),
            };
            let (found, expected) = (shown(a), shown(b));
            let why = format!(
                "this is not what the nodes define: with made-up operands, element {at} is {found} instead of {expected}"
            );
            return Some((*slot, why));
        }
    }
    None
}

/// The indices of the first, the last and some other elements.
fn samples(slot: usize, count: usize) -> SmallVec<[usize; SAMPLES]> {
    let mut places: SmallVec<[usize; SAMPLES]> = SmallVec::new();
    let Some(last) = count.checked_sub(1) else { return places };
    for sample in 0..SAMPLES {
        let at = match sample {
            0 => 0,
            1 => last,
            _ => (drawn(slot, sample) % count as u64) as usize,
        };
        if !places.contains(&at) {
            places.push(at);
        }
    }
    places
}

fn is_close(a: Number, b: Number, elem: ElemType) -> bool {
    match (a, b) {
        // Quantized values may be rounded either way.
        (Number::Int(a), Number::Int(b)) => a == b || elem != ElemType::BOOL && a.abs_diff(b) <= 1,
        (Number::Float(a), Number::Float(b)) => {
            let is_same = a == b || a.is_nan() && b.is_nan();
            is_same || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
        }
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => false,
    }
}

/// The logical index of an element in the memory of a slot.
fn logical(slot: &Slot, at: usize) -> usize {
    if slot.axes.is_empty() {
        return at;
    }
    let (mut position, mut extents) = (vec![0; slot.dims.len()], vec![1; slot.dims.len()]);
    let mut rest = at;
    for (axis, d) in slot.axes.iter().zip(&slot.dims).rev() {
        let d = (*d).max(1);
        (position[usize::from(*axis)], extents[usize::from(*axis)]) = (rest % d, d);
        rest /= d;
    }
    position.iter().zip(&extents).fold(0, |place, (at, d)| place * d + at)
}

/// The formulas of the plan or of the nodes.
struct Side<'s> {
    slots: &'s [Slot],
    /// Formulas with their operands, which have their own numbers.
    formulas: HashMap<usize, (Formula, Vec<usize>)>,
    /// Tensors with made-up elements.
    leaves: HashSet<usize>,
    known: RefCell<HashMap<(usize, usize), Number>>,
    /// The remaining elements to load or combine, for all samples and for one.
    left: &'s Cell<u64>,
    sample: Cell<u64>,
    is_out: Cell<bool>,
}

impl<'s> Side<'s> {
    fn new<'f>(
        slots: &'s [Slot],
        formulas: impl Iterator<Item = (usize, &'f Formula)>,
        left: &'s Cell<u64>,
    ) -> Side<'s> {
        let local = |(slot, formula): (usize, &Formula)| {
            let mut operands = formula.operands();
            operands.sort_unstable();
            operands.dedup();
            let mut formula = formula.clone();
            formula.renumber_by(&operands);
            (slot, (formula, operands))
        };
        let formulas = formulas.map(local).collect();
        let leaves = HashSet::default();
        Side {
            slots,
            formulas,
            leaves,
            known: RefCell::default(),
            left,
            sample: Cell::new(0),
            is_out: Cell::new(false),
        }
    }

    /// Sets the tensors with made-up elements.
    fn stop_at(&mut self, leaves: &HashSet<usize>) {
        self.leaves.clone_from(leaves);
        self.known.borrow_mut().clear();
    }

    /// The tensors of nodes that the formula of a slot reads, directly or through tensors local to the plan.
    fn leaves(&self, slot: usize, nodes: usize) -> HashSet<usize> {
        let (mut leaves, mut open) = (HashSet::default(), vec![slot]);
        let mut seen = HashSet::default();
        while let Some(slot) = open.pop() {
            if !seen.insert(slot) {
                continue;
            }
            for operand in self.formulas.get(&slot).iter().flat_map(|(_, operands)| operands) {
                let operand = root(self.slots, *operand);
                if !matches!(self.slots[operand].source, SlotSource::Formula) {
                    continue;
                }
                if operand < nodes {
                    leaves.insert(operand);
                } else {
                    open.push(operand);
                }
            }
        }
        leaves
    }

    /// Whether the last sample was skipped for its size.
    fn is_out(&self) -> bool {
        self.is_out.get()
    }

    /// Charges elements to the limit of a sample.
    fn take(&self, terms: u64) -> Option<()> {
        let left = self.sample.get().checked_sub(terms);
        self.is_out.set(left.is_none());
        self.sample.set(left?);
        Some(())
    }

    /// An element of a slot, computed by its formula.
    fn element(&self, slot: usize, at: usize) -> Option<Number> {
        self.sample.set(self.left.get().min(MAX_SAMPLE_LOADS));
        let before = self.sample.get();
        let number = self.computed(slot, at);
        self.left.set(self.left.get().saturating_sub(before - self.sample.get()));
        number
    }

    fn computed(&self, slot: usize, at: usize) -> Option<Number> {
        let (formula, operands) = self.formulas.get(&slot)?;
        // A reduction over a constant loads nothing.
        let terms = formula.over.iter().flat_map(|over| &over.dims).try_fold(1u64, |terms, d| {
            terms.checked_mul(*d as u64) // `usize` has at most 64 bits
        });
        self.take(terms.unwrap_or(u64::MAX))?;
        let loads: SmallVec<[Loaded<'_, '_>; 8]> =
            operands.iter().map(|slot| Loaded { side: self, slot: *slot }).collect();
        let inputs: SmallVec<[Option<&dyn Elements>; 8]> =
            loads.iter().map(|loaded| Some(loaded as &dyn Elements)).collect();
        formula.element(&inputs, Mode::Reference, at)
    }

    /// An element that a formula loads.
    fn loaded(&self, slot: usize, at: usize) -> Option<Number> {
        self.take(1)?;
        let of = &self.slots[slot];
        match &of.source {
            SlotSource::Alias(of) => self.loaded(*of, at),
            SlotSource::Constant(tensor) => tensor.number(at),
            SlotSource::Value(_) => Some(made_up(slot, logical(of, at), of.elem)),
            SlotSource::Formula if self.leaves.contains(&slot) => {
                Some(made_up(slot, logical(of, at), of.elem))
            }
            SlotSource::Formula => {
                if let Some(known) = self.known.borrow().get(&(slot, at)) {
                    return Some(*known);
                }
                let number = self.computed(slot, at)?;
                self.known.borrow_mut().insert((slot, at), number);
                Some(number)
            }
        }
    }
}

/// An operand of a formula.
struct Loaded<'l, 's> {
    side: &'l Side<'s>,
    slot: usize,
}

impl Elements for Loaded<'_, '_> {
    fn dims(&self) -> &[usize] {
        &self.side.slots[self.slot].dims
    }

    fn number(&self, offset: usize) -> Option<Number> {
        self.side.loaded(self.slot, offset)
    }
}

/// A made-up element, the same for each call.
fn made_up(slot: usize, at: usize, elem: ElemType) -> Number {
    let drawn = drawn(slot, at) >> 8;
    match elem {
        ElemType::BOOL => Number::Int((drawn % 2).into()),
        ElemType::UINT8 => Number::Int((drawn % 200).into()),
        ElemType::INT8 => Number::Int(i128::from(drawn % 200) - 100),
        // Integers are mostly positions.
        _ if elem.is_integer() => Number::Int((drawn % 2).into()),
        _ => Number::Float((drawn % 128) as f64 / 16.0 - 4.0).wrap(elem),
    }
}

fn drawn(slot: usize, at: usize) -> u64 {
    let mut hasher = foldhash::quality::FixedState::with_seed(1).build_hasher();
    hasher.write_usize(slot);
    hasher.write_usize(at);
    hasher.finish()
}
