//! Findings, and the exceptions of calls that have no result.

use onnx_ir::diag::{Diagnostic, Place};
use onnx_text::render::{RenderOptions, SourceText, human};
use onnxtxt::{Loaded, has_entity};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

/// A place of a finding with its role: `Label(message, line, column, span)`.
///
/// `line` and `column` count from 1, `span` is a pair of byte offsets; they are `None` for the model as a whole.
#[pyclass(name = "Label", module = "onnxtxt", frozen, eq, hash, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Label {
    /// The role of the place, such as "defined again".
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    span: Option<(u32, u32)>,
}

#[pymethods]
impl Label {
    #[new]
    #[pyo3(signature = (message, line = None, column = None, span = None))]
    fn new(message: String, line: Option<u32>, column: Option<u32>, span: Option<(u32, u32)>) -> Label {
        Label { message, line, column, span }
    }

    fn __repr__(&self) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("<{line}:{column}: {}>", self.message),
            _ => format!("<{}>", self.message),
        }
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let Label { message, line, column, span } = slf.get();
        Ok((slf.get_type(), (message, line, column, span).into_pyobject(slf.py())?))
    }
}

/// A fix of a finding: `Fix(title, safe, edits)`.
///
/// `edits` are replacements `(start, end, text)` of bytes of the text, in order and without overlap; empty if the fix needs the text of
/// the model. `safe` tells whether the meaning is certainly kept. `Model.fix` applies fixes.
#[pyclass(name = "Fix", module = "onnxtxt", frozen, eq, hash, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Fix {
    /// A description, as an imperative.
    title: String,
    safe: bool,
    edits: Vec<(u32, u32, String)>,
}

#[pymethods]
impl Fix {
    #[new]
    #[pyo3(signature = (title, safe, edits = Vec::new()))]
    fn new(title: String, safe: bool, edits: Vec<(u32, u32, String)>) -> Fix {
        Fix { title, safe, edits }
    }

    /// The text with the edits of this fix.
    ///
    /// Raises `ValueError` if the text is shorter than the one that the finding is about.
    ///
    /// >>> text = "g (flaot[N] x) => (float[N] y) { y = Relu(x) }"
    /// >>> onnxtxt.parse(text).check("syntax")[0].fixes[0].apply(text)
    /// 'g (float[N] x) => (float[N] y) { y = Relu(x) }'
    fn apply(&self, text: &str) -> PyResult<String> {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (start, end, new) in &self.edits {
            let (start, end) = (*start as usize, *end as usize);
            let (Some(kept), Some(_)) = (text.get(at..start), text.get(start..end)) else {
                let message =
                    format!("the text has no bytes {start} to {end}: it is not the text of the finding");
                return Err(pyo3::exceptions::PyValueError::new_err(message));
            };
            out.push_str(kept);
            out.push_str(new);
            at = end;
        }
        Ok(out + &text[at..])
    }

    fn __repr__(&self) -> String {
        format!("<{}fix: {}>", if self.safe { "" } else { "unsafe " }, self.title)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let Fix { title, safe, edits } = slf.get();
        Ok((slf.get_type(), (title, safe, edits.clone()).into_pyobject(slf.py())?))
    }
}

/// A finding about a model: an error, or a warning about what is legal and probably unintended.
///
/// `str(finding)` shows it with the lines that it is about. `line`, `column`, `end_line` and `end_column` count from 1; `span` is a pair of
/// byte offsets. They are places in the text of the model; of a model that is not a text, in its text without weights.
#[pyclass(name = "Finding", module = "onnxtxt", frozen, eq, hash, get_all)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Finding {
    /// The code, such as `E0203`; `onnxtxt.explain` explains it.
    code: String,
    /// The name of the code, such as `value-undefined`.
    name: String,
    /// `error` or `warning`.
    severity: String,
    /// One sentence.
    message: String,
    /// The name of the file, as it was given.
    path: String,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    span: Option<(u32, u32)>,
    /// The place of the finding and other places that explain it, as far as they have something to say.
    labels: Vec<Label>,
    /// Advice, if it is likely right.
    help: Option<String>,
    /// Possible fixes.
    fixes: Vec<Fix>,
    /// The finding with its lines, as the program shows it.
    rendered: String,
    /// The finding with its lines, with colors for a terminal.
    colored: String,
}

