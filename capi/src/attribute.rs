//! Attributes of nodes.

use crate::abi::{Str, put};
use crate::model::Model;
use crate::tensor::Tensor;
use crate::walk::{Graph, NONE, Node, number, string};
use onnx_ir::{Attr, AttrValue, BodyId};

/// A view of an attribute. `kind` is a number of `AttributeProto.AttributeType`.
#[repr(C)]
pub struct AttributeView {
    /// Its name.
    pub name: Str,
    /// Its type: 1 float, 2 int, 3 string, 4 tensor, 5 graph, 6 floats, 7 ints, 8 strings, 9 tensors, 10 graphs, 11 sparse tensor, 12 sparse
    /// tensors, 13 type, 14 types; 0 if it is not set.
    pub kind: i32,
    /// The attribute parameter of the function that provides the value; empty if it has a value of its own.
    pub reference: Str,
    /// Its documentation.
    pub doc: Str,
    /// The number of elements of a list; 1 for a single value, 0 without a value.
    pub count: usize,
    /// The value of a float attribute.
    pub float_value: f32,
    /// The value of an int attribute.
    pub int_value: i64,
    /// The `count` values of a float or floats attribute.
    pub floats: *const f32,
    /// The `count` values of an int or ints attribute.
    pub ints: *const i64,
}

/// An element of an attribute; what does not fit the type of the attribute is empty or none.
#[repr(C)]
pub struct AttributeItem {
    /// An element of a string or strings attribute.
    pub string_value: Str,
    /// An element of a tensor or tensors attribute.
    pub tensor: Tensor,
    /// An element of a graph or graphs attribute.
    pub graph: Graph,
    /// An element of a type or types attribute.
    pub ty: u32,
    /// The parts of an element of a sparse tensor attribute: its values (`tensor` is none) and their indices.
    pub sparse_values: Tensor,
    /// See `sparse_values`.
    pub sparse_indices: Tensor,
}

fn find(model: &onnx_ir::Model, node: Node, at: usize) -> Option<(BodyId, &Attr)> {
    let (body, node) = node.ids(model)?;
    Some((body, model.bodies[body].nodes[node].attrs.get(at)?))
}

fn view(model: &onnx_ir::Model, attr: &Attr) -> AttributeView {
    let mut view = AttributeView {
        name: string(model, attr.name),
        kind: attr.ty.map_or(0, |ty| ty.0),
        reference: string(model, attr.reference),
        doc: string(model, attr.doc),
        count: 0,
        float_value: 0.0,
        int_value: 0,
        floats: std::ptr::null(),
        ints: std::ptr::null(),
    };
    let Some(value) = attr.value() else { return view };
    view.kind = value.ty().0;
    view.count = match value {
        AttrValue::Float(x) => {
            (view.float_value, view.floats) = (*x, x);
            1
        }
        AttrValue::Int(i) => {
            (view.int_value, view.ints) = (*i, i);
            1
        }
        AttrValue::Floats(list) => {
            view.floats = list.as_ptr();
            list.len()
        }
        AttrValue::Ints(list) => {
            view.ints = list.as_ptr();
            list.len()
        }
        AttrValue::Strings(list) => list.len(),
        AttrValue::Tensors(list) => list.len(),
        AttrValue::Graphs(list) => list.len(),
        AttrValue::Types(list) => list.len(),
        AttrValue::SparseTensors(list) => list.len(),
        AttrValue::String(_)
        | AttrValue::Tensor(_)
        | AttrValue::Graph(_)
        | AttrValue::Type(_)
        | AttrValue::SparseTensor(_) => 1,
    };
    view
}

/// A view of an attribute of a node. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_node_attribute(
    model: *const Model,
    node: Node,
    at: usize,
    out: *mut AttributeView,
) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let model = model.model();
        find(model, node, at).is_some_and(|(_, attr)| put(out, view(model, attr)))
    }
}

/// The position of the attribute of a name; `SIZE_MAX` if the node has none of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_node_find_attribute(model: *const Model, node: Node, name: Str) -> usize {
    // SAFETY: a model of this library, or null; the string as the header says.
    let (model, name) = unsafe { (model.as_ref(), name.bytes()) };
    let Some(model) = model.map(Model::model) else { return usize::MAX };
    let Some((body, node)) = node.ids(model) else { return usize::MAX };
    let is_named = |attr: &Attr| attr.name.is_some_and(|of| model.names.bytes(of) == name);
    model.bodies[body].nodes[node].attrs.iter().position(is_named).unwrap_or(usize::MAX)
}

/// An element of a string, tensor, graph or type attribute, or of a list of them. Returns whether there is one at this position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn onnxtxt_attribute_get_item(
    model: *const Model,
    node: Node,
    attribute: usize,
    at: usize,
    out: *mut AttributeItem,
) -> bool {
    // SAFETY: a model of this library, or null; `out` as the header says.
    unsafe {
        let Some(model) = model.as_ref() else { return false };
        let Some((body, attr)) = find(model.model(), node, attribute) else { return false };
        let item = attr.value().and_then(|value| item(body, value, at));
        item.is_some_and(|item| put(out, item))
    }
}

fn item(body: BodyId, value: &AttrValue, at: usize) -> Option<AttributeItem> {
    let mut item = AttributeItem {
        string_value: Str::EMPTY,
        tensor: Tensor::NONE,
        graph: Graph::NONE,
        ty: NONE,
        sparse_values: Tensor::NONE,
        sparse_indices: Tensor::NONE,
    };
    let mut sparse = |tensor: &onnx_ir::SparseTensor| {
        item.sparse_values = tensor.values.map_or(Tensor::NONE, |tensor| Tensor::new(body, tensor));
        item.sparse_indices = tensor.indices.map_or(Tensor::NONE, |tensor| Tensor::new(body, tensor));
    };
    match value {
        AttrValue::SparseTensor(tensor) if at == 0 => sparse(tensor),
        AttrValue::SparseTensors(list) => sparse(list.get(at)?),
        AttrValue::String(text) if at == 0 => item.string_value = Str::new(text),
        AttrValue::Strings(list) => item.string_value = Str::new(list.get(at)?),
        AttrValue::Tensor(tensor) if at == 0 => item.tensor = Tensor::new(body, *tensor),
        AttrValue::Tensors(list) => item.tensor = Tensor::new(body, *list.get(at)?),
        AttrValue::Graph(graph) if at == 0 => item.graph = Graph::new(body, *graph),
        AttrValue::Graphs(list) => item.graph = Graph::new(body, *list.get(at)?),
        AttrValue::Type(ty) if at == 0 => item.ty = number(*ty),
        AttrValue::Types(list) => item.ty = number(*list.get(at)?),
        _ => return None,
    }
    Some(item)
}
