//! Why something could not be computed.

use onnx_ir::diag::{Code, code};
use std::fmt;

/// Why a node could not be run: one sentence, lower case, without a full stop. Who runs the node adds which it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    why: String,
    is_limit: bool,
}

impl Failure {
    /// A reason.
    pub fn new(why: impl Into<String>) -> Self {
        Failure { why: why.into(), is_limit: false }
    }

    /// More was needed than the run may take.
    pub(crate) fn limit(why: impl Into<String>) -> Self {
        Failure { why: why.into(), is_limit: true }
    }

    /// Whether more was needed than the run may take.
    pub fn is_limit(&self) -> bool {
        self.is_limit
    }

    /// What kind of finding it is.
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

/// Leaves with a [`Failure`], whose text is formatted.
macro_rules! fail {
    ($($text:tt)*) => {
        return Err($crate::Failure::new(format!($($text)*)))
    };
}
pub(crate) use fail;
