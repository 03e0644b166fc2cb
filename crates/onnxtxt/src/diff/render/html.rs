//! Differences as a self-contained HTML page: no scripts, no external resources, for light and dark screens.

use super::sections::{TextLine, sections};
use super::{DiffStyle, sign, stat};
use crate::diff::{Kind, ModelDiff};
use std::fmt::Write as _;

const CSS: &str = "\
:root { color-scheme: light dark; --back: #fff; --text: #1f2328; --faint: #59636e; --line: #d1d9e0; --add: #dafbe1; --del: #ffebe9; --mod: #fff8c5 }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #f0f6fc; --faint: #9198a1; --line: #3d444d; --add: #12361f; --del: #4a1a1d; --mod: #3a2f0b } }
body { background: var(--back); color: var(--text); font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em }
h1 { font-size: 1.3em } summary { cursor: pointer; font-weight: 600; padding: .4em 0 } .stat { color: var(--faint) }
details { border-top: 1px solid var(--line) } pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 13px/1.5 ui-monospace, monospace; padding: 0 .5em }
.added { background: var(--add) } .removed { background: var(--del) } .changed { background: var(--mod) }
";

/// A whole page.
#[must_use]
pub fn html(diff: &ModelDiff, style: &DiffStyle) -> String {
    let title = match &style.names {
        Some([a, b]) => format!("{} → {}", escaped(a), escaped(b)),
        None => "Differences".to_owned(),
    };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>\n{CSS}</style></head>\n<body>\n<h1>{title}</h1>\n"
    );
    let summary = if diff.is_empty() { "The models are the same.".to_owned() } else { stat(diff) };
    _ = writeln!(out, "<p class=\"stat\">{}</p>", escaped(&summary));
    for section in if style.stat { Vec::new() } else { sections(diff) } {
        let (title, count) = (escaped(&section.title), section.lines.len());
        _ = writeln!(out, "<details open><summary>{title} ({count})</summary>");
        for TextLine { kind, depth, text } in &section.lines {
            let class = match kind {
                Kind::Added => "added",
                Kind::Removed => "removed",
                Kind::Changed => "changed",
            };
            let indent = "  ".repeat(*depth);
            _ = writeln!(out, "<pre class=\"{class}\">{indent}{} {}</pre>", sign(*kind), escaped(text));
        }
        out += "</details>\n";
    }
    out + "</body></html>\n"
}

/// Escapes text for HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
