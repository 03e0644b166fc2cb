//! Which findings are reported, and which of them are errors.

use onnx_ir::diag::{self, Code, Diagnostic, Level};
use std::fmt;
use std::str::FromStr;

/// Which findings are reported, and with which severity.
///
/// ```
/// use onnxtxt::check::Filter;
/// use onnxtxt::Level;
///
/// let loaded = onnxtxt::parse("<ir_version: 10, opset_import: [\"\": 21]> g () => () { t = Relu(nowhere) }");
/// let all = loaded.check(Level::Strict);
/// assert!(all.len() > 1);
/// let filter = Filter { level: Level::Strict, select: vec!["value-undefined".parse()?], ..Filter::default() };
/// assert_eq!(filter.apply(all).len(), 1);
/// # Ok::<(), onnxtxt::check::UnknownCode>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// The level of the check. Warnings of higher levels are not reported.
    pub level: Level,
    /// The reported codes; empty: all.
    pub select: Vec<CodePattern>,
    /// Codes that are not reported, even if they are selected.
    pub ignore: Vec<CodePattern>,
    /// Codes whose warnings become errors.
    pub deny: Vec<CodePattern>,
    /// Whether all warnings become errors.
    pub deny_warnings: bool,
}

impl Filter {
    /// The findings to report, in the same order, with the requested severity.
    #[must_use]
    pub fn apply(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let matches = |patterns: &[CodePattern], code| patterns.iter().any(|pattern| pattern.matches(code));
        found.retain(|finding| {
            let is_selected = self.select.is_empty() || matches(&self.select, finding.code);
            let is_of_level = finding.code.level <= self.level || finding.is_error();
            is_of_level && is_selected && !matches(&self.ignore, finding.code)
        });
        for finding in &mut found {
            if self.deny_warnings || matches(&self.deny, finding.code) {
                finding.deny();
            }
        }
        found
    }
}

/// A pattern of codes: an id (`E0203`), a name (`value-undefined`), a rule of the specification (`G03`), or the beginning of ids
/// (`E02`). Case does not matter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodePattern(String);

impl CodePattern {
    /// Whether the pattern matches a code.
    #[must_use]
    pub fn matches(&self, code: &Code) -> bool {
        let key = self.0.as_str();
        let is = |text: &str| text.eq_ignore_ascii_case(key);
        let begins = key.len() >= 3 && code.id.get(..key.len()).is_some_and(is);
        is(code.id) || is(code.name) || code.rule.is_some_and(is) || begins
    }
}

/// Fails if no code matches.
impl FromStr for CodePattern {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<CodePattern, UnknownCode> {
        let pattern = CodePattern(text.to_owned());
        if diag::ALL.iter().any(|code| pattern.matches(code)) {
            Ok(pattern)
        } else {
            Err(UnknownCode(pattern.0))
        }
    }
}

/// A pattern that matches no code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownCode(String);

impl fmt::Display for UnknownCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown code `{}`", self.0)
    }
}

impl std::error::Error for UnknownCode {}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::{Place, code};

    #[test]
    fn codes_match_by_id_name_rule_and_prefix() {
        let matches = |text: &str| CodePattern(text.to_owned()).matches(&code::VALUE_UNDEFINED);
        for text in ["E0203", "e0203", "value-undefined", "G03", "E02", "e020"] {
            assert!(matches(text), "{text}");
        }
        for text in ["E", "E0", "G0", "W02", "value", "E02033"] {
            assert!(!matches(text), "{text}");
        }
    }

    #[test]
    fn patterns_of_no_code_are_refused() {
        for text in ["E0203", "g03", "W06"] {
            assert!(text.parse::<CodePattern>().is_ok(), "{text}");
        }
        for text in ["", "E", "E9999", "nothing"] {
            let error = text.parse::<CodePattern>().unwrap_err();
            assert_eq!(error.to_string(), format!("unknown code `{text}`"));
        }
    }

    /// Each row: the filter, and what it makes of an error of level `spec`, a warning, and a lint of level `strict`.
    #[test]
    fn filters_select_ignore_and_deny() {
        let one = |code: &'static Code| Diagnostic::new(code, Place::Nowhere, "x");
        let lint = diag::ALL.iter().find(|code| code.level == Level::Strict).copied().unwrap();
        let error = &code::VALUE_UNDEFINED;
        let shown = |filter: &Filter| -> Vec<(&str, bool)> {
            let found = filter.apply(vec![one(error), one(lint)]);
            found.iter().map(|found| (found.code.id, found.is_error())).collect()
        };
        let pattern = |code: &Code| vec![code.id.parse().unwrap()];
        let strict = Filter { level: Level::Strict, ..Filter::default() };
        assert_eq!(shown(&Filter::default()), [(error.id, true)]);
        assert_eq!(shown(&strict), [(error.id, true), (lint.id, false)]);
        assert_eq!(shown(&Filter { select: pattern(lint), ..strict.clone() }), [(lint.id, false)]);
        assert_eq!(shown(&Filter { ignore: pattern(lint), ..strict.clone() }), [(error.id, true)]);
        let both = Filter { select: pattern(lint), ignore: pattern(lint), ..strict.clone() };
        assert_eq!(shown(&both), []);
        for denied in [
            Filter { deny: pattern(lint), ..strict.clone() },
            Filter { deny_warnings: true, ..strict.clone() },
        ] {
            assert_eq!(shown(&denied), [(error.id, true), (lint.id, true)]);
        }
        // An error is reported at every level.
        assert_eq!(shown(&Filter { level: Level::Syntax, ..Filter::default() }), [(error.id, true)]);
    }
}
