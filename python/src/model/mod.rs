//! Models as objects.
//!
//! A [`PyModel`] holds a [`Loaded`] and its lock ([`state`]). Views of its parts (graphs, nodes, values, functions) have ids and the
//! generation of the model, and say so if their part is gone. Everything that the program does with models is a method ([`commands`]).

mod attributes;
mod commands;
mod function;
mod graph;
mod header;
mod initializers;
mod module;
mod node;
mod nodes;
mod operand;
mod parts;
mod source;
mod state;
mod tensor;
mod value;

pub(crate) use module::object_of;

use crate::finding::{Finding, failed, refused, unsaved, unwritten, with_findings};
use crate::session::{PyExecutable, compile, interruptible, operators};
use bytes::Bytes;
use graph::PyGraph;
use onnx_exec::{CompileOptions, Executable};
use onnx_ir::releases::{NEWEST_IR, newest_version};
use onnx_ir::{Body, Model};
use onnx_proto::external::is_stored_outside;
use onnx_text::RaiseOptions;
use onnxtxt::check::{CheckOptions, CodePattern, Filter, Readers, TargetRuntime, UnknownCode};
use onnxtxt::{
    Diagnostic, File, Form, Level, Loaded, Profile, Purpose, SaveOptions, Text, Weights, broken_rules,
};
use pyo3::exceptions::{PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use source::{Source, StrIs};
use state::Shared;
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A model: what `open`, `parse` and `decode` return, and `GraphBuilder.build`.
///
/// `str(model)` is its text. Views of its graphs, nodes and values change it; any number of threads can use one model. Two models are equal
/// if they have the same content; comments and the form of the file make no difference.
///
/// >>> import onnxtxt
/// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
/// >>> model.graph.nodes[0].op_type
/// 'Relu'
#[pyclass(name = "Model", module = "onnxtxt", frozen, weakref)]
pub(crate) struct PyModel {
    pub(crate) shared: Arc<Shared>,
    /// Operators of Python; no dictionary before it is asked for.
    operators: OnceLock<Py<PyDict>>,
}

impl PyModel {
    pub(crate) fn of(loaded: Loaded) -> PyModel {
        PyModel { shared: Shared::new(loaded), operators: OnceLock::new() }
    }

    /// The operators that are registered with the model.
    pub(crate) fn operators<'py>(&self, py: Python<'py>) -> &Bound<'py, PyDict> {
        self.operators.get_or_init(|| PyDict::new(py).unbind()).bind(py)
    }

    /// This model, with the operators of another one.
    fn with_operators_of(self, py: Python<'_>, other: &PyModel) -> PyResult<PyModel> {
        if let Some(operators) = other.operators.get() {
            self.operators(py).update(operators.bind(py).as_mapping())?;
        }
        Ok(self)
    }

    /// A copy of the model as it is, in which findings have places; the data of tensors is shared.
    pub(crate) fn snapshot(&self, py: Python<'_>) -> Loaded {
        self.shared.read_long(py, |state| state.in_order())
    }
}

/// Content as a model.
fn load(py: Python<'_>, source: Source, form: Option<Form>) -> PyResult<PyModel> {
    let read = |name: &str, bytes: Bytes| {
        let mut file = File::new(name.to_owned(), None, bytes);
        file.form = form.unwrap_or(file.form);
        file.load()
    };
    let loaded = py.detach(|| match source {
        Source::Path(path) => {
            let mut file = File::open(&path)?;
            file.form = form.unwrap_or(file.form);
            Ok::<_, onnxtxt::Error>(file.load())
        }
        Source::Text(text) => {
            let bytes = Bytes::copy_from_slice(text.as_bytes());
            Ok(read("<text>", bytes))
        }
        Source::Bytes(bytes) => Ok(read("<bytes>", bytes)),
    });
    Ok(PyModel::of(loaded.map_err(unwritten)?))
}

