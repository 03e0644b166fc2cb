//! Compares two versions of an operator set.
//!
//! The rules are those of Versioning.md, Operator versioning: operators are immutable once they have a version. A change that keeps
//! the meaning of every node that was possible before (a new optional attribute or input, more types) needs no new version; any
//! other needs a new operator, whose version is above all that exist in the domain. If an operator is added or removed, the
//! version of the set increases.

use super::load::load;
use crate::schema::{ParamKind, Schema, TypeSet, differences};
use onnx_ir::diag::Entity;
use onnx_ir::semver::Side;
use onnx_ir::{FunctionId, Model, OperatorSet};
use onnx_text::RaiseOptions;

/// One difference of two operator sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetDifference {
    /// The difference.
    pub message: String,
    /// The rule that it breaks: what to do instead.
    pub broken: Option<String>,
    /// Its place.
    pub place: (Side, Entity),
}

/// The differences of two versions of a set, in the order of the operators.
///
/// ```
/// let set = |signature: &str| {
///     let header = "operator_set <ir_version: 10, domain: \"d\", opset_version: 2>";
///     onnx_text::read_operator_set(&format!("{header} <since_version: 2> operator A {signature}")).value
/// };
/// let found = onnx_ops::opset::compare(&set("(float x) => (float y)"), &set("(float x, float z) => (float y)"));
/// assert_eq!(found[0].message, "operator `A` of version 2: new input `z`");
/// assert_eq!(found[0].broken.as_deref(), Some("give it a `since_version` above 2"));
/// ```
#[must_use]
pub fn compare(old: &OperatorSet, new: &OperatorSet) -> Vec<SetDifference> {
    let mut found = Vec::new();
    let mut add = |message: String, broken: Option<String>, place| {
        found.push(SetDifference { message, broken, place });
    };
    if old.domain() != new.domain() {
        let message = format!("domain `{}`, and it was `{}`", new.domain(), old.domain());
        add(message, Some("a set of another domain is another set".to_owned()), (Side::New, Entity::Header));
    }
    let [before, after] = [old, new].map(|set| set.opset_version.unwrap_or(0));
    if after != before {
        let broken =
            (after < before).then(|| format!("the version of a set only grows: raise it to {before}"));
        add(format!("version {after}, and it was {before}"), broken, (Side::New, Entity::OpsetVersion));
    }
    let [loaded_old, loaded_new] = [old, new].map(Operators::of);
    let raised = |broken: &str| {
        (after <= before).then(|| format!("{broken}: raise `opset_version` to {}", before + 1))
    };
    for operator in &loaded_old.list {
        if loaded_new.find(operator).is_none() {
            let broken = raised("a set that loses an operator has a later version");
            add(format!("{} is gone", operator.title()), broken, (Side::Old, operator.place()));
        }
    }
    for operator in &loaded_new.list {
        let place = (Side::New, operator.place());
        let Some(was) = loaded_old.find(operator) else {
            let since = i64::from(operator.schema.since);
            let exists = loaded_old.list.iter().any(|was| was.schema.name == operator.schema.name);
            let broken = raised("a set that gains an operator has a later version");
            let broken = broken.or_else(|| {
                let is_late = exists && since <= before;
                is_late
                    .then(|| format!("a changed operator has a version above all others: expected {after}"))
            });
            add(format!("{} is new", operator.title()), broken, place);
            continue;
        };
        let changes = differences(&was.schema, &operator.schema);
        let is_kept = keeps_meaning(&was.schema, &operator.schema);
        let broken = (!is_kept).then(|| format!("give it a `since_version` above {}", before.max(1)));
        for change in changes {
            add(format!("{}: {change}", operator.title()), broken.clone(), place);
        }
        if body(&loaded_old.model, was.body) != body(&loaded_new.model, operator.body) {
            add(format!("{}: its function differs", operator.title()), None, place);
        }
        if was.doc != operator.doc {
            add(format!("{}: its documentation differs", operator.title()), None, place);
        }
    }
    found
}

/// The operators of a set.
struct Operators {
    list: Vec<Loaded>,
    model: std::sync::Arc<Model>,
}

/// An operator with its position.
struct Loaded {
    index: u32,
    schema: Schema,
    body: Option<FunctionId>,
    doc: Option<String>,
}

impl Operators {
    fn of(set: &OperatorSet) -> Operators {
        let loaded = load(set.clone());
        let parts = loaded.schemas.into_iter().zip(loaded.bodies).zip(loaded.docs);
        // Operators without a signature are not among the schemas.
        let index = |schema: &Schema| {
            let is_it = |operator: &onnx_ir::Operator| {
                operator.name.is_some_and(|name| set.model.names[name] == *schema.name)
                    && operator.since_version == Some(schema.since.into())
            };
            set.operators.iter().position(is_it).and_then(|at| u32::try_from(at).ok()).unwrap_or_default()
        };
        let list = parts.map(|((schema, body), doc)| Loaded { index: index(&schema), schema, body, doc });
        Operators { list: list.collect(), model: loaded.model }
    }

    fn find(&self, operator: &Loaded) -> Option<&Loaded> {
        let key = |loaded: &Loaded| (loaded.schema.name.clone(), loaded.schema.since);
        self.list.iter().find(|other| key(other) == key(operator))
    }
}

