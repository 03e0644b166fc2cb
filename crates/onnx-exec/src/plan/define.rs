//! Selects the nodes of a plan and converts them to formulas, as far as their types are known.

use super::{Assignment, Need, Slot, SlotSource, precision};
use crate::budget::spend;
use crate::compile::{Action, Executable};
use crate::facts::{fact, type_of};
use crate::formula::{self, Input, extents};
use crate::loops::{self, Nest};
use crate::run::Run;
use crate::tensor::{Tensor, count};
use crate::value::Value;
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::meaning::{Expr, Formula, value_inputs};
use onnx_ops::schema::SchemaId;
use smallvec::smallvec;

/// Results with more elements are not computed before the run.
const MOST_FOLDED: usize = 1 << 16;
/// Steps charged for planning a node, and for each of its inputs.
const STEPS_OF_NODE: usize = 1 << 10;
/// The most nodes of a plan.
const MOST_NODES: usize = 1 << 14;

/// The nodes of a plan as formulas, before fusion.
#[derive(Debug, Default)]
pub(crate) struct Partition {
    /// The index after the last node.
    pub(super) end: usize,
    pub(super) needs: Vec<(ValueId, Need)>,
    pub(super) slots: Vec<Slot>,
    pub(super) items: Vec<PartitionItem>,
    /// The formulas of slots that have become constants, in the order of their computation.
    pub(super) folded: Vec<(usize, Formula)>,
    /// The values that are read outside the plan, and their slots.
    pub(super) published: Vec<(ValueId, usize)>,
    /// The slots of values.
    pub(super) named: Vec<(ValueId, usize)>,
    /// Of these, the results of nodes that run outside kernels.
    pub(super) expected: HashMap<ValueId, usize>,
}

#[derive(Debug)]
pub(super) enum PartitionItem {
    Formula(Box<Assignment>),
    Node(NodeId),
}

/// The planner's knowledge of a value.
#[derive(Clone)]
pub(super) enum KnownValue {
    /// Its value.
    Constant(Value),
    /// It is a tensor slot, so its type is known.
    Slot(usize),
    /// An inferred fact.
    Fact(Fact),
}

/// The effect of a node on the plan.
pub(super) enum Flow {
    On,
    /// The plan ends before the node: it needs values that the run must compute first.
    Before,
    /// The plan ends after the node: the types of its results are unknown.
    Behind,
}

pub(super) struct Define<'p, 'x, 'r> {
    pub(super) run: &'p mut Run<'x, 'r>,
    graph: GraphId,
    start: usize,
    pub(super) partition: Partition,
    pub(super) known: HashMap<ValueId, KnownValue>,
    needed: HashSet<ValueId>,
    /// Whether the plan may depend on elements of current values.
    may_assume: bool,
    /// The slots of stored values that formulas read.
    stored: HashMap<ValueId, usize>,
    /// The node whose function body is being defined, and the nesting depth of bodies.
    pub(super) outer: Option<NodeId>,
    pub(super) depth: usize,
}

impl Partition {
    /// Defines the nodes of a graph from `start` on.
    pub(crate) fn of(
        run: &mut Run<'_, '_>,
        graph: GraphId,
        start: usize,
        may_assume: bool,
    ) -> Result<Partition, Box<Diagnostic>> {
        let executable = run.executable;
        let nodes = &executable.body().graphs[graph].nodes;
        let mut define = Define {
            run,
            graph,
            start,
            partition: Partition { end: start, ..Partition::default() },
            known: HashMap::default(),
            needed: HashSet::default(),
            may_assume,
            stored: HashMap::default(),
            outer: None,
            depth: 0,
        };
        for &node in nodes[start..].iter().take(MOST_NODES) {
            if let Err(why) = spend(STEPS_OF_NODE * (1 + executable.body().nodes[node].inputs.len())) {
                return Err(executable.failed(node, why.code(), &format!("it cannot be planned: {why}")));
            }
            match define.node(node) {
                Flow::On => define.partition.end += 1,
                Flow::Before if define.partition.end > start => break,
                Flow::Before | Flow::Behind => {
                    if define
                        .partition
                        .items
                        .last()
                        .is_none_or(|last| !matches!(last, PartitionItem::Node(n) if *n == node))
                    {
                        define.partition.items.push(PartitionItem::Node(node));
                    }
                    define.partition.end += 1;
                    break;
                }
            }
        }
        define.publish();
        let mut partition = define.partition;
        if !executable.options.exact {
            precision::widen(&mut partition);
        }
        Ok(partition)
    }

