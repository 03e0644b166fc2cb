//! A node of a model with resolved ids.
//!
//! ```
//! # use onnx_ir::{GraphBuilder, Model};
//! # let mut model = Model::new();
//! # let mut b = GraphBuilder::main(&mut model, "g");
//! # let x = b.input("x", None);
//! # let y = b.node("Softmax").input(x).attr("axis", 1i64).value();
//! # b.output("y", y, None);
//! # b.finish();
//! for node in model.walk_main() {
//!     if node.is_op("Softmax") {
//!         assert_eq!(node.int("axis")?, Some(1));
//!         assert_eq!(node.float("axis").unwrap_err().message, "attribute `axis` must have type float, but has int");
//!     }
//! }
//! # Ok::<(), Box<onnx_ir::diag::Diagnostic>>(())
//! ```

use crate::attr::{AttrError, Attrs, FromAttr, readers};
use crate::body::{Body, Node, ValueDef};
use crate::diag::{Diagnostic, Entity, Place, code};
use crate::ids::{BodyId, NodeId, TensorId, ValueId};
use crate::model::{Model, normalize_domain};
use crate::names::Names;
use crate::tensor::Tensor;
use std::ops::Deref;

/// A node with its model. It reads like the [`Node`], and what needs names or values of the model is a method.
#[derive(Clone, Copy)]
pub struct NodeRef<'m> {
    model: &'m Model,
    body: BodyId,
    id: NodeId,
}

impl<'a> Attrs<'a> {
    /// The attributes of a node, with the names of its model.
    pub fn of(node: &'a Node, names: &'a Names) -> Self {
        Attrs::new(names, &node.attrs)
    }
}

impl Deref for NodeRef<'_> {
    type Target = Node;

    fn deref(&self) -> &Node {
        &self.model.bodies[self.body].nodes[self.id]
    }
}

impl Model {
    /// A node with its model.
    pub fn node(&self, body: BodyId, node: NodeId) -> NodeRef<'_> {
        NodeRef { model: self, body, id: node }
    }

    /// The nodes of a body in document order, those of nested graphs included.
    pub fn walk_nodes(&self, body: BodyId) -> impl Iterator<Item = NodeRef<'_>> {
        self.bodies[body].walk().nodes().map(move |id| NodeRef { model: self, body, id })
    }

    /// The nodes of the main graph in document order, those of nested graphs included. None in a model without a main graph.
    pub fn walk_main(&self) -> impl Iterator<Item = NodeRef<'_>> {
        self.main.into_iter().flat_map(|body| self.walk_nodes(body))
    }
}

impl<'m> NodeRef<'m> {
    /// Its id.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The body that it belongs to.
    pub fn body(self) -> &'m Body {
        &self.model.bodies[self.body]
    }

    fn node(self) -> &'m Node {
        &self.body().nodes[self.id]
    }

    /// `op_type`, `""` if the node has none.
    pub fn op(self) -> &'m str {
        self.model.text(self.node().op)
    }

    /// The domain of the operator, `""` for the default one by either of its names.
    pub fn domain(self) -> &'m str {
        normalize_domain(self.model.text(self.node().domain))
    }

    /// Whether it applies an operator of the default domain, and not a function of the model that has the same name.
    pub fn is_op(self, op: &str) -> bool {
        let names = &self.model.names;
        let is_named = |name: Option<crate::Name>| name.is_some_and(|name| names.is(name, op));
        is_named(self.node().op)
            && self.domain().is_empty()
            && !self.model.functions.values().any(|function| {
                is_named(function.name) && normalize_domain(self.model.text(function.domain)).is_empty()
            })
    }

    /// An operand, unless it is omitted.
    pub fn input(self, i: usize) -> Option<ValueId> {
        self.node().inputs.get(i).copied().flatten()
    }

    /// A result, unless it is omitted.
    pub fn output(self, i: usize) -> Option<ValueId> {
        self.node().outputs.get(i).copied().flatten()
    }

    /// The name of a value of the same body.
    pub fn name_of(self, value: ValueId) -> &'m str {
        &self.model.names[self.body().values[value].name]
    }

    /// The node that computes an operand; `None` if the operand is left out, an input, an initializer or undefined.
    pub fn producer(self, i: usize) -> Option<NodeRef<'m>> {
        match self.body().values[self.input(i)?].def {
            ValueDef::Output(id, _) => Some(NodeRef { id, ..self }),
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => None,
        }
    }

    /// The place of the node, for a finding.
    pub fn place(self) -> Place {
        Entity::Node(self.body, self.id).into()
    }

    /// The place of an operand.
    pub fn place_of_input(self, i: usize) -> Place {
        match u32::try_from(i) {
            Ok(at) if i < self.node().inputs.len() => Entity::NodeInput(self.body, self.id, at).into(),
            Ok(_) | Err(_) => self.place(),
        }
    }

    /// The place of an attribute, or of the node if it does not have the attribute.
    pub fn place_of_attr(self, name: &str) -> Place {
        let names = &self.model.names;
        let at = self.node().attrs.iter().position(|attr| attr.name.is_some_and(|n| names.is(n, name)));
        match at.and_then(|at| u32::try_from(at).ok()) {
            Some(at) => Entity::Attr(self.body, self.id, at).into(),
            None => self.place(),
        }
    }

    /// The attributes, with errors that have no place.
    pub fn attrs(self) -> Attrs<'m> {
        Attrs::of(self.node(), &self.model.names)
    }

    /// The value of an attribute; `None` if the node does not have it.
    ///
    /// # Errors
    /// The attribute has another type or no value, or is a parameter of the enclosing function.
    pub fn get<T: FromAttr<'m>>(&self, name: &str) -> Result<Option<T>, Box<Diagnostic>> {
        self.attrs().get(name).map_err(|error| Box::new(error.at(self.place_of_attr(name))))
    }

    /// The value of an attribute that the node must have.
    ///
    /// # Errors
    /// Those of [`get`](Self::get), and that the node does not have the attribute.
    pub fn require<T: FromAttr<'m>>(&self, name: &str) -> Result<T, Box<Diagnostic>> {
        self.attrs().require(name).map_err(|error| Box::new(error.at(self.place_of_attr(name))))
    }

    readers! { Box<Diagnostic>, 'm }

    /// A tensor.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub fn tensor(&self, name: &str) -> Result<Option<&'m Tensor>, Box<Diagnostic>> {
        Ok(self.get::<TensorId>(name)?.map(|tensor| &self.body().tensors[tensor]))
    }
}

impl AttrError {
    /// A finding at the place of the attribute.
    pub fn at(&self, place: impl Into<Place>) -> Diagnostic {
        let code = match self {
            AttrError::Missing { .. } => &code::ATTR_REQUIRED,
            AttrError::Type { expected, found, .. } if Some(*expected) != *found => &code::ATTR_WRONG_TYPE,
            AttrError::Type { .. } | AttrError::Parameter { .. } => &code::ATTR_NO_VALUE,
        };
        Diagnostic::new(code, place, self.to_string())
    }
}
