//! Phrases that comments, documentation and messages must not use, because readers stumble over them.

use super::Finding;
use super::source::File;

/// A refused phrase.
struct Phrase {
    /// The words, in lower case. Words at the start of a doc comment are written with its marker and their capital: `/// Who`.
    words: &'static str,
    /// A word before the phrase that makes it good English: `there is no`.
    unless_after: Option<&'static str>,
    /// Words after the phrase that make it good English: `is no longer`.
    unless_before: &'static [&'static str],
    /// The objection.
    reason: &'static str,
    /// The field's words for it.
    instead: &'static str,
}

const fn phrase(words: &'static str, reason: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, unless_after: None, unless_before: &[], reason, instead }
}

const NOT_A_NOUN: &[&str] = &["longer", "more", "less", "need", "one", "other", "such", "use"];

/// The phrases that readers have stumbled over most. A phrase is listed only if no sentence in the tree needs it.
const PHRASES: &[Phrase] = &[
    Phrase {
        words: "is no ",
        unless_after: Some("there"),
        unless_before: NOT_A_NOUN,
        reason: "a translated negation",
        instead: "is not a …",
    },
    phrase("/// What a", "a doc comment that opens with a clause", "a noun phrase or a verb"),
    phrase("/// What is", "a doc comment that opens with a clause", "a noun phrase or a verb"),
    phrase("/// Who", "a doc comment that opens with a clause", "a noun phrase or a verb"),
    phrase("//! What", "a doc comment that opens with a clause", "a noun phrase or a verb"),
    phrase("//! Who", "a doc comment that opens with a clause", "a noun phrase or a verb"),
    phrase("/// So many", "a number without a noun", "the number of …, at most …"),
    phrase("where it lies", "a private word for a layout", "in place, contiguous, strided"),
    phrase("where they lie", "a private word for a layout", "in place, contiguous, strided"),
    phrase("lie one behind the other", "a private word for a layout", "are contiguous"),
    phrase("one behind the other", "a private word for a layout", "contiguous, concatenated"),
    phrase("is told", "hides who reports or receives", "reports …, receives …"),
    phrase("are told", "hides who reports or receives", "reports …, receives …"),
    phrase("ever other", "means `different`", "different, changing"),
    phrase("of nothing", "a negation in place of the case", "empty, the identity of the reduction"),
    phrase("near enough", "says not how near", "within …, similar"),
    phrase("cannot be had", "hides what is missing", "is not available, not enough memory"),
    phrase("is brought to", "a private word for conversions", "is converted to"),
    phrase("are brought to", "a private word for conversions", "are converted to"),
    phrase("it is meant by", "hides who refers to what", "matches …, refers to …"),
    phrase("nobody", "a person in place of a case", "unused, not read"),
    phrase("somebody", "a person in place of a case", "a reader, a caller"),
    phrase("whoever", "a person in place of a case", "the caller, the reader"),
    phrase("label(\"here\")", "a label that says nothing", "what the place is"),
];

/// Files that speak of the phrases themselves.
const EXEMPT: &[&str] = &["xtask/src/tidy/words.rs"];

/// Rust files and Markdown pages without the refused phrases. Other files are data or belong to other tools.
pub(super) fn plain_english(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let is_text = file.is_rust() || file.path.ends_with(".md");
        if !is_text || file.is_generated() || EXEMPT.contains(&file.path.as_str()) {
            continue;
        }
        for (at, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let text = |phrase: &Phrase| if phrase.words.starts_with("//") { line } else { &lower };
            for phrase in PHRASES.iter().filter(|phrase| phrase.is_in(text(phrase))) {
                let Phrase { words, reason, instead, .. } = phrase;
                let message = format!("`{words}`: {reason}; write: {instead}");
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    findings
}

impl Phrase {
    /// Whether a line has the phrase, on boundaries of words.
    fn is_in(&self, line: &str) -> bool {
        line.match_indices(self.words).any(|(at, words)| {
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let (before, after) = (&line[..at], &line[at + words.len()..]);
            let starts_inside = words.starts_with(is_word) && before.ends_with(is_word);
            let ends_inside = words.ends_with(is_word) && after.starts_with(is_word);
            let is_allowed = self.unless_after.is_some_and(|word| before.trim_end().ends_with(word))
                || self.unless_before.iter().any(|word| after.trim_start().starts_with(word));
            !starts_inside && !ends_inside && !is_allowed
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> usize {
        plain_english(&[File::new("a.rs", line.to_owned())]).len()
    }

    #[test]
    fn private_phrases_are_found() {
        assert_eq!(refused("// A tensor that is no matrix."), 1);
        assert_eq!(refused("/// What a node computes."), 1);
        assert_eq!(refused("// The rows lie one behind the other."), 2);
        assert_eq!(refused("fail!(\"the user is told\")"), 1);
    }

    #[test]
    fn plain_sentences_pass() {
        assert_eq!(refused("// A tensor that is not a matrix, and is no longer used."), 0);
        assert_eq!(refused("/// The results of a node."), 0);
        assert_eq!(refused("/// Whatever the axis, the rows are contiguous."), 0);
        assert_eq!(refused("// There is no node."), 0);
    }
}
