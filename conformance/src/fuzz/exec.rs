//! The target of running: plans against nodes one by one.

use crate::results::{difference, shortest};
use crate::trial::is_determinate;
use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{Dim, DimValue, ElemType, Level, Model, TypeKind, VerifyOptions, verify};
use onnx_ops::opset::registry_of;

/// What a run may take: nothing that is drawn needs more.
const MOST_BYTES: usize = 16 << 20;
const FUEL: u64 = 40;
/// Larger inputs are not made up.
const MOST_ELEMENTS: usize = 1 << 12;

/// Any text as a model that is run, within small budgets: a plan computes what its nodes compute one by one.
pub(super) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let judge = |model: &Model| verify(model, &VerifyOptions::default());
    let checked = onnx_text::check_with(&text, Level::Spec, judge);
    if checked.diagnostics.iter().any(onnx_ir::Diagnostic::is_error) {
        return;
    }
    let model = checked.model;
    let Some(given) = inputs(&model) else { return };
    let results = |node_by_node: bool| {
        let options = CompileOptions { node_by_node, ..CompileOptions::default() };
        let executable = compile(&model, registry_of(&model), &options).ok()?;
        let options = RunOptions { max_memory: MOST_BYTES, fuel: FUEL, ..RunOptions::default() };
        executable.run(given.clone(), &options).ok()
    };
    // Budgets may end the one and not the other.
    let (Some(planned), Some(plain)) = (results(false), results(true)) else { return };
    if !is_determinate(&model) {
        return;
    }
    let shortest = shortest(&model);
    for (at, (planned, plain)) in planned.iter().zip(&plain).enumerate() {
        if let Some(how) = difference(planned, plain, shortest) {
            panic!("output {at} of the plan {how}:\n{text}");
        }
    }
}

/// Values for the inputs of a model, `None` for those that it stores; nothing where an input is no tensor of few numbers.
pub(super) fn inputs(model: &Model) -> Option<Vec<Option<Value>>> {
    let executable = compile(model, registry_of(model), &CompileOptions::default()).ok()?;
    let value = |port: &onnx_ir::Port| {
        if executable.has_default(port) {
            return Some(None);
        }
        let TypeKind::Tensor(ty) = &model.types[port.ty?].kind else { return None };
        let extent = |dim: &Dim| match dim.value {
            DimValue::Value(extent) => usize::try_from(extent).ok(),
            DimValue::Param(_) | DimValue::Unknown => Some(3),
        };
        let dims: Vec<usize> = ty.shape.iter().flatten().map(extent).collect::<Option<_>>()?;
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST_ELEMENTS)?;
        let elem = ty.elem?;
        if elem == ElemType::BOOL {
            return Some(Some(Value::Tensor(Tensor::of_bools(&dims, (0..count).map(|i| i % 2 == 0)).ok()?)));
        }
        let numbers: Vec<f64> = (0..count).map(|i| (i * 7 % 11) as f64 * 0.5 - 1.0).collect();
        Some(Some(Value::Tensor(Tensor::of_floats(elem, &dims, &numbers).ok()?)))
    };
    executable.inputs().iter().map(value).collect()
}
