//! The header of a model: versions, producer, documentation, metadata, imports.

use super::PyModel;
use super::node::optional_name;
use onnx_ir::{Entry, Model, OpsetImport};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMappingProxy};

/// Metadata as pairs.
pub(crate) fn pairs(model: &Model, entries: &[Entry]) -> Vec<(String, String)> {
    let text = |name| model.text(name).to_owned();
    entries.iter().map(|entry| (text(entry.key), text(entry.value))).collect()
}

/// Pairs as metadata.
pub(crate) fn entries(model: &mut Model, pairs: Vec<(String, String)>) -> Vec<Entry> {
    let mut intern = |text: String| Some(model.names.intern(&text));
    pairs.into_iter().map(|(key, value)| Entry { key: intern(key), value: intern(value) }).collect()
}

/// A mapping that cannot be written: writing would not change the model.
pub(crate) fn proxy<'py, V: IntoPyObject<'py>>(
    py: Python<'py>,
    pairs: Vec<(String, V)>,
) -> PyResult<Bound<'py, PyMappingProxy>> {
    let dict = PyDict::new(py);
    for (key, value) in pairs {
        dict.set_item(key, value)?;
    }
    Ok(PyMappingProxy::new(py, dict.as_mapping()))
}

/// The pairs of a mapping, or of an iterable of pairs.
pub(crate) fn pairs_of<'py, V>(object: &Bound<'py, PyAny>) -> PyResult<Vec<(String, V)>>
where
    for<'a> V: FromPyObject<'a, 'py, Error = PyErr>,
{
    let items = if object.hasattr("items")? { object.call_method0("items")? } else { object.clone() };
    items.try_iter()?.map(|pair| pair?.extract::<(String, V)>()).collect()
}

impl PyModel {
    fn header_text(&self, py: Python<'_>, of: impl FnOnce(&Model) -> Option<onnx_ir::Name>) -> String {
        self.shared.read(py, |state| state.model().text(of(state.model())).to_owned())
    }

    fn set_header(&self, py: Python<'_>, set: impl FnOnce(&mut Model) + Send) -> PyResult<()> {
        self.shared.write(py, |state| {
            set(state.edit()?);
            Ok(())
        })
    }
}

#[pymethods]
impl PyModel {
    /// The version of the format; `None` if the model does not say it.
    #[getter]
    fn ir_version(&self, py: Python<'_>) -> Option<i64> {
        self.shared.read(py, |state| state.model().header.ir_version)
    }

    #[setter]
    fn set_ir_version(&self, py: Python<'_>, version: Option<i64>) -> PyResult<()> {
        self.set_header(py, |model| model.header.ir_version = version)
    }

    /// The version of the model itself.
    #[getter]
    fn model_version(&self, py: Python<'_>) -> Option<i64> {
        self.shared.read(py, |state| state.model().header.model_version)
    }

    #[setter]
    fn set_model_version(&self, py: Python<'_>, version: Option<i64>) -> PyResult<()> {
        self.set_header(py, |model| model.header.model_version = version)
    }

    /// The versions of the imported operator sets by domain, as a read-only mapping; `""` is ai.onnx. Assign a dict to change it;
    /// `convert_opset` converts the nodes as well.
    #[getter]
    fn opset_imports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        let imports = self.shared.read(py, |state| {
            let model = state.model();
            let import = |import: &OpsetImport| (model.text(import.domain).to_owned(), import.version);
            model.header.opset_imports.iter().map(import).collect()
        });
        proxy(py, imports)
    }

    #[setter]
    fn set_opset_imports(&self, py: Python<'_>, imports: &Bound<'_, PyAny>) -> PyResult<()> {
        let imports = pairs_of::<i64>(imports)?;
        self.set_header(py, |model| {
            let names = &mut model.names;
            let import = |(domain, version): (String, i64)| OpsetImport {
                domain: Some(names.intern(&domain)),
                version: Some(version),
            };
            model.header.opset_imports = imports.into_iter().map(import).collect();
        })
    }

    /// The name of the tool that made the model.
    #[getter]
    fn producer_name(&self, py: Python<'_>) -> String {
        self.header_text(py, |model| model.header.producer_name)
    }

    #[setter]
    fn set_producer_name(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.set_header(py, |model| model.header.producer_name = optional_name(model, name))
    }

    /// The version of the tool that made the model.
    #[getter]
    fn producer_version(&self, py: Python<'_>) -> String {
        self.header_text(py, |model| model.header.producer_version)
    }

    #[setter]
    fn set_producer_version(&self, py: Python<'_>, version: &str) -> PyResult<()> {
        self.set_header(py, |model| model.header.producer_version = optional_name(model, version))
    }

    /// The namespace of the model, such as `org.example`.
    #[getter]
    fn domain(&self, py: Python<'_>) -> String {
        self.header_text(py, |model| model.header.domain)
    }

    #[setter]
    fn set_domain(&self, py: Python<'_>, domain: &str) -> PyResult<()> {
        self.set_header(py, |model| model.header.domain = optional_name(model, domain))
    }

    /// The documentation of the model.
    #[getter]
    fn doc_string(&self, py: Python<'_>) -> String {
        self.header_text(py, |model| model.header.doc)
    }

    #[setter]
    fn set_doc_string(&self, py: Python<'_>, doc_string: &str) -> PyResult<()> {
        self.set_header(py, |model| model.header.doc = optional_name(model, doc_string))
    }

    /// The metadata of the model as a read-only mapping. Assign a dict to change it.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMappingProxy>> {
        proxy(py, self.shared.read(py, |state| pairs(state.model(), &state.model().header.metadata)))
    }

    #[setter]
    fn set_metadata(&self, py: Python<'_>, metadata: &Bound<'_, PyAny>) -> PyResult<()> {
        let metadata = pairs_of::<String>(metadata)?;
        self.set_header(py, |model| model.header.metadata = entries(model, metadata))
    }
}
