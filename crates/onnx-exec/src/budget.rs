//! How much a run may take: the memory of all tensors together, and the steps of long nodes.
//!
//! Who runs a model enters a [`Budget`] on the threads that compute; every buffer that is made there is charged to it
//! until it is dropped, wherever that happens. What takes long says so with [`spend`], and ends where it is cancelled.

use crate::Failure;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Bytes that may be in use and those that are; steps that are left.
#[derive(Debug)]
pub(crate) struct Budget {
    most: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
    steps: AtomicU64,
    cancel: Option<Arc<AtomicBool>>,
}

/// What a tensor takes besides its elements: without it, millions of small ones would take much more than they may.
pub(crate) const TENSOR: usize = 128;

thread_local! {
    static CURRENT: RefCell<Option<Arc<Budget>>> = const { RefCell::new(None) };
}

impl Budget {
    /// So many bytes, and so many steps; `cancel` ends what is asked whether it may go on.
    pub(crate) fn new(most: usize, steps: u64, cancel: Option<Arc<AtomicBool>>) -> Arc<Self> {
        let (used, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Budget { most, used, peak, steps: AtomicU64::new(steps), cancel })
    }

    /// The one that this thread is in.
    pub(crate) fn here() -> Option<Arc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The most bytes that were in use at a time.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::Relaxed)
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

    fn charge(self: &Arc<Self>, bytes: usize) -> Result<(), Failure> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let now = before.saturating_add(bytes);
        if now > self.most {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(too_large(bytes, self.most.saturating_sub(before)));
        }
        self.peak.fetch_max(now, Ordering::Relaxed);
        Ok(())
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

fn too_large(bytes: usize, left: usize) -> Failure {
    Failure::limit(format!("{bytes} bytes are needed, and {left} are left of what the run may take"))
}

struct Leave(Option<Arc<Budget>>);

impl Drop for Leave {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// Bytes that are charged to a budget.
#[derive(Debug)]
pub(crate) struct Charge(Option<(Arc<Budget>, usize)>);

impl Charge {
    /// Charges the budget of this thread; without one, everything fits.
    pub(crate) fn of(bytes: usize) -> Result<Charge, Failure> {
        CURRENT.with_borrow(|current| match current {
            None => Ok(Charge(None)),
            Some(budget) => {
                budget.charge(bytes)?;
                Ok(Charge(Some((Arc::clone(budget), bytes))))
            }
        })
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if let Some((budget, bytes)) = &self.0 {
            budget.used.fetch_sub(*bytes, Ordering::Relaxed);
        }
    }
}

/// An empty list with room for so many; how many was said by data, and need not be true of any memory.
pub(crate) fn room_for<T>(count: usize) -> Result<Vec<T>, Failure> {
    let bytes = count.saturating_mul(size_of::<T>());
    has_room(bytes)?;
    let mut list = Vec::new();
    let refused = |_| Failure::new(format!("{bytes} bytes of memory cannot be had"));
    list.try_reserve_exact(count).map_err(refused)?;
    Ok(list)
}

/// A list of so many equal numbers, see [`room_for`].
pub(crate) fn filled<T: Copy>(count: usize, with: T) -> Result<Vec<T>, Failure> {
    let mut list = room_for(count)?;
    list.resize(count, with);
    Ok(list)
}

/// Whether so many bytes are left; what is about to be made by a library can be asked for first.
pub(crate) fn has_room(bytes: usize) -> Result<(), Failure> {
    Charge::of(bytes).map(drop)
}

/// Whether there is room for copies of these strings.
pub(crate) fn has_room_for_strings<'s>(strings: impl Iterator<Item = &'s String>) -> Result<(), Failure> {
    has_room(strings.map(|s| size_of::<String>() + s.len()).fold(0, usize::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_can_be_used_again() {
        let budget = Budget::new(100, 10, None);
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
        let budget = Budget::new(0, 10, Some(Arc::clone(&cancel)));
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
