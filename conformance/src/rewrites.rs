//! Rewritten models must compute the same results: cleaned up by passes, with function bodies in place of operators, and
//! converted to other operator sets.

use crate::convert::print;
use crate::results::{difference, run, shortest};
use crate::trial::is_determinate;
use onnx_exec::{RunOptions, Value};
use onnx_ir::{Model, pass};
use onnx_ops::convert::convert_opset;
use onnx_ops::functions::{Expand, expand};
use onnx_ops::opset::registry_of;
use onnx_ops::pass::Pass;
use onnx_text::Profile;

/// Passes that leave less, one after the other.
const TIDY: &[&str] = &["remove-no-ops", "fold-constants", "common-subexpressions", "dead-code"];

/// Versions that models are converted to, one after the other.
const VERSIONS: &[i64] = &[28, 22, 18, 17, 13, 12, 11, 10, 9, 8, 7, 28];

/// More nodes are not put in place of operators.
const MAX_NODES: u64 = 10_000;

/// The first rewriting that changes the results of a model, and the difference; for a model that can be run, with these values
/// for its first inputs.
pub fn rewritten(model: &Model, given: &[Option<Value>], options: &RunOptions<'_>) -> Option<String> {
    if !is_determinate(model) {
        return None;
    }
    let expected = run(model, given, options).ok()?;
    let other = |way: &str, changed: &Model| {
        let how = match run(changed, given, options) {
            Ok(results) => unequal(&results, &expected, model)?,
            Err(why) => why,
        };
        Some(format!("{way}: {how}\n{}", print(changed, Profile::Onnx).text))
    };
    let mut tidy = model.clone();
    for word in TIDY {
        Pass::parse(word).expect("a pass").run(&mut tidy, registry_of(model));
    }
    if let Some(how) = other("tidied", &tidy) {
        return Some(how);
    }
    let mut expanded = model.clone();
    let options = Expand { select: &|_| true, depth: None, max_nodes: MAX_NODES };
    expand(&mut expanded, registry_of(model), &options);
    pass::compact(&mut expanded);
    if let Some(how) = other("expanded", &expanded) {
        return Some(how);
    }
    // There, a body takes the nodes of graphs for those of version 15.
    let is_preview = model.header.opset_imports.iter().any(|i| model.text(i.domain) == "ai.onnx.preview");
    let least = if is_preview { 15 } else { 7 };
    let mut now = model.clone();
    for version in VERSIONS.iter().filter(|version| **version >= least) {
        let mut next = now.clone();
        if !convert_opset(&mut next, registry_of(&now), "", *version).is_done {
            continue;
        }
        pass::compact(&mut next);
        if let Some(how) = other(&format!("in version {version}"), &next) {
            return Some(how);
        }
        now = next;
    }
    None
}

fn unequal(results: &[Value], expected: &[Value], model: &Model) -> Option<String> {
    let shortest = shortest(model);
    let both = results.iter().zip(expected).enumerate();
    both.filter_map(|(i, (value, expected))| {
        Some(format!("output {i} {}", difference(value, expected, shortest)?))
    })
    .next()
}
