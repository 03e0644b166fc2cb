//! Limits on a run: the memory of all tensors together, and the steps of long-running nodes.
//!
//! The caller enters a [`Budget`] on each thread that computes. Every buffer and every [`List`](crate::List) allocated there is
//! charged to it until it is dropped, on whichever thread that happens. Long loops report their steps with [`spend`], which fails
//! after cancellation.

use crate::Failure;
use crate::recycle::Recycler;
use onnx_ir::diag::{counted, counted_are};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The memory of a run: its limit and the bytes in use.
///
/// Pass one in the options of a run to charge allocations made before the run, such as its inputs.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Account>);

impl Memory {
    /// A limit in bytes.
    pub fn new(most: usize) -> Memory {
        let most = most.min(isize::MAX as usize);
        Memory(Arc::new(Account { most, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }))
    }

    /// Charges the tensors that `work` allocates on this thread, until they are dropped.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        Arc::new(Budget::with_memory(self, u64::MAX, None)).enter(work)
    }
}

/// The limit in bytes, the bytes in use, and their peak.
#[derive(Debug)]
struct Account {
    most: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

/// A question whether to cancel a run. It may be asked by any thread.
pub type Interrupt = dyn Fn() -> bool + Send + Sync;

/// The owner of a question whether to cancel the run.
struct Asked(Option<Arc<Interrupt>>);

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "asked" } else { "not asked" })
    }
}

/// The memory account and the steps left of a run.
#[derive(Debug)]
pub struct Budget {
    account: Arc<Account>,
    steps: AtomicU64,
    cancel: Option<Arc<AtomicBool>>,
    interrupt: Asked,
    /// Where tensors are allocated.
    recycler: Option<Arc<Recycler>>,
}

/// Bytes charged for a tensor besides its elements; otherwise millions of small tensors would exceed the limit unnoticed.
pub const TENSOR: usize = 128;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

impl Account {
    fn charge(&self, bytes: usize) -> Result<(), Failure> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let now = before.saturating_add(bytes);
        if now > self.most {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(too_large(bytes, self.most.saturating_sub(before), self.most));
        }
        self.peak.fetch_max(now, Ordering::Relaxed);
        Ok(())
    }
}

impl Budget {
    /// A budget of `most` bytes and `steps` steps; setting `cancel` makes the next [`spend`] fail.
    pub fn new(most: usize, steps: u64, cancel: Option<Arc<AtomicBool>>) -> Self {
        Budget::with_memory(&Memory::new(most), steps, cancel)
    }

    /// A budget over an account that may have bytes in use already.
    pub fn with_memory(memory: &Memory, steps: u64, cancel: Option<Arc<AtomicBool>>) -> Self {
        let account = Arc::clone(&memory.0);
        account.peak.store(account.used.load(Ordering::Relaxed), Ordering::Relaxed);
        Budget { account, steps: AtomicU64::new(steps), cancel, interrupt: Asked(None), recycler: None }
    }

    /// This budget, which is also cancelled when the interrupt returns true.
    pub fn with_interrupt(self, interrupt: Option<Arc<Interrupt>>) -> Self {
        Budget { interrupt: Asked(interrupt), ..self }
    }

    /// This budget, with tensors allocated from `recycler`.
    pub fn with_recycler(self, recycler: &Arc<Recycler>) -> Arc<Self> {
        Arc::new(Budget { recycler: Some(Arc::clone(recycler)), ..self })
    }

    /// The budget of the current thread.
    pub fn here() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The peak of the bytes in use.
    pub fn peak(&self) -> usize {
        self.account.peak.load(Ordering::Relaxed)
    }

    /// Steps left.
    pub fn steps_left(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Runs `work` with this budget as the current one of the thread.
    pub fn enter<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let outer = CURRENT.replace(Some(Arc::clone(self)));
        let _leave = Leave(outer);
        work()
    }

    fn spend(&self, steps: usize) -> Result<(), Failure> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
            || self.interrupt.0.as_ref().is_some_and(|interrupt| interrupt())
        {
            return Err(Failure::limit("the run was cancelled"));
        }
        if steps == 0 {
            return Ok(());
        }
        let steps = u64::try_from(steps).unwrap_or(u64::MAX);
        let take = |left: u64| left.checked_sub(steps);
        match self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
            Ok(_) => Ok(()),
            Err(left) => Err(Failure::limit(format!(
                "{} needed, and {left} are left of those of the run",
                counted_are(steps, "step"),
            ))),
        }
    }
}

