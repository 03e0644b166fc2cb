//! Functions of the module that are about operators, codes, passes and tests, and what methods of models need beside the library.

use super::one_of;
use super::state::State;
use crate::finding::{failed, unwritten};
use onnx_ir::diag::{self, Code, Level, did_you_mean};
use onnx_ir::pass::{Inline, compact, inline};
use onnx_ops::cost::{Cost, costs};
use onnx_ops::dims::{Dim, Dims};
use onnx_ops::infer::dim_text;
use onnx_ops::opset::{registry_of, whole_registry};
use onnx_ops::pass;
use onnx_ops::schema::{AttrParam, Param, ParamKind, Registry, Schema, SchemaId};
use onnx_proto::FileKind;
use onnxtxt::check::{CheckOptions, Filter, Fixes};
use onnxtxt::edit::{SetShape, set_shape};
use onnxtxt::files::{self, Guard, Reads};
use onnxtxt::golden::folder::{Bless, Options, tests};
use onnxtxt::{File, Form, Loaded};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use serde_json::{Value as Json, json};
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
    let text = if is_text && !state.is_edited() { file.text().to_owned() } else { state.loaded().text() };
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

/// The costs of a model, as JSON.
pub(crate) fn stats(loaded: &Loaded, sizes: Vec<(String, i64)>) -> PyResult<Json> {
    let mut model = loaded.model.clone();
    let registry = registry_of(&model);
    let shape = SetShape { sizes, ..SetShape::default() };
    if !shape.sizes.is_empty()
        && let Err(found) = set_shape(&mut model, registry, &shape)
    {
        return Err(crate::finding::refused(loaded, &found));
    }
    inline(&mut model, registry, Inline::default());
    compact(&mut model);
    let Some(costs) = costs(&model, registry) else { return Err(failed("the model has no graph")) };
    let (mut parameters, mut parameter_bytes) = (0u64, 0u64);
    for body in model.bodies.values() {
        for initializer in body.graphs.values().flat_map(|graph| &graph.initializers) {
            let tensor = &body.tensors[initializer.tensor];
            let count = tensor.element_count().unwrap_or(0);
            parameters = parameters.saturating_add(count);
            let size = tensor.elem.and_then(|elem| elem.raw_size(count)).unwrap_or(0);
            parameter_bytes = parameter_bytes.saturating_add(size);
        }
    }
    let dims = &costs.facts.dims;
    let row = |cost: Cost| {
        json!({
            "macs": number(dims, cost.macs), "flops": number(dims, cost.flops),
            "read": number(dims, cost.read), "written": number(dims, cost.written),
        })
    };
    let body = &model.bodies[costs.body];
    let node = |(node, cost): &(onnx_ir::NodeId, Cost)| {
        let n = &body.nodes[*node];
        let result = n.outputs.iter().flatten().next().map(|&value| &model.names[body.values[value].name]);
        let name = n.name.map(|name| &model.names[name]).filter(|name| !name.is_empty());
        let mut row = row(*cost);
        row["name"] = name.or(result).unwrap_or_default().into();
        row["op_type"] = model.text(n.op).into();
        row
    };
    let mut all = row(costs.total);
    all["nodes"] = costs.nodes.iter().map(node).collect();
    all["parameters"] = parameters.into();
    all["parameter_bytes"] = parameter_bytes.into();
    all["peak"] = number(dims, costs.peak);
    Ok(all)
}

fn number(dims: &Dims, dim: Dim) -> Json {
    match dim {
        Dim::Const(number) => number.into(),
        Dim::Expr(_) => dim_text(dims, dim).into(),
        Dim::Unknown => Json::Null,
    }
}

/// The meaning of a code (`E0203`), its name (`value-undefined`), a rule (`G03`) or an operator (`Conv`), as text.
///
/// Raises `ValueError` if there is none of this name.
///
/// >>> import onnxtxt
/// >>> onnxtxt.explain("E0203").splitlines()[0]
/// 'error[E0203] value-undefined'
#[pyfunction]
fn explain(name: &str) -> PyResult<String> {
    if let Some(code) = diag::find(name) {
        let Code { id, name, severity, explain, .. } = code;
        return Ok(format!("{}[{id}] {name}\n\n{}\n", severity.name(), explain.trim()));
    }
    let registry = whole_registry();
    let id = find(registry, name)?;
    let schema = registry.get(id);
    let summary = registry.summary(id).unwrap_or_default();
    Ok(format!("{}\n\n{summary}\n", signature(schema)))
}

