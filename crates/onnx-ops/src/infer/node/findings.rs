//! What a rule tells: where things are, and that they do not fit.

use super::{Infer, NodeCx, index};
use onnx_ir::diag::{Code, Diagnostic, Entity, Place, code};

impl<'m> NodeCx<'_, 'm> {
    /// The name of the operator.
    pub fn op(&self) -> &'m str {
        &self.schema.name
    }

    /// The schema's name of an input.
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

    /// The place of an attribute; that of the operator if the node does not have it.
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

    /// Tells that the node is wrong, and makes its outputs unknown. Returns `None`: `return cx.fail(…)`.
    pub fn fail(&mut self, diagnostic: Diagnostic) -> Infer {
        self.has_failed = true;
        self.engine.report(diagnostic);
        None
    }

    /// [`fail`](Self::fail) at an input, which is labelled with its type.
    pub fn fail_at_input(&mut self, i: usize, code: &'static Code, message: String) -> Infer {
        let ty = self.ty(i).text(&self.engine.dims);
        let diagnostic = Diagnostic::new(code, self.at_input(i), message).label(format!("this is {ty}"));
        self.fail(diagnostic)
    }

    /// [`fail`](Self::fail) at an attribute whose value the operator does not take.
    pub fn fail_at_attr(&mut self, name: &str, message: String) -> Infer {
        let place = self.at_attr(name);
        self.fail(Diagnostic::new(&code::ATTR_VALUE, place, message))
    }

    /// Holds that a string attribute is one of a few; another one is told of, with what it may be.
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
