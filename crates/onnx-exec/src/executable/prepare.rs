//! Planning before the first run, inputs by name, and outputs in memory of the caller.

use super::Executable;
use crate::options::RunOptions;
use crate::run::{Run, run_to};
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_kernels::Value;

impl Executable<'_> {
    /// Makes the plans for inputs of these element types and shapes, in order, so that the first run takes no longer than later
    /// ones. `None` stands for an input whose value the model stores.
    ///
    /// Computations that depend on elements (shapes from the values of inputs, graphs in branches and loops) are planned during the
    /// run.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
    /// use onnx_ir::ElemType;
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     double (float[N] x) => (float[N] y) { y = Add(x, x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let options = CompileOptions::default();
    /// let executable = compile(&model, Registry::builtin(), &options).expect("the model can be run");
    ///
    /// let options = RunOptions::default();
    /// executable.prepare(&[Some((ElemType::FLOAT, &[3]))], &options)?;
    /// let x = Tensor::of(&[3], &[1.0f32, 2.0, 3.0])?;
    /// let inputs = executable.inputs_by_name([("x", Value::Tensor(x))])?;
    /// let results = executable.run(inputs, &options)?;
    /// assert_eq!(results[0].tensor()?.slice::<f32>()?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An input is missing or does not have the declared type, planning takes more than the options allow, or there is not enough memory.
    pub fn prepare(
        &self,
        types: &[Option<(ElemType, &[usize])>],
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        if self.program.options.is_plain() {
            return Ok(());
        }
        Run::with(&self.program, &self.caches, options, |run| {
            let zeros = |ty: &Option<(ElemType, &[usize])>| match ty {
                Some((elem, dims)) => Tensor::zeros(*elem, dims).map(|tensor| Some(Value::Tensor(tensor))),
                None => Ok(None),
            };
            let inputs: Result<Vec<Option<Value>>, _> = types.iter().map(zeros).collect();
            let told = |why: crate::Failure| {
                Box::new(Diagnostic::new(
                    why.code(),
                    Place::Nowhere,
                    format!("an input cannot be made: {why}"),
                ))
            };
            let inputs = inputs.map_err(told)?;
            self.program.ensure_inputs(&inputs)?;
            run.take(inputs);
            run.plan_for(self.program.root, 0, false).map(|_| ())
        })
    }

    /// Computes the outputs into existing tensors. `outputs` is empty or has a value for each output of the model; a tensor is
    /// overwritten in place if it has the type and shape of the result and is not shared. Kernels write there directly where they
    /// can. Other values are replaced. So a caller that runs a model repeatedly gets every result at the same address.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
    /// use onnx_ir::ElemType;
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     double (float[N] x) => (float[N] y) { y = Add(x, x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run");
    ///
    /// let mut outputs = vec![Value::Tensor(Tensor::zeros(ElemType::FLOAT, &[3])?)];
    /// let memory = outputs[0].tensor()?.bytes().as_ptr();
    /// for i in 0..3u8 {
    ///     let x = Tensor::of(&[3], &[f32::from(i); 3])?;
    ///     executable.run_into(vec![Some(x.into())], &mut outputs, &RunOptions::default())?;
    ///     let y = outputs[0].tensor()?;
    ///     assert_eq!(y.slice::<f32>()?, [2.0 * f32::from(i); 3]);
    ///     assert_eq!(y.bytes().as_ptr(), memory);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run); then `outputs` is empty.
    pub fn run_into(
        &self,
        inputs: Vec<Option<Value>>,
        outputs: &mut Vec<Value>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        let ports = self.outputs();
        let before = outputs.drain(..).zip(ports);
        let destinations = before.filter_map(|(value, port)| match value {
            Value::Tensor(tensor) => Some((port.value?, Some(tensor))),
            Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => None,
        });
        let destinations = destinations.collect();
        let (mut results, mut unused) = run_to(&self.program, &self.caches, inputs, destinations, options)?;
        for (result, port) in results.iter_mut().zip(ports) {
            // Results that were computed elsewhere are copied.
            let memory = unused.iter_mut().find(|(of, _)| Some(*of) == port.value);
            let Some(mut memory) = memory.and_then(|(_, memory)| memory.take()) else { continue };
            if let Value::Tensor(tensor) = result
                && memory.is_mine()
                && (memory.elem(), memory.dims()) == (tensor.elem(), tensor.dims())
                && let Ok(to) = memory.bytes_mut()
            {
                to.copy_from_slice(tensor.bytes());
                *result = Value::Tensor(memory);
            }
        }
        outputs.append(&mut results);
        Ok(())
    }

    /// Orders values by name as [`run`](Self::run) expects them.
    ///
    /// # Errors
    ///
    /// The model has no input of a name, or a name is repeated.
    pub fn inputs_by_name<'n>(
        &self,
        given: impl IntoIterator<Item = (&'n str, Value)>,
    ) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
        let ports = self.inputs();
        let mut inputs: Vec<Option<Value>> = vec![None; ports.len()];
        for (name, value) in given {
            let wrong = |why: String| Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why));
            let Some(at) = ports.iter().position(|port| self.model().text(port.name) == name) else {
                return Err(self.program.no_input(name));
            };
            if inputs[at].replace(value).is_some() {
                return Err(wrong(format!("input `{name}` is given twice")));
            }
        }
        Ok(inputs)
    }
}
