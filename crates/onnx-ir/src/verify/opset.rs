//! Operator sets in separate files: headers, operators, and the functions that define them. Function bodies are subject to the
//! rules for all functions.

use super::context::{Findings, Seen, VerifyContext, index};
use super::{
    VerifyOptions, attributes, calls, declarations, functions, graph, header, lints, metadata, order,
    strings, tensors, types, versions,
};
use crate::diag::{Diagnostic, Entity, Place, code};
use crate::model::normalize_domain;
use crate::names::Name;
use crate::opset::{Definition, OPSET_MAGIC, Operator, OperatorSet, Signatures};
use crate::releases::NEWEST_IR;
use std::collections::{HashMap, HashSet};

mod signature;

/// Checks an operator set. The signatures are those of its operators; missing ones are not checked.
///
/// ```
/// use onnx_ir::{OperatorSet, Signatures, VerifyOptions, verify_operator_set};
///
/// let found = verify_operator_set(&OperatorSet::new(), &Signatures::default(), &VerifyOptions::default());
/// assert_eq!(found[0].message, "operator set does not begin with the magic `ONNXOPSET`");
/// ```
#[must_use]
pub fn verify_operator_set(
    set: &OperatorSet,
    signatures: &Signatures,
    options: &VerifyOptions,
) -> Vec<Diagnostic> {
    let cx = VerifyContext::new(&set.model, options);
    let mut found = Findings::new(options);
    header_of_set(&cx, &mut found, set);
    operators(&cx, &mut found, set, signatures);
    defined(&cx, &mut found, signatures, &set.definitions());
    bodies(&cx, &mut found);
    let mut list = found.into_list();
    let known: HashSet<Name> = set.operators.iter().filter_map(|operator| operator.name).collect();
    list.retain(|diagnostic| !is_fine_in_set(&cx, set, &known, diagnostic));
    order::sort(&cx, &mut list);
    list
}

/// The chapters on functions.
fn bodies(cx: &VerifyContext<'_>, found: &mut Findings) {
    header::used_domains(cx, found, &mut Seen::new());
    strings::check(cx, found);
    metadata::check(cx, found);
    versions::check(cx, found);
    graph::check(cx, found);
    declarations::check(cx, found);
    lints::check(cx, found);
    attributes::check(cx, found);
    tensors::check(cx, found);
    types::check(cx, found);
    functions::check(cx, found);
    calls::check(cx, found);
}

/// Whether a finding does not apply to a set: a node with an operator of the set, which need not be a function; functions of the
/// default domain, if that is the domain of the set; and unused functions.
fn is_fine_in_set(
    cx: &VerifyContext<'_>,
    set: &OperatorSet,
    known: &HashSet<Name>,
    found: &Diagnostic,
) -> bool {
    match found.primary.place {
        Place::Entity(Entity::NodeOp(body, node)) if found.code == &code::CALL_UNRESOLVED => {
            let node = &cx.model.bodies[body].nodes[node];
            let is_own = normalize_domain(cx.model.text(node.domain)) == set.domain();
            let is_overloaded = node.overload.is_some_and(|overload| !overload.is_empty());
            is_own && !is_overloaded && node.op.is_some_and(|op| known.contains(&op))
        }
        Place::Entity(Entity::Function(f)) if found.code == &code::FUNCTION_IDENTITY => {
            let is_named = cx.model.functions[f].name.is_some_and(|name| !name.is_empty());
            is_named && set.domain().is_empty()
        }
        Place::Entity(Entity::Function(_)) => found.code == &code::UNUSED,
        Place::Entity(_) | Place::Source(_) | Place::Nowhere => false,
    }
}

fn header_of_set(cx: &VerifyContext<'_>, found: &mut Findings, set: &OperatorSet) {
    let mut fail = |place, message: String| found.push(Diagnostic::new(&code::OPSET_HEADER, place, message));
    if cx.model.text(set.magic) != OPSET_MAGIC {
        fail(Entity::Header, format!("operator set does not begin with the magic `{OPSET_MAGIC}`"));
    }
    match cx.model.header.ir_version {
        None => fail(Entity::Header, "operator set has no `ir_version`".to_owned()),
        Some(version) if version < 1 => {
            fail(Entity::IrVersion, format!("invalid `ir_version` {version}: the first version is 1"));
        }
        Some(version) if version > NEWEST_IR => {
            let message = format!("unknown `ir_version` {version}: the newest known version is {NEWEST_IR}");
            fail(Entity::IrVersion, message);
        }
        Some(_) => {}
    }
    match set.opset_version {
        None => fail(Entity::Header, "operator set has no `opset_version`".to_owned()),
        Some(version) if version < 1 => {
            fail(Entity::OpsetVersion, format!("invalid `opset_version` {version}: the first version is 1"));
        }
        Some(_) => {}
    }
}

