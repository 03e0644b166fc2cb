//! A compiled model with what Python needs to call it.

use super::feeds::{self, InputPort};
use super::interrupt::Watch;
use super::{hear, operator};
use crate::array::{from_value, named};
use crate::finding::refused;
use onnx_exec::{Executable, RunOptions, Value};
use onnxtxt::{Diagnostic, Loaded};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// A compiled model.
pub(super) struct Ready {
    pub(super) executable: Executable<'static>,
    /// For the places of findings.
    pub(super) loaded: Loaded,
    inputs: Vec<InputPort>,
    outputs: Vec<Py<PyString>>,
}

/// The arguments of one run.
#[derive(Clone, Default)]
pub(super) struct RunArgs {
    pub(super) threads: Option<usize>,
    pub(super) seed: u64,
    pub(super) timeout: Option<f64>,
    pub(super) max_memory: Option<usize>,
    /// Cancels the run from another thread.
    pub(super) cancel: Option<Arc<AtomicBool>>,
}

impl Ready {
    pub(super) fn new(executable: Executable<'static>, loaded: Loaded) -> Ready {
        Python::attach(|py| {
            let model = executable.model();
            let name = |port: &onnx_ir::Port| PyString::intern(py, model.text(port.name)).unbind();
            let inputs = executable.inputs().iter().map(|port| InputPort { name: name(port), ty: port.ty });
            let (inputs, outputs) = (inputs.collect(), executable.outputs().iter().map(name).collect());
            Ready { executable, loaded, inputs, outputs }
        })
    }

    pub(super) fn input_names(&self) -> Vec<String> {
        let model = self.executable.model();
        self.executable.inputs().iter().map(|port| model.text(port.name).to_owned()).collect()
    }

    pub(super) fn output_names(&self) -> Vec<String> {
        let model = self.executable.model();
        self.executable.outputs().iter().map(|port| model.text(port.name).to_owned()).collect()
    }

    /// Whether these are the names of its outputs, in order.
    pub(super) fn has_outputs(&self, names: &[String]) -> bool {
        let (ports, model) = (self.executable.outputs(), self.executable.model());
        ports.len() == names.len()
            && ports.iter().zip(names).all(|(port, name)| model.text(port.name) == name)
    }

    /// The values of a dictionary, in the order of the inputs.
    pub(super) fn feed(&self, feeds: &Bound<'_, PyDict>) -> PyResult<Vec<Option<Value>>> {
        let (given, count) = feeds::feed(&self.inputs, self.executable.model(), feeds)?;
        if count == feeds.len() {
            return Ok(given);
        }
        // A name that no input has.
        let named = named(feeds)?;
        let all =
            self.executable.inputs_by_name(named.iter().map(|(name, value)| (name.as_str(), value.clone())));
        all.map_err(|found| self.refused(&found))
    }

    pub(super) fn refused(&self, found: &Diagnostic) -> PyErr {
        refused(&self.loaded, std::slice::from_ref(found))
    }

    pub(super) fn run_dict(&self, feeds: &Bound<'_, PyDict>, args: &RunArgs) -> PyResult<Vec<Value>> {
        let given = self.feed(feeds)?;
        self.run(feeds.py(), args, |options| self.executable.run(given, options))
    }

    /// Calls `work` with the options of a run, without the interpreter. Its warnings are warnings of Python, and an exception that
    /// ended it is raised.
    pub(super) fn run<T: Send>(
        &self,
        py: Python<'_>,
        args: &RunArgs,
        work: impl FnOnce(&RunOptions<'_>) -> Result<T, Box<Diagnostic>> + Send,
    ) -> PyResult<T> {
        let heard = Mutex::new(Vec::new());
        let warn = |warning: Diagnostic| {
            heard.lock().unwrap_or_else(PoisonError::into_inner).push(warning.to_string());
        };
        let watch = Arc::new(Watch::new(py, args.timeout, args.cancel.clone())?);
        let mut options = RunOptions { seed: args.seed, warn: Some(&warn), ..RunOptions::default() };
        if let Some(threads) = args.threads {
            options.threads = threads;
        }
        if let Some(most) = args.max_memory {
            options.max_memory = most;
        }
        let asked = Arc::clone(&watch);
        options.interrupt = Some(Arc::new(move || asked.ask()));
        operator::begin();
        let done = py.detach(|| work(&options));
        drop(options);
        hear(py, heard.into_inner().unwrap_or_else(PoisonError::into_inner))?;
        if let Some(raised) = watch.raised() {
            return Err(raised);
        }
        done.map_err(|found| operator::raised(py, &found).unwrap_or_else(|| self.refused(&found)))
    }

    /// Results by name.
    pub(super) fn dictionary<'py>(
        &self,
        py: Python<'py>,
        results: Vec<Value>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.outputs.iter().zip(results) {
            dict.set_item(name.bind(py), from_value(py, value)?)?;
        }
        Ok(dict)
    }

    /// Results in order.
    pub(super) fn list<'py>(&self, py: Python<'py>, results: Vec<Value>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for value in results {
            list.append(from_value(py, value)?)?;
        }
        Ok(list)
    }
}
