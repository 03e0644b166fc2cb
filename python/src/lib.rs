//! The extension module `onnxtxt._native`: the classes and functions that the package `onnxtxt` exports.
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
mod compare;
mod finding;
mod golden;
mod model;
mod progress;
mod session;
mod trainer;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    array::register(module)?;
    compare::register(module)?;
    finding::register(module)?;
    model::register(module)?;
    session::register(module)?;
    trainer::register(module)?;
    golden::register(module)?;
    Ok(())
}
