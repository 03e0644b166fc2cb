//! The commands of the program that are about models, as methods with the names and options of its commands.
//!
//! A method that changes the model works on a copy, refuses a result with errors that the model does not have, and returns a [`PyReport`].

use super::attributes::type_name;
use super::module::object_of;
use super::node::PyNode;
use super::state::State;
use super::tensor::stored;
use super::value::PyValue;
use super::{PyModel, complete, findings, level, load, one_of};
use crate::finding::{Finding, escaped, failed, refused, with_findings};
use onnx_ir::diag::Diagnostic;
use onnx_ir::pass::{Inline, Report, compact, inline, is_function, outline};
use onnx_ir::semver::{Impact, Version, differences};
use onnx_ir::{ElemType, FunctionId, Model, NodeId, Tensor, ValueId};
use onnx_ops::functions::{Expand, expand};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::{Pass, simplify};
use onnx_ops::schema::Schema;
use onnxtxt::diff::{ModelDiff, Options as DiffOptions, diff, render};
use onnxtxt::draw::{Collapse, Options as DrawOptions, draw};
use onnxtxt::edit::{
    Concat, Edited, Incoming, Quantize, Rename, Rule, Scheme, Selection, SetShape, Strip, extract,
    extract_nodes, main_value, new_errors, nodes_between, quantize, relocate, rename, replace, set_shape,
    set_weights, share_weights, strip, weights,
};
use onnxtxt::reduce::{Oracle, Size, reduce};
use onnxtxt::{Loaded, edit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

/// The changes of a method: `str(report)` is `2 nodes removed, 1 node replaced`, and `bool(report)` tells whether anything has changed.
#[pyclass(name = "Report", module = "onnxtxt", frozen)]
pub(crate) struct PyReport {
    report: Report,
    found: Vec<Finding>,
}

#[pymethods]
impl PyReport {
    /// The changes as tuples `(count, noun, verb)`.
    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.report.changes.iter().map(|change| (change.count, change.noun, change.verb)))
    }

    /// Findings about changes that could not be made, or not as expected.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        findings(py, self.found.clone())
    }

    fn __bool__(&self) -> bool {
        self.report.is_changed()
    }

    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<onnxtxt.Report {}>", self.report)
    }
}

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
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (render::json(&self.diff),))
    }

    /// The differences for a comment on a pull request.
    fn markdown(&self) -> String {
        render::markdown(&self.diff, &PyDifference::style())
    }

    /// The differences as a page for browsers.
    fn html(&self) -> String {
        render::html(&self.diff, &PyDifference::style())
    }

    /// The numbers of differences on one line.
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

/// Nodes or values that a caller selects, independent of ids.
#[derive(Clone)]
enum Chosen {
    /// A node by its place in the order of the text.
    Node(usize),
    Value(String),
    Text(Selection),
}

fn chosen(py: Python<'_>, model: &PyModel, object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Chosen>> {
    let Some(object) = object else { return Ok(Vec::new()) };
    let is_one = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyNode>()
        || object.is_instance_of::<PyValue>();
    let items: Vec<Bound<'_, PyAny>> =
        if is_one { vec![object.clone()] } else { object.try_iter()?.collect::<PyResult<_>>()? };
    items.iter().map(|item| one(py, model, item)).collect()
}

