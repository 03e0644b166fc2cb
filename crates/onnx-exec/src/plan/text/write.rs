//! Prints plans.

use super::Names;
use crate::plan::{Kernel, Need, Plan, PlanStep, Slot, SlotSource, SlotStorage, root};
use crate::tensor::Tensor;
use foldhash::{HashMap, HashSet};
use onnx_formula::{Elements as _, Formula, Number, line, quoted};
use onnx_ir::{EntityId as _, GraphId, NodeId, ValueId};
use std::fmt::{self, Write as _};

impl Slot {
    /// The type as text.
    pub(in crate::plan) fn ty(&self) -> String {
        let name = self.elem.name().unwrap_or("?");
        if self.dims.is_empty() { name.to_owned() } else { format!("{name}{}", extents(&self.dims)) }
    }
}

impl Kernel {
    /// The operators that are fused into the kernel.
    pub(crate) fn label(&self, names: &dyn Names) -> String {
        let mut ops: Vec<&str> = self.nodes.iter().map(|node| names.op(*node)).collect();
        ops.dedup();
        ops.join("+")
    }
}

/// Statistics of a plan.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub(crate) kernels: usize,
    pub(crate) nodes: usize,
    pub(crate) flops: u128,
    pub(crate) bytes: u128,
    pub(crate) arena: usize,
}

impl Plan {
    /// Prints the plan for a graph with these nodes, with kernels numbered from `first` on.
    pub(crate) fn write(
        &self,
        of: &dyn Names,
        (graph, nodes): (GraphId, &[NodeId]),
        first: usize,
        out: &mut String,
    ) -> fmt::Result {
        let names = names(&self.slots, &self.named, of);
        writeln!(out, "plan of nodes {}..{} in graph {}", self.nodes.start, self.nodes.end, graph.index())?;
        self.write_needs(of, out)?;
        self.write_constants(&names, out)?;
        for (slot, of) in self.slots.iter().enumerate() {
            if let SlotSource::Alias(of) = of.source {
                writeln!(
                    out,
                    "  alias {} {} of {}",
                    self.slots[slot].ty(),
                    quoted(&names[slot]),
                    quoted(&names[of])
                )?;
            }
        }
        let position: HashMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(at, node)| (*node, at)).collect();
        let mut number = first;
        for step in &self.steps {
            match step {
                PlanStep::Kernel(kernel) => {
                    self.write_kernel(kernel, of, number, (&names, &position), out)?;
                    number += 1;
                }
                PlanStep::Node(step) => {
                    let at = position.get(&step.node).copied().unwrap_or_default();
                    writeln!(out, "  node {at}    # {}", of.op(step.node))?;
                }
                PlanStep::Publish(value, slot) => {
                    let name = of.value(*value);
                    if names[*slot] != name {
                        let of = &names[root(&self.slots, *slot)];
                        writeln!(out, "  # {}: {} = {}", quoted(name), self.slots[*slot].ty(), quoted(of))?;
                    }
                }
                PlanStep::Release(..) => {}
            }
        }
        Ok(())
    }

    /// Prints the conditions of the plan.
    fn write_needs(&self, of: &dyn Names, out: &mut String) -> fmt::Result {
        for (value, need) in &self.needs {
            let name = quoted(of.value(*value));
            match need {
                Need::Tensor(elem, dims) => {
                    let ty = Slot::new(*elem, dims.to_vec(), SlotSource::Formula).ty();
                    writeln!(out, "  reads {ty} {name}")?;
                }
                Need::Elements(tensor) => {
                    writeln!(out, "  reads {} {name} = {}", ty_of(tensor), elements(tensor))?
                }
                Need::Other(_) => {}
            }
        }
        Ok(())
    }

    /// Prints the constants that are read: those of the model, and the formulas of folded ones.
    fn write_constants(&self, names: &[String], out: &mut String) -> fmt::Result {
        let mut wanted: HashSet<usize> = HashSet::default();
        let want = |wanted: &mut HashSet<usize>, formula: &Formula| {
            for operand in formula.operands() {
                let mut slot = operand;
                wanted.insert(slot);
                while let SlotSource::Alias(of) = self.slots[slot].source {
                    slot = of;
                    wanted.insert(slot);
                }
            }
        };
        for step in &self.steps {
            match step {
                PlanStep::Kernel(kernel) => {
                    kernel.members.iter().for_each(|member| want(&mut wanted, &member.assignment.formula));
                }
                PlanStep::Publish(_, slot) => {
                    wanted.insert(root(&self.slots, *slot));
                }
                PlanStep::Node(_) | PlanStep::Release(..) => {}
            }
        }
        for (slot, formula) in self.folded.iter().rev() {
            if wanted.contains(slot) {
                want(&mut wanted, formula);
            }
        }
        let folded: HashSet<usize> = self.folded.iter().map(|(slot, _)| *slot).collect();
        for (slot, of) in self.slots.iter().enumerate() {
            let is_stored = matches!(of.source, SlotSource::Constant(_)) && !folded.contains(&slot);
            if is_stored && wanted.contains(&slot) {
                let number = of.number().map_or(String::new(), |number| match number {
                    Number::Int(n) => format!("    # {n}"),
                    Number::Float(x) => format!("    # {:?}", x as f32),
                });
                writeln!(out, "  constant {} {}{number}", of.ty(), quoted(&names[slot]))?;
            }
        }
        for (slot, formula) in self.folded.iter().filter(|(slot, _)| wanted.contains(slot)) {
            let line = line(formula, &names[*slot], &|operand| names[operand].clone());
            writeln!(out, "  constant {line}{}", self.shape_of(*slot, formula))?;
        }
        Ok(())
    }

    /// The shape of a slot, if it differs from that of its formula.
    fn shape_of(&self, slot: usize, formula: &Formula) -> String {
        let dims = &self.slots[slot].dims;
        if *dims == formula.dims { String::new() } else { format!(" shape {}", extents(dims)) }
    }

    fn write_kernel(
        &self,
        kernel: &Kernel,
        of: &dyn Names,
        number: usize,
        (names, position): (&[String], &HashMap<NodeId, usize>),
        out: &mut String,
    ) -> fmt::Result {
        let rows = match kernel.members.len() {
            1 => String::new(),
            _ => format!(" of {} rows, {} at a time", kernel.rows, kernel.block),
        };
        let parallel = if kernel.members.len() > 1 && kernel.is_parallel() { ", in parallel" } else { "" };
        writeln!(out, "  kernel {number}{rows}    # {}{parallel}", kernel.label(of))?;
        for member in &kernel.members {
            let slot = member.assignment.slot;
            let formula = &member.assignment.formula;
            let line = line(formula, &names[slot], &|operand| names[operand].clone());
            writeln!(out, "    {line}")?;
            let axes: Vec<usize> = self.slots[slot].axes.iter().map(|axis| usize::from(*axis)).collect();
            let axes = if axes.is_empty() { String::new() } else { format!(" axes {}", extents(&axes)) };
            let shape = self.shape_of(slot, formula);
            let place = match self.places[slot] {
                SlotStorage::Arena(at) => format!(" at {at}"),
                SlotStorage::Local => " in block".to_owned(),
                SlotStorage::Own | SlotStorage::Elsewhere => String::new(),
            };
            let nodes: Vec<String> = member
                .assignment
                .nodes
                .iter()
                .filter_map(|node| position.get(node))
                .map(usize::to_string)
                .collect();
            let nodes = nodes.join(", ");
            writeln!(out, "      as {}{shape}{axes}{place} for nodes {nodes}", member.nest.choice())?;
            if let Some(shape) = member.nest.product() {
                writeln!(out, "      # {shape}")?;
            }
            let name = |operand: usize| names[kernel.loads[operand]].clone();
            for line in member.nest.outline(kernel.members.len() == 1, &name) {
                writeln!(out, "      # {line}")?;
            }
        }
        let consumers = kernel.members.iter().map(|member| member.assignment.slot);
        for refused in consumers.filter_map(|slot| self.refused.get(&slot)).flatten() {
            writeln!(out, "    # apart from {}: {}", quoted(&names[refused.producer]), refused.why)?;
        }
        Ok(())
    }

    /// Statistics of the plan.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { arena: self.arena, ..Counts::default() };
        for step in &self.steps {
            match step {
                PlanStep::Kernel(kernel) => {
                    counts.kernels += 1;
                    let makes = |slot: usize| kernel.members.iter().any(|m| m.assignment.slot == slot);
                    for member in &kernel.members {
                        counts.flops += member.nest.flops();
                        if !member.is_local {
                            counts.bytes += self.slots[member.assignment.slot].bytes() as u128;
                        }
                    }
                    for slot in kernel.loads.iter().filter(|slot| !makes(**slot)) {
                        counts.bytes += self.slots[*slot].bytes() as u128;
                    }
                }
                PlanStep::Node(_) => counts.nodes += 1,
                PlanStep::Publish(..) | PlanStep::Release(..) => {}
            }
        }
        counts
    }
}

