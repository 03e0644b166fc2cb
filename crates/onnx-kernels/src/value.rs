//! Values of a run.

use onnx_ir::ElemType;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;
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
    #[inline]
    fn from(tensor: Tensor) -> Self {
        Value::Tensor(tensor)
    }
}

impl Value {
    /// A sequence of these.
    pub fn sequence(values: Vec<Value>) -> Value {
        Value::list(values.into())
    }

    /// A sequence of a list that is charged to the run already.
    pub fn list(values: List<Value>) -> Value {
        Value::Sequence(Arc::new(values))
    }

    /// The tensor; fails for other values.
    #[inline]
    pub fn tensor(&self) -> Result<&Tensor, Failure> {
        match self {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => {
                fail!("a tensor is expected, this is {}", self.kind())
            }
        }
    }

    /// This value, with copies of all tensors whose memory is lent ([`Tensor::lent`]).
    ///
    /// # Errors
    ///
    /// There is not enough memory for the copies.
    pub fn into_kept(self) -> Result<Value, Failure> {
        Ok(match self {
            Value::Tensor(tensor) if tensor.is_lent() => Value::Tensor(tensor.to_kept()?),
            Value::Sequence(values) if values.iter().any(Value::has_lent) => {
                Value::list(values.iter().map(|value| value.clone().into_kept()).try_listed()?)
            }
            Value::Map(map) if map.keys.is_lent() || map.values.iter().any(Value::has_lent) => {
                let values = map.values.iter().map(|value| value.clone().into_kept()).try_listed()?;
                Value::Map(Arc::new(Map { keys: map.keys.to_kept()?, values }))
            }
            Value::Optional(Some(value)) if value.has_lent() => {
                Value::Optional(Some(Arc::new((*value).clone().into_kept()?)))
            }
            Value::Tensor(_) | Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => self,
        })
    }

    /// Whether the memory of any tensor in it is lent.
    fn has_lent(&self) -> bool {
        match self {
            Value::Tensor(tensor) => tensor.is_lent(),
            Value::Sequence(values) => values.iter().any(Value::has_lent),
            Value::Map(map) => map.keys.is_lent() || map.values.iter().any(Value::has_lent),
            Value::Optional(value) => value.as_deref().is_some_and(Value::has_lent),
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