fn one(py: Python<'_>, model: &PyModel, object: &Bound<'_, PyAny>) -> PyResult<Chosen> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Chosen::Text(text.to_str()?.parse().map_err(invalid)?));
    }
    let elsewhere = || PyValueError::new_err("the node or value is not in the main graph of this model");
    model.shared.read(py, |state| {
        let main = state.model().main.ok_or_else(elsewhere)?;
        if let Ok(node) = object.cast::<PyNode>() {
            let node = node.get();
            node.get(state)?;
            let mut all = state.model().bodies[main].walk().nodes();
            let is_here = std::sync::Arc::ptr_eq(node.shared(), &model.shared) && node.body() == main;
            let at = if is_here { all.position(|other| other == node.id()) } else { None };
            return at.map(Chosen::Node).ok_or_else(elsewhere);
        }
        let Ok(value) = object.cast::<PyValue>() else {
            let message =
                format!("expected a Node, a Value or a selection as text, not {}", type_name(object));
            return Err(PyTypeError::new_err(message));
        };
        let value = value.get();
        if !std::sync::Arc::ptr_eq(value.shared(), &model.shared) || value.body() != main {
            return Err(elsewhere());
        }
        Ok(Chosen::Value(state.model().names[value.get(state)?.name].to_owned()))
    })
}

fn invalid(why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(why.to_string())
}

fn nodes_of(model: &Model, chosen: &[Chosen]) -> PyResult<Vec<NodeId>> {
    let mut nodes = Vec::new();
    for one in chosen {
        match one {
            Chosen::Node(at) => nodes.extend(Selection::Number(*at).nodes(model)),
            Chosen::Value(name) => nodes.extend(Selection::Name(name.clone()).nodes(model)),
            Chosen::Text(selection) => {
                selection.ensure_some(model).map_err(invalid)?;
                nodes.extend(selection.nodes(model));
            }
        }
    }
    Ok(nodes)
}

fn values_of(model: &Model, chosen: &[Chosen]) -> PyResult<Vec<ValueId>> {
    let mut values = Vec::new();
    for one in chosen {
        match one {
            Chosen::Node(at) => values.extend(Selection::Number(*at).values(model).map_err(invalid)?),
            Chosen::Value(name) => {
                let value = main_value(model, name);
                values.push(value.ok_or_else(|| invalid(format!("no value of the main graph is `{name}`")))?);
            }
            Chosen::Text(selection) => values.extend(selection.values(model).map_err(invalid)?),
        }
    }
    Ok(values)
}

/// An edit on a copy of a model. Returns what the model becomes, and the report.
fn edited(
    state: &State,
    others: Vec<Loaded>,
    run: impl FnOnce(&mut Model, &[Incoming]) -> PyResult<Edited>,
) -> PyResult<(Loaded, PyReport)> {
    let mut loaded = state.in_order();
    let lost = loaded.lost_parts();
    if !lost.is_empty() {
        return Err(refused(&loaded, &lost));
    }
    let mut model = loaded.model.clone();
    let others: Vec<Incoming> = others.into_iter().map(|other| loaded.adopt(other)).collect();
    let mut report = match run(&mut model, &others)? {
        Ok(report) => report,
        Err(mut found) => {
            relocate(&mut found, &model, &loaded.model);
            return Err(refused(&loaded, &found));
        }
    };
    relocate(&mut report.diagnostics, &model, &loaded.model);
    let found = Finding::all(&loaded, &report.diagnostics);
    if report.diagnostics.iter().any(Diagnostic::is_error) {
        return Err(with_findings(found));
    }
    // So that findings about the result have places.
    compact(&mut model);
    let (new, _) = new_errors(&loaded.model, &model);
    let became = loaded.became(model);
    if !new.is_empty() {
        return Err(refused(&became, &new));
    }
    Ok((became, PyReport { report, found }))
}

impl PyModel {
    fn change(
        &self,
        py: Python<'_>,
        name: &'static str,
        run: impl FnOnce(&mut Model) -> PyResult<Edited> + Send,
    ) -> PyResult<PyReport> {
        self.change_with(py, name, Vec::new(), |model, _| run(model))
    }

    fn change_with(
        &self,
        py: Python<'_>,
        name: &'static str,
        others: Vec<Loaded>,
        run: impl FnOnce(&mut Model, &[Incoming]) -> PyResult<Edited> + Send,
    ) -> PyResult<PyReport> {
        self.shared.write(py, |state| {
            let (became, report) = edited(state, others, run)?;
            state.replace(became, name);
            Ok(report)
        })
    }
}