/// Opens a model in any form: text, protobuf, JSON or textproto, detected from its content.
///
/// `source` is a path (`str` or `PathLike`), `bytes` or another buffer, an open file, or an `onnx.ModelProto`. Mistakes in the content are
/// findings of `Model.check`. Large files are mapped, not read.
///
/// Raises `MissingFileError` or `FileError` if the file cannot be read, `TypeError` for another object.
///
/// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
/// >>> model.save("net.onnx")
/// >>> onnxtxt.open("net.onnx") == model
/// True
#[pyfunction]
fn open(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyModel> {
    load(py, Source::of(source, StrIs::Path)?, None)
}

/// Parses a model from ONNX text: a `str`, `bytes`, an open file or a `PathLike`. Mistakes in it are findings of `Model.check`.
///
/// >>> import onnxtxt
/// >>> onnxtxt.parse("g (flaot[N] x) => (float[N] y) { y = Relu(x) }").check("syntax")[0].message
/// 'unknown type `flaot`'
#[pyfunction]
fn parse(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyModel> {
    load(py, Source::of(source, StrIs::Text)?, Some(Form::Text))
}

/// Decodes a model from bytes in any form, such as `onnx.ModelProto.SerializeToString()`, from another buffer, an open file, or an
/// `onnx.ModelProto`.
///
/// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
/// >>> onnxtxt.decode(model.to_bytes()) == model
/// True
#[pyfunction]
fn decode(py: Python<'_>, source: &Bound<'_, PyAny>) -> PyResult<PyModel> {
    load(py, Source::of(source, StrIs::Text)?, None)
}

/// Reads what `pickle` has stored of a model.
#[pyfunction]
#[pyo3(signature = (name, path, form, content, operators = None))]
fn _restore(
    py: Python<'_>,
    name: String,
    path: Option<PathBuf>,
    form: &str,
    content: &Bound<'_, PyBytes>,
    operators: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyModel> {
    let form = self::form(form)?;
    let Source::Bytes(bytes) = Source::of(content.as_any(), StrIs::Text)? else {
        return Err(failed("internal error: no bytes"));
    };
    let model = PyModel::of(py.detach(|| {
        let mut file = File::new(name, path, bytes);
        file.form = form;
        file.load()
    }));
    if let Some(operators) = operators {
        model.operators(py).update(operators.as_mapping())?;
    }
    Ok(model)
}

/// Warns as Python does, with a `UserWarning`.
pub(crate) fn warn(py: Python<'_>, message: &str) -> PyResult<()> {
    let message = CString::new(message.replace('\0', "\\0"))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)
}

pub(crate) fn level(name: &str) -> PyResult<Level> {
    one_of(
        "level",
        name,
        &[
            ("syntax", Level::Syntax),
            ("spec", Level::Spec),
            ("types", Level::Types),
            ("strict", Level::Strict),
        ],
    )
}

fn form(name: &str) -> PyResult<Form> {
    one_of(
        "form",
        name,
        &[
            ("text", Form::Text),
            ("binary", Form::Binary),
            ("json", Form::Json),
            ("textproto", Form::Textproto),
        ],
    )
}

fn form_name(form: Form) -> &'static str {
    match form {
        Form::Text => "text",
        Form::Binary => "binary",
        Form::Json => "json",
        Form::Textproto => "textproto",
    }
}

fn profile(name: &str) -> PyResult<Profile> {
    let known = [("onnx", Profile::Onnx), ("extended", Profile::Extended), ("reference", Profile::Reference)];
    one_of("profile", name, &known)
}

/// The value of a name.
pub(crate) fn one_of<T: Copy>(what: &str, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    known.iter().find(|(other, _)| *other == name).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!("unknown {what} `{name}`, expected one of {}", names.join(", ")))
    })
}

/// Where weights are written.
fn weights(external_data: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Weights>> {
    let Some(given) = external_data else { return Ok(None) };
    if let Ok(is_external) = given.extract::<bool>() {
        return Ok(Some(if is_external { Weights::Sidecar } else { Weights::Inline }));
    }
    let name: String = given.extract()?;
    let known = [
        ("inline", Weights::Inline),
        ("sidecar", Weights::Sidecar),
        ("files", Weights::Files),
        ("keep", Weights::Keep),
    ];
    one_of("place of external data", &name, &known).map(Some)
}

/// A list of findings for Python.
pub(crate) fn findings<'py>(py: Python<'py>, found: Vec<Finding>) -> PyResult<Bound<'py, PyAny>> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    CLASS.import(py, "onnxtxt._findings", "Findings")?.call1((found,))
}

