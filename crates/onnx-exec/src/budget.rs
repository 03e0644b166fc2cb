//! How much a run may take: the memory of all tensors together, and the steps of long nodes.
//!
//! Who runs a model enters a [`Budget`] on the threads that compute; every buffer that is made there is charged to it
//! until it is dropped, wherever that happens, and so is every [`List`](crate::List). What takes long says so with [`spend`],
//! and ends where it is cancelled.

use crate::Failure;
use crate::recycle::Recycler;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The memory of a run: what it may use, and what is in use.
///
/// [`RunOptions::memory`](crate::RunOptions::memory) takes one where something is to be charged before the run begins, such as
/// its inputs.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Account>);

impl Memory {
    /// At most so many bytes at a time.
    pub fn new(most: usize) -> Memory {
        let most = most.min(isize::MAX as usize);
        Memory(Arc::new(Account { most, used: AtomicUsize::new(0), peak: AtomicUsize::new(0) }))
    }

    /// Charges the tensors that `work` makes on this thread, until they are dropped.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        Arc::new(Budget::with_memory(self, u64::MAX, None)).enter(work)
    }
}

/// Bytes that may be in use, those that are, and the most that were.
#[derive(Debug)]
struct Account {
    most: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
}

/// Memory, and steps that are left.
#[derive(Debug)]
pub(crate) struct Budget {
    account: Arc<Account>,
    steps: AtomicU64,
    cancel: Option<Arc<AtomicBool>>,
    /// Where the memory of tensors comes from.
    recycler: Option<Arc<Recycler>>,
}

/// What a tensor takes besides its elements: without it, millions of small ones would take much more than they may.
pub(crate) const TENSOR: usize = 128;

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
    /// So many bytes, and so many steps; `cancel` ends what is asked whether it may go on.
    pub(crate) fn new(most: usize, steps: u64, cancel: Option<Arc<AtomicBool>>) -> Self {
        Budget::with_memory(&Memory::new(most), steps, cancel)
    }

    /// The memory is one of which something may be in use already.
    pub(crate) fn with_memory(memory: &Memory, steps: u64, cancel: Option<Arc<AtomicBool>>) -> Self {
        let account = Arc::clone(&memory.0);
        account.peak.store(account.used.load(Ordering::Relaxed), Ordering::Relaxed);
        Budget { account, steps: AtomicU64::new(steps), cancel, recycler: None }
    }

    /// The same, with a recycler that the memory of tensors comes from.
    pub(crate) fn with_recycler(self, recycler: &Arc<Recycler>) -> Arc<Self> {
        Arc::new(Budget { recycler: Some(Arc::clone(recycler)), ..self })
    }

    /// The one that this thread is in.
    pub(crate) fn here() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The most bytes that were in use at a time.
    pub(crate) fn peak(&self) -> usize {
        self.account.peak.load(Ordering::Relaxed)
    }

    /// Steps that have not been taken.
    pub(crate) fn steps_left(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// Charges what is made in `work` on this thread.
    pub(crate) fn enter<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let outer = CURRENT.replace(Some(Arc::clone(self)));
        let _leave = Leave(outer);
        work()
    }

    fn spend(&self, steps: usize) -> Result<(), Failure> {
        if self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
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
                "{steps} steps are needed, and {left} are left of those of the run"
            ))),
        }
    }
}

/// Takes so many steps, each of about one operation on numbers: before them, and again and again where they are many, since
/// this is where a run is cancelled. None are taken to ask for that alone.
pub(crate) fn spend(steps: usize) -> Result<(), Failure> {
    CURRENT.with_borrow(|current| match current {
        None => Ok(()),
        Some(budget) => budget.spend(steps),
    })
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
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{size:.1} {unit}") }
}

struct Leave(Option<Arc<Budget>>);

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Bytes that are charged to the memory of a run.
#[derive(Debug)]
pub(crate) struct Charge(Option<(Arc<Account>, usize)>);

impl Charge {
    /// Nothing.
    pub(crate) fn none() -> Charge {
        Charge(None)
    }

    /// Charges the budget of this thread; without one, everything fits.
    pub(crate) fn of(bytes: usize) -> Result<Charge, Failure> {
        CURRENT.with_borrow(|current| match current {
            None => Ok(Charge(None)),
            Some(budget) => {
                budget.account.charge(bytes)?;
                Ok(Charge(Some((Arc::clone(&budget.account), bytes))))
            }
        })
    }

    /// How many there are.
    pub(crate) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// Charges more, or gives some back; what is not charged to anything yet is charged to the budget of this thread.
    pub(crate) fn set(&mut self, to: usize) -> Result<(), Failure> {
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

/// Where the memory of tensors comes from that are made on this thread.
pub(crate) fn recycler() -> Option<Arc<Recycler>> {
    CURRENT.with_borrow(|current| current.as_ref()?.recycler.clone())
}

/// The bytes that the budget of this thread has left, if there is one.
pub(crate) fn room() -> Option<usize> {
    CURRENT.with_borrow(|current| {
        let account = &current.as_ref()?.account;
        Some(account.most.saturating_sub(account.used.load(Ordering::Relaxed)))
    })
}

/// Whether so many bytes are left; what is about to be made by a library can be asked for first.
pub(crate) fn has_room(bytes: usize) -> Result<(), Failure> {
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
