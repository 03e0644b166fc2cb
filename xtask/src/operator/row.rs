//! Adds a row to the table of a family.

use super::Edit;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::Path;

const TABLE: &str = "pub(super) const ROWS: &[Operator] = &[";
const IMPORT: &str = "use super::{";

/// The families, sorted.
pub(super) fn families(operators: &Path) -> Result<Vec<String>> {
    let mut families = Vec::new();
    for entry in fs::read_dir(operators).with_context(|| operators.display().to_string())? {
        let entry = entry?;
        if entry.path().join("mod.rs").exists() {
            families.extend(entry.file_name().into_string().ok());
        }
    }
    families.sort();
    Ok(families)
}

/// The table of a family with a row for an operator, in the order of the names.
pub(super) fn insert(operators: &Path, family: &str, domain: &str, name: &str) -> Result<Edit> {
    let families = families(operators)?;
    ensure!(
        families.iter().any(|known| known == family),
        "`{family}` is not a family: one of {}",
        families.join(", ")
    );
    let path = operators.join(family).join("mod.rs");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let (before, rest) = text.split_once(TABLE).with_context(|| format!("{family} has no table"))?;
    let (table, after) =
        rest.split_once("];\n").with_context(|| format!("the table of {family} has no end"))?;
    let mut rows = split(table);
    let constructor = match domain {
        "ai.onnx" => "op",
        "ai.onnx.ml" => "of_ml",
        "ai.onnx.preview" => "of_preview",
        "ai.onnx.preview.training" => "of_training",
        "com.microsoft" => "of_runtime",
        _ => "Operator::new",
    };
    let new = match constructor {
        "Operator::new" => format!("Operator::new(\"{domain}\", \"{name}\")"),
        constructor => format!("{constructor}(\"{name}\")"),
    };
    if rows.iter().any(|row| row.trim_start().starts_with(&new)) {
        bail!("`{family}` has a row for `{name}` of {domain}");
    }
    let at = rows.iter().position(|row| name_of(row) > name).unwrap_or(rows.len());
    rows.insert(at, &new);
    let rows: Vec<String> = rows.iter().map(|row| format!("    {},\n", row.trim())).collect();
    let before = import(before, constructor);
    let content = format!("{before}{TABLE}\n{}];\n{after}", rows.concat());
    Ok(Edit { path, content, next: format!("state what {name} does: `.infer(…)`, `.define(…)`") })
}

/// The rows of a table: what is between commas outside of parentheses and strings.
fn split(table: &str) -> Vec<&str> {
    let (mut depth, mut start, mut is_text) = (0, 0, false);
    let mut rows = Vec::new();
    for (at, c) in table.char_indices() {
        match c {
            '"' => is_text = !is_text,
            '(' | '[' | '{' if !is_text => depth += 1,
            ')' | ']' | '}' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                rows.push(&table[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    rows.push(&table[start..]);
    rows.retain(|row| !row.trim().is_empty());
    rows
}

/// The operator of a row: the last string of its constructor.
fn name_of(row: &str) -> &str {
    let constructor = row.split_once(')').map_or(row, |(constructor, _)| constructor);
    constructor.rsplit('"').nth(1).unwrap_or("")
}

/// Imports the function that makes a row.
fn import(before: &str, constructor: &str) -> String {
    let Some((head, rest)) = before.split_once(IMPORT) else { return before.to_owned() };
    let Some((list, tail)) = rest.split_once('}') else { return before.to_owned() };
    let is_there = constructor == "Operator::new" || list.split(',').any(|name| name.trim() == constructor);
    if is_there { before.to_owned() } else { format!("{head}{IMPORT}{list}, {constructor}}}{tail}") }
}