/// The model in protobuf's encoding, with all its weights, or with external ones where they are.
fn encoded(loaded: &Loaded, partial: bool, weights: Weights) -> PyResult<Vec<u8>> {
    let loads = weights != Weights::Keep && is_stored_outside(&loaded.model);
    if loaded.is_partial() || loads {
        let mut loaded = loaded.clone();
        let found = if loads { loaded.load_weights() } else { Vec::new() };
        if !found.is_empty() {
            return Err(refused(&loaded, &found));
        }
        if loaded.is_partial() {
            let weights = Some(weights);
            let options =
                SaveOptions { form: Some(Form::Binary), weights, partial, ..SaveOptions::default() };
            let mut bytes = Vec::new();
            let saved = loaded.write_to(&mut bytes, &options).map_err(|why| unsaved(&loaded, why))?;
            return if saved.is_written { Ok(bytes) } else { Err(refused(&loaded, &saved.losses)) };
        }
        return encode(&loaded);
    }
    encode(loaded)
}

fn encode(loaded: &Loaded) -> PyResult<Vec<u8>> {
    onnx_proto::write(&loaded.model).map_err(|why| {
        failed(format!("{why}: save(path, external_data=True) writes the weights beside the model"))
    })
}

#[pymethods]
impl PyModel {
    /// A model with an empty main graph that imports `opset`: a version of ai.onnx, or a dict from domains to versions; by default the newest
    /// version. The version of the format is the one that came with it, unless `ir_version` says another one.
    ///
    /// >>> model = onnxtxt.Model.new(21)
    /// >>> dict(model.opset_imports), len(model.graph.nodes)
    /// ({'': 21}, 0)
    #[staticmethod]
    #[pyo3(signature = (opset = None, *, name = "g", ir_version = None))]
    fn new(
        py: Python<'_>,
        opset: Option<&Bound<'_, PyAny>>,
        name: &str,
        ir_version: Option<i64>,
    ) -> PyResult<PyModel> {
        let imports: Vec<(String, i64)> = match opset {
            None => vec![(String::new(), newest_version("").unwrap_or(1))],
            Some(opset) => match opset.extract::<i64>() {
                Ok(version) => vec![(String::new(), version)],
                Err(_) => header::pairs_of(opset)?,
            },
        };
        let is_main = |(domain, _): &&(String, i64)| onnx_ir::normalize_domain(domain).is_empty();
        let mut model = match imports.iter().find(is_main) {
            Some((_, version)) => Model::of_opset(*version),
            None => Model::new(),
        };
        for (domain, version) in &imports {
            model.import(domain, *version);
        }
        model.header.ir_version = ir_version.or(model.header.ir_version).or(Some(NEWEST_IR));
        let mut body = Body::default();
        let graph = onnx_ir::Graph { name: Some(model.names.intern(name)), ..onnx_ir::Graph::default() };
        body.graphs.push(graph);
        model.main = Some(model.bodies.push(body));
        Ok(PyModel::edited(py, Loaded::from(model)))
    }

    /// The main graph. Raises `onnxtxt.Error` if the model has none.
    #[getter]
    fn graph(&self, py: Python<'_>) -> PyResult<PyGraph> {
        let found = self.shared.read(py, |state| {
            let (body, graph) = onnxtxt::edit::main_graph(state.model())?;
            Some((state.generation(), body, graph))
        });
        let Some((generation, body, graph)) = found else { return Err(failed("the model has no graph")) };
        Ok(PyGraph::new(&self.shared, generation, body, graph))
    }

    /// The path of the file that the model was read from; `None` if it was not a file.
    #[getter]
    fn path(&self, py: Python<'_>) -> Option<PathBuf> {
        self.shared.read(py, |state| state.loaded().file().path.clone())
    }

