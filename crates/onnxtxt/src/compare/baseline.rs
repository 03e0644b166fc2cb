//! The results of a model before it is changed, and those of the changed model for the same inputs.

use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{Model, Port};
use onnx_ops::schema::Registry;

/// A model that was run before it is changed.
///
/// ```
/// use onnx_exec::{CompileOptions, RunOptions, Tensor, compile};
/// use onnxtxt::compare::{Baseline, Tolerance};
/// use onnxtxt::ops::schema::Registry;
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Neg(x) y = Neg(t) }"#;
/// let model = onnxtxt::parse(text).model;
/// let (registry, compile_options, options) = (Registry::builtin(), CompileOptions::default(), RunOptions::default());
/// let executable = compile(&model, registry, &compile_options).expect("it can be run");
/// let x = Tensor::of(&[2], &[1.0f32, 2.0]).expect("two");
/// let before = Baseline::run(executable, vec![Some(x.into())], &options).unwrap();
/// let changed = onnxtxt::parse(&text.replace("y = Neg", "y = Abs")).model;
/// let tolerance = Tolerance::new(None, None).for_models([&changed]);
/// assert!(before.differences(&changed, registry, &compile_options, &options, &tolerance).unwrap().is_empty());
/// ```
pub struct Baseline<'r> {
    executable: Executable<'r>,
    inputs: Vec<Option<Value>>,
    outputs: Vec<Value>,
}

/// One output, of the original and of the changed model.
pub struct OutputPair<'o> {
    /// Its name.
    pub name: String,
    /// The value that the original computed.
    pub before: &'o Value,
    /// The value that the changed model computes.
    pub now: Value,
}

impl<'r> Baseline<'r> {
    /// Runs the model.
    ///
    /// # Errors
    ///
    /// It cannot be run.
    pub fn run(
        executable: Executable<'r>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<Self, Box<Diagnostic>> {
        let outputs = executable.run(inputs.clone(), options)?;
        Ok(Baseline { executable, inputs, outputs })
    }

    /// Runs the changed model with the same inputs. Its weights have to be in place.
    ///
    /// # Errors
    ///
    /// The changed model cannot be run.
    pub fn rerun(
        &self,
        changed: &Model,
        registry: &Registry,
        compile_options: &CompileOptions,
        options: &RunOptions<'_>,
    ) -> Result<Vec<OutputPair<'_>>, Vec<Diagnostic>> {
        let executable = options.within(|| compile(changed, registry, compile_options))?;
        let one = |found: Box<Diagnostic>| vec![*found];
        let inputs = inputs_for(&self.executable, &self.inputs, &executable).map_err(one)?;
        let outputs = executable.run(inputs, options).map_err(one)?;
        let names = executable.outputs().iter().map(|port| executable.model().text(port.name).to_owned());
        let pairs = names.zip(outputs).zip(&self.outputs);
        Ok(pairs.map(|((name, now), before)| OutputPair { name, before, now }).collect())
    }

    /// Findings about outputs that are others in the changed model.
    ///
    /// # Errors
    ///
    /// The changed model cannot be run.
    pub fn differences(
        &self,
        changed: &Model,
        registry: &Registry,
        compile_options: &CompileOptions,
        options: &RunOptions<'_>,
        tolerance: &super::Tolerance,
    ) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let outputs = self.rerun(changed, registry, compile_options, options)?;
        let different = outputs.iter().filter_map(|output| {
            let how = super::difference(&output.now, output.before, tolerance)?;
            let message = format!("the changed model computes another `{}`: {how}", output.name);
            Some(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, message))
        });
        Ok(different.collect())
    }
}

/// The inputs for another model, by name.
///
/// # Errors
///
/// The other model has an input without a default that this one does not have.
pub fn inputs_for(
    of: &Executable<'_>,
    values: &[Option<Value>],
    other: &Executable<'_>,
) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
    let name = |executable: &Executable<'_>, port: &Port| executable.model().text(port.name).to_owned();
    let given = |port: &Port| {
        let requested = name(other, port);
        let known = of.inputs().iter().position(|port| name(of, port) == requested);
        match known.and_then(|i| values[i].clone()) {
            None if !other.has_default(port) => {
                let why = format!("the other model has the input `{requested}`, but this one does not");
                Err(Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why)))
            }
            found => Ok(found),
        }
    };
    other.inputs().iter().map(given).collect()
}
