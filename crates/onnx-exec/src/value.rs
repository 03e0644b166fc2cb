//! Values of a run.

use crate::failure::{Failure, fail};
use crate::list::List;
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor; sparse ones are stored as dense.
    Tensor(Tensor),
    /// A sequence of values of one type.
    Sequence(Arc<List<Value>>),
    /// A map from keys to values.
    Map(Arc<Map>),
    /// An optional value.
    Optional(Option<Arc<Value>>),
}

/// Keys and their values, in the order of insertion.
#[derive(Debug, PartialEq)]
pub struct Map {
    /// Integers or strings, of rank 1.
    pub keys: Tensor,
    /// One value per key.
    pub values: List<Value>,
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Value::Tensor(tensor)
    }
}

impl Value {
    /// A sequence of these.
    pub fn sequence(values: Vec<Value>) -> Value {
        Value::list(values.into())
    }

    /// A sequence of these.
    pub(crate) fn list(values: List<Value>) -> Value {
        Value::Sequence(Arc::new(values))
    }

    /// The tensor; fails for other values.
    pub fn tensor(&self) -> Result<&Tensor, Failure> {
        match self {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => {
                fail!("a tensor is expected, this is {}", self.kind())
            }
        }
    }

    /// The elements of a sequence; fails for other values.
    pub fn elements(&self) -> Result<&[Value], Failure> {
        match self {
            Value::Sequence(values) => Ok(values),
            Value::Tensor(_) | Value::Map(_) | Value::Optional(_) => {
                fail!("a sequence is expected, this is {}", self.kind())
            }
        }
    }

    /// The element type of the tensor, or of the first tensor inside.
    pub fn elem(&self) -> Option<ElemType> {
        match self {
            Value::Tensor(tensor) => Some(tensor.elem()),
            Value::Sequence(values) => values.first()?.elem(),
            Value::Map(map) => map.values.first()?.elem(),
            Value::Optional(value) => value.as_deref()?.elem(),
        }
    }

    /// The kind of the value, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Sequence(_) => "a sequence",
            Value::Map(_) => "a map",
            Value::Optional(_) => "an optional",
        }
    }
}
