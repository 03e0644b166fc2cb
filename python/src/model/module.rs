//! Functions of the module that are about operators, codes, passes and tests, and what methods of models need beside the library.

use super::one_of;
use super::state::State;
use crate::finding::unwritten;
use crate::progress::Progress;
use onnx_ir::diag::Level;
use onnx_ops::opset::whole_registry;
use onnx_ops::pass;
use onnx_proto::FileKind;
use onnxtxt::check::{CheckOptions, Filter, Fixes};
use onnxtxt::describe::{NotFound, Spec, Subject, card, code_text, listed, operator_json, operators_json};
use onnxtxt::files::{self, Guard, Reads};
use onnxtxt::golden::folder::{Bless, Options, tests};
use onnxtxt::{File, Form};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// JSON as dicts and lists.
pub(crate) fn object_of<'py>(py: Python<'py>, json: &Json) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json.to_string(),))
}

/// Writes a file as a whole or not at all.
pub(crate) fn write(py: Python<'_>, path: &Path, content: &[u8]) -> PyResult<()> {
    let reads = Reads::default();
    py.detach(|| files::write(path, Guard::new(&reads), |out| out.write_all(content))).map_err(unwritten)
}

/// Applies fixes to the text of a model. Returns how many findings were fixed.
pub(crate) fn fix(state: &mut State, is_unsafe: bool, level: Level) -> PyResult<usize> {
    let file = state.loaded().file().clone();
    let is_text = file.form == Form::Text;
    let text = if is_text && !state.is_edited() {
        file.text().to_owned()
    } else {
        state.loaded().text_as_laid_out()
    };
    let mut source = File::new(file.name.clone(), file.path.clone(), text.into());
    (source.form, source.kind) = (Form::Text, FileKind::Model);
    let options = CheckOptions { filter: Filter { level, ..Filter::default() }, ..CheckOptions::default() };
    let fixes = if is_unsafe { Fixes::Unsafe } else { Fixes::Safe };
    let Some(fixed) = options.fix(&source, fixes) else { return Ok(0) };
    if fixed.fixed == 0 {
        return Ok(0);
    }
    source.bytes = fixed.text.into();
    let new = source.load();
    // A model that was not a text does not become one.
    if is_text {
        state.reread(new, "fix");
    } else {
        let loaded = state.loaded().became(new.model);
        state.replace(loaded, "fix");
    }
    Ok(fixed.fixed)
}

/// The meaning of a code (`E0203`), its name (`value-undefined`), a rule (`G03`) or an operator (`Conv`, `Conv@11`), as text.
///
/// Raises `ValueError` if there is none of this name.
///
/// >>> import onnxtxt
/// >>> onnxtxt.explain("E0203").splitlines()[0]
/// 'error[E0203] value-undefined, rule G03'
#[pyfunction]
fn explain(name: &str) -> PyResult<String> {
    let registry = whole_registry();
    Ok(match Subject::find(name, registry).map_err(invalid)? {
        Subject::Code(code) => code_text(code, false),
        Subject::Operator(operator) => card(registry, &operator, false),
    })
}

/// The operators, as `onnxtxt ops --json` prints them: without a name, a list of dicts with `domain`, `name`, `versions` and more, of one
/// domain and those in force in a version of it if these are given; with a name such as `Conv`, `Conv@11` or `ai.onnx.ml.Scaler`, a dict with
/// `domain`, `name`, `summary`, `example` and `versions`: the signatures, each with `since`, `inputs`, `outputs` and `attributes`.
///
/// Raises `ValueError` for an unknown operator, domain or version.
///
/// >>> import onnxtxt
/// >>> [given["name"] for given in onnxtxt.ops("Conv@11")["versions"][0]["inputs"]]
/// ['X', 'W', 'B']
#[pyfunction]
#[pyo3(signature = (name = None, *, domain = None, version = None))]
fn ops<'py>(
    py: Python<'py>,
    name: Option<&str>,
    domain: Option<&str>,
    version: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let registry = whole_registry();
    let json = match name {
        Some(name) => {
            let mut spec = Spec::parse(name).map_err(invalid)?;
            spec.version = spec.version.or(version);
            spec.domain = spec.domain.or(domain);
            operator_json(registry, &spec.find(registry).map_err(invalid)?)
        }
        None => operators_json(registry, &listed(registry, domain, version).map_err(invalid)?),
    };
    object_of(py, &json)
}

fn invalid(why: NotFound) -> PyErr {
    PyValueError::new_err(why.to_string())
}

/// The passes of `Model.run_passes`: a list of pairs of name and summary.
///
/// >>> dict(onnxtxt.passes())["dead-code"]
/// 'Remove nodes, initializers, functions and imports that nothing uses'
#[pyfunction]
fn passes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, pass::list())
}

/// Runs the golden tests in a file or folder: model texts with their expected results. Returns a list of pairs of name and message; the message is
/// `None` if the test passes.
///
/// `bless` is `no`, `safe` (snapshots are written, unless results change) or `force`. `snapshots` is the folder of snapshots, by default that of the
/// tests. `progress` shows how many are done: `True`, `False`, or a function of the number of those that are done and of all; by default,
/// notebooks show it.
///
/// >>> import pathlib
/// >>> size = pathlib.Path("neg.onnxtxt").write_text('#! check\n<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }')
/// >>> onnxtxt.test("neg.onnxtxt")
/// [('neg', None)]
#[pyfunction]
#[pyo3(signature = (path, *, bless = "no", snapshots = None, progress = None))]
fn test(
    py: Python<'_>,
    path: PathBuf,
    bless: &str,
    snapshots: Option<PathBuf>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<(String, Option<String>)>> {
    let bless = one_of(
        "value of bless",
        bless,
        &[("no", Bless::No), ("safe", Bless::Safe), ("force", Bless::Force)],
    )?;
    let options = Options { bless, snapshots, ..Options::default() };
    let tests = py.detach(|| tests(&path, &options)).map_err(unwritten)?;
    let mut results = Vec::with_capacity(tests.len());
    let mut progress = Progress::begin(py, progress, "test", Some(tests.len()))?;
    for test in tests {
        py.check_signals()?;
        let result = py.detach(|| test.run());
        results.push((test.name().to_owned(), result.err()));
        progress.advance()?;
    }
    Ok(results)
}

/// Runs the program `onnxtxt` with arguments, as the script does. Returns its exit code.
#[pyfunction]
fn _main(py: Python<'_>, arguments: Vec<std::ffi::OsString>) -> u8 {
    py.detach(|| onnx_cli::run_with(arguments))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(explain, module)?)?;
    module.add_function(wrap_pyfunction!(ops, module)?)?;
    module.add_function(wrap_pyfunction!(passes, module)?)?;
    module.add_function(wrap_pyfunction!(test, module)?)?;
    module.add_function(wrap_pyfunction!(_main, module)?)
}
