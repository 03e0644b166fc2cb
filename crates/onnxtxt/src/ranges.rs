//! The ranges of activations, measured by running a model: calibration.

use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The smallest and the largest number of each value of the main graph, for [`Scheme::Static`](crate::edit::Scheme::Static).
///
/// ```
/// use onnxtxt::{CompileOptions, Ranges};
/// use onnx_exec::{RunOptions, Tensor};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }"#;
/// let executable = onnxtxt::parse(text).compile(&CompileOptions::default()).unwrap();
/// let mut ranges = Ranges::new(None);
/// for numbers in [[1.0f32, 2.0], [0.5, 1.0]] {
///     let x = Tensor::of(&[2], &numbers).expect("two");
///     ranges.measure(&executable, vec![Some(x.into())], &RunOptions::default()).unwrap();
/// }
/// assert_eq!((ranges.known()["x"], ranges.known()["y"]), ((0.5, 2.0), (-2.0, -0.5)));
/// ```
#[derive(Default)]
pub struct Ranges {
    known: BTreeMap<String, (f64, f64)>,
    percentile: Option<f64>,
}

impl Ranges {
    /// No ranges. With a percentile, a range has so many percent of the numbers of each run.
    #[must_use]
    pub fn new(percentile: Option<f64>) -> Ranges {
        Ranges { known: BTreeMap::new(), percentile }
    }

    /// Runs the model with calibration inputs, and widens the ranges by the numbers that occur.
    ///
    /// # Errors
    ///
    /// The model cannot be run with these inputs.
    pub fn measure(
        &mut self,
        executable: &Executable<'_>,
        inputs: Vec<Option<Value>>,
        options: &RunOptions<'_>,
    ) -> Result<(), Box<Diagnostic>> {
        for (port, value) in executable.inputs().iter().zip(&inputs) {
            if let Some(value) = value {
                self.add(executable.model().text(port.name), value);
            }
        }
        let seen = Mutex::new(self);
        let observe = |name: &str, value: &Value| {
            seen.lock().unwrap_or_else(PoisonError::into_inner).add(name, value);
        };
        executable.run(inputs, &RunOptions { observe: Some(&observe), ..options.clone() }).map(|_| ())
    }

    /// The range of each value.
    #[must_use]
    pub fn known(&self) -> &BTreeMap<String, (f64, f64)> {
        &self.known
    }

    /// Widens the range of a value by its numbers in one run, or by so many percent of them.
    fn add(&mut self, name: &str, value: &Value) {
        let Value::Tensor(tensor) = value else { return };
        let Ok(numbers) = tensor.floats() else { return };
        let mut finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let Some(range) = range(&mut finite, self.percentile) else { return };
        let known = self.known.entry(name.to_owned()).or_insert(range);
        *known = (known.0.min(range.0), known.1.max(range.1));
    }
}

/// The range of numbers, without the smallest and the largest ones outside of a percentile.
fn range(numbers: &mut [f64], percentile: Option<f64>) -> Option<(f64, f64)> {
    let last = numbers.len().checked_sub(1)?;
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let Some(percentile) = percentile.filter(|percentile| *percentile < 100.0) else {
        return Some((low, high));
    };
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a part of a count"
    )]
    let cut = ((1.0 - percentile / 100.0) * last as f64).round() as usize;
    let (_, &mut low, _) = numbers.select_nth_unstable_by(cut.min(last), f64::total_cmp);
    let (_, &mut high, _) = numbers.select_nth_unstable_by(last - cut.min(last), f64::total_cmp);
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn outliers_are_outside_of_a_percentile() {
        let mut numbers: Vec<f64> = (0..101).map(f64::from).collect();
        numbers[7] = 1e9;
        assert_eq!(range(&mut numbers.clone(), None), Some((0.0, 1e9)));
        assert_eq!(range(&mut numbers, Some(99.0)), Some((1.0, 100.0)));
        assert_eq!(range(&mut [], None), None);
    }
}
