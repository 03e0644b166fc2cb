//! Comparisons of results: whether values are close enough, and how they differ if they are not.
//!
//! ```
//! use onnxtxt::compare::{DifferenceStatistics, Tolerance, difference, first_difference};
//! use onnx_exec::{Tensor, Value};
//!
//! let of = |numbers: [f32; 2]| Tensor::of(&[2], &numbers).map(Value::from);
//! let (result, expected) = (of([1.0, 2.5])?, of([1.0, 2.0])?);
//! let tolerance = Tolerance::new(None, None);
//! assert!(difference(&expected, &expected, &tolerance).is_none());
//! let how = first_difference(&result, &expected, &tolerance).expect("they differ");
//! assert!(how.starts_with("element [1] is 2.5 and 2"));
//! assert_eq!(DifferenceStatistics::of_values(&result, &expected).map(|statistics| statistics.largest()), Some(0.5));
//! # Ok::<(), onnx_exec::Failure>(())
//! ```

mod baseline;
mod difference;
mod first_difference;
mod output;
mod statistics;
mod tolerance;

pub use baseline::{Baseline, OutputPair, inputs_for};
pub use difference::{difference, is_close_as_a_whole};
pub use first_difference::first_difference;
pub use output::OutputComparison;
pub use statistics::DifferenceStatistics;
pub use tolerance::{Precision, TWO_STEPS_OF_BFLOAT16, Tolerance};
