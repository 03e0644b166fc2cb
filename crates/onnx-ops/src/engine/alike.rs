//! Memoizes the results of rules for equal nodes.
//!
//! Networks repeat their blocks, so the same operator with the same attributes often has operands of the same types, and of
//! the same elements if its rule reads elements (weights of convolutions differ, but their rule does not read them). The result of a
//! rule depends on nothing else, with three exceptions: symbols that it creates, equalities between dimensions, and findings, which
//! have a place. So a node is memoized only if its rule created no symbol, learned no equality and reported nothing. Entries are
//! valid until an equality is learned or the facts of the graph are recomputed.

use super::walk::Engine;
use crate::dims::Dim;
use crate::facts::Elem;
use crate::facts::Ty;
use crate::facts::{Fact, FactSource, Outputs};
use crate::schema::SchemaId;
use foldhash::{HashMap, HashMapExt as _};
use onnx_ir::{AttrValue, EntityId, Node, NodeId, ValueId};

/// Length of lists of attributes or operands from which on nodes are not memoized.
const MAX_LIST: usize = 64;
/// Initial capacity, in nodes.
const MAX_CAPACITY: usize = 1024;

/// The memoized nodes.
#[derive(Default)]
pub(super) struct Alike {
    nodes: HashMap<u64, MemoizedNode>,
    /// The operands whose elements the rule of an operator reads.
    looked: HashMap<SchemaId, Operands>,
}

/// A set of the operands of a node, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Operands(u64);

/// A memoized node, with its operands and outputs at that time.
struct MemoizedNode {
    run: u32,
    node: NodeId,
    schema: SchemaId,
    generation: u64,
    looked: Operands,
    /// The result of the rule, if the model also declares something about the outputs; otherwise it equals their facts.
    outputs: Option<Box<Outputs>>,
}

/// The state that makes the result of a rule unique.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct RuleState {
    fresh: usize,
    reports: usize,
    generation: u64,
}

impl Alike {
    /// Creates a table for the nodes of a model.
    pub(super) fn for_nodes(nodes: usize) -> Alike {
        Alike { nodes: HashMap::with_capacity(nodes.min(MAX_CAPACITY)), looked: HashMap::default() }
    }
}

impl Operands {
    pub(super) const ALL: Operands = Operands(u64::MAX);

    pub(super) fn with(self, i: usize) -> Operands {
        // Later operands share the last bit.
        Operands(self.0 | 1 << i.min(63))
    }

    fn has(self, i: usize) -> bool {
        self.with(i) == self
    }

    fn or(self, other: Operands) -> Operands {
        Operands(self.0 | other.0)
    }
}

impl RuleState {
    pub(super) fn of(engine: &Engine<'_>) -> RuleState {
        RuleState { fresh: engine.fresh, reports: engine.reports, generation: engine.dims.generation() }
    }
}

/// A cheap hash. Keys of different nodes may be equal: an entry is compared, and replaced if it differs.
struct Key(u64);

impl Key {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn dim(&mut self, dim: Dim) {
        match dim {
            Dim::Unknown => self.add(1),
            Dim::Const(n) => self.add(n as u64),
            Dim::Expr(id) => self.add(!(id.index() as u64)),
        }
    }

    fn elem(&mut self, elem: Elem) {
        match elem {
            Elem::Unknown => self.add(2),
            Elem::Int(dim) => self.dim(dim),
            Elem::Float(x) => self.add(x.to_bits()),
            Elem::Quotient(dim, by) => {
                self.dim(dim);
                self.add(by as u64);
            }
        }
    }
}

