//! Whether a call can be replaced.

use super::copy::{Callee, Work};
use super::plan::levels;
use crate::body::{Body, Graph, ValueDef};
use crate::diag::{Diagnostic, Entity, code};
use crate::ids::NodeId;
use crate::names::{Name, Names};
use crate::pass::OpRef;

/// The deepest nesting of graphs in a valid model.
const MAX_LEVELS: usize = 32;

impl Work<'_> {
    /// The reason why a call cannot be inlined.
    pub(super) fn misfit(
        &self,
        names: &Names,
        target: &Body,
        callee: &Callee<'_>,
        formal: &Graph,
        node: NodeId,
        site: Entity,
    ) -> Option<Diagnostic> {
        let call = &target.nodes[node];
        let function = callee.text(names);
        let diagnostic = |code, message: String| {
            let diagnostic = Diagnostic::new(code, site, message);
            Some(callee.related(diagnostic))
        };
        for (what, has, gets) in [
            ("inputs", formal.inputs.len(), call.inputs.len()),
            ("outputs", formal.outputs.len(), call.outputs.len()),
        ] {
            if gets > has {
                let message = format!("this call has more {what} than function `{function}`: it stays");
                return diagnostic(&code::CALL_SIGNATURE, message);
            }
        }
        for (port, requested) in formal.outputs.iter().zip(&call.outputs) {
            let Some(requested) = *requested else { continue };
            let def = port.value.map(|v| callee.body.values[v].def);
            let name = port.name.map_or("", |n| &callee.names(names)[n]);
            match def {
                Some(ValueDef::Output(..) | ValueDef::Initializer(_)) => {}
                Some(ValueDef::Input(_)) => {
                    let i = formal.inputs.iter().position(|p| p.value == port.value);
                    let given = i.and_then(|i| call.inputs.get(i).copied().flatten());
                    let is_missing = given.and_then(|v| self.known(v)).is_none();
                    if is_missing && self.is_pinned(target, requested) {
                        let message = format!("this call leaves out `{name}`, which is its result: it stays");
                        return diagnostic(&code::PARAMETER_EMPTY, message);
                    }
                }
                Some(ValueDef::Unbound(_)) | None => {
                    let message = format!(
                        "output `{name}` of function `{function}` is defined nowhere: calls of it stay"
                    );
                    return diagnostic(&code::FUNCTION_OUTPUT_UNDEFINED, message);
                }
            }
        }
        for attr in &call.attrs {
            let outer = attr.reference.filter(|r| self.parameters.contains(r));
            let has_default = |name: Name| {
                let name = &names[name];
                let mut defaults = callee.function.attribute_defaults.iter().filter_map(|a| a.name);
                defaults.any(|d| &callee.names(names)[d] == name)
            };
            if let (Some(outer), Some(name)) = (outer, attr.name.filter(|&n| has_default(n))) {
                let (outer, name) = (&names[outer], &names[name]);
                let message = format!(
                    "`{outer}` has no default, and `{name}` of function `{function}` has one, which would be lost: the call stays"
                );
                return diagnostic(&code::INLINE_DEFAULT, message);
            }
        }
        if self.level + levels(callee.body) > MAX_LEVELS + 1 {
            let message = format!(
                "with function `{function}` here, graphs would nest more than {MAX_LEVELS} deep: the call stays"
            );
            return diagnostic(&code::NESTING_DEPTH, message);
        }
        self.lacks(names, callee, formal, call, site)
    }
}

impl Callee<'_> {
    /// Points at the function too.
    pub(super) fn related(&self, diagnostic: Diagnostic) -> Diagnostic {
        match self.id {
            Some(f) => diagnostic.related(Entity::Function(f), "the function"),
            None => diagnostic,
        }
    }
}

/// The finding that an operator of a function may mean something else here.
pub(super) fn differs(
    callee: &Callee<'_>,
    names: &Names,
    op: OpRef<'_>,
    here: Option<i64>,
    site: Entity,
) -> Diagnostic {
    let version = |version: Option<i64>| version.map_or("none".to_owned(), |v| v.to_string());
    let domain = if op.domain.is_empty() { "ai.onnx" } else { op.domain };
    let message = format!(
        "function `{}` imports {domain} {}, and `{}` may differ in {} here: calls of it stay",
        callee.text(names),
        version(op.version),
        op.op,
        version(here),
    );
    callee.related(Diagnostic::new(&code::INLINE_OPSET, site, message))
}
