//! Differences between versions of an operator.
//!
//! Only signatures are compared: a version that only clarifies the specification has no differences.

use super::{AttrParam, BodyKind, Param, ParamKind, Schema, TypeSet};
use onnx_ir::AttrType;

/// The parameters and attributes of `new` that differ from `old`, one per line, in the order of the signature.
#[must_use]
pub fn differences(old: &Schema, new: &Schema) -> Vec<String> {
    let mut out = Vec::new();
    match (old.deprecated, new.deprecated) {
        (false, true) => {
            let instead = new.replacement().map_or(String::new(), |other| format!(": use {other}"));
            return vec![format!("deprecated{instead}")];
        }
        (true, false) => out.push("not deprecated any more".to_owned()),
        _ => {}
    }
    let mut types = Types::default();
    let became_input = |param: &Param| old.attr(&param.name).is_some() && new.attr(&param.name).is_none();
    params("input", &old.inputs, &new.inputs, became_input, &mut types, &mut out);
    params("output", &old.outputs, &new.outputs, |_| false, &mut types, &mut out);
    attributes(old, new, &mut out);
    types.tell(&mut out);
    match (old.body, new.body) {
        (BodyKind::None, BodyKind::Fixed | BodyKind::PerNode) => {
            out.push("defined by a function body".to_owned());
        }
        (BodyKind::Fixed | BodyKind::PerNode, BodyKind::None) => {
            out.push("not defined by a function body any more".to_owned());
        }
        _ => {}
    }
    out
}

fn params(
    what: &str,
    old: &[Param],
    new: &[Param],
    was_attribute: impl Fn(&Param) -> bool,
    types: &mut Types,
    out: &mut Vec<String>,
) {
    for (i, param) in new.iter().enumerate() {
        // Names are documentation: a parameter at the same position is the same one under a new name.
        let same = old.iter().find(|p| p.name == param.name);
        let renamed = old.get(i).filter(|p| !new.iter().any(|n| n.name == p.name));
        let Some(was) = same.or(renamed) else {
            let from = if was_attribute(param) { ", which was an attribute" } else { "" };
            out.push(format!("new {what} `{}`{}{from}", param.name, kind(param.kind)));
            continue;
        };
        if was.name != param.name {
            out.push(format!("{what} `{}` is called `{}`", was.name, param.name));
        }
        if was.kind != param.kind {
            out.push(format!("{what} `{}` is{}", param.name, kind_alone(param.kind)));
        }
        types.add(param, was);
    }
    let is_kept = |i: usize, was: &Param| {
        new.iter().any(|p| p.name == was.name)
            || new.get(i).is_some_and(|p| !old.iter().any(|o| o.name == p.name))
    };
    for (_, was) in old.iter().enumerate().filter(|(i, was)| !is_kept(*i, was)) {
        out.push(format!("without {what} `{}`", was.name));
    }
}

fn attributes(old: &Schema, new: &Schema, out: &mut Vec<String>) {
    for attr in new.attrs.iter() {
        let Some(was) = old.attr(&attr.name) else {
            let default = attr.default.as_ref().map_or(String::new(), |d| format!(" = {}", d.text()));
            let required = if attr.required { ", required" } else { "" };
            out.push(format!("new attribute `{}`: {}{default}{required}", attr.name, type_name(attr.ty)));
            continue;
        };
        if was.ty != attr.ty {
            let (from, to) = (type_name(was.ty), type_name(attr.ty));
            out.push(format!("attribute `{}` is {to}, was {from}", attr.name));
        }
        if was.required != attr.required {
            let not = if attr.required { "" } else { "not " };
            out.push(format!("attribute `{}` is {not}required", attr.name));
        }
        if was.default != attr.default {
            out.push(format!("default of `{}` is {}, was {}", attr.name, default(attr), default(was)));
        }
    }
    for was in old.attrs.iter().filter(|was| new.attr(&was.name).is_none()) {
        // Reported for the input.
        if !new.inputs.iter().any(|input| input.name == was.name)
            || old.inputs.iter().any(|i| i.name == was.name)
        {
            out.push(format!("without attribute `{}`", was.name));
        }
    }
}

fn default(attr: &AttrParam) -> String {
    attr.default.as_ref().map_or_else(|| "none".to_owned(), super::Default::text)
}

fn type_name(ty: AttrType) -> &'static str {
    ty.name().unwrap_or("of unknown type")
}

/// The suffix for a new parameter.
fn kind(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Single => "",
        ParamKind::Optional => ", optional",
        ParamKind::Variadic { .. } => ", any number",
    }
}

fn kind_alone(kind: ParamKind) -> String {
    match kind {
        ParamKind::Single => " required".to_owned(),
        ParamKind::Optional => " optional".to_owned(),
        ParamKind::Variadic { min, .. } => format!(" any number of values from {min} on"),
    }
}

/// Added and removed types: a difference in a type variable of several parameters is listed once.
#[derive(Default)]
struct Types(Vec<(String, TypeSet, TypeSet)>);

impl Types {
    fn add(&mut self, param: &Param, was: &Param) {
        let (came, went) = (param.types.without(&was.types), was.types.without(&param.types));
        let is_variable = !param.ty.contains('(');
        let name = if is_variable { param.ty.to_string() } else { param.name.to_string() };
        let change = (name, came, went);
        if (change.1 != TypeSet::default() || change.2 != TypeSet::default()) && !self.0.contains(&change) {
            self.0.push(change);
        }
    }

    fn tell(self, out: &mut Vec<String>) {
        for (name, came, went) in self.0 {
            if came != TypeSet::default() {
                out.push(format!("`{name}` may be {}", came.text()));
            }
            if went != TypeSet::default() {
                out.push(format!("`{name}` may not be {}", went.text()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Registry;

    fn between(name: &str, old: u32, new: u32) -> Vec<String> {
        let registry = Registry::builtin();
        let at = |since: u32| {
            let mut ids = registry.versions("", name).iter().map(|id| registry.get(*id));
            ids.find(|schema| schema.since == since).unwrap()
        };
        differences(at(old), at(new))
    }

    #[test]
    fn an_attribute_that_became_an_input_is_told_once() {
        let changes = between("Squeeze", 11, 13);
        assert_eq!(changes, ["new input `axes`, optional, which was an attribute", "`T` may be bfloat16"]);
    }

    #[test]
    fn deprecation_says_what_to_use() {
        assert_eq!(between("Upsample", 9, 10), ["deprecated: use `Resize`"]);
    }

    #[test]
    fn defaults_and_types_are_compared() {
        assert_eq!(
            between("Softmax", 11, 13),
            ["default of `axis` is -1, was 1", "`T` may be bfloat16", "defined by a function body"]
        );
        assert_eq!(between("Relu", 6, 13), ["`T` may be bfloat16"]);
    }

    #[test]
    fn versions_that_only_say_more_have_no_differences() {
        assert_eq!(between("Relu", 1, 6), ["without attribute `consumed_inputs`"]);
        assert_eq!(between("Conv", 1, 11), [""; 0]);
    }
}
