//! Commands that show a model: `draw`, `stats`, and its form in notebooks.

use super::invalid;
use super::selection::{chosen, nodes_of};
use crate::finding::{escaped, failed, refused};
use crate::model::module::{self, object_of};
use crate::model::{PyModel, one_of};
use onnx_ops::opset::registry_of;
use onnxtxt::describe::{CostKey, ModelCosts};
use onnxtxt::draw::{Collapse, Options as DrawOptions, draw};
use onnxtxt::edit::SetShape;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

#[pymethods]
impl PyModel {
    /// A drawing of the graph: `svg`, `html`, `dot` or `mermaid`, as text, or in a file whose name says the form. `select` selects nodes to draw,
    /// as objects or as selections.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.draw(form="mermaid").splitlines()[0]
    /// 'flowchart TB'
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
            module::write(py, &path, text.as_bytes())?;
        }
        Ok(text)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let svg = self.draw(py, None, Some("svg"), None)?;
        let text = escaped(&self.text(py, "onnx", false)?);
        // Long texts, such as those with weights, are for files.
        let text: String = text.chars().take(100_000).collect();
        Ok(format!(
            "{svg}<details><summary>text</summary><pre style=\"white-space:pre\">{text}</pre></details>"
        ))
    }

    /// The costs of the model, as `onnxtxt stats --format json` prints them: a dict with `parameters`, `parameter_bytes`, `macs`, `flops`,
    /// `read_bytes`, `written_bytes`, `peak_activation_bytes` (of memory for inputs and results), `peak_at` and `nodes`, a list of dicts with
    /// `name`, `op`, `result`, `macs`, `flops`, `read_bytes` and more. Costs are numbers, texts with symbols such as `N*64`, or `None` where a
    /// shape is unknown. `by` sorts the nodes: `order`, `macs`, `flops` or `bytes`. Sizes of symbols can be given: `stats(N=1)`.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) <float[2] w = {3, 4}> { y = Add(x, w) }')
    /// >>> model.stats()["parameters"], model.stats()["flops"]
    /// (2, 2)
    #[pyo3(signature = (*, by = "order", **sizes))]
    fn stats<'py>(
        &self,
        py: Python<'py>,
        by: &str,
        sizes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keys = [
            ("order", CostKey::Order),
            ("macs", CostKey::Macs),
            ("flops", CostKey::Flops),
            ("bytes", CostKey::Bytes),
        ];
        let by = one_of("sort key", by, &keys)?;
        let sizes: Vec<(String, i64)> = sizes
            .into_iter()
            .flat_map(|dict| dict.iter())
            .map(|(name, size)| Ok((name.extract()?, size.extract()?)))
            .collect::<PyResult<_>>()?;
        let loaded = self.snapshot(py);
        let sizes = SetShape { sizes, ..SetShape::default() };
        let costs = py.detach(|| ModelCosts::of(&loaded.model, loaded.registry(), &sizes));
        match costs.map_err(|found| refused(&loaded, &found))? {
            Some(mut costs) => object_of(py, &costs.json(by)),
            None => Err(failed("the model has no graph")),
        }
    }
}
