//! Sessions.

use super::operator;
use super::port::PyPort;
use super::ready::{Ready, RunArgs};
use crate::finding::{refused, unwritten};
use crate::model::{PyModel, warn};
use bytes::Bytes;
use onnx_exec::{CompileOptions, PackedStore};
use onnx_ir::Model;
use onnxtxt::edit::{SetShape, set_shape};
use onnxtxt::files::WeightCache;
use onnxtxt::{Diagnostic, Form, Loaded, SaveOptions};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyBool, PyByteArray, PyBytes, PyDict, PyList, PyTuple};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most sets of outputs for which a compiled model is kept.
const MAX_VARIANTS: usize = 32;

/// A model that is ready to be run, by any number of threads at once.
///
/// `model` is a `Model`, a path, bytes in any form, or an `onnx.ModelProto`. Later changes of a `Model` do not change the session.
/// `threads` is how many threads a run uses (all cores), `max_memory` the most bytes of tensors of a run. With `exact`, floats of
/// 16 bits are rounded after each node. A model whose errors make its meaning unclear is refused, unless `unchecked` is true.
/// `sizes` are pairs of symbols in the shapes of inputs and numbers for them.
/// With `cache`, large packed weights are kept in files, which all processes of the machine map: `True` for the cache folder of the user
/// (`onnxtxt cache` lists it), or the path of a folder. If it cannot be used, a warning says why.
/// `operators` are functions of arrays for operators that ONNX does not have, or in place of those that it has: a dictionary from
/// `(domain, name)` to a function. It is called with the inputs of a node (`None` for one that is left out) and its attributes
/// as keywords, and returns an array or a tuple of arrays.
///
/// >>> import numpy as np, onnxtxt
/// >>> text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }'
/// >>> session = onnxtxt.Session(onnxtxt.parse(text))
/// >>> session.run({"x": np.array([-1, 2], np.float32)})
/// {'y': array([1., 0.], dtype=float32)}
/// >>> session.run({"x": np.array([-1, 2], np.float32)}, ["h"])
/// {'h': array([ 1., -2.], dtype=float32)}
/// >>> session.inputs
/// [<onnxtxt.Port float[N] x>]
#[pyclass(name = "Session", module = "onnxtxt", frozen)]
pub(crate) struct PySession {
    pub(super) ready: Arc<Ready>,
    options: CompileOptions,
    given: Given,
    /// The model for other sets of outputs.
    variants: Mutex<HashMap<Vec<String>, Arc<Ready>>>,
    /// Ends all runs when it is set.
    cancel: Mutex<Arc<AtomicBool>>,
}

/// The arguments of the session, to make it again.
struct Given {
    threads: Option<usize>,
    max_memory: Option<usize>,
    exact: bool,
    unchecked: bool,
    operators: Option<Py<PyDict>>,
    cache: Option<Py<PyAny>>,
}

#[pymethods]
impl PySession {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the keywords of the Python constructor")]
    #[pyo3(signature = (model, *, threads = None, max_memory = None, exact = false, unchecked = false, operators = None, sizes = None, cache = None))]
    fn new(
        py: Python<'_>,
        model: &Bound<'_, PyAny>,
        threads: Option<usize>,
        max_memory: Option<usize>,
        exact: bool,
        unchecked: bool,
        operators: Option<Bound<'_, PyDict>>,
        sizes: Option<Vec<(String, i64)>>,
        cache: Option<Bound<'_, PyAny>>,
    ) -> PyResult<PySession> {
        if threads == Some(0) {
            return Err(PyValueError::new_err(
                "threads is 0, expected a number from 1 on, or None for all cores",
            ));
        }
        let mut loaded = loaded_of(model)?;
        if let Some(sizes) = sizes {
            loaded = with_sizes(py, loaded, sizes)?;
        }
        let operators = given_operators(model, operators)?;
        let custom = operators.as_ref().map(operator::operators).transpose()?.unwrap_or_default();
        let folder = cache.as_ref().map(cache_folder).transpose()?.flatten();
        let packed_store = folder.as_deref().map(|path| weight_cache(py, path)).transpose()?.flatten();
        let options = CompileOptions { exact, custom, packed_store, ..CompileOptions::default() };
        let executable = operator::compile(py, &mut loaded, &options, unchecked)?;
        let operators = operators.map(Bound::unbind);
        Ok(PySession {
            ready: Arc::new(Ready::new(executable, loaded)),
            options,
            given: Given {
                threads,
                max_memory,
                exact,
                unchecked,
                operators,
                cache: cache.map(Bound::unbind),
            },
            variants: Mutex::default(),
            cancel: Mutex::default(),
        })
    }

