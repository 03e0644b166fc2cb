//! The properties of a node that function bodies depend on: attributes, types, present inputs, number of outputs.

use crate::dims::Dim;
use crate::facts::{Facts, Given, NO_BINDINGS, ResolvedAttrs, Scope, Ty};
use crate::schema::Schema;
use onnx_ir::{AttrValue, BodyId, ElemType, Function, GraphId, Model, NodeId, ValueId};

/// A node that a body replaces.
pub(crate) struct CallSite<'a> {
    pub(crate) schema: &'a Schema,
    /// The imported version of ai.onnx.
    pub(crate) version: i64,
    attrs: ResolvedAttrs<'a>,
    /// The types of inputs; `None` for omitted ones.
    inputs: Vec<Option<Ty>>,
    /// The number of outputs of the node, including omitted ones.
    outputs: usize,
    /// The body with nested graphs, and its facts.
    home: Option<Home<'a>>,
}

/// The body around a node.
#[derive(Clone, Copy)]
pub(crate) struct Home<'a> {
    pub(crate) model: &'a Model,
    pub(crate) body: BodyId,
    facts: &'a Facts,
}

impl Home<'_> {
    /// The type of a value in a nested graph.
    pub(crate) fn ty(&self, value: ValueId) -> &Ty {
        &self.facts.get(self.body, value).ty
    }
}

impl<'a> CallSite<'a> {
    /// A node that is being inferred, with the types of its inputs. Nested graphs are not accessible.
    pub(crate) fn new(
        schema: &'a Schema,
        version: i64,
        attrs: ResolvedAttrs<'a>,
        inputs: Vec<Option<Ty>>,
        outputs: usize,
    ) -> Self {
        CallSite { schema, version, attrs, inputs, outputs, home: None }
    }

    /// A node of a model with facts.
    pub(crate) fn of_node(
        model: &'a Model,
        facts: &'a Facts,
        body: BodyId,
        function: Option<&'a Function>,
        node: NodeId,
        schema: &'a Schema,
        version: i64,
    ) -> Self {
        let n = &model.bodies[body].nodes[node];
        let scope = Scope {
            names: &model.names,
            body: &model.bodies[body],
            function,
            bindings: &NO_BINDINGS,
            is_called: false,
        };
        CallSite {
            schema,
            version,
            attrs: ResolvedAttrs::new(scope, n, schema),
            inputs: n.inputs.iter().map(|v| v.map(|v| facts.get(body, v).ty.clone())).collect(),
            outputs: n.outputs.len(),
            home: Some(Home { model, body, facts }),
        }
    }

    pub(crate) fn input_count(&self) -> usize {
        self.inputs.len()
    }

    pub(crate) fn output_count(&self) -> usize {
        self.outputs
    }

    pub(crate) fn has_input(&self, i: usize) -> bool {
        self.inputs.get(i).is_some_and(Option::is_some)
    }

    /// The type of an input, if it is present.
    pub(crate) fn ty(&self, i: usize) -> Option<&Ty> {
        self.inputs.get(i)?.as_ref()
    }

    /// The element type of an input tensor.
    pub(crate) fn elem(&self, i: usize) -> Option<ElemType> {
        self.ty(i)?.elem()
    }

    /// The rank of an input tensor.
    pub(crate) fn rank(&self, i: usize) -> Option<usize> {
        Some(self.ty(i)?.shape()?.len())
    }

    /// The size of an axis of an input tensor, if it is a number.
    pub(crate) fn extent(&self, i: usize, axis: usize) -> Option<i64> {
        match self.ty(i)?.shape()?.get(axis)? {
            Dim::Const(n) => Some(*n),
            Dim::Unknown | Dim::Expr(_) => None,
        }
    }

    pub(crate) fn has_attr(&self, name: &str) -> bool {
        self.attrs.given(name).is_some()
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attrs.int(name)
    }

    pub(crate) fn float(&self, name: &str) -> Option<f32> {
        self.attrs.float(name)
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        Some(self.attrs.string(name)?.into_owned())
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attrs.ints(name).map(<[i64]>::to_vec)
    }

    pub(crate) fn strings(&self, name: &str) -> Option<Vec<String>> {
        self.attrs.strings(name)
    }

    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f32>> {
        self.attrs.floats(name).map(<[f32]>::to_vec)
    }

    /// An attribute with the number of an element type.
    pub(crate) fn elem_attr(&self, name: &str) -> Option<ElemType> {
        self.attrs.elem(name)
    }

    /// A nested graph and its body; `None` also if it is not accessible.
    pub(crate) fn graph(&self, name: &str) -> Option<(Home<'a>, GraphId)> {
        match self.attrs.given(name)? {
            Given::Value(AttrValue::Graph(graph), _) => Some((self.home?, *graph)),
            Given::Value(..) | Given::Bound(_) | Given::Unknown => None,
        }
    }
}
