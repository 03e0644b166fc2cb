//! Models that commands run: values that a caller gives, or random ones.

use super::invalid;
use crate::array::{Expected, named_as};
use crate::finding::refused;
use crate::model::{PyModel, complete};
use crate::progress::Progress;
use crate::session::{ask_here, compile, operators, watched};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnxtxt::Loaded;
use onnxtxt::compare::{Baseline, Tolerance};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::sync::Arc;

/// A model with its weights, ready to be run.
pub(super) struct Runnable {
    pub(super) loaded: Loaded,
    pub(super) executable: Executable<'static>,
    options: CompileOptions,
}

impl Runnable {
    pub(super) fn new(py: Python<'_>, model: &PyModel) -> PyResult<Runnable> {
        let mut loaded = model.snapshot(py);
        complete(py, &mut loaded)?;
        let options = CompileOptions { custom: operators(model.operators(py))?, ..CompileOptions::default() };
        let executable = compile(py, &mut loaded, &options, false)?;
        Ok(Runnable { loaded, executable, options })
    }

    /// The inputs of runs: a dict of arrays, the path of an archive of them (.npz), or a list of these.
    pub(super) fn inputs(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Vec<Option<Value>>>> {
        let is_one = given.is_instance_of::<PyDict>()
            || given.is_instance_of::<PyString>()
            || given.hasattr("__fspath__")?;
        if is_one {
            return Ok(vec![self.one(given)?]);
        }
        let Ok(all) = given.try_iter() else {
            let kind = given.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "the inputs are {kind}, expected a dict of arrays, the path of an archive (.npz), or a list of them"
            )));
        };
        let all = all.map(|item| self.one(&item?)).collect::<PyResult<Vec<_>>>()?;
        if all.is_empty() { Err(invalid("no inputs are given: the list is empty")) } else { Ok(all) }
    }

    fn one(&self, given: &Bound<'_, PyAny>) -> PyResult<Vec<Option<Value>>> {
        let py = given.py();
        let feeds = match given.cast::<PyDict>() {
            Ok(dict) => dict.clone(),
            Err(_) => {
                let archive = py.import("numpy")?.call_method1("load", (given,))?;
                let dict = PyDict::new(py);
                dict.update(archive.cast().map_err(|_| invalid("an archive of arrays ends in .npz"))?)?;
                dict
            }
        };
        let model = self.executable.model();
        let ports = self.executable.inputs();
        let declared = |name: &str| {
            let port = ports.iter().find(|port| model.text(port.name) == name);
            port.and_then(|port| port.ty).map_or(Expected::Any, |ty| Expected::Type(model, ty))
        };
        let values = named_as(&feeds, declared)?;
        let values = values.iter().map(|(name, value)| (name.as_str(), value.clone()));
        self.executable
            .inputs_by_name(values)
            .map_err(|found| refused(&self.loaded, std::slice::from_ref(&*found)))
    }

    /// Does work that runs models; Ctrl-C ends it.
    pub(super) fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Self, &RunOptions<'_>) -> Result<T, Vec<Diagnostic>> + Send,
    ) -> PyResult<T> {
        let options = RunOptions { interrupt: Some(Arc::new(ask_here)), ..RunOptions::default() };
        let (done, raised) = watched(py, None, || work(self, &options))?;
        match raised {
            Some(raised) => Err(raised),
            None => done.map_err(|found| refused(&self.loaded, &found)),
        }
    }
}

/// Outputs of a model before it is changed, to compare with.
pub(super) struct Verification {
    /// The model before the change, with its weights.
    loaded: Loaded,
    before: Vec<Baseline<'static>>,
    tolerance: Tolerance,
    options: CompileOptions,
    progress: Progress,
}

impl Verification {
    /// Runs the model with what `verify` says: inputs as above, or `True` for random ones. `None` if it is `False`.
    pub(super) fn of(
        py: Python<'_>,
        model: &PyModel,
        verify: Option<&Bound<'_, PyAny>>,
        (relative, absolute): (Option<f64>, Option<f64>),
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Verification>> {
        let Some(verify) = verify.filter(|verify| !verify.is_none()) else { return Ok(None) };
        let given = match verify.cast::<PyBool>() {
            Ok(is) if !is.is_true() => return Ok(None),
            Ok(_) => {
                let model = model.copy(py)?;
                py.import("onnxtxt.testing")?.call_method1("inputs_for", (model,))?
            }
            Err(_) => verify.clone(),
        };
        let runnable = Runnable::new(py, model)?;
        let mut before = Vec::new();
        let all = runnable.inputs(&given)?;
        // Each is run before and after the change.
        let mut progress = Progress::begin(py, progress, "verify", Some(2 * all.len()))?;
        for inputs in all {
            let Runnable { options, .. } = &runnable;
            let executable = compile(py, &mut runnable.loaded.clone(), options, true)?;
            before.push(runnable.work(py, |_, options| {
                Baseline::run(executable, inputs, options).map_err(|found| vec![*found])
            })?);
            progress.advance()?;
        }
        let tolerance = Tolerance::new(relative, absolute);
        let Runnable { loaded, options, .. } = runnable;
        Ok(Some(Verification { loaded, before, tolerance, options, progress }))
    }

    /// Findings about outputs that are others after the change. A watch over this thread can end the runs.
    ///
    /// # Errors
    ///
    /// An exception of the function that receives the progress.
    pub(super) fn differences(
        mut self,
        registry: &onnx_ops::schema::Registry,
        model: &Model,
    ) -> PyResult<Vec<Diagnostic>> {
        let mut changed = self.loaded.became(model.clone());
        let found = changed.load_weights();
        if !found.is_empty() {
            return Ok(found);
        }
        let options = RunOptions { interrupt: Some(Arc::new(ask_here)), ..RunOptions::default() };
        let tolerance = self.tolerance.for_models([model]);
        let mut all = Vec::new();
        for before in &self.before {
            let found = before.differences(&changed.model, registry, &self.options, &options, &tolerance);
            all.extend(found.unwrap_or_else(|found| found));
            self.progress.advance()?;
        }
        Ok(all)
    }
}
