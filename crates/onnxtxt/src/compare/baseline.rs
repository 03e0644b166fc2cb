//! The results of a model before a command changes it, and those of the changed model for the same inputs.

use crate::args::limits::LimitArgs;
use crate::execution::inputs;
use onnx_exec::{Executable, RunOptions, Value, compile};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_ops::schema::Registry;

/// A model that was run before it is changed.
pub(crate) struct Baseline<'r> {
    executable: Executable<'r>,
    inputs: Vec<Option<Value>>,
    outputs: Vec<Value>,
}

/// One output, of the original and of the changed model.
pub(crate) struct OutputPair<'o> {
    pub(crate) name: String,
    pub(crate) before: &'o Value,
    pub(crate) now: Value,
}

impl<'r> Baseline<'r> {
    /// Runs the model.
    pub(crate) fn run(
        executable: Executable<'r>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Self, Box<Diagnostic>> {
        let outputs = executable.run(inputs.clone(), options)?;
        Ok(Baseline { executable, inputs, outputs })
    }

    /// Runs the changed model with the same inputs. Its weights have to be in place. The diagnostics say why it cannot be run.
    pub(crate) fn rerun(
        &self,
        changed: &Model,
        registry: &Registry,
        limits: &LimitArgs,
        seed: u64,
    ) -> anyhow::Result<Result<Vec<OutputPair<'_>>, Vec<Diagnostic>>> {
        let (options, compile_options) = (limits.options(seed, changed), limits.compile_options());
        let executable = match options.within(|| compile(changed, registry, &compile_options)) {
            Ok(executable) => executable,
            Err(found) => return Ok(Err(found)),
        };
        let inputs = inputs::for_other_model(&self.executable, &self.inputs, &executable)?;
        let outputs = match executable.run(inputs, &options) {
            Ok(outputs) => outputs,
            Err(finding) => return Ok(Err(vec![*finding])),
        };
        let names = executable.outputs().iter().map(|port| executable.model().text(port.name).to_owned());
        let pairs = names.zip(outputs).zip(&self.outputs);
        Ok(Ok(pairs.map(|((name, now), before)| OutputPair { name, before, now }).collect()))
    }
}
