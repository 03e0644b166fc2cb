//! Caches signature checks: a node equal to the last valid one of its schema is not checked again.
//!
//! Models have a few kinds of nodes and many of each. For each schema, the cache holds the last valid node: the element types of its
//! inputs, its outputs, its attributes with their types, and the types of its outputs from the schema.
//! [`signature::check`](super::signature::check) depends on nothing else.

use super::walk::Engine;
use crate::facts::Ty;
use crate::facts::{Fact, FactSource, Outputs};
use onnx_ir::{Attr, AttrType, ElemType, Name, Node, ValueId};
use smallvec::SmallVec;

/// A node that matches its schema.
pub(super) struct Fitting {
    inputs: SmallVec<[Operand; 4]>,
    has_outputs: SmallVec<[bool; 4]>,
    attrs: SmallVec<[(Option<Name>, Option<AttrType>); 4]>,
    outputs: Outputs,
}

/// The relevant properties of an input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    LeftOut,
    Unknown,
    Tensor(Option<ElemType>),
}

impl Operand {
    /// Returns `None` for a type that is not a tensor: those are rare.
    fn of(engine: &Engine<'_>, value: Option<ValueId>) -> Option<Operand> {
        let fact = engine.operand(value);
        match &fact.ty {
            _ if value.is_none() || fact.source == FactSource::LeftOut => Some(Operand::LeftOut),
            Ty::Unknown => Some(Operand::Unknown),
            Ty::Tensor(tensor) => Some(Operand::Tensor(tensor.elem)),
            Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => None,
        }
    }
}

/// The type of an attribute: its `type` field from IR version 2 on, otherwise the field in use.
pub(super) fn stated_type(attr: &Attr) -> Option<AttrType> {
    attr.ty.or_else(|| attr.values.first().map(onnx_ir::AttrValue::ty))
}

impl Fitting {
    /// Creates the entry for a valid node.
    pub(super) fn new(engine: &Engine<'_>, node: &Node, outputs: &[Fact]) -> Option<Fitting> {
        Some(Fitting {
            inputs: node.inputs.iter().map(|&value| Operand::of(engine, value)).collect::<Option<_>>()?,
            has_outputs: node.outputs.iter().map(Option::is_some).collect(),
            attrs: node.attrs.iter().map(|attr| (attr.name, stated_type(attr))).collect(),
            outputs: outputs.into(),
        })
    }

    /// The types of the outputs from the schema, if the node equals this one.
    pub(super) fn outputs_of(&self, engine: &Engine<'_>, node: &Node) -> Option<Outputs> {
        let is_like = self.inputs.len() == node.inputs.len()
            && self.has_outputs.len() == node.outputs.len()
            && self.attrs.len() == node.attrs.len()
            && self.has_outputs.iter().zip(&node.outputs).all(|(has, output)| *has == output.is_some())
            && self.attrs.iter().zip(&node.attrs).all(|(a, b)| *a == (b.name, stated_type(b)))
            && self.inputs.iter().zip(&node.inputs).all(|(a, b)| Some(*a) == Operand::of(engine, *b));
        let mut outputs = SmallVec::new();
        if is_like {
            self.outputs.iter().for_each(|fact| outputs.push(fact.clone()));
        }
        is_like.then_some(outputs)
    }
}
