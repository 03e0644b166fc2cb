//! Ends inference, checks and passes when their caller asks for it.
//!
//! These return models and findings, not results: none of them fails. So an interrupted one unwinds, as a panic does but without
//! its message, up to the [`interruptible`] call around it, which returns `None`. Whatever it was changing is then incomplete:
//! callers work on a copy. Programs that are built to abort on panics never ask.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// Looks between two questions. A node takes microseconds, a question may read a clock.
const BETWEEN: u32 = 16;

type Interrupt = dyn Fn() -> bool;

thread_local! {
    /// The question of the innermost [`interruptible`] call of this thread.
    static ASKED: RefCell<Option<Rc<Interrupt>>> = const { RefCell::new(None) };
    static LOOKS: Cell<u32> = const { Cell::new(0) };
}

/// The payload of an interrupt that unwinds.
struct Interrupted;

/// Does work that ends soon after `interrupt` returns true: then the result is `None`. The question is asked many times, by this
/// thread. Work may change what it owns, which is dropped, and must leave everything else as it was, whenever it ends.
///
/// ```
/// use onnx_ops::infer::infer;
/// use onnx_ops::interrupt::interruptible;
/// use onnx_ops::schema::Registry;
///
/// let nodes: String = (0..100).map(|i| format!("x{} = Neg(x{i}) ", i + 1)).collect();
/// let text = format!("<ir_version: 10, opset_import: [\"\": 21]> g (float[N] x0) => (float[N] x100) {{ {nodes} }}");
/// let model = onnx_text::read_model(&text).value;
/// let inferred = |interrupt| {
///     interruptible(move || interrupt, || infer(&model, Registry::builtin(), &Default::default()))
/// };
/// assert!(inferred(false).is_some());
/// assert!(inferred(true).is_none());
/// ```
pub fn interruptible<T>(interrupt: impl Fn() -> bool + 'static, work: impl FnOnce() -> T) -> Option<T> {
    let _leave = Leave(ASKED.replace(Some(Rc::new(interrupt))));
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => Some(done),
        Err(payload) if payload.is::<Interrupted>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// Ends the work of the innermost [`interruptible`] call if its question asks for it. Long loops call it once for each node.
pub fn look() {
    let looks = LOOKS.get().wrapping_add(1);
    LOOKS.set(looks);
    if !looks.is_multiple_of(BETWEEN) {
        return;
    }
    // The question may begin other work, so nothing is borrowed meanwhile.
    let asked = ASKED.with_borrow(Clone::clone);
    if asked.is_some_and(|interrupt| interrupt()) {
        resume_unwind(Box::new(Interrupted));
    }
}

/// Brings back the question of the call around.
struct Leave(Option<Rc<Interrupt>>);

impl Drop for Leave {
    fn drop(&mut self) {
        ASKED.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(count: u32) {
        (0..count).for_each(|_| look());
    }

    #[test]
    fn work_ends_soon_after_it_is_asked_for() {
        let asked = Rc::new(Cell::new(0));
        let counted = Rc::clone(&asked);
        let done = interruptible(
            move || {
                counted.set(counted.get() + 1);
                counted.get() == 3
            },
            || looks(10 * BETWEEN),
        );
        assert_eq!((done, asked.get()), (None, 3));
    }

    #[test]
    fn work_inside_is_asked_alone() {
        let outer = interruptible(
            || true,
            || {
                let inner = interruptible(|| false, || looks(10 * BETWEEN));
                assert_eq!(inner, Some(()));
                looks(BETWEEN);
            },
        );
        assert_eq!(outer, None);
        looks(10 * BETWEEN);
    }

    #[test]
    fn other_panics_go_on() {
        let caught =
            catch_unwind(|| interruptible(|| false, || -> () { resume_unwind(Box::new("a mistake")) }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"a mistake"));
    }
}