    /// Why parts of the model could not be read, as a list of findings: empty unless the file is damaged.
    #[getter]
    fn lost_parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found =
            self.shared.read_long(py, |state| Finding::all(state.loaded(), &state.loaded().lost_parts()));
        findings(py, found)
    }

    /// All findings up to a level (`syntax`, `spec`, `types`, `strict`), in the order of the text, as a list.
    ///
    /// `select`, `ignore` and `deny` are codes (`E0203`), names (`value-undefined`), rules (`G03`) or beginnings of codes (`E02`): which findings are
    /// reported, which are not, and which warnings are errors (`warnings` for all). `target` names runtimes whose unsupported nodes are reported:
    /// `candle`, `ort`, `rten`, `tract`. With `profile="reference"`, syntax that the parser of the package onnx rejects is reported.
    ///
    /// Raises `ValueError` for an unknown level, code or runtime.
    ///
    /// >>> import onnxtxt
    /// >>> [finding.code for finding in onnxtxt.parse("g (float[N] x) => (float[N] y) { y = Relu(z) }").check("spec")]
    /// ['E0302', 'E0203']
    #[pyo3(signature = (level = "types", *, select = None, ignore = None, deny = None, target = None, profile = "onnx", verify_checksums = false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn check<'py>(
        &self,
        py: Python<'py>,
        level: &str,
        select: Option<Vec<String>>,
        ignore: Option<Vec<String>>,
        deny: Option<Vec<String>>,
        target: Option<Vec<String>>,
        profile: &str,
        verify_checksums: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let patterns = |words: Option<Vec<String>>| -> PyResult<Vec<CodePattern>> {
            let parse = |word: String| {
                word.parse().map_err(|why: UnknownCode| PyValueError::new_err(why.to_string()))
            };
            words.unwrap_or_default().into_iter().map(parse).collect()
        };
        let (is_all, deny): (Vec<_>, Vec<_>) =
            deny.unwrap_or_default().into_iter().partition(|word| word == "warnings");
        let filter = Filter {
            level: self::level(level)?,
            select: patterns(select)?,
            ignore: patterns(ignore)?,
            deny: patterns(Some(deny))?,
            deny_warnings: !is_all.is_empty(),
        };
        let targets = target.unwrap_or_default().into_iter().map(|name| {
            TargetRuntime::find(&name)
                .ok_or_else(|| PyValueError::new_err(format!("unknown runtime `{name}`")))
        });
        let options = CheckOptions {
            filter,
            readers: one_of(
                "profile",
                profile,
                &[("onnx", Readers::Ours), ("reference", Readers::Reference)],
            )?,
            targets: targets.collect::<PyResult<_>>()?,
            verify_checksums,
            registry: None,
        };
        let found = self.shared.read_watched(py, |state| state.check(&options))?;
        findings(py, found)
    }

    /// The text of the model, with its comments. A model from a text with a line for each statement keeps the layout of that text where it
    /// was not edited, unless `formatted` is true.
    ///
    /// `profile` is the syntax that it may use: `onnx`, `extended`, or `reference` for what the parser of the package onnx reads. Only the
    /// first keeps the layout. Raises `onnxtxt.Error` if the profile cannot express the model.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> print(model.text())
    /// <ir_version: 10, opset_import: ["": 21]>
    /// g (float[N] x) => (float[N] y)
    /// {
    ///     h = Neg(x)
    ///     y = Relu(h)
    /// }
    /// <BLANKLINE>
    #[pyo3(signature = (*, profile = "onnx", formatted = false))]
    fn text(&self, py: Python<'_>, profile: &str, formatted: bool) -> PyResult<String> {
        let profile = self::profile(profile)?;
        self.shared.read_long(py, |state| {
            let loaded = state.loaded();
            if profile == Profile::Onnx && !formatted {
                return Ok(loaded.text_as_laid_out());
            }
            let options = RaiseOptions { profile, ..RaiseOptions::default() };
            let text = Text::commented(&loaded.model, &options, &loaded.comments());
            if text.is_lost() { Err(refused(loaded, text.losses())) } else { Ok(text.to_text()) }
        })
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.text(py, "onnx", false)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        self.shared.read(py, |state| {
            let nodes = state.model().walk_main().count();
            let name = &state.loaded().file().name;
            format!("<onnxtxt.Model {name} with {nodes} node{}>", if nodes == 1 { "" } else { "s" })
        })
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(other) = other.cast::<PyModel>() else { return Ok(false) };
        let other = other.get();
        if Arc::ptr_eq(&self.shared, &other.shared) {
            return Ok(true);
        }
        let (a, b) = (self.shared.snapshot(py), other.shared.snapshot(py));
        py.detach(|| match (onnx_proto::write(&a.model), onnx_proto::write(&b.model)) {
            (Ok(a), Ok(b)) => Ok(a == b),
            (Err(why), _) | (_, Err(why)) => Err(failed(why)),
        })
    }

    /// A model with the same content, which edits of this one do not change. The data of tensors is shared.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> other = model.copy()
    /// >>> other.graph.nodes[0].op_type = "Abs"
    /// >>> model.graph.nodes[0].op_type
    /// 'Neg'
    fn copy(&self, py: Python<'_>) -> PyResult<PyModel> {
        let copy = PyModel { shared: self.shared.copy(py), operators: OnceLock::new() };
        copy.with_operators_of(py, self)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<PyModel> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<PyModel> {
        self.copy(py)
    }

    /// Operators that are functions of arrays, by `(domain, name)` or `"domain.name"`: a dictionary that `compile`, `Session` and the
    /// commands that run the model use, see `Session`. Copies and parts of the model have them too; files do not.
    ///
    /// >>> import numpy as np, onnxtxt
    /// >>> text = '<ir_version: 10, opset_import: ["my": 1]> g (float[N] x) => (float[N] y) { y = my.Double(x) }'
    /// >>> model = onnxtxt.parse(text)
    /// >>> model.operators["my.Double"] = lambda x: x + x
    /// >>> model.compile().run({"x": np.array([1, 2], np.float32)})
    /// {'y': array([2., 4.], dtype=float32)}
    #[getter(operators)]
    fn registered_operators<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.operators(py).clone()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (file, content) = self.shared.read_long(py, |state| {
            let mut file = state.loaded().file().clone();
            let content = match (state.is_edited(), file.form) {
                (false, _) => file.bytes.clone(),
                (true, Form::Text) => state.loaded().text_as_laid_out().into(),
                (true, Form::Binary | Form::Json | Form::Textproto) => {
                    file.form = Form::Binary;
                    onnx_proto::write(state.model()).map_err(failed)?.into()
                }
            };
            Ok::<_, PyErr>((file, content))
        })?;
        let restore = py.import("onnxtxt._native")?.getattr("_restore")?;
        let content = PyBytes::new(py, &content);
        let operators =
            self.operators.get().map(|operators| operators.bind(py)).filter(|dict| !dict.is_empty());
        Ok((restore, (file.name, file.path, form_name(file.form), content, operators).into_pyobject(py)?))
    }

    /// The model in protobuf's encoding, for `onnx.load_from_string` and for runtimes: with its external weights, or with `external_data="keep"`
    /// where they are.
    ///
    /// A model of which parts could not be read is refused, unless `partial` is true: those parts are lost. Raises `onnxtxt.Error` if it would
    /// be larger than 2 GiB, which protobuf cannot hold: `save(path, external_data=True)` writes such models.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> len(model.to_bytes())
    /// 80
    #[pyo3(signature = (*, partial = false, external_data = "inline"))]
    fn to_bytes<'py>(
        &self,
        py: Python<'py>,
        partial: bool,
        external_data: &str,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let known = [("inline", Weights::Inline), ("keep", Weights::Keep)];
        let weights = one_of("place of external data", external_data, &known)?;
        let bytes = self.shared.read_long(py, |state| encoded(state.loaded(), partial, weights))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model as an `onnx.ModelProto`, with its external weights, or with `external_data="keep"` where they are. Needs the package onnx.
    ///
    /// Raises `onnxtxt.Error` if the model is larger than 2 GiB, or if parts of it could not be read.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.to_proto().graph.node[0].op_type
    /// 'Neg'
    #[pyo3(signature = (*, external_data = "inline"))]
    fn to_proto<'py>(&self, py: Python<'py>, external_data: &str) -> PyResult<Bound<'py, PyAny>> {
        let bytes = self.to_bytes(py, false, external_data)?;
        py.import("onnx")?.getattr("ModelProto")?.call_method1("FromString", (bytes,))
    }

    /// Writes the model, as a whole or not at all.
    ///
    /// `form` is `text`, `binary`, `json` or `textproto`; by default, the name of the file says it. `external_data` says where weights go:
    /// `True` (or `"sidecar"`) into one file beside the model, `"files"` into a file each, `False` (or `"inline"`) into the model, `"keep"`
    /// where they are; by default, large weights of a text go beside it. A text has the layout that `text` has, with `formatted` the standard one.
    /// A model of which parts could not be read is refused, unless `partial` is true: those parts are lost.
    ///
    /// Raises `FileError` if the file cannot be written.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.save("net.onnx")
    /// >>> model.save("net.onnxtxt", profile="reference")
    /// >>> onnxtxt.open("net.onnxtxt") == onnxtxt.open("net.onnx")
    /// True
    #[pyo3(signature = (path, *, form = None, external_data = None, profile = "onnx", partial = false, formatted = false))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn save(
        &self,
        py: Python<'_>,
        path: PathBuf,
        form: Option<&str>,
        external_data: Option<&Bound<'_, PyAny>>,
        profile: &str,
        partial: bool,
        formatted: bool,
    ) -> PyResult<()> {
        let form = form.map(self::form).transpose()?;
        let (weights, profile) = (weights(external_data)?, self::profile(profile)?);
        let keeps_layout = !formatted;
        let options = SaveOptions { form, weights, profile, partial, keeps_layout, ..SaveOptions::default() };
        self.shared.write(py, |state| {
            let loaded = state.loaded_mut();
            // Weights that were read for a file that is not written stay where they are.
            let before = is_stored_outside(&loaded.model).then(|| loaded.clone());
            let why = match loaded.save_with(&path, &options) {
                Ok(saved) if saved.is_written => return Ok(()),
                Ok(saved) => refused(loaded, &saved.losses),
                Err(why) => unsaved(loaded, why),
            };
            if let Some(before) = before {
                *loaded = before;
            }
            Err(why)
        })
    }

    /// Prepares the model to be run. A model whose errors make its meaning unclear is refused, unless `unchecked` is true; other
    /// errors are a warning. With `exact`, floats of 16 bits are rounded after each node.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> model.compile().run({"x": np.array([-1, 2], np.float32)})
    /// {'y': array([1., 0.], dtype=float32)}
    #[pyo3(signature = (*, exact = false, unchecked = false))]
    fn compile(&self, py: Python<'_>, exact: bool, unchecked: bool) -> PyResult<PyExecutable> {
        let custom = operators(self.operators(py))?;
        let options = CompileOptions { exact, custom, ..CompileOptions::default() };
        let mut loaded = self.snapshot(py);
        let executable = compile(py, &mut loaded, &options, unchecked)?;
        Ok(PyExecutable::new(executable, loaded))
    }
}

