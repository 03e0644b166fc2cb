//! Expands nodes with function bodies in a plan.
//!
//! The formulas of the body replace the node in the same plan, so they are fused with the surrounding formulas and get their
//! layout.
//!
//! ```text
//! c = QLinearAdd (a, a_scale, a_zero, b, …)   ──▶   uint8(round((float(a) - a_zero) * a_scale + …) / c_scale) + c_zero)
//! ```
//! A body with anything but formulas (a kernel, control flow, results of unknown shape) is run as a node.

use super::{Define, Flow, KnownValue};
use crate::plan::{Partition, PartitionItem};
use crate::program::{Action, Program};
use foldhash::{HashMap, HashSet};
use onnx_ir::{NodeId, ValueId};
use onnx_kernels::Given;
use onnx_kernels::Value;
use onnx_ops::infer::Fact;
use onnx_ops::meaning::has_definition;

/// The deepest nesting of bodies that are expanded.
const MAX_DEPTH: usize = 8;

impl Define<'_> {
    /// Whether a kernel is much faster than the body of a node.
    fn is_long(&self, node: NodeId, inputs: &[Option<KnownValue>]) -> bool {
        let Some(Action::Formula(schema)) = self.program.actions[node] else { return false };
        if inputs.iter().flatten().any(|known| matches!(known, KnownValue::Fact(_))) {
            return false;
        }
        let mut types: Vec<Given<'_>> = Vec::with_capacity(inputs.len());
        for known in inputs {
            types.push(match known {
                Some(KnownValue::Constant(Value::Tensor(tensor))) => Some((tensor.elem(), tensor.dims())),
                Some(KnownValue::Slot(slot)) => {
                    Some((self.partition.slots[*slot].elem, &self.partition.slots[*slot].dims))
                }
                Some(KnownValue::Constant(_) | KnownValue::Fact(_)) | None => None,
            });
        }
        self.program.kernel_of_long(node, schema, &types).is_some()
    }

    /// Replaces a node by the formulas of its function body; returns false if there is no body or a part of it has no formula.
    pub(super) fn expand(&mut self, node: NodeId, inputs: &[Option<KnownValue>]) -> bool {
        if self.depth >= MAX_DEPTH || self.is_long(node, inputs) {
            return false;
        }
        let facts: Vec<Option<Fact>> =
            inputs.iter().map(|known| known.as_ref().map(|known| self.fact_of(known))).collect();
        let before = self.partition.mark();
        let (outer, depth) = (self.outer.unwrap_or(node), self.depth + 1);
        let values = &self.program.body().nodes[node].inputs;
        let partition = &mut self.partition;
        let mut results = None;
        self.known.body(node, &facts, &mut |program, known| {
            let Some(inputs) = inputs_of_body(program, values, inputs) else { return };
            let define = Define {
                program,
                known,
                graph: program.root,
                partition: std::mem::take(partition),
                values: inputs,
                needed: HashSet::default(),
                may_assume: false,
                stored: HashMap::default(),
                outer: Some(outer),
                depth,
            };
            (*partition, results) = define.whole_body();
        });
        let Some(results) = results else {
            self.partition.back_to(before);
            return false;
        };
        for (value, known) in self.program.body().nodes[node].outputs.iter().flatten().zip(results) {
            if let (KnownValue::Slot(slot), None) = (&known, self.outer) {
                self.partition.named.push((*value, *slot));
            }
            self.values.insert(*value, known);
        }
        true
    }

    /// Defines all nodes of a body; returns the partition, and the results of the body if all nodes have formulas.
    fn whole_body(mut self) -> (Partition, Option<Vec<KnownValue>>) {
        let graph = &self.program.body().graphs[self.program.root];
        let is_done = graph.nodes.iter().all(|node| {
            let first = self.partition.items.len();
            let is_formula = |item: &PartitionItem| matches!(item, PartitionItem::Formula(_));
            matches!(self.node(*node), Flow::Continue) && self.partition.items[first..].iter().all(is_formula)
        });
        let results: Option<Vec<KnownValue>> =
            graph.outputs.iter().map(|port| self.values.get(&port.value?).cloned()).collect();
        (self.partition, results.filter(|_| is_done))
    }
}

/// The known inputs of a function body; `None` if a node of the body surely has no formula.
fn inputs_of_body(
    program: &Program<'_>,
    values: &[Option<ValueId>],
    inputs: &[Option<KnownValue>],
) -> Option<HashMap<ValueId, KnownValue>> {
    let graph = &program.body().graphs[program.root];
    let may_be_formula = |node: &NodeId| match program.actions[*node] {
        Some(Action::Constant(_) | Action::Formula(_)) => true,
        // Shapes, which inference computes.
        Some(Action::Kernel(schema, _)) => has_definition(program.registry.get(schema)),
        Some(Action::Control(_) | Action::Custom(_)) | None => false,
    };
    if !graph.nodes.iter().all(may_be_formula) {
        return None;
    }
    // A value that is an operand twice is one input.
    let mut seen: Vec<ValueId> = Vec::new();
    let mut ports = graph.inputs.iter();
    let mut known = HashMap::default();
    for (value, input) in values.iter().zip(inputs) {
        let Some(value) = value.filter(|value| !seen.contains(value)) else { continue };
        seen.push(value);
        let (port, input) = (ports.next()?, input.as_ref()?);
        known.extend(port.value.map(|value| (value, input.clone())));
    }
    Some(known)
}
