//! What inference found out, beside the model.

use super::ty::Ty;
use super::value::Value;
use crate::dims::Dims;
use onnx_ir::{BodyId, SecondaryMap, ValueId};
use smallvec::SmallVec;
use std::sync::Arc;

/// What is known of a value.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fact {
    /// Its type.
    pub ty: Ty,
    /// Its elements, if they are few and something is known of them.
    pub value: Option<Arc<Value>>,
    /// How it is known.
    pub source: Source,
}

/// What is known of the outputs of a node, which mostly has one.
pub(super) type Outputs = SmallVec<[Fact; 1]>;

impl Fact {
    /// Whether there is a value, of which something is known.
    pub(super) fn is_there(&self) -> bool {
        !matches!(self.source, Source::Nothing | Source::LeftOut)
    }

    /// A fact about a type alone.
    pub fn of(ty: Ty) -> Fact {
        Fact { ty, value: None, source: Source::Inferred }
    }
}

/// How something is known of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Source {
    /// It is not.
    #[default]
    Nothing,
    /// It is an input of a function that the call leaves out.
    LeftOut,
    /// The model declares it.
    Declared,
    /// A stored tensor has it.
    Stored,
    /// The operator that computes it says so, or the call that passes it.
    Inferred,
}

/// What is known of the values of a model.
#[derive(Clone, Default)]
pub struct Facts {
    /// The dimensions that types and elements speak of.
    pub dims: Dims,
    /// The values of each body. Of a function, what holds for all calls.
    pub(super) bodies: SecondaryMap<BodyId, SecondaryMap<ValueId, Fact>>,
}

impl Facts {
    /// What is known of a value, with every dimension in the best known terms.
    pub fn resolved(&mut self, body: BodyId, value: ValueId) -> Fact {
        let Facts { dims, bodies } = self;
        let fact = &bodies[body][value];
        let ty = fact.ty.map_dims(&mut |d| dims.resolve(d));
        Fact { ty, value: fact.value.clone(), source: fact.source }
    }

    /// Lets what is known of a value hold for another one.
    pub(crate) fn copy(&mut self, body: BodyId, from: ValueId, to: ValueId) {
        let values = &mut self.bodies[body];
        values[to] = values[from].clone();
    }

    /// What is known of a value.
    pub fn get(&self, body: BodyId, value: ValueId) -> &Fact {
        &self.bodies[body][value]
    }
}
