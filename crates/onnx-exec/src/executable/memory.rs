//! Outputs in memory that a caller provides.

use super::Executable;
use crate::failure::Failure;
use crate::options::RunOptions;
use crate::run::{Destinations, run_to};
use crate::tensor::OutputMemory;
use onnx_ir::diag::{Diagnostic, counted};
use onnx_kernels::Value;

impl Executable<'_> {
    /// Computes the outputs, those with memory there. `memory` has an entry for each output of the model, in order; kernels write
    /// there directly where they can, other results are copied. The memory is in use until the returned values are dropped.
    ///
    /// Memory that overlaps an input is written only after everything is computed.
    ///
    /// ```
    /// use onnx_exec::{CompileOptions, OutputMemory, RunOptions, Tensor, compile};
    /// use onnx_ir::ElemType;
    /// use onnx_ops::schema::Registry;
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     flip (uint8[N] x) => (uint8[N] y) { y = BitwiseNot(x) }"#;
    /// let model = onnx_text::read_model(text).value;
    /// let executable = compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run");
    /// let memory = OutputMemory::new(ElemType::UINT8, &[2], vec![0; 2])?;
    /// let x = Tensor::of(&[2], &[255u8, 1])?;
    /// executable.run_in_memory(vec![Some(x.into())], &[Some(&memory)], &RunOptions::default())?;
    /// assert_eq!(memory.tensor()?.bytes(), [0, 254]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run). Memory does not have the type and shape of its output, is in use, or overlaps that of another
    /// output: what the declared types tell is found before the run, and then nothing is written. After any other error, the contents
    /// of the memory are arbitrary.
    pub fn run_in_memory(
        &self,
        inputs: Vec<Option<Value>>,
        memory: &[Option<&OutputMemory>],
        options: &RunOptions<'_>,
    ) -> Result<Vec<Value>, Box<Diagnostic>> {
        let ports = self.outputs();
        if memory.len() != ports.len() {
            let outputs = counted(ports.len(), "output");
            let why = format!("the model has {outputs}, but memory is given for {}", memory.len());
            return Err(self.program.misused(&why));
        }
        for (i, one) in memory.iter().enumerate() {
            let Some(one) = one else { continue };
            self.program.ensure_output_memory(i, one)?;
            let others = memory[i + 1..].iter().enumerate();
            if let Some((other, _)) =
                others.filter_map(|(j, it)| Some((j, (*it)?))).find(|(_, it)| one.overlaps(it))
            {
                let name = |at: usize| self.model().text(ports[at].name);
                let why = format!("outputs `{}` and `{}` share memory", name(i), name(i + 1 + other));
                return Err(self.program.misused(&why));
            }
        }
        // The memory for an output that no input shares.
        let is_apart = |memory: &OutputMemory| !inputs.iter().flatten().any(|input| is_shared(memory, input));
        let mut destinations = Destinations::new();
        for (port, one) in ports.iter().zip(memory) {
            if let (Some(value), Some(one)) = (port.value, one)
                && is_apart(one)
                // An output that is listed twice is computed once.
                && destinations.iter().all(|(known, _)| *known != value)
            {
                destinations.push((value, Some(one.tensor().map_err(|why| self.unwritable(&why))?)));
            }
        }
        let (results, unused) = run_to(&self.program, &self.caches, inputs, destinations, options)?;
        drop(unused);
        let settle = |(i, result): (usize, Value)| match memory[i] {
            Some(one) => self.settled(i, result, one),
            None => result.into_kept().map_err(|why| self.unwritable(&why)),
        };
        results.into_iter().enumerate().map(settle).collect()
    }

    /// The result in its memory, copied if it was computed elsewhere.
    fn settled(&self, at: usize, result: Value, memory: &OutputMemory) -> Result<Value, Box<Diagnostic>> {
        let tensor = match &result {
            Value::Tensor(tensor) if memory.has(tensor) => return Ok(result),
            Value::Tensor(tensor) if (tensor.elem(), tensor.dims()) == (memory.elem(), memory.dims()) => {
                tensor
            }
            Value::Tensor(_) | Value::Sequence(_) | Value::Map(_) | Value::Optional(_) => {
                let is = result.type_text();
                return Err(self.program.other_memory(at, &is, memory));
            }
        };
        let copied = memory.tensor().and_then(|mut to| {
            to.bytes_mut()?.copy_from_slice(tensor.bytes());
            Ok(Value::Tensor(to))
        });
        copied.map_err(|why| self.unwritable(&why))
    }

    fn unwritable(&self, why: &Failure) -> Box<Diagnostic> {
        self.program.misused(&why.to_string())
    }
}

