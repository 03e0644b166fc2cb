//! Loops give what formulas say: each formula of ONNX's own tests is computed both ways.
#![allow(clippy::print_stderr, reason = "a count, for who wants to see it")]

use conformance::convert::read_wire;
use conformance::corpus::{CorpusModel, in_parallel, models};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::Names;
use onnx_ops::opset::registry_of;
use onnx_proto::{FileKind, file, read_data};

/// Larger models take minutes element by element.
const LARGEST: u64 = 1 << 20;

#[test]
fn loops_give_what_formulas_say() {
    let is_small = |model: &CorpusModel| model.name.starts_with("backend/") && model.size <= LARGEST;
    let models: Vec<_> = models().into_iter().filter(is_small).collect();
    let failures: Vec<(String, String)> = in_parallel(&models, run).into_iter().flatten().collect();
    eprintln!("loops of {} models are what their formulas say", models.len() - failures.len());
    let wrong: Vec<_> = failures.iter().filter(|(_, why)| why.contains("by its loops")).collect();
    assert!(wrong.is_empty(), "{} models: {wrong:#?}", wrong.len());
    // Gradient is all that cannot be run.
    assert!(failures.len() <= 2, "{failures:#?}");
}

/// Runs a model on its first data set; what is wrong, if something is.
fn run(from: &CorpusModel) -> Option<(String, String)> {
    let fault = |why: String| Some((from.name.clone(), why));
    let model = read_wire(file::open(&from.path).ok()?).ok()?;
    let options = CompileOptions { check_loops: true };
    let executable = match compile(&model, registry_of(&model), &options) {
        Ok(executable) => executable,
        Err(found) => return fault(found.first().map(|d| d.message.clone()).unwrap_or_default()),
    };
    match executable.run(inputs(from, &executable), &RunOptions::default()) {
        Ok(_) => None,
        Err(why) => fault(why.message.clone()),
    }
}

/// The inputs of the first data set, counted without those that have a value.
fn inputs(from: &CorpusModel, executable: &Executable<'_>) -> Vec<Option<Value>> {
    let set = from.path.with_file_name("test_data_set_0");
    let mut count = 0;
    let input = |port: &onnx_ir::Port| {
        if executable.has_default(port) {
            return None;
        }
        let path = set.join(format!("input_{count}.pb"));
        count += 1;
        let kind =
            port.ty.map(|ty| FileKind::from(&executable.model().types[ty].kind)).unwrap_or(FileKind::Tensor);
        let (data, _) = read_data(file::open(&path).ok()?, kind, &mut Names::new());
        Value::stored(data?.held()).ok()
    };
    executable.inputs().iter().map(input).collect()
}