/// Prepares a model to be run, with a warning about rules that it breaks; `refused` makes the exception of one that cannot be run.
pub(crate) fn compiled(
    py: Python<'_>,
    loaded: &mut Loaded,
    options: &CompileOptions,
    unchecked: bool,
    refused: impl FnOnce(&Loaded, &[Diagnostic]) -> PyErr,
) -> PyResult<Executable<'static>> {
    let made = interruptible(py, || {
        let clear = if unchecked { Vec::new() } else { loaded.ensure_clear(Purpose::Inference)? };
        Ok::<_, Vec<Diagnostic>>((loaded.compile_unchecked(options)?, clear))
    })?;
    let (executable, clear) = made.map_err(|found| refused(loaded, &found))?;
    if !clear.is_empty() {
        let rules = broken_rules(&clear);
        warn(py, &format!("the model breaks rules that leave its meaning clear: {rules}"))?;
    }
    Ok(executable)
}

/// Loads the weights of a model that must be there as a whole.
pub(crate) fn complete(py: Python<'_>, loaded: &mut Loaded) -> PyResult<()> {
    let mut found = loaded.lost_parts();
    if found.is_empty() {
        found = py.detach(|| loaded.load_weights());
    }
    if found.is_empty() { Ok(()) } else { Err(refused(loaded, &found)) }
}

