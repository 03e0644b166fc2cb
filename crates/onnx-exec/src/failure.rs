//! Why something could not be computed.

use std::fmt;

/// Why a node could not be run: one sentence, lower case, without a full stop. Who runs the node adds which it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(String);

impl Failure {
    /// A reason.
    pub fn new(why: impl Into<String>) -> Self {
        Failure(why.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
