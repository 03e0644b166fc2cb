//! Models that are changed and have to compute the same: ONNX's own test models and others, judged by the reference
//! evaluator, the reference's inliner, or ONNX Runtime (`results` in `tests/python/cases.py`).

use crate::convert::{read_wire, write_wire};
use crate::corpus::{CorpusModel, models, scratch};
use crate::oracle::Oracle;
use crate::random::Random;
use onnx_exec::{Executable, Value};
use onnx_ir::pass;
use onnx_ir::{Attr, Data, Initializer, Model, Names, Node, Port, Tensor, ValueDef};
use onnx_ops::schema::Registry;
use onnx_proto::{FileKind, file, read_data};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Models that the reference evaluator takes seconds for.
const SLOW: &[&str] = &[
    "test_lppool_3d_default",
    "test_averagepool_3d_default",
    "test_maxpool_3d_default",
    "test_MaxPool2d_stride_padding_dilation",
    "test_MaxPool1d_stride_padding_dilation",
];

/// Larger models are omitted: their tests have large inputs too.
const LARGEST: u64 = 1 << 20;

/// A model on its way through passes.
pub struct Trial {
    /// The model, for who reads of a failure.
    pub name: String,
    /// The model, and what has to compute the same, each with what was done to it.
    pub variants: Vec<(String, Vec<u8>)>,
    /// Where its inputs are; random ones otherwise.
    pub data: Option<PathBuf>,
}

impl Trial {
    /// A model as it is.
    pub fn new(name: &str, model: &Model, data: Option<PathBuf>) -> Self {
        let variants = vec![("itself".to_owned(), encoded(model))];
        Trial { name: name.to_owned(), variants, data }
    }

    /// Adds a variant, unless it is the model itself.
    pub fn add(&mut self, what: &str, model: &Model) {
        let bytes = encoded(model);
        if self.variants.iter().all(|(_, known)| *known != bytes) {
            self.variants.push((what.to_owned(), bytes));
        }
    }
}

/// A model as bytes.
pub fn encoded(model: &Model) -> Vec<u8> {
    write_wire(model).expect("models of tests are small")
}

/// Whether all variants compute the same; how many trials said something.
pub fn judge(oracle: &Oracle, folder: &str, trials: &[Trial], options: &serde_json::Value) -> usize {
    let folder = scratch(folder);
    let request = |(at, trial): (usize, &Trial)| {
        let write = |(i, (_, bytes)): (usize, &(String, Vec<u8>))| {
            let path = folder.join(format!("{at}_{i}.onnx"));
            std::fs::write(&path, bytes).expect("the scratch folder can be written to");
            json!({ "path": path })
        };
        let models: Vec<_> = trial.variants.iter().enumerate().map(write).collect();
        let mut request = json!({ "id": at, "op": "results", "models": models, "seed": at });
        if let Some(data) = &trial.data {
            request["data"] = json!(data);
        }
        for (key, value) in options.as_object().into_iter().flatten() {
            request[key] = value.clone();
        }
        request
    };
    let requests: Vec<_> = trials.iter().enumerate().map(request).collect();
    let answers = oracle.ask(&requests);
    let mut failures = Vec::new();
    let mut judged = 0;
    for (trial, answer) in trials.iter().zip(answers) {
        if answer["equal"] == true {
            judged += 1;
        } else if answer["unfit"].is_null() {
            let which = answer["which"].as_u64().and_then(|i| trial.variants.get(usize::try_from(i).ok()?));
            let what = which.map_or("the reference's inliner", |(what, _)| what);
            failures.push(format!("{}, {what}: {answer}", trial.name));
        }
    }
    let some: Vec<_> = failures.iter().take(10).map(String::as_str).collect();
    assert!(some.is_empty(), "{} results differ:\n{}", failures.len(), some.join("\n"));
    judged
}

/// Operators that draw other numbers each time, unless they have a seed.
const RANDOM: &[&str] = &[
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
];