    /// An estimate of the memory that planning takes for formulas and slots, including later stages.
    pub(super) fn bytes(&self) -> usize {
        const STAGES: usize = 4;
        let of_item = |item: &PartitionItem| match item {
            PartitionItem::Formula(it) => {
                size_of::<Assignment>() + size_of::<Expr>() * super::rewrite::size(&it.formula)
            }
            PartitionItem::Node(_) => size_of::<PartitionItem>(),
        };
        let slots = self.slots.len() * size_of::<Slot>();
        STAGES * self.items.iter().map(of_item).fold(slots, usize::saturating_add)
    }

    /// The index of its last node.
    pub(crate) fn last(&self) -> usize {
        self.end.saturating_sub(1)
    }
}

/// A position to return to.
pub(super) struct Mark {
    slots: usize,
    items: usize,
    named: usize,
}

impl Partition {
    pub(super) fn mark(&self) -> Mark {
        Mark { slots: self.slots.len(), items: self.items.len(), named: self.named.len() }
    }

    /// Removes everything after a mark.
    pub(super) fn back_to(&mut self, mark: Mark) {
        self.slots.truncate(mark.slots);
        self.items.truncate(mark.items);
        self.named.truncate(mark.named);
    }

    /// The type of a slot.
    pub(super) fn ty(&self, slot: usize) -> Ty {
        ty(&self.slots[slot])
    }
}

impl<'p, 'x, 'r> Define<'p, 'x, 'r> {
    /// Defines the body of a function in place of a node, for inputs with these facts.
    pub(super) fn within(
        run: &'p mut Run<'x, 'r>,
        graph: GraphId,
        partition: Partition,
        known: Vec<(ValueId, KnownValue)>,
        outer: NodeId,
        depth: usize,
    ) -> Self {
        Define {
            run,
            graph,
            start: 0,
            partition,
            known: known.into_iter().collect(),
            needed: HashSet::default(),
            may_assume: false,
            stored: HashMap::default(),
            outer: Some(outer),
            depth,
        }
    }
}

impl<'x> Define<'_, 'x, '_> {
    pub(super) fn node(&mut self, node: NodeId) -> Flow {
        let executable = self.run.executable;
        let n = &executable.body().nodes[node];
        let Some(action) = executable.actions[node].as_ref() else { return Flow::Behind };
        let schema = match action {
            Action::Constant(value) => {
                if let Some(output) = n.outputs.iter().flatten().next() {
                    self.known.insert(*output, KnownValue::Constant(value.clone()));
                }
                return Flow::On;
            }
            Action::Control(_) => return Flow::Behind,
            Action::Kernel(schema, _) | Action::Formula(schema) => *schema,
        };
        let inputs: Vec<Option<KnownValue>> =
            n.inputs.iter().map(|v| v.and_then(|v| self.value(v))).collect();
        // Missing values are reported when the node runs.
        if n.inputs.iter().zip(&inputs).any(|(value, known)| value.is_some() && known.is_none()) {
            return Flow::Behind;
        }
        let is_constant = inputs.iter().flatten().all(|known| matches!(known, KnownValue::Constant(_)));
        let is_random = executable.registry.get(schema).random;
        let Some(mut outputs) = self.facts(node, &inputs) else { return Flow::Behind };
        let mut inputs = inputs;
        if !outputs.iter().zip(&n.outputs).all(|(fact, value)| value.is_none() || is_complete(&fact.ty)) {
            if n.inputs.iter().flatten().any(|value| self.is_made_here(*value)) {
                return Flow::Before;
            }
            if self.assume(node, &mut inputs, |_| true)
                && let Some(better) = self.facts(node, &inputs)
            {
                outputs = better;
            }
        }
        let may_fold = is_constant && !is_random && !is_dequantization(&inputs, &outputs);
        if may_fold && self.fold(node, &inputs, &outputs) || self.known(node, &outputs) {
            return Flow::On;
        }
        if let Action::Formula(schema) = action {
            let wanted = value_inputs(executable.registry.get(*schema));
            let is_unknown =
                |i: &usize| matches!(inputs.get(*i), Some(Some(KnownValue::Slot(_) | KnownValue::Fact(_))));
            if wanted.iter().any(is_unknown) {
                let made =
                    |i: &usize| n.inputs.get(*i).copied().flatten().is_some_and(|v| self.is_made_here(v));
                if wanted.iter().any(made) {
                    return Flow::Before;
                }
                self.assume(node, &mut inputs, |i| wanted.contains(&i));
            }
            if self.formulas(node, *schema, &inputs, &outputs) || self.expand(node, &inputs) {
                return Flow::On;
            }
        }
        self.partition.items.push(PartitionItem::Node(node));
        self.results(node, &outputs)
    }

