//! Arguments that operators of a function need, and a call does not pass: such a call stays, because the nodes in its place
//! would be invalid.
//!
//! ```text
//! y = l.f <to = 1.0> (x)
//! f <to> (a) => (b) { b = Cast <to: int = @to> (a) }
//! ```

use super::Set;
use super::copy::{Callee, Work};
use crate::attr::{Attr, AttrType};
use crate::body::{Graph, Node};
use crate::diag::{Code, Diagnostic, Entity, code};
use crate::ids::ValueId;
use crate::names::Names;
use crate::pass::OpRef;
use crate::pass::calls::{Imports, nodes};

impl Work<'_> {
    /// The first input or attribute that an operator of the function needs, and the call omits or has of another type.
    pub(super) fn lacks(
        &self,
        names: &Names,
        callee: &Callee<'_>,
        formal: &Graph,
        call: &Node,
        site: Entity,
    ) -> Option<Diagnostic> {
        let given = |i: usize| call.inputs.get(i).copied().flatten().and_then(|v| self.known(v));
        let omitted: Set<ValueId> = (formal.inputs.iter().enumerate())
            .filter(|(i, _)| given(*i).is_none())
            .filter_map(|(_, port)| port.value)
            .collect();
        let has_parameters = !callee.function.attributes.is_empty() || !call.attrs.is_empty();
        if omitted.is_empty() && !has_parameters {
            return None;
        }
        let function = callee.text(names);
        let imports = Imports::of(callee.names(names), &callee.function.opset_imports);
        for node in nodes(callee.body) {
            if callee.id.is_some() && self.setting.functions.callee(node).is_some() {
                continue;
            }
            let op = imports.op_ref(callee.names(names), node);
            let input = node.inputs.iter().enumerate().find(|&(i, value)| {
                value.is_some_and(|v| omitted.contains(&v))
                    && !self.setting.operators.may_leave_out_input(op, i)
            });
            let found: Option<(&'static Code, String)> = match input.and_then(|(_, value)| *value) {
                Some(value) => {
                    let input = &callee.names(names)[callee.body.values[value].name];
                    Some((
                        &code::PARAMETER_EMPTY,
                        format!("leaves out `{input}`, which `{}` in function `{function}` needs", op.op),
                    ))
                }
                None => node.attrs.iter().find_map(|attr| self.misses(names, callee, call, op, attr)),
            };
            if let Some((code, what)) = found {
                let message = format!("this call {what}: it stays");
                return Some(callee.related(Diagnostic::new(code, site, message)));
            }
        }
        None
    }

    /// The finding for a call that lacks the value of an attribute of a node of the function.
    fn misses(
        &self,
        names: &Names,
        callee: &Callee<'_>,
        call: &Node,
        op: OpRef<'_>,
        attr: &Attr,
    ) -> Option<(&'static Code, String)> {
        let (theirs, function) = (callee.names(names), callee.text(names));
        let (parameter, name) = (&theirs[attr.reference?], &theirs[attr.name?]);
        let (requested, is_required) = self.setting.operators.attribute(op, name)?;
        let is_named = |attr: &&Attr, names: &Names| attr.name.is_some_and(|n| &names[n] == parameter);
        let given = call.attrs.iter().find(|attr| is_named(attr, names));
        match given {
            // The value is that of an outer call.
            Some(given) if given.reference.is_some() => None,
            Some(given) => {
                let ty = given.values.first().map(|value| value.ty()).or(given.ty)?;
                let text = |ty: AttrType| ty.name().unwrap_or("?");
                let (ty_text, wanted_text) = (text(ty), text(requested));
                let message = || {
                    format!(
                        "passes `{ty_text}` as `{parameter}`, but `{name}` of `{}` in function `{function}` is `{wanted_text}`",
                        op.op
                    )
                };
                (ty != requested).then(|| (&code::ATTR_WRONG_TYPE, message()))
            }
            None => {
                let mut defaults = callee.function.attribute_defaults.iter();
                let has_default = defaults.any(|default| is_named(&default, theirs));
                let message =
                    || format!("leaves out `{parameter}`, which `{}` in function `{function}` needs", op.op);
                (is_required && !has_default).then(|| (&code::ATTR_REQUIRED, message()))
            }
        }
    }
}
