//! Finds missing commas between two operands: `Add(x y)`.
//!
//! The parser cannot distinguish two names from one that contains a stray space. Here the names are known: if both are values,
//! and no value's name could be made of the two, the fix is certain.

use super::Checked;
use crate::ast;
use crate::parse::Syntax;
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Parsed, Place, Span, code};
use std::collections::{HashMap, HashSet};

/// The most pairs of words that are considered; each needs a search of the whole model.
const JUDGED: usize = 4;

/// Makes the fixes certain that can be.
pub(super) fn confirm(
    source: &str,
    checked: &mut Parsed<&Checked>,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) {
    let place = |d: &Diagnostic| match d.primary.place {
        Place::Source(span) if d.code == &code::MISSING_PUNCTUATION && inserts_comma(d) => Some(span.start),
        Place::Source(_) | Place::Entity(_) | Place::Nowhere => None,
    };
    let open: HashMap<u32, usize> =
        checked.diagnostics.iter().enumerate().filter_map(|(i, d)| Some((place(d)?, i))).collect();
    if open.is_empty() {
        return;
    }
    let Checked { syntax: Syntax { tree, .. }, model } = checked.value;
    let mut certain = Vec::new();
    let mut judged = 0;
    let graph = tree.graph.iter().map(|graph| (names_of_graph(source, graph), &graph.body));
    let functions =
        tree.functions.iter().map(|function| (names_of_function(source, function), &function.body));
    for (mut defined, body) in graph.chain(functions) {
        for node in body {
            for pair in node.inputs.windows(2) {
                let Some(&index) = open.get(&pair[0].end).filter(|_| pair[1].start > pair[0].end) else {
                    continue;
                };
                let (first, second) = (name(source, pair[0]), name(source, pair[1]));
                let is_one = defined.iter().any(|name| are_halves(first, second, name));
                if is_one || !defined.contains(first) || !defined.contains(second) {
                    continue;
                }
                // One of two that are the same may be too many.
                if first == second {
                    judged += 1;
                    if judged > JUDGED || !is_needed(source, model, pair, &judge) {
                        continue;
                    }
                }
                certain.push(index);
            }
            defined.extend(node.outputs.iter().map(|output| name(source, *output)));
        }
    }
    for index in certain {
        for fix in &mut checked.diagnostics[index].fixes {
            fix.safe = true;
        }
    }
}

fn inserts_comma(diagnostic: &Diagnostic) -> bool {
    diagnostic.fixes.iter().any(|fix| matches!(&fix.edits[..], [edit] if edit.text == ","))
}

/// Whether the model is wrong without the second of two operands.
fn is_needed(source: &str, model: &Model, pair: &[Span], judge: impl Fn(&Model) -> Vec<Diagnostic>) -> bool {
    let (Some(before), Some(after)) =
        (source.get(..pair[0].end as usize), source.get(pair[1].end as usize..))
    else {
        return false;
    };
    let without = crate::read_model(&format!("{before}{after}"));
    let missing = |model: &Model| {
        let found = judge(model);
        found.iter().filter(|d| [&code::ARITY, &code::PARAMETER_EMPTY].contains(&d.code)).count()
    };
    missing(&without.value) > missing(model)
}

/// Whether two words are a name in which one character was lost or replaced by a space.
fn are_halves(first: &str, second: &str, name: &str) -> bool {
    let middle = name.strip_prefix(first).and_then(|rest| rest.strip_suffix(second));
    middle.is_some_and(|middle| middle.chars().nth(1).is_none())
}

/// A name without its quotes.
fn name(source: &str, span: Span) -> &str {
    source.get(span.range()).unwrap_or_default().trim_matches('"')
}

fn names_of_graph<'s>(source: &'s str, graph: &ast::Graph) -> HashSet<&'s str> {
    let inputs = graph.inputs.iter().flat_map(|list| &list.items);
    let values = graph.values.iter().flat_map(|list| &list.items).filter(|value| value.data.is_some());
    inputs.chain(values).map(|value| name(source, value.name)).collect()
}

fn names_of_function<'s>(source: &'s str, function: &ast::Function) -> HashSet<&'s str> {
    function.inputs.items.iter().map(|value| name(source, value.name)).collect()
}
