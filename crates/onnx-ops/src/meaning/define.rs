//! The definition of a node by the row of its operator.

use super::{Attributes, Cx, Definition};
use crate::operators::{Operator, find};
use crate::schema::Schema;
use onnx_formula::{OperandType, OutputType};

/// The row, if the operator is one of ONNX.
fn row(schema: &Schema) -> Option<&'static Operator> {
    find(&schema.domain, &schema.name)
}

/// The definition of a node, if its operator has formulas and the node is valid.
pub fn define(cx: &Cx<'_>) -> Option<Definition> {
    let define = row(cx.attributes.schema())?.define?;
    let inputs: Vec<OperandType> = cx.inputs.iter().map(|i| i.map(|i| (i.elem, i.dims.len()))).collect();
    let outputs: Vec<OutputType<'_>> = cx.outputs.iter().map(|o| o.map(|o| (o.elem, o.dims))).collect();
    define(cx).filter(|definition| definition.is_sound(&inputs, &outputs))
}

/// Whether nodes of an operator of ai.onnx can have definitions.
pub fn has_definition(schema: &Schema) -> bool {
    schema.domain.is_empty() && row(schema).is_some_and(|row| row.define.is_some())
}

/// The inputs whose elements determine shapes and formulas, so they must be known; also for operators without a definition.
pub fn value_inputs(schema: &Schema) -> &'static [usize] {
    row(schema).map_or(&[], |row| row.reads)
}

/// The output shape of a node where the documentation leaves it open, so inference does not know it, but all implementations
/// agree. `input` is the shape of the first input.
pub fn open_shape(attributes: &Attributes<'_>, input: &[usize]) -> Option<Vec<usize>> {
    let shape = row(attributes.schema())?.open_shape?;
    shape(attributes, input)
}
