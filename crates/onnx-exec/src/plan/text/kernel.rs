//! Parses kernels.

use super::file::{Invalid, illegal, mismatch};
use super::legal;
use super::read::PlanReader;
use crate::loops::{Choice, FormName, Nest};
use crate::plan::{Assignment, Kernel, SlotSource, SlotStorage, group, place};
use onnx_formula::{Formula, Mistake};
use onnx_ir::diag::counted;
use onnx_ir::{ElemType, NodeId};
use smallvec::SmallVec;
use std::ops::Range;

impl PlanReader<'_, '_> {
    /// Parses a kernel and its formulas.
    pub(super) fn kernel(&mut self) -> Result<Kernel, Invalid> {
        let from = self.reader.place();
        self.reader.expect("kernel")?;
        self.reader.count()?;
        let mut rows = None;
        if self.reader.eat("of") {
            let count = self.reader.count()?;
            self.reader.expect("rows")?;
            self.reader.expect(",")?;
            let at = self.reader.place();
            let block = self.reader.count()?;
            self.reader.expect("at")?;
            self.reader.expect("a")?;
            self.reader.expect("time")?;
            if block == 0 {
                return Err(illegal(&at, "a block must have at least one row"));
            }
            rows = Some((count, block));
        }
        let header = self.reader.since(&from);
        let mut members: Vec<Clauses> = Vec::new();
        while ElemType::from_name(self.reader.peek()).is_some() {
            members.push(self.member()?);
        }
        if members.is_empty() {
            return Err(self.reader.unexpected("a formula").into());
        }
        let (rows, block) = match (rows, &members[..]) {
            (Some(rows), _) => rows,
            (None, [one]) => {
                let count = self.partition.slots[one.slot].count().max(1);
                (count, count)
            }
            (None, _) => {
                return Err(illegal(&header, "a kernel of several formulas needs `of N rows, B at a time`"));
            }
        };
        legal::rows(&members, rows, &self.partition.slots, &|slot| self.name_of(slot))
            .map_err(|(at, why)| illegal(&members[at].at, why))?;
        self.assemble(members, rows, block, &header)
    }

    fn assemble(
        &mut self,
        members: Vec<Clauses>,
        rows: usize,
        block: usize,
        header: &Range<usize>,
    ) -> Result<Kernel, Invalid> {
        let is_local: Vec<bool> = members.iter().map(|m| self.places[m.slot] == SlotStorage::Local).collect();
        let chosen: Vec<(Option<Choice>, Range<usize>)> =
            members.iter().map(|m| (m.choice, m.at.clone())).collect();
        let is_alone = members.len() == 1;
        let slots = &self.partition.slots;
        let assignments = members
            .into_iter()
            .map(|m| Assignment { slot: m.slot, formula: m.formula, nodes: m.nodes })
            .collect();
        let wrong = std::cell::RefCell::new(None);
        let made = group::assembled(assignments, rows, &is_local, slots, &|at, formula, types| {
            let (choice, place) = &chosen[at];
            let Some(best) = Nest::of(formula, types) else {
                wrong.replace(Some(illegal(place, "no loops exist for a formula of these element types")));
                return None;
            };
            let nest = match choice {
                Some(choice) if *choice != best.choice() => Nest::chosen(formula, types, *choice),
                Some(_) | None => Some(best),
            };
            if let (None, Some(choice)) = (&nest, choice) {
                let why = format!("this formula cannot be computed as `{choice}`");
                wrong.replace(Some(illegal(place, why)));
            }
            nest
        });
        let Some(mut kernel) = made else {
            return Err(wrong
                .into_inner()
                .unwrap_or_else(|| illegal(header, "no loops exist for this kernel")));
        };
        kernel.block = if is_alone { rows } else { block.min(rows) };
        Ok(kernel)
    }

