//! Shows how far long work is, as `onnxtxt._progress` decides: in notebooks, where a caller asks for it, or by a function of the caller.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The progress of one call.
pub(crate) struct Progress {
    /// An object with `update` and `close`, if the progress is shown.
    shown: Option<Py<PyAny>>,
    done: usize,
}

impl Progress {
    /// `show` is the argument of the caller, `total` the number of what is done, if that is known.
    pub(crate) fn begin(
        py: Python<'_>,
        show: Option<&Bound<'_, PyAny>>,
        label: &str,
        total: Option<usize>,
    ) -> PyResult<Progress> {
        static BEGIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let begin = BEGIN.import(py, "onnxtxt._progress", "begin")?;
        let shown = begin.call1((show, label, total))?;
        Ok(Progress { shown: (!shown.is_none()).then(|| shown.unbind()), done: 0 })
    }

    /// One more is done. The thread may not hold the interpreter. Exceptions of a function of the caller are its own.
    pub(crate) fn advance(&mut self) -> PyResult<()> {
        self.done += 1;
        match &self.shown {
            None => Ok(()),
            Some(shown) => Python::attach(|py| shown.call_method1(py, "update", (self.done,)).map(drop)),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(shown) = &self.shown else { return };
        Python::attach(|py| {
            if let Err(error) = shown.call_method0(py, "close") {
                error.write_unraisable(py, Some(shown.bind(py)));
            }
        });
    }
}
