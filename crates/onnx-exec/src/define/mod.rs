//! Selects the nodes of a plan and converts them to formulas, as far as their types are known.
//!
//! Types come from inference, which asks for the current values (`Known`): a run knows them, and so does a table of a test.

mod definition;
mod expand;
mod known;
#[cfg(test)]
mod tests;

pub(crate) use definition::{MAX_RANK, definition_of_values};
pub(crate) use known::{DefineBody, Known};

use crate::budget::spend;
use crate::facts::{fact, type_of};
use crate::loops;
use crate::plan::{
    Assignment, Names, Need, NodeStep, Partition, PartitionItem, Slot, SlotSource, renumber, widen,
};
use crate::program::{Action, Program};
use crate::tensor::{Tensor, count};
use crate::value::Value;
use definition::{Input, definition, extents};
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::meaning::value_inputs;
use onnx_ops::schema::SchemaId;
use smallvec::smallvec;

/// Results with more elements are not computed before the run.
const MAX_FOLDED_ELEMENTS: usize = 1 << 16;
/// Steps charged for planning a node, and for each of its inputs.
const STEPS_OF_NODE: usize = 1 << 10;
/// The most nodes of a plan.
const MAX_NODES: usize = 1 << 14;

/// The planner's knowledge of a value.
#[derive(Clone)]
enum KnownValue {
    /// Its value.
    Constant(Value),
    /// It is a tensor slot, so its type is known.
    Slot(usize),
    /// An inferred fact.
    Fact(Fact),
}

/// The effect of a node on the plan.
enum Flow {
    Continue,
    /// The plan ends before the node: it needs values that the run must compute first.
    EndBefore,
    /// The plan ends after the node: the types of its results are unknown.
    EndAfter,
}

/// The nodes that have been converted so far.
struct Define<'p> {
    program: &'p Program<'p>,
    known: &'p mut dyn Known,
    graph: GraphId,
    partition: Partition,
    values: HashMap<ValueId, KnownValue>,
    needed: HashSet<ValueId>,
    /// Whether the plan may depend on elements of current values.
    may_assume: bool,
    /// The slots of stored values that formulas read.
    stored: HashMap<ValueId, usize>,
    /// The node whose function body is being defined, and the nesting depth of bodies.
    outer: Option<NodeId>,
    depth: usize,
}

/// Defines the nodes of a graph from `start` on, as far as their types are known. With `may_assume`, the formulas may depend on
/// elements of current values.
pub(crate) fn define(
    program: &Program<'_>,
    known: &mut dyn Known,
    graph: GraphId,
    start: usize,
    may_assume: bool,
) -> Result<Partition, Box<Diagnostic>> {
    let nodes = &program.body().graphs[graph].nodes;
    let mut define = Define {
        program,
        known,
        graph,
        partition: Partition { start, end: start, ..Partition::default() },
        values: HashMap::default(),
        needed: HashSet::default(),
        may_assume,
        stored: HashMap::default(),
        outer: None,
        depth: 0,
    };
    for &node in nodes[start..].iter().take(MAX_NODES) {
        if let Err(why) = spend(STEPS_OF_NODE * (1 + program.body().nodes[node].inputs.len())) {
            return Err(program.failed(node, why.code(), &format!("it cannot be planned: {why}")));
        }
        match define.node(node) {
            Flow::Continue => define.partition.end += 1,
            Flow::EndBefore if define.partition.end > start => break,
            Flow::EndBefore | Flow::EndAfter => {
                let is_it = |item: &PartitionItem| matches!(item, PartitionItem::Node(it) if it.node == node);
                if !define.partition.items.last().is_some_and(is_it) {
                    define.node_step(node);
                }
                define.partition.end += 1;
                break;
            }
        }
    }
    define.publish();
    let mut partition = define.partition;
    if !program.options.exact {
        widen(&mut partition);
    }
    Ok(partition)
}

