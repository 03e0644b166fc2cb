//! The C interface of onnxtxt. `include/onnxtxt.h` is generated from it, and has the documentation for its users.
//!
//! Rules that hold for every function:
//! - A handle (`onnxtxt_model *`) that a function returns belongs to the caller, who frees it with the function `…_free` of its type, which
//!   does nothing for a null pointer. Other pointers, and what views point to, belong to the handle that they came from, and are valid until it
//!   is changed or freed.
//! - Functions that take a handle as `const` may be called by several threads at once. One that takes it without `const` changes it, and no other
//!   thread may use it meanwhile.
//! - Nothing unwinds into the caller: an internal error is a finding, or the result that stands for "nothing".
//! - Strings are UTF-8 with a length, not terminated; a null pointer with length 0 is the empty string.
//! - A null pointer where a handle is expected, and a number out of range, give "nothing" or [`Status::Argument`].

mod abi;
mod attribute;
mod custom;
mod data;
mod diagnostic;
mod findings;
mod memory;
mod model;
mod place;
mod run;
mod session;
mod tensor;
mod types;
mod walk;