/// Takes `steps` steps of about one arithmetic operation each. Call it before the work, and repeatedly in long loops: this is
/// where cancellation is noticed, also with 0 steps.
#[inline]
pub fn spend(steps: usize) -> Result<(), Failure> {
    CURRENT.with_borrow(|current| match current {
        None => Ok(()),
        Some(budget) => budget.spend(steps),
    })
}

/// Elements of a long loop between two looks at whether the run is cancelled: far less than a tenth of a second.
pub const BETWEEN: usize = 1 << 16;

/// Notices cancellation in a long loop over elements, for every [`BETWEEN`]th of its iterations.
pub fn look(iteration: usize) -> Result<(), Failure> {
    if iteration.is_multiple_of(BETWEEN) { spend(0) } else { Ok(()) }
}

fn too_large(bytes: usize, left: usize, most: usize) -> Failure {
    let [needed, left, most] = [bytes, left, most].map(size);
    Failure::limit(format!("not enough memory: {needed} are needed, but {left} of {most} are left"))
}

/// `12 bytes`, `1.5 GiB`
fn size(bytes: usize) -> String {
    let mut size = bytes as f64;
    let mut unit = "bytes";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    if unit == "bytes" { counted(bytes, "byte") } else { format!("{size:.1} {unit}") }
}

struct Leave(Option<Arc<Budget>>);

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Bytes charged to the memory of a run.
#[derive(Debug)]
pub struct Charge(Option<(Arc<Account>, usize)>);

impl Charge {
    /// A charge of no bytes.
    pub fn none() -> Charge {
        Charge(None)
    }

    /// Charges the budget of this thread; without a budget it always succeeds.
    pub fn of(bytes: usize) -> Result<Charge, Failure> {
        CURRENT.with_borrow(|current| match current {
            None => Ok(Charge(None)),
            Some(budget) => {
                budget.account.charge(bytes)?;
                Ok(Charge(Some((Arc::clone(&budget.account), bytes))))
            }
        })
    }

    /// The number of bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// Changes the charge to `to` bytes. A charge without an account uses the budget of this thread.
    pub fn set(&mut self, to: usize) -> Result<(), Failure> {
        match &mut self.0 {
            None => *self = Charge::of(to)?,
            Some((account, bytes)) => {
                match to.checked_sub(*bytes) {
                    Some(more) => account.charge(more)?,
                    None => _ = account.used.fetch_sub(*bytes - to, Ordering::Relaxed),
                }
                *bytes = to;
            }
        }
        Ok(())
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((account, bytes)) = &self.0 {
            account.used.fetch_sub(*bytes, Ordering::Relaxed);
        }
    }
}

/// The recycler of this thread's budget.
pub fn recycler() -> Option<Arc<Recycler>> {
    CURRENT.with_borrow(|current| current.as_ref()?.recycler.clone())
}

/// The bytes left in the budget of this thread, if there is one.
pub fn room() -> Option<usize> {
    CURRENT.with_borrow(|current| {
        let account = &current.as_ref()?.account;
        Some(account.most.saturating_sub(account.used.load(Ordering::Relaxed)))
    })
}

/// Fails if fewer than `bytes` bytes are left: a check before a library allocates.
pub fn has_room(bytes: usize) -> Result<(), Failure> {
    Charge::of(bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_used_again() {
        let budget = Arc::new(Budget::new(100, 10, None));
        budget.enter(|| {
            let first = Charge::of(60).expect("60 of 100");
            assert!(Charge::of(60).is_err());
            drop(first);
            assert!(has_room(100).is_ok());
        });
        assert!(Charge::of(1000).is_ok(), "outside nothing is counted");
        assert_eq!(budget.peak(), 100);
    }

    #[test]
    fn an_interrupt_is_asked_at_each_look() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&asked);
        let interrupt = move || counts.fetch_add(1, Ordering::Relaxed) == 2;
        let budget = Arc::new(Budget::new(0, 10, None).with_interrupt(Some(Arc::new(interrupt))));
        budget.enter(|| assert!(spend(1).is_ok() && spend(0).is_ok() && spend(0).is_err()));
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn steps_are_taken_once_and_not_when_cancelled() {
        let cancel = Arc::new(AtomicBool::new(false));
        let budget = Arc::new(Budget::new(0, 10, Some(Arc::clone(&cancel))));
        budget.enter(|| {
            assert!(spend(6).is_ok());
            assert!(spend(6).is_err());
            assert!(spend(4).is_ok());
            cancel.store(true, Ordering::Relaxed);
            assert!(spend(0).is_err());
        });
        assert!(spend(usize::MAX).is_ok(), "outside nothing is counted");
    }
}
