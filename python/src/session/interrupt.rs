//! Ends runs at Ctrl-C and after a time, and other long work on models at Ctrl-C.

use pyo3::exceptions::{PyKeyboardInterrupt, PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// The time between two looks at the signals of Python.
const BETWEEN: Duration = Duration::from_millis(50);

/// Watches one run.
pub(super) struct Watch {
    start: Instant,
    /// How long it may take.
    most: Option<Duration>,
    /// The main thread of Python, if it runs there: only that one has signals.
    main: Option<ThreadId>,
    /// When to look at the signals next, in nanoseconds after the start.
    next: AtomicU64,
    has_ended: AtomicBool,
    raised: Mutex<Option<PyErr>>,
    /// Set by who cancels the run from another thread.
    flag: Option<Arc<AtomicBool>>,
}

impl Watch {
    pub(super) fn new(
        py: Python<'_>,
        timeout: Option<f64>,
        flag: Option<Arc<AtomicBool>>,
    ) -> PyResult<Watch> {
        let most = timeout.map(|seconds| match Duration::try_from_secs_f64(seconds) {
            Ok(most) => Ok(most),
            Err(_) => Err(PyValueError::new_err(format!("timeout is {seconds}, expected seconds from 0 on"))),
        });
        Ok(Watch {
            start: Instant::now(),
            most: most.transpose()?,
            main: is_main(py)?.then(|| thread::current().id()),
            next: AtomicU64::new(BETWEEN.as_nanos() as u64),
            has_ended: AtomicBool::new(false),
            raised: Mutex::new(None),
            flag,
        })
    }

    /// Whether the run ends now.
    pub(super) fn ask(&self) -> bool {
        if self.has_ended.load(Ordering::Relaxed) {
            return true;
        }
        let is_over = match self.flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            true => Some(None),
            false => self.look().map(Some),
        };
        let Some(raised) = is_over else { return false };
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = raised;
        self.has_ended.store(true, Ordering::Relaxed);
        true
    }

    fn look(&self) -> Option<PyErr> {
        let took = self.start.elapsed();
        if let Some(most) = self.most.filter(|most| took >= *most) {
            let message = format!("the run was cancelled after {} s", most.as_secs_f64());
            return Some(PyTimeoutError::new_err(message));
        }
        let now = took.as_nanos() as u64;
        if now < self.next.load(Ordering::Relaxed) || self.main != Some(thread::current().id()) {
            return None;
        }
        self.next.store(now + BETWEEN.as_nanos() as u64, Ordering::Relaxed);
        Python::attach(|py| py.check_signals()).err()
    }

    /// The exception of a run that was cancelled.
    pub(super) fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

thread_local! {
    /// Watches the work of this thread, see [`Watching`].
    static HERE: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// A watch over work that asks by [`ask_here`] whether it ends.
pub(crate) struct Watching(Arc<Watch>);

impl Watching {
    pub(crate) fn new(py: Python<'_>, timeout: Option<f64>) -> PyResult<Watching> {
        Ok(Watching(Arc::new(Watch::new(py, timeout, None)?)))
    }

    /// Does work on this thread, which does not hold the interpreter.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = HERE.replace(Some(Arc::clone(&self.0)));
        let done = work();
        HERE.set(before);
        done
    }

    /// The exception of work that was ended.
    pub(crate) fn raised(&self) -> Option<PyErr> {
        self.0.raised()
    }
}

/// Does work without the interpreter, during which [`ask_here`] watches. Returns also what ended it.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let watching = Watching::new(py, timeout)?;
    let done = py.detach(|| watching.during(work));
    Ok((done, watching.raised()))
}

/// Does work on models without the interpreter, which Ctrl-C ends wherever it looks ([`onnx_ops::interrupt`]). Raises what ended it; then
/// unfinished results are dropped.
pub(crate) fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let (done, raised) = watched(py, None, || onnx_ops::interrupt::interruptible(ask_here, work))?;
    match (raised, done) {
        (Some(raised), _) => Err(raised),
        (None, Some(done)) => Ok(done),
        (None, None) => Err(PyKeyboardInterrupt::new_err(())),
    }
}

/// Whether the work of this thread ends now.
pub(crate) fn ask_here() -> bool {
    // Signals may begin other work.
    let watch = HERE.with_borrow(Clone::clone);
    watch.is_some_and(|watch| watch.ask())
}

/// Whether this is the main thread of Python.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    thread_local! {
        static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }
    if let Some(is_main) = IS_MAIN.get() {
        return Ok(is_main);
    }
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    let is_main = main.eq(threading.call_method0("get_ident")?)?;
    IS_MAIN.set(Some(is_main));
    Ok(is_main)
}
