//! A graph in the making: nodes over names, which may be those of the main graph.

use onnx_ir::{
    Attr, AttrValue, BodyBuilder, BodyId, DimValue, ElemType, Model, Name, NodeSpec, SparseTensor, Tensor,
    TypeId,
};

/// The domain of `Gradient` and of optimizers.
pub(super) const TRAINING: &str = "ai.onnx.preview.training";

/// A graph in the making.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) inputs: Vec<(Name, TypeId)>,
    pub(super) outputs: Vec<(Name, TypeId)>,
    /// Initializers with their names.
    pub(super) initializers: Vec<Tensor>,
    /// Initializers that are zeros.
    zeros: Vec<(Name, ElemType, Vec<i64>)>,
    nodes: Vec<NodeDraft>,
}

/// A node.
pub(super) struct NodeDraft {
    op: (&'static str, &'static str),
    inputs: Vec<Name>,
    outputs: Vec<Name>,
    attrs: Vec<(&'static str, Given)>,
}

/// The value of an attribute.
enum Given {
    Value(AttrValue),
    Tensor(Tensor),
}

impl NodeDraft {
    pub(super) fn attr(&mut self, name: &'static str, value: impl Into<AttrValue>) -> &mut NodeDraft {
        self.attrs.push((name, Given::Value(value.into())));
        self
    }

    pub(super) fn tensor(&mut self, name: &'static str, tensor: Tensor) -> &mut NodeDraft {
        self.attrs.push((name, Given::Tensor(tensor)));
        self
    }
}

/// A number of a type of floats.
pub(super) fn scalar(elem: ElemType, number: f32) -> Tensor {
    if elem == ElemType::DOUBLE { Tensor::scalar(f64::from(number)) } else { Tensor::scalar(number) }
}

/// A tensor type.
pub(super) fn tensor_type(model: &mut Model, elem: ElemType, dims: &[i64]) -> TypeId {
    model.types.tensor(elem, dims.iter().map(|&d| DimValue::Value(d)))
}

impl Draft {
    /// Adds a node of a domain and an operator.
    pub(super) fn node(
        &mut self,
        op: (&'static str, &'static str),
        inputs: &[Name],
        outputs: &[Name],
    ) -> &mut NodeDraft {
        let line = NodeDraft { op, inputs: inputs.to_vec(), outputs: outputs.to_vec(), attrs: Vec::new() };
        self.nodes.push(line);
        let last = self.nodes.len() - 1;
        &mut self.nodes[last]
    }

    /// Adds a node of ai.onnx with one result, which gets a new name.
    pub(super) fn compute(
        &mut self,
        model: &mut Model,
        op: &'static str,
        stem: &str,
        inputs: &[Name],
    ) -> Name {
        self.compute_with(model, op, stem, inputs, |_| {})
    }

    /// Adds a node with attributes.
    pub(super) fn compute_with(
        &mut self,
        model: &mut Model,
        op: &'static str,
        stem: &str,
        inputs: &[Name],
        attrs: impl FnOnce(&mut NodeDraft),
    ) -> Name {
        let name = model.names.fresh(stem);
        attrs(self.node(("", op), inputs, &[name]));
        name
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, model: &mut Model, stem: &str, tensor: Tensor) -> Name {
        self.compute_with(model, "Constant", stem, &[], |line| {
            line.tensor("value", tensor);
        })
    }

    /// Adds an initializer of zeros, which takes no room in a file.
    pub(super) fn zeros(&mut self, name: Name, elem: ElemType, dims: &[i64]) {
        self.zeros.push((name, elem, dims.to_vec()));
    }

    /// Makes a body of it.
    pub(super) fn finish(self, model: &mut Model, name: &str) -> BodyId {
        let name = model.names.fresh(name);
        let mut b = BodyBuilder::new(model);
        b.begin_graph(Some(name), None);
        for (name, ty) in &self.inputs {
            b.input(*name, Some(*ty));
        }
        for tensor in self.initializers {
            b.initializer(tensor);
        }
        for (name, elem, dims) in self.zeros {
            let values = Tensor {
                name: Some(name),
                elem: Some(elem),
                dims: [0].into_iter().collect(),
                ..Tensor::default()
            };
            let values = Some(b.tensor(values));
            let indices = Some(b.tensor(Tensor::list(Vec::<i64>::new())));
            b.sparse_initializer(SparseTensor { values, indices, dims: dims.into_iter().collect() });
        }
        for line in self.nodes {
            let (domain, op) = (b.name(line.op.0), b.name(line.op.1));
            let domain = Some(domain).filter(|domain| !domain.is_empty());
            let spec = NodeSpec { op: Some(op), domain, ..NodeSpec::default() };
            let node = b.begin_node(spec, line.inputs);
            for (name, given) in line.attrs {
                let name = b.name(name);
                let value = match given {
                    Given::Value(value) => value,
                    Given::Tensor(tensor) => AttrValue::Tensor(b.tensor(tensor)),
                };
                b.attr(node, Attr::new(name, value));
            }
            b.end_node(node, line.outputs);
        }
        for (name, ty) in self.outputs {
            b.output(name, Some(ty));
        }
        b.end_graph();
        b.finish()
    }
}
