//! Tests of the module as a whole.

mod equal;
mod forms;
mod limits;
mod parse;
mod random;
mod values;