#[pymethods]
impl Finding {
    #[new]
    #[pyo3(signature = (code, name, severity, message, path, line, column, end_line, end_column, span, labels, help, fixes, rendered, colored))]
    #[expect(clippy::too_many_arguments, reason = "what pickle stores")]
    fn new(
        code: String,
        name: String,
        severity: String,
        message: String,
        path: String,
        line: Option<u32>,
        column: Option<u32>,
        end_line: Option<u32>,
        end_column: Option<u32>,
        span: Option<(u32, u32)>,
        labels: Vec<Label>,
        help: Option<String>,
        fixes: Vec<Fix>,
        rendered: String,
        colored: String,
    ) -> Finding {
        Finding {
            code,
            name,
            severity,
            message,
            path,
            line,
            column,
            end_line,
            end_column,
            span,
            labels,
            help,
            fixes,
            rendered,
            colored,
        }
    }

    /// Whether it is an error.
    #[getter]
    fn is_error(&self) -> bool {
        self.severity == "error"
    }

    fn __repr__(&self) -> String {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!(" {}:{line}:{column}", self.path),
            _ => String::new(),
        };
        format!("<{} {}{place}: {}>", self.severity, self.code, self.message)
    }

    fn __str__(&self) -> String {
        self.rendered.clone()
    }

    fn _repr_html_(&self) -> String {
        format!("<pre style=\"white-space:pre\">{}</pre>", escaped(&self.rendered))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyType>, Bound<'py, PyTuple>)> {
        let (py, f) = (slf.py(), slf.get());
        let fields = [
            (&f.code).into_pyobject(py)?.into_any(),
            (&f.name).into_pyobject(py)?.into_any(),
            (&f.severity).into_pyobject(py)?.into_any(),
            (&f.message).into_pyobject(py)?.into_any(),
            (&f.path).into_pyobject(py)?.into_any(),
            f.line.into_pyobject(py)?,
            f.column.into_pyobject(py)?,
            f.end_line.into_pyobject(py)?,
            f.end_column.into_pyobject(py)?,
            f.span.into_pyobject(py)?,
            f.labels.clone().into_pyobject(py)?,
            (&f.help).into_pyobject(py)?,
            f.fixes.clone().into_pyobject(py)?,
            (&f.rendered).into_pyobject(py)?.into_any(),
            (&f.colored).into_pyobject(py)?.into_any(),
        ];
        Ok((slf.get_type(), PyTuple::new(py, fields)?))
    }
}

/// Text inside an element of HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl Finding {
    fn of(found: &Diagnostic, source: &SourceText<'_>) -> Finding {
        let span = |place: Place| source.span(place).map(|span| (span.start, span.end));
        let position = |at: Option<u32>| at.map(|at| source.position(at)).map(|at| (at.line, at.column));
        let label = |label: &onnx_ir::diag::Label| {
            let span = span(label.place);
            let (line, column) = position(span.map(|span| span.0)).unzip();
            Label { message: label.text.clone(), line, column, span }
        };
        let labels = std::iter::once(&found.primary).chain(&found.related);
        let at = span(found.primary.place);
        let (line, column) = position(at.map(|span| span.0)).unzip();
        let (end_line, end_column) = position(at.map(|span| span.1)).unzip();
        let fixes = found.fixes.iter().map(|fix| Fix {
            title: fix.title.clone(),
            safe: fix.safe,
            edits: fix.edits.iter().map(|e| (e.span.start, e.span.end, e.text.clone())).collect(),
        });
        let shown = |color| human(found, source, RenderOptions { color, width: 120 });
        Finding {
            code: found.code.id.to_owned(),
            name: found.code.name.to_owned(),
            severity: found.severity.name().to_owned(),
            message: found.message.clone(),
            path: source.name().to_owned(),
            line,
            column,
            end_line,
            end_column,
            span: at,
            labels: labels.filter(|label| !label.text.is_empty()).map(label).collect(),
            help: found.help.clone(),
            fixes: fixes.collect(),
            rendered: shown(false),
            colored: shown(true),
        }
    }

    pub(crate) fn all(loaded: &Loaded, found: &[Diagnostic]) -> Vec<Finding> {
        loaded.with_source(found.iter().any(has_entity), |source| {
            found.iter().map(|found| Finding::of(found, source)).collect()
        })
    }

    pub(crate) fn rendered(&self) -> &str {
        &self.rendered
    }

    pub(crate) fn is_serious(&self) -> bool {
        self.severity == "error"
    }
}

/// The classes of exceptions. Subclasses are what callers may want to catch by itself.
struct Exceptions {
    error: Py<PyType>,
    stale: Py<PyType>,
    file: Py<PyType>,
    missing: Py<PyType>,
}

