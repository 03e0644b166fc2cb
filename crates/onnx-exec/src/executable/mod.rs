//! Executables: a compiled model with what its runs have learnt.

mod prepare;
mod profile;
mod schedule;
#[cfg(test)]
mod tests;

pub use schedule::{Schedule, Stats};

use crate::options::{CompileOptions, RunOptions};
use crate::program::Program;
use crate::run::{Caches, run_to};
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{Model, Port};
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

/// Prepares a model. External data must be loaded. Returns all problems found, not only the first.
pub fn compile<'r>(
    model: &Model,
    registry: &'r Registry,
    options: &CompileOptions,
) -> Result<Executable<'r>, Vec<Diagnostic>> {
    let program = Program::compile(model, registry, options)?;
    Ok(Executable { program, caches: Caches::default() })
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