/// A model that a caller gives: one, or something to read it from.
pub(crate) fn model_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    if let Ok(model) = object.cast::<PyModel>() {
        return Ok(model.get().snapshot(py));
    }
    let model = load(py, super::Source::of(object, super::StrIs::Path)?, None)?;
    Ok(model.snapshot(py))
}

/// A part that goes into a model, with its weights.
fn part_of(py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<Loaded> {
    let mut part = model_of(py, object)?;
    complete(py, &mut part)?;
    Ok(part)
}

/// Pairs of names.
fn map_of(map: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let pairs = map.into_iter().flat_map(|map| map.iter());
    pairs.map(|(key, value)| Ok((key.extract()?, value.extract()?))).collect()
}

#[pymethods]
impl PyModel {
    /// Infers types and shapes and declares them, in this model. Returns findings about contradictions as a list. Views stay valid.
    fn infer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.shared.write(py, |state| {
            let lost = state.loaded().lost_parts();
            if !lost.is_empty() {
                return Ok(Finding::all(state.loaded(), &lost));
            }
            let before = if state.is_edited() { Some(state.in_order()) } else { None };
            let loaded = state.loaded_mut();
            let found = loaded.infer();
            // Contradictions are about the model as it was, which is where they have places.
            let found = match before {
                Some(mut before) => {
                    let found = before.infer();
                    Finding::all(&before, &found)
                }
                None => Finding::all(loaded, &found),
            };
            state.edit()?;
            Ok::<_, PyErr>(found)
        })?;
        findings(py, found)
    }

    /// Computes what is known before the model runs, removes nodes that do nothing, fuses nodes, computes the same thing once, and removes what
    /// nothing uses, until nothing changes. What the model computes stays the same, but for rounding.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Identity(x) y = Relu(t) }')
    /// >>> bool(model.simplify()), len(model.graph.nodes)
    /// (True, 1)
    fn simplify(&self, py: Python<'_>) -> PyResult<PyReport> {
        self.change(py, "simplify", |model| Ok(Ok(simplify(model))))
    }

    /// Runs passes by name, in order: `dead-code`, `common-subexpressions`, `topological-sort`, …; `onnxtxt.passes()` lists them.
    ///
    /// Raises `ValueError` for an unknown pass.
    #[pyo3(signature = (*names))]
    fn run_passes(&self, py: Python<'_>, names: Vec<String>) -> PyResult<PyReport> {
        let passes: Vec<Pass> =
            names.iter().map(|name| Pass::parse(name).map_err(invalid)).collect::<PyResult<_>>()?;
        self.change(py, "run_passes", |model| Ok(run_passes(model, &passes)))
    }

    /// Converts the model to other versions of its operator sets: a version of ai.onnx, or a dict from domains to versions.
    ///
    /// Raises `onnxtxt.Error` if a node cannot be converted.
    fn convert_opset(&self, py: Python<'_>, version: &Bound<'_, PyAny>) -> PyResult<PyReport> {
        let versions: Vec<(String, i64)> = match version.extract::<i64>() {
            Ok(version) => vec![(String::new(), version)],
            Err(_) => super::header::pairs_of(version)?,
        };
        let word = |(domain, version): (String, i64)| {
            let colon = if domain.is_empty() { "" } else { ":" };
            Pass::parse(&format!("convert-opset={domain}{colon}{version}")).map_err(invalid)
        };
        let passes: Vec<Pass> = versions.into_iter().map(word).collect::<PyResult<_>>()?;
        self.change(py, "convert_opset", |model| Ok(run_passes(model, &passes)))
    }

    /// Replaces calls of functions by their bodies.
    ///
    /// `only` names functions (`name`, `domain.name`, `domain.name:overload`), or operators with `schema`; `depth` keeps calls in bodies that are
    /// this deep; with `schema`, operators that are defined by a function are expanded too.
    #[pyo3(signature = (*, only = None, depth = None, max_nodes = None, schema = false))]
    fn inline(
        &self,
        py: Python<'_>,
        only: Option<Vec<String>>,
        depth: Option<u32>,
        max_nodes: Option<u64>,
        schema: bool,
    ) -> PyResult<PyReport> {
        let only = only.unwrap_or_default();
        let max_nodes = max_nodes.unwrap_or(onnx_ir::pass::MAX_NODES);
        self.change(py, "inline", |model| {
            let is_only = |is: &dyn Fn(&str) -> bool| only.is_empty() || only.iter().any(|name| is(name));
            let select = |model: &Model, f: FunctionId| is_only(&|name| is_function(model, f, name));
            let options = Inline { select: &select, depth, max_nodes, others: None };
            let mut report = inline(model, registry_of(model), options);
            compact(model);
            if schema {
                let select = |schema: &Schema| is_only(&|name| is_operator(schema, name));
                let more = expand(model, registry_of(model), &Expand { select: &select, depth, max_nodes });
                report.changes.extend(more.changes);
                report.diagnostics.extend(more.diagnostics);
            }
            Ok(Ok(report))
        })
    }

    /// Moves nodes into a new function `domain.name`, and calls it in their place. `nodes` are nodes, or selections such as `op:Conv`, `/enc*/`,
    /// `#17` or a name.
    fn outline(&self, py: Python<'_>, nodes: &Bound<'_, PyAny>, name: &str) -> PyResult<PyReport> {
        let chosen = chosen(py, self, Some(nodes))?;
        let Some((domain, name)) = name.rsplit_once('.') else {
            return Err(invalid(format!("`{name}` is not of the form domain.name")));
        };
        self.change(py, "outline", |model| {
            let mut report = Report::default();
            let Some(body) = model.main else { return Ok(Ok(report)) };
            let nodes = nodes_of(model, &chosen)?;
            match outline(model, body, &nodes, domain, name) {
                Ok(_) => report.note(1, "function", "made"),
                Err(found) => return Ok(Err(found)),
            }
            Ok(Ok(report))
        })
    }

    /// The part of the model between values, as a new model: the values of `from_` become its inputs (by default the inputs of the model that
    /// the outputs depend on), those of `to` its outputs. Or `nodes`, and what they read and others read of them.
    ///
    /// Values and nodes are objects, names, or selections such as `op:Conv`.
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
            edited(state, Vec::new(), |model, _| {
                let registry = registry_of(model);
                if !nodes.is_empty() {
                    let nodes = nodes_of(model, &nodes)?;
                    return Ok(extract_nodes(model, registry, &nodes));
                }
                let (from, to) = (values_of(model, &from)?, values_of(model, &to)?);
                Ok(extract(model, registry, &from, &to))
            })
        })?;
        Ok(PyModel::edited(py, became))
    }

    /// Puts a part between a value and everything that reads it. The part is a model, or something to read one from, with one input for the
    /// value and one output; other inputs belong to values of this model by name, or as the dict `map` says.
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

    /// Renames values, nodes and symbols of dimensions: a dict from old to new names. An old name between slashes is a regular expression, whose
    /// groups the new one refers to as `$1`. Without `values`, `nodes` and `symbols`, all three are renamed.
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

    /// Stores weights as integers. By default, activations are quantized when the model runs (`dynamic`); `weights="int8"` or `"int4"` quantizes
    /// weights alone, in blocks of `block_size`; `ranges`, a dict from names of values to pairs of the smallest and the largest number, quantizes
    /// everything. `exclude` selects nodes that stay as they are.
    #[pyo3(signature = (*, weights = None, block_size = None, ranges = None, per_channel = false, exclude = None))]
    fn quantize(
        &self,
        py: Python<'_>,
        weights: Option<&str>,
        block_size: Option<usize>,
        ranges: Option<BTreeMap<String, (f64, f64)>>,
        per_channel: bool,
        exclude: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyReport> {
        let elem = weights
            .map(|name| {
                one_of("type of weights", name, &[("int8", ElemType::INT8), ("int4", ElemType::INT4)])
            })
            .transpose()?;
        if block_size == Some(0) || block_size.is_some() && elem.is_none() {
            return Err(invalid("`block_size` is a positive number, for `weights`"));
        }
        if elem.is_some() && ranges.is_some() {
            return Err(invalid("`weights` quantizes weights alone, `ranges` everything: give one of them"));
        }
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
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = self.shared.read(py, |state| {
            let model = state.model();
            let named = |weight| (edit::weight_name(model, weight).to_owned(), weight.tensor);
            (model.main, weights(model).into_iter().map(named).collect::<Vec<_>>())
        });
        let dict = PyDict::new(py);
        if let (Some(body), all) = all {
            for (name, tensor) in all {
                dict.set_item(name, super::tensor::array_of(py, &self.shared, body, tensor)?)?;
            }
        }
        Ok(dict)
    }

    /// Replaces weights by name: a dict of arrays. Types and shapes must be those of the weights; others stay as they are.
    fn set_weights(&self, py: Python<'_>, arrays: &Bound<'_, PyDict>) -> PyResult<PyReport> {
        let tensor =
            |(name, array): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((name.extract()?, stored(&array)?));
        let new: BTreeMap<String, Tensor> = arrays.iter().map(tensor).collect::<PyResult<_>>()?;
        self.change(py, "set_weights", |model| Ok(set_weights(model, &new)))
    }

    /// Stores equal weights once.
    fn share_weights(&self, py: Python<'_>) -> PyResult<PyReport> {
        self.change(py, "share_weights", |model| Ok(share_weights(model)))
    }

    /// The differences to another model, by names and structure: `bool(difference)` tells whether there are any. With `interface`, only what users
    /// of the models see is compared.
    #[pyo3(signature = (other, *, interface = false))]
    fn diff(&self, py: Python<'_>, other: &Bound<'_, PyAny>, interface: bool) -> PyResult<PyDifference> {
        let (mut old, mut new) = (self.snapshot(py), model_of(py, other)?);
        for loaded in [&mut old, &mut new] {
            let mut found = loaded.lost_parts();
            if found.is_empty() {
                found = py.detach(|| loaded.load_weights());
            }
            if !found.is_empty() {
                return Err(refused(loaded, &found));
            }
        }
        let diff = py.detach(|| diff(&old.model, &new.model, &DiffOptions { interface }));
        Ok(PyDifference { diff })
    }

    /// Merges the changes that `ours` and `theirs` made to this model, and returns the result.
    ///
    /// Raises `onnxtxt.Error` with the paths of the conflicts if both changed the same thing.
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
        Ok(PyModel::edited(py, ours.became(merged.ours)))
    }

    /// How a newer version of this model affects its users: a dict with `needed` (`PATCH`, `MINOR`, `MAJOR` or `None`), `enough` (whether
    /// `model_version` says so), `least` (the least version that does), and `differences`, a list of pairs of impact and message.
    fn semver<'py>(&self, py: Python<'py>, newer: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let (old, new) = (self.snapshot(py), model_of(py, newer)?);
        let mut found: Vec<(Impact, String)> = differences(&old.model, &new.model)
            .into_iter()
            .map(|found| (found.impact, found.message))
            .collect();
        if found.is_empty() {
            let bytes = |loaded: &Loaded| {
                let mut model = loaded.model.clone();
                model.header.model_version = None;
                onnx_proto::write(&model).map_err(failed)
            };
            if bytes(&old)? != bytes(&new)? {
                let message = "the interface has not changed, but the implementation has".to_owned();
                found.push((Impact::Patch, message));
            }
        }
        let version = |loaded: &Loaded| Version::of(loaded.model.header.model_version);
        let (was, is) = (version(&old), version(&new));
        let needed = found.iter().map(|(impact, _)| *impact).max();
        let dict = PyDict::new(py);
        dict.set_item("old", was.to_string())?;
        dict.set_item("new", is.to_string())?;
        dict.set_item("needed", needed.map(Impact::name))?;
        dict.set_item("least", needed.map(|impact| was.next(impact).to_string()))?;
        dict.set_item("enough", was.announces(is, needed))?;
        let rows = found.into_iter().map(|(impact, message)| (impact.name(), message));
        dict.set_item("differences", PyList::new(py, rows)?)?;
        Ok(dict)
    }

    /// A drawing of the graph: `svg`, `html`, `dot` or `mermaid`, as text, or in a file whose name says the form. `select` selects nodes to draw,
    /// as objects or as selections.
    #[pyo3(signature = (path = None, *, form = None, select = None))]
    fn draw(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        form: Option<&str>,
        select: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let named = path.as_ref().and_then(|path| path.extension()).and_then(|extension| extension.to_str());
        let named = match named {
            Some("svg") => Some("svg"),
            Some("html" | "htm") => Some("html"),
            Some("dot" | "gv") => Some("dot"),
            Some("mmd" | "mermaid") => Some("mermaid"),
            _ => None,
        };
        let form = match (form, named, &path) {
            (Some(form), ..) => form,
            (None, Some(named), _) => named,
            (None, None, None) => "svg",
            (None, None, Some(path)) => {
                let message = format!(
                    "the name of {} does not say which form to draw: end it with .svg, .html, .dot or .mmd",
                    path.display()
                );
                return Err(invalid(message));
            }
        };
        let known = [("svg", 0), ("html", 1), ("dot", 2), ("mermaid", 3)];
        let form = one_of("form of drawings", form, &known)?;
        let chosen = select.map(|select| chosen(py, self, Some(select))).transpose()?;
        let text = self.shared.read_long(py, |state| {
            let loaded = state.in_order();
            let nodes = chosen.map(|chosen| nodes_of(&loaded.model, &chosen)).transpose()?;
            let title = loaded.file().path.as_ref().and_then(|path| path.file_name());
            let title = title.map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned());
            let options = DrawOptions { title, nodes, collapse: Collapse::Auto, statistics: form == 1 };
            let drawing = draw(&loaded.model, registry_of(&loaded.model), &options);
            Ok::<_, PyErr>(match form {
                0 => drawing.svg(),
                1 => drawing.html(),
                2 => drawing.dot(),
                _ => drawing.mermaid(),
            })
        })?;
        if let Some(path) = path {
            super::module::write(py, &path, text.as_bytes())?;
        }
        Ok(text)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let svg = self.draw(py, None, Some("svg"), None)?;
        let text = escaped(&self.text(py, "onnx")?);
        // Long texts, such as those with weights, are for files.
        let text: String = text.chars().take(100_000).collect();
        Ok(format!(
            "{svg}<details><summary>text</summary><pre style=\"white-space:pre\">{text}</pre></details>"
        ))
    }

    /// The costs of the model: a dict with `parameters`, `parameter_bytes`, `macs`, `flops`, `read`, `written`, `peak` (bytes of memory for results) and
    /// `nodes`, a list of dicts with `name`, `op_type`, `macs`, `flops`, `read` and `written`. Costs are numbers, texts with symbols such as
    /// `N*64`, or `None` where a shape is unknown. Sizes of symbols can be given: `stats(N=1)`.
    #[pyo3(signature = (**sizes))]
    fn stats<'py>(&self, py: Python<'py>, sizes: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>> {
        let sizes: Vec<(String, i64)> = sizes
            .into_iter()
            .flat_map(|dict| dict.iter())
            .map(|(name, size)| Ok((name.extract()?, size.extract()?)))
            .collect::<PyResult<_>>()?;
        let loaded = self.snapshot(py);
        let json = py.detach(|| super::module::stats(&loaded, sizes))?;
        object_of(py, &json)
    }

    /// The smallest model for which `fails(model)` is still true, by delta debugging. Candidates with errors are not tried, unless
    /// `may_have_errors` is true.
    ///
    /// Raises `ValueError` if `fails` is not true for this model; exceptions of `fails` end the search and are raised.
    #[pyo3(signature = (fails, *, may_have_errors = false))]
    fn reduce(&self, py: Python<'_>, fails: &Bound<'_, PyAny>, may_have_errors: bool) -> PyResult<PyModel> {
        let loaded = self.snapshot(py);
        let lost = loaded.lost_parts();
        if !lost.is_empty() {
            return Err(refused(&loaded, &lost));
        }
        let mut oracle = Callback { loaded: &loaded, fails: fails.clone().unbind() };
        py.detach(|| {
            if !oracle.fails(&loaded.model)? {
                return Err(invalid("the callback does not return true for the model itself"));
            }
            let reduced = reduce(&loaded.model, may_have_errors, &mut oracle);
            match reduced.stop {
                Some(error) => Err(error),
                None => Ok(reduced.model),
            }
        })
        .map(|model| PyModel::edited(py, loaded.became(model)))
    }

    /// Applies fixes of findings, the safe ones unless `unsafe_fixes` is true, until none is left. Returns the number of findings that were fixed.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["" 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    /// >>> model.fix(), model.check()
    /// (1, [])
    #[pyo3(signature = (*, unsafe_fixes = false, level = "types"))]
    fn fix(&self, py: Python<'_>, unsafe_fixes: bool, level: &str) -> PyResult<usize> {
        let level = self::level(level)?;
        self.shared.write(py, |state| super::module::fix(state, unsafe_fixes, level))
    }
}

