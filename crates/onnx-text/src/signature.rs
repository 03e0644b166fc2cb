//! Operator signatures in documentation, the only place for them in the wire format.
//!
//! The documentation of an operator is Markdown. It starts with a code block with the signature, in the syntax of operator sets:
//!
//! ````text
//! ```onnxtxt
//! operator Scale <axis: int = -1> (T x, T? scale) => (T y)
//! where T: {float, float16}
//! ```
//!
//! Multiplies by a scale.
//! ````

use crate::lex::ANNOTATED;
use crate::{lower, parse, raise};
use onnx_ir::diag::{Diagnostic, Entity, Parsed, code};
use onnx_ir::{Model, OperatorSet, Signature, Signatures};

/// The language tag of such a block.
const LANGUAGE: &str = "onnxtxt";
/// A fence has this many backticks at least.
const FENCE: usize = 3;

/// The signatures of a set, from the documentation of its operators. Reports signature blocks that cannot be parsed.
pub fn signatures(set: &OperatorSet) -> Parsed<Signatures> {
    let mut signatures = Signatures::default();
    let mut diagnostics = Vec::new();
    for (i, operator) in (0..).zip(&set.operators) {
        let names = &set.model.names;
        let name = operator.name.map(|name| names.bytes(name)).unwrap_or_default();
        let split = operator.doc.and_then(|doc| split(names.bytes(doc)));
        let signature = split.as_ref().and_then(|(text, _)| read(text, name, &mut signatures.model));
        if split.is_some() && signature.is_none() {
            let name = String::from_utf8_lossy(name);
            let message = format!("the documentation of `{name}` begins with an unreadable signature");
            let d = Diagnostic::new(&code::SIGNATURE_UNREADABLE, Entity::Operator(i), message);
            diagnostics.push(d.label("this operator has no signature"));
        }
        signatures.list.push(signature);
    }
    Parsed::new(signatures, diagnostics)
}

/// The documentation of an operator without its signature.
pub fn description(set: &OperatorSet, operator: usize) -> Option<&str> {
    let doc = set.model.names.bytes(set.operators.get(operator)?.doc?);
    let description = match split(doc) {
        Some((_, rest)) => rest?,
        None => doc,
    };
    std::str::from_utf8(description).ok()
}

/// Puts a signature at the head of the documentation of an operator, in place of one that is there. Names, types and
/// bodies of the signature are those of `model`, to which the name of the operator is added.
///
/// # Panics
///
/// If the set has no operator at this position.
pub fn sign(set: &mut OperatorSet, operator: usize, signature: &Signature, model: &mut Model) {
    let names = &mut set.model.names;
    let operator = &mut set.operators[operator];
    let name = operator.name.map(|name| names.bytes(name)).unwrap_or_default();
    let text = text(name, signature, model);
    let doc = operator.doc.map(|doc| names.bytes(doc));
    let doc = match doc.and_then(split) {
        Some((_, rest)) => rest,
        None => doc,
    };
    let joined = join(&text, doc);
    operator.doc = Some(names.intern_bytes(&joined));
}

/// The signature of the operator of this name in a text. `None` if there is none, or more than a signature.
pub(crate) fn read(text: &str, name: &[u8], model: &mut Model) -> Option<Signature> {
    let source = format!("{ANNOTATED}\n{text}");
    let parsed = parse::parse_operator(&source);
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    lower::lower_signature(&source, &parsed.value.tree?, name, model)
}

/// The text of a signature. Names and bodies of the signature are those of `model`, to which the name is added.
pub(crate) fn text(name: &[u8], signature: &Signature, model: &mut Model) -> String {
    let name = model.names.intern_bytes(name);
    raise::signature_text(model, name, signature)
}

/// Documentation that begins with a signature, in parts: its text, and what follows.
pub(crate) fn split(doc: &[u8]) -> Option<(&str, Option<&[u8]>)> {
    let ticks = doc.iter().take_while(|&&byte| byte == b'`').count();
    let rest = doc.get(ticks..)?.strip_prefix(LANGUAGE.as_bytes())?.strip_prefix(b"\n")?;
    let end = end_of_block(rest, ticks)?;
    let text = std::str::from_utf8(rest.get(..end)?).ok()?;
    let after = rest.get(end + 1 + ticks..)?;
    let after = if after.is_empty() { None } else { Some(after.strip_prefix(b"\n\n")?) };
    (ticks == ticks_for(text)).then_some((text, after))
}

/// Documentation of these parts.
pub(crate) fn join(text: &str, doc: Option<&[u8]>) -> Vec<u8> {
    let fence = "`".repeat(ticks_for(text));
    let mut out = format!("{fence}{LANGUAGE}\n{text}\n{fence}").into_bytes();
    if let Some(doc) = doc {
        out.extend_from_slice(b"\n\n");
        out.extend_from_slice(doc);
    }
    out
}

/// A fence that no line of the text closes.
fn ticks_for(text: &str) -> usize {
    let longest = text.lines().map(|line| line.bytes().take_while(|&byte| byte == b'`').count()).max();
    longest.map_or(FENCE, |longest| FENCE.max(longest + 1))
}

/// The start of the first line, including its line break, with at least `ticks` backticks.
fn end_of_block(text: &[u8], ticks: usize) -> Option<usize> {
    if ticks < FENCE {
        return None;
    }
    memchr::memchr_iter(b'\n', text).find(|&at| {
        text.get(at + 1..at + 1 + ticks).is_some_and(|line| line.iter().all(|&byte| byte == b'`'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_falls_into_its_parts() {
        for (text, doc) in [
            ("operator A () => ()", None),
            ("operator A () => ()", Some(&b""[..])),
            ("operator A () => ()\nwhere T: {float}", Some(b"A.\n\n```onnxtxt\nx\n```")),
            ("a\n``` \n````b", Some(b"\xff")),
            ("", Some(b"\n\n")),
        ] {
            let joined = join(text, doc);
            assert_eq!(split(&joined), Some((text, doc)), "{:?}", String::from_utf8_lossy(&joined));
        }
    }

    #[test]
    fn only_what_would_be_written_is_a_block() {
        for doc in [
            "",
            "A.",
            "```onnxtxt",
            "```onnxtxt\nA",
            "```onnxtxt\nA\n``",
            "```onnxtxt\nA\n```x",
            "```onnxtxt\nA\n```\nx",
            "````onnxtxt\nA\n````",
            "```rust\nA\n```",
            "``onnxtxt\nA\n``",
        ] {
            assert_eq!(split(doc.as_bytes()), None, "{doc}");
        }
    }
}
