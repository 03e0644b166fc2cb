//! Nodes as formulas over slots, nodes that run outside kernels, and the values that others read.

use super::definition::{Input, definition, extents};
use super::{Define, Flow, KnownValue};
use crate::loops;
use crate::plan::{Assignment, NodeStep, PartitionItem, Slot, SlotSource};
use crate::program::Action;
use foldhash::HashSet;
use onnx_ir::{ElemType, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::Fact;
use onnx_ops::schema::SchemaId;
use smallvec::smallvec;

impl Define<'_> {
    /// Converts a node to formulas; returns whether all of them can be lowered to loops.
    pub(super) fn formulas(
        &mut self,
        node: NodeId,
        schema: SchemaId,
        inputs: &[Option<KnownValue>],
        outputs: &[Fact],
    ) -> bool {
        let program = self.program;
        let n = &program.body().nodes[node];
        // The definition of the node for the types of its inputs.
        let mut operands = Vec::with_capacity(inputs.len());
        for known in inputs {
            operands.push(match known {
                None => None,
                Some(KnownValue::Slot(slot)) => {
                    let Slot { elem, dims, .. } = &self.partition.slots[*slot];
                    Some((*elem, dims.clone(), None))
                }
                Some(KnownValue::Constant(Value::Tensor(tensor))) => {
                    Some((tensor.elem(), tensor.dims().to_vec(), Some(tensor.clone())))
                }
                Some(KnownValue::Constant(_) | KnownValue::Fact(_)) => return false,
            });
        }
        if operands.iter().flatten().any(|(elem, ..)| *elem == ElemType::STRING) {
            return false;
        }
        let typed: Vec<Option<Input<'_>>> = operands
            .iter()
            .map(|o| {
                o.as_ref().map(|(elem, dims, tensor)| Input { elem: *elem, dims, tensor: tensor.as_ref() })
            })
            .collect();
        let Some(definition) = definition(program, node, schema, &typed, outputs) else {
            return false;
        };
        // All formulas must have loops.
        let mut loads: Vec<Option<loops::Operand<'_>>> = typed
            .iter()
            .map(|i| i.map(|i| loops::Operand { elem: i.elem, dims: i.dims, is_constant: false }))
            .collect();
        loads.resize(definition.inputs, None);
        for formula in &definition.formulas {
            if self.partition.nests.judged(formula, &|i| loads.get(i).copied().flatten()).is_none() {
                return false;
            }
            loads.push(Some(loops::Operand { elem: formula.elem, dims: &formula.dims, is_constant: false }));
        }
        // The slots of the inputs; each stored value has one slot.
        let mut numbers: Vec<usize> = Vec::new();
        for ((known, operand), value) in inputs.iter().zip(&operands).zip(&n.inputs) {
            numbers.push(match (known, operand) {
                (Some(KnownValue::Slot(slot)), _) => *slot,
                (Some(KnownValue::Constant(Value::Tensor(tensor))), Some((elem, dims, _))) => {
                    let known = value.and_then(|value| self.stored.get(&value));
                    match (known, value) {
                        (Some(slot), _) => *slot,
                        (None, value) => {
                            let slot = self.slot(*elem, dims.clone(), SlotSource::Constant(tensor.clone()));
                            self.stored.extend(value.map(|value| (value, slot)));
                            if self.outer.is_none() {
                                self.partition.named.extend(value.map(|value| (value, slot)));
                            }
                            slot
                        }
                    }
                }
                // Outputs that are left out are never loaded.
                (_, _) => usize::MAX,
            });
        }
        numbers.resize(definition.inputs, usize::MAX);
        // The formulas and their slots.
        for mut formula in definition.formulas {
            formula.renumber(&|operand| numbers.get(operand).copied());
            let slot = self.slot(formula.elem, formula.dims.clone(), SlotSource::Formula);
            numbers.push(slot);
            let assignment = Assignment { slot, formula, nodes: smallvec![self.outer.unwrap_or(node)] };
            self.partition.items.push(PartitionItem::Formula(Box::new(assignment)));
        }
        for (value, of) in n.outputs.iter().zip(&definition.outputs) {
            if let (Some(value), Some(of)) = (value, of) {
                let slot = numbers[definition.inputs + of];
                if self.outer.is_none() {
                    self.partition.named.push((*value, slot));
                }
                self.values.insert(*value, KnownValue::Slot(slot));
            }
        }
        true
    }

    /// Adds a node that runs outside kernels.
    pub(super) fn node_step(&mut self, node: NodeId) {
        let (program, body) = (self.program, self.program.body());
        let reads = program.liveness.reads(body, node).collect();
        let results = body.nodes[node].outputs.iter().flatten().copied().collect();
        self.partition.items.push(PartitionItem::Node(Box::new(NodeStep { node, reads, results })));
    }

    /// Creates slots for the results of a node that runs outside kernels.
    pub(super) fn results(&mut self, node: NodeId, outputs: &[Fact]) -> Flow {
        let n = &self.program.body().nodes[node];
        for (value, fact) in n.outputs.iter().zip(outputs) {
            let Some(value) = *value else { continue };
            let known = match extents(&fact.ty) {
                Some((ElemType::STRING, _)) => KnownValue::Fact(Fact::of(fact.ty.clone())),
                Some((elem, dims)) => {
                    let slot = self.slot(elem, dims, SlotSource::Value(value));
                    self.partition.expected.insert(value, slot);
                    KnownValue::Slot(slot)
                }
                None => return Flow::EndAfter,
            };
            self.values.insert(value, known);
        }
        Flow::Continue
    }

    /// Finds the values that are read outside the formulas of the plan.
    pub(super) fn publish(&mut self) {
        let program = self.program;
        let body = program.body();
        let nodes = &body.graphs[self.graph].nodes[self.partition.start..self.partition.end];
        // Stored and assumed values exist already.
        let is_computed = |node: &&NodeId| !matches!(program.actions[**node], Some(Action::Constant(_)));
        let computed: HashSet<ValueId> = nodes
            .iter()
            .filter(is_computed)
            .flat_map(|node| body.nodes[*node].outputs.iter().flatten().copied())
            .collect();
        // A value that is not dead after any node of the plan is read by later nodes or is an output of the graph.
        let mut wanted = computed.clone();
        let dead = nodes.iter().flat_map(|node| &program.liveness.dead_after[*node]);
        self.partition.dead = dead.copied().collect();
        for value in &self.partition.dead {
            wanted.remove(value);
        }
        for item in &self.partition.items {
            if let PartitionItem::Node(step) = item {
                wanted.extend(&step.reads);
            }
        }
        let mut published = Vec::new();
        let mut values: Vec<(ValueId, KnownValue)> =
            self.values.drain().filter(|(v, _)| wanted.contains(v)).collect();
        values.sort_unstable_by_key(|(value, _)| *value);
        for (value, known) in values {
            match known {
                KnownValue::Constant(Value::Tensor(tensor)) if computed.contains(&value) => {
                    let slot = self.slot(tensor.elem(), tensor.dims().to_vec(), SlotSource::Constant(tensor));
                    published.push((value, slot));
                }
                KnownValue::Slot(slot) => match self.partition.slots[slot].source {
                    SlotSource::Value(same) if same == value => {}
                    SlotSource::Value(_)
                    | SlotSource::Constant(_)
                    | SlotSource::Formula
                    | SlotSource::Alias(_) => {
                        published.push((value, slot));
                    }
                },
                KnownValue::Constant(_) | KnownValue::Fact(_) => {}
            }
        }
        self.partition.published = published;
    }
}
