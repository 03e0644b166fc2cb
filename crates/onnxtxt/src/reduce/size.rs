//! How large a model is, for comparisons.

use onnx_ir::diag::counted;
use onnx_ir::{AttrValue, DimValue, Model, Payload, Port, TypeKind};

/// The size of a model. Of two models, the one with fewer functions is smaller, then the one with fewer nodes, and so on in the order
/// of the fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Size {
    /// Functions of the model.
    pub functions: usize,
    /// Nodes, nested ones and those of functions included.
    pub nodes: usize,
    /// Operands of nodes.
    pub operands: usize,
    /// Inputs and outputs of all graphs.
    pub ports: usize,
    /// Attributes of nodes.
    pub attributes: usize,
    /// Elements of all tensors.
    pub elements: u64,
    /// Bytes of elements that are not zero.
    pub information: u64,
    /// The sum of all numbers in shapes and lists of integers.
    pub extents: u64,
    /// Names of nodes, documentation, metadata, declarations, imports and trainings.
    pub details: usize,
}

impl Size {
    /// The size of a model without unused parts in its arenas.
    #[must_use]
    pub fn of(model: &Model) -> Size {
        let mut size = Size { functions: model.functions.len(), ..Size::default() };
        size.details += model.header.opset_imports.len() + super::details::count(model);
        for body in model.bodies.values() {
            size.nodes += body.nodes.len();
            for node in body.nodes.values() {
                size.operands += node.inputs.len() + node.inputs.iter().flatten().count();
                size.attributes += node.attrs.len();
                for value in node.attrs.iter().flat_map(|attr| &attr.values) {
                    match value {
                        AttrValue::Int(n) => size.extents += n.unsigned_abs().min(u64::from(u32::MAX)),
                        AttrValue::Ints(list) => {
                            size.elements += list.len() as u64;
                            for n in list.iter() {
                                size.extents += n.unsigned_abs().min(u64::from(u32::MAX));
                            }
                        }
                        AttrValue::Floats(list) => size.elements += list.len() as u64,
                        AttrValue::Strings(list) => size.elements += list.len() as u64,
                        AttrValue::Float(_)
                        | AttrValue::String(_)
                        | AttrValue::Tensor(_)
                        | AttrValue::Graph(_)
                        | AttrValue::Tensors(_)
                        | AttrValue::Graphs(_)
                        | AttrValue::Type(_)
                        | AttrValue::Types(_)
                        | AttrValue::SparseTensor(_)
                        | AttrValue::SparseTensors(_) => {}
                    }
                }
            }
            for graph in body.graphs.values() {
                size.ports += graph.inputs.len() + graph.outputs.len();
                let ports = graph.inputs.iter().chain(&graph.outputs);
                size.extents += ports.map(|port| extents(model, port)).fold(0, u64::saturating_add);
            }
            for tensor in body.tensors.values() {
                let count = tensor.element_count().unwrap_or(0);
                size.elements = size.elements.saturating_add(count);
                size.extents =
                    size.extents.saturating_add(tensor.dims.iter().map(|d| d.unsigned_abs()).sum());
                size.information += tensor.data.iter().map(information).sum::<u64>();
            }
        }
        size
    }
}

/// The sum of the numbers in the shape of a tensor.
fn extents(model: &Model, port: &Port) -> u64 {
    let Some(TypeKind::Tensor(tensor)) = port.ty.map(|ty| &model.types[ty].kind) else { return 0 };
    let number = |dim: &onnx_ir::Dim| match dim.value {
        DimValue::Value(n) => n.unsigned_abs().min(u64::from(u32::MAX)),
        DimValue::Unknown | DimValue::Param(_) => 0,
    };
    tensor.shape.iter().flatten().map(number).sum()
}

/// The bytes that say something.
fn information(payload: &Payload) -> u64 {
    match payload {
        Payload::Entries { bytes, .. } => bytes.iter().filter(|byte| **byte != 0).count() as u64,
        Payload::Strings(strings) => strings.iter().map(|text| text.len() as u64).sum(),
    }
}

/// `3 nodes, 5 attributes, 12 weight elements`
impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&counted(self.nodes, "node"))?;
        if self.functions > 0 {
            write!(f, ", {}", counted(self.functions, "function"))?;
        }
        if self.attributes > 0 {
            write!(f, ", {}", counted(self.attributes, "attribute"))?;
        }
        write!(f, ", {}", counted(self.elements, "stored element"))
    }
}
