//! How the numbers of a tensor are distributed.

use onnx_exec::{Tensor, Value};
use serde_json::json;

/// Bins of a histogram.
const BINS: usize = 10;

/// The numbers of a tensor, or of the tensors of a sequence.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Distribution {
    /// How many numbers there are.
    pub count: usize,
    /// How many are not a number.
    pub nan: usize,
    /// How many are infinite.
    pub infinite: usize,
    /// How many are zero.
    pub zeros: usize,
    /// The least of the finite numbers.
    pub min: Option<f64>,
    /// The greatest of the finite numbers.
    pub max: Option<f64>,
    /// The mean of the finite numbers.
    pub mean: Option<f64>,
    /// The standard deviation.
    pub deviation: Option<f64>,
    /// How many finite numbers are in each of ten parts of equal width between the least and the greatest.
    pub histogram: Vec<usize>,
}

impl Distribution {
    /// Of the numbers of a tensor; `None` of strings and complex numbers.
    pub fn of(tensor: &Tensor) -> Option<Distribution> {
        if tensor.is_strings() {
            return None;
        }
        match (tensor.floats(), tensor.ints()) {
            (Ok(floats), _) => Some(Distribution::of_numbers(&floats)),
            (Err(_), Ok(ints)) => {
                #[allow(clippy::cast_precision_loss, reason = "a summary")]
                let numbers: Vec<f64> = ints.iter().map(|n| *n as f64).collect();
                Some(Distribution::of_numbers(&numbers))
            }
            (Err(_), Err(_)) => None,
        }
    }

    /// Of the elements that a model stores; `None` if they are outside of it or not numbers.
    pub fn of_stored(tensor: &onnx_ir::Tensor) -> Option<Distribution> {
        Tensor::stored(tensor).ok().as_ref().and_then(Distribution::of)
    }

    /// Of a value that is a tensor.
    pub fn of_value(value: &Value) -> Option<Distribution> {
        value.tensor().ok().and_then(Distribution::of)
    }

    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "means, and the part of a range that a number is in"
    )]
    fn of_numbers(numbers: &[f64]) -> Distribution {
        let mut found = Distribution { count: numbers.len(), ..Distribution::default() };
        let (mut sum, mut squares, mut finite) = (0.0, 0.0, 0usize);
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for x in numbers {
            found.nan += usize::from(x.is_nan());
            found.infinite += usize::from(x.is_infinite());
            found.zeros += usize::from(*x == 0.0);
            if x.is_finite() {
                finite += 1;
                sum += x;
                (min, max) = (min.min(*x), max.max(*x));
            }
        }
        if finite == 0 {
            return found;
        }
        let mean = sum / finite as f64;
        found.histogram = vec![0; BINS];
        let width = max - min;
        for x in numbers.iter().filter(|x| x.is_finite()) {
            squares += (x - mean) * (x - mean);
            let part = if width > 0.0 { ((x - min) / width * BINS as f64) as usize } else { 0 };
            found.histogram[part.min(BINS - 1)] += 1;
        }
        found.min = Some(min);
        found.max = Some(max);
        found.mean = Some(mean);
        found.deviation = Some((squares / finite as f64).sqrt());
        found
    }

    /// As an object.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "count": self.count, "nan": self.nan, "infinite": self.infinite, "zeros": self.zeros, "min": self.min,
            "max": self.max, "mean": self.mean, "std": self.deviation, "histogram": self.histogram,
        })
    }

    /// The cells of a row of a table below [`Distribution::HEADS`].
    /// The cells below [`HEADS`](Self::HEADS).
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.4}"));
        let zero = |n: usize| if n == 0 { String::new() } else { n.to_string() };
        let part = |n: usize| {
            #[allow(clippy::cast_precision_loss, reason = "a share")]
            let share = n as f64 * 100.0 / self.count.max(1) as f64;
            if n == 0 { String::new() } else { format!("{share:.1}%") }
        };
        let mut cells: Vec<String> = [self.min, self.max, self.mean, self.deviation].map(number).into();
        cells.extend([part(self.zeros), zero(self.nan), zero(self.infinite), self.bars()]);
        cells
    }

    /// The heads of a table.
    pub const HEADS: [&'static str; 8] = ["min", "max", "mean", "std", "zeros", "NaN", "inf", "histogram"];

    /// The histogram as ten characters of different heights.
    fn bars(&self) -> String {
        const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let most = self.histogram.iter().copied().max().unwrap_or(0).max(1);
        let height = |n: &usize| HEIGHTS[(n * (HEIGHTS.len() - 1)).div_ceil(most).min(HEIGHTS.len() - 1)];
        self.histogram.iter().map(height).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Distribution;

    #[test]
    fn what_is_not_finite_is_counted_and_left_out() {
        let found = Distribution::of_numbers(&[0.0, 1.0, 2.0, 9.0, f64::NAN, f64::NEG_INFINITY]);
        assert_eq!((found.count, found.nan, found.infinite, found.zeros), (6, 1, 1, 1));
        assert_eq!((found.min, found.max, found.mean), (Some(0.0), Some(9.0), Some(3.0)));
        assert_eq!(found.histogram, [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn nothing_has_no_mean() {
        let none = Distribution::of_numbers(&[]);
        assert_eq!((none.count, none.min, none.mean), (0, None, None));
        let same = Distribution::of_numbers(&[5.0, 5.0]);
        assert_eq!((same.deviation, same.histogram[0]), (Some(0.0), 2));
    }
}
