//! Golden tests for test programs of Python.

use crate::array::{dictionary, dtype_of, named};
use crate::finding::{failed, unwritten};
use onnx_exec::Value;
use onnxtxt::golden::folder::{self, Bless, Options, Test};
use onnxtxt::golden::{ElemOf, Named};
use pyo3::exceptions::PyAssertionError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// A test in a file: a model with directives, see `onnxtxt test --help`.
#[pyclass(name = "GoldenTest", module = "onnxtxt", frozen)]
pub(crate) struct PyGoldenTest {
    test: Mutex<Test>,
    /// The path below the folder without the extension, and the name of the case in a file with several cases.
    #[pyo3(get)]
    name: String,
    /// The names for selecting it.
    #[pyo3(get)]
    tags: Vec<String>,
}

#[pymethods]
impl PyGoldenTest {
    /// Runs the test. Raises `AssertionError` with the difference from what is expected. If it passes and snapshots are blessed, changed
    /// ones are written.
    ///
    /// >>> import pathlib
    /// >>> size = pathlib.Path("neg.onnxtxt").write_text('#! check\n<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }')
    /// >>> onnxtxt.golden_tests("neg.onnxtxt")[0].run()
    fn run(&self, py: Python<'_>) -> PyResult<()> {
        let done = py.detach(|| self.test.lock().unwrap_or_else(PoisonError::into_inner).run());
        done.map_err(PyAssertionError::new_err)
    }

    fn __repr__(&self) -> String {
        format!("<onnxtxt.GoldenTest {}>", self.name)
    }
}

/// The golden tests of a file or folder. With `bless`, snapshots and expected values are written. Values in `.npy` and `.npz` files are
/// read by NumPy, and `#! expect same as onnxruntime` imports onnxruntime. Raises `Error` if directives are not valid.
///
/// >>> import pathlib
/// >>> size = pathlib.Path("neg.onnxtxt").write_text('#! check\n<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }')
/// >>> [test.name for test in onnxtxt.golden_tests("neg.onnxtxt")]
/// ['neg']
#[pyfunction]
#[pyo3(signature = (path, *, bless = false))]
fn golden_tests(py: Python<'_>, path: PathBuf, bless: bool) -> PyResult<Vec<PyGoldenTest>> {
    let options = Options {
        bless: if bless { Bless::Safe } else { Bless::No },
        values: Some(Arc::new(|path: &Path, elem: &ElemOf<'_>| with_python(|py| values(py, path, elem)))),
        onnxruntime: Some(Arc::new(|model: &onnx_ir::Model, inputs: &Named| {
            let bytes = model_bytes(model)?;
            with_python(|py| onnxruntime(py, &bytes, inputs))
        })),
        ..Options::default()
    };
    let tests = py.detach(|| folder::tests(path, &options)).map_err(unwritten)?;
    let wrap = |test: Test| PyGoldenTest {
        name: test.name().to_owned(),
        tags: test.tags.clone(),
        test: Mutex::new(test),
    };
    Ok(tests.into_iter().map(wrap).collect())
}

fn with_python<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, String> {
    Python::attach(|py| work(py).map_err(|why| why.to_string()))
}

/// The arrays of a file by name; that of a `.npy` file has the name of the file. Arrays of bytes, as which NumPy stores types that it
/// lacks, have the element types of `elem`.
fn values(py: Python<'_>, path: &Path, elem: &ElemOf<'_>) -> PyResult<Named> {
    let numpy = py.import("numpy")?;
    let loaded = numpy.call_method1("load", (path,))?;
    let is_archive = loaded.hasattr("items")?;
    let arrays = if is_archive {
        py.get_type::<PyDict>().call1((loaded.call_method0("items")?,))?.cast_into::<PyDict>()?
    } else {
        let dict = PyDict::new(py);
        let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        dict.set_item(name, loaded)?;
        dict
    };
    for (name, array) in arrays.copy()? {
        let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
        let known = if is_archive { elem(&name.extract::<String>()?) } else { elem("") };
        if let (Some(elem), "V") = (known, &*kind) {
            arrays.set_item(name, array.call_method1("view", (dtype_of(py, elem)?,))?)?;
        }
    }
    let kept = |(name, value): (String, Value)| Ok((name, value.into_kept().map_err(failed)?));
    named(&arrays)?.into_iter().map(kept).collect()
}

fn model_bytes(model: &onnx_ir::Model) -> Result<Vec<u8>, String> {
    let options =
        onnxtxt::SaveOptions { form: Some(onnxtxt::Form::Binary), ..onnxtxt::SaveOptions::default() };
    let mut bytes = Vec::new();
    let saved = onnxtxt::Loaded::from(model.clone()).write_to(&mut bytes, &options);
    saved.map(|_| bytes).map_err(|why| why.to_string())
}

fn onnxruntime(py: Python<'_>, model: &[u8], inputs: &Named) -> PyResult<Named> {
    let runtime = py.import("onnxruntime")?;
    let options = PyDict::new(py);
    options.set_item("providers", ["CPUExecutionProvider"])?;
    let session = runtime.call_method("InferenceSession", (model,), Some(&options))?;
    let feeds = dictionary(py, inputs.iter().map(|(name, value)| (name, value.clone())))?;
    let results = session.call_method1("run", (py.None(), feeds))?;
    let dict = PyDict::new(py);
    for pair in session.call_method0("get_outputs")?.try_iter()?.zip(results.try_iter()?) {
        let (output, result) = (pair.0?, pair.1?);
        dict.set_item(output.getattr("name")?, result)?;
    }
    named(&dict)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyGoldenTest>()?;
    module.add_function(wrap_pyfunction!(golden_tests, module)?)
}
