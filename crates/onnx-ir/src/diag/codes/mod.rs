//! The one table of codes, a file for each part. The doc comment of a row is what `onnxtxt explain` prints.
//!
//! Numbering: E01.. text, E02.. names and order, E03.. header, operator sets and IR versions, E04.. attributes,
//! E05.. tensors, E06.. external data, E07.. types, E08.. functions, E09.. training and devices, E10.. nodes against the
//! signatures of operators, inferred types and shapes, E11.. operator-set files, W12.. lints, E15.. passes,
//! E16.. running models; W.. the same parts as warnings.
//!
//! A row reads `Error NAME = "E0203", "value-undefined", "G03";`: severity, constant, id, name, and the rule of the
//! specification that it enforces. `Warning(Strict)` puts a row on another level than the rest of its file. An error that
//! breaks a rule without making the meaning of the model unclear ends with the reason, `=> "nothing depends on it"`: such
//! models are run. `conformance/tests/operators/errors.rs` asks ONNX Runtime about each row.
//!
//! In the examples, a graph without a header stands for one with `<ir_version: 10, opset_import: ["": 21]>`; the first
//! is wrong, the second right. What plain text cannot express is shown in the extended syntax of `grammar/`.

use super::Severity;

/// One row of the table.
#[derive(Debug)]
pub struct Code {
    /// `E0101`; the letter is the severity, the hundreds are the part.
    pub id: &'static str,
    /// `unexpected-token`
    pub name: &'static str,
    /// The rule of the specification that it enforces (`G03`), if any.
    pub rule: Option<&'static str>,
    /// The severity, unless warnings are denied.
    pub severity: Severity,
    /// The lowest level of `check` that reports it.
    pub level: Level,
    /// Why the meaning of the model is clear although this rule is broken, so that it can be run. `None`: it is unclear.
    pub clear: Option<&'static str>,
    /// The page in Markdown: the meaning, why it is wrong, and what to do.
    pub explain: &'static str,
}

/// The levels of `check`. Levels are nested: each reports what those before it report, and more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Default)]
pub enum Level {
    /// Whether the input can be read at all.
    Syntax,
    /// The rules of the specification that need no types.
    Spec,
    /// Operator signatures, types and shapes.
    #[default]
    Types,
    /// Style findings and recommendations.
    Strict,
}

impl Level {
    /// All levels, each after those that it includes.
    pub const ALL: [Level; 4] = [Level::Syntax, Level::Spec, Level::Types, Level::Strict];

    /// `syntax`, `spec`, `types` or `strict`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Syntax => "syntax",
            Level::Spec => "spec",
            Level::Types => "types",
            Level::Strict => "strict",
        }
    }

    /// The level of this name.
    pub fn named(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }
}

impl Code {
    /// The examples of the page, wrong and right ones in turn, without their indentation.
    pub fn examples(&self) -> Vec<String> {
        let mut examples = Vec::new();
        let mut open = None;
        for line in self.explain.lines() {
            let line = line.strip_prefix(' ').unwrap_or(line);
            match (&mut open, line.trim_start().starts_with("```")) {
                (None, true) => open = Some(String::new()),
                (Some(_), true) => examples.extend(open.take()),
                (Some(text), false) => *text += &format!("{line}\n"),
                (None, false) => {}
            }
        }
        examples
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// Declares the rows of one part: their constants, and the list `$part` of them.
macro_rules! codes {
    ($part:ident, $level:ident:
     $($(#[doc = $doc:literal])+
       $severity:ident $(($own:ident))? $konst:ident = $id:literal, $name:literal
           $(, $rule:literal)? $(=> $clear:literal)?;)*) => {
        use super::{Code, Level};
        use crate::diag::Severity;
        $(
            $(#[doc = $doc])+
            pub static $konst: Code = Code {
                id: $id,
                name: $name,
                rule: super::codes!(@option $($rule)?),
                severity: Severity::$severity,
                level: super::codes!(@level $level $($own)?),
                clear: super::codes!(@option $($clear)?),
                explain: concat!($($doc, "\n"),+),
            };
        )*
        pub(super) static $part: &[&Code] = &[$(&$konst),*];
    };
    (@option) => { None };
    (@option $text:literal) => { Some($text) };
    (@level $level:ident) => { Level::$level };
    (@level $level:ident $own:ident) => { Level::$own };
}
use codes;

macro_rules! parts {
    ($($file:ident $part:ident;)*) => {
        $(mod $file;)*
        /// The codes by name.
        pub mod code {
            $(pub use super::$file::*;)*
        }
        const PARTS: &[&[&Code]] = &[$($file::$part),*];
    };
}

parts! {
    text TEXT;
    names NAMES;
    header HEADER;
    attributes ATTRIBUTES;
    tensors TENSORS;
    external EXTERNAL;
    types TYPES;
    functions FUNCTIONS;
    operators OPERATORS;
    opsets OPSETS;
    lints LINTS;
    passes PASSES;
    running RUNNING;
    training TRAINING;
}

const COUNT: usize = {
    let (mut n, mut i) = (0, 0);
    while i < PARTS.len() {
        n += PARTS[i].len();
        i += 1;
    }
    n
};

/// Every code, in the order of the table.
pub static ALL: &[&Code] = &{
    let mut all = [PARTS[0][0]; COUNT];
    let (mut n, mut i) = (0, 0);
    while i < PARTS.len() {
        let mut j = 0;
        while j < PARTS[i].len() {
            all[n] = PARTS[i][j];
            n += 1;
            j += 1;
        }
        i += 1;
    }
    all
};

/// The code of this id (`E0101`), name (`unexpected-token`) or rule (`G03`), in any case.
pub fn find(key: &str) -> Option<&'static Code> {
    let key = key.trim();
    ALL.iter().copied().find(|c| {
        c.id.eq_ignore_ascii_case(key)
            || c.name.eq_ignore_ascii_case(key)
            || c.rule.is_some_and(|r| r.eq_ignore_ascii_case(key))
    })
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

    /// Scripts choose findings by id and name: a row that was once in `frozen.txt` stays, also if nothing reports the code any
    /// more. A new code gets a row there, in the order of its number.
    #[test]
    fn codes_keep_their_ids_and_names() {
        let frozen: Vec<&str> = include_str!("frozen.txt").lines().collect();
        let now: Vec<String> = ALL.iter().map(|code| format!("{} {}", code.id, code.name)).collect();
        let lost: Vec<_> = frozen.iter().filter(|row| !now.iter().any(|code| code == *row)).collect();
        assert!(lost.is_empty(), "codes that have changed or gone: {lost:?}");
        let new: Vec<_> = now.iter().filter(|code| !frozen.contains(&code.as_str())).collect();
        assert!(new.is_empty(), "new codes: add rows to frozen.txt: {new:?}");
        let number = |row: &&str| row.get(1..5).map(str::to_owned);
        assert!(frozen.is_sorted_by_key(number), "frozen.txt is not in the order of the numbers");
    }

    #[test]
    fn only_errors_of_models_have_a_reason_to_be_run() {
        for code in ALL.iter().filter(|code| code.clear.is_some()) {
            let is_of_models = ("E02".."E11").contains(&code.id) && code.level != Level::Syntax;
            assert!(code.severity == Severity::Error && is_of_models, "{}", code.id);
        }
    }

    #[test]
    fn ids_ascend_within_a_part() {
        for part in PARTS {
            for severity in [Severity::Error, Severity::Warning] {
                let ids: Vec<_> = part.iter().filter(|c| c.severity == severity).map(|c| c.id).collect();
                assert!(ids.is_sorted(), "{ids:?}");
            }
        }
    }
}