/// Unique names for all slots: the names of their values, otherwise numbers.
pub(in crate::plan) fn names(slots: &[Slot], named: &[(ValueId, usize)], of: &dyn Names) -> Vec<String> {
    let mut names: Vec<String> = (0..slots.len()).map(|slot| format!("%{slot}")).collect();
    let mut taken: HashSet<&str> = HashSet::default();
    let of_values = slots.iter().enumerate().filter_map(|(at, slot)| match slot.source {
        SlotSource::Value(value) => Some((value, at)),
        SlotSource::Constant(_) | SlotSource::Formula | SlotSource::Alias(_) => None,
    });
    for (value, slot) in of_values.chain(named.iter().copied()) {
        let name = of.value(value);
        // A name that looks like a slot number would be ambiguous.
        if !name.is_empty() && !name.starts_with('%') && names[slot].starts_with('%') && taken.insert(name) {
            name.clone_into(&mut names[slot]);
        }
    }
    names
}

fn extents(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(","))
}

fn ty_of(tensor: &Tensor) -> String {
    Slot::new(tensor.elem(), tensor.dims().to_vec(), SlotSource::Formula).ty()
}

/// The elements of a tensor in a condition.
pub(super) fn elements(tensor: &Tensor) -> String {
    let number = |at| match tensor.number(at) {
        Some(Number::Int(n)) => n.to_string(),
        Some(Number::Float(x)) => format!("{:?}", x as f32),
        None => "?".to_owned(),
    };
    let numbers: Vec<String> = (0..tensor.len()).map(number).collect();
    format!("{{{}}}", numbers.join(", "))
}
