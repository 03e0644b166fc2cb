//! Shared code of commands that run models: a model that is ready to run, and its inputs.

pub(crate) mod inputs;
pub(crate) mod prepared;
pub(crate) mod schedule;
