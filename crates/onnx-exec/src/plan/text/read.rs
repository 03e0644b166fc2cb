//! Parses a plan: its declarations and steps. Kernels are in `kernel`.

use super::file::{Invalid, illegal, mismatch, read, shown};
use super::write::names;
use super::{legal, sample};
use crate::plan::{
    NodeStep, Partition, PartitionItem, Plan, PlanContext, PlanStep, Slot, SlotSource, SlotStorage,
    constants, place, root,
};
use foldhash::HashMap;
use onnx_formula::{Formula, Mistake, Reader};
use onnx_ir::ElemType;
use onnx_ir::diag::code;
use std::ops::Range;

/// The state of parsing a plan.
pub(in crate::plan) struct PlanReader<'t, 'c> {
    pub(super) reader: Reader<'t>,
    pub(super) context: &'c PlanContext<'c>,
    pub(super) partition: Partition,
    /// The slots of the nodes' formulas, before parsing.
    definition: Vec<Slot>,
    /// Their formulas.
    formulas: Vec<(usize, Formula)>,
    slots: HashMap<String, usize>,
    /// Whether the text has defined each slot.
    is_defined: Vec<bool>,
    pub(super) places: Vec<SlotStorage>,
    /// The place in the text where each slot is defined.
    defined_at: HashMap<usize, Range<usize>>,
    steps: Vec<PlanStep>,
    /// The place of each step.
    steps_at: Vec<Range<usize>>,
}

#[cfg(test)]
type ParsedSteps = (Partition, HashMap<String, usize>, Vec<PlanStep>, Vec<SlotStorage>);

impl<'t, 'c> PlanReader<'t, 'c> {
    pub(in crate::plan) fn new(
        text: &'t str,
        partition: Partition,
        context: &'c PlanContext<'c>,
    ) -> Result<Self, Invalid> {
        let names = names(&partition.slots, &partition.named, context.names);
        let slots = names.into_iter().enumerate().map(|(slot, name)| (name, slot)).collect();
        let is_given = |slot: &Slot| matches!(slot.source, SlotSource::Value(_) | SlotSource::Constant(_));
        let formula = |item: &PartitionItem| match item {
            PartitionItem::Formula(it) => Some((it.slot, it.formula.clone())),
            PartitionItem::Node(_) => None,
        };
        Ok(PlanReader {
            reader: Reader::new(text)?,
            context,
            definition: partition.slots.clone(),
            formulas: partition.items.iter().filter_map(formula).collect(),
            is_defined: partition.slots.iter().map(is_given).collect(),
            places: vec![SlotStorage::Elsewhere; partition.slots.len()],
            partition,
            slots,
            defined_at: HashMap::default(),
            steps: Vec::new(),
            steps_at: Vec::new(),
        })
    }

    pub(super) fn plan(mut self) -> Result<Plan, Invalid> {
        self.parse()?;
        self.finish()
    }

    /// The parsed steps, with the slots and their names and storage.
    #[cfg(test)]
    pub(in crate::plan) fn steps(mut self) -> Result<ParsedSteps, Invalid> {
        self.parse()?;
        Ok((self.partition, self.slots, self.steps, self.places))
    }