    /// Parses a formula of a kernel and its clauses.
    fn member(&mut self) -> Result<Clauses, Invalid> {
        let (name, formula, at) = self.formula()?;
        // Until the end, the slot is unknown.
        let mut clauses = Clauses { slot: 0, formula, choice: None, nodes: SmallVec::new(), at };
        // The clauses, in any order.
        let (mut dims, mut axes, mut place) = (None, SmallVec::new(), SlotStorage::Elsewhere);
        loop {
            let from = self.reader.place();
            match self.reader.peek() {
                "as" => clauses.choice = Some(self.choice()?),
                "shape" => {
                    self.reader.skip();
                    dims = Some(self.reader.extents()?);
                }
                "axes" => {
                    self.reader.skip();
                    let order = self.reader.extents()?;
                    let byte = |axis: &usize| u8::try_from(*axis).unwrap_or(u8::MAX);
                    axes = order.iter().map(byte).collect();
                }
                "at" => {
                    self.reader.skip();
                    let byte = self.reader.count()?;
                    if byte % place::ALIGN != 0 {
                        let why =
                            format!("the offset must be a multiple of {}", counted(place::ALIGN, "byte"));
                        return Err(illegal(&self.reader.since(&from), why));
                    }
                    place = SlotStorage::Arena(byte);
                }
                "in" => {
                    self.reader.skip();
                    self.reader.expect("block")?;
                    place = SlotStorage::Local;
                }
                "for" => {
                    self.reader.skip();
                    self.reader.expect("nodes")?;
                    loop {
                        let at = self.reader.place();
                        let position = self.reader.count()?;
                        let is_here = (self.partition.start..self.partition.end).contains(&position);
                        let Some(node) = self.context.nodes.get(position).filter(|_| is_here) else {
                            return Err(mismatch(&at, format!("the plan has no node {position}")));
                        };
                        clauses.nodes.push(*node);
                        if !self.reader.eat(",") {
                            break;
                        }
                    }
                }
                _ => break,
            }
        }
        // The slot has the shape of the clause, or of the formula.
        let elem = clauses.formula.elem;
        let dims = dims.unwrap_or_else(|| clauses.formula.dims.clone());
        let at = clauses.at.clone();
        if dims.iter().product::<usize>() != clauses.formula.dims.iter().product::<usize>() {
            return Err(illegal(&at, "`shape` must have as many elements as the formula computes"));
        }
        clauses.slot = self.define((&name, &at), (elem, dims), SlotSource::Formula)?;
        self.partition.slots[clauses.slot].axes = axes;
        self.places[clauses.slot] = place;
        clauses.at = self.reader.since(&at);
        Ok(clauses)
    }

    /// Parses `as loops along the reduction` or `as matrix product, one pass`.
    fn choice(&mut self) -> Result<Choice, Invalid> {
        self.reader.expect("as")?;
        let from = self.reader.place();
        let mut words = String::new();
        let mut found = None;
        // The longest matching name of a loop form.
        for _ in 0..MAX_WORDS {
            let word = self.reader.peek();
            if !word.bytes().all(|c| c.is_ascii_alphabetic()) || word.is_empty() {
                break;
            }
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
            self.reader.skip();
            if let Some(form) = FormName::named(&words) {
                found = Some((form, self.reader.mark()));
            }
        }
        let Some((form, mark)) = found else {
            let names: Vec<String> = FormName::names().map(|name| format!("`{name}`")).collect();
            let why = format!("expected one of {}", names.join(", "));
            return Err(Mistake::new(self.reader.since(&from), why).into());
        };
        self.reader.back_to(mark);
        let is_one_pass = self.reader.eat(",");
        if is_one_pass {
            self.reader.expect("one")?;
            self.reader.expect("pass")?;
        }
        Ok(Choice { form, is_one_pass })
    }
}

/// The most words in the name of a loop form.
const MAX_WORDS: usize = 4;

/// A formula of a kernel with its clauses.
pub(super) struct Clauses {
    pub(super) slot: usize,
    pub(super) formula: Formula,
    choice: Option<Choice>,
    nodes: SmallVec<[NodeId; 4]>,
    pub(super) at: Range<usize>,
}