/// Fails if a model has errors.
#[pyfunction]
fn _ensure_valid(py: Python<'_>, model: &PyModel) -> PyResult<()> {
    let mut found = model.shared.read_watched(py, |state| state.check(&CheckOptions::default()))?;
    found.retain(Finding::is_serious);
    if found.is_empty() { Ok(()) } else { Err(with_findings(found)) }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyModel>()?;
    module.add_class::<PyGraph>()?;
    module.add_class::<node::PyNode>()?;
    module.add_class::<nodes::PyNodes>()?;
    module.add_class::<value::PyValue>()?;
    module.add_class::<function::PyFunction>()?;
    module.add_class::<attributes::PyAttributes>()?;
    module.add_class::<attributes::Parameter>()?;
    module.add_class::<initializers::PyInitializers>()?;
    module.add_class::<tensor::Elements>()?;
    module.add_function(wrap_pyfunction!(open, module)?)?;
    module.add_function(wrap_pyfunction!(parse, module)?)?;
    module.add_function(wrap_pyfunction!(decode, module)?)?;
    module.add_function(wrap_pyfunction!(_restore, module)?)?;
    module.add_function(wrap_pyfunction!(_ensure_valid, module)?)?;
    commands::register(module)?;
    parts::register(module)?;
    module::register(module)
}
