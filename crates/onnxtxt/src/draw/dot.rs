//! A drawing as DOT, for the programs of Graphviz.

use super::boxes;
use super::scene::{GroupId, ItemId, Kind, Mark, Scene};
use onnx_text::visible;
use std::collections::HashSet;
use std::fmt::Write as _;

/// A directed graph, with a cluster for each open group.
pub(super) fn dot(scene: &Scene) -> String {
    let mut out = String::from("digraph model {\n");
    if !scene.title.is_empty() {
        _ = writeln!(out, "  label={}; labelloc=t;", quoted(&scene.title));
    }
    out += "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11];\n";
    out += "  edge [fontname=\"Courier\", fontsize=9, color=\"#8d98a6\"];\n";
    group(scene, 0, 1, &mut out);
    let mut seen = HashSet::new();
    for wire in &scene.wires {
        let (from, to) = (scene.seen(wire.from), scene.seen(wire.to));
        // A box around an open group is not a node: the first node in it stands for it.
        let (Some(from), Some(to)) = (node(scene, from), node(scene, to)) else { continue };
        if from == to || !seen.insert((from, to, wire.value, wire.mark)) {
            continue;
        }
        let label = boxes::label(scene, wire.value);
        let color = mark_color(wire.mark).map(|color| format!(", color=\"{color}\"")).unwrap_or_default();
        _ = writeln!(out, "  n{from} -> n{to} [label={}{color}];", quoted(&label));
    }
    out + "}\n"
}

/// The box that wires of a box lead to: a node in it if it is an open group.
pub(super) fn node(scene: &Scene, mut item: ItemId) -> Option<ItemId> {
    while let Some(group) = scene.items[item].group().filter(|&group| scene.groups[group].is_open) {
        item = *scene.groups[group].members.first()?;
    }
    Some(item)
}

fn group(scene: &Scene, id: GroupId, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth.min(40));
    for &member in &scene.groups[id].members {
        let item = &scene.items[member];
        if let Some(inner) = item.group().filter(|&inner| scene.groups[inner].is_open) {
            _ = writeln!(out, "{indent}subgraph cluster_{inner} {{");
            _ = writeln!(
                out,
                "{indent}  label={}; style=rounded; color=\"#c4ccd6\";",
                quoted(&boxes::title(item))
            );
            group(scene, inner, depth + 1, out);
            _ = writeln!(out, "{indent}}}");
            continue;
        }
        let mut label = boxes::title(item);
        if let Some(inner) = item.group() {
            label += &format!("\n{}", boxes::subtitle(scene, inner));
        }
        for (name, text) in boxes::lines(item) {
            label += &format!("\n{}", [name, text].join(" ").trim());
        }
        let fill = match item.kind {
            Kind::Node | Kind::Group(_) => item.family.colors()[0][0],
            Kind::Input | Kind::Output | Kind::Outside => "#ffffff",
        };
        let shape = match item.kind {
            Kind::Node => "",
            Kind::Group(_) => ", shape=box3d, style=filled",
            Kind::Input | Kind::Output => ", shape=oval, style=filled",
            Kind::Outside => ", shape=oval, style=\"filled,dashed\"",
        };
        let color =
            mark_color(item.mark).map(|color| format!(", color=\"{color}\", penwidth=2")).unwrap_or_default();
        _ = writeln!(
            out,
            "{indent}n{member} [label={}, fillcolor=\"{fill}\"{shape}{color}];",
            quoted(&label)
        );
    }
}

fn mark_color(mark: Mark) -> Option<&'static str> {
    match mark {
        Mark::None => None,
        Mark::Added => Some("#1a7f37"),
        Mark::Removed => Some("#cf222e"),
        Mark::Changed => Some("#9a6700"),
    }
}

/// A string of DOT: a backslash would begin an escape, a line break is `\n`.
fn quoted(text: &str) -> String {
    let shown =
        visible(text).replace('\\', "\\\\").replace('"', "\\\"").replace('\t', " ").replace('\n', "\\n");
    format!("\"{shown}\"")
}
