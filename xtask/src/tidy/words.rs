//! Phrases that comments, documentation and messages must not use, because readers stumble over them.

use super::Finding;
use super::budget::{self, Budget};
use super::source::File;

/// A refused phrase.
struct Phrase {
    /// The words, in lower case. Words at the start of a doc comment are written with its marker and their capital: `/// So`.
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

/// `is no tensor`, not `there is no tensor` or `is no longer`.
const fn negation(words: &'static str) -> Phrase {
    Phrase {
        words,
        unless_after: Some("there"),
        unless_before: NOT_A_NOUN,
        reason: "a translated negation",
        instead: "is not a …",
    }
}

const AFTER: &str = "after, at the end of";

/// The phrases that readers have stumbled over most.
const PHRASES: &[Phrase] = &[
    negation("is no "),
    negation("are no "),
    negation("was no "),
    negation("were no "),
    phrase("has not a", "a translated negation", "has no …, lacks …"),
    phrase("has not an", "a translated negation", "has no …, lacks …"),
    phrase("has not the", "a translated negation", "does not have …, lacks …"),
    phrase("have not the", "a translated negation", "do not have …, lack …"),
    phrase("had not the", "a translated negation", "did not have …, lacked …"),
    phrase("states no", "a translated negation", "does not state …"),
    phrase("/// So many", "a number without a noun", "the number of …, at most …"),
    phrase("where it lies", "a private word for a layout", "in place, contiguous, strided"),
    phrase("where they lie", "a private word for a layout", "in place, contiguous, strided"),
    phrase("lies where", "a private word for a layout", "in place, contiguous, strided"),
    phrase("lie one behind the other", "a private word for a layout", "are contiguous"),
    phrase("one behind the other", "a private word for a layout", "contiguous, concatenated"),
    phrase("behind it", "a place in a sequence", AFTER),
    phrase("behind the", "a place in a sequence", AFTER),
    phrase("behind a", "a place in a sequence", AFTER),
    phrase("behind an", "a place in a sequence", AFTER),
    phrase("behind each", "a place in a sequence", AFTER),
    Phrase {
        unless_before: &["apart"],
        ..phrase("is told", "hides who reports or receives", "reports …, receives …")
    },
    Phrase {
        unless_before: &["apart"],
        ..phrase("are told", "hides who reports or receives", "reports …, receives …")
    },
    Phrase {
        unless_before: &["apart"],
        ..phrase("was told", "hides who reports or receives", "reports …, receives …")
    },
    Phrase {
        unless_before: &["apart"],
        ..phrase("be told", "hides who reports or receives", "reports …, receives …")
    },
    phrase("told of", "hides who reports or receives", "reports …, receives …"),
    phrase("told once", "hides who reports or receives", "is reported once"),
    phrase("ever other", "means `different`", "different, changing"),
    phrase("of nothing", "a negation in place of the case", "empty, the identity of the reduction"),
    phrase("near enough", "says not how near", "within …, similar"),
    phrase("goes on", "says not with what", "continues with …"),
    phrase("go on", "says not with what", "continue with …"),
    phrase("cannot be had", "hides what is missing", "is not available, not enough memory"),
    phrase("brought to", "a private word for conversions", "converted to"),
    phrase("brought from", "a private word for conversions", "converted from"),
    phrase("brought into", "a private word for conversions", "converted to, moved to"),
    phrase("is said in", "a private word for a form", "is expressed as, is described in"),
    phrase("are said in", "a private word for a form", "are expressed as, are described in"),
    phrase("held against", "means a comparison", "compared with, the reference for"),
    phrase("decide about", "means an effect", "affect, determine"),
    phrase("decides about", "means an effect", "affects, determines"),
    phrase("is meant by", "hides who refers to what", "matches …, refers to …"),
    phrase("mend", "a private word for fixes", "fix, repair"),
    phrase("mended", "a private word for fixes", "fixed, repaired"),
    phrase("nobody", "a person in place of a case", "unused, not read"),
    phrase("somebody", "a person in place of a case", "a reader, a caller"),
    phrase("whoever", "a person in place of a case", "the caller, the reader"),
    phrase("label(\"here\")", "a label that says nothing", "what the place is"),
];

/// Words with which no comment begins, with the objection and the field's words.
const OPENINGS: &[(&str, &str, &str)] = &[
    ("What ", "a comment that opens with a clause", "a noun phrase or a verb"),
    ("Who ", "a comment that opens with a clause", "a noun phrase or a verb"),
];

/// Sentences that say nothing without their neighbour, if they are all of a line.
const LEANING: &[&str] = &["Such a ", "Such an ", "They are ", "It is that ", "The same "];

/// Places with such phrases that are older than the rule.
const OLD: Budget = &[("crates/onnx-exec", 65), ("crates/onnx-ops", 17)];

/// Files that speak of the phrases themselves, or that quote the documentation of others.
const EXEMPT: &[&str] = &["docs/code-map.md", "xtask/src/tidy/words.rs"];

/// Rust files and Markdown pages without the refused phrases. Other files are data or belong to other tools.
pub(super) fn plain_english(files: &[File]) -> Vec<Finding> {
    budget::beyond("plain English", refused(files), OLD)
}

fn refused(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let is_text = file.is_rust() || file.path.ends_with(".md");
        if !is_text || file.is_generated() || EXEMPT.contains(&file.path.as_str()) {
            continue;
        }
        let mut follows_comment = false;
        for (at, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let text = |phrase: &Phrase| if phrase.words.starts_with("//") { line } else { &lower };
            let phrases = PHRASES.iter().filter(|phrase| phrase.is_in(text(phrase)));
            let phrases = phrases.map(|phrase| (phrase.words, phrase.reason, phrase.instead));
            let comment = line.trim_start().strip_prefix("//").filter(|_| file.is_rust());
            let opening = comment.filter(|_| !follows_comment).and_then(opening);
            for (words, reason, instead) in phrases.chain(opening) {
                let message = format!("`{}`: {reason}; write: {instead}", words.trim_end());
                findings.push(Finding::new(&file.path, at + 1, message));
            }
            follows_comment = comment.is_some();
        }
    }
    findings
}

