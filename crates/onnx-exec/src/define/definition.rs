//! The formulas of a node for the types and shapes of its inputs.

use crate::program::Program;
use crate::tensor::Tensor;
use onnx_formula::{Definition, Dense, Elements as _};
use onnx_ir::{ElemType, NodeId};
use onnx_kernels::Value;
use onnx_ops::dims::Dim;
use onnx_ops::infer::{Fact, Ty};
use onnx_ops::meaning::{Attributes, Cx, Operand, Output, define, open_shape, value_inputs};
use onnx_ops::schema::SchemaId;

/// Inputs with more elements do not count as shapes.
const MAX_SHAPE_ELEMENTS: usize = 1 << 16;

/// A tensor input of a node: its type, and its elements if they are available.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) elem: ElemType,
    pub(super) dims: &'a [usize],
    pub(super) tensor: Option<&'a Tensor>,
}

impl<'a> Input<'a> {
    fn of(tensor: &'a Tensor) -> Self {
        Input { elem: tensor.elem(), dims: tensor.dims(), tensor: Some(tensor) }
    }
}

/// [`definition`] for values; also `None` if one of them is not a tensor.
pub(crate) fn definition_of_values(
    program: &Program<'_>,
    node: NodeId,
    schema: SchemaId,
    inputs: &[Option<Value>],
    outputs: &[Fact],
) -> Option<Definition> {
    let inputs: Vec<Option<Input<'_>>> = inputs
        .iter()
        .map(|value| match value {
            Some(value) => value.tensor().ok().map(|tensor| Some(Input::of(tensor))),
            None => Some(None),
        })
        .collect::<Option<_>>()?;
    definition(program, node, schema, &inputs, outputs)
}

/// Tensors of more axes have no formulas: lowering looks at each pair of axes. NumPy has 64 axes at most.
pub(crate) const MAX_RANK: usize = 255;

/// The definition of a node for these inputs and the inferred `outputs`. `None` if it has no formula.
pub(super) fn definition(
    program: &Program<'_>,
    node: NodeId,
    schema: SchemaId,
    inputs: &[Option<Input<'_>>],
    outputs: &[Fact],
) -> Option<Definition> {
    let (model, body) = (&program.model, program.body());
    let n = &body.nodes[node];
    let schema = program.registry.get(schema);
    let attributes = Attributes::of(model, body, n, schema)?;
    let known = value_inputs(schema);
    let is_shape = |i: usize, tensor: &Tensor| known.contains(&i) && tensor.len() <= MAX_SHAPE_ELEMENTS;
    let values: Vec<Option<Dense>> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| (*input)?.tensor.filter(|tensor| is_shape(i, tensor)).and_then(dense))
        .collect();
    let operands: Vec<Option<Operand<'_>>> = inputs
        .iter()
        .zip(&values)
        .map(|(input, value)| input.map(|i| Operand { elem: i.elem, dims: i.dims, value: value.as_ref() }))
        .collect();
    // Where the documentation leaves the shape open, all implementations agree.
    let open = |elem| Some((elem, open_shape(&attributes, inputs.first()?.as_ref()?.dims)?));
    let extents: Vec<Option<(ElemType, Vec<usize>)>> = n
        .outputs
        .iter()
        .zip(outputs)
        .map(|(output, fact)| match output {
            None => Some(None),
            Some(_) => extents(&fact.ty).or_else(|| open(fact.ty.elem()?)).map(Some),
        })
        .collect::<Option<_>>()?;
    let given = inputs.iter().flatten().map(|input| input.dims.len());
    let made = extents.iter().flatten().map(|(_, dims)| dims.len());
    if given.chain(made).any(|rank| rank > MAX_RANK) {
        return None;
    }
    let outputs: Vec<Option<Output<'_>>> =
        extents.iter().map(|o| o.as_ref().map(|(elem, dims)| Output { elem: *elem, dims })).collect();
    define(&Cx { inputs: &operands, outputs: &outputs, attributes: &attributes })
}

/// Element type and shape, if both are known.
pub(super) fn extents(ty: &Ty) -> Option<(ElemType, Vec<usize>)> {
    let Ty::Tensor(tensor) = ty else { return None };
    let number = |d: &Dim| match d {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    };
    Some((tensor.elem?, tensor.shape.as_ref()?.iter().map(number).collect::<Option<_>>()?))
}

/// Converts a tensor of numbers to the form that formulas use.
fn dense(tensor: &Tensor) -> Option<Dense> {
    let numbers = (0..tensor.len()).map(|i| tensor.number(i)).collect::<Option<_>>()?;
    Some(Dense { elem: tensor.elem(), dims: tensor.dims().to_vec(), numbers })
}