/// Whether what the model computes is the same each time.
pub fn is_determinate(model: &Model) -> bool {
    let draws = |node: &Node| {
        let seed = |attr: &Attr| model.text(attr.name) == "seed";
        RANDOM.contains(&model.text(node.op)) && !node.attrs.iter().any(seed)
    };
    model.bodies.values().all(|body| !body.nodes.values().any(draws))
}

/// The backend tests that are quick, and have one result each, with their models; of so many one.
pub fn backend(of: usize) -> Vec<(CorpusModel, Model)> {
    let is_quick = |model: &CorpusModel| {
        let kind = model.name.strip_prefix("backend/").is_some_and(|name| !name.starts_with("light/"));
        kind && model.size <= LARGEST && !SLOW.iter().any(|slow| model.name.contains(slow))
    };
    let quick: Vec<_> = models().into_iter().filter(is_quick).step_by(of).collect();
    let read = |model: CorpusModel| {
        let bytes = file::open(&model.path).expect("a model of the corpus can be read");
        let read = read_wire(bytes).expect("a model of the corpus is sound");
        is_determinate(&read).then_some((model, read))
    };
    quick.into_iter().filter_map(read).collect()
}

/// The inputs and outputs of a backend test.
pub fn data(model: &CorpusModel) -> PathBuf {
    model.path.with_file_name("test_data_set_0")
}

/// The inputs of a model from a folder, counted without those that have a value.
pub fn inputs(executable: &Executable<'_>, folder: &Path) -> Vec<Option<Value>> {
    let mut count = 0;
    let input = |port: &Port| {
        if executable.has_default(port) {
            return None;
        }
        let path = folder.join(format!("input_{count}.pb"));
        count += 1;
        let kind =
            port.ty.map(|ty| FileKind::from(&executable.model().types[ty].kind)).unwrap_or(FileKind::Tensor);
        let data = read_data(file::open(&path).ok()?, kind, &mut Names::new()).value;
        Value::stored(data?.data_ref()).ok()
    };
    executable.inputs().iter().map(input).collect()
}

/// The model of a test with its inputs as initializers, if they are tensors.
pub fn with_inputs_known(model: &Model, folder: &Path) -> Option<Model> {
    let mut model = model.clone();
    let main = model.main?;
    let root = model.bodies[main].root()?;
    for (i, port) in model.bodies[main].graphs[root].inputs.clone().into_iter().enumerate() {
        let value = port.value?;
        let mut tensor = tensor(&folder.join(format!("input_{i}.pb")), &mut model.names)?;
        tensor.name = port.name;
        let body = &mut model.bodies[main];
        let tensor = body.tensors.push(tensor);
        body.values[value].def = ValueDef::Initializer(root);
        body.graphs[root].initializers.push(Initializer { value, tensor });
    }
    model.bodies[main].graphs[root].inputs.clear();
    Some(model)
}

/// The tensor that a file of a backend test has.
pub fn tensor(path: &Path, names: &mut Names) -> Option<Tensor> {
    let bytes = std::fs::read(path).ok()?;
    let read = read_data(bytes.into(), FileKind::Tensor, names);
    match read.value {
        Some(Data::Tensor(tensor)) if read.diagnostics.is_empty() => Some(tensor),
        _ => None,
    }
}

/// Runs passes of the IR by name.
pub fn run(model: &mut Model, passes: &[&str]) {
    for name in passes {
        pass::find(name).expect("a pass").run(model, Registry::builtin());
    }
}

/// Lists the nodes of every graph in another order.
pub fn shuffle(model: &mut Model, random: &mut Random) {
    for graph in model.bodies.values_mut().flat_map(|body| body.graphs.values_mut()) {
        for i in (1..graph.nodes.len()).rev() {
            graph.nodes.swap(i, random.below(i + 1));
        }
    }
}

/// The passes that clean up a model.
pub const TIDY: &[&str] = &["topological-sort", "common-subexpressions", "dead-code"];

/// How many nodes a model has.
pub fn count(model: &Model) -> usize {
    model.bodies.values().map(|body| body.nodes.len()).sum()
}
