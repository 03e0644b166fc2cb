//! Differences as lines with a sign, in sections.

use crate::diff::{FunctionDiff, GraphDiff, Kind, ModelDiff, NodeDiff, PropertyChange, WeightDiff};

/// Lines about one part of a model.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) lines: Vec<TextLine>,
}

/// A line.
pub(super) struct TextLine {
    pub(super) kind: Kind,
    pub(super) depth: usize,
    pub(super) text: String,
}

/// The most nodes with only renames that are shown: there are many if names are numbers.
const RENAMED: usize = 20;

/// The digits of a digest that are shown.
const DIGITS: usize = 12;

/// All sections that are not empty.
pub(super) fn sections(diff: &ModelDiff) -> Vec<Section> {
    let mut out = Vec::new();
    let mut interface = Vec::new();
    ports("input", &diff.graph.inputs, 0, &mut interface);
    ports("output", &diff.graph.outputs, 0, &mut interface);
    push(&mut out, "interface", interface);
    push(&mut out, "opsets", changes(&diff.opsets, 0));
    push(&mut out, "header", changes(&diff.header, 0));
    graph(&diff.graph, "", &mut out);
    for (title, list) in [("functions", &diff.functions), ("training", &diff.training)] {
        let mut lines = Vec::new();
        list.iter().for_each(|function| nested(function, 0, &mut lines));
        push(&mut out, title, lines);
    }
    out
}

fn push(out: &mut Vec<Section>, title: &str, lines: Vec<TextLine>) {
    if !lines.is_empty() {
        out.push(Section { title: title.to_owned(), lines });
    }
}

fn graph(diff: &GraphDiff, of: &str, out: &mut Vec<Section>) {
    let mut lines = Vec::new();
    let mut renamed = 0;
    for one in &diff.nodes {
        renamed += usize::from(one.is_only_renamed());
        if renamed <= RENAMED || !one.is_only_renamed() {
            node(one, 0, &mut lines);
        }
    }
    if let Some(more) = renamed.checked_sub(RENAMED + 1) {
        let text = format!("… and {} more nodes with nothing but other names", more + 1);
        lines.push(TextLine { kind: Kind::Changed, depth: 0, text });
    }
    push(out, &format!("{of}nodes"), lines);
    let mut lines = Vec::new();
    diff.weights.iter().for_each(|one| weight(one, 0, &mut lines));
    push(out, &format!("{of}weights"), lines);
    push(out, &format!("{of}declared types"), changes(&diff.value_info, 0));
    push(out, &format!("{of}graph"), changes(&diff.properties, 0));
}

fn nested(diff: &FunctionDiff, depth: usize, out: &mut Vec<TextLine>) {
    out.push(TextLine { kind: diff.kind, depth, text: diff.name.clone() });
    let depth = depth + 1;
    out.extend(changes(&diff.properties, depth));
    ports("input", &diff.graph.inputs, depth, out);
    ports("output", &diff.graph.outputs, depth, out);
    diff.graph.nodes.iter().for_each(|one| node(one, depth, out));
    diff.graph.weights.iter().for_each(|one| weight(one, depth, out));
    out.extend(changes(&diff.graph.value_info, depth));
    out.extend(changes(&diff.graph.properties, depth));
}

fn changes(changes: &[PropertyChange], depth: usize) -> Vec<TextLine> {
    changes.iter().map(|change| TextLine { kind: change.kind(), depth, text: property(change) }).collect()
}

/// `alpha: 0.1 → 0.2`
fn property(change: &PropertyChange) -> String {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("{}: {old} → {new}", change.name),
        (Some(only), None) | (None, Some(only)) => format!("{}: {only}", change.name),
        (None, None) => change.name.clone(),
    }
}

fn ports(what: &str, changes: &[PropertyChange], depth: usize, out: &mut Vec<TextLine>) {
    for change in changes {
        let name = match &change.old_name {
            Some(old) => format!("{old} → {}", change.name),
            None => change.name.clone(),
        };
        let types = match (&change.old, &change.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (Some(ty), _) | (None, Some(ty)) => ty.clone(),
            (None, None) => String::new(),
        };
        let note = change.note.as_ref().map_or(String::new(), |note| format!(", {note}"));
        out.push(TextLine { kind: change.kind(), depth, text: format!("{what} {name}: {types}{note}") });
    }
}

fn node(diff: &NodeDiff, depth: usize, out: &mut Vec<TextLine>) {
    let kind = diff.kind;
    let Some(summary) = diff.new.as_ref().or(diff.old.as_ref()) else { return };
    if kind != Kind::Changed {
        out.push(TextLine { kind, depth, text: summary.text.clone() });
        return;
    }
    let results: Vec<_> = summary.outputs.iter().map(String::as_str).collect();
    let mut text = format!("{} = {}", results.join(", "), summary.op);
    if !summary.name.is_empty() && !summary.outputs.contains(&summary.name) {
        text += &format!(" [{}]", summary.name);
    }
    if let (true, Some(old), Some(new)) = (diff.moved, &diff.old, &diff.new) {
        text += &format!(": moved, #{} → #{}", old.index, new.index);
    }
    out.push(TextLine { kind, depth, text });
    let all = [&diff.operator, &diff.renamed, &diff.operands, &diff.attributes, &diff.properties];
    all.iter().for_each(|list| out.extend(changes(list, depth + 1)));
    diff.graphs.iter().for_each(|graph| nested(graph, depth + 1, out));
}

fn weight(diff: &WeightDiff, depth: usize, out: &mut Vec<TextLine>) {
    let mut text = match &diff.old_name {
        Some(old) => format!("{old} → {}: ", diff.name),
        None => format!("{}: ", diff.name),
    };
    text += &match (&diff.old_type, &diff.new_type) {
        (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
        (Some(ty), _) | (None, Some(ty)) => ty.clone(),
        (None, None) => "?".to_owned(),
    };
    let short = |digest: &String| digest[..digest.len().min(DIGITS)].to_owned();
    match (&diff.old_digest, &diff.new_digest) {
        (Some(old), Some(new)) if old != new => {
            text += &format!(", sha256:{} → {}", short(old), short(new));
        }
        (Some(digest), _) | (None, Some(digest)) => text += &format!(", sha256:{}", short(digest)),
        (None, None) => {}
    }
    if let Some(differing) = diff.differing {
        text += &format!(", {}", super::super::elements_differ(differing));
    }
    if let (Some(largest), Some(mean)) = (diff.largest_difference, diff.mean_difference) {
        text += &format!(", largest difference {}, mean {}", number(largest), number(mean));
    }
    out.push(TextLine { kind: diff.kind, depth, text });
    out.extend(changes(&diff.properties, depth + 1));
}

/// A number with three significant digits.
fn number(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) || !x.is_finite() {
        let text = format!("{x:.4}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return text.to_owned();
    }
    format!("{x:.2e}")
}
