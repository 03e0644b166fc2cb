//! The description of one operator: purpose, signature, changes of each version, an example.
//!
//! ```text
//! ai.onnx.Relu, version 14 of 1, 6, 13, 14
//!
//! Sets negative elements to 0.
//!
//! inputs   X: T
//! outputs  Y: T
//! types    T = float, int8..int64, float16, double, bfloat16
//! ```

use super::domain_text;
use super::spec::Operator;
use onnx_ir::ElemType;
use onnx_ops::schema::{
    AttrParam, BodyKind, Param, ParamKind, Registry, Schema, TypeVariable, differences, docs,
};
use std::fmt::Write as _;

/// The operator at the requested version; without one, at the newest, with its history. With `color`, for a terminal.
#[must_use]
pub fn card(registry: &Registry, operator: &Operator<'_>, color: bool) -> String {
    let Operator { domain, name, asked } = *operator;
    let paint = |style: &str, text: &str| {
        if color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let versions: Vec<&Schema> = registry.versions(domain, name).iter().map(|id| registry.get(*id)).collect();
    let Some(shown) = asked.map(|id| registry.get(id)).or(versions.last().copied()) else {
        return String::new();
    };
    let known: Vec<String> = versions.iter().map(|schema| schema.since.to_string()).collect();
    let of = if known.len() > 1 { format!(" of {}", known.join(", ")) } else { String::new() };
    let title = format!("{}.{name}", domain_text(domain));
    let mut out = format!("{}, version {}{of}\n", paint("1", &title), shown.since);
    for remark in remarks(shown) {
        _ = writeln!(out, "{remark}");
    }
    if let Some(summary) = registry.versions(domain, name).last().and_then(|id| registry.summary(*id)) {
        _ = writeln!(out, "\n{summary}");
    }
    out.push('\n');
    signature(shown, &mut out);
    if asked.is_none() && versions.len() > 1 {
        _ = writeln!(out, "\n{}", paint("1", "history"));
        history(&versions, &mut out);
    }
    if let Some(example) = docs::example(domain, name) {
        _ = writeln!(out, "\n{}", paint("1", "example"));
        for line in example.lines() {
            _ = writeln!(out, "    {}", paint("36", line));
        }
    }
    out
}

fn remarks(schema: &Schema) -> Vec<String> {
    let mut remarks = Vec::new();
    if schema.deprecated {
        let instead = schema.replacement().map_or(String::new(), |other| format!(": use {other}"));
        remarks.push(format!("deprecated{instead}"));
    }
    if schema.experimental {
        remarks.push("experimental: it may change without a new version".to_owned());
    }
    match schema.body {
        BodyKind::None => {}
        BodyKind::Fixed => remarks.push("defined by a function body".to_owned()),
        BodyKind::PerNode => {
            remarks.push("defined by a function body, which depends on the node".to_owned());
        }
    }
    remarks
}

/// A row of a section: the aligned cell, and the rest.
type Row = (String, String);

fn signature(schema: &Schema, out: &mut String) {
    section("inputs", schema.inputs.iter().map(param).collect(), out);
    counts(&schema.input_counts, "inputs", out);
    section("outputs", schema.outputs.iter().map(param).collect(), out);
    counts(&schema.output_counts, "outputs", out);
    section("attributes", schema.attrs.iter().map(attribute).collect(), out);
    section("types", schema.variables.iter().map(variable).collect(), out);
    if schema.attrs.iter().any(AttrParam::is_elem_type) {
        section("numbers", vec![(String::new(), numbers())], out);
    }
}

fn section(title: &str, rows: Vec<Row>, out: &mut String) {
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    for (i, (name, rest)) in rows.iter().enumerate() {
        let title = if i == 0 { title } else { "" };
        let mut before = format!("{title:<11} {name:<width$}  ");
        for line in wrapped(rest, WIDTH.saturating_sub(14 + width)) {
            _ = writeln!(out, "{}", format!("{before}{line}").trim_end());
            before = " ".repeat(14 + width);
        }
    }
}

/// Width of a description.
const WIDTH: usize = 100;

/// A comma-separated list in lines of at most `width` characters, if possible.
fn wrapped(list: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for item in list.split_inclusive(", ") {
        if let Some(line) = lines.last_mut() {
            if line.is_empty() || line.chars().count() + item.trim_end().chars().count() <= width {
                line.push_str(item);
            } else {
                lines.push(item.to_owned());
            }
        }
    }
    lines
}

fn counts(counts: &[u32], what: &str, out: &mut String) {
    if !counts.is_empty() {
        let counts: Vec<String> = counts.iter().map(u32::to_string).collect();
        _ = writeln!(out, "{:<11} {} of these {what} are given", "", counts.join(" or "));
    }
}

fn param(param: &Param) -> Row {
    let kind = match param.kind {
        ParamKind::Single => String::new(),
        ParamKind::Optional => ", optional".to_owned(),
        ParamKind::Variadic { min, homogeneous } => {
            let types = if homogeneous { "of one type" } else { "of any types" };
            format!(", {min} or more {types}")
        }
    };
    (param.name.to_string(), format!("{}{kind}", param.ty))
}

fn attribute(attr: &AttrParam) -> Row {
    let ty = attr.ty.name().unwrap_or("?");
    let rest = match (&attr.default, attr.required) {
        (Some(default), _) => format!("{ty} = {}", default.text()),
        (None, true) => format!("{ty}, required"),
        (None, false) => ty.to_owned(),
    };
    let rest = if attr.is_elem_type() { format!("{rest}, the number of an element type") } else { rest };
    (attr.name.to_string(), rest)
}

fn variable(variable: &TypeVariable) -> Row {
    (variable.name.to_string(), variable.types.text())
}

/// The numbers of element types, for attributes whose value is one.
fn numbers() -> String {
    let all = ElemType::ALL.iter().filter_map(|elem| Some(format!("{} {}", elem.0, elem.name()?)));
    all.collect::<Vec<_>>().join(", ")
}

/// The history of an operator, newest version first.
fn history(versions: &[&Schema], out: &mut String) {
    for pair in versions.windows(2).rev() {
        let changes = differences(pair[0], pair[1]);
        let mut since = pair[1].since.to_string();
        let lines = if changes.is_empty() { vec!["the same signature".to_owned()] } else { changes };
        for line in lines {
            _ = writeln!(out, "  {since:>3}  {line}");
            since.clear();
        }
    }
    if let Some(first) = versions.first() {
        _ = writeln!(out, "  {:>3}  the first version", first.since);
    }
}
