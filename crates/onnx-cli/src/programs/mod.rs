//! Other programs that a command runs, and the temporary folders that they work in.

pub(crate) mod scratch;
pub(crate) mod user_command;
