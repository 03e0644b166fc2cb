//! Facts about values: types with symbolic dimensions, elements of small tensors, and attributes with their defaults.

mod attrs;
mod fact;
pub(crate) mod merge;
mod small_tensor;
mod ty;

pub use attrs::ResolvedAttrs;
pub(crate) use attrs::{Argument, Bindings, Given, NO_BINDINGS, Scope};
pub(crate) use fact::Outputs;
pub use fact::{Fact, FactSource, Facts};
pub(crate) use small_tensor::is_float;
pub use small_tensor::{Elem, Elems, Ints, SmallTensor};
pub use ty::{Shape, TensorTy, Ty, dim_text, elem_text};
