//! Attributes: A01–A07, S09 (one of each name), and for defaults of functions F14.

use super::context::{Findings, Role, Seen, VerifyContext, index};
use crate::attr::{Attr, AttrType, AttrValue};
use crate::diag::{Code, Diagnostic, Entity, ModelChange, code, counted};
use crate::model::Function;
use crate::names::Name;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let mut seen = Seen::new();
    let mut parameters: Seen<Option<AttrType>> = Seen::new();
    for view in &cx.bodies {
        let function = match view.role {
            Role::Function(f) => {
                let function = &cx.model.functions[f];
                for (i, attr) in function.attribute_defaults.iter().enumerate() {
                    default(cx, found, attr, Entity::FunctionAttributeDefault(f, index(i)));
                }
                declare(function, &mut parameters);
                Some(function)
            }
            Role::Main | Role::Initialization(_) | Role::Algorithm(_) => None,
        };
        for node in view.layout.nodes() {
            let attrs = &view.body.nodes[node].attrs;
            if attrs.len() > FEW {
                seen.clear();
            }
            for (i, attr) in attrs.iter().enumerate() {
                let place = Entity::Attr(view.id, node, index(i));
                let name = attr.name.unwrap_or(Name::empty());
                if !name.is_empty()
                    && let Some(first) = first_of(attrs, i, name, &mut seen)
                {
                    let message = format!("attribute `{}` is given twice", cx.text(name));
                    let is_same = attrs[first as usize] == *attr;
                    let first = Entity::Attr(view.id, node, first);
                    let mut diagnostic = Diagnostic::new(&code::ATTRIBUTE_REPEATED, place, message)
                        .related(first, "the first one");
                    if is_same {
                        diagnostic =
                            diagnostic.change("remove the second", vec![ModelChange::Remove(place)], true);
                    }
                    found.push(diagnostic);
                }
                attribute(cx, found, attr, place, function, &parameters);
            }
        }
    }
}

/// Up to this many attributes of a node are searched linearly.
const FEW: usize = 8;

/// The position of the first attribute of this name, if attribute `i` is not it.
fn first_of(attrs: &[Attr], i: usize, name: Name, seen: &mut Seen<u32>) -> Option<u32> {
    if attrs.len() > FEW {
        return seen.first(name, index(i));
    }
    attrs[..i].iter().position(|attr| attr.name == Some(name)).map(index)
}

/// Remembers the attribute parameters of a function, with the type of those that have a default.
fn declare(function: &Function, parameters: &mut Seen<Option<AttrType>>) {
    parameters.clear();
    for &name in &function.attributes {
        parameters.set(name, None);
    }
    for attr in &function.attribute_defaults {
        if let Some(name) = attr.name {
            parameters.set(name, attr.ty);
        }
    }
}

/// `attribute `alpha``, or a description of one without a name.
fn subject(cx: &VerifyContext<'_>, attr: &Attr) -> String {
    match attr.name.filter(|n| !n.is_empty()) {
        Some(name) => format!("attribute `{}`", cx.text(name)),
        None => "attribute without a name".to_owned(),
    }
}

fn type_name(ty: AttrType) -> String {
    ty.name().map_or_else(|| ty.0.to_string(), str::to_owned)
}

