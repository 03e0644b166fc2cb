//! The Python module `onnxtxt`.
//!
//! ```python
//! import numpy as np, onnxtxt
//!
//! model = onnxtxt.parse('<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu(x) }')
//! assert model.check() == []
//! results = model.compile().run({"x": np.array([-1, 2], np.float32)})
//! ```
//!
//! Objects are thin: each method is a call of the library `onnxtxt`. Long calls release the global interpreter lock.

mod array;
mod error;
mod model;
mod trainer;

use pyo3::prelude::*;

#[pymodule]
fn onnxtxt(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::OnnxtxtError>())?;
    module.add_class::<error::Finding>()?;
    module.add_class::<model::PyModel>()?;
    module.add_class::<model::PyExecutable>()?;
    module.add_class::<trainer::PyTrainer>()?;
    module.add_function(wrap_pyfunction!(model::open, module)?)?;
    module.add_function(wrap_pyfunction!(model::parse, module)?)?;
    module.add_function(wrap_pyfunction!(model::decode, module)?)?;
    Ok(())
}
