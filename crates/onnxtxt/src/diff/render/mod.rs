//! Renders differences: for terminals, pull requests, browsers and programs.
//!
//! All but [`json`] show the same `sections`: lines with a sign, nested by depth.

mod html;
mod sections;

pub use html::html;

use super::{GraphDiff, Kind, ModelDiff};
use onnx_text::visible;
use sections::{TextLine, sections};
use std::fmt::Write as _;

/// How differences are shown.
#[derive(Clone, Debug, Default)]
pub struct DiffStyle {
    /// With escape sequences for colours.
    pub color: bool,
    /// Numbers of differences only.
    pub stat: bool,
    /// The names of the models in the heading; `None` for no heading.
    pub names: Option<[String; 2]>,
}

/// `+`, `-`, `~`
fn sign(kind: Kind) -> char {
    match kind {
        Kind::Added => '+',
        Kind::Removed => '-',
        Kind::Changed => '~',
    }
}

/// For terminals; empty without differences. Control characters of the models are escaped.
#[must_use]
pub fn human(diff: &ModelDiff, style: &DiffStyle) -> String {
    if diff.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    let paint = |code: &str, text: &str| match style.color {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    if let Some([a, b]) = &style.names {
        _ = writeln!(
            out,
            "{}\n{}",
            paint("1", &format!("--- {}", visible(a))),
            paint("1", &format!("+++ {}", visible(b)))
        );
    }
    if !style.stat {
        for section in sections(diff) {
            _ = writeln!(out, "{}", paint("1", &visible(&section.title)));
            for TextLine { kind, depth, text } in &section.lines {
                let code = match kind {
                    Kind::Added => "32",
                    Kind::Removed => "31",
                    Kind::Changed => "33",
                };
                let indent = "  ".repeat(depth + 1);
                // Continuation lines are indented.
                let text = visible(text).replace('\n', &format!("\n{indent}  "));
                _ = writeln!(out, "{indent}{}", paint(code, &format!("{} {text}", sign(*kind))));
            }
        }
    }
    _ = writeln!(out, "{}", stat(diff));
    out
}

/// One line: `nodes: 1 added, 2 changed · weights: 1 changed · version: patch`
#[must_use]
pub fn stat(diff: &ModelDiff) -> String {
    let mut counts: Vec<(&str, [usize; 3])> = Vec::new();
    let mut count = |name: &'static str, kinds: Vec<Kind>| {
        if kinds.is_empty() {
            return;
        }
        let of = |kind: Kind| kinds.iter().filter(|&&other| other == kind).count();
        counts.push((name, [of(Kind::Added), of(Kind::Removed), of(Kind::Changed)]));
    };
    let mut total = Totals::default();
    total.add(&diff.graph);
    let ports = diff.graph.inputs.iter().chain(&diff.graph.outputs);
    count("interface", ports.map(super::PropertyChange::kind).collect());
    count("opsets", diff.opsets.iter().map(super::PropertyChange::kind).collect());
    count("header", diff.header.iter().map(super::PropertyChange::kind).collect());
    diff.functions.iter().chain(&diff.training).for_each(|function| total.add(&function.graph));
    count("nodes", total.nodes);
    count("weights", total.weights);
    count("functions", diff.functions.iter().map(|function| function.kind).collect());
    count("training", diff.training.iter().map(|training| training.kind).collect());
    count("other", total.other);
    let text = |(name, [added, removed, changed]): (&str, [usize; 3])| {
        let parts = [(added, "added"), (removed, "removed"), (changed, "changed")];
        let parts: Vec<_> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        format!("{name}: {}", parts.join(", "))
    };
    let mut parts: Vec<String> = counts.into_iter().map(text).collect();
    parts.extend(diff.bump.map(|bump| format!("version: {}", bump.name())));
    parts.join(" · ")
}

/// Differences in a graph and the graphs in it.
#[derive(Default)]
struct Totals {
    nodes: Vec<Kind>,
    weights: Vec<Kind>,
    other: Vec<Kind>,
}

impl Totals {
    fn add(&mut self, graph: &GraphDiff) {
        self.nodes.extend(graph.nodes.iter().map(|node| node.kind));
        self.weights.extend(graph.weights.iter().map(|weight| weight.kind));
        self.other.extend(graph.value_info.iter().chain(&graph.properties).map(super::PropertyChange::kind));
        for nested in graph.nodes.iter().flat_map(|node| &node.graphs) {
            self.add(&nested.graph);
        }
    }
}

/// A JSON object, the fields of [`ModelDiff`] with `equal` beside them.
#[must_use]
pub fn json(diff: &ModelDiff) -> String {
    let mut object = serde_json::to_value(diff).unwrap_or_default();
    object["equal"] = diff.is_empty().into();
    format!("{object:#}\n")
}

/// Markdown for a comment on a pull request: a summary, and the details folded away.
#[must_use]
pub fn markdown(diff: &ModelDiff, style: &DiffStyle) -> String {
    let mut out = String::new();
    if let Some([a, b]) = &style.names {
        _ = writeln!(out, "### {} → {}\n", code(a), code(b));
    }
    if diff.is_empty() {
        return out + "The models are the same.\n";
    }
    for part in stat(diff).split(" · ") {
        let (name, numbers) = part.split_once(": ").unwrap_or((part, ""));
        _ = writeln!(out, "- **{name}**: {numbers}");
    }
    if style.stat {
        return out;
    }
    for section in sections(diff) {
        let lines: Vec<String> = section
            .lines
            .iter()
            .map(|TextLine { kind, depth, text }| {
                // The syntax of diffs colours `+`, `-` and `!` in the first column.
                let sign = if *kind == Kind::Changed { '!' } else { sign(*kind) };
                let indent = "  ".repeat(*depth);
                format!("{sign} {indent}{}", text.replace('\n', &format!("\n{sign} {indent}  ")))
            })
            .collect();
        let body = lines.join("\n");
        let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let (open, count) = (if section.lines.len() > 20 { "" } else { " open" }, section.lines.len());
        _ = writeln!(
            out,
            "\n<details{open}><summary>{} ({count})</summary>\n\n{fence}diff\n{body}\n{fence}\n</details>",
            html::escaped(&section.title)
        );
    }
    out
}

/// A code span that no text can end.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    if longest > 0 { format!("{ticks} {text} {ticks}") } else { format!("{ticks}{text}{ticks}") }
}
