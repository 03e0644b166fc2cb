//! Executables: a compiled model with what its runs have learnt.

mod memory;
mod prepare;
mod profile;
mod schedule;
#[cfg(test)]
mod tests;

pub use schedule::{Schedule, Stats};

use crate::options::{CompileOptions, RunOptions};
use crate::program::Program;
use crate::run::{Caches, run_to};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{Model, Port};
use onnx_kernels::Value;
use onnx_ops::schema::Registry;

/// A prepared model, which any number of threads can run at once.
///
/// ```
/// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
/// use onnx_ops::schema::Registry;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] a, float[N] b) => (float[N] y) { y = Sub(a, b) }"#;
/// let model = onnx_text::read_model(text).value;
/// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("the model can be run");
/// let value = |x: f32| Tensor::of(&[1], &[x]).map(Value::Tensor);
/// let inputs = executable.inputs_by_name([("b", value(1.0)?), ("a", value(3.0)?)])?;
/// let results = executable.run(inputs, &RunOptions::default())?;
/// assert_eq!(results[0].tensor()?.slice::<f32>()?, [2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Executable<'r> {
    program: Program<'r>,
    caches: Caches<'r>,
}

/// Prepares the main graph of a model. External data must be loaded.
///
/// ```
/// use onnx_exec::{CompileOptions, compile};
/// use onnx_ops::schema::Registry;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(t) t = Abs(y) }"#;
/// let model = onnx_text::read_model(text).value;
/// let refused = compile(&model, Registry::builtin(), &CompileOptions::default()).err().expect("a cycle has no meaning");
/// assert_eq!(refused[0].code.id, "E0213");
/// ```
///
/// # Errors
///
/// All errors that make the meaning of the model unclear, unless the options say that it has been checked; otherwise all reasons
/// why it cannot be run.
pub fn compile<'r>(
    model: &Model,
    registry: &'r Registry,
    options: &CompileOptions,
) -> Result<Executable<'r>, Vec<Diagnostic>> {
    let program = Program::compile(model, registry, options)?;
    let caches = Caches::new(&program.options);
    Ok(Executable { program, caches })
}

impl Executable<'_> {
    /// The inputs of the model, in order.
    pub fn inputs(&self) -> &[Port] {
        self.program.inputs()
    }

    /// The outputs of the model, in order.
    pub fn outputs(&self) -> &[Port] {
        self.program.outputs()
    }

    /// The model that is run: functions are inlined and nodes are ordered.
    pub fn model(&self) -> &Model {
        &self.program.model
    }

    /// Whether the model stores a default for an input.
    pub fn has_default(&self, input: &Port) -> bool {
        self.program.has_default(input)
    }

    /// Checks values against the declared inputs, in order: their number, kinds, element types, ranks and sizes. Every run does it; it
    /// takes less than a microsecond for a few inputs, and allocates nothing.
    ///
    /// # Errors
    ///
    /// The first value that is missing or does not fit.
    pub fn ensure_inputs(&self, inputs: &[Option<Value>]) -> Result<(), Box<Diagnostic>> {
        self.program.ensure_inputs(inputs)
    }

    /// Computes the outputs. `inputs` has a value for each input of the model, in order; `None` where the model stores a default.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, compile};
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run");
    /// let x = Tensor::of(&[3], &[1.0f32, 2.0, 3.0])?;
    /// let refused = executable.run(vec![Some(x.into())], &RunOptions::default()).unwrap_err();
    /// assert_eq!(refused.message, "input `x` is float[3], expected float[2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An input is missing or does not have the declared type; a node fails; a limit of the options is exceeded.
    pub fn run(
        &self,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Vec<Value>, Box<Diagnostic>> {
        run_to(&self.program, &self.caches, inputs, Vec::new(), options).map(|(results, _)| results)
    }
}
