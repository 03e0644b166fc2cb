//! Plans as text.
//!
//! ```text
//! kernel 0: MatMul+Add+Relu
//!   float[64,10] y[i0, i1] = max(total + B[i1], 0.0) where total = sum over i2 < 128 of X[i0, i2] * W[i2, i1]
//!     matrix product of 64x128 and 128x10
//!     for i0 < 64 in parallel, i1 < 10: sum over i2 < 128 as a matrix product in tiles, 256 steps at a time
//!       rows i0: f0 = X[128*i0 + i2], packed
//!       columns i1: f0 = W[i1 + 10*i2], packed before the run
//!       then f3 = total; f0 = 0; f1 = B[i1]; f2 = Add f3 f1; f4 = Max f2 f0
//! ```

use super::{Kernel, Place, Plan, Slot, Source, Step, root};
use crate::compile::Executable;
use onnx_ir::ValueId;
use onnx_ops::meaning::{self, Number};
use std::fmt::{self, Write as _};

impl Slot {
    /// The type as text.
    pub(super) fn ty(&self) -> String {
        let name = self.elem.name().unwrap_or("?");
        match self.dims.is_empty() {
            true => name.to_owned(),
            false => {
                let dims: Vec<String> = self.dims.iter().map(usize::to_string).collect();
                format!("{name}[{}]", dims.join(","))
            }
        }
    }
}

impl Kernel {
    /// The operators that it stands for.
    pub(super) fn label(&self, executable: &Executable<'_>) -> String {
        let mut ops: Vec<&str> = self.nodes.iter().map(|node| executable.op(*node)).collect();
        ops.dedup();
        ops.join("+")
    }
}

/// Counts of what a plan does.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    pub(crate) kernels: usize,
    pub(crate) nodes: usize,
    pub(crate) flops: u128,
    pub(crate) bytes: u128,
    pub(crate) arena: usize,
}

impl Plan {
    /// Writes the steps, kernels numbered from `first` on.
    pub(crate) fn write(&self, executable: &Executable<'_>, first: usize, out: &mut String) -> fmt::Result {
        let names = names(&self.slots, &self.named, executable);
        let mut number = first;
        for step in &self.steps {
            match step {
                Step::Kernel(kernel) => {
                    self.write_kernel(kernel, executable, number, &names, out)?;
                    number += 1;
                }
                Step::Node(node) => writeln!(out, "node {}", executable.op(*node))?,
                Step::Publish(value, slot) => {
                    let name = executable.value_name(*value);
                    if names[*slot] != name {
                        writeln!(
                            out,
                            "value {name}: {} = {}",
                            self.slots[*slot].ty(),
                            names[root(&self.slots, *slot)]
                        )?;
                    }
                }
                Step::Release(..) => {}
            }
        }
        Ok(())
    }

    fn write_kernel(
        &self,
        kernel: &Kernel,
        executable: &Executable<'_>,
        number: usize,
        names: &[String],
        out: &mut String,
    ) -> fmt::Result {
        writeln!(out, "kernel {number}: {}", kernel.label(executable))?;
        let indent = if kernel.members.len() > 1 {
            let parallel = if kernel.is_parallel() { ", in parallel" } else { "" };
            writeln!(out, "  for {} rows, {} at a time{parallel}", kernel.rows, kernel.block)?;
            "    "
        } else {
            "  "
        };
        for member in &kernel.members {
            let slot = member.assignment.slot;
            let line =
                meaning::line(&member.assignment.formula, &names[slot], &|operand| names[operand].clone());
            let place = match self.places[slot] {
                Place::Arena(at) => format!("   at {at}"),
                Place::Local => "   of a block".to_owned(),
                Place::Own | Place::Elsewhere => String::new(),
            };
            writeln!(out, "{indent}{line}{place}")?;
            if let Some(shape) = member.nest.product() {
                writeln!(out, "{indent}  {shape}")?;
            }
            let name = |operand: usize| names[kernel.loads[operand]].clone();
            for line in member.nest.outline(kernel.members.len() == 1, &name) {
                writeln!(out, "{indent}  {line}")?;
            }
        }
        let consumers = kernel.members.iter().map(|member| member.assignment.slot);
        for refused in consumers.filter_map(|slot| self.refused.get(&slot)).flatten() {
            writeln!(out, "  apart from {}: {}", names[refused.producer], refused.why)?;
        }
        Ok(())
    }

    /// Counts of what the plan does.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { arena: self.arena, ..Counts::default() };
        for step in &self.steps {
            match step {
                Step::Kernel(kernel) => {
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
                Step::Node(_) => counts.nodes += 1,
                Step::Publish(..) | Step::Release(..) => {}
            }
        }
        counts
    }
}

/// Names of all slots: those of values, else numbers.
pub(super) fn names(slots: &[Slot], named: &[(ValueId, usize)], executable: &Executable<'_>) -> Vec<String> {
    let mut names: Vec<String> = (0..slots.len()).map(|slot| format!("%{slot}")).collect();
    for (value, slot) in named {
        names[*slot] = executable.value_name(*value).to_owned();
    }
    for (slot, name) in slots.iter().zip(&mut names) {
        if let Source::Value(value) = slot.source {
            *name = executable.value_name(value).to_owned();
        }
        match slot.number() {
            Some(Number::Int(n)) => *name = n.to_string(),
            Some(Number::Float(x)) => *name = format!("{x:?}"),
            None => {}
        }
    }
    names
}
