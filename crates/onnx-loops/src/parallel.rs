//! Parts of some work on the threads of the pool, charged to the run that they belong to.

use crate::budget::Budget;
use crate::failure::Failure;
use crate::pool;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// For up to this many threads, parts need no allocation.
pub const MAX_INLINE_PARTS: usize = 4;

/// Runs parts of some work on the threads of the pool, and returns the failure of the first part that failed.
pub fn parallel<P: Send>(
    parts: Vec<P>,
    work: impl Fn(P) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    share(parts, work)
}

/// [`parallel`] for parts from an iterator, without allocation for few threads.
pub fn share<P: Send>(
    parts: impl IntoIterator<Item = P>,
    work: impl Fn(P) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let parts: SmallVec<[_; MAX_INLINE_PARTS]> =
        parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
    let budget = Budget::here();
    let failure = Mutex::new(None);
    pool::each(&parts, &|number, part| {
        let result = match &budget {
            Some(budget) => budget.enter(|| work(part)),
            None => work(part),
        };
        if let Err(why) = result {
            let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
            if failure.as_ref().is_none_or(|(known, _)| number < *known) {
                *failure = Some((number, why));
            }
        }
    });
    let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, why)| Err(why))
}
