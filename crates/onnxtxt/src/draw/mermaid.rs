//! A drawing as a Mermaid flowchart, for Markdown.

use super::boxes;
use super::dot::node;
use super::family::Family;
use super::scene::{GroupId, Kind, Mark, Scene};
use onnx_text::visible;
use std::collections::HashSet;
use std::fmt::Write as _;

/// A flowchart, with a subgraph for each open group.
pub(super) fn mermaid(scene: &Scene) -> String {
    let mut out = String::from("flowchart TB\n");
    group(scene, 0, 1, &mut out);
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    for wire in &scene.wires {
        let (from, to) = (scene.seen(wire.from), scene.seen(wire.to));
        let (Some(from), Some(to)) = (node(scene, from), node(scene, to)) else { continue };
        if from == to || !seen.insert((from, to, wire.value, wire.mark)) {
            continue;
        }
        let label = boxes::label(scene, wire.value);
        let arrow = if wire.mark == Mark::Removed { "-.->" } else { "-->" };
        let label = if label.is_empty() { String::new() } else { format!("|{}|", quoted(&label)) };
        _ = writeln!(out, "  n{from} {arrow}{label} n{to}");
        links.push(wire.mark);
    }
    for family in Family::ALL {
        let [fill, line] = family.colors()[0];
        if scene
            .items
            .iter()
            .any(|item| item.family == family && matches!(item.kind, Kind::Node | Kind::Group(_)))
        {
            _ = writeln!(out, "  classDef {} fill:{fill},stroke:{line},color:#1b1f24", class(family));
        }
    }
    for (mark, fill, line) in [
        (Mark::Added, "#cdf2d7", "#1a7f37"),
        (Mark::Removed, "#ffd9d6", "#cf222e"),
        (Mark::Changed, "#ffedb3", "#9a6700"),
    ] {
        if scene.items.iter().any(|item| item.mark == mark) {
            _ = writeln!(
                out,
                "  classDef {} fill:{fill},stroke:{line},color:#1b1f24,stroke-width:2px",
                mark.class()
            );
        }
        let marked: Vec<String> = links
            .iter()
            .enumerate()
            .filter(|(_, link)| **link == mark)
            .map(|(at, _)| at.to_string())
            .collect();
        if !marked.is_empty() {
            _ = writeln!(out, "  linkStyle {} stroke:{line},stroke-width:2px", marked.join(","));
        }
    }
    out
}

/// `default` and other names are words of Mermaid.
fn class(family: Family) -> String {
    format!("op_{}", family.name())
}

fn group(scene: &Scene, id: GroupId, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth.min(40));
    for &member in &scene.groups[id].members {
        let item = &scene.items[member];
        if let Some(inner) = item.group().filter(|&inner| scene.groups[inner].is_open) {
            _ = writeln!(out, "{indent}subgraph g{inner} [{}]", quoted(&boxes::title(item)));
            group(scene, inner, depth + 1, out);
            _ = writeln!(out, "{indent}end");
            continue;
        }
        let mut label = boxes::title(item);
        if let Some(inner) = item.group() {
            label += &format!("\n{}", boxes::subtitle(scene, inner));
        }
        for (name, text) in boxes::lines(item) {
            label += &format!("\n{}", [name, text].join(" ").trim());
        }
        let label = quoted(&label);
        let (box_text, family) = match item.kind {
            Kind::Node => (format!("[{label}]"), Some(class(item.family))),
            Kind::Group(_) => (format!("[[{label}]]"), Some(class(item.family))),
            Kind::Input | Kind::Output | Kind::Outside => (format!("([{label}])"), None),
        };
        let class = if item.mark == Mark::None { family } else { Some(item.mark.class().to_owned()) };
        let class = class.map(|class| format!(":::{class}")).unwrap_or_default();
        _ = writeln!(out, "{indent}n{member}{box_text}{class}");
    }
}

/// A string of Mermaid: what could end it or be markup is an entity.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in visible(text).chars() {
        match c {
            '\n' => out.push_str("<br/>"),
            '\t' => out.push(' '),
            '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '{' | '}' | '|' | '%' | '*' | '_' | '~' | ';' => {
                _ = write!(out, "#{};", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