/// `Conv@11(X, W, B?) -> (Y)`
fn signature(schema: &Schema) -> String {
    let names = |params: &[Param]| {
        let name = |param: &Param| match param.kind {
            ParamKind::Single => param.name.to_string(),
            ParamKind::Optional => format!("{}?", param.name),
            ParamKind::Variadic { .. } => format!("{}…", param.name),
        };
        params.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let dot = if schema.domain.is_empty() { "" } else { "." };
    let (domain, name, since) = (&schema.domain, &schema.name, schema.since);
    format!("{domain}{dot}{name}@{since}({}) -> ({})", names(&schema.inputs), names(&schema.outputs))
}

/// The schema of `Conv`, `Conv@11` or `ai.onnx.ml.Scaler`.
fn find(registry: &Registry, name: &str) -> PyResult<SchemaId> {
    let (path, version) = match name.split_once('@') {
        Some((path, version)) => match version.parse::<u32>() {
            Ok(version) => (path, Some(version)),
            Err(_) => {
                return Err(PyValueError::new_err(format!(
                    "`{version}` is not a version of an operator set"
                )));
            }
        },
        None => (name, None),
    };
    let (domain, op) = path.rsplit_once('.').unwrap_or(("", path));
    let versions = registry.versions(onnx_ir::normalize_domain(domain), op);
    let is_older = |id: &&SchemaId| version.is_none_or(|version| registry.get(**id).since <= version);
    if let Some(&id) = versions.iter().rev().find(is_older) {
        return Ok(id);
    }
    let codes = diag::ALL.iter().flat_map(|code| [code.id, code.name]);
    let operators = registry.domains().flat_map(|domain| registry.operators(domain));
    let help = match did_you_mean(name, codes.chain(operators)) {
        Some(near) => format!(": did you mean `{near}`?"),
        None => String::new(),
    };
    Err(PyValueError::new_err(format!("unknown code or operator `{name}`{help}")))
}

/// The operators: without a name, a dict from domains to lists of names; with a name such as `Conv`, `Conv@11` or `ai.onnx.ml.Scaler`, its
/// signature as a dict with `name`, `domain`, `since`, `versions`, `inputs`, `outputs`, `attributes` and `doc`.
///
/// Raises `ValueError` for an unknown operator.
#[pyfunction]
#[pyo3(signature = (name = None))]
fn ops<'py>(py: Python<'py>, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let registry = whole_registry();
    let Some(name) = name else {
        let domains = registry
            .domains()
            .map(|domain| (domain.to_owned(), registry.operators(domain).map(Json::from).collect::<Json>()));
        return object_of(py, &Json::Object(domains.collect()));
    };
    let id = find(registry, name)?;
    let schema = registry.get(id);
    let versions = registry.versions(&schema.domain, &schema.name);
    let json = json!({
        "name": *schema.name,
        "domain": *schema.domain,
        "since": schema.since,
        "versions": versions.iter().map(|id| registry.get(*id).since).collect::<Vec<_>>(),
        "deprecated": schema.deprecated,
        "inputs": schema.inputs.iter().map(param).collect::<Vec<_>>(),
        "outputs": schema.outputs.iter().map(param).collect::<Vec<_>>(),
        "attributes": schema.attrs.iter().map(attr).collect::<Vec<_>>(),
        "doc": registry.summary(id),
    });
    object_of(py, &json)
}

fn param(param: &Param) -> Json {
    let kind = match param.kind {
        ParamKind::Single => "single",
        ParamKind::Optional => "optional",
        ParamKind::Variadic { .. } => "variadic",
    };
    json!({ "name": *param.name, "kind": kind, "type": *param.ty, "types": param.types.text() })
}

fn attr(attr: &AttrParam) -> Json {
    let default = attr.default.as_ref().map(onnx_ops::schema::Default::text);
    json!({ "name": *attr.name, "type": attr.ty.name(), "required": attr.required, "default": default })
}

/// The passes of `Model.run_passes`: a list of pairs of name and summary.
#[pyfunction]
fn passes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    PyList::new(py, pass::list())
}

/// Runs the golden tests in a file or folder: model texts with their expected results. Returns a list of pairs of name and message; the message is
/// `None` if the test passes.
///
/// `bless` is `no`, `safe` (snapshots are written, unless results change) or `force`. `snapshots` is the folder of snapshots, by default that of the
/// tests.
#[pyfunction]
#[pyo3(signature = (path, *, bless = "no", snapshots = None))]
fn test(
    py: Python<'_>,
    path: PathBuf,
    bless: &str,
    snapshots: Option<PathBuf>,
) -> PyResult<Vec<(String, Option<String>)>> {
    let bless = one_of(
        "value of bless",
        bless,
        &[("no", Bless::No), ("safe", Bless::Safe), ("force", Bless::Force)],
    )?;
    let options = Options { bless, snapshots, ..Options::default() };
    let tests = py.detach(|| tests(&path, &options)).map_err(unwritten)?;
    let mut results = Vec::with_capacity(tests.len());
    for test in tests {
        py.check_signals()?;
        let result = py.detach(|| test.run());
        results.push((test.name().to_owned(), result.err()));
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
