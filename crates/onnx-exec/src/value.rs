//! What a name stands for while a model runs.

use crate::failure::{Failure, fail};
use crate::list::List;
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use std::sync::Arc;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor; a sparse one is held as the dense one that it stands for.
    Tensor(Tensor),
    /// A sequence of values of one type.
    Sequence(Arc<List<Value>>),
    /// Keys with values.
    Map(Arc<Map>),
    /// A value or none.
    Optional(Option<Arc<Value>>),
}

/// Keys with values, in the order in which they were given.
#[derive(Debug, PartialEq)]
pub struct Map {
    /// Integers or strings, of rank 1.
    pub keys: Tensor,
    /// As many values.
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

    /// The tensor that this is.
    pub fn tensor(&self) -> Result<&Tensor, Failure> {
        match self {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => {
                fail!("a tensor is expected, this is {}", self.kind())
            }
        }
    }

    /// The elements of the sequence that this is.
    pub fn elements(&self) -> Result<&[Value], Failure> {
        match self {
            Value::Sequence(values) => Ok(values),
            Value::Tensor(_) | Value::Map(_) | Value::Optional(_) => {
                fail!("a sequence is expected, this is {}", self.kind())
            }
        }
    }

    /// The element type of the tensor that this is, or of the first one in it.
    pub fn elem(&self) -> Option<ElemType> {
        match self {
            Value::Tensor(tensor) => Some(tensor.elem()),
            Value::Sequence(values) => values.first()?.elem(),
            Value::Map(map) => map.values.first()?.elem(),
            Value::Optional(value) => value.as_deref()?.elem(),
        }
    }

    /// What it is, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Tensor(_) => "a tensor",
            Value::Sequence(_) => "a sequence",
            Value::Map(_) => "a map",
            Value::Optional(_) => "an optional",
        }
    }
}
