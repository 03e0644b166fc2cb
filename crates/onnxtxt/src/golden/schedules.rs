//! `#! schedule`: the schedule of a model.

use super::context::Context;
use super::run::snapshot;
use onnx_exec::{CompileOptions, Executable, RunOptions, Stats, Tensor, Value, compile};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{Dim, DimValue, Port, TypeKind};
use onnx_ops::opset::registry_of;

/// Compares the schedule with the snapshot. Inputs are zeros, so their types must be known.
pub(crate) fn run(context: &Context<'_>) -> Result<(), String> {
    let model = context.model()?;
    let reported = |found: &Diagnostic| found.message.clone();
    let executable = compile(&model, registry_of(&model), &CompileOptions::default())
        .map_err(|found| found.first().map(reported).unwrap_or_default())?;
    let inputs =
        executable.inputs().iter().map(|port| zeros(&executable, port)).collect::<Result<_, String>>()?;
    let schedule = executable.schedule(inputs, &RunOptions::default()).map_err(|found| reported(&found))?;
    let Stats { kernels, nodes, flops, bytes, arena } = schedule.stats;
    let counts = format!(
        "{kernels} kernels, {nodes} other nodes, {flops} operations, {bytes} bytes moved, {arena} of arena"
    );
    snapshot(context, "schedule", &format!("{}{counts}", schedule.text))?;
    Ok(())
}

fn zeros(executable: &Executable<'_>, port: &Port) -> Result<Option<Value>, String> {
    if executable.has_default(port) {
        return Ok(None);
    }
    let kind = port.ty.map(|ty| &executable.model().types[ty].kind);
    let Some(TypeKind::Tensor(ty)) = kind else { return Err("an input is not a tensor".to_owned()) };
    let extent = |dim: &Dim| match dim.value {
        DimValue::Value(n) => usize::try_from(n).map_err(|why| why.to_string()),
        DimValue::Param(_) | DimValue::Unknown => Err("the extent of an input is not known".to_owned()),
    };
    let shape = ty.shape.as_ref().ok_or("the rank of an input is not known")?;
    let dims: Vec<usize> = shape.iter().map(extent).collect::<Result<_, _>>()?;
    let elem = ty.elem.ok_or("the element type of an input is not known")?;
    Tensor::zeros(elem, &dims).map(|zeros| Some(Value::Tensor(zeros))).map_err(|why| why.to_string())
}
