//! Statistics of the difference of two lists of numbers.

use onnx_exec::Value;
use serde_json::json;

/// Cosine similarity and element differences of two lists of the same length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DifferenceStatistics {
    /// The cosine of the angle between them; `None` if one is 0 or not finite.
    pub cosine: Option<f64>,
    /// The median, 90 % and 99 % quantiles and the maximum of the absolute differences.
    quantiles: [f64; 4],
}

impl DifferenceStatistics {
    /// The statistics of two lists.
    #[must_use]
    pub fn of(xs: &[f64], ys: &[f64]) -> DifferenceStatistics {
        let (mut product, mut first, mut second) = (0.0, 0.0, 0.0);
        for (x, y) in xs.iter().zip(ys) {
            product += x * y;
            first += x * x;
            second += y * y;
        }
        let cosine = Some(product / (first.sqrt() * second.sqrt())).filter(|cosine| cosine.is_finite());
        let gap = |(x, y): (&f64, &f64)| if x == y || x.is_nan() && y.is_nan() { 0.0 } else { (x - y).abs() };
        let mut gaps: Vec<f64> = xs.iter().zip(ys).map(gap).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let last = gaps.len().saturating_sub(1);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a part of a count"
        )]
        let at = |part: f64| gaps.get((last as f64 * part).round() as usize).copied().unwrap_or(0.0);
        // Rounding must not make equal lists differ.
        let rounded = |cosine: f64| if at(1.0) == 0.0 { 1.0 } else { cosine.clamp(-1.0, 1.0) };
        DifferenceStatistics { cosine: cosine.map(rounded), quantiles: [0.5, 0.9, 0.99, 1.0].map(at) }
    }

    /// The largest difference.
    #[must_use]
    pub fn largest(&self) -> f64 {
        let [.., largest] = self.quantiles;
        largest
    }

    /// The statistics of two tensors of the same type and shape; `None` for other values.
    #[must_use]
    pub fn of_values(a: &Value, b: &Value) -> Option<DifferenceStatistics> {
        let (a, b) = (a.tensor().ok()?, b.tensor().ok()?);
        if (a.elem(), a.dims()) != (b.elem(), b.dims()) {
            return None;
        }
        Some(DifferenceStatistics::of(&a.floats().ok()?, &b.floats().ok()?))
    }

    /// The statistics as JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        // JSON has no infinity.
        let [median, p90, p99, max] = self.quantiles.map(|gap| gap.is_finite().then_some(gap));
        json!({ "cosine": self.cosine, "median": median, "p90": p90, "p99": p99, "max": max })
    }
}

impl std::fmt::Display for DifferenceStatistics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(cosine) = self.cosine {
            write!(f, "cosine {cosine:.6}, ")?;
        }
        let [median, p90, p99, max] = self.quantiles;
        write!(f, "differences: median {median:.1e}, p90 {p90:.1e}, p99 {p99:.1e}, max {max:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_of_known_lists() {
        let spread = DifferenceStatistics::of(&[1.0, 0.0], &[0.0, 1.0]);
        assert_eq!((spread.cosine, spread.quantiles), (Some(0.0), [1.0; 4]));
        let spread = DifferenceStatistics::of(&[1.0, 2.0, f64::NAN], &[1.0, 2.5, f64::NAN]);
        assert_eq!((spread.cosine, spread.quantiles), (None, [0.0, 0.5, 0.5, 0.5]));
        assert_eq!(DifferenceStatistics::of(&[], &[]).cosine, None);
        // The square of the root of 2 is not 2.
        assert_eq!(DifferenceStatistics::of(&[1.0, 1.0], &[1.0, 1.0]).cosine, Some(1.0));
        let same = DifferenceStatistics::of(&[3.0, 4.0], &[3.0, 4.0]);
        assert_eq!(
            same.to_string(),
            "cosine 1.000000, differences: median 0.0e0, p90 0.0e0, p99 0.0e0, max 0.0e0"
        );
    }
}
