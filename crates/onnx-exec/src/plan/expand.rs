//! Expands nodes with function bodies in a plan.
//!
//! The formulas of the body replace the node in the same plan, so they are fused with the surrounding formulas and get their
//! layout.
//!
//! ```text
//! c = QLinearAdd (a, a_scale, a_zero, b, …)   ──▶   uint8(round((float(a) - a_zero) * a_scale + …) / c_scale) + c_zero)
//! ```
//! A body with anything but formulas (a kernel, control flow, results of unknown shape) is run as a node.

use super::define::{Define, Flow, KnownValue, PartitionItem};
use crate::compile::Action;
use crate::facts::fact;
use crate::kernels::Given;
use crate::value::Value;
use onnx_ir::{NodeId, ValueId};
use onnx_ops::infer::Fact;
use onnx_ops::meaning::has_definition;

/// The deepest nesting of bodies that are expanded.
const MOST_DEPTH: usize = 8;

impl Define<'_, '_, '_> {
    /// Whether a kernel is much faster than the body of a node.
    fn is_long(&self, node: NodeId, inputs: &[Option<KnownValue>]) -> bool {
        let executable = self.run.executable;
        let Some(Action::Formula(schema)) = executable.actions[node] else { return false };
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
        executable.kernel_of_long(node, schema, &types).is_some()
    }

    /// Replaces a node by the formulas of its function body; returns false if there is no body or a part of it has no formula.
    pub(super) fn expand(&mut self, node: NodeId, inputs: &[Option<KnownValue>]) -> bool {
        let executable = self.run.executable;
        let n = &executable.body().nodes[node];
        if self.depth >= MOST_DEPTH {
            return false;
        }
        let of = |known: &KnownValue| match known {
            KnownValue::Constant(value) => fact(value),
            KnownValue::Slot(slot) => Fact::of(self.partition.ty(*slot)),
            KnownValue::Fact(fact) => fact.clone(),
        };
        let facts: Vec<Option<Fact>> = inputs.iter().map(|known| known.as_ref().map(of)).collect();
        if self.is_long(node, inputs) {
            return false;
        }
        let Some(inner) = self.run.compile_function(node, &facts) else { return false };
        let (body, graph) = (inner.body(), &inner.body().graphs[inner.root]);
        let may_be_formula = |node: &NodeId| match inner.actions[*node] {
            Some(Action::Constant(_) | Action::Formula(_)) => true,
            // Shapes, which inference computes.
            Some(Action::Kernel(schema, _)) => has_definition(inner.registry.get(schema)),
            Some(Action::Control(_)) | None => false,
        };
        if !graph.nodes.iter().all(may_be_formula) {
            return false;
        }
        // A value that is an operand twice is one input.
        let mut seen: Vec<ValueId> = Vec::new();
        let mut ports = graph.inputs.iter();
        let mut known = Vec::new();
        for (value, input) in n.inputs.iter().zip(inputs) {
            let Some(value) = value.filter(|value| !seen.contains(value)) else { continue };
            seen.push(value);
            let (Some(port), Some(input)) = (ports.next(), input) else { return false };
            known.extend(port.value.map(|value| (value, input.clone())));
        }
        let before = self.partition.mark();
        let results = self.run.inside(&inner, |run| {
            let partition = std::mem::take(&mut self.partition);
            let outer = self.outer.unwrap_or(node);
            let mut define = Define::within(run, inner.root, partition, known, outer, self.depth + 1);
            let is_done = graph.nodes.iter().all(|node| {
                let items = define.partition.items.len();
                let is_on = matches!(define.node(*node), Flow::On);
                is_on
                    && define.partition.items[items..]
                        .iter()
                        .all(|item| matches!(item, PartitionItem::Formula(_)))
            });
            let ports = body.graphs[inner.root].outputs.iter();
            let results: Option<Vec<KnownValue>> =
                ports.map(|port| define.known.get(&port.value?).cloned()).collect();
            let results = results.filter(|_| is_done);
            self.partition = std::mem::take(&mut define.partition);
            results
        });
        let Some(results) = results else {
            self.partition.back_to(before);
            return false;
        };
        for (value, known) in n.outputs.iter().flatten().zip(results) {
            if let (KnownValue::Slot(slot), None) = (&known, self.outer) {
                self.partition.named.push((*value, *slot));
            }
            self.known.insert(*value, known);
        }
        true
    }
}