/// The refused words with which a comment begins. `comment`: its first line, after `//`.
fn opening(comment: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let text = comment.trim_start_matches(['/', '!']).trim_start();
    let begins = |words: &str| {
        text.strip_prefix(words).is_some_and(|rest| rest.starts_with(|c: char| c.is_lowercase() || c == '`'))
    };
    let clause = OPENINGS.iter().copied().find(|(words, ..)| begins(words));
    clause.or_else(|| {
        let is_sentence = text.strip_suffix('.').is_some_and(|text| !text.contains('.'));
        let words = LEANING.iter().copied().find(|words| is_sentence && text.starts_with(words))?;
        Some((words, "a comment that leans on its neighbour", "the noun that it is about"))
    })
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

    fn refused(text: &str) -> usize {
        super::refused(&[File::new("a.rs", text.to_owned())]).len()
    }

    #[test]
    fn private_phrases_are_found() {
        assert_eq!(refused("// A tensor that is no matrix."), 1);
        assert_eq!(refused("/// What a node computes."), 1);
        assert_eq!(refused("// The rows lie one behind the other."), 3);
        assert_eq!(refused("fail!(\"the user is told\")"), 1);
        assert_eq!(refused("// Bytes behind the end are brought to zero."), 2);
        assert_eq!(refused("// What is left is zero."), 1);
        assert_eq!(refused("/// The same for outputs."), 1);
        assert_eq!(refused("/// They are there."), 1);
    }

    #[test]
    fn plain_sentences_pass() {
        assert_eq!(refused("// A tensor that is not a matrix, and is no longer used."), 0);
        assert_eq!(refused("/// The results of a node."), 0);
        assert_eq!(refused("/// Whatever the axis, the rows are contiguous."), 0);
        assert_eq!(refused("// There is no node, and there are no values."), 0);
        assert_eq!(refused("// Two that cannot be told apart."), 0);
        assert_eq!(refused("// A clause that ends in\n// What follows."), 0);
        assert_eq!(refused("/// The same axis of both operands, if they have one. Otherwise `None`."), 0);
    }
}