static EXCEPTIONS: PyOnceLock<Exceptions> = PyOnceLock::new();

fn class<'py>(
    py: Python<'py>,
    name: &str,
    doc: &str,
    bases: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyType>> {
    let dict = PyDict::new(py);
    dict.set_item("__doc__", doc)?;
    dict.set_item("__module__", "onnxtxt")?;
    let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, dict))?;
    Ok(class.cast_into::<PyType>()?)
}

fn exceptions(py: Python<'_>) -> PyResult<&'static Exceptions> {
    EXCEPTIONS.get_or_try_init(py, || {
        let builtins = py.import("builtins")?;
        let doc = "A call has no result. The message has the findings as the program shows them; `findings` has them as data.";
        let error = class(py, "Error", doc, &[builtins.getattr("Exception")?])?;
        error.setattr("findings", PyTuple::empty(py))?;
        let base = error.clone().into_any();
        let doc = "A view of a part of a model that is not there any more.";
        let stale = class(py, "StaleError", doc, std::slice::from_ref(&base))?;
        let doc = "A file cannot be read or written.";
        let file = class(py, "FileError", doc, &[base, builtins.getattr("OSError")?])?;
        let doc = "A file does not exist.";
        let bases = [file.clone().into_any(), builtins.getattr("FileNotFoundError")?];
        let missing = class(py, "MissingFileError", doc, &bases)?;
        Ok(Exceptions {
            error: error.unbind(),
            stale: stale.unbind(),
            file: file.unbind(),
            missing: missing.unbind(),
        })
    })
}

/// An exception of one of the classes; another one if they cannot be made.
fn exception(class: impl FnOnce(&Exceptions) -> &Py<PyType>, message: String) -> PyErr {
    Python::attach(|py| match exceptions(py) {
        Ok(classes) => PyErr::from_type(class(classes).bind(py).clone(), message),
        Err(error) => error,
    })
}

/// The exception for findings about a model.
pub(crate) fn refused(loaded: &Loaded, found: &[Diagnostic]) -> PyErr {
    with_findings(Finding::all(loaded, found))
}

/// The exception for findings.
pub(crate) fn with_findings(findings: Vec<Finding>) -> PyErr {
    let rendered: Vec<&str> = findings.iter().map(Finding::rendered).collect();
    let error = exception(|classes| &classes.error, rendered.join("\n"));
    Python::attach(|py| {
        let findings = findings.into_iter().map(|finding| Bound::new(py, finding));
        let findings: PyResult<Vec<_>> = findings.collect();
        match findings.and_then(|list| error.value(py).setattr("findings", PyTuple::new(py, list)?)) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}

/// The exception for a model that cannot be written.
pub(crate) fn unsaved(loaded: &Loaded, why: onnxtxt::Error) -> PyErr {
    match &why {
        onnxtxt::Error::Model(found) => refused(loaded, found),
        _ => unwritten(why),
    }
}

/// The exception for a file that cannot be read or written.
pub(crate) fn unwritten(why: onnxtxt::Error) -> PyErr {
    // Options have other names in the program.
    let message = with_causes(&why).replace("(--weights sidecar)", "(external_data=True)");
    match &why {
        onnxtxt::Error::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            exception(|classes| &classes.missing, message)
        }
        onnxtxt::Error::Read { .. } | onnxtxt::Error::Write { .. } => {
            exception(|classes| &classes.file, message)
        }
        _ => failed(message),
    }
}

/// An error with its causes.
pub(crate) fn with_causes(why: &dyn std::error::Error) -> String {
    let mut message = why.to_string();
    let mut cause = why.source();
    while let Some(why) = cause {
        message = format!("{message}: {why}");
        cause = why.source();
    }
    message
}

/// The exception of a view whose part of the model is gone.
pub(crate) fn stale(message: String) -> PyErr {
    exception(|classes| &classes.stale, message)
}

/// The exception for any other reason.
pub(crate) fn failed(why: impl std::fmt::Display) -> PyErr {
    exception(|classes| &classes.error, why.to_string())
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let classes = exceptions(module.py())?;
    for class in [&classes.error, &classes.stale, &classes.file, &classes.missing] {
        let class = class.bind(module.py());
        module.add(class.name()?, class)?;
    }
    module.add_class::<Label>()?;
    module.add_class::<Fix>()?;
    module.add_class::<Finding>()
}
