//! Findings about nodes of expressions point into them, whatever their code.
//!
//! The texts of the code table and of the suite that have a finding about a call are read again with this call as an operand:
//!
//! ```text
//! y = Abs(x, x)                y = Identity(Abs(x, x))
//!            ^ E1005     →                         ^ the same code at the same words
//! ```
//!
//! A call of an operator that has a sign is written by it, too: `y = Identity(a + b)`.

use crate::examples;
use libtest_mimic::Trial;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{self, Code, Diagnostic, Level, Place, Span};
use onnx_text::ast::Node;
use onnx_text::{Checked, SourceMap, TextKind};
use onnxtxt::golden::{Case, opsets};
use std::sync::Arc;

/// Texts of the suite for a code, at most.
const MAX_TEXTS: usize = 6;

/// Longer texts of the suite are left out: these are about something else.
const MAX_BYTES: usize = 6_000;

/// Codes that are not reported about an operand, or not at its words, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("W0211", "an operand is used"),
    ("W1021", "it is about the node at which inference stops, and there is one more"),
];

/// Operators with signs, as `grammar/sugar.md` has them.
const SIGNS: &[(&str, &str)] = &[
    ("Add", "+"),
    ("Sub", "-"),
    ("Mul", "*"),
    ("Div", "/"),
    ("MatMul", "@"),
    ("Pow", "**"),
    ("Less", "<"),
    ("LessOrEqual", "<="),
    ("Greater", ">"),
    ("GreaterOrEqual", ">="),
    ("Equal", "=="),
];

/// A trial for each code: it has nothing to compare if the findings are about declarations, or about statements with annotations.
pub(crate) fn trials(cases: &[Case]) -> Vec<Trial> {
    let cases: Arc<[Case]> = cases.into();
    let trial = |&code: &&'static Code| {
        let cases = Arc::clone(&cases);
        Trial::test(format!("expressions/{}", code.id), move || run(code, &cases).map_err(Into::into))
    };
    // Findings about the syntax are about the text, and not about nodes that it stands for.
    diag::ALL.iter().filter(|code| code.level > Level::Syntax).map(trial).collect()
}

fn run(code: &Code, cases: &[Case]) -> Result<(), String> {
    let is_model = |text: &String| onnx_text::sniff_text(text) == TextKind::Model && !opsets::is_set(text);
    let of_table = code.examples().into_iter().step_by(2).map(examples::model);
    let mark = format!("[{}]", code.id);
    let of_suite = cases.iter().filter(|case| case.text.len() < MAX_BYTES && case.text.contains(&mark));
    let of_suite = of_suite.take(MAX_TEXTS).map(|case| case.text.clone());
    let failures: Vec<String> =
        of_table.chain(of_suite).filter(is_model).filter_map(|text| in_text(code, &text).err()).collect();
    let reason = OTHERWISE.iter().find(|(id, _)| *id == code.id);
    match (reason, failures.first()) {
        (None, Some(failure)) => Err(failure.clone()),
        (Some((_, why)), None) => Err(format!("its findings are at their words, although {why}")),
        (None, None) | (Some(_), Some(_)) => Ok(()),
    }
}

fn judged(text: &str) -> (Checked, Vec<Diagnostic>) {
    let options = VerifyOptions { level: Level::Strict, ..VerifyOptions::default() };
    let checked = onnxtxt::golden::judged(text, &options);
    (checked.value, checked.diagnostics)
}

fn place(map: &SourceMap<'_>, place: Place) -> Option<Span> {
    match place {
        Place::Source(span) => Some(span),
        Place::Entity(entity) => map.span(entity),
        Place::Nowhere => None,
    }
}

/// Reads a text again for each finding of a code that is about a call.
fn in_text(code: &Code, text: &str) -> Result<(), String> {
    let (checked, found) = judged(text);
    let tree = &checked.syntax.tree;
    let map = SourceMap::new(text, tree, &checked.model);
    for finding in found.iter().filter(|finding| finding.code == code) {
        let Some(at) = place(&map, finding.primary.place) else { continue };
        let statement = tree.statements().find(|node| is_about(node, at));
        let Some(statement) = statement else { continue };
        for (operand, expected) in
            [nested(text, statement, at), with_sign(text, statement, at)].into_iter().flatten()
        {
            let (checked, found) = judged(&operand);
            let map = SourceMap::new(&operand, &checked.syntax.tree, &checked.model);
            let places: Vec<Span> = found
                .iter()
                .filter(|again| again.code == code)
                .filter_map(|again| place(&map, again.primary.place))
                .collect();
            if !places.contains(&expected) {
                let shown = |span: &Span| format!("`{}` at {}", &operand[span.range()], span.start);
                let places: Vec<String> = places.iter().map(shown).collect();
                return Err(format!(
                    "{} is not at {}, but at {places:?} in\n{operand}\nall findings: {found:#?}",
                    code.id,
                    shown(&expected)
                ));
            }
        }
    }
    Ok(())
}

/// The call of a plain statement with one result.
fn call(node: &Node) -> Span {
    node.domain.unwrap_or(node.op).to(Span::at(node.span.end))
}

/// Whether a place is a statement that can be an operand, or in its call.
fn is_about(node: &Node, at: Span) -> bool {
    let is_call = node.sugar.is_none() && node.name.is_none() && node.notes.is_empty();
    let has_result = node.outputs.len() == 1 && node.outputs.iter().all(|name| !name.is_empty());
    let call = call(node);
    is_call && has_result && (at == node.span || call.start <= at.start && at.end <= call.end)
}

/// A text with the call of a statement as an operand, and the place of a finding in it.
fn nested(text: &str, node: &Node, at: Span) -> Option<(String, Span)> {
    const OUTER: &str = "Identity(";
    let call = call(node);
    let (before, inner, after) =
        (&text[..call.start as usize], &text[call.range()], &text[call.end as usize..]);
    let moved = |at: u32| Some(at + u32::try_from(OUTER.len()).ok()?);
    let at = if at == node.span { call } else { at };
    Some((format!("{before}{OUTER}{inner}){after}"), Span::new(moved(at.start)?, moved(at.end)?)))
}

/// A text with the operands and the sign of a statement as an operand, and the place of a finding in it.
fn with_sign(text: &str, node: &Node, at: Span) -> Option<(String, Span)> {
    let op = &text[node.op.range()];
    let (_, sign) = SIGNS.iter().find(|(name, _)| *name == op)?;
    let [a, b] = node.inputs[..] else { return None };
    let is_plain = node.domain.is_none() && node.attrs.is_none() && !a.is_empty() && !b.is_empty();
    let place = |text: &str| u32::try_from(text.len()).ok();
    let mut out = format!("{}Identity(", &text[..call(node).start as usize]);
    let mut places = Vec::new();
    let mut put = |out: &mut String, part: &str, of: Span| {
        let start = place(out)?;
        out.push_str(part);
        places.push((of, Span::new(start, place(out)?)));
        Some(())
    };
    put(&mut out, &text[a.range()], a)?;
    out.push(' ');
    put(&mut out, sign, node.op)?;
    out.push(' ');
    put(&mut out, &text[b.range()], b)?;
    let whole = places.first()?.1.to(places.last()?.1);
    out.push(')');
    out.push_str(&text[node.span.end as usize..]);
    let found = places.into_iter().chain([(node.span, whole)]).find(|(of, _)| *of == at);
    found.filter(|_| is_plain).map(|(_, place)| (out, place))
}