    /// The inputs: name, shape, type.
    #[getter]
    fn inputs(&self) -> Vec<PyPort> {
        let x = &self.ready.executable;
        x.inputs().iter().map(|port| PyPort::of(x, port)).collect()
    }

    /// The outputs: name, shape, type.
    #[getter]
    fn outputs(&self) -> Vec<PyPort> {
        let x = &self.ready.executable;
        x.outputs().iter().map(|port| PyPort::of(x, port)).collect()
    }

    /// Computes outputs for `feeds`, a dictionary from the names of inputs to arrays, and returns a dictionary of arrays.
    ///
    /// Arrays are not copied if they are C-contiguous and of a type of ONNX; they must not change before `run` returns. A list is a
    /// sequence, a dictionary a map, `None` an optional without a value. `outputs` are the names to compute (all outputs), which may
    /// be those of results between; `intermediate` are such names beside the outputs, or `True` for all. `timeout` is in seconds.
    ///
    /// Raises `Error` for inputs that do not fit and for nodes that fail, `TypeError` for objects that are not arrays, `TimeoutError`,
    /// and what an operator of Python has raised. Ctrl-C ends a run.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> onnxtxt.Session(model).run({"x": np.array([-1, 2], np.float32)}, intermediate=["h"])
    /// {'y': array([1., 0.], dtype=float32), 'h': array([ 1., -2.], dtype=float32)}
    #[pyo3(signature = (feeds, outputs = None, *, intermediate = None, timeout = None, seed = 0, threads = None))]
    fn run<'py>(
        &self,
        feeds: &Bound<'py, PyDict>,
        outputs: Option<Vec<String>>,
        intermediate: Option<Bound<'py, PyAny>>,
        timeout: Option<f64>,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = feeds.py();
        let names = match intermediate {
            None => outputs,
            Some(more) => Some(self.names(outputs, &more)?),
        };
        let ready = self.variant(py, names.as_deref())?;
        let results = ready.run_dict(feeds, &self.args(timeout, seed, threads))?;
        ready.dictionary(py, results)
    }

    /// The same, with the results as a list in the order of `outputs`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> onnxtxt.Session(model).run_list({"x": np.array([-1, 2], np.float32)}, ["y", "h"])
    /// [array([1., 0.], dtype=float32), array([ 1., -2.], dtype=float32)]
    #[pyo3(signature = (feeds, outputs = None, *, timeout = None, seed = 0, threads = None))]
    fn run_list<'py>(
        &self,
        feeds: &Bound<'py, PyDict>,
        outputs: Option<Bound<'py, PyAny>>,
        timeout: Option<f64>,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let py = feeds.py();
        let ready = match outputs {
            None => Arc::clone(&self.ready),
            Some(names) => match names.extract::<Vec<String>>() {
                // As in ONNX Runtime, no names are all names.
                Ok(names) if names.is_empty() => Arc::clone(&self.ready),
                Ok(names) => self.variant(py, Some(&names))?,
                Err(why) => {
                    return Err(PyTypeError::new_err(format!(
                        "the names of outputs are {}, expected a list of str, or None for all: {}",
                        names.get_type().name()?,
                        why.value(py)
                    )));
                }
            },
        };
        let results = ready.run_dict(feeds, &self.args(timeout, seed, threads))?;
        ready.list(py, results)
    }

    /// Cancels the runs of other threads: they raise `Error`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> session = onnxtxt.Session(model)
    /// >>> session.cancel()
    /// >>> session.run({"x": np.array([-1, 2], np.float32)})
    /// {'y': array([1., 0.], dtype=float32)}
    fn cancel(&self) {
        let cancel = std::mem::take(&mut *self.cancel.lock().unwrap_or_else(PoisonError::into_inner));
        cancel.store(true, Ordering::Relaxed);
    }

    /// The model, as it was given.
    #[getter]
    fn model(&self) -> PyModel {
        PyModel::of(self.ready.loaded.clone())
    }

    /// The description of the model, with the names of `onnxruntime.ModelMetadata`.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let model = &self.ready.loaded.model;
        let graph = model.main.and_then(|body| Some(&model.bodies[body].graphs[model.bodies[body].root()?]));
        let header = &model.header;
        let dict = PyDict::new(py);
        dict.set_item("producer_name", model.text(header.producer_name))?;
        dict.set_item("graph_name", graph.map_or("", |graph| model.text(graph.name)))?;
        dict.set_item("domain", model.text(header.domain))?;
        dict.set_item("description", model.text(header.doc))?;
        dict.set_item("graph_description", graph.map_or("", |graph| model.text(graph.doc)))?;
        dict.set_item("version", header.model_version.unwrap_or(0))?;
        let entries = header.metadata.iter().map(|entry| (model.text(entry.key), model.text(entry.value)));
        dict.set_item("custom_metadata_map", entries.collect::<Vec<_>>().into_py_dict(py)?)?;
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let ports = |ports: Vec<PyPort>| ports.iter().map(PyPort::shown).collect::<Vec<_>>().join(", ");
        format!("<onnxtxt.Session ({}) => ({})>", ports(self.inputs()), ports(self.outputs()))
    }

    /// A session is pickled as its model and its options.
    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let bytes = py.detach(|| {
            let options = SaveOptions { form: Some(Form::Binary), ..SaveOptions::default() };
            let mut bytes = Vec::new();
            let saved = self.ready.loaded.clone().write_to(&mut bytes, &options).map_err(unwritten)?;
            if saved.is_written { Ok(bytes) } else { Err(refused(&self.ready.loaded, &saved.losses)) }
        })?;
        let options = PyDict::new(py);
        options.set_item("threads", self.given.threads)?;
        options.set_item("max_memory", self.given.max_memory)?;
        options.set_item("exact", self.given.exact)?;
        options.set_item("unchecked", self.given.unchecked)?;
        options.set_item("operators", self.given.operators.as_ref())?;
        options.set_item("cache", self.given.cache.as_ref())?;
        Ok((PyTuple::new(py, [PyBytes::new(py, &bytes)])?, options))
    }
}

