//! The parts of conversions, which the rows of operators name: a node at a version ([`site`]), adapters, and kinds of changes.

mod shared;
pub(crate) mod site;
mod version;

pub(crate) use shared::{axis_down, consumed};
pub(crate) use version::{Conversion, VersionChange, down, same, step, up};
