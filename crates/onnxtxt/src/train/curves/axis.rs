//! Axes: their range, the places of their ticks, and labels.

/// An axis from `low` to `high`, in powers of ten if it is logarithmic.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    step: f64,
    is_logarithmic: bool,
}

/// About so many ticks.
const TICKS: f64 = 5.0;
/// The greatest value of an axis.
const MAX_VALUE: f64 = 1e300;
/// Positive values whose largest is so many times the smallest are drawn logarithmically.
const SPAN: f64 = 50.0;

impl Axis {
    /// An axis for values: a logarithmic one if they are positive and differ much, otherwise one that ends at round numbers.
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Axis {
        // Their difference must be finite.
        let values = values.map(|y| y.clamp(-MAX_VALUE, MAX_VALUE));
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)));
        if low > high {
            return Axis::round(0.0, 1.0);
        }
        if low > 0.0 && high / low > SPAN {
            let (low, high) = (low.log10().floor(), high.log10().ceil());
            let step = ((high - low) / TICKS).ceil().max(1.0);
            return Axis { low, high, step, is_logarithmic: true };
        }
        // Zero belongs to values that come near it.
        let low = if low > 0.0 && low < 0.3 * high { 0.0 } else { low };
        Axis::round(low, high)
    }

    /// An axis from `low` to `high`, not extended.
    pub(super) fn linear(low: f64, high: f64) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        Axis { low, high, step: round_step(high - low), is_logarithmic: false }
    }

    /// An axis that ends at ticks.
    fn round(low: f64, high: f64) -> Axis {
        let margin = if high > low { 0.0 } else { high.abs().max(1e-9) * 0.1 };
        let (low, high) = (low - margin, high + margin);
        let step = round_step(high - low);
        Axis {
            low: (low / step + 1e-9).floor() * step,
            high: (high / step - 1e-9).ceil() * step,
            step,
            is_logarithmic: false,
        }
    }

    /// Where a value is: 0 at the beginning of the axis, 1 at its end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if self.is_logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// The values with ticks.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let first = (self.low / self.step - 1e-9).ceil();
        let count = ((self.high / self.step + 1e-9).floor() - first).clamp(0.0, 50.0);
        let mut ticks = Vec::new();
        let mut i = 0.0;
        while i <= count {
            let tick = (first + i) * self.step;
            ticks.push(if self.is_logarithmic { 10f64.powf(tick) } else { tick });
            i += 1.0;
        }
        ticks
    }

    /// The text of a tick.
    pub(super) fn label(&self, tick: f64) -> String {
        let size = tick.abs();
        if self.is_logarithmic || size >= 1e6 || (size > 0.0 && self.step < 1e-5) {
            let text = format!("{tick:.2e}");
            return match text.split_once('e') {
                Some((digits, power)) if digits.contains('.') => {
                    format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'))
                }
                _ => text,
            };
        }
        let digits = (-self.step.log10().floor()).clamp(0.0, 9.0);
        // A step of 2.5 needs one more.
        let is_half =
            (self.step * 10f64.powf(digits) - (self.step * 10f64.powf(digits)).round()).abs() > 1e-6;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 9")]
        let digits = digits as usize + usize::from(is_half);
        let text = format!("{tick:.digits$}");
        if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') { "0".to_owned() } else { text }
    }
}

/// 1, 2, 2.5 or 5 times a power of ten, so that there are about `TICKS` of them.
fn round_step(span: f64) -> f64 {
    let raw = (span / TICKS).max(f64::MIN_POSITIVE);
    let power = 10f64.powf(raw.log10().floor());
    let times = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|times| raw <= times * power * 1.000_001);
    times.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|tick| axis.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(Axis::of([0.1, 0.93].into_iter())), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Axis::of([2.1, 4.9].into_iter())), ["2", "3", "4", "5"]);
        assert_eq!(labels(Axis::of([1e-3, 2.0].into_iter())), ["1e-3", "1e-2", "1e-1", "1e0", "1e1"]);
        assert_eq!(labels(Axis::linear(1.0, 500.0)), ["100", "200", "300", "400", "500"]);
        assert!((3..9).contains(&labels(Axis::of([0.25].into_iter())).len()));
        assert!(!labels(Axis::of(std::iter::empty())).is_empty());
        assert!(!labels(Axis::of([f64::MAX, -f64::MAX].into_iter())).is_empty());
    }
}