    fn parse(&mut self) -> Result<(), Invalid> {
        while self.reader.peek() == "reads" {
            read(&mut self.reader)?;
        }
        while !self.reader.is_at_end() {
            let from = self.reader.place();
            match self.reader.peek() {
                "constant" => self.constant()?,
                "alias" => self.alias()?,
                "kernel" => {
                    let kernel = self.kernel()?;
                    self.steps.push(PlanStep::Kernel(Box::new(kernel)));
                    self.steps_at.push(self.reader.since(&from));
                }
                "node" => {
                    let node = self.node()?;
                    self.steps.push(PlanStep::Node(node));
                    self.steps_at.push(self.reader.since(&from));
                }
                _ => return Err(self.reader.unexpected("`constant`, `alias`, `kernel` or `node`").into()),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, Invalid> {
        let end = self.reader.place();
        self.are_nodes_run(&end)?;
        // Values that are read elsewhere have the type that the nodes define, and memory of their own.
        for (value, slot) in &self.partition.published {
            let (found, defined) = (&self.partition.slots[*slot], &self.definition[*slot]);
            if found.dims != defined.dims || found.elem != defined.elem || !found.axes.is_empty() {
                let name = shown(self.context.names.value(*value));
                let at = self.defined_at.get(slot).cloned().unwrap_or(0..0);
                let why =
                    format!("{name} is read elsewhere: it must be {} with its axes in order", defined.ty());
                return Err(illegal(&at, why));
            }
            let slot = root(&self.partition.slots, *slot);
            if !self.is_defined[slot] {
                let name = self.context.names.value(*value);
                return Err(illegal(
                    &end,
                    format!("no kernel computes {}, which is read elsewhere", shown(name)),
                ));
            }
            if matches!(self.partition.slots[slot].source, SlotSource::Formula) {
                if !matches!(self.places[slot], SlotStorage::Elsewhere | SlotStorage::Own) {
                    let name = shown(self.context.names.value(*value));
                    let at = self.defined_at.get(&slot).cloned().unwrap_or(0..0);
                    return Err(illegal(
                        &at,
                        format!("{name} is read elsewhere: it can have neither `at` nor `in block`"),
                    ));
                }
                self.places[slot] = SlotStorage::Own;
            }
        }
        // All other results have a place.
        let without_place = |step: &PlanStep| match step {
            PlanStep::Kernel(kernel) => {
                let mut slots = kernel.members.iter().map(|member| member.assignment.slot);
                slots.find(|slot| self.places[*slot] == SlotStorage::Elsewhere)
            }
            _ => None,
        };
        if let Some(slot) = self.steps.iter().find_map(without_place) {
            return Err(self.wrong(
                slot,
                "a result that only this plan reads needs a place: `at` a byte of the arena, or `in block`",
            ));
        }
        legal::layouts(&self.partition.slots).map_err(|(slot, why)| self.wrong(slot, why))?;
        self.context.packing.pack(&mut self.steps, &self.partition.slots);
        legal::order(&self.steps, &self.partition, self.context.names)
            .map_err(|(step, why)| illegal(&self.steps_at[step], why))?;
        // The plan, which must be consistent and compute what the nodes define.
        let arena = legal::arena(&self.places, &self.partition.slots);
        let steps = place::steps(self.steps, &self.partition, &self.places);
        let names = names(&self.partition.slots, &self.partition.named, self.context.names);
        let Partition { start, end, needs, slots, named, expected, folded, .. } = self.partition;
        let plan = Plan {
            nodes: start..end,
            needs,
            slots,
            folded,
            places: self.places,
            steps,
            arena,
            refused: HashMap::default(),
            expected,
            named,
        };
        let at = |slot: usize| self.defined_at.get(&slot).cloned().unwrap_or(0..0);
        if let Some((slot, why)) = plan.mistake(&|slot| shown(&names[slot])) {
            return Err(illegal(&at(slot), why));
        }
        match sample::differs(&plan, &self.definition, &self.formulas) {
            Some((slot, why)) => {
                Err(Invalid { code: &code::SCHEDULE_RESULTS, mistake: Mistake::new(at(slot), why) })
            }
            None => Ok(plan),
        }
    }

    /// An error in the formula of a slot.
    fn wrong(&self, slot: usize, why: impl Into<String>) -> Invalid {
        illegal(&self.defined_at.get(&slot).cloned().unwrap_or(0..0), why)
    }

    /// The name of a slot for messages.
    pub(super) fn name_of(&self, slot: usize) -> String {
        let found = self.slots.iter().find(|(_, it)| **it == slot);
        shown(found.map_or("?", |(name, _)| name))
    }

    /// Whether each node without a formula is run exactly once.
    fn are_nodes_run(&self, end: &Range<usize>) -> Result<(), Invalid> {
        for item in &self.partition.items {
            let PartitionItem::Node(step) = item else { continue };
            let count = self.steps.iter().filter(|it| matches!(it, PlanStep::Node(it) if it == step)).count();
            if count != 1 {
                let at = self.context.nodes.iter().position(|it| *it == step.node).unwrap_or_default();
                let op = self.context.names.op(step.node);
                return Err(illegal(
                    end,
                    format!("node {at} ({op}) must be run once, but is run {count} times"),
                ));
            }
        }
        Ok(())
    }

    fn node(&mut self) -> Result<Box<NodeStep>, Invalid> {
        self.reader.expect("node")?;
        let at = self.reader.place();
        let position = self.reader.count()?;
        let node = self.context.nodes.get(position);
        let is_it = |item: &&PartitionItem| matches!(item, PartitionItem::Node(it) if node == Some(&it.node));
        match self.partition.items.iter().find(is_it) {
            Some(PartitionItem::Node(step)) => Ok(step.clone()),
            _ => Err(illegal(&at, format!("node {position} is not run by itself: kernels compute it"))),
        }
    }

    /// The slot of a name. A name that is unknown to the nodes is a result local to this plan.
    fn slot(&mut self, name: &str) -> usize {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        // Printed numbers (`%7`) are kept, up to the number of formulas that a text can have.
        let limit = self.definition.len() + (1 << 20);
        let number = name.strip_prefix('%').and_then(|number| number.parse::<usize>().ok());
        let number = number.filter(|number| (self.partition.slots.len()..limit).contains(number));
        let last = number.unwrap_or(self.partition.slots.len());
        while self.partition.slots.len() <= last {
            let at = self.partition.slots.len();
            let name = if at == last { name.to_owned() } else { format!("%{at}") };
            self.partition.slots.push(Slot::new(ElemType::FLOAT, vec![0], SlotSource::Formula));
            self.slots.insert(name, at);
            self.is_defined.push(false);
            self.places.push(SlotStorage::Elsewhere);
        }
        last
    }

    /// Defines a slot, once.
    pub(super) fn define(
        &mut self,
        (name, at): (&str, &Range<usize>),
        (elem, dims): (ElemType, Vec<usize>),
        source: SlotSource,
    ) -> Result<usize, Invalid> {
        let slot = self.slot(name);
        if std::mem::replace(&mut self.is_defined[slot], true) {
            return Err(illegal(at, format!("{} is defined twice", shown(name))));
        }
        if let Some(defined) = self.definition.get(slot) {
            let stated = Slot::new(elem, dims.clone(), SlotSource::Formula);
            if defined.elem != elem || defined.count() != stated.count() {
                let why = format!("{} has type {}, not {}", shown(name), defined.ty(), stated.ty());
                return Err(mismatch(at, why));
            }
        }
        self.partition.slots[slot] = Slot::new(elem, dims, source);
        self.defined_at.insert(slot, at.clone());
        Ok(slot)
    }

    /// Parses a formula whose operands are all defined.
    pub(super) fn formula(&mut self) -> Result<(String, Formula, Range<usize>), Invalid> {
        let from = self.reader.place();
        let PlanReader { reader, slots, partition, is_defined, .. } = self;
        let mut find = |name: &str| {
            let slot = *slots.get(name)?;
            is_defined[root(&partition.slots, slot)].then_some(slot)
        };
        let (name, formula) = reader.formula(&mut find)?;
        let at = self.reader.since(&from);
        let names = |slot| self.name_of(slot);
        legal::formula(&formula, &self.partition.slots, &names).map_err(|why| illegal(&at, why))?;
        Ok((name, formula, at))
    }

    /// Parses `constant float[10] B`, from the model, and `constant float[10] %7[i0] = B[i0] * 2.0`, computed before the run.
    fn constant(&mut self) -> Result<(), Invalid> {
        self.reader.expect("constant")?;
        let (mark, from) = (self.reader.mark(), self.reader.place());
        let (elem, dims) = self.reader.ty()?;
        let name = self.reader.name()?;
        let at = self.reader.since(&from);
        if !matches!(self.reader.peek(), "[" | "=") {
            let slot = self.slots.get(&name).copied();
            let stored =
                slot.filter(|slot| matches!(self.partition.slots[*slot].source, SlotSource::Constant(_)));
            let Some(slot) = stored else {
                return Err(mismatch(&at, format!("{} is not a constant of the model", shown(&name))));
            };
            let (stated, actual) =
                (Slot::new(elem, dims, SlotSource::Formula).ty(), self.partition.slots[slot].ty());
            if stated != actual {
                return Err(mismatch(&at, format!("{} has type {actual}", shown(&name))));
            }
            return Ok(());
        }
        self.reader.back_to(mark);
        let (name, formula, at) = self.formula()?;
        let dims = if self.reader.eat("shape") { self.reader.extents()? } else { formula.dims.clone() };
        let failed = || {
            illegal(
                &at,
                "this cannot be computed before the run: it reads a value that is not constant, or has too many elements",
            )
        };
        let tensor =
            constants::evaluated(&formula, &self.partition.slots).ok().flatten().ok_or_else(failed)?;
        let tensor = tensor.reshaped(&dims).map_err(|why| illegal(&at, why.to_string()))?;
        let slot = self.define((&name, &at), (formula.elem, dims), SlotSource::Constant(tensor))?;
        self.partition.folded.push((slot, formula));
        Ok(())
    }

    /// Parses `alias float[2,3] y of x`.
    fn alias(&mut self) -> Result<(), Invalid> {
        let from = self.reader.place();
        self.reader.expect("alias")?;
        let (elem, dims) = self.reader.ty()?;
        let name = self.reader.name()?;
        self.reader.expect("of")?;
        let of = self.reader.name()?;
        let at = self.reader.since(&from);
        let (of, slot) = (self.slot(&of), self.slot(&name));
        // There are no alias cycles so far, so `root` terminates.
        if root(&self.partition.slots[..], of) == slot {
            return Err(illegal(&at, "a value cannot be an alias of itself"));
        }
        self.define((&name, &at), (elem, dims), SlotSource::Alias(of))?;
        Ok(())
    }
}