impl PySession {
    pub(super) fn args(&self, timeout: Option<f64>, seed: u64, threads: Option<usize>) -> RunArgs {
        let cancel = Arc::clone(&self.cancel.lock().unwrap_or_else(PoisonError::into_inner));
        let Given { threads: usual, max_memory, .. } = self.given;
        RunArgs { threads: threads.or(usual), seed, timeout, max_memory, cancel: Some(cancel) }
    }

    /// The model that computes these values.
    pub(super) fn variant(&self, py: Python<'_>, names: Option<&[String]>) -> PyResult<Arc<Ready>> {
        let Some(names) = names else { return Ok(Arc::clone(&self.ready)) };
        if self.ready.has_outputs(names) {
            return Ok(Arc::clone(&self.ready));
        }
        if let Some(known) = self.variants().get(names) {
            return Ok(Arc::clone(known));
        }
        let made = py.detach(|| {
            let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
            let mut loaded = self.ready.loaded.computing(&borrowed).map_err(|found| vec![*found])?;
            let executable = loaded.compile_unchecked(&self.options)?;
            Ok::<_, Vec<Diagnostic>>(Arc::new(Ready::new(executable, loaded)))
        });
        let made = made.map_err(|found| refused(&self.ready.loaded, &found))?;
        let mut variants = self.variants();
        if variants.len() >= MAX_VARIANTS {
            variants.clear();
        }
        variants.insert(names.to_vec(), Arc::clone(&made));
        Ok(made)
    }

