//! Planning ahead of the first run, and inputs by name.

use crate::compile::Executable;
use crate::run::{Run, RunOptions};
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::ElemType;
use onnx_ir::diag::{Diagnostic, Place, code};

impl Executable<'_> {
    /// Plans for inputs of these element types and extents, in order, so that the first run with such inputs takes no longer than
    /// later ones. `None` stands for an input for which the model stores a value.
    ///
    /// What depends on elements (extents that a model computes from the values of its inputs, graphs in branches and loops) is
    /// planned when it runs.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
    /// use onnx_ir::ElemType;
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     double (float[N] x) => (float[N] y) { y = Add(x, x) }"#;
    /// let model = onnx_text::read_model(text).model;
    /// let options = CompileOptions::default();
    /// let executable = compile(&model, Registry::builtin(), &options).expect("the model can be run");
    ///
    /// let options = RunOptions::default();
    /// executable.prepare(&[Some((ElemType::FLOAT, &[3]))], &options)?;
    /// let x = Tensor::of(&[3], &[1.0f32, 2.0, 3.0]).expect("three elements");
    /// let inputs = executable.inputs_by_name([("x", Value::Tensor(x))])?;
    /// let results = executable.run(inputs, &options)?;
    /// let y = results[0].tensor().expect("a tensor");
    /// assert_eq!(y.floats().expect("floats").to_vec(), [2.0, 4.0, 6.0]);
    /// # Ok::<(), Box<onnx_ir::Diagnostic>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An input is missing, planning takes more than the options allow, or there is not enough memory.
    pub fn prepare(
        &self,
        types: &[Option<(ElemType, &[usize])>],
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        if self.options.is_plain() {
            return Ok(());
        }
        Run::with(self, options, |run| {
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
            run.take(inputs.map_err(told)?)?;
            run.plan_for(self.root, 0, false).map(|_| ())
        })
    }

    /// The inputs of the model in order, as [`run`](Self::run) wants them, from values by name.
    ///
    /// # Errors
    ///
    /// The model has no input of a name, or a name is there twice.
    pub fn inputs_by_name<'n>(
        &self,
        given: impl IntoIterator<Item = (&'n str, Value)>,
    ) -> Result<Vec<Option<Value>>, Box<Diagnostic>> {
        let ports = self.inputs();
        let mut inputs: Vec<Option<Value>> = vec![None; ports.len()];
        for (name, value) in given {
            let wrong = |why: String| Box::new(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, why));
            let Some(at) = ports.iter().position(|port| self.model().text(port.name) == name) else {
                return Err(wrong(format!("the model has no input `{name}`")));
            };
            if inputs[at].replace(value).is_some() {
                return Err(wrong(format!("input `{name}` is given twice")));
            }
        }
        Ok(inputs)
    }
}
