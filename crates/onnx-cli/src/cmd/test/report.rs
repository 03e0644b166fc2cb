//! Reports of test runs: text, annotations of a GitHub workflow, and JSON.

use crate::output::junit::Outcome;
use crate::session::Session;
use onnx_text::visible;
use serde_json::json;
use std::fmt::Write as _;

/// The report on stdout; its last line is the summary.
pub(super) fn text(outcomes: &[Outcome], session: &Session) -> String {
    let mut out = String::new();
    for Outcome { name, file, failure, time } in outcomes {
        if session.wants_json() {
            let object = json!({
                "name": name, "file": file, "passed": failure.is_none(), "failure": failure,
                "seconds": time.as_secs_f64(),
            });
            _ = writeln!(out, "{}", visible(&object.to_string()));
            continue;
        }
        let Some(why) = failure else { continue };
        if session.wants_github() {
            let message = format!("{name} failed\n{why}");
            _ = writeln!(out, "::error file={}::{}", property(file), data(&message));
            continue;
        }
        _ = writeln!(out, "FAILED {}", visible(name));
        for line in why.trim_end().lines() {
            _ = writeln!(out, "    {}", visible(line));
        }
        let last = name.rsplit('/').next().unwrap_or(name);
        _ = writeln!(out, "    again with: onnxtxt test {} --filter {}\n", quoted(file), quoted(last));
    }
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    _ = writeln!(out, "{} passed, {failed} failed", outcomes.len() - failed);
    out
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let word = visible(word);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./+:@".contains(c);
    if word.chars().all(is_plain) { word.into_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