/// An operator as messages name it.
fn subject<'m>(cx: &VerifyContext<'m>, operator: &Operator) -> &'m str {
    operator.name.map_or("", |name| cx.text(name))
}

fn operators(cx: &VerifyContext<'_>, found: &mut Findings, set: &OperatorSet, signatures: &Signatures) {
    let mut firsts: HashMap<(Name, i64), u32> = HashMap::new();
    let mut names: HashMap<Name, u32> = HashMap::new();
    for (i, operator) in set.operators.iter().enumerate() {
        let place = Entity::Operator(index(i));
        fields(cx, found, operator, place);
        if let (Some(name), Some(since)) = (operator.name, operator.since_version) {
            let subject = subject(cx, operator);
            if let Some(newest) = set.opset_version.filter(|&newest| since > newest) {
                let message =
                    format!("`{subject}` is of version {since}, but the operator set has version {newest}");
                found.push(
                    Diagnostic::new(&code::OPERATOR_TOO_NEW, place, message)
                        .related(Entity::OpsetVersion, "the version of the operator set"),
                );
            }
            let first = *firsts.entry((name, since)).or_insert(index(i));
            let other = *names.entry(name).or_insert(index(i));
            if first != index(i) {
                let message = format!("version {since} of `{subject}` is defined twice");
                found.push(
                    Diagnostic::new(&code::OPERATOR_REPEATED, place, message)
                        .related(Entity::Operator(first), "the first one"),
                );
            } else if other != index(i) {
                let message = format!("operator set has several versions of `{subject}`");
                found.push(
                    Diagnostic::new(&code::OPERATOR_VERSIONS, place, message)
                        .related(Entity::Operator(other), "the first one"),
                );
            }
        }
        match signatures.list.get(i) {
            Some(Some(signature)) => signature::check(&signatures.model, found, index(i), signature),
            Some(None) => {
                let message = format!("`{}` has no signature", subject(cx, operator));
                found.push(Diagnostic::new(&code::OPERATOR_UNSIGNED, place, message));
            }
            None => {}
        }
    }
}

fn fields(cx: &VerifyContext<'_>, found: &mut Findings, operator: &Operator, place: Entity) {
    let subject = subject(cx, operator);
    let mut fail = |message: String| found.push(Diagnostic::new(&code::OPERATOR_FIELDS, place, message));
    if operator.name.is_none_or(Name::is_empty) {
        fail("operator without a name".to_owned());
    }
    match operator.since_version {
        None => fail(format!("`{subject}` has no `since_version`")),
        Some(since) if since < 1 => {
            fail(format!("invalid `since_version` {since} of `{subject}`: the first version is 1"));
        }
        Some(_) => {}
    }
    if let Some(status) = operator.status.filter(|status| status.name().is_none()) {
        fail(format!("`{subject}` has the unknown status {}", status.0));
    }
    for (string, what) in [(operator.name, "name of an operator"), (operator.doc, "documentation")] {
        if string.is_some_and(|name| !cx.model.names.is_utf8(name)) {
            let message = format!("{what} of `{subject}` is not UTF-8");
            found.push(Diagnostic::new(&code::STRING_NOT_UTF8, place, message));
        }
    }
}

/// Functions and the operators that they define.
fn defined(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    signatures: &Signatures,
    definitions: &[Definition],
) {
    let mut of: HashMap<_, usize> = HashMap::new();
    for (i, definition) in definitions.iter().enumerate() {
        if let Some(function) = definition.function {
            of.entry(function).or_insert(i);
        }
    }
    for (f, function) in cx.model.functions.iter() {
        let place = Entity::Function(f);
        let name = cx.model.text(function.name);
        let Some(&i) = of.get(&f) else {
            let message = format!("function `{name}` does not define an operator of the set");
            found.push(Diagnostic::new(&code::FUNCTION_OF_NO_OPERATOR, place, message));
            continue;
        };
        let Some(Some(signature)) = signatures.list.get(i) else { continue };
        if let Some(difference) = signature::difference(cx.model, function, &signatures.model, signature) {
            let message = format!("function `{name}` {difference}");
            found.push(
                Diagnostic::new(&code::OPERATOR_FUNCTION, place, message)
                    .related(Entity::Operator(index(i)), "the operator"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_set_lacks_its_header() {
        let options = VerifyOptions::default();
        let found = verify_operator_set(&OperatorSet::new(), &Signatures::default(), &options);
        let messages: Vec<_> = found.iter().map(|d| d.message.as_str()).collect();
        let expected = [
            "operator set does not begin with the magic `ONNXOPSET`",
            "operator set has no `ir_version`",
            "operator set has no `opset_version`",
        ];
        assert_eq!(messages, expected);
    }
}
