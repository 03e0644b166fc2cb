//! Answers to requests, whether they are still wanted, and how much of a document they are about.

use lsp_server::ErrorCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure(pub(crate) String);

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure(error.to_string())
    }
}

pub(crate) type Answer<T> = Result<T, Failure>;

/// How much of a document is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The syntax.
    Syntax,
    /// Everything that the settings ask for.
    All,
}

/// Whether an answer is still wanted: shared by the loop and the worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demand(Arc<AtomicU8>);

impl Demand {
    const CANCELLED: u8 = 1;
    const STALE: u8 = 2;

    pub(crate) fn cancel(&self) {
        self.0.store(Self::CANCELLED, Ordering::Relaxed);
    }

    pub(crate) fn outdate(&self) {
        self.0.store(Self::STALE, Ordering::Relaxed);
    }

    /// The code with which the request ends, if the answer is not wanted.
    pub(crate) fn ended(&self) -> Option<ErrorCode> {
        match self.0.load(Ordering::Relaxed) {
            Self::CANCELLED => Some(ErrorCode::RequestCanceled),
            Self::STALE => Some(ErrorCode::ContentModified),
            _ => None,
        }
    }
}
