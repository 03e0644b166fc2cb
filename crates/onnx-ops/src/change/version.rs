//! How nodes are converted at each version of their operator; the rows of operators have them for each operator
//! with more than one version.
//!
//! A version is unchanged if it allows more types, values or shapes, clarifies the specification, or adds inputs, outputs and
//! attributes whose defaults keep the meaning: the walk compares nodes with the target signature, removes attributes that have
//! their default, and refuses what the target does not support. All other versions have an adapter or a reason why there is none.
//! The first version of an operator has a row if it replaces another operator.
//!
//! From the documentation of the operators; a test compares the rows with the versions and signatures of the registry.

use super::site::Adapter;
use Conversion::{By, Same};

/// How a node is converted at a version boundary.
#[derive(Clone, Copy)]
pub(crate) enum Conversion {
    /// Unchanged.
    Same,
    /// By an adapter.
    By(Adapter),
    /// Not possible, for this reason.
    No(&'static str),
}

/// A version of an operator, and the conversions at its boundary.
#[derive(Clone, Copy)]
pub(crate) struct VersionChange {
    /// The version.
    pub(crate) since: u32,
    /// From the version before to this one.
    pub(crate) up: Conversion,
    /// From this one to the version before.
    pub(crate) down: Conversion,
}

/// A version with its conversions in both directions.
pub(crate) const fn step(since: u32, up: Conversion, down: Conversion) -> VersionChange {
    VersionChange { since, up, down }
}

/// A version that keeps nodes as they are.
pub(crate) const fn same(since: u32) -> VersionChange {
    step(since, Same, Same)
}

/// A version to which an adapter converts; from it, nodes stay as they are.
pub(crate) const fn up(since: u32, adapter: Adapter) -> VersionChange {
    step(since, By(adapter), Same)
}

/// A version from which an adapter converts; to it, nodes stay as they are.
pub(crate) const fn down(since: u32, adapter: Adapter) -> VersionChange {
    step(since, Same, By(adapter))
}
