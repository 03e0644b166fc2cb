//! Commands that cut models and put them together: `extract`, `insert`, `replace`, `concat`.

use super::change::edited;
use super::report::PyReport;
use super::selection::{chosen, nodes_of, values_of};
use super::{invalid, map_of, part_of};
use crate::model::PyModel;
use onnx_ir::pass::Report;
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{self, Concat, extract, extract_nodes, nodes_between, replace};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

#[pymethods]
impl PyModel {
    /// The part of the model between values, as a new model: the values of `from_` become its inputs (by default the inputs of the model that
    /// the outputs depend on), those of `to` its outputs. Or `nodes`, and what they read and others read of them.
    ///
    /// Values and nodes are objects, names, or selections such as `op:Conv`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> part = model.extract(to="h")
    /// >>> [node.op_type for node in part.graph.nodes], part.graph.outputs[0].name
    /// (['Neg'], 'h')
    #[pyo3(signature = (*, from_ = None, to = None, nodes = None))]
    fn extract(
        &self,
        py: Python<'_>,
        from_: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
        nodes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyModel> {
        if nodes.is_some() == to.is_some() {
            return Err(invalid("expected either `to`, with or without `from_`, or `nodes`"));
        }
        let (from, to, nodes) = (chosen(py, self, from_)?, chosen(py, self, to)?, chosen(py, self, nodes)?);
        let (became, _) = self.shared.read_long(py, |state| {
            edited(state.in_order(), Vec::new(), |model, _| {
                let registry = registry_of(model);
                if !nodes.is_empty() {
                    let nodes = nodes_of(model, &nodes)?;
                    return Ok(extract_nodes(model, registry, &nodes));
                }
                let (from, to) = (values_of(model, &from)?, values_of(model, &to)?);
                Ok(extract(model, registry, &from, &to))
            })
        })?;
        PyModel::edited(py, became).with_operators_of(py, self)
    }

    /// Puts a part between a value and everything that reads it. The part is a model, or something to read one from, with one input for the
    /// value and one output; other inputs belong to values of this model by name, or as the dict `map` says.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> part = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] v) => (float[N] w) { w = Exp(v) }')
    /// >>> report = model.insert("h", part, map={"v": "h"})
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Neg', 'Exp', 'Relu']
    #[pyo3(signature = (at, part, *, map = None))]
    fn insert(
        &self,
        py: Python<'_>,
        at: &Bound<'_, PyAny>,
        part: &Bound<'_, PyAny>,
        map: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyReport> {
        let (at, map) = (chosen(py, self, Some(at))?, map_of(map)?);
        let part = part_of(py, part)?;
        self.change_with(py, "insert", vec![part], |model, parts| {
            let values = values_of(model, &at)?;
            let [value] = values[..] else {
                return Err(invalid(format!("{} values are selected, not one", values.len())));
            };
            Ok(edit::insert(model, value, &parts[0], &map.into_iter().collect()))
        })
    }

    /// Puts a part in place of some nodes: `nodes`, or those that compute `to` from `from_`. Inputs and outputs of the part belong to values of
    /// this model by name, or as the dict `map` says.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> part = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] h) { h = Abs(x) }')
    /// >>> report = model.replace(part, from_="x", to="h")
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Abs', 'Relu']
    #[pyo3(signature = (part, *, nodes = None, from_ = None, to = None, map = None))]
    fn replace(
        &self,
        py: Python<'_>,
        part: &Bound<'_, PyAny>,
        nodes: Option<&Bound<'_, PyAny>>,
        from_: Option<&Bound<'_, PyAny>>,
        to: Option<&Bound<'_, PyAny>>,
        map: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyReport> {
        let (nodes, from, to) = (chosen(py, self, nodes)?, chosen(py, self, from_)?, chosen(py, self, to)?);
        let map = map_of(map)?;
        let part = part_of(py, part)?;
        self.change_with(py, "replace", vec![part], |model, parts| {
            let nodes = if nodes.is_empty() {
                let (from, to) = (values_of(model, &from)?, values_of(model, &to)?);
                nodes_between(model, &from, &to)
            } else {
                nodes_of(model, &nodes)?
            };
            if nodes.is_empty() {
                return Err(invalid("there is no node between these values"));
            }
            Ok(replace(model, &nodes, &parts[0], &map.into_iter().collect()))
        })
    }

    /// Appends other models: outputs become inputs of the same names, or as the dict `map` says for one other model. With `keep_outputs`, they
    /// stay outputs as well.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> second = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] v) => (float[N] w) { w = Exp(v) }')
    /// >>> report = model.concat(second, map={"y": "v"})
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Neg', 'Relu', 'Exp']
    #[pyo3(signature = (*others, map = None, keep_outputs = false))]
    fn concat(
        &self,
        py: Python<'_>,
        others: &Bound<'_, PyTuple>,
        map: Option<&Bound<'_, PyDict>>,
        keep_outputs: bool,
    ) -> PyResult<PyReport> {
        let options = Concat { map: map_of(map)?, keep_outputs };
        if !options.map.is_empty() && others.len() != 1 {
            return Err(invalid("`map` is about two models: join others one by one"));
        }
        let others = others.iter().map(|other| part_of(py, &other)).collect::<PyResult<Vec<_>>>()?;
        self.change_with(py, "concat", others, |model, others| {
            let mut all = Report::default();
            for other in others {
                match edit::concat(model, other, &options) {
                    Ok(report) => all.changes.extend(report.changes),
                    Err(found) => return Ok(Err(found)),
                }
            }
            Ok(Ok(all))
        })
    }
}
