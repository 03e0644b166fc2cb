//! The ranges of activations, measured by running the model.

use super::Args;
use crate::execution::prepared::Prepared;
use crate::session::Session;
use onnx_exec::{RunOptions, Value};
use onnx_ir::diag::Diagnostic;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The smallest and the largest number of each value of the main graph.
#[derive(Default)]
pub(super) struct Ranges(BTreeMap<String, (f64, f64)>);

impl Ranges {
    /// Runs the model with each of the calibration inputs.
    pub(super) fn measure(
        args: &Args,
        prepared: &Prepared,
        session: &mut Session,
    ) -> anyhow::Result<Result<Ranges, Vec<Diagnostic>>> {
        let mut ranges = Ranges::default();
        if args.calibrate.is_empty() {
            return Ok(Ok(ranges));
        }
        let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
        let executable = prepared.compiled(&args.limits, &options, session)?;
        for file in &args.calibrate {
            let given = args.inputs.of_files(std::slice::from_ref(file));
            let inputs = match options.within(|| given.values(prepared, &executable, session))? {
                Ok(inputs) => inputs,
                Err(found) => return Ok(Err(found)),
            };
            for (port, value) in executable.inputs().iter().zip(&inputs) {
                if let Some(value) = value {
                    ranges.add(executable.model().text(port.name), value, args.percentile);
                }
            }
            let seen = Mutex::new(&mut ranges);
            let observe = |name: &str, value: &Value| {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.add(name, value, args.percentile);
            };
            let options = RunOptions { observe: Some(&observe), ..options.clone() };
            if let Err(finding) = executable.run(inputs, &options) {
                return Ok(Err(vec![*finding]));
            }
        }
        Ok(Ok(ranges))
    }

    pub(super) fn known(&self) -> &BTreeMap<String, (f64, f64)> {
        &self.0
    }

    /// Widens the range of a value by its numbers in one run, or by so many percent of them.
    fn add(&mut self, name: &str, value: &Value, percentile: Option<f64>) {
        let Value::Tensor(tensor) = value else { return };
        let Ok(numbers) = tensor.floats() else { return };
        let mut finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let Some(range) = range(&mut finite, percentile) else { return };
        let known = self.0.entry(name.to_owned()).or_insert(range);
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
