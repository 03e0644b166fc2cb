//! Atomic writing of files: each is replaced completely or not at all, a model together with its weights.

mod below;
mod derived;
mod place;
mod reads;
mod temporary;
mod together;
#[cfg(feature = "run")]
mod weight_cache;
mod whole;

pub use below::below;
pub use derived::{Derived, IsOwn};
pub use place::resolve;
pub use reads::{FileId, Reads, id};
pub use temporary::when_ended;
pub(crate) use together::{Moved, WriteModel, locations, may_put, plain, put};
#[cfg(feature = "run")]
pub use weight_cache::{CacheEntry, Cleaned, WeightCache};
pub use whole::{Guard, make_folder_of, may_write, write};
