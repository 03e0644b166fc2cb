//! Nodes that are alike: what a rule gave for one is what it gives for the others.
//!
//! Networks repeat their blocks, and so the same operator with the same attributes meets operands of the same types many
//! times, and of the same elements where its rule looks at elements: the weights of a convolution are other ones each
//! time, and nobody asks. What a rule says depends on nothing else, but for three things: symbols of its own, equalities
//! between extents, and findings, which have a place. So a node is remembered only where its rule made no symbol, learned
//! no equality and told nothing, and it is of use until something is learned, or until facts of its graph are made anew.

use super::engine::Engine;
use super::facts::{Fact, Outputs, Source};
use super::ty::Ty;
use super::value::Elem;
use crate::dims::Dim;
use crate::schema::SchemaId;
use foldhash::{HashMap, HashMapExt as _};
use onnx_ir::{AttrValue, EntityId, Node, NodeId, ValueId};

/// Elements of a list of an attribute or of an operand, beyond which nodes are not compared.
const MOST: usize = 64;
/// Nodes for which there is room from the beginning.
const MOST_ROOM: usize = 1024;

/// What is remembered of nodes.
#[derive(Default)]
pub(super) struct Alike {
    nodes: HashMap<u64, Known>,
    /// The operands at whose elements the rule of an operator has looked.
    looked: HashMap<SchemaId, Operands>,
}

/// A set of the operands of a node, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Operands(u64);

/// A node whose operands and outputs are as they were when it was judged.
struct Known {
    run: u32,
    node: NodeId,
    schema: SchemaId,
    generation: u64,
    looked: Operands,
    /// What the rule gave, where the model declares something of that as well; otherwise it is what is known.
    outputs: Option<Box<Outputs>>,
}

/// What could make the result of a rule one of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    fresh: usize,
    reports: usize,
    generation: u64,
}

impl Alike {
    /// Room for the nodes of a model, most of which are like none before.
    pub(super) fn for_nodes(nodes: usize) -> Alike {
        Alike { nodes: HashMap::with_capacity(nodes.min(MOST_ROOM)), looked: HashMap::default() }
    }
}

impl Operands {
    pub(super) const ALL: Operands = Operands(u64::MAX);

    pub(super) fn with(self, i: usize) -> Operands {
        // Those that have no place of their own share the last one.
        Operands(self.0 | 1 << i.min(63))
    }

    fn has(self, i: usize) -> bool {
        self.with(i) == self
    }

    fn or(self, other: Operands) -> Operands {
        Operands(self.0 | other.0)
    }
}

impl State {
    pub(super) fn of(engine: &Engine<'_>) -> State {
        State { fresh: engine.fresh, reports: engine.reports, generation: engine.dims.generation() }
    }
}

/// A hash that costs little. Equal keys are no proof, and another node with the key only takes the place of the first.
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

/// Equal nodes have equal keys; `None` of a node that is not compared. Numbers count by their bits.
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
            if value.elems.len() > MOST {
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
            AttrValue::String(s) if s.len() <= MOST => s.iter().for_each(|byte| key.add((*byte).into())),
            AttrValue::Ints(list) if list.len() <= MOST => list.iter().for_each(|i| key.add(*i as u64)),
            AttrValue::Floats(list) if list.len() <= MOST => {
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

/// What the rule gave for a node like this one.
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

/// Whether two operands are one to a rule that looks at elements, or that does not.
fn is_alike(engine: &Engine<'_>, a: Option<ValueId>, b: Option<ValueId>, with_elements: bool) -> bool {
    let (a, b) = (engine.operand(a), engine.operand(b));
    let are_known = a.value.is_some() == b.value.is_some();
    let is_left_out = |fact: &Fact| fact.source == Source::LeftOut;
    a.ty == b.ty && is_left_out(a) == is_left_out(b) && are_known && (!with_elements || a.value == b.value)
}

/// Takes down that a node was judged, if every node like it is judged the same; the elements of the operands in `looked`
/// counted.
pub(super) fn remember(
    engine: &mut Engine<'_>,
    key: u64,
    (id, schema): (NodeId, SchemaId),
    (before, looked): (State, Operands),
    outputs: &[Fact],
) {
    let of_schema = engine.alike.looked.entry(schema).or_default();
    let all = of_schema.or(looked);
    let is_new = std::mem::replace(of_schema, all) != all;
    // The key does not have what it should have.
    if is_new || State::of(engine) != before {
        return;
    }
    let node = &engine.body().nodes[id];
    // More can be known of such an operand later, where nodes are not in order.
    if node.inputs.iter().flatten().any(|&value| engine.frame.facts[value].source == Source::Nothing) {
        return;
    }
    let is_declared =
        |output: &Option<ValueId>| output.is_none_or(|value| engine.frame.declared[value].is_some());
    let is_kept = node.outputs.iter().any(is_declared);
    let known = Known {
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
