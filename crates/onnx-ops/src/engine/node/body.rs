//! Infers a node from the function body of its operator, if there is no rule.
//!
//! The body is not a part of the model, so errors in it have no place in the model. If the body is from an operator-set document,
//! they are reported at the node, with a description of the node of the body:
//!
//! ```text
//! y = com.acme.Twice (x)      cannot broadcast 4 against 3
//!                             in the body of `Twice`, `y = Add (x, three)`: this is float[3]
//! ```

use super::NodeCx;
use crate::bodies::site::CallSite;
use crate::engine::alike::Operands;
use crate::engine::call::{Lack, function_of, passed};
use crate::engine::walk::{Engine, Ran};
use crate::facts::Argument;
use crate::facts::Ty;
use crate::facts::merge;
use crate::facts::{Fact, FactSource, Outputs};
use crate::schema::{SchemaId, set::FunctionBody};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{BodyId, Model, NodeId, ValueId};

impl NodeCx<'_, '_> {
    /// The function body of the operator of the node, if it has one.
    pub(in crate::engine) fn body(&self, schema: SchemaId) -> Option<FunctionBody> {
        if let Some(body) = self.registry().body(schema) {
            return Some(body.clone());
        }
        let input = |i| self.has_input(i).then(|| self.ty(i).clone());
        let inputs = (0..self.input_count()).map(input).collect();
        let version = self.version_of("")?;
        let site = CallSite::new(self.schema(), version, self.attrs(), inputs, self.output_count());
        (self.engine.rows.body)(&site)
    }

    /// Infers the body of a function operator; `None` if it reported an error.
    pub(in crate::engine) fn run_body(mut self, schema: SchemaId) -> Option<Outputs> {
        self.engine.looked = Operands::ALL;
        let Some(function) = self.body(schema) else { return Some(self.outputs) };
        let body = function.model.functions[function.id].body;
        let inputs = passed(self.engine, self.node, &function.model.bodies[body]);
        let bindings = self.engine.scope().bind(self.node);
        let mut inner = Engine::new(&function.model, self.engine.registry, self.engine.rows);
        inner.dims = std::mem::take(&mut self.engine.dims);
        (inner.fuel, inner.depth) = (self.engine.fuel, self.engine.depth);
        // Built-in bodies are valid for all nodes that match the signature.
        let is_of_document = self.engine.registry.body(schema).is_some();
        inner.quiet = if is_of_document { self.engine.quiet } else { 1 };
        inner.repeats = self.engine.repeats;
        let Ran { outputs, missed } = inner.run_body(body, Some(function.id), Some(&inputs), bindings);
        (self.engine.dims, self.engine.fuel) = (std::mem::take(&mut inner.dims), inner.fuel);
        self.engine.fresh += inner.fresh;
        if self.engine.fuel == 0 {
            self.engine.tell_to_stop(self.id);
        }
        if let Some(finding) = inner.findings.iter().find(|finding| finding.is_error()) {
            let told = Diagnostic::new(finding.code, self.at_op(), finding.message.clone());
            self.fail(told.label(in_body(&function.model, finding)));
            return None;
        }
        if let Some(missed) = missed.first().filter(|_| is_of_document) {
            let needs = at(&function.model, missed.body, missed.by);
            let (code, what) = match missed.what {
                Lack::Input(input) => (&code::PARAMETER_EMPTY, self.param_name(input)),
                Lack::Attr { parameter, is: Argument::Omitted, .. } => {
                    (&code::ATTR_REQUIRED, format!("`{}`", &function.model.names[parameter]))
                }
                // The signature states another type than the body needs.
                Lack::Attr { .. } => return Some(self.outputs),
            };
            let message = format!("`{}` omits {what}, which its body requires", self.op());
            self.fail(Diagnostic::new(code, self.at_op(), message).label(needs));
            return None;
        }
        for (i, fact) in outputs.into_iter().enumerate().take(self.outputs.len()) {
            if fact.ty != Ty::Unknown {
                let (ty, _) = merge::meet(&mut self.engine.dims, &self.outputs[i].ty, &fact.ty);
                self.outputs[i] = Fact { ty, value: fact.value, source: FactSource::Inferred };
            }
        }
        Some(self.outputs)
    }
}

/// A description of the place of a finding in a body, with its label.
fn in_body(model: &Model, finding: &Diagnostic) -> String {
    let node = match finding.primary.place {
        Place::Entity(entity) => entity.node(),
        Place::Source(_) | Place::Nowhere => None,
    };
    let place = node.map(|(body, node)| at(model, body, node));
    let label = Some(finding.primary.text.clone()).filter(|text| !text.is_empty());
    let parts: Vec<String> = [place, label].into_iter().flatten().collect();
    parts.join(": ")
}

fn at(model: &Model, body: BodyId, node: NodeId) -> String {
    format!("in the body of `{}`, `{}`", function_of(model, body), statement(model, body, node))
}

/// Longer statements are truncated.
const MAX_CHARS: usize = 100;

/// A node as text, without attributes.
fn statement(model: &Model, body: BodyId, node: NodeId) -> String {
    let body = &model.bodies[body];
    let node = &body.nodes[node];
    let names = |values: &[Option<ValueId>]| -> String {
        let name = |value: &Option<ValueId>| value.map_or("", |value| &model.names[body.values[value].name]);
        values.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let text = format!("{} = {} ({})", names(&node.outputs), model.text(node.op), names(&node.inputs));
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
