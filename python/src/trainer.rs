//! Training.

use crate::array::{Expected, dictionary, named, named_as, to_array, to_tensor};
use crate::finding::{refused, unsaved};
use crate::model::{PyModel, complete};
use crate::session::{ask_here, watched};
use onnx_exec::{RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use onnxtxt::Loaded;
use onnxtxt::train::{State, TrainOptions, Trainer};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// A model in training: the state of its `training_info`, and the steps that change it. Any thread can use it, but a call that changes it
/// allows no other one at the same time.
#[pyclass(name = "Trainer", module = "onnxtxt")]
pub(crate) struct PyTrainer {
    trainer: Trainer<'static>,
    /// For the places of findings, and for the comments of a text.
    loaded: Loaded,
}

/// The outputs of a call by name.
type Outputs = Result<Vec<(String, Value)>, Box<Diagnostic>>;

impl PyTrainer {
    /// The model with the state as its initializers.
    fn became(&self) -> PyResult<Loaded> {
        let model = self.trainer.model().map_err(|found| refused(&self.loaded, &found))?;
        Ok(self.loaded.became(model))
    }

    fn refused(&self, found: &Diagnostic) -> PyErr {
        refused(&self.loaded, std::slice::from_ref(found))
    }

    /// The values of a batch, of the types that a step expects.
    fn given(&self, inputs: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
        let ports = self.trainer.inputs();
        let declared = |name: &str| {
            let port = ports.iter().find(|(model, port)| model.text(port.name) == name);
            port.and_then(|(model, port)| Some(Expected::Type(model, port.ty?))).unwrap_or(Expected::Any)
        };
        named_as(inputs, declared)
    }

    fn outputs<'py>(&self, py: Python<'py>, done: Outputs) -> PyResult<Bound<'py, PyDict>> {
        let outputs = done.map_err(|found| self.refused(&found))?;
        dictionary(py, outputs)
    }
}

/// Calls a method of a trainer, without the global interpreter lock. Ctrl-C ends it.
fn called(
    py: Python<'_>,
    given: &[(String, Value)],
    call: impl FnOnce(&[(&str, Value)]) -> Outputs + Send,
) -> PyResult<Outputs> {
    let given: Vec<(&str, Value)> =
        given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    match watched(py, None, || call(&given))? {
        (_, Some(raised)) => Err(raised),
        (done, None) => Ok(done),
    }
}

#[pymethods]
impl PyTrainer {
    /// Prepares the training of a model. Random operators without a seed of their own draw from `seed` and the number of the step, so
    /// that two trainings with one seed are the same.
    #[new]
    #[pyo3(signature = (model, *, seed = 0, threads = None))]
    fn new(py: Python<'_>, model: &PyModel, seed: u64, threads: Option<usize>) -> PyResult<PyTrainer> {
        let mut loaded = model.snapshot(py);
        complete(py, &mut loaded)?;
        let mut run = RunOptions { seed, interrupt: Some(Arc::new(ask_here)), ..RunOptions::default() };
        if let Some(threads) = threads {
            run.threads = threads;
        }
        let options = TrainOptions { run, ..TrainOptions::default() };
        match py.detach(|| Trainer::new(&loaded.model, loaded.registry(), &options)) {
            Ok(trainer) => Ok(PyTrainer { trainer, loaded }),
            Err(found) => Err(refused(&loaded, &found)),
        }
    }

