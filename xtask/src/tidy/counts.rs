//! Counts in messages have a noun that agrees with them.

use super::Finding;
use super::budget::{self, Budget};
use super::source::File;

/// Nouns that messages count, in the plural.
const NOUNS: &[&str] = &[
    "arguments",
    "arrays",
    "attributes",
    "axes",
    "bits",
    "blocks",
    "boxes",
    "bytes",
    "calls",
    "channels",
    "classes",
    "coefficients",
    "columns",
    "devices",
    "dimensions",
    "directions",
    "elements",
    "entries",
    "examples",
    "experts",
    "features",
    "fields",
    "files",
    "findings",
    "functions",
    "groups",
    "heads",
    "images",
    "indices",
    "initializers",
    "inputs",
    "items",
    "iterations",
    "keys",
    "labels",
    "lengths",
    "names",
    "nodes",
    "numbers",
    "outputs",
    "pads",
    "parameters",
    "parts",
    "positions",
    "regions",
    "rows",
    "samples",
    "scores",
    "sequences",
    "shards",
    "sizes",
    "slices",
    "states",
    "steps",
    "strings",
    "targets",
    "tensors",
    "tokens",
    "types",
    "values",
    "weights",
];

/// Schedules and tables, in which every number has the same noun.
const TABLES: &[&str] = &[
    "crates/onnx-exec/src/plan/text/write.rs",
    "crates/onnx-loops/src/nest/print.rs",
    "crates/onnxtxt/src/golden/schedules.rs",
];

/// Messages that are older than the rule.
const OLD: Budget = &[];

/// A message says `counted(n, "input")` and not `{n} inputs`, which is wrong for one.
pub(super) fn nouns_agree(files: &[File]) -> Vec<Finding> {
    budget::beyond("nouns agree with their numbers", plurals(files), OLD)
}

fn plurals(files: &[File]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_ours = |file: &&File| file.is_in("crates") && !TABLES.contains(&file.path.as_str());
    for file in files.iter().filter(is_ours).filter(|file| file.is_rust() && !file.is_generated()) {
        for ((at, line), code) in file.text.lines().enumerate().zip(file.code.lines()) {
            // Comments and tests have no code.
            if code.trim().is_empty() {
                continue;
            }
            if let Some(noun) = plural(line) {
                let message = format!("a number before `{noun}`: write `counted(…)` of `onnx_ir::diag`");
                findings.push(Finding::new(&file.path, at + 1, message));
            }
        }
    }
    findings
}

/// The noun after a number that may be 1. A limit is not, nor is the whole of a ratio or a range: `2 of {n} elements`.
fn plural(line: &str) -> Option<&'static str> {
    line.match_indices("} ").find_map(|(end, _)| {
        let (before, inside) = line[..end].rsplit_once('{')?;
        let is_limit = !inside.is_empty() && !inside.contains(|c: char| c.is_lowercase());
        let is_whole = ["of ", "to "].iter().any(|word| before.ends_with(word));
        if is_limit || is_whole || inside.contains(':') {
            return None;
        }
        let rest = &line[end + 2..];
        let word = &rest[..rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len())];
        NOUNS.iter().copied().find(|noun| *noun == word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plural_after_a_number_is_found() {
        let found = |text: &str| {
            plurals(&[File::new("crates/a/src/x.rs", format!("fn f() {{\n    {text}\n}}\n"))]).len()
        };
        for text in [
            "fail!(\"{n} inputs\");",
            "format!(\"it has {} axes, not {b}\", x.len());",
            "g(\"{a.b} rows.\");",
        ] {
            assert_eq!(found(text), 1, "{text}");
        }
        for text in [
            "fail!(\"{}\", counted(n, \"input\"));",
            "fail!(\"at most {MAX_NODES} nodes\");",
            "fail!(\"{a} of {b} elements differ\");",
            "fail!(\"a shape {dims:?} elements\");",
            "// {n} inputs",
            "fail!(\"{n} inputsof\");",
        ] {
            assert_eq!(found(text), 0, "{text}");
        }
    }

    #[test]
    fn the_nouns_are_in_order() {
        assert!(NOUNS.is_sorted());
    }
}
