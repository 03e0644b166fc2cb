//! Phrases that comments, documentation and messages must not use, because readers stumble over them.

use super::Finding;
use super::budget::{self, Budget};
use super::source::File;

/// A refused phrase, a line of `phrases.txt`.
struct Phrase {
    /// The words, in lower case. Words at the start of a doc comment are written with its marker and their capital: `/// So`.
    words: &'static str,
    /// The objection.
    reason: &'static str,
    /// The field's words for it.
    instead: &'static str,
    /// A word before the phrase that makes it good English.
    unless_after: &'static str,
    /// Words after the phrase that make it good English.
    unless_before: &'static str,
}

/// The table of phrases.
fn phrases() -> Vec<Phrase> {
    let lines = include_str!("phrases.txt").lines().filter(|line| !line.starts_with('#'));
    let phrase = |line: &'static str| {
        let mut columns = line.split('|').map(str::trim);
        let mut next = || columns.next().unwrap_or_default();
        Phrase { words: next(), reason: next(), instead: next(), unless_after: next(), unless_before: next() }
    };
    lines.map(phrase).collect()
}

/// Words with which no comment begins, with the objection and the field's words.
const OPENINGS: &[(&str, &str, &str)] = &[
    ("What ", "a comment that opens with a clause", "a noun phrase or a verb"),
    ("Who ", "a comment that opens with a clause", "a noun phrase or a verb"),
];

/// Sentences that say nothing without their neighbour, if they are all of a line.
const LEANING: &[&str] = &["Such a ", "Such an ", "They are ", "It is that ", "The same "];

/// Places with such phrases that are older than the rule.
const OLD: Budget = &[];

/// Files that speak of the phrases themselves, or that quote the documentation of others.
const EXEMPT: &[&str] = &["docs/code-map.md", "xtask/src/tidy/words.rs"];

/// Rust files and Markdown pages without the refused phrases. Other files are data or belong to other tools.
pub(super) fn plain_english(files: &[File]) -> Vec<Finding> {
    budget::beyond("plain English", refused(files), OLD)
}

fn refused(files: &[File]) -> Vec<Finding> {
    let all = phrases();
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
            let phrases = all.iter().filter(|phrase| phrase.is_in(text(phrase)));
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
            let is_allowed = !self.unless_after.is_empty() && before.trim_end().ends_with(self.unless_after)
                || self.unless_before.split_whitespace().any(|word| after.trim_start().starts_with(word));
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
    fn every_phrase_of_the_table_is_found() {
        let all = phrases();
        assert!(all.len() > 40);
        for Phrase { words, reason, instead, unless_after, unless_before } in &all {
            assert!(!reason.is_empty() && !instead.is_empty(), "{words}");
            let line = if words.starts_with("//") {
                format!("{words} rows.")
            } else {
                format!("// Rows {words} x.")
            };
            assert!(refused(&line) > 0, "{line}");
            for word in unless_before.split_whitespace() {
                assert_eq!(refused(&format!("// Rows {words} {word} x.")), 0, "{words} {word}");
            }
            if !unless_after.is_empty() {
                assert_eq!(refused(&format!("// {unless_after} {words} x.")), 0, "{unless_after} {words}");
            }
        }
    }

    #[test]
    fn openings_of_comments_are_found() {
        let comment = |words: &str| format!("/// {words} is left.");
        for words in OPENINGS.iter().map(|(words, ..)| words).chain(LEANING) {
            assert_eq!(refused(&comment(words.trim())), 1, "{words}");
            assert_eq!(refused(&format!("/// The rest:\n{}", comment(words.trim()))), 0, "{words}");
        }
    }

    #[test]
    fn plain_sentences_pass() {
        assert_eq!(refused("// A tensor that is not a matrix."), 0);
        assert_eq!(refused("/// The results of a node."), 0);
        assert_eq!(refused("/// Whatever the axis, the rows are contiguous."), 0);
        assert_eq!(refused("/// The same axis of both operands, if they have one. Otherwise `None`."), 0);
    }
}
