//! The results of inference, separate from the model.

use crate::dims::Dims;
use crate::facts::SmallTensor;
use crate::facts::Ty;
use onnx_ir::{BodyId, SecondaryMap, ValueId};
use smallvec::SmallVec;
use std::sync::Arc;

/// The facts about a value.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fact {
    /// Its type.
    pub ty: Ty,
    /// Its elements, if they are few and some are known.
    pub value: Option<Arc<SmallTensor>>,
    /// Where the fact comes from.
    pub source: FactSource,
}

/// The facts of the outputs of a node, which mostly has one.
pub(crate) type Outputs = SmallVec<[Fact; 1]>;

impl Fact {
    /// Whether the value exists and something is known about it.
    pub(crate) fn is_there(&self) -> bool {
        !matches!(self.source, FactSource::Nothing | FactSource::LeftOut)
    }

    /// A fact about a type alone.
    pub fn of(ty: Ty) -> Fact {
        Fact { ty, value: None, source: FactSource::Inferred }
    }
}

/// The source of a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FactSource {
    /// Unknown.
    #[default]
    Nothing,
    /// An input of a function that the call omits.
    LeftOut,
    /// Declared by the model.
    Declared,
    /// A stored tensor.
    Stored,
    /// Inferred from the operator that computes it, or from the call that passes it.
    Inferred,
}

/// The facts about the values of a model.
///
/// ```
/// use onnx_ops::infer::{InferOptions, infer};
/// use onnx_ops::schema::Registry;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
///     g (float[N,2] x) => (float[M] y) { t = Transpose(x) y = Flatten(t) }"#;
/// let model = onnx_text::read_model(text).value;
/// let facts = infer(&model, Registry::builtin(), &InferOptions::default()).facts;
/// let transpose = model.walk_main().next().unwrap();
/// let fact = facts.get(model.main.unwrap(), transpose.outputs[0].unwrap());
/// assert_eq!(fact.ty.text(&facts.dims), "float[2,N]");
/// ```
#[derive(Clone, Default)]
pub struct Facts {
    /// The dimensions that types and elements refer to.
    pub dims: Dims,
    /// The values of each body. For functions, what holds for all calls.
    pub(crate) bodies: SecondaryMap<BodyId, SecondaryMap<ValueId, Fact>>,
}

impl Facts {
    /// The fact of a value, with every dimension in its simplest known form.
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

    /// The facts of a value.
    pub fn get(&self, body: BodyId, value: ValueId) -> &Fact {
        &self.bodies[body][value]
    }
}
