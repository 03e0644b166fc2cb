//! Places and findings of rules.

use super::{Infer, NodeCx, index};
use onnx_ir::diag::{Code, Diagnostic, Entity, Place, code};

impl<'m> NodeCx<'_, 'm> {
    /// The name of the operator.
    pub fn op(&self) -> &'m str {
        &self.schema.name
    }

    /// The name of an input in the schema.
    #[must_use]
    pub fn param_name(&self, i: usize) -> String {
        self.schema.input(i).map_or_else(|| format!("input {i}"), |p| format!("`{}`", p.name))
    }

    /// The place of an operand.
    pub fn at_input(&self, i: usize) -> Place {
        Entity::NodeInput(self.engine.frame.body, self.id, index(i)).into()
    }

    /// The place of a result.
    pub fn at_output(&self, i: usize) -> Place {
        Entity::NodeOutput(self.engine.frame.body, self.id, index(i)).into()
    }

    /// The place of an attribute, or of the operator if the node does not have it.
    pub fn at_attr(&self, name: &str) -> Place {
        let names = &self.engine.model.names;
        let at = self.node.attrs.iter().position(|a| a.name.is_some_and(|n| names.is(n, name)));
        let body = self.engine.frame.body;
        at.map_or(Entity::NodeOp(body, self.id), |at| Entity::Attr(body, self.id, index(at))).into()
    }

    /// The place of the operator's name.
    pub fn at_op(&self) -> Place {
        Entity::NodeOp(self.engine.frame.body, self.id).into()
    }

    /// Reports an error and makes the outputs unknown. Returns `None`: `return cx.fail(…)`.
    pub fn fail(&mut self, diagnostic: Diagnostic) -> Infer {
        self.has_failed = true;
        self.engine.report(diagnostic);
        None
    }

    /// [`fail`](Self::fail) at an input, labelled with its type.
    pub fn fail_at_input(&mut self, i: usize, code: &'static Code, message: String) -> Infer {
        let ty = self.ty(i).text(&self.engine.dims);
        let diagnostic = Diagnostic::new(code, self.at_input(i), message).label(format!("this is {ty}"));
        self.fail(diagnostic)
    }

    /// [`fail`](Self::fail) at an attribute with an invalid value.
    pub fn fail_at_attr(&mut self, name: &str, message: String) -> Infer {
        let place = self.at_attr(name);
        self.fail(Diagnostic::new(&code::ATTR_VALUE, place, message))
    }

    /// Requires a string attribute to be one of a few; reports other values with the valid ones.
    pub fn one_of(&mut self, name: &str, allowed: &[&'static str]) -> Option<&'static str> {
        let text = self.string(name)?;
        if let Some(found) = allowed.iter().find(|a| **a == text) {
            return Some(found);
        }
        let text = text.into_owned();
        let list = allowed.iter().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
        let near = onnx_ir::diag::did_you_mean(&text, allowed.iter().copied());
        let help = near.map_or_else(|| format!("expected one of {list}"), |n| format!("did you mean `{n}`?"));
        let message = format!("invalid value `{text}` of `{name}` of `{}`", self.op());
        let diagnostic = Diagnostic::new(&code::ATTR_VALUE, self.at_attr(name), message)
            .label(format!("expected one of {list}"))
            .help(help);
        self.fail(diagnostic)?;
        None
    }
}
