//! Counts the operators of a model and shows the types of what they compute.
//!
//! ```sh
//! cargo run -p onnxtxt --example count_operators -- examples/digits.onnxtxt
//! ```

use onnxtxt::ir::{Body, Model, type_text};
use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: count_operators MODEL")?;
    run(&path, &mut std::io::stdout().lock())
}

/// Reads a model in any form, infers its types, and writes what is in it.
pub(crate) fn run(path: &str, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let mut loaded = onnxtxt::open(path)?;
    if loaded.is_partial() {
        return Err(onnxtxt::Error::Model(loaded.diagnostics).into());
    }
    for finding in loaded.infer() {
        write!(out, "{}", loaded.render(&finding))?;
    }
    let model = &loaded.model;

    writeln!(out, "operators")?;
    for ((domain, op), count) in operators(model) {
        let separator = if domain.is_empty() { "" } else { "." };
        writeln!(out, "{count:>6}  {domain}{separator}{op}")?;
    }

    writeln!(out, "results of the main graph")?;
    let types = model.main_body().map(Body::declared_types).unwrap_or_default();
    for node in model.walk_main() {
        for &value in node.outputs.iter().flatten() {
            let ty = types[value].map_or_else(|| "?".to_owned(), |ty| type_text(model, ty));
            writeln!(out, "        {}: {ty} = {}", node.name_of(value), node.op())?;
        }
    }
    Ok(())
}

/// How often each operator or function is applied, in nested graphs and functions too.
fn operators(model: &Model) -> BTreeMap<(&str, &str), usize> {
    let functions = model.functions.values().flat_map(|function| model.walk_nodes(function.body));
    let mut counts = BTreeMap::new();
    for node in model.walk_main().chain(functions) {
        *counts.entry((node.domain(), node.op())).or_default() += 1;
    }
    counts
}
