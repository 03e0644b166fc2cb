//! Tests of the module as a whole.

mod forms;
mod random;