/// The first mistake of an attribute in itself, whether it refers to a parameter or not.
fn form(cx: &VerifyContext<'_>, attr: &Attr, codes: &Codes) -> Option<(&'static Code, String)> {
    let subject = || subject(cx, attr);
    if attr.name.is_none_or(Name::is_empty) {
        return Some((codes.name_type, subject()));
    }
    let ty = match attr.ty {
        // Before IR version 2 the value determined the type.
        None if cx.ir_version < 2 => return None,
        None => return Some((codes.name_type, format!("{} has no type", subject()))),
        Some(ty) if ty.name().is_none() => {
            return Some((codes.name_type, format!("{} has the unknown type {}", subject(), ty.0)));
        }
        Some(ty) => ty,
    };
    if attr.reference.is_some_and(|r| !r.is_empty()) {
        return None;
    }
    match &attr.values[..] {
        [value] if value.ty() == ty => None,
        [value] => {
            let (states, has) = (type_name(ty), type_name(value.ty()));
            Some((
                codes.value_field,
                format!("{} is of type `{states}`, but its value is of type `{has}`", subject()),
            ))
        }
        [] if ty.is_list() => None,
        [] => {
            let zero = matches!(ty, AttrType::FLOAT | AttrType::INT | AttrType::STRING);
            let code = if zero { codes.zero_omitted } else { codes.no_value };
            Some((code, format!("{} of type `{}` has no value", subject(), type_name(ty))))
        }
        values => {
            let all: Vec<_> = values.iter().map(|v| format!("`{}`", type_name(v.ty()))).collect();
            let message =
                format!("{} has {}, of types {}", subject(), counted(values.len(), "value"), all.join(", "));
            Some((codes.value_field, message))
        }
    }
}

/// Which codes the mistakes of an attribute have.
struct Codes {
    name_type: &'static Code,
    value_field: &'static Code,
    no_value: &'static Code,
    /// The finding for a missing value that readers take for zero.
    zero_omitted: &'static Code,
}

fn attribute(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    attr: &Attr,
    place: Entity,
    function: Option<&Function>,
    parameters: &Seen<Option<AttrType>>,
) {
    let codes = Codes {
        name_type: &code::ATTR_NAME_TYPE,
        value_field: &code::ATTR_VALUE_FIELD,
        no_value: &code::ATTR_NO_VALUE,
        zero_omitted: &code::ATTR_ZERO_OMITTED,
    };
    if let Some((code, message)) = form(cx, attr, &codes) {
        found.push(Diagnostic::new(code, place, message));
        return;
    }
    match attr.reference.filter(|r| !r.is_empty()) {
        Some(parameter) => reference(cx, found, attr, place, parameter, function, parameters),
        None => utf8(cx, found, attr, place),
    }
}

/// The reference itself, of an attribute of a node.
fn referred(place: Entity) -> Entity {
    match place {
        Entity::Attr(body, node, i) => Entity::AttrReference(body, node, i),
        other => other,
    }
}

fn reference(
    cx: &VerifyContext<'_>,
    found: &mut Findings,
    attr: &Attr,
    place: Entity,
    parameter: Name,
    function: Option<&Function>,
    parameters: &Seen<Option<AttrType>>,
) {
    let (subject, text) = (subject(cx, attr), cx.text(parameter));
    let Some(function) = function else {
        let message = format!("{subject} refers to parameter `{text}` outside of a function");
        found.push(
            Diagnostic::new(&code::ATTR_REF_OUTSIDE_FUNCTION, referred(place), message)
                .help("write the value"),
        );
        return;
    };
    if !attr.values.is_empty() {
        let message = format!("{subject} has a value and also refers to parameter `{text}`");
        found.push(
            Diagnostic::new(&code::ATTR_REF_WITH_VALUE, referred(place), message).help("remove the value"),
        );
        return;
    }
    match (parameters.get(parameter), attr.ty) {
        (None, _) => {
            let defaults = function.attribute_defaults.iter().filter_map(|a| a.name);
            let names = function.attributes.iter().copied().chain(defaults).map(|n| cx.text(n));
            let len = function.attributes.len() + function.attribute_defaults.len();
            let help = found.suggest(text, len, names);
            let of = cx.model.text(function.name);
            let message = format!("function `{of}` has no attribute parameter `{text}`");
            let help =
                help.unwrap_or_else(|| format!("declare `{text}` in `<…>` after the name of the function"));
            found.push(Diagnostic::new(&code::ATTR_REF_UNDECLARED, referred(place), message).help(help));
        }
        (Some(Some(declared)), Some(ty)) if declared != ty => {
            let message = format!(
                "{subject} is of type `{}`, but parameter `{text}` is of type `{}`",
                type_name(ty),
                type_name(declared)
            );
            found.push(Diagnostic::new(&code::ATTR_REF_UNDECLARED, referred(place), message));
        }
        (Some(_), _) => {}
    }
}

