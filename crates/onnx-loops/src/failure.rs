//! Reasons why a computation fails.

use onnx_ir::diag::{Code, code};
use std::fmt;

/// The reason why a node failed: one sentence, lower case, without a full stop. The caller adds which node it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    why: String,
    is_limit: bool,
}

impl Failure {
    /// A failure for a reason.
    pub fn new(why: impl Into<String>) -> Self {
        Failure { why: why.into(), is_limit: false }
    }

    /// A failure because a limit of the run was exceeded.
    pub fn limit(why: impl Into<String>) -> Self {
        Failure { why: why.into(), is_limit: true }
    }

    /// Whether a limit of the run was exceeded.
    pub fn is_limit(&self) -> bool {
        self.is_limit
    }

    /// The diagnostic code.
    pub fn code(&self) -> &'static Code {
        if self.is_limit { &code::RUN_LIMIT } else { &code::RUN_FAILED }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Failure {}

/// Returns a [`Failure`] with a formatted reason.
#[macro_export]
macro_rules! fail {
    ($($text:tt)*) => {
        return Err($crate::Failure::new(format!($($text)*)))
    };
}
pub use crate::fail;