impl PyModel {
    /// A model that a command made, which has no text of its own.
    pub(super) fn edited(py: Python<'_>, loaded: Loaded) -> PyModel {
        let model = PyModel::of(loaded.clone());
        model.shared.write(py, |state| state.replace(loaded, "extract"));
        model
    }
}

/// A search that asks a Python function.
struct Callback<'l> {
    loaded: &'l Loaded,
    fails: Py<PyAny>,
}

impl Oracle for Callback<'_> {
    type Stop = PyErr;

    fn fails(&mut self, candidate: &Model) -> Result<bool, PyErr> {
        Python::attach(|py| {
            py.check_signals()?;
            let model = PyModel::edited(py, self.loaded.became(candidate.clone()));
            self.fails.call1(py, (model,))?.bind(py).is_truthy()
        })
    }

    fn found(&mut self, _: &Model, _: &Size) -> Result<(), PyErr> {
        Ok(())
    }
}

/// Passes one after the other.
fn run_passes(model: &mut Model, passes: &[Pass]) -> Edited {
    let mut all = Report::default();
    for pass in passes {
        let outcome = pass.run(model, registry_of(model));
        if !outcome.is_done {
            return Err(outcome.report.diagnostics);
        }
        all.changes.extend(outcome.report.changes);
        // Places in a model that a pass has changed do not refer to the file.
        if passes.len() == 1 {
            all.diagnostics.extend(outcome.report.diagnostics);
        }
    }
    Ok(all)
}

/// Whether a name refers to an operator: `Gelu`, `ai.onnx.Gelu`.
fn is_operator(schema: &Schema, name: &str) -> bool {
    match name.rsplit_once('.') {
        None => schema.name == name,
        Some((domain, name)) => {
            schema.name == name
                && onnx_ir::normalize_domain(domain) == onnx_ir::normalize_domain(&schema.domain)
        }
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyReport>()?;
    module.add_class::<PyDifference>()
}
