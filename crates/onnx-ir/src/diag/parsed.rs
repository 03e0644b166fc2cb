//! The result of every reader and parser: a value and all findings, never one instead of the other.

use super::{Diagnostic, Level};

/// The result of reading an input: what could be built, and everything that was wrong.
///
/// There is a value even if there are errors; what is missing in it is reported. A value that may be missing as a whole
/// is an `Option`.
///
/// ```
/// use onnx_ir::diag::{Diagnostic, Parsed, Span, code};
///
/// // A reader of comma-separated numbers.
/// fn numbers(text: &str) -> Parsed<Vec<i64>> {
///     let mut read = Parsed::new(Vec::new(), Vec::new());
///     for word in text.split(',') {
///         match word.trim().parse() {
///             Ok(number) => read.value.push(number),
///             Err(_) => read.diagnostics.push(Diagnostic::new(&code::BAD_NUMBER, Span::at(0), "not a number")),
///         }
///     }
///     read
/// }
///
/// let read = numbers("1, two, 3");
/// assert_eq!((&read.value[..], read.has_errors()), (&[1, 3][..], true));
/// assert!(read.into_result().is_err());
/// assert_eq!(numbers("1, 3").into_result().unwrap(), [1, 3]);
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
#[must_use = "the value comes with findings"]
pub struct Parsed<T> {
    /// The value, as much of it as could be read.
    pub value: T,
    /// Findings, in the order of the input.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Parsed<T> {
    /// A value with findings about its input.
    pub fn new(value: T, diagnostics: Vec<Diagnostic>) -> Self {
        Parsed { value, diagnostics }
    }

    /// Another value with the same findings.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Parsed<U> {
        Parsed { value: f(self.value), diagnostics: self.diagnostics }
    }

    /// Whether a finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Whether a part of the input was not understood, so that the value is incomplete. Errors about what was understood, such as
    /// a name without a definition, do not count.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.diagnostics.iter().any(|found| found.is_error() && found.code.level == Level::Syntax)
    }

    /// The value, for callers that accept no errors; warnings are dropped.
    ///
    /// # Errors
    ///
    /// All findings, if one of them is an error.
    pub fn into_result(self) -> Result<T, Vec<Diagnostic>> {
        if self.has_errors() { Err(self.diagnostics) } else { Ok(self.value) }
    }

    /// The value and the findings, to take them apart in one pattern.
    #[must_use]
    pub fn into_parts(self) -> (T, Vec<Diagnostic>) {
        (self.value, self.diagnostics)
    }
}
