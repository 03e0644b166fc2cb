//! Functions by themselves: F01, F02, F05 (attribute parameters), and how many there are, F04. Their bodies are for
//! `graph`, their imports for `header`, their defaults for `attributes`.

use super::context::{Findings, Seen, VerifyContext, index};
use crate::diag::{Diagnostic, Entity, code, counted};
use crate::ids::FunctionId;
use crate::model::Function;
use crate::names::Name;
use std::collections::HashMap;

/// The most functions that a model has: the limit of the reference.
const MAX_FUNCTIONS: usize = 10_000;

/// Domain, name and overload, where the default domain and no overload are the empty name.
pub(super) type Key = (Name, Name, Name);

/// The functions by identity; of two that share one, the first.
pub(super) fn by_key(cx: &VerifyContext<'_>) -> HashMap<Key, FunctionId> {
    let mut map = HashMap::with_capacity(cx.model.functions.len());
    for (f, function) in cx.model.functions.iter() {
        map.entry(key(cx, function)).or_insert(f);
    }
    map
}

pub(super) fn key(cx: &VerifyContext<'_>, function: &Function) -> Key {
    let name = |n: Option<Name>| n.unwrap_or(Name::empty());
    (cx.domain(function.domain), name(function.name), name(function.overload))
}

/// `l.f` or `l.f:v2`
pub(super) fn text(cx: &VerifyContext<'_>, key: Key) -> String {
    let (domain, name, overload) = key;
    let mut text = String::new();
    if !domain.is_empty() {
        text.push_str(cx.text(domain));
        text.push('.');
    }
    text.push_str(cx.text(name));
    if !overload.is_empty() {
        text.push(':');
        text.push_str(cx.text(overload));
    }
    text
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let functions = &cx.model.functions;
    let firsts = by_key(cx);
    let mut seen = Seen::new();
    for (f, function) in functions.iter() {
        let place = Entity::Function(f);
        let key = key(cx, function);
        if key.1.is_empty() {
            found.push(Diagnostic::new(&code::FUNCTION_IDENTITY, place, "function without a name"));
        } else if function.domain.is_none_or(Name::is_empty) && cx.ir_version >= 8 {
            let message = format!("function `{}` has no domain", text(cx, key));
            found.push(
                Diagnostic::new(&code::FUNCTION_IDENTITY, place, message)
                    .help("add a `domain` to its header"),
            );
        } else if let Some(&first) = firsts.get(&key).filter(|&&first| first != f) {
            let message = format!("function `{}` is defined twice", text(cx, key));
            found.push(
                Diagnostic::new(&code::FUNCTION_REPEATED, place, message)
                    .related(Entity::Function(first), "the first definition"),
            );
        }
        parameters(cx, found, f, function, &mut seen);
    }
    if functions.len() > MAX_FUNCTIONS {
        let message = format!(
            "model has {}: at most {MAX_FUNCTIONS} are allowed",
            counted(functions.len(), "function")
        );
        let place = functions.ids().nth(MAX_FUNCTIONS).map(Entity::Function);
        found.push(Diagnostic::new(&code::FUNCTION_LIMITS, place.unwrap_or(Entity::Header), message));
    }
}

fn parameters(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    f: FunctionId,
    function: &Function,
    seen: &mut Seen<Option<Entity>>,
) {
    seen.clear();
    let plain = function.attributes.iter().enumerate();
    let plain = plain.map(|(i, &name)| (name, Entity::FunctionAttribute(f, index(i))));
    let defaults = function.attribute_defaults.iter().enumerate();
    let defaults = defaults.filter_map(|(i, attr)| {
        Some((attr.name?, Entity::FunctionAttributeDefault(f, index(i)))).filter(|(n, _)| !n.is_empty())
    });
    for (name, place) in plain.chain(defaults) {
        if let Some(Some(first)) = seen.first(name, Some(place)) {
            let message = format!("attribute parameter `{}` is listed twice", cx.text(name));
            found.push(
                Diagnostic::new(&code::FUNCTION_FORMALS_REPEATED, place, message)
                    .related(first, "the first one"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::attr::{Attr, AttrValue};
    use crate::model::Model;

    fn with_functions(names: &[&str]) -> Model {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("l.f", &["x"], &["y"])));
        for name in names {
            function(&mut model, name, |d| {
                d.graph("", &["a"], &["b"], |d| d.node("Relu", &["a"], &["b"]));
            });
        }
        model
    }

    #[test]
    fn a_function_is_known_by_domain_name_and_overload() {
        let mut model = with_functions(&["f", "f"]);
        assert_eq!(findings(&model), ["E0802 function `l.f` is defined twice"]);
        let v2 = model.names.intern("v2");
        model.functions.values_mut().next_back().expect("a function").overload = Some(v2);
        assert_eq!(findings(&model), [""; 0]);
        let first = model.functions.values_mut().next().expect("a function");
        first.domain = None;
        assert!(findings(&model).contains(&"E0801 function `f` has no domain".to_owned()));
        let first = model.functions.values_mut().next().expect("a function");
        first.name = None;
        assert!(findings(&model).contains(&"E0801 function without a name".to_owned()));
    }

    #[test]
    fn attribute_parameters_are_distinct() {
        let mut model = with_functions(&["f"]);
        let a = model.names.intern("alpha");
        let f = only(&mut model.functions);
        f.attributes = vec![a, a];
        f.attribute_defaults = vec![Attr::new(a, AttrValue::Float(1.0))];
        assert_eq!(findings(&model), ["E0805 attribute parameter `alpha` is listed twice"; 2]);
    }

    #[test]
    fn there_are_not_too_many_functions() {
        let names: Vec<String> = (0..=MAX_FUNCTIONS).map(|i| format!("f{i}")).collect();
        let names: Vec<&str> =
            std::iter::once("f").chain(names[..MAX_FUNCTIONS - 1].iter().map(String::as_str)).collect();
        assert_eq!(findings(&with_functions(&names)), [""; 0]);
        let names: Vec<&str> = names.into_iter().chain(["more"]).collect();
        assert_eq!(
            findings(&with_functions(&names)),
            ["E0804 model has 10001 functions: at most 10000 are allowed"]
        );
    }

    #[test]
    fn value_info_names_what_occurs_in_the_function() {
        let mut model = with_functions(&[]);
        let port = |d: &mut Draft<'_>, name: &str| {
            let name = d.b.name(name);
            d.b.value_info(crate::Port { name: Some(name), ..crate::Port::default() });
        };
        function(&mut model, "f", |d| {
            d.graph("", &["a"], &["b"], |d| {
                d.holder("If", &["a"], &["b"], |d| {
                    d.graph("t", &[], &["p"], |d| d.node("Abs", &["a"], &["p"]));
                });
                for name in ["a", "b", "p", "ghost", "a"] {
                    port(d, name);
                }
            });
        });
        let expected = [
            "E0813 `value_info` describes `ghost`, which does not occur in the function",
            "E0813 `value_info` has two entries for `a`",
        ];
        assert_eq!(findings(&model), expected);
    }
}
