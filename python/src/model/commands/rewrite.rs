//! Commands that rewrite nodes without changing what the model computes: `infer`, `simplify`, `convert_opset`, `inline`, `outline`, and fixes.

use super::change::edited;
use super::invalid;
use super::report::PyReport;
use super::run::Verification;
use super::selection::{chosen, nodes_of};
use crate::finding::{Finding, failed};
use crate::model::{PyModel, findings, header, module};
use crate::session::interruptible;
use onnx_ir::pass::{Inline, Report, compact, inline, is_function, outline};
use onnx_ir::{FunctionId, Model};
use onnx_ops::functions::{Expand, expand};
use onnx_ops::infer::InferOptions;
use onnx_ops::opset::registry_of;
use onnx_ops::pass::{Pass, simplify};
use onnx_ops::schema::Schema;
use onnxtxt::edit::Edited;
use pyo3::prelude::*;

#[pymethods]
impl PyModel {
    /// Infers types and shapes and declares them, in this model. Returns findings about contradictions as a list. Views stay valid.
    ///
    /// With `known_defaults`, an initializer that is an input as well counts as known, as if no caller replaced it. Without `propagates`, only
    /// elements of constants are known, and not those that nodes compute from them.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse('''<ir_version: 10, opset_import: ["": 21]>
    /// ... g (float[6] x, int64[2] s) => (y) <int64[2] s = {2, 3}> { y = Reshape(x, s) }''')
    /// >>> model.infer(known_defaults=True), model.graph.outputs[0].shape
    /// ([], (2, 3))
    #[pyo3(signature = (*, known_defaults = false, propagates = true))]
    fn infer<'py>(
        &self,
        py: Python<'py>,
        known_defaults: bool,
        propagates: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = InferOptions { known_defaults, propagates, ..InferOptions::default() };
        let found = self.shared.write_watched(py, |state| {
            let lost = state.loaded().lost_parts();
            if !lost.is_empty() {
                return Ok(Finding::all(state.loaded(), &lost));
            }
            // Contradictions are about the model as it was, which is where they have places.
            let before = state.is_edited().then(|| {
                let mut before = state.in_order();
                let found = before.infer_with(&options);
                Finding::all(&before, &found)
            });
            let loaded = state.loaded_mut();
            let found = loaded.infer_with(&options);
            let found = before.unwrap_or_else(|| Finding::all(loaded, &found));
            state.edit()?;
            Ok::<_, PyErr>(found)
        })??;
        findings(py, found)
    }

    /// Computes what is known before the model runs, removes nodes that do nothing, fuses nodes, computes the same thing once, and removes what
    /// nothing uses, until nothing changes. What the model computes stays the same, but for rounding.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { t = Identity(x) y = Relu(t) }')
    /// >>> bool(model.simplify()), len(model.graph.nodes)
    /// (True, 1)
    ///
    /// With `verify`, both models are run, and nothing is changed if their outputs differ: `True` for random inputs, or a dict of arrays,
    /// the path of an archive (.npz), or a list of them. `rtol` and `atol` are the allowed differences (1e-3 and 1e-5, more for models of low
    /// precision). `progress` shows how many of the runs are done: `True`, `False`, or a function of the number of those that are done and of
    /// all; by default, notebooks show it.
    ///
    /// Raises `onnxtxt.Error` if the outputs differ, or if the model cannot be run.
    #[pyo3(signature = (*, verify = None, rtol = None, atol = None, progress = None))]
    fn simplify(
        &self,
        py: Python<'_>,
        verify: Option<&Bound<'_, PyAny>>,
        rtol: Option<f64>,
        atol: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyReport> {
        let Some(verification) = Verification::of(py, self, verify, (rtol, atol), progress)? else {
            return self.change(py, "simplify", |model| Ok(Ok(simplify(model))));
        };
        // Runs may call functions of Python that use this model: it is not locked meanwhile.
        let (changes, loaded) = self.shared.read_long(py, |state| (state.changes(), state.in_order()));
        let (became, report) = interruptible(py, || {
            edited(loaded, Vec::new(), |model, _| {
                let report = simplify(model);
                let registry = registry_of(model);
                let different = verification.differences(registry, model)?;
                // A run that Ctrl-C ends has a finding, so that the model does not change.
                Ok(if different.is_empty() { Ok(report) } else { Err(different) })
            })
        })??;
        self.shared.write(py, |state| {
            if state.changes() != changes {
                return Err(failed("the model was changed while it was verified: nothing was simplified"));
            }
            state.replace(became, "simplify");
            Ok(report)
        })
    }

    /// Runs passes by name, in order: `dead-code`, `common-subexpressions`, `topological-sort`, …; `onnxtxt.passes()` lists them.
    ///
    /// Raises `ValueError` for an unknown pass.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.graph.append("Abs", ["x"])
    /// <onnxtxt.Node abs = Abs(x)>
    /// >>> bool(model.run_passes("dead-code"))
    /// True
    /// >>> len(model.graph.nodes)
    /// 2
    #[pyo3(signature = (*names))]
    fn run_passes(&self, py: Python<'_>, names: Vec<String>) -> PyResult<PyReport> {
        let passes: Vec<Pass> =
            names.iter().map(|name| Pass::parse(name).map_err(invalid)).collect::<PyResult<_>>()?;
        self.change(py, "run_passes", |model| Ok(run_passes(model, &passes)))
    }

    /// Converts the model to other versions of its operator sets: a version of ai.onnx, or a dict from domains to versions.
    ///
    /// Raises `onnxtxt.Error` if a node cannot be converted.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> report = model.convert_opset(17)
    /// >>> dict(model.opset_imports)
    /// {'': 17}
    fn convert_opset(&self, py: Python<'_>, version: &Bound<'_, PyAny>) -> PyResult<PyReport> {
        let versions: Vec<(String, i64)> = match version.extract::<i64>() {
            Ok(version) => vec![(String::new(), version)],
            Err(_) => header::pairs_of(version)?,
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
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21, "my": 1]> g (float[N] x) => (float[N] y) { y = my.Twice(x) } <domain: "my", opset_import: ["": 21]> Twice (a) => (b) { b = Add(a, a) }')
    /// >>> report = model.inline()
    /// >>> [node.op_type for node in model.graph.nodes]
    /// ['Add']
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
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> report = model.outline(["h", "y"], "local.NegRelu")
    /// >>> model.graph.nodes[0].op_type, model.functions[0].name
    /// ('NegRelu', 'NegRelu')
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

    /// Applies fixes of findings, the safe ones unless `unsafe_fixes` is true, until none is left. Returns the number of findings that were fixed.
    ///
    /// >>> import onnxtxt
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["" 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
    /// >>> model.fix(), model.check()
    /// (1, [])
    #[pyo3(signature = (*, unsafe_fixes = false, level = "types"))]
    fn fix(&self, py: Python<'_>, unsafe_fixes: bool, level: &str) -> PyResult<usize> {
        let level = crate::model::level(level)?;
        self.shared.write(py, |state| module::fix(state, unsafe_fixes, level))
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