fn utf8(cx: &VerifyContext<'_>, found: &mut Findings, attr: &Attr, place: Entity) {
    let wrong = |bytes: &[u8]| std::str::from_utf8(bytes).err().map(|error| error.valid_up_to());
    let at = attr.values.iter().find_map(|value| match value {
        AttrValue::String(s) => wrong(s),
        AttrValue::Strings(list) if !list.is_ascii() => list.elements().find_map(wrong),
        AttrValue::Strings(_)
        | AttrValue::Float(_)
        | AttrValue::Int(_)
        | AttrValue::Tensor(_)
        | AttrValue::Graph(_)
        | AttrValue::Floats(_)
        | AttrValue::Ints(_)
        | AttrValue::Tensors(_)
        | AttrValue::Graphs(_)
        | AttrValue::Type(_)
        | AttrValue::Types(_)
        | AttrValue::SparseTensor(_)
        | AttrValue::SparseTensors(_) => None,
    });
    if let Some(at) = at {
        let message = format!("{} is not UTF-8 at byte {at}", subject(cx, attr));
        found.push(Diagnostic::new(&code::ATTR_STRING_NOT_UTF8, place, message));
    }
}

fn default(cx: &VerifyContext<'_>, found: &mut Findings, attr: &Attr, place: Entity) {
    let code = &code::FUNCTION_DEFAULT_ATTRIBUTE;
    let codes = Codes { name_type: code, value_field: code, no_value: code, zero_omitted: code };
    let message = match form(cx, attr, &codes) {
        Some((_, message)) => message,
        None if attr.reference.is_some_and(|r| !r.is_empty()) => {
            format!("the default of {} is a reference", subject(cx, attr))
        }
        None => return,
    };
    found.push(Diagnostic::new(code, place, message));
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::{BodyId, FunctionId, Model};
    use bytes::Bytes;
    use smallvec::smallvec;

    /// A model with a `LeakyRelu` with a given attribute.
    fn with(attr: impl FnOnce(&mut Model) -> Attr) -> Vec<String> {
        let mut model = relu();
        let attr = attr(&mut model);
        only(&mut main(&mut model).nodes).attrs.push(attr);
        findings(&model)
    }

    fn named(model: &mut Model) -> Attr {
        Attr { name: Some(model.names.intern("alpha")), ty: Some(AttrType::FLOAT), ..Attr::default() }
    }

    #[test]
    fn an_attribute_has_a_name_a_type_and_one_value_of_it() {
        let float = || AttrValue::Float(0.5);
        assert_eq!(with(|m| Attr { values: smallvec![float()], ..named(m) }), [""; 0]);
        assert_eq!(with(|m| Attr { name: None, ..named(m) }), ["E0401 attribute without a name"]);
        assert_eq!(
            with(|m| Attr { ty: None, values: smallvec![float()], ..named(m) }),
            ["E0401 attribute `alpha` has no type"]
        );
        assert_eq!(
            with(|m| Attr { ty: Some(AttrType(0)), values: smallvec![float()], ..named(m) }),
            ["E0401 attribute `alpha` has the unknown type 0"]
        );
        assert_eq!(
            with(|m| Attr { ty: Some(AttrType::INT), values: smallvec![float()], ..named(m) }),
            ["E0402 attribute `alpha` is of type `int`, but its value is of type `float`"]
        );
        assert_eq!(
            with(|m| Attr { values: smallvec![float(), AttrValue::Int(1)], ..named(m) }),
            ["E0402 attribute `alpha` has 2 values, of types `float`, `int`"]
        );
    }

    #[test]
    fn only_lists_may_have_no_value() {
        assert_eq!(with(|m| Attr { ty: Some(AttrType::INTS), ..named(m) }), [""; 0]);
        assert_eq!(
            with(|m| Attr { ty: Some(AttrType::TENSOR), ..named(m) }),
            ["E0403 attribute `alpha` of type `tensor` has no value"]
        );
        let mut model = relu();
        let attr = named(&mut model);
        only(&mut main(&mut model).nodes).attrs.push(attr);
        let list = super::super::verify(&model, &Default::default());
        assert_eq!(list.iter().map(|d| d.code.id).collect::<Vec<_>>(), ["W0409"]);
    }

    #[test]
    fn a_string_that_is_not_utf8_is_a_warning() {
        let value = AttrValue::Strings(
            [Bytes::from_static(b"ok"), Bytes::from_static(b"a\xff")].into_iter().collect(),
        );
        let attr = |m: &mut Model| Attr { ty: Some(AttrType::STRINGS), values: smallvec![value], ..named(m) };
        assert_eq!(with(attr), ["W0407 attribute `alpha` is not UTF-8 at byte 1"]);
    }

    #[test]
    fn each_attribute_is_given_once() {
        let mut model = relu();
        let attr = Attr { values: smallvec![AttrValue::Float(0.5)], ..named(&mut model) };
        only(&mut main(&mut model).nodes).attrs = vec![attr.clone(), attr];
        assert_eq!(findings(&model), ["E0408 attribute `alpha` is given twice"]);
    }

    fn with_function(fill: impl FnOnce(&mut Draft<'_>)) -> (Model, FunctionId) {
        let mut model = draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("l.f", &["x"], &["y"])));
        let f = function(&mut model, "f", |d| {
            d.graph("f", &["a"], &["b"], |d| d.holder("LeakyRelu", &["a"], &["b"], fill));
        });
        (model, f)
    }

    #[test]
    fn a_reference_names_a_parameter_of_the_function() {
        let (mut model, f) = with_function(|d| d.reference("alpha", AttrType::FLOAT, "slope"));
        assert_eq!(findings(&model), ["E0406 function `f` has no attribute parameter `slope`"]);
        let slope = model.names.intern("slope");
        model.functions[f].attributes.push(slope);
        assert_eq!(findings(&model), [""; 0]);
        model.functions[f].attributes.clear();
        model.functions[f].attribute_defaults.push(Attr::new(slope, AttrValue::Int(1)));
        assert_eq!(
            findings(&model),
            ["E0406 attribute `alpha` is of type `float`, but parameter `slope` is of type `int`"]
        );
        model.functions[f].attribute_defaults[0] = Attr::new(slope, AttrValue::Float(1.0));
        assert_eq!(findings(&model), [""; 0]);
        let body: BodyId = model.functions[f].body;
        only(&mut model.bodies[body].nodes).attrs[0].values.push(AttrValue::Float(2.0));
        assert_eq!(
            findings(&model),
            ["E0405 attribute `alpha` has a value and also refers to parameter `slope`"]
        );
        let attr = model.bodies[body].nodes.values().next().expect("a node").attrs[0].clone();
        let mut model = relu();
        let (alpha, slope) = (model.names.intern("alpha"), model.names.intern("slope"));
        let attr = Attr { name: Some(alpha), reference: Some(slope), values: smallvec![], ..attr };
        only(&mut main(&mut model).nodes).attrs.push(attr);
        assert_eq!(
            findings(&model),
            ["E0404 attribute `alpha` refers to parameter `slope` outside of a function"]
        );
    }

    #[test]
    fn defaults_are_sound_attributes() {
        let (mut model, f) = with_function(|_| {});
        let alpha = named(&mut model);
        model.functions[f].attribute_defaults.push(alpha.clone());
        assert_eq!(findings(&model), ["E0814 attribute `alpha` of type `float` has no value"]);
        model.functions[f].attribute_defaults[0] = Attr { reference: alpha.name, ..alpha };
        assert_eq!(findings(&model), ["E0814 the default of attribute `alpha` is a reference"]);
        model.functions[f].attribute_defaults[0].name = None;
        assert_eq!(findings(&model), ["E0814 attribute without a name"]);
    }
}
