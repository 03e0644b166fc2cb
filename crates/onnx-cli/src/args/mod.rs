//! Options that several commands share. The arguments of one command are in its file.

pub(crate) mod config;
pub(crate) mod global;
pub(crate) mod limits;
pub(crate) mod profile;
pub(crate) mod sizes;
