//! Commands about weights: `quantize`, `weights`, `set_weights`, `share_weights`.

use super::invalid;
use super::report::PyReport;
use super::run::Runnable;
use super::selection::{chosen, nodes_of};
use crate::finding::failed;
use crate::model::tensor::{array_of, stored};
use crate::model::{PyModel, complete, one_of};
use crate::progress::Progress;
use onnx_ir::{ElemType, NodeId, Tensor};
use onnxtxt::Ranges;
use onnxtxt::edit::{self, Quantize, Scheme, Selection, quantize, set_weights, share_weights, weights};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// A file of weights that cannot be written or read.
fn unusable(why: impl std::fmt::Display) -> PyErr {
    failed(format!("{why:#}"))
}

/// The ranges of activations for these inputs.
fn measured(
    py: Python<'_>,
    model: &PyModel,
    calibrate: &Bound<'_, PyAny>,
    percentile: Option<f64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<BTreeMap<String, (f64, f64)>> {
    let runnable = Runnable::new(py, model)?;
    let all = runnable.inputs(calibrate)?;
    let mut progress = Progress::begin(py, progress, "calibrate", Some(all.len()))?;
    let mut ranges = Ranges::new(percentile);
    for inputs in all {
        runnable.work(py, |runnable, options| {
            ranges.measure(&runnable.executable, inputs, options).map_err(|found| vec![*found])
        })?;
        progress.advance()?;
    }
    Ok(ranges.known().clone())
}

#[pymethods]
impl PyModel {
    /// Stores weights as integers. By default, activations are quantized when the model runs (`dynamic`); `weights="int8"` or `"int4"` quantizes
    /// weights alone, in blocks of `block_size`; `calibrate` quantizes everything, with the ranges that activations have for these inputs: a
    /// dict of arrays, the path of an archive (.npz), or a list of them, each of which is a run. `percentile` (between 50 and 100) leaves out
    /// the smallest and largest numbers of a run. Or `ranges` says the ranges: a dict from names of values to pairs of the smallest and the
    /// largest number. `exclude` selects nodes that stay as they are. `progress` shows how many of the runs are done: `True`, `False`, or a
    /// function of the number of those that are done and of all; by default, notebooks show it.
    ///
    /// Raises `onnxtxt.Error` if nothing can be quantized, or if the model cannot be run with these inputs.
    ///
    /// >>> import numpy as np, onnxtxt
    /// >>> b = onnxtxt.GraphBuilder(opset=21)
    /// >>> y = b.output(b.MatMul(b.input("x", "float[N,4]"), np.eye(4, dtype=np.float32)), "y")
    /// >>> model = b.build()
    /// >>> report = model.quantize(calibrate={"x": np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)})
    /// >>> sorted({node.op_type for node in model.graph.nodes})
    /// ['DequantizeLinear', 'MatMul', 'QuantizeLinear']
    #[pyo3(signature = (*, weights = None, block_size = None, ranges = None, calibrate = None, percentile = None, per_channel = false, exclude = None, progress = None))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn quantize(
        &self,
        py: Python<'_>,
        weights: Option<&str>,
        block_size: Option<usize>,
        ranges: Option<BTreeMap<String, (f64, f64)>>,
        calibrate: Option<&Bound<'_, PyAny>>,
        percentile: Option<f64>,
        per_channel: bool,
        exclude: Option<&Bound<'_, PyAny>>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyReport> {
        let elem = weights
            .map(|name| {
                one_of("type of weights", name, &[("int8", ElemType::INT8), ("int4", ElemType::INT4)])
            })
            .transpose()?;
        if block_size == Some(0) || block_size.is_some() && elem.is_none() {
            return Err(invalid("`block_size` is a positive number, for `weights`"));
        }
        if [elem.is_some(), ranges.is_some(), calibrate.is_some()].iter().filter(|is| **is).count() > 1 {
            let why =
                "`weights` quantizes weights alone, `ranges` and `calibrate` everything: give one of them";
            return Err(invalid(why));
        }
        if percentile
            .is_some_and(|percentile| !(percentile > 50.0 && percentile <= 100.0) || calibrate.is_none())
        {
            return Err(invalid("`percentile` is a number above 50 and up to 100, for `calibrate`"));
        }
        let ranges = match calibrate {
            Some(calibrate) => Some(measured(py, self, calibrate, percentile, progress)?),
            None => ranges,
        };
        let exclude = chosen(py, self, exclude)?;
        self.change(py, "quantize", |model| {
            let excluded: HashSet<NodeId> = nodes_of(model, &exclude)?.into_iter().collect();
            let scheme = match (&ranges, elem) {
                (Some(ranges), _) => Scheme::Static { ranges },
                (None, Some(elem)) => {
                    // As the command: integers of 4 bits need small blocks.
                    let block = block_size.or((elem == ElemType::INT4).then_some(32));
                    Scheme::Weights { elem, block }
                }
                (None, None) => Scheme::Dynamic,
            };
            let options = Quantize { scheme, per_channel, keep: &|node| excluded.contains(&node) };
            Ok(quantize(model, &options, &mut Vec::new()))
        })
    }

    /// The weights of the main graph and of graphs nested in it, as a dict from names to arrays that share the memory of the model.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.weights()
    /// {'w': array([3., 4.], dtype=float32)}
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = self.shared.read(py, |state| {
            let model = state.model();
            let named = |weight| (edit::weight_name(model, weight).to_owned(), weight.tensor);
            (model.main, weights(model).into_iter().map(named).collect::<Vec<_>>())
        });
        let dict = PyDict::new(py);
        if let (Some(body), all) = all {
            for (name, tensor) in all {
                dict.set_item(name, array_of(py, &self.shared, body, tensor)?)?;
            }
        }
        Ok(dict)
    }

    /// Replaces weights by name: a dict of arrays. Types and shapes must be those of the weights; others stay as they are.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> report = model.set_weights({"w": np.array([5, 6], np.float32)})
    /// >>> model.weights()
    /// {'w': array([5., 6.], dtype=float32)}
    fn set_weights(&self, py: Python<'_>, arrays: &Bound<'_, PyDict>) -> PyResult<PyReport> {
        let tensor =
            |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((name.extract()?, stored(&array)?));
        let new: BTreeMap<String, Tensor> = arrays.iter().map(tensor).collect::<PyResult<_>>()?;
        self.change(py, "set_weights", |model| Ok(set_weights(model, &new)))
    }

    /// Writes the weights into a file for other tools: .npz or .safetensors, as its name says. `only` selects weights by name, such as `w` or
    /// `/encoder.*/`. Returns their number.
    ///
    /// Raises `onnxtxt.Error` if nothing is selected, or if the file has another form or cannot be written.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.export_weights("weights.npz")
    /// 1
    /// >>> np.load("weights.npz")["w"]
    /// array([3., 4.], dtype=float32)
    #[pyo3(signature = (path, *, only = None))]
    fn export_weights(&self, py: Python<'_>, path: PathBuf, only: Option<Vec<String>>) -> PyResult<usize> {
        let only = only.unwrap_or_default();
        let only: Vec<Selection> =
            only.iter().map(|text| text.parse().map_err(invalid)).collect::<PyResult<_>>()?;
        let mut loaded = self.snapshot(py);
        complete(py, &mut loaded)?;
        py.detach(|| onnx_cli::export_weights(&path, &loaded.model, &only)).map_err(unusable)
    }

    /// Replaces weights by those of the same names in a file, .npz or .safetensors. Types and shapes must be those of the weights; others stay
    /// as they are.
    ///
    /// Raises `onnxtxt.Error` if a weight does not fit, or if the file cannot be read.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> np.savez("weights.npz", w=np.array([5, 6], np.float32))
    /// >>> report = model.import_weights("weights.npz")
    /// >>> model.weights()
    /// {'w': array([5., 6.], dtype=float32)}
    fn import_weights(&self, py: Python<'_>, path: PathBuf) -> PyResult<PyReport> {
        self.change(py, "import_weights", |model| onnx_cli::import_weights(&path, model).map_err(unusable))
    }

    /// Stores equal weights once.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[1] x) => (float[1] y) <float[1] a = {3}, float[1] b = {3}> { t = Add(x, a) y = Mul(t, b) }')
    /// >>> report = model.share_weights()
    /// >>> len(model.weights())
    /// 1
    fn share_weights(&self, py: Python<'_>) -> PyResult<PyReport> {
        self.change(py, "share_weights", |model| Ok(share_weights(model)))
    }
}
