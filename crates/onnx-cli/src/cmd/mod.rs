//! The commands: a file each, with its `Args` and its `run`.

pub(crate) mod backend_test;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod fmt;
pub(crate) mod infer;
pub(crate) mod info;
pub(crate) mod inline;
pub(crate) mod limits;
pub(crate) mod lower;
pub(crate) mod man;
pub(crate) mod ops;
pub(crate) mod outline;
mod pair;
pub(crate) mod pass;
pub(crate) mod print;
pub(crate) mod run;
pub(crate) mod semver;
pub(crate) mod test;
mod types;
pub(crate) mod verify;
