//! Commands that change names, shapes and descriptions: `rename`, `set_shape`, `strip`.

use super::report::PyReport;
use super::{invalid, map_of};
use crate::model::PyModel;
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{Rename, Rule, SetShape, Strip, rename, set_shape, strip};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pymethods]
impl PyModel {
    /// Renames values, nodes and symbols of dimensions: a dict from old to new names. An old name between slashes is a regular expression, whose
    /// groups the new one refers to as `$1`. Without `values`, `nodes` and `symbols`, all three are renamed.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> report = model.rename({"x": "image", "N": "batch"})
    /// >>> model.graph.inputs[0]
    /// <onnxtxt.Value float[batch] image>
    #[pyo3(signature = (rules, *, values = false, nodes = false, symbols = false))]
    fn rename(
        &self,
        py: Python<'_>,
        rules: &Bound<'_, PyDict>,
        values: bool,
        nodes: bool,
        symbols: bool,
    ) -> PyResult<PyReport> {
        let rule = |(old, new): (String, String)| Rule::parse(&format!("{old}={new}")).map_err(invalid);
        let rules = map_of(Some(rules))?.into_iter().map(rule).collect::<PyResult<Vec<_>>>()?;
        let all = !(values || nodes || symbols);
        let options = Rename { rules, values: all || values, nodes: all || nodes, symbols: all || symbols };
        self.change(py, "rename", |model| Ok(rename(model, &options)))
    }

    /// Sets dimensions of inputs, and infers all other types again: `set_shape(N=4)` sets a symbol, `shapes={"x": [1, 3, "H", None]}` the shape
    /// of an input, `dynamic={"batch": 0}` a symbol for an axis of every input.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> report = model.set_shape(N=4)
    /// >>> model.graph.outputs[0].shape
    /// (4,)
    #[pyo3(signature = (*, shapes = None, dynamic = None, **sizes))]
    fn set_shape(
        &self,
        py: Python<'_>,
        shapes: Option<&Bound<'_, PyDict>>,
        dynamic: Option<&Bound<'_, PyDict>>,
        sizes: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyReport> {
        let numbers = |dict: Option<&Bound<'_, PyDict>>| -> PyResult<Vec<(String, i64)>> {
            let pairs = dict.into_iter().flat_map(|dict| dict.iter());
            pairs.map(|(name, number)| Ok((name.extract()?, number.extract()?))).collect()
        };
        let sizes = numbers(sizes)?;
        if let Some((name, size)) = sizes.iter().find(|(_, size)| *size < 0) {
            return Err(invalid(format!("invalid size {size} of `{name}`: expected a non-negative integer")));
        }
        let dim = |dim: Bound<'_, PyAny>| -> PyResult<String> {
            if dim.is_none() { Ok("?".to_owned()) } else { Ok(dim.str()?.to_string()) }
        };
        let shape = |(name, shape): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> PyResult<(String, Vec<String>)> {
            let dims = shape.try_iter()?.map(|item| dim(item?)).collect::<PyResult<Vec<_>>>()?;
            match dims.iter().find(|dim| dim.starts_with('-')) {
                Some(dim) => Err(invalid(format!(
                    "invalid size {dim}: expected a non-negative integer, a symbol or None"
                ))),
                None => Ok((name.extract()?, dims)),
            }
        };
        let shapes =
            shapes.into_iter().flat_map(|dict| dict.iter()).map(shape).collect::<PyResult<Vec<_>>>()?;
        let options = SetShape { sizes, shapes, dynamic: numbers(dynamic)? };
        if options.sizes.is_empty() && options.shapes.is_empty() && options.dynamic.is_empty() {
            return Err(invalid("nothing to set: give the size of a symbol, `shapes` or `dynamic`"));
        }
        self.change(py, "set_shape", |model| Ok(set_shape(model, registry_of(model), &options)))
    }

    /// Removes documentation, metadata, inferable declarations and unused parts. Without options, all but the names of nodes; what the model
    /// computes does not change.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.doc_string = "documentation"
    /// >>> report = model.strip(docs=True)
    /// >>> model.doc_string
    /// ''
    #[pyo3(signature = (*, docs = false, names = false, metadata = false, value_info = false, unused = false))]
    fn strip(
        &self,
        py: Python<'_>,
        docs: bool,
        names: bool,
        metadata: bool,
        value_info: bool,
        unused: bool,
    ) -> PyResult<PyReport> {
        let asked = Strip { docs, names, metadata, value_info, unused };
        let options = if asked == Strip::default() { Strip::USUAL } else { asked };
        self.change(py, "strip", |model| Ok(strip(model, registry_of(model), options)))
    }
}
