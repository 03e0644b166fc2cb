//! The target of running: plans against nodes one by one.

use crate::results::{difference, made_up, shortest};
use crate::trial::is_determinate;
use onnx_exec::{CompileOptions, RunOptions, compile};
use onnx_ir::diag::Level;
use onnx_ir::{Model, VerifyOptions, verify};
use onnx_ops::opset::registry_of;

/// The memory limit: more than random inputs need.
const MAX_BYTES: usize = 16 << 20;
const FUEL: u64 = 40;

/// Any text as a model that is run, within small budgets: a plan computes what its nodes compute one by one.
pub(super) fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let judge = |model: &Model| verify(model, &VerifyOptions::default());
    let checked = onnx_text::check_with(&text, Level::Spec, judge);
    if checked.diagnostics.iter().any(onnx_ir::diag::Diagnostic::is_error) {
        return;
    }
    let model = checked.value.model;
    let Some(given) = made_up(&model) else { return };
    let results = |node_by_node: bool| {
        let options =
            CompileOptions { unchecked: true, node_by_node, exact: true, ..CompileOptions::default() };
        let executable = compile(&model, registry_of(&model), &options).ok()?;
        let options = RunOptions { max_memory: MAX_BYTES, fuel: FUEL, ..RunOptions::default() };
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
