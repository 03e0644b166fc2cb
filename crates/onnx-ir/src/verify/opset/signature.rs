//! Signatures of operators.

use super::super::context::{Findings, index};
use crate::diag::{Diagnostic, Entity, code, counted, counted_are, did_you_mean};
use crate::model::{Function, Model};
use crate::names::Name;
use crate::opset::{Formal, FormalKind, FormalType, Signature, Trait};
use crate::types::ElemType;
use std::collections::HashMap;

/// Checks the signature of operator `i`. Its names are those of `model`.
pub(super) fn check(model: &Model, found: &mut Findings, i: u32, signature: &Signature) {
    let mut judge = Judge { model, found, operator: i, variables: HashMap::new() };
    judge.variables(signature);
    judge.formals(&signature.inputs, "input", |n| Entity::OperatorInput(i, n));
    judge.formals(&signature.outputs, "output", |n| Entity::OperatorOutput(i, n));
    judge.attributes(signature);
    judge.counts(&signature.inputs, &signature.input_counts, "input");
    judge.counts(&signature.outputs, &signature.output_counts, "output");
    if signature.is(Trait::Function) && signature.is(Trait::ContextDependentFunction) {
        let message = "a function that depends on the node is not one for all nodes";
        judge.fail(Entity::Operator(i), message.to_owned());
    }
}

struct Judge<'s> {
    model: &'s Model,
    found: &'s mut Findings,
    operator: u32,
    /// The type variables that are declared, and where.
    variables: HashMap<Name, u32>,
}

impl Judge<'_> {
    fn push(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    fn fail(&mut self, place: Entity, message: String) {
        self.push(Diagnostic::new(&code::OPERATOR_SIGNATURE, place, message));
    }

    fn variables(&mut self, signature: &Signature) {
        for (n, variable) in signature.variables.iter().enumerate() {
            let place = Entity::OperatorVariable(self.operator, index(n));
            let name = &self.model.names[variable.name];
            if let Some(&first) = self.variables.get(&variable.name) {
                let message = format!("type variable `{name}` is declared twice");
                let first = Entity::OperatorVariable(self.operator, first);
                let d = Diagnostic::new(&code::OPERATOR_SIGNATURE, place, message);
                self.push(d.related(first, "the first declaration"));
                continue;
            }
            self.variables.insert(variable.name, index(n));
            if ElemType::from_name(name).is_some() {
                self.fail(place, format!("type variable `{name}` has the name of a type"));
            } else if variable.types.is_empty() {
                self.fail(place, format!("type variable `{name}` allows no type"));
            }
        }
    }

    fn formals(&mut self, formals: &[Formal], what: &str, place: impl Fn(u32) -> Entity) {
        let mut seen: HashMap<Name, u32> = HashMap::new();
        for (n, formal) in formals.iter().enumerate() {
            let at = place(index(n));
            if let Some(name) = formal.name {
                let first = *seen.entry(name).or_insert(index(n));
                if first != index(n) {
                    let message = format!("{what} `{}` is listed twice", &self.model.names[name]);
                    let d = Diagnostic::new(&code::OPERATOR_SIGNATURE, at, message);
                    self.push(d.related(place(first), "the first one"));
                }
            }
            if matches!(formal.kind, FormalKind::Variadic { .. }) && n + 1 < formals.len() {
                self.fail(at, format!("variadic {what} is not the last one"));
            }
            if let FormalType::Variable(name) = formal.ty
                && !self.variables.contains_key(&name)
            {
                self.unknown(at, name);
            }
        }
    }

    fn unknown(&mut self, place: Entity, name: Name) {
        let text = &self.model.names[name];
        let elems = ElemType::ALL.iter().filter_map(|elem| elem.name());
        let mut declared: Vec<_> =
            self.variables.iter().map(|(&name, &n)| (n, &self.model.names[name])).collect();
        declared.sort_unstable();
        let near = did_you_mean(text, declared.into_iter().map(|(_, name)| name).chain(elems));
        let help = near
            .map_or_else(|| format!("add `where {text}: {{…}}`"), |near| format!("did you mean `{near}`?"));
        let message = format!("`{text}` is neither a type nor a type variable of the operator");
        self.push(Diagnostic::new(&code::OPERATOR_SIGNATURE, place, message).help(help));
    }

    fn attributes(&mut self, signature: &Signature) {
        let mut seen: HashMap<Name, u32> = HashMap::new();
        for (n, formal) in signature.attributes.iter().enumerate() {
            let Some(name) = formal.attr.name else { continue };
            let first = *seen.entry(name).or_insert(index(n));
            if first != index(n) {
                let place = |n| Entity::OperatorAttribute(self.operator, n);
                let message = format!("attribute `{}` is listed twice", &self.model.names[name]);
                let d = Diagnostic::new(&code::OPERATOR_SIGNATURE, place(index(n)), message);
                let d = d.related(place(first), "the first one");
                self.push(d);
            }
        }
    }

    /// The numbers that the header allows are among those that the formals allow.
    fn counts(&mut self, formals: &[Formal], counts: &[i64], what: &str) {
        let min = formals.iter().filter(|f| matches!(f.kind, FormalKind::Single)).count();
        let is_open = formals.iter().any(|f| matches!(f.kind, FormalKind::Variadic { .. }));
        let fits = |&number: &i64| {
            usize::try_from(number).is_ok_and(|n| n >= min && (is_open || n <= formals.len()))
        };
        if let Some(number) = counts.iter().find(|number| !fits(number)) {
            let place = Entity::Operator(self.operator);
            let (allowed, formals) = (counted_are(number, what), counted(formals.len(), what));
            self.fail(place, format!("{allowed} allowed, but the operator has {formals}"));
        }
    }
}

/// The difference of a function from the operator that it defines. Their names belong to different models.
pub(super) fn difference(
    model: &Model,
    function: &Function,
    of_signature: &Model,
    signature: &Signature,
) -> Option<String> {
    let body = &model.bodies[function.body];
    let root = body.root().map(|root| &body.graphs[root])?;
    for (what, ports, formals) in
        [("input", &root.inputs, &signature.inputs), ("output", &root.outputs, &signature.outputs)]
    {
        if ports.len() != formals.len() {
            let (has, takes) = (counted(ports.len(), what), formals.len());
            return Some(format!("has {has}, but the operator has {takes}"));
        }
        for (port, formal) in ports.iter().zip(formals) {
            let (ours, theirs) = (model.text(port.name), of_signature.text(formal.name));
            if formal.name.is_some() && ours != theirs {
                return Some(format!("has {what} `{ours}` where the operator has `{theirs}`"));
            }
        }
    }
    let plain = function.attributes.iter().copied();
    let defaults = function.attribute_defaults.iter().filter_map(|attr| attr.name);
    let mut ours: Vec<_> = plain.chain(defaults).map(|name| &model.names[name]).collect();
    let mut theirs: Vec<_> =
        signature.attributes.iter().map(|formal| of_signature.text(formal.attr.name)).collect();
    ours.sort_unstable();
    theirs.sort_unstable();
    if let Some(extra) = ours.iter().find(|name| theirs.binary_search(name).is_err()) {
        return Some(format!("has attribute `{extra}`, which the operator does not have"));
    }
    let missing = theirs.iter().find(|name| ours.binary_search(name).is_err())?;
    Some(format!("does not have attribute `{missing}` of the operator"))
}
