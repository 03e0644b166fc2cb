//! Reports of tests in the format of JUnit, which CI systems display.
//!
//! Reports of several machines merge by putting their suites beside one another: those of shares have distinct names, and each test is
//! in one of them.

use onnxtxt::golden::Shard;
use std::fmt::Write as _;
use std::time::Duration;

/// The outcome of a test.
pub(crate) struct Outcome {
    pub(crate) name: String,
    pub(crate) file: String,
    /// The reason of the failure.
    pub(crate) failure: Option<String>,
    pub(crate) time: Duration,
}

/// The report of a suite with this name, or of a share of it.
pub(crate) fn report(suite: &str, shard: Option<Shard>, outcomes: &[Outcome]) -> String {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some()).count();
    let seconds: f64 = outcomes.iter().map(|outcome| outcome.time.as_secs_f64()).sum();
    let totals =
        format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\" time=\"{seconds:.3}\"", outcomes.len());
    let name = shard.map_or_else(|| suite.to_owned(), |shard| format!("{suite} {shard}"));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    _ = writeln!(out, "<testsuites {totals}>\n  <testsuite name=\"{name}\" {totals}>");
    for Outcome { name, file, failure, time } in outcomes {
        let (name, file, time) = (escaped(name), escaped(file), time.as_secs_f64());
        _ = write!(out, "    <testcase name=\"{name}\" classname=\"{file}\" time=\"{time:.3}\"");
        _ = match failure {
            None => writeln!(out, "/>"),
            Some(why) => writeln!(
                out,
                ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                escaped(why.lines().next().unwrap_or_default()),
                escaped(why)
            ),
        };
    }
    out + "  </testsuite>\n</testsuites>\n"
}

/// Text escaped for XML, which does not allow control characters.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