    fn variants(&self) -> MutexGuard<'_, HashMap<Vec<String>, Arc<Ready>>> {
        self.variants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of outputs, and of results between.
    fn names(&self, outputs: Option<Vec<String>>, more: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let mut names = outputs.unwrap_or_else(|| self.ready.output_names());
        let more = match more.cast::<PyBool>() {
            Ok(all) if all.is_true() => results(&self.ready.loaded.model),
            Ok(_) => Vec::new(),
            Err(_) => more.extract::<Vec<String>>().map_err(|_| {
                let kind = more.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
                PyTypeError::new_err(format!("intermediate is {kind}, expected a list of names, or True"))
            })?,
        };
        for name in more {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }
}

/// The names of the results of the main graph.
fn results(model: &Model) -> Vec<String> {
    let Some(body) = model.main.map(|body| &model.bodies[body]) else { return Vec::new() };
    let Some(graph) = body.root() else { return Vec::new() };
    let nodes = body.graphs[graph].nodes.iter();
    let values = nodes.flat_map(|node| body.nodes[*node].outputs.iter().flatten());
    values.map(|value| model.names[body.values[*value].name].to_string()).collect()
}

/// The model with numbers for symbols in the shapes of its inputs.
fn with_sizes(py: Python<'_>, loaded: Loaded, sizes: Vec<(String, i64)>) -> PyResult<Loaded> {
    let options = SetShape { sizes, ..SetShape::default() };
    let done = py.detach(|| {
        let mut model = loaded.model.clone();
        set_shape(&mut model, loaded.registry(), &options).map(|_| loaded.became(model))
    });
    done.map_err(|found| refused(&loaded, &found))
}

/// The operators of a session: those that are registered with its model, and those of the argument.
fn given_operators<'py>(
    model: &Bound<'py, PyAny>,
    operators: Option<Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Ok(model) = model.cast::<PyModel>() else { return Ok(operators) };
    let registered = model.get().operators(model.py());
    if registered.is_empty() {
        return Ok(operators);
    }
    let all = registered.copy()?;
    if let Some(operators) = operators {
        all.update(operators.as_mapping())?;
    }
    Ok(Some(all))
}

/// The folder of the argument `cache`, if there is to be a cache.
fn cache_folder(cache: &Bound<'_, PyAny>) -> PyResult<Option<PathBuf>> {
    if let Ok(is_on) = cache.cast::<PyBool>() {
        let path = || WeightCache::default_path(|name| std::env::var_os(name));
        return Ok(is_on.is_true().then(path).flatten());
    }
    match cache.extract::<PathBuf>() {
        Ok(path) => Ok(Some(path)),
        Err(_) => Err(PyTypeError::new_err(format!(
            "cache is {}, expected a bool, or the path of a folder",
            cache.get_type().name()?
        ))),
    }
}

/// The cache for packed weights in a folder; a warning if it cannot be used.
fn weight_cache(py: Python<'_>, path: &Path) -> PyResult<Option<Arc<dyn PackedStore>>> {
    match py.detach(|| WeightCache::open(path, WeightCache::MAX_BYTES)) {
        Ok(cache) => Ok(Some(Arc::new(cache))),
        Err(why) => {
            let cause = std::error::Error::source(&why).map(|cause| format!(": {cause}")).unwrap_or_default();
            warn(py, &format!("packed weights are not kept: {why}{cause}"))?;
            Ok(None)
        }
    }
}

/// The model of an argument.
fn loaded_of(model: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    let py = model.py();
    if let Ok(model) = model.cast::<PyModel>() {
        return Ok(model.get().snapshot(py));
    }
    let bytes = if let Ok(bytes) = model.cast::<PyBytes>() {
        Some(Bytes::copy_from_slice(bytes.as_bytes()))
    } else if model.is_instance_of::<PyByteArray>() {
        Some(Bytes::from(model.extract::<Vec<u8>>()?))
    } else if model.hasattr("SerializeToString")? {
        Some(Bytes::from(model.call_method0("SerializeToString")?.extract::<Vec<u8>>()?))
    } else {
        None
    };
    if let Some(bytes) = bytes {
        return Ok(py.detach(|| onnxtxt::decode(bytes)));
    }
    let Ok(path) = model.extract::<PathBuf>() else {
        let kind = model.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "the model is {kind}, expected a Model, a path, bytes or an onnx.ModelProto"
        )));
    };
    py.detach(|| onnxtxt::open(path)).map_err(unwritten)
}