impl Loaded {
    fn title(&self) -> String {
        format!("operator `{}` of version {}", self.schema.name, self.schema.since)
    }

    fn place(&self) -> Entity {
        Entity::Operator(self.index)
    }
}

/// A function as text, which has all of it.
fn body(model: &Model, function: Option<FunctionId>) -> Option<String> {
    function.map(|function| onnx_text::print_function(model, function, &RaiseOptions::default()))
}

/// Whether every node that the old signature allows means the same by the new one.
fn keeps_meaning(old: &Schema, new: &Schema) -> bool {
    let covers = |wide: &TypeSet, narrow: &TypeSet| narrow.without(wide) == TypeSet::default();
    let inputs = old.inputs.len() <= new.inputs.len()
        && old.inputs.iter().zip(new.inputs.iter()).all(|(was, is)| {
            let is_kind_kept =
                was.kind == is.kind || was.kind == ParamKind::Single && is.kind == ParamKind::Optional;
            is_kind_kept && covers(&is.types, &was.types)
        })
        && new.inputs.iter().skip(old.inputs.len()).all(|added| added.kind == ParamKind::Optional);
    let outputs = old.outputs.len() <= new.outputs.len()
        && old
            .outputs
            .iter()
            .zip(new.outputs.iter())
            .all(|(was, is)| was.kind == is.kind && covers(&is.types, &was.types))
        && new.outputs.iter().skip(old.outputs.len()).all(|added| added.kind == ParamKind::Optional);
    let kept = old.attrs.iter().all(|was| {
        new.attr(&was.name)
            .is_some_and(|is| is.ty == was.ty && is.default == was.default && (!is.required || was.required))
    });
    let added = new.attrs.iter().all(|is| old.attr(&is.name).is_some() || !is.required);
    inputs && outputs && kept && added && old.deprecated == new.deprecated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(version: i64, operators: &str) -> OperatorSet {
        let header = format!("operator_set <ir_version: 10, domain: \"d\", opset_version: {version}>");
        onnx_text::read_operator_set(&format!("{header} {operators}")).value
    }

    /// Whether each difference breaks a rule.
    fn broken(old: (i64, &str), new: (i64, &str)) -> Vec<(String, bool)> {
        let found = compare(&set(old.0, old.1), &set(new.0, new.1));
        found.into_iter().map(|difference| (difference.message, difference.broken.is_some())).collect()
    }

    #[test]
    fn changes_that_keep_the_meaning_of_nodes_need_no_version() {
        let old = (2, "<since_version: 2> operator A <axis: int = 1> (T x) => (T y) where T: {float}");
        for (signature, expected) in [
            ("<axis: int = 1> (T x) => (T y) where T: {float}", None),
            ("<axis: int = 1, eps: float?> (T x) => (T y) where T: {float}", Some(false)),
            ("<axis: int = 1, eps: float = 0.5> (T x) => (T y) where T: {float}", Some(false)),
            ("<axis: int = 1> (T x, T? z) => (T y) where T: {float}", Some(false)),
            ("<axis: int = 1> (T x) => (T y) where T: {float, double}", Some(false)),
            ("<axis: int = 1, eps: float> (T x) => (T y) where T: {float}", Some(true)),
            ("<axis: int = 2> (T x) => (T y) where T: {float}", Some(true)),
            ("<axis: float = 1.0> (T x) => (T y) where T: {float}", Some(true)),
            ("(T x) => (T y) where T: {float}", Some(true)),
            ("<axis: int = 1> (T x, T z) => (T y) where T: {float}", Some(true)),
            ("<axis: int = 1> () => (T y) where T: {float}", Some(true)),
            ("<axis: int = 1> (T x) => (T y, T z) where T: {float}", Some(true)),
            ("<axis: int = 1> (T x) => (T y) where T: {double}", Some(true)),
        ] {
            let new = format!("<since_version: 2> operator A {signature}");
            let found = broken(old, (2, &new));
            let told = found.iter().map(|(_, is_broken)| *is_broken).max();
            assert_eq!(told, expected, "{signature}: {found:?}");
        }
    }

    #[test]
    fn added_and_removed_operators_raise_the_version() {
        let a = "<since_version: 2> operator A (float x) => (float y)";
        let both = format!("{a} <since_version: 2> operator B (float x) => (float y)");
        let again = format!("{a} <since_version: 3> operator A (float x, float z) => (float y)");
        let early = format!("{a} <since_version: 1> operator A (float x, float z) => (float y)");
        for (old, new, is_broken) in [
            ((2, a), (2, a), None),
            ((2, a), (3, a), Some(false)),
            ((2, a), (1, a), Some(true)),
            ((2, a), (2, &both), Some(true)),
            ((2, a), (3, &both), Some(false)),
            ((2, &both), (2, a), Some(true)),
            ((2, &both), (3, a), Some(false)),
            ((2, a), (3, &again), Some(false)),
            ((2, a), (3, &early), Some(true)),
        ] {
            let found = broken(old, new);
            assert_eq!(
                found.iter().map(|(_, is_broken)| *is_broken).max(),
                is_broken,
                "{old:?} {new:?}: {found:?}"
            );
        }
    }
}
