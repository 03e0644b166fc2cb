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

use crate::lower::{LoweredSet, lower_operator_set, read_signature, too_large};
use crate::parse;
use crate::raise::signature_text;
use crate::signature_block::{join, split};
use onnx_ir::diag::{Diagnostic, Entity, Parsed, code};
use onnx_ir::{Model, OperatorSet, Signature, Signatures};

/// Reads a file with an operator set (`grammar/opsets.md`). Returns all findings, in the order of the source.
///
/// ```
/// let source = r#"
///     operator_set <ir_version: 10, domain: "com.acme", opset_version: 1>
///     <since_version: 1> operator Scale <axis: int = -1> (T x, T? scale) => (T y) where T: {float, float16}"#;
/// let set = onnx_text::read_operator_set(source).into_result().unwrap();
/// assert_eq!((set.domain(), set.operators.len()), ("com.acme", 1));
/// ```
pub fn read_operator_set(source: &str) -> Parsed<OperatorSet> {
    if let Some(diagnostic) = too_large(source) {
        return Parsed::new(OperatorSet::new(), vec![diagnostic]);
    }
    let Parsed { value: syntax, mut diagnostics } = parse::parse_operator_set(source);
    let mut lowered = lower_operator_set(source, &syntax);
    diagnostics.append(&mut lowered.diagnostics);
    document(&mut lowered.value);
    parse::sort(&mut diagnostics);
    Parsed::new(lowered.value.set, diagnostics)
}

/// The signatures of a set, from the documentation of its operators. Reports signature blocks that cannot be parsed.
pub fn signatures(set: &OperatorSet) -> Parsed<Signatures> {
    let mut signatures = Signatures::default();
    let mut diagnostics = Vec::new();
    for (i, operator) in (0..).zip(&set.operators) {
        let names = &set.model.names;
        let name = operator.name.map(|name| names.bytes(name)).unwrap_or_default();
        let split = operator.doc.and_then(|doc| split(names.bytes(doc)));
        let signature =
            split.as_ref().and_then(|(text, _)| read_signature(text, name, &mut signatures.model));
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
    let text = signature_text(name, signature, model);
    let doc = operator.doc.map(|doc| names.bytes(doc));
    let doc = match doc.and_then(split) {
        Some((_, rest)) => rest,
        None => doc,
    };
    let joined = join(&text, doc);
    operator.doc = Some(names.intern_bytes(&joined));
}

/// Puts the signatures of a set that was read from text into the documentation of its operators.
pub(crate) fn document(lowered: &mut LoweredSet) {
    let LoweredSet { set, signatures } = lowered;
    let Signatures { model, list } = signatures;
    for (operator, signature) in list.iter().enumerate() {
        let Some(signature) = signature else { continue };
        let names = &mut set.model.names;
        let operator = &mut set.operators[operator];
        let name = operator.name.map(|name| names.bytes(name)).unwrap_or_default();
        let text = signature_text(name, signature, model);
        let joined = join(&text, operator.doc.map(|doc| names.bytes(doc)));
        operator.doc = Some(names.intern_bytes(&joined));
    }
}