    /// The planner's knowledge of a value that a node reads.
    fn value(&mut self, value: ValueId) -> Option<KnownValue> {
        if let Some(known) = self.known.get(&value) {
            return Some(known.clone());
        }
        let executable = self.run.executable;
        let known = match (self.run.get(value)?, executable.is_constant(value)) {
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
        self.known.insert(value, known.clone());
        Some(known)
    }

    fn slot(&mut self, elem: ElemType, dims: Vec<usize>, source: SlotSource) -> usize {
        self.partition.slots.push(Slot::new(elem, dims, source));
        self.partition.slots.len() - 1
    }

    /// Whether a node of the plan computes a value, so that its elements do not exist yet.
    fn is_made_here(&self, value: ValueId) -> bool {
        match self.known.get(&value) {
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
        let executable = self.run.executable;
        let values = &executable.body().nodes[node].inputs;
        let mut is_any = false;
        for (i, (input, value)) in inputs.iter_mut().zip(values).enumerate() {
            let (Some(known @ KnownValue::Slot(_)), Some(value)) = (input, value) else { continue };
            let Some(Value::Tensor(tensor)) = self.run.get(*value) else { continue };
            if !which(i) || !says_shapes(tensor) {
                continue;
            }
            self.partition.needs.push((*value, Need::Elements(tensor.clone())));
            *known = KnownValue::Constant(Value::Tensor(tensor.clone()));
            self.known.insert(*value, known.clone());
            is_any = true;
        }
        is_any
    }

    fn facts(&self, node: NodeId, inputs: &[Option<KnownValue>]) -> Option<Vec<Fact>> {
        let of = |known: &KnownValue| match known {
            KnownValue::Constant(value) => fact(value),
            KnownValue::Slot(slot) => Fact::of(ty(&self.partition.slots[*slot])),
            KnownValue::Fact(fact) => fact.clone(),
        };
        let facts: Vec<Option<Fact>> = inputs.iter().map(|known| known.as_ref().map(of)).collect();
        self.run.infer(node, &facts).ok()
    }

    /// Computes a node with constant inputs if the result is small. The result of a node without a formula must not be larger
    /// than the inputs.
    fn fold(&mut self, node: NodeId, inputs: &[Option<KnownValue>], outputs: &[Fact]) -> bool {
        let given = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(Value::Tensor(tensor))) => tensor.len(),
            Some(KnownValue::Constant(_) | KnownValue::Slot(_) | KnownValue::Fact(_)) | None => 0,
        });
        let is_kernel = matches!(self.run.executable.actions[node], Some(Action::Kernel(..)));
        let most = if is_kernel { given.max().unwrap_or(0).max(MOST_FOLDED) } else { MOST_FOLDED };
        let is_small = |fact: &Fact| {
            extents(&fact.ty).is_some_and(|(_, dims)| count(&dims).is_some_and(|count| count <= most))
        };
        let n = &self.run.executable.body().nodes[node];
        if !outputs.iter().zip(&n.outputs).all(|(fact, value)| value.is_none() || is_small(fact)) {
            return false;
        }
        let inputs = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(value)) => Some(value.clone()),
            Some(KnownValue::Slot(_) | KnownValue::Fact(_)) | None => None,
        });
        let Ok(results) = self.run.apply(node, inputs.collect()) else { return false };
        for (value, result) in n.outputs.iter().zip(results) {
            if let Some(value) = value {
                self.known.insert(*value, KnownValue::Constant(result));
            }
        }
        true
    }

    /// Uses inferred elements if they are known for all results, so that shapes become constants.
    fn known(&mut self, node: NodeId, outputs: &[Fact]) -> bool {
        let n = &self.run.executable.body().nodes[node];
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
        self.known.extend(found);
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
        let executable = self.run.executable;
        let n = &executable.body().nodes[node];
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
        let Some(definition) = formula::definition(executable, node, schema, &typed, outputs) else {
            return false;
        };
        let mut loads: Vec<Option<loops::Operand<'_>>> = typed
            .iter()
            .map(|i| i.map(|i| loops::Operand { elem: i.elem, dims: i.dims, is_constant: false }))
            .collect();
        loads.resize(definition.inputs, None);
        for formula in &definition.formulas {
            if Nest::without_pipelines(formula, &|i| loads.get(i).copied().flatten()).is_none() {
                return false;
            }
            loads.push(Some(loops::Operand { elem: formula.elem, dims: &formula.dims, is_constant: false }));
        }
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
        for mut formula in definition.formulas {
            super::rewrite::renumber(&mut formula, &|operand| numbers.get(operand).copied());
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
                self.known.insert(*value, KnownValue::Slot(slot));
            }
        }
        true
    }

    /// Creates slots for the results of a node that runs outside kernels.
    fn results(&mut self, node: NodeId, outputs: &[Fact]) -> Flow {
        let n = &self.run.executable.body().nodes[node];
        for (value, fact) in n.outputs.iter().zip(outputs) {
            let Some(value) = *value else { continue };
            let known = match extents(&fact.ty) {
                Some((ElemType::STRING, _)) => KnownValue::Fact(Fact::of(fact.ty.clone())),
                Some((elem, dims)) => {
                    let slot = self.slot(elem, dims, SlotSource::Value(value));
                    self.partition.expected.insert(value, slot);
                    KnownValue::Slot(slot)
                }
                None => return Flow::Behind,
            };
            self.known.insert(value, known);
        }
        Flow::On
    }

    /// Finds the values that are read outside the formulas of the plan.
    fn publish(&mut self) {
        let executable: &'x Executable<'_> = self.run.executable;
        let body = executable.body();
        let nodes = &body.graphs[self.graph].nodes[self.start..self.partition.end];
        // Stored and assumed values exist already.
        let is_computed = |node: &&NodeId| !matches!(executable.actions[**node], Some(Action::Constant(_)));
        let computed: HashSet<ValueId> = nodes
            .iter()
            .filter(is_computed)
            .flat_map(|node| body.nodes[*node].outputs.iter().flatten().copied())
            .collect();
        // A value that is not dead after any node of the plan is read by later nodes or is an output of the graph.
        let mut wanted = computed.clone();
        for value in nodes.iter().flat_map(|node| &executable.liveness.dead_after[*node]) {
            wanted.remove(value);
        }
        for item in &self.partition.items {
            if let PartitionItem::Node(node) = item {
                wanted.extend(executable.liveness.reads(body, *node));
            }
        }
        let mut published = Vec::new();
        let mut values: Vec<(ValueId, KnownValue)> =
            self.known.drain().filter(|(v, _)| wanted.contains(v)).collect();
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

fn ty(slot: &Slot) -> Ty {
    Ty::tensor(slot.elem, slot.dims.iter().map(|&d| i64::try_from(d).map_or(Dim::Unknown, Dim::Const)))
}

/// Whether a tensor is small enough to be a shape, axes, a count or scales. Larger tensors are data.
fn says_shapes(tensor: &Tensor) -> bool {
    let most = match tensor.elem() {
        ElemType::INT64 | ElemType::INT32 => 64,
        ElemType::FLOAT => 8,
        _ => 0,
    };
    tensor.rank() <= 1 && tensor.len() <= most
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
