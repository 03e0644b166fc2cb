//! Selects the nodes of a plan and converts them to formulas, as far as their types are known.
//!
//! Types come from inference, which asks for the current values (`Known`): a run knows them, and so does a table of a test.

mod custom;
mod definition;
mod expand;
mod formulas;
mod known;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use definition::{MAX_RANK, definition_of_values};
pub(crate) use known::{DefineBody, Known};

use crate::budget::spend;
use crate::plan::{Names, Partition, PartitionItem, widen};
use crate::program::{Action, Program};
use definition::extents;
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, GraphId, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::meaning::value_inputs;

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
    /// The node cannot be run.
    Refused(Box<Diagnostic>),
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
            Flow::Refused(found) => return Err(found),
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
            Action::Custom(kernel) => return self.custom(node, &**kernel),
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
