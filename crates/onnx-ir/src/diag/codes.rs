//! The one table of codes. The doc comment of a row is what `onnxtxt explain` prints.

use super::Severity;

/// One row of the table.
#[derive(Debug)]
pub struct Code {
    /// `E0101`; the letter says how bad, the hundreds say which part.
    pub id: &'static str,
    /// `unexpected-token`
    pub name: &'static str,
    /// The rule of the specification that it enforces (`G03`), if it does.
    pub rule: Option<&'static str>,
    /// How bad it is unless a site says otherwise.
    pub severity: Severity,
    /// What it means, why it is wrong, and what to do, in Markdown.
    pub explain: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $severity:ident $konst:ident = $id:literal, $name:literal $(, $rule:literal)?;)*) => {
        /// The codes by name.
        pub mod code {
            use super::{Code, Severity};
            $(
                $(#[doc = $doc])+
                pub static $konst: Code = Code {
                    id: $id,
                    name: $name,
                    rule: codes!(@rule $($rule)?),
                    severity: Severity::$severity,
                    explain: concat!($($doc, "\n"),+),
                };
            )*
        }
        /// Every code, in the order of the table.
        pub static ALL: &[&Code] = &[$(&code::$konst),*];
    };
    (@rule) => { None };
    (@rule $rule:literal) => { Some($rule) };
}

/// The code of this id (`E0101`), name (`unexpected-token`) or rule (`G03`), in any case.
pub fn find(key: &str) -> Option<&'static Code> {
    let key = key.trim();
    ALL.iter().copied().find(|c| {
        c.id.eq_ignore_ascii_case(key)
            || c.name.eq_ignore_ascii_case(key)
            || c.rule.is_some_and(|r| r.eq_ignore_ascii_case(key))
    })
}

// Numbering: E01.. text, E02.. names and order, E03.. header, opsets and IR versions, E04.. attributes, E05.. tensors,
// E06.. external data, E07.. types, E08.. functions, E09.. training and devices; W.. the same parts as warnings.
codes! {
    /// The parser met something that cannot stand here.
    ///
    /// The message says what was found and what would fit. If a bracket was left open, a second place shows it.
    Error UNEXPECTED_TOKEN = "E0101", "unexpected-token";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_names_and_rules_are_distinct() {
        for (i, a) in ALL.iter().enumerate() {
            assert_eq!(a.id.starts_with('W'), a.severity == Severity::Warning, "{}", a.id);
            for b in &ALL[i + 1..] {
                assert!(a.id != b.id && a.name != b.name, "{} and {}", a.id, b.id);
                assert!(a.rule.is_none() || a.rule != b.rule, "{:?} twice", a.rule);
            }
        }
        assert_eq!(find("unexpected-token").map(|c| c.id), Some("E0101"));
    }
}