/// Whether memory shares bytes with a value.
fn is_shared(memory: &OutputMemory, value: &Value) -> bool {
    match value {
        Value::Tensor(tensor) => memory.overlaps_tensor(tensor),
        Value::Sequence(values) => values.iter().any(|value| is_shared(memory, value)),
        Value::Map(map) => {
            memory.overlaps_tensor(&map.keys) || map.values.iter().any(|value| is_shared(memory, value))
        }
        Value::Optional(value) => value.as_deref().is_some_and(|value| is_shared(memory, value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile;
    use crate::options::CompileOptions;
    use crate::tensor::Tensor;
    use onnx_ir::ElemType;
    use onnx_ops::schema::Registry;
    use std::sync::Arc;

    fn executable(graph: &str) -> Executable<'static> {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g {graph}");
        let model = onnx_text::read_model(&text).value;
        compile(&model, Registry::builtin(), &CompileOptions::default()).expect("it can be run")
    }

    fn memory(count: usize) -> OutputMemory {
        OutputMemory::new(ElemType::UINT8, &[count], vec![0xee; count]).expect("as many bytes")
    }

    fn input(bytes: &[u8]) -> Vec<Option<Value>> {
        vec![Some(Tensor::of(&[bytes.len()], bytes).expect("bytes").into())]
    }

    /// Results that a kernel computes, that are copies of others, that a node without a kernel computes, and that are stored.
    #[test]
    fn each_result_is_in_its_memory() {
        let text = r#"<ir_version: 10, opset_import: ["": 21]>
            g (uint8[N] x) => (uint8[N] a, uint8[N] b, uint8[N] c, uint8[2] d, uint8[N] x) {
                a = BitwiseNot(x)  b = Identity(a)  n = Shape(x)  c, i = TopK(a, n)
                d = Constant <value = uint8[2] {5, 6}> ()
            }"#;
        let model = onnx_text::read_model(text).value;
        for node_by_node in [false, true] {
            let options = CompileOptions { node_by_node, ..CompileOptions::default() };
            let executable = compile(&model, Registry::builtin(), &options).expect("it can be run");
            let all = [3, 3, 3, 2, 3].map(memory);
            // All at once, one at a time, and again.
            for chosen in [31u32, 1, 2, 4, 8, 16, 31] {
                let some: Vec<_> =
                    all.iter().enumerate().map(|(i, it)| (chosen >> i & 1 == 1).then_some(it)).collect();
                let results =
                    executable.run_in_memory(input(&[250, 253, 252]), &some, &RunOptions::default());
                let results = results.expect("all fits");
                let expected: [&[u8]; 5] = [&[5, 2, 3], &[5, 2, 3], &[5, 3, 2], &[5, 6], &[250, 253, 252]];
                for ((result, expected), it) in results.iter().zip(expected).zip(&some) {
                    let tensor = result.tensor().expect("a tensor");
                    assert_eq!(tensor.bytes(), expected, "{chosen} {node_by_node}");
                    assert_eq!(tensor.is_lent(), it.is_some(), "{chosen} {node_by_node}");
                    assert!(it.is_none_or(|it| it.has(tensor)));
                }
                drop(results);
                assert!(all.iter().all(|it| it.tensor().is_ok()), "the memory is free again");
            }
        }
    }

    #[test]
    fn memory_that_does_not_fit_is_refused() {
        let run = |graph: &str, x: &[u8], memory: &[Option<&OutputMemory>]| {
            let done = executable(graph).run_in_memory(input(x), memory, &RunOptions::default());
            done.map(|_| ()).map_err(|found| found.message.clone())
        };
        let relu = "(uint8[N] x) => (uint8[3] y) { y = BitwiseNot(x) }";
        let four = memory(4);
        let why = "output `y` is uint8[3], but the memory for it is uint8[4]".to_owned();
        assert_eq!(run(relu, &[1, 2, 3], &[Some(&four)]), Err(why));
        assert_eq!(four.tensor().expect("free").bytes(), [0xee; 4]);
        // A size that is known after the run.
        let why = "output `y` is uint8[3], but the memory for it is uint8[4]".to_owned();
        assert_eq!(run(&relu.replace("uint8[3]", "uint8[M]"), &[1, 2, 3], &[Some(&four)]), Err(why));
        assert!(run(relu, &[1, 2, 3], &[]).is_err_and(|why| why.contains("has 1 output,")));
        let used = four.tensor().expect("free");
        assert!(
            run(&relu.replace('3', "4"), &[1, 2, 3, 4], &[Some(&four)])
                .is_err_and(|why| why.contains("in use"))
        );
        drop(used);
    }

    #[test]
    fn shared_memory_is_found() {
        let memory = memory(3);
        assert!(!is_shared(&memory, &Tensor::of(&[3], &[1u8, 2, 3]).expect("three").into()));
        let lent = memory.tensor().expect("free");
        let nested = Value::Optional(Some(Arc::new(Value::sequence(vec![lent.into()]))));
        assert!(is_shared(&memory, &nested));
        drop(nested);
        let twice =
            executable("(uint8[N] x) => (uint8[N] y, uint8[N] z) { y = BitwiseNot(x) z = Identity(x) }");
        let both = [Some(&memory), Some(&memory)];
        let found = twice.run_in_memory(input(&[1, 2, 3]), &both, &RunOptions::default());
        assert!(found.is_err_and(|found| found.message == "outputs `y` and `z` share memory"));
    }
}
