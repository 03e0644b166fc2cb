//! Diagnostics as data: message, places, explanation and fixes. Rendering belongs to the owner of the text.

mod codes;
mod counted;
mod fix;
mod parsed;
mod place;

pub use codes::{ALL, Code, Level, code, find};
pub use counted::{counted, counted_are, grouped};
pub use fix::{Edit, Fix, ModelChange};
pub use parsed::Parsed;
pub use place::{Entity, Place, Span};

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Severity {
    /// The model or text is wrong.
    Error,
    /// Legal, but probably unintended.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// A place and its label.
#[derive(Clone, PartialEq, Debug)]
pub struct Label {
    /// The place.
    pub place: Place,
    /// The role of this place, lower case, no full stop.
    pub text: String,
}

/// One finding.
///
/// ```
/// use onnx_ir::diag::{Diagnostic, Edit, Span, code};
///
/// let name = Span::new(3, 8);
/// let finding = Diagnostic::new(&code::UNKNOWN_TYPE, name, "unknown type `flaot`")
///     .label("no type has this name")
///     .help("did you mean `float`?")
///     .fix("write `float`", vec![Edit { span: name, text: "float".to_owned() }], false);
/// assert!(finding.is_error());
/// assert_eq!(finding.to_string(), "error[E0113]: unknown type `flaot` (did you mean `float`?)");
/// ```
///
/// `onnx_text::render` shows it with the lines of its places.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// Its row in the code table.
    pub code: &'static Code,
    /// The severity: that of the code, unless warnings are denied.
    pub severity: Severity,
    /// The message, lower case, no full stop.
    pub message: String,
    /// The smallest place that is wrong, with its label.
    pub primary: Label,
    /// Other places that explain it: the cause, the bracket that was opened.
    pub related: Vec<Label>,
    /// One imperative, only if likely right.
    pub help: Option<String>,
    /// Possible fixes.
    pub fixes: Vec<Fix>,
}

/// Displays as code and message, `error[E0203]: use of undefined value `x``, with the help if there is one; places need the text
/// or the model.
///
/// ```
/// use onnx_ir::diag::{Diagnostic, Place, code};
///
/// fn run() -> Result<(), Box<dyn std::error::Error>> {
///     Err(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, "input `x` is not given"))?
/// }
/// let code = code::RUN_FAILED.id;
/// assert_eq!(run().unwrap_err().to_string(), format!("error[{code}]: input `x` is not given"));
/// ```
impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}]: {}", self.severity.name(), self.code.id, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Diagnostic {}

impl Diagnostic {
    /// A finding of `code` at a place.
    pub fn new(code: &'static Code, at: impl Into<Place>, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity: code.severity,
            message: message.into(),
            primary: Label { place: at.into(), text: String::new() },
            related: Vec::new(),
            help: None,
            fixes: Vec::new(),
        }
    }

    /// Sets the label of the primary place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn related(mut self, at: impl Into<Place>, text: impl Into<String>) -> Self {
        self.related.push(Label { place: at.into(), text: text.into() });
        self
    }

    /// Sets the help.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the help, if there is one.
    #[must_use]
    pub fn maybe_help(mut self, text: Option<String>) -> Self {
        self.help = text.or(self.help);
        self
    }

    /// Makes an error of a warning. The other way there is none: what may be a warning has a code of its own.
    pub fn deny(&mut self) {
        self.severity = Severity::Error;
    }

    /// Adds a fix of the text.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, edits: Vec<Edit>, safe: bool) -> Self {
        self.fixes.push(Fix { title: title.into(), edits, changes: Vec::new(), safe });
        self
    }

    /// Adds a fix of the text, if it is known what to write.
    #[must_use]
    pub fn maybe_fix(self, title: impl Into<String>, edits: Option<Vec<Edit>>, safe: bool) -> Self {
        match edits {
            Some(edits) => self.fix(title, edits, safe),
            None => self,
        }
    }

    /// Adds a fix of the model, unless it changes nothing.
    #[must_use]
    pub fn change(mut self, title: impl Into<String>, changes: Vec<ModelChange>, safe: bool) -> Self {
        if !changes.is_empty() {
            self.fixes.push(Fix { title: title.into(), edits: Vec::new(), changes, safe });
        }
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Whether it makes the meaning of the model unclear, so that the model should not be run. Other errors break a rule, but
    /// leave one meaning; denied warnings do too.
    pub fn makes_unclear(&self) -> bool {
        self.code.severity == Severity::Error && self.code.clear.is_none()
    }
}

/// The candidate most similar to `word`, if any is similar enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count().max(3) / 3).min(3);
    candidates
        .into_iter()
        .filter(|c| *c != word && !c.is_empty() && c.len().abs_diff(word.len()) <= limit * 4)
        .map(|c| {
            let same = c.eq_ignore_ascii_case(word);
            (if same { 0 } else { strsim::osa_distance(&c.to_lowercase(), &word.to_lowercase()) }, c)
        })
        .filter(|&(distance, _)| distance <= limit)
        .min()
        .map(|(_, c)| c)
}

/// A budget of comparisons: suggestions in a model with many mistakes must not take quadratic time, so later mistakes get none.
#[derive(Clone, Debug)]
pub struct Suggestions {
    rest: usize,
}

impl Default for Suggestions {
    fn default() -> Self {
        Suggestions { rest: 500_000 }
    }
}

impl Suggestions {
    /// [`did_you_mean`], if the budget allows for comparing `len` candidates.
    pub fn near<'a>(
        &mut self,
        word: &str,
        len: usize,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.affords(len).then(|| did_you_mean(word, candidates)).flatten()
    }

    /// Whether the budget allows for this many comparisons.
    pub fn affords(&mut self, len: usize) -> bool {
        let rest = self.rest.checked_sub(len);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let names = ["float", "double", "int64", "Relu"];
        assert_eq!(did_you_mean("flaot", names), Some("float"));
        assert_eq!(did_you_mean("relu", names), Some("Relu"));
        assert_eq!(did_you_mean("x", names), None);
        assert_eq!(did_you_mean("string", names), None);
    }
}
