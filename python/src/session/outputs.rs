//! Results in arrays that a caller provides.

use super::class::PySession;
use super::ready::{Ready, RunArgs};
use crate::array::{copy_to, from_value, output_memory};
use onnx_exec::{OutputMemory, Value};
use pyo3::prelude::*;
use pyo3::types::PyDict;

#[pymethods]
impl PySession {
    /// Computes outputs into arrays that exist: `results` is a dictionary from names to arrays, which must have the type and shape of
    /// what is computed, or `None` for a new array. Returns a dictionary of these arrays.
    ///
    /// Arrays that are C-contiguous and aligned are written by the kernels themselves; results are copied into others, and into those
    /// that share memory with an input. What the declared types tell about a result is checked before the run; after an error of the
    /// run, the contents of the arrays are arbitrary.
    ///
    /// Raises `Error` if an array does not fit its result or shares memory with another one, `ValueError` if it cannot be written to,
    /// `TypeError` if it is not an array; and what `run` raises.
    ///
    /// >>> import numpy as np, onnxtxt
    /// >>> text = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }'
    /// >>> session, y = onnxtxt.Session(onnxtxt.parse(text)), np.empty(2, np.float32)
    /// >>> session.run_into({"x": np.array([-1, 2], np.float32)}, {"y": y})["y"] is y
    /// True
    /// >>> y
    /// array([ 1., -2.], dtype=float32)
    #[pyo3(signature = (feeds, results, *, timeout = None, seed = 0, threads = None))]
    fn run_into<'py>(
        &self,
        feeds: &Bound<'py, PyDict>,
        results: &Bound<'py, PyDict>,
        timeout: Option<f64>,
        seed: u64,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let py = feeds.py();
        let (mut names, mut targets) = (Vec::new(), Vec::new());
        for (name, array) in results.iter() {
            let name = name.extract::<String>()?;
            targets.push(Target::of(&name, array)?);
            names.push(name);
        }
        let ready = self.variant(py, Some(&names))?;
        let done = ready.run_into(feeds, targets, &self.args(timeout, seed, threads))?;
        let dict = PyDict::new(py);
        for (name, array) in names.iter().zip(done) {
            dict.set_item(name, array)?;
        }
        Ok(dict)
    }
}

/// Where a result goes.
enum Target<'py> {
    /// Kernels write to this array.
    Memory(Bound<'py, PyAny>, OutputMemory),
    /// The result is copied into this array.
    Copy(Bound<'py, PyAny>),
    New,
}

impl<'py> Target<'py> {
    fn of(name: &str, array: Bound<'py, PyAny>) -> PyResult<Target<'py>> {
        if array.is_none() {
            return Ok(Target::New);
        }
        Ok(match output_memory(name, &array)? {
            Some(memory) => Target::Memory(array, memory),
            None => Target::Copy(array),
        })
    }
}

impl Ready {
    /// Runs with results in the arrays of targets.
    fn run_into<'py>(
        &self,
        feeds: &Bound<'py, PyDict>,
        targets: Vec<Target<'py>>,
        args: &RunArgs,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = feeds.py();
        let given = self.feed(feeds)?;
        let memory: Vec<Option<&OutputMemory>> = targets
            .iter()
            .map(|target| match target {
                Target::Memory(_, memory) => Some(memory),
                Target::Copy(_) | Target::New => None,
            })
            .collect();
        let results: Vec<Value> =
            self.run(py, args, |options| self.executable.run_in_memory(given, &memory, options))?;
        let names = self.output_names();
        let mut arrays = Vec::with_capacity(targets.len());
        for ((target, result), name) in targets.into_iter().zip(results).zip(&names) {
            arrays.push(match target {
                Target::Memory(array, _) => array,
                Target::Copy(array) => {
                    copy_to(name, &from_value(py, result)?, &array)?;
                    array
                }
                Target::New => from_value(py, result)?,
            });
        }
        Ok(arrays)
    }
}
