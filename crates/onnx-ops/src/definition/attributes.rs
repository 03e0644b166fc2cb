//! Attributes of a node, with the defaults of its schema.

use super::Dense;
use crate::facts::ResolvedAttrs;
use crate::schema::Schema;
use onnx_ir::{Body, Model, Node};

/// The largest tensor in an attribute that a formula embeds.
const MAX_ELEMENTS: usize = 1 << 16;

/// The attributes of a node.
pub struct Attributes<'a> {
    attrs: ResolvedAttrs<'a>,
    schema: &'a Schema,
}

impl<'a> Attributes<'a> {
    /// The attributes of a node with this schema; `None` if one of them is a parameter of the enclosing function.
    pub fn of(
        model: &'a Model,
        body: &'a Body,
        node: &'a Node,
        schema: &'a Schema,
    ) -> Option<Attributes<'a>> {
        if node.attrs.iter().any(|attr| attr.reference.is_some()) {
            return None;
        }
        Some(Attributes { attrs: ResolvedAttrs::of(&model.names, body, node, schema), schema })
    }

    /// The operator, in the version that applies.
    pub fn schema(&self) -> &'a Schema {
        self.schema
    }

    /// The reader of all attributes.
    pub(crate) fn reader(&self) -> &ResolvedAttrs<'a> {
        &self.attrs
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attrs.int(name)
    }

    /// Whether an integer is present and not 0.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.int(name).is_some_and(|n| n != 0)
    }

    pub(crate) fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attrs.ints(name).map(<[i64]>::to_vec)
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        self.attrs.float(name).map(f64::from)
    }

    pub(crate) fn floats(&self, name: &str) -> Option<Vec<f64>> {
        Some(self.attrs.floats(name)?.iter().copied().map(f64::from).collect())
    }

    pub(crate) fn string(&self, name: &str) -> Option<String> {
        Some(self.attrs.string(name)?.into_owned())
    }

    pub(crate) fn tensor(&self, name: &str) -> Option<Dense> {
        Dense::of(self.attrs.tensor(name)?, MAX_ELEMENTS)
    }
}
