//! Nodes that are alike: what a rule gave for one is what it gives for the others.
//!
//! Networks repeat their blocks, and so the same operator with the same attributes meets operands of the same types and
//! elements many times. What a rule says depends on nothing else, but for three things: symbols of its own, equalities
//! between extents, and findings, which have a place. So results are remembered only where a rule made no symbol, learned
//! no equality and told nothing, and they hold until something is learned.

use super::engine::Engine;
use super::facts::{Fact, Outputs};
use super::ty::Ty;
use super::value::{Elem, Value};
use crate::dims::Dim;
use crate::schema::SchemaId;
use foldhash::HashMap;
use onnx_ir::{AttrValue, BodyId, EntityId, Node, NodeId};
use smallvec::SmallVec;
use std::sync::Arc;

/// Elements of a list of an attribute or of an operand, beyond which nodes are not compared.
const MOST: usize = 64;

/// What is remembered of nodes.
#[derive(Default)]
pub(super) struct Alike {
    nodes: HashMap<u64, Box<Known>>,
}

struct Known {
    body: BodyId,
    node: NodeId,
    schema: SchemaId,
    operands: SmallVec<[(Ty, Option<Arc<Value>>); 2]>,
    outputs: Outputs,
    generation: u64,
}

/// What could make the result of a rule one of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    fresh: usize,
    reports: usize,
    generation: u64,
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
    key.add(engine.frame.body.index() as u64);
    for &input in &node.inputs {
        let fact = engine.operand(input);
        match &fact.ty {
            Ty::Tensor(tensor) => {
                key.add(tensor.elem.map_or(0, |elem| u64::from(elem.0.cast_unsigned())));
                tensor.shape.iter().flatten().for_each(|dim| key.dim(*dim));
            }
            Ty::Unknown => key.add(3),
            Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => return None,
        }
        if let Some(value) = &fact.value {
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
    let known = engine.alike.nodes.get(&key).filter(|known| known.body == engine.frame.body)?;
    let other = &engine.body().nodes[known.node];
    let is_same = known.generation == engine.dims.generation()
        && known.schema == schema
        && node.inputs.len() == known.operands.len()
        && node.outputs.len() == other.outputs.len()
        && node.outputs.iter().zip(&other.outputs).all(|(a, b)| a.is_some() == b.is_some())
        && node.attrs.len() == other.attrs.len()
        && node
            .attrs
            .iter()
            .zip(&other.attrs)
            .all(|(a, b)| a.name == b.name && a.ty == b.ty && a.values == b.values)
        && node.inputs.iter().zip(&other.inputs).all(|(a, b)| a.is_some() == b.is_some())
        && node.inputs.iter().zip(&known.operands).all(|(&input, (ty, value))| {
            let fact = engine.operand(input);
            fact.ty == *ty && fact.value == *value
        });
    is_same.then(|| known.outputs.clone())
}

/// Takes down what the rule gave for a node, if it gives that to every node like it.
pub(super) fn remember(
    engine: &mut Engine<'_>,
    key: u64,
    (id, schema): (NodeId, SchemaId),
    before: State,
    outputs: &[Fact],
) {
    if State::of(engine) != before {
        return;
    }
    let node = &engine.body().nodes[id];
    let operand = |&input| {
        let fact = engine.operand(input);
        (fact.ty.clone(), fact.value.clone())
    };
    let known = Known {
        body: engine.frame.body,
        node: id,
        schema,
        operands: node.inputs.iter().map(operand).collect(),
        outputs: outputs.into(),
        generation: before.generation,
    };
    engine.alike.nodes.insert(key, Box::new(known));
}
