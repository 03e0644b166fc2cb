//! Commands that compare models: `diff`, `merge`, `semver`.

use super::model_of;
use crate::finding::{failed, refused};
use crate::model::module::object_of;
use crate::model::{PyModel, complete};
use onnxtxt::describe::VersionChange;
use onnxtxt::diff::{ModelDiff, Options as DiffOptions, diff, render};
use pyo3::prelude::*;
use serde_json::json;

/// The differences between two models: `bool(difference)` tells whether there are any, `str(difference)` lists them.
#[pyclass(name = "Difference", module = "onnxtxt", frozen)]
pub(crate) struct PyDifference {
    diff: ModelDiff,
}

impl PyDifference {
    fn style() -> render::DiffStyle {
        render::DiffStyle { color: false, stat: false, names: None }
    }
}

#[pymethods]
impl PyDifference {
    /// The differences as dicts and lists, as `onnxtxt diff --json` prints them.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.diff(model.copy()).to_dict()["equal"]
    /// True
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (render::json(&self.diff),))
    }

    /// The differences for a comment on a pull request.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> other = model.copy()
    /// >>> other.graph.nodes[0].op_type = "Abs"
    /// >>> "Abs" in model.diff(other).markdown()
    /// True
    fn markdown(&self) -> String {
        render::markdown(&self.diff, &PyDifference::style())
    }

    /// The differences as a page for browsers.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> "<html" in model.diff(model.copy()).html()
    /// True
    fn html(&self) -> String {
        render::html(&self.diff, &PyDifference::style())
    }

    /// The numbers of differences on one line.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> other = model.copy()
    /// >>> other.graph.nodes[0].op_type = "Abs"
    /// >>> print(model.diff(other).stat())
    /// nodes: 1 changed · version: patch
    fn stat(&self) -> String {
        render::stat(&self.diff)
    }

    fn __bool__(&self) -> bool {
        !self.diff.is_empty()
    }

    fn __str__(&self) -> String {
        render::human(&self.diff, &PyDifference::style())
    }

    fn __repr__(&self) -> String {
        format!("<onnxtxt.Difference {}>", render::stat(&self.diff).trim_end())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        // A page of its own, so that its style does not apply to the notebook.
        let quoted: String = py.import("html")?.call_method1("escape", (self.html(),))?.extract()?;
        Ok(format!("<iframe srcdoc=\"{quoted}\" style=\"width:100%;height:24em;border:0\"></iframe>"))
    }
}

#[pymethods]
impl PyModel {
    /// The differences to another model, by names and structure: `bool(difference)` tells whether there are any. With `interface`, only what users
    /// of the models see is compared.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> other = model.copy()
    /// >>> other.graph.nodes[0].op_type = "Abs"
    /// >>> print(model.diff(other))
    /// nodes
    ///   ~ h = Abs
    ///     ~ op_type: Neg → Abs
    /// nodes: 1 changed · version: patch
    /// <BLANKLINE>
    #[pyo3(signature = (other, *, interface = false))]
    fn diff(&self, py: Python<'_>, other: &Bound<'_, PyAny>, interface: bool) -> PyResult<PyDifference> {
        let (mut old, mut new) = (self.snapshot(py), model_of(py, other)?);
        complete(py, &mut old)?;
        complete(py, &mut new)?;
        let diff = py.detach(|| diff(&old.model, &new.model, &DiffOptions { interface }));
        Ok(PyDifference { diff })
    }

    /// Merges the changes that `ours` and `theirs` made to this model, and returns the result.
    ///
    /// Raises `onnxtxt.Error` with the paths of the conflicts if both changed the same thing.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> ours, theirs = model.copy(), model.copy()
    /// >>> ours.graph.nodes[0].op_type = "Abs"
    /// >>> theirs.graph.nodes[1].op_type = "Tanh"
    /// >>> [node.op_type for node in model.merge(ours, theirs).graph.nodes]
    /// ['Abs', 'Tanh']
    fn merge(&self, py: Python<'_>, ours: &Bound<'_, PyAny>, theirs: &Bound<'_, PyAny>) -> PyResult<PyModel> {
        let (base, ours, theirs) = (self.snapshot(py), model_of(py, ours)?, model_of(py, theirs)?);
        for loaded in [&base, &ours, &theirs] {
            let lost = loaded.lost_parts();
            if !lost.is_empty() {
                return Err(refused(loaded, &lost));
            }
        }
        let merged =
            py.detach(|| onnxtxt::merge::merge(&base.model, &ours.model, &theirs.model)).map_err(failed)?;
        if !merged.conflicts.is_empty() {
            let paths: Vec<&str> = merged.conflicts.iter().map(|conflict| &*conflict.path).collect();
            return Err(failed(format!("both sides changed {}", paths.join(", "))));
        }
        PyModel::edited(py, ours.became(merged.ours)).with_operators_of(py, self)
    }

    /// How a newer version of this model affects its users, as `onnxtxt semver --json` prints it: a dict with `old`, `new`, `needed` (`PATCH`,
    /// `MINOR`, `MAJOR` or `None`), `enough` (whether `model_version` says so), `least` (the least version that does), and `differences`, a list
    /// of dicts with `step` (the part of the version) and `message`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> other = model.copy()
    /// >>> other.graph.inputs[0].name = "image"
    /// >>> model.semver(other)["needed"]
    /// 'MAJOR'
    fn semver<'py>(&self, py: Python<'py>, newer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (mut old, mut new) = (self.snapshot(py), model_of(py, newer)?);
        complete(py, &mut old)?;
        complete(py, &mut new)?;
        let change = py.detach(|| VersionChange::between(&old.model, &new.model)).map_err(failed)?;
        object_of(py, &change.json(|found| json!({ "step": found.impact.name(), "message": found.message })))
    }
}
