//! The interface between kernels and nodes.

use crate::keep::{self, Keep};
use crate::value::Value;
use onnx_ir::{Body, ElemType, GraphId, Model, Node, NodeId, SparseTensor, ValueDef};
use onnx_loops::PackedStore;
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::List;
use onnx_loops::random::Random;
use onnx_loops::tensor::{Tensor, count_of, width};
use onnx_ops::infer::ResolvedAttrs;
use onnx_ops::schema::Schema;
use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

/// A node with its inputs.
pub struct Call<'a> {
    /// The attributes, with the defaults of the schema.
    pub attrs: Attributes<'a>,
    /// `None` is an input that is left out; those that are left out at the end may be missing.
    pub inputs: Vec<Option<Value>>,
    /// The generator for nodes without a seed.
    pub random: Random,
    /// Data kept between runs, and the node that it belongs to.
    pub keep: (&'a Keep, NodeId),
}

impl Call<'_> {
    /// The name of the operator.
    pub fn op(&self) -> &str {
        &self.attrs.schema.name
    }

    /// The version of the operator set that introduced this form of the operator.
    pub fn since(&self) -> u32 {
        self.attrs.schema.since
    }

    /// Whether an output is used.
    pub fn wants(&self, output: usize) -> bool {
        self.attrs.node.outputs.get(output).is_some_and(Option::is_some)
    }

    /// The number of outputs of the node, including those left out.
    pub fn output_count(&self) -> usize {
        self.attrs.node.outputs.len()
    }

    /// A required input.
    pub fn value(&self, i: usize) -> Result<&Value, Failure> {
        match self.optional(i) {
            Some(value) => Ok(value),
            None => fail!("input {i} is left out"),
        }
    }

    /// An input; `None` if it is left out.
    pub fn optional(&self, i: usize) -> Option<&Value> {
        self.inputs.get(i)?.as_ref()
    }

    /// A required tensor input.
    pub fn tensor(&self, i: usize) -> Result<&Tensor, Failure> {
        self.value(i)?.tensor()
    }

    /// An optional tensor input.
    pub fn optional_tensor(&self, i: usize) -> Result<Option<&Tensor>, Failure> {
        self.optional(i).map(Value::tensor).transpose()
    }

    /// The integers of an optional input.
    pub fn optional_ints(&self, i: usize) -> Result<Option<List<i64>>, Failure> {
        self.optional_tensor(i)?.map(Tensor::ints).transpose()
    }

    /// Data computed from attributes and some inputs, cached as long as these inputs stay the same. Matrices among them may be in the
    /// store that is passed on.
    pub fn kept<T: Any + Send + Sync>(
        &self,
        inputs: &[usize],
        make: impl FnOnce(Option<&dyn PackedStore>) -> Result<T, Failure>,
    ) -> Result<Arc<T>, Failure> {
        let tensors = inputs.iter().map(|&i| self.optional_tensor(i).map(Option::<&Tensor>::cloned));
        let make = || make(self.store(inputs));
        keep::kept(self.keep.0, self.keep.1, tensors.collect::<Result<_, _>>()?, make)
    }

    /// The store for data that are computed from these inputs, if all of them are weights of the model: others change, and would fill it.
    pub(crate) fn store(&self, inputs: &[usize]) -> Option<&dyn PackedStore> {
        let Attributes { body, node, .. } = &self.attrs;
        let is_weight = |i: &usize| match node.inputs.get(*i) {
            Some(Some(value)) => matches!(body.values[*value].def, ValueDef::Initializer(_)),
            Some(None) | None => true,
        };
        self.keep.0.store.as_deref().filter(|_| inputs.iter().all(is_weight))
    }

    /// Fails unless a tensor of this type and shape can be allocated; for kernels that gather elements first.
    pub fn has_room(&self, elem: ElemType, dims: &[usize]) -> Result<usize, Failure> {
        let count = count_of(dims)?;
        budget::has_room(count.saturating_mul(width(elem).unwrap_or(size_of::<String>())))?;
        Ok(count)
    }
}

/// The type and shape of an input, if known.
pub type Given<'g> = Option<(ElemType, &'g [usize])>;

/// The attributes of a node, with the defaults of its schema.
pub struct Attributes<'a> {
    /// The model, which has the names.
    pub model: &'a Model,
    /// The body of the node, which has its tensors.
    pub body: &'a Body,
    /// The node.
    pub node: &'a Node,
    /// The signature of its operator, which has the defaults.
    pub schema: &'a Schema,
}

impl<'a> Attributes<'a> {
    /// The reader that kernels share with inference and definitions.
    pub(crate) fn reader(&self) -> ResolvedAttrs<'a> {
        ResolvedAttrs::of(&self.model.names, self.body, self.node, self.schema)
    }

    /// Whether the node itself has the attribute.
    pub fn has(&self, name: &str) -> bool {
        self.reader().has(name)
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.reader().int(name)
    }

    /// A float.
    pub fn float(&self, name: &str) -> Option<f32> {
        self.reader().float(name)
    }

    /// A string.
    pub fn string(&self, name: &str) -> Option<String> {
        self.reader().string(name).map(Cow::into_owned)
    }

    /// Integers.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        Some(self.reader().each_int(name)?.collect())
    }

    /// Floats.
    pub fn floats(&self, name: &str) -> Option<Vec<f32>> {
        Some(self.reader().each_float(name)?.collect())
    }

    /// Strings.
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        self.reader().strings(name)
    }

    /// A boolean attribute, stored as an integer.
    pub fn flag(&self, name: &str) -> bool {
        self.int(name).unwrap_or(0) != 0
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Result<Option<Tensor>, Failure> {
        self.reader().tensor(name).map(Tensor::stored).transpose()
    }

    /// A sparse tensor.
    pub fn sparse(&self, name: &str) -> Option<&'a SparseTensor> {
        self.reader().sparse(name)
    }

    /// A graph.
    pub fn graph(&self, name: &str) -> Option<GraphId> {
        self.reader().graph(name)
    }

    /// An element type, stored as its number.
    pub fn elem(&self, name: &str) -> Option<ElemType> {
        self.reader().elem(name)
    }

    /// An axis of a tensor of this rank; negative ones count from the end.
    pub fn axis(&self, name: &str, rank: usize) -> Result<usize, Failure> {
        match self.int(name) {
            Some(axis) => resolve_axis(axis, rank),
            None => fail!("attribute `{name}` is missing"),
        }
    }
}

/// Resolves an axis of a tensor of this rank; negative ones count from the end.
pub fn resolve_axis(axis: i64, rank: usize) -> Result<usize, Failure> {
    let from_start = if axis < 0 { axis.saturating_add_unsigned(rank as u64) } else { axis };
    match usize::try_from(from_start) {
        Ok(at) if at < rank => Ok(at),
        Ok(_) | Err(_) => fail!("axis {axis} is outside of rank {rank}"),
    }
}