/// Equal nodes have equal keys; `None` for nodes that are not memoized. Floats are compared by their bits.
pub(super) fn key(engine: &Engine<'_>, node: &Node, schema: SchemaId) -> Option<u64> {
    if engine.trace.is_some() {
        return None;
    }
    let mut key = Key(schema.index() as u64);
    key.add(engine.frame.run.into());
    let looked = engine.alike.looked.get(&schema).copied().unwrap_or_default();
    for (i, &input) in node.inputs.iter().enumerate() {
        let fact = engine.operand(input);
        match &fact.ty {
            Ty::Tensor(tensor) => {
                key.add(tensor.elem.map_or(0, |elem| u64::from(elem.0.cast_unsigned())));
                tensor.shape.iter().flatten().for_each(|dim| key.dim(*dim));
            }
            Ty::Unknown => key.add(3),
            Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => return None,
        }
        if let Some(value) = fact.value.as_ref().filter(|_| looked.has(i)) {
            if value.elems.len() > MAX_LIST {
                return None;
            }
            value.elems.iter().for_each(|elem| key.elem(*elem));
        }
    }
    for attr in &node.attrs {
        let (Some(name), [value], None) = (attr.name, &attr.values[..], attr.reference) else { return None };
        key.add(name.index() as u64);
        match value {
            AttrValue::Float(x) => key.add(x.to_bits().into()),
            AttrValue::Int(i) => key.add(*i as u64),
            AttrValue::String(s) if s.len() <= MAX_LIST => s.iter().for_each(|byte| key.add((*byte).into())),
            AttrValue::Ints(list) if list.len() <= MAX_LIST => list.iter().for_each(|i| key.add(*i as u64)),
            AttrValue::Floats(list) if list.len() <= MAX_LIST => {
                list.iter().for_each(|x| key.add(x.to_bits().into()));
            }
            AttrValue::String(_)
            | AttrValue::Ints(_)
            | AttrValue::Floats(_)
            | AttrValue::Strings(_)
            | AttrValue::Tensor(_)
            | AttrValue::Graph(_)
            | AttrValue::Tensors(_)
            | AttrValue::Graphs(_)
            | AttrValue::Type(_)
            | AttrValue::Types(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_) => return None,
        }
    }
    Some(key.0)
}

/// The memoized result for an equal node.
pub(super) fn outputs_of(engine: &Engine<'_>, key: u64, node: &Node, schema: SchemaId) -> Option<Outputs> {
    let known = engine.alike.nodes.get(&key).filter(|known| known.run == engine.frame.run)?;
    let other = &engine.body().nodes[known.node];
    let is_same = known.generation == engine.dims.generation()
        && known.schema == schema
        && node.inputs.len() == other.inputs.len()
        && node.outputs.len() == other.outputs.len()
        && node.outputs.iter().zip(&other.outputs).all(|(a, b)| a.is_some() == b.is_some())
        && node.attrs.len() == other.attrs.len()
        && node
            .attrs
            .iter()
            .zip(&other.attrs)
            .all(|(a, b)| a.name == b.name && a.ty == b.ty && a.values == b.values)
        && node.inputs.iter().zip(&other.inputs).enumerate().all(|(i, (&a, &b))| {
            a == b || a.is_some() == b.is_some() && is_alike(engine, a, b, known.looked.has(i))
        });
    is_same.then(|| match &known.outputs {
        Some(outputs) => (**outputs).clone(),
        None => other.outputs.iter().map(|&output| engine.operand(output).clone()).collect(),
    })
}

/// Whether two operands are equal for a rule that reads elements, or that does not.
fn is_alike(engine: &Engine<'_>, a: Option<ValueId>, b: Option<ValueId>, with_elements: bool) -> bool {
    let (a, b) = (engine.operand(a), engine.operand(b));
    let are_known = a.value.is_some() == b.value.is_some();
    let is_left_out = |fact: &Fact| fact.source == FactSource::LeftOut;
    a.ty == b.ty && is_left_out(a) == is_left_out(b) && are_known && (!with_elements || a.value == b.value)
}

/// Memoizes a node if its result depends only on the key and on the elements of the operands in `looked`.
pub(super) fn remember(
    engine: &mut Engine<'_>,
    key: u64,
    (id, schema): (NodeId, SchemaId),
    (before, looked): (RuleState, Operands),
    outputs: &[Fact],
) {
    let of_schema = engine.alike.looked.entry(schema).or_default();
    let all = of_schema.or(looked);
    let is_new = std::mem::replace(of_schema, all) != all;
    // The rule read operands that the key does not include.
    if is_new || RuleState::of(engine) != before {
        return;
    }
    let node = &engine.body().nodes[id];
    // An operand without facts may get a type later if nodes are not sorted.
    if node.inputs.iter().flatten().any(|&value| engine.frame.facts[value].source == FactSource::Nothing) {
        return;
    }
    let is_declared =
        |output: &Option<ValueId>| output.is_none_or(|value| engine.frame.declared[value].is_some());
    let is_kept = node.outputs.iter().any(is_declared);
    let known = MemoizedNode {
        run: engine.frame.run,
        node: id,
        schema,
        generation: before.generation,
        looked,
        outputs: is_kept.then(|| Box::new(outputs.into())),
    };
    engine.alike.nodes.insert(key, known);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_beyond_the_last_place_share_it() {
        let set = Operands::default().with(2).with(70);
        assert_eq!([0, 2, 62, 63, 99].map(|i| set.has(i)), [false, true, false, true, true]);
        assert!((0..200).all(|i| Operands::ALL.has(i)));
    }
}
