//! One output of two runs, compared.

use super::{DifferenceStatistics, Tolerance, difference, first_difference, is_close_as_a_whole};
use onnx_exec::Value;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// An output of two runs, compared.
pub struct OutputComparison {
    /// Its name.
    pub name: String,
    /// How the results differ, if they do.
    pub difference: Option<String>,
    /// The criterion in words by which they are close, if that is only as a whole.
    pub as_a_whole: Option<String>,
    /// Whether they are equal.
    pub is_equal: bool,
    /// Of tensors of one type and shape.
    pub statistics: Option<DifferenceStatistics>,
}

impl OutputComparison {
    /// Compares a result with the expected one.
    #[must_use]
    pub fn of(name: &str, result: &Value, expected: &Value, tolerance: &Tolerance) -> OutputComparison {
        let plain = difference(result, expected, tolerance);
        let difference = plain.map(|plain| first_difference(result, expected, tolerance).unwrap_or(plain));
        let is_equal = difference.is_none() && result == expected;
        let is_whole = !is_equal && difference.is_none() && is_close_as_a_whole(result, expected, tolerance);
        OutputComparison {
            name: name.to_owned(),
            difference,
            as_a_whole: is_whole.then(|| tolerance.as_a_whole_in_words()),
            is_equal,
            statistics: DifferenceStatistics::of_values(result, expected),
        }
    }

    /// `equal`, `close`, `close as a whole` or `differs`.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match (&self.difference, self.is_equal, &self.as_a_whole) {
            (Some(_), ..) => "differs",
            (None, true, _) => "equal",
            (None, false, Some(_)) => "close as a whole",
            (None, false, None) => "close",
        }
    }

    /// The comparison in one or two lines.
    #[must_use]
    pub fn text(&self) -> String {
        let name = &self.name;
        let (mut text, has_statistics) = match (&self.difference, &self.as_a_whole) {
            (Some(difference), _) => (format!("DIFFERS  {name}: {difference}\n"), true),
            (None, Some(criterion)) => (format!("close    {name} as a whole: {criterion}\n"), true),
            (None, None) => (format!("{:<8} {name}\n", self.status()), false),
        };
        if let Some(statistics) = self.statistics.filter(|_| has_statistics) {
            _ = writeln!(text, "         {statistics}");
        }
        text
    }

    /// The comparison as JSON: `name`, `status`, `difference` and `spread`.
    #[must_use]
    pub fn json(&self) -> Json {
        let spread = self.statistics.as_ref().map(DifferenceStatistics::json);
        json!({ "name": self.name, "status": self.status(), "difference": self.difference, "spread": spread })
    }
}
