//! Parts of models by themselves: graphs, functions, nodes, types and declarations as text or as bytes.

use super::source::{Source, StrIs};
use super::{PyModel, findings};
use crate::finding::{Finding, failed, refused, unwritten};
use bytes::Bytes;
use onnx_proto::FileKind;
use onnx_text::RaiseOptions;
use onnxtxt::{File, Form, Level, Part};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A part of a model in a file or text of its own: a graph, a function, a node, a type, or a declaration. `kind` says what it is, `str(part)` is its
/// text.
#[pyclass(name = "Part", module = "onnxtxt", frozen)]
pub(crate) struct PyPart {
    part: Part,
    kind: FileKind,
}

#[pymethods]
impl PyPart {
    /// Its kind: `graph`, `function`, `node`, `type`, `declaration` or `attribute`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            FileKind::Graph => "graph",
            FileKind::Function => "function",
            FileKind::Node => "node",
            FileKind::Type => "type",
            FileKind::ValueInfo => "declaration",
            _ => "attribute",
        }
    }

    /// The model that has nothing but this part, to look at its graph and nodes.
    #[getter]
    fn model(&self) -> PyModel {
        PyModel::of(self.part.loaded().clone())
    }

    /// All findings up to a level, as a list. Rules about what is around the part do not apply.
    ///
    /// >>> part = onnxtxt.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(z) }")
    /// >>> [finding.code for finding in part.check("spec")]
    /// ['E0203']
    #[pyo3(signature = (level = "types"))]
    fn check<'py>(&self, py: Python<'py>, level: &str) -> PyResult<Bound<'py, PyAny>> {
        let level: Level = super::level(level)?;
        let found = py.detach(|| Finding::all(self.part.loaded(), &self.part.check(level)));
        findings(py, found)
    }

    /// The part as text.
    ///
    /// >>> onnxtxt.parse_type("float[N, 3]").text()
    /// 'float[N,3]\n'
    fn text(&self, py: Python<'_>) -> String {
        py.detach(|| self.part.text(&RaiseOptions::default()))
    }

    fn __str__(&self, py: Python<'_>) -> String {
        self.text(py)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let text = self.text(py);
        format!("<onnxtxt.Part {}: {}>", self.kind(), text.trim().lines().next().unwrap_or_default())
    }

    /// The encoded message, such as a `NodeProto`.
    ///
    /// >>> onnxtxt.parse_type("float[N,3]").to_bytes()
    /// b'\n\r\x08\x01\x12\t\n\x03\x12\x01N\n\x02\x08\x03'
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.part.encode()).map_err(failed)?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// Reads a part, whose kind is known.
fn read(py: Python<'_>, source: &Bound<'_, PyAny>, kind: FileKind) -> PyResult<PyPart> {
    let mut file = match Source::of(source, StrIs::Text)? {
        Source::Path(path) => py.detach(|| File::open(&path)).map_err(unwritten)?,
        Source::Text(text) => {
            let mut file = File::new("<text>".to_owned(), None, Bytes::copy_from_slice(text.as_bytes()));
            file.form = Form::Text;
            file
        }
        Source::Bytes(bytes) => File::new("<bytes>".to_owned(), Some(PathBuf::new()), bytes),
    };
    file.path = file.path.filter(|path| !path.as_os_str().is_empty());
    file.kind = kind;
    let part = py.detach(|| file.part()).ok_or_else(|| failed("internal error: not a part of a model"))?;
    let lost = part.loaded().lost_parts();
    if !lost.is_empty() {
        return Err(refused(part.loaded(), &lost));
    }
    Ok(PyPart { part, kind })
}

macro_rules! parsers {
    ($($name:ident, $kind:ident, $doc:literal, $example:literal;)*) => {
        $(
            #[doc = $doc]
            ///
            /// `source` is a `str`, `bytes` or another buffer, a `PathLike`, an open file, or a message of the package onnx. Raises `onnxtxt.Error` if it
            /// cannot be read.
            ///
            #[doc = $example]
            #[pyfunction]
            fn $name(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyPart> {
                read(py, source, FileKind::$kind)
            }
        )*

        pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            module.add_class::<PyPart>()?;
            $(module.add_function(wrap_pyfunction!($name, module)?)?;)*
            Ok(())
        }
    };
}

parsers! {
    parse_graph, Graph, "Reads a graph, such as `g (float[N] x) => (float[N] y) { y = Relu(x) }`.",
        r#">>> onnxtxt.parse_graph("g (float[N] x) => (float[N] y) { y = Relu(x) }").kind
'graph'"#;
    parse_function, Function, "Reads a function, such as `<domain: \"local\", opset_import: [\"\": 21]> f (x) => (y) { y = Relu(x) }`.",
        r#">>> onnxtxt.parse_function('<domain: "local", opset_import: ["": 21]> f (x) => (y) { y = Relu(x) }')
<onnxtxt.Part function: <domain: "local", opset_import: ["": 21]>>"#;
    parse_node, Node, "Reads a node, such as `y = LeakyRelu <alpha = 0.1> (x)`.",
        r#">>> onnxtxt.parse_node("y = LeakyRelu <alpha=0.1>(x)")
<onnxtxt.Part node: y = LeakyRelu <alpha = 0.1> (x)>"#;
    parse_type, Type, "Reads a type, such as `seq(float[N,3])`.",
        r#">>> onnxtxt.parse_type("seq( float[N, 3] )")
<onnxtxt.Part type: seq(float[N,3])>"#;
    parse_value, ValueInfo, "Reads the declaration of a value, such as `float[N,3] image`.",
        r#">>> onnxtxt.parse_value("float[N,3]  image")
<onnxtxt.Part declaration: float[N,3] image>"#;
    parse_attribute, Attribute, "Reads an attribute, such as `axes = [0, -1]`.",
        r#">>> onnxtxt.parse_attribute("axes = [0,-1]")
<onnxtxt.Part attribute: axes = [0, -1]>"#;
}
