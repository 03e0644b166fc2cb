//! Hashes of nodes that are equal for equal content in different models.

use super::weights::same_elements;
use onnx_ir::{
    Attr, AttrValue, Body, BodyId, Model, Name, Node, SparseTensor, Tensor, TypeId, normalize_domain,
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Identifies the operator of a node.
pub(super) fn operator(model: &Model, node: &Node) -> u64 {
    let mut hasher = DefaultHasher::new();
    normalize_domain(model.text(node.domain)).hash(&mut hasher);
    model.text(node.op).hash(&mut hasher);
    model.text(node.overload).hash(&mut hasher);
    hasher.finish()
}

/// Identifies the attributes of a node in any order. Graphs count by their number, because their contents are compared
/// separately. Tensors count by type and size.
pub(super) fn attributes(model: &Model, body: &Body, node: &Node) -> u64 {
    node.attrs.iter().map(|attr| attribute(model, body, attr)).fold(0, u64::wrapping_add)
}

fn attribute(model: &Model, body: &Body, attr: &Attr) -> u64 {
    let mut hasher = DefaultHasher::new();
    let state = &mut hasher;
    model.text(attr.name).hash(state);
    model.text(attr.reference).hash(state);
    attr.ty.map(|ty| ty.0).hash(state);
    for value in &attr.values {
        value.ty().0.hash(state);
        match value {
            AttrValue::Float(x) => x.to_bits().hash(state),
            AttrValue::Int(n) => n.hash(state),
            AttrValue::String(bytes) => bytes.hash(state),
            AttrValue::Floats(list) => list.elements().for_each(|x| x.to_bits().hash(state)),
            AttrValue::Ints(list) => list.elements().for_each(|n| n.hash(state)),
            AttrValue::Strings(list) => list.elements().for_each(|bytes| bytes.hash(state)),
            AttrValue::Tensor(id) => shape(&body.tensors[*id], state),
            AttrValue::Tensors(ids) => ids.iter().for_each(|id| shape(&body.tensors[*id], state)),
            AttrValue::Graph(_) => 1.hash(state),
            AttrValue::Graphs(graphs) => graphs.len().hash(state),
            AttrValue::Type(ty) => super::value::type_of(model, *ty).hash(state),
            AttrValue::Types(types) => {
                types.iter().for_each(|ty| super::value::type_of(model, *ty).hash(state));
            }
            AttrValue::SparseTensor(sparse) => sparse.dims.hash(state),
            AttrValue::SparseTensors(all) => all.iter().for_each(|sparse| sparse.dims.hash(state)),
        }
    }
    hasher.finish()
}

fn shape(tensor: &Tensor, state: &mut DefaultHasher) {
    tensor.elem.map(|elem| elem.0).hash(state);
    tensor.dims.hash(state);
}

/// A body of a model, for comparisons.
#[derive(Clone, Copy)]
pub(super) struct Side<'m> {
    pub(super) model: &'m Model,
    pub(super) id: BodyId,
}

impl<'m> Side<'m> {
    pub(super) fn body(self) -> &'m Body {
        &self.model.bodies[self.id]
    }

    pub(super) fn text(self, name: Option<Name>) -> &'m str {
        self.model.text(name)
    }

    fn tensor(self, id: onnx_ir::TensorId) -> &'m Tensor {
        &self.body().tensors[id]
    }
}

/// Whether two attributes are equal, except for the graphs in them.
pub(super) fn same_attribute(a: Side<'_>, x: &Attr, b: Side<'_>, y: &Attr) -> bool {
    let head = |side: Side<'_>, attr: &Attr| {
        (side.text(attr.reference).to_owned(), attr.ty, side.text(attr.doc).to_owned())
    };
    head(a, x) == head(b, y)
        && x.values.len() == y.values.len()
        && x.values.iter().zip(&y.values).all(|(x, y)| same_value(a, x, b, y))
}

fn same_value(a: Side<'_>, x: &AttrValue, b: Side<'_>, y: &AttrValue) -> bool {
    use AttrValue as V;
    let same_type =
        |x: TypeId, y: TypeId| super::value::type_of(a.model, x) == super::value::type_of(b.model, y);
    let same_tensor = |x, y| same_elements(a.tensor(x), b.tensor(y));
    match (x, y) {
        (V::Float(x), V::Float(y)) => x.to_bits() == y.to_bits(),
        (V::Int(x), V::Int(y)) => x == y,
        (V::String(x), V::String(y)) => x == y,
        (V::Floats(x), V::Floats(y)) => {
            x.len() == y.len() && x.elements().zip(y.elements()).all(|(x, y)| x.to_bits() == y.to_bits())
        }
        (V::Ints(x), V::Ints(y)) => x == y,
        (V::Strings(x), V::Strings(y)) => x == y,
        (V::Tensor(x), V::Tensor(y)) => same_tensor(*x, *y),
        (V::Tensors(x), V::Tensors(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_tensor(*x, *y))
        }
        (V::Graph(_), V::Graph(_)) => true,
        (V::Graphs(x), V::Graphs(y)) => x.len() == y.len(),
        (V::Type(x), V::Type(y)) => same_type(*x, *y),
        (V::Types(x), V::Types(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_type(*x, *y)),
        (V::SparseTensor(x), V::SparseTensor(y)) => same_sparse(a, x, b, y),
        (V::SparseTensors(x), V::SparseTensors(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_sparse(a, x, b, y))
        }
        (
            V::Float(_)
            | V::Int(_)
            | V::String(_)
            | V::Floats(_)
            | V::Ints(_)
            | V::Strings(_)
            | V::Tensor(_)
            | V::Tensors(_)
            | V::Graph(_)
            | V::Graphs(_)
            | V::Type(_)
            | V::Types(_)
            | V::SparseTensor(_)
            | V::SparseTensors(_),
            _,
        ) => false,
    }
}

/// Whether two sparse tensors have the same elements.
pub(super) fn same_sparse(a: Side<'_>, x: &SparseTensor, b: Side<'_>, y: &SparseTensor) -> bool {
    let same = |x, y| match (x, y) {
        (Some(x), Some(y)) => same_elements(a.tensor(x), b.tensor(y)),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    x.dims == y.dims && same(x.values, y.values) && same(x.indices, y.indices)
}