    /// Resets the state to what the initialization graphs compute.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> sorted(trainer.state())
    /// ['biases', 'biases_v', 'count', 'filters', 'filters_v', 'offsets', 'offsets_v', 'weights', 'weights_v']
    fn initialize(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.trainer.initialize()).map_err(|found| self.refused(&found))
    }

    /// Makes a step with a batch. Returns the outputs that replace nothing of the state, such as the loss.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> data = np.load("examples/digits-train.npz")
    /// >>> batch = {name: data[name][:64] for name in trainer.inputs if name in data}
    /// >>> results = trainer.step(batch)
    /// >>> sorted(results), trainer.steps
    /// (['accuracy', 'digit', 'loss', 'probabilities'], 1)
    fn step<'py>(&mut self, inputs: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let given = self.given(inputs)?;
        let done = called(inputs.py(), &given, |given| self.trainer.step(given))?;
        self.outputs(inputs.py(), done)
    }

    /// The outputs of a step, without its changes.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> data = np.load("examples/digits-train.npz")
    /// >>> batch = {name: data[name][:64] for name in trainer.inputs if name in data}
    /// >>> sorted(trainer.evaluate(batch)), trainer.steps
    /// (['accuracy', 'digit', 'loss', 'probabilities'], 0)
    fn evaluate<'py>(&self, inputs: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let given = self.given(inputs)?;
        let done = called(inputs.py(), &given, |given| self.trainer.evaluate(given))?;
        self.outputs(inputs.py(), done)
    }

    /// Runs the main graph with the state of now.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> data = np.load("examples/digits-train.npz")
    /// >>> batch = {name: data[name][:64] for name in trainer.inputs if name in data}
    /// >>> sorted(trainer.infer({"image": batch["image"]}))
    /// ['digit', 'probabilities']
    fn infer<'py>(&self, inputs: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let given = named(inputs)?;
        let done = called(inputs.py(), &given, |given| self.trainer.infer(given))?;
        self.outputs(inputs.py(), done)
    }

    /// The number of steps that have been made.
    #[getter]
    fn steps(&self) -> u64 {
        self.trainer.steps()
    }

    /// The seed that random operators draw from.
    #[getter]
    fn seed(&self) -> u64 {
        self.trainer.seed()
    }

    /// The names of the inputs of a step.
    #[getter]
    fn inputs(&self) -> Vec<String> {
        self.trainer.inputs().iter().map(|(model, port)| model.text(port.name).to_owned()).collect()
    }

    /// The state: the arrays that steps replace, by name. `numpy.savez` keeps it.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> {name: array.shape for name, array in trainer.state().items()}
    /// {'filters': (32, 1, 3, 3), 'offsets': (32,), 'weights': (512, 10), 'biases': (10,), 'count': (), 'filters_v': (32, 1, 3, 3), 'offsets_v': (32,), 'weights_v': (512, 10), 'biases_v': (10,)}
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, tensor) in &self.trainer.state().variables {
            dict.set_item(name, to_array(py, tensor)?)?;
        }
        Ok(dict)
    }

    /// Continues from a state after a number of steps, bit for bit. All arrays of the state must be there.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> np.savez("state.npz", **trainer.state())
    /// >>> trainer.load_state(dict(np.load("state.npz")), steps=24)
    /// >>> trainer.steps
    /// 24
    #[pyo3(signature = (state, *, steps = 0))]
    fn load_state(&mut self, state: &Bound<'_, PyDict>, steps: u64) -> PyResult<()> {
        let variables: PyResult<Vec<_>> =
            state.iter().map(|(name, array)| Ok((name.extract()?, to_tensor(&array)?))).collect();
        let state = State { step: steps, variables: variables? };
        self.trainer.load_state(&state).map_err(|found| refused(&self.loaded, &found))
    }

    /// The model with the state as its initializers.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> trainer.model().check()
    /// []
    fn model(&self) -> PyResult<PyModel> {
        Ok(PyModel::of(self.became()?))
    }

    /// Writes the model with the state as its initializers, in the form that the name of the file says. A text keeps its comments.
    ///
    /// >>> trainer = onnxtxt.Trainer(onnxtxt.open("examples/train-digits.onnxtxt"))
    /// >>> trainer.initialize()
    /// >>> trainer.save("trained.onnxtxt")
    /// >>> onnxtxt.open("trained.onnxtxt").check()
    /// []
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut loaded = self.became()?;
        py.detach(|| loaded.save(path)).map_err(|why| unsaved(&loaded, why))
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyTrainer>()
}