impl Define<'_> {
    /// Converts a node to formulas, a constant, or a step of the plan.
    fn node(&mut self, node: NodeId) -> Flow {
        let program = self.program;
        let n = &program.body().nodes[node];
        let Some(action) = program.actions[node].as_ref() else { return Flow::EndAfter };
        let schema = match action {
            Action::Constant(value) => {
                if let Some(output) = n.outputs.iter().flatten().next() {
                    self.values.insert(*output, KnownValue::Constant(value.clone()));
                }
                return Flow::Continue;
            }
            Action::Control(_) => return Flow::EndAfter,
            Action::Kernel(schema, _) | Action::Formula(schema) => *schema,
        };
        let inputs: Vec<Option<KnownValue>> =
            n.inputs.iter().map(|v| v.and_then(|v| self.value(v))).collect();
        // Missing values are reported when the node runs.
        if n.inputs.iter().zip(&inputs).any(|(value, known)| value.is_some() && known.is_none()) {
            return Flow::EndAfter;
        }
        let is_constant = inputs.iter().flatten().all(|known| matches!(known, KnownValue::Constant(_)));
        let is_random = program.registry.get(schema).random;
        let Some(mut outputs) = self.facts(node, &inputs) else { return Flow::EndAfter };
        let mut inputs = inputs;
        if !outputs.iter().zip(&n.outputs).all(|(fact, value)| value.is_none() || is_complete(&fact.ty)) {
            if n.inputs.iter().flatten().any(|value| self.is_made_here(*value)) {
                return Flow::EndBefore;
            }
            if self.assume(node, &mut inputs, |_| true)
                && let Some(better) = self.facts(node, &inputs)
            {
                outputs = better;
            }
        }
        let may_fold = is_constant && !is_random && !is_dequantization(&inputs, &outputs);
        if may_fold && self.fold(node, &inputs, &outputs) || self.has_known_elements(node, &outputs) {
            return Flow::Continue;
        }
        if let Action::Formula(schema) = action {
            let wanted = value_inputs(program.registry.get(*schema));
            let is_unknown =
                |i: &usize| matches!(inputs.get(*i), Some(Some(KnownValue::Slot(_) | KnownValue::Fact(_))));
            if wanted.iter().any(is_unknown) {
                let made =
                    |i: &usize| n.inputs.get(*i).copied().flatten().is_some_and(|v| self.is_made_here(v));
                if wanted.iter().any(made) {
                    return Flow::EndBefore;
                }
                self.assume(node, &mut inputs, |i| wanted.contains(&i));
            }
            if self.formulas(node, *schema, &inputs, &outputs) || self.expand(node, &inputs) {
                return Flow::Continue;
            }
        }
        self.node_step(node);
        self.results(node, &outputs)
    }

    /// The planner's knowledge of a value that a node reads.
    fn value(&mut self, value: ValueId) -> Option<KnownValue> {
        if let Some(known) = self.values.get(&value) {
            return Some(known.clone());
        }
        let program = self.program;
        let known = match (self.known.value(value)?, program.is_constant(value)) {
            (there, true) => KnownValue::Constant(there.clone()),
            (Value::Tensor(tensor), false) if !tensor.is_strings() => {
                let (elem, dims) = (tensor.elem(), tensor.dims());
                if self.needed.insert(value) {
                    self.partition.needs.push((value, Need::Tensor(elem, dims.into())));
                }
                let dims = dims.to_vec();
                KnownValue::Slot(self.slot(elem, dims, SlotSource::Value(value)))
            }
            (other, false) => {
                let other = other.clone();
                if self.needed.insert(value) {
                    self.partition.needs.push((value, Need::Other(type_of(&other))));
                }
                KnownValue::Fact(Fact::of(type_of(&other)))
            }
        };
        self.values.insert(value, known.clone());
        Some(known)
    }

    fn slot(&mut self, elem: ElemType, dims: Vec<usize>, source: SlotSource) -> usize {
        self.partition.slots.push(Slot::new(elem, dims, source));
        self.partition.slots.len() - 1
    }

    /// Whether a node of the plan computes a value, so that its elements do not exist yet.
    fn is_made_here(&self, value: ValueId) -> bool {
        match self.values.get(&value) {
            Some(KnownValue::Slot(slot)) => {
                !matches!(self.partition.slots[*slot].source, SlotSource::Value(value) if self.needed.contains(&value))
            }
            Some(KnownValue::Fact(_)) => !self.needed.contains(&value),
            Some(KnownValue::Constant(_)) | None => false,
        }
    }

    /// Specializes the plan to the elements of small inputs. Returns whether there are any.
    fn assume(
        &mut self,
        node: NodeId,
        inputs: &mut [Option<KnownValue>],
        which: impl Fn(usize) -> bool,
    ) -> bool {
        if !self.may_assume {
            return false;
        }
        let program = self.program;
        let values = &program.body().nodes[node].inputs;
        let mut is_any = false;
        for (i, (input, value)) in inputs.iter_mut().zip(values).enumerate() {
            let (Some(known @ KnownValue::Slot(_)), Some(value)) = (input, value) else { continue };
            let Some(Value::Tensor(tensor)) = self.known.value(*value) else { continue };
            if !which(i) || !says_shapes(tensor) {
                continue;
            }
            self.partition.needs.push((*value, Need::Elements(tensor.clone())));
            *known = KnownValue::Constant(Value::Tensor(tensor.clone()));
            self.values.insert(*value, known.clone());
            is_any = true;
        }
        is_any
    }

    /// The inferred results of a node.
    fn facts(&self, node: NodeId, inputs: &[Option<KnownValue>]) -> Option<Vec<Fact>> {
        let facts: Vec<Option<Fact>> =
            inputs.iter().map(|known| known.as_ref().map(|known| self.fact_of(known))).collect();
        self.known.infer(node, &facts)
    }

    fn fact_of(&self, known: &KnownValue) -> Fact {
        match known {
            KnownValue::Constant(value) => fact(value),
            KnownValue::Slot(slot) => Fact::of(self.partition.ty(*slot)),
            KnownValue::Fact(fact) => fact.clone(),
        }
    }

    /// Computes a node with constant inputs if the result is small. The result of a node without a formula must not be larger
    /// than the inputs.
    fn fold(&mut self, node: NodeId, inputs: &[Option<KnownValue>], outputs: &[Fact]) -> bool {
        let given = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(Value::Tensor(tensor))) => tensor.len(),
            Some(KnownValue::Constant(_) | KnownValue::Slot(_) | KnownValue::Fact(_)) | None => 0,
        });
        let is_kernel = matches!(self.program.actions[node], Some(Action::Kernel(..)));
        let max_elements =
            if is_kernel { given.max().unwrap_or(0).max(MAX_FOLDED_ELEMENTS) } else { MAX_FOLDED_ELEMENTS };
        let is_small = |fact: &Fact| {
            extents(&fact.ty).is_some_and(|(_, dims)| count(&dims).is_some_and(|count| count <= max_elements))
        };
        let n = &self.program.body().nodes[node];
        if !outputs.iter().zip(&n.outputs).all(|(fact, value)| value.is_none() || is_small(fact)) {
            return false;
        }
        let inputs = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(value)) => Some(value.clone()),
            Some(KnownValue::Slot(_) | KnownValue::Fact(_)) | None => None,
        });
        let Some(results) = self.known.fold(node, inputs.collect()) else { return false };
        for (value, result) in n.outputs.iter().zip(results) {
            if let Some(value) = value {
                self.values.insert(*value, KnownValue::Constant(result));
            }
        }
        true
    }

    /// Uses inferred elements if they are known for all results, so that shapes become constants.
    fn has_known_elements(&mut self, node: NodeId, outputs: &[Fact]) -> bool {
        let n = &self.program.body().nodes[node];
        let known = |fact: &Fact| {
            let (elem, dims) = extents(&fact.ty)?;
            let ints = fact.value.as_ref()?.ints()?;
            let is_long = elem == ElemType::INT64 && count(&dims) == Some(ints.len());
            is_long.then(|| Tensor::of(&dims, &ints).ok()).flatten()
        };
        let mut found = Vec::new();
        for (value, fact) in n.outputs.iter().zip(outputs) {
            let Some(value) = value else { continue };
            let Some(tensor) = known(fact) else { return false };
            found.push((*value, KnownValue::Constant(Value::Tensor(tensor))));
        }
        self.values.extend(found);
        true
    }

    /// Converts a node to formulas; returns whether all of them can be lowered to loops.
    fn formulas(
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
            renumber(&mut formula, &|operand| numbers.get(operand).copied());
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
    fn node_step(&mut self, node: NodeId) {
        let (program, body) = (self.program, self.program.body());
        let reads = program.liveness.reads(body, node).collect();
        let results = body.nodes[node].outputs.iter().flatten().copied().collect();
        self.partition.items.push(PartitionItem::Node(Box::new(NodeStep { node, reads, results })));
    }

    /// Creates slots for the results of a node that runs outside kernels.
    fn results(&mut self, node: NodeId, outputs: &[Fact]) -> Flow {
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
    fn publish(&mut self) {
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

/// Whether a tensor is small enough to be a shape, axes, a count or scales. Larger tensors are data.
fn says_shapes(tensor: &Tensor) -> bool {
    let max_elements = match tensor.elem() {
        ElemType::INT64 | ElemType::INT32 => 64,
        ElemType::FLOAT => 8,
        _ => 0,
    };
    tensor.rank() <= 1 && tensor.len() <= max_elements
}

/// Whether a node dequantizes stored bytes elementwise: products read the bytes themselves.
fn is_dequantization(inputs: &[Option<KnownValue>], outputs: &[Fact]) -> bool {
    let (Some(Some(KnownValue::Constant(Value::Tensor(bytes)))), [output, ..]) = (inputs.first(), outputs)
    else {
        return false;
    };
    let is_byte = matches!(bytes.elem(), ElemType::UINT8 | ElemType::INT8) && bytes.len() > 1;
    is_byte && extents(&output.ty).is_some_and(|(elem, dims)| elem == ElemType::FLOAT && dims == bytes.dims())
}

fn is_complete(ty: &Ty) -> bool {
    extents(ty).is_some()
}

impl Names for Program<'_> {
    fn value(&self, value: ValueId) -> &str {
        self.value_name(value)
    }

    fn op(&self, node: NodeId) -> &str {
        Program::op(self, node)
    }
}
