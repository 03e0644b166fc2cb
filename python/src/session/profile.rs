//! The times of kernels.

use super::class::PySession;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict as _, PyDict};
use std::time::Duration;

#[pymethods]
impl PySession {
    /// Runs the model `runs` times and returns a row for each kernel, in order: a dictionary with its operators (`op`), `name`, `nodes`,
    /// `results`, the `start` and the median `time` in seconds, the `times` of all runs, the `operations` and the `bytes` that it
    /// reads and writes.
    ///
    /// >>> model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { h = Neg(x) y = Relu(h) }')
    /// >>> [row["op"] for row in onnxtxt.Session(model).profile({"x": np.ones(4, np.float32)})]
    /// ['Neg+Relu']
    #[pyo3(signature = (feeds, *, runs = 1, seed = 0, threads = None))]
    fn profile<'py>(
        &self,
        feeds: &Bound<'py, PyDict>,
        runs: usize,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let (py, x) = (feeds.py(), &self.ready.executable);
        let given = self.ready.feed(feeds)?;
        let args = self.args(None, seed, threads);
        let profile =
            self.ready.run(py, &args, |options| x.profile(&given, options, &mut |done| done >= runs))?;
        let (model, mut rows) = (x.model(), Vec::new());
        let body = model.main.map(|body| &model.bodies[body]);
        for kernel in &profile.kernels {
            let nodes = kernel.nodes.iter().filter_map(|node| Some(model.text(body?.nodes[*node].name)));
            let results = kernel.results.iter().map(|(elem, dims)| onnx_ir::dense_type_text(*elem, dims));
            let times: Vec<f64> = kernel.times.iter().map(Duration::as_secs_f64).collect();
            let row = [("op", kernel.op.as_str()), ("name", kernel.name.as_str())].into_py_dict(py)?;
            row.set_item("nodes", nodes.collect::<Vec<_>>())?;
            row.set_item("results", results.collect::<Vec<_>>())?;
            row.set_item("start", kernel.start.as_secs_f64())?;
            row.set_item("time", kernel.median().as_secs_f64())?;
            row.set_item("times", times)?;
            row.set_item("operations", kernel.work.operations())?;
            row.set_item("bytes", kernel.work.bytes())?;
            rows.push(row);
        }
        Ok(rows)
    }
}
