//! Short ways to make models for the unit tests of the chapters.

use super::{Level, VerifyOptions, verify};
use crate::attr::{Attr, AttrType, AttrValue};
use crate::entity::PrimaryMap;
use crate::ids::{FunctionId, NodeId};
use crate::model::{Function, Model, OpsetImport};
use crate::tensor::{Payload, Tensor};
use crate::types::{DimValue, ElemType};
use crate::{BodyBuilder, BodyId, NodeSpec};
use smallvec::SmallVec;

/// A body in the making. Values of root graphs are `float[N]`, those of nested ones have no type.
pub(super) struct Draft<'m> {
    pub(super) b: BodyBuilder<'m>,
    holder: Option<NodeId>,
    typed: bool,
}

impl<'m> Draft<'m> {
    fn new(model: &'m mut Model, typed: bool) -> Self {
        Draft { b: BodyBuilder::new(model), holder: None, typed }
    }

    /// A graph, or one nested in the node of [`holder`](Self::holder) that is being made.
    pub(super) fn graph<R>(
        &mut self,
        name: &str,
        inputs: &[&str],
        outputs: &[&str],
        fill: impl FnOnce(&mut Self) -> R,
    ) {
        let n = self.b.name("N");
        let float = self.b.types.tensor(ElemType::FLOAT, [DimValue::Param(n)]);
        let ty = (self.typed && self.holder.is_none()).then_some(float);
        let name = self.b.name(name);
        let graph = self.b.begin_graph(Some(name), self.holder);
        if let Some(node) = self.holder {
            let body = self.b.name(&format!("body{}", self.b.body().nodes[node].attrs.len()));
            self.b.attr(node, Attr::new(body, AttrValue::Graph(graph)));
        }
        for input in inputs {
            let name = self.b.name(input);
            self.b.input(name, ty);
        }
        fill(self);
        for output in outputs {
            let name = self.b.name(output);
            self.b.output(name, ty);
        }
        self.b.end_graph();
    }

    /// A node of the default domain, or of `domain.op`.
    pub(super) fn node(&mut self, op: &str, inputs: &[&str], outputs: &[&str]) -> NodeId {
        self.holder(op, inputs, outputs, |_| {})
    }

    /// A node with the graphs that `fill` builds.
    pub(super) fn holder<R>(
        &mut self,
        op: &str,
        inputs: &[&str],
        outputs: &[&str],
        fill: impl FnOnce(&mut Self) -> R,
    ) -> NodeId {
        let (domain, op) = op.rsplit_once('.').map_or((None, op), |(d, o)| (Some(d), o));
        let domain = domain.map(|d| self.b.name(d));
        let spec = NodeSpec { op: Some(self.b.name(op)), domain, ..NodeSpec::default() };
        let inputs: Vec<_> = inputs.iter().map(|n| self.b.name(n)).collect();
        let node = self.b.begin_node(spec, inputs);
        let outer = self.holder.replace(node);
        fill(self);
        self.holder = outer;
        let outputs: Vec<_> = outputs.iter().map(|n| self.b.name(n)).collect();
        self.b.end_node(node, outputs);
        node
    }

    /// An initializer of floats.
    pub(super) fn floats(&mut self, name: &str, values: &[f32]) {
        let name = Some(self.b.name(name));
        let dims = SmallVec::from_slice(&[i64::try_from(values.len()).expect("few values")]);
        let data = SmallVec::from_buf([Payload::floats(values.to_vec())]);
        self.b.initializer(Tensor { name, dims, elem: Some(ElemType::FLOAT), data, extra: None });
    }

    /// Adds an attribute to the node being made by [`holder`](Self::holder).
    pub(super) fn attr(&mut self, name: &str, value: AttrValue) {
        let node = self.holder.expect("inside of `holder`");
        let name = self.b.name(name);
        self.b.attr(node, Attr::new(name, value));
    }

    /// Adds an attribute that refers to a parameter.
    pub(super) fn reference(&mut self, name: &str, ty: AttrType, parameter: &str) {
        let node = self.holder.expect("inside of `holder`");
        let (name, parameter) = (self.b.name(name), self.b.name(parameter));
        self.b.attr(
            node,
            Attr { name: Some(name), ty: Some(ty), reference: Some(parameter), ..Attr::default() },
        );
    }
}

fn import(model: &mut Model, domain: &str, version: i64) -> OpsetImport {
    OpsetImport { domain: Some(model.names.intern(domain)), version: Some(version) }
}

/// A model of IR 10 that imports opset 21 and version 1 of the domain `l`, with a main graph.
pub(super) fn draft<R>(fill: impl FnOnce(&mut Draft<'_>) -> R) -> Model {
    let mut model = Model::new();
    model.header.ir_version = Some(10);
    model.header.opset_imports = vec![import(&mut model, "", 21), import(&mut model, "l", 1)];
    let mut d = Draft::new(&mut model, true);
    fill(&mut d);
    let main = d.b.finish();
    model.main = Some(main);
    model
}

/// `g (x) => (y) { y = Relu(x) }`, to be broken.
pub(super) fn relu() -> Model {
    draft(|d| d.graph("g", &["x"], &["y"], |d| d.node("Relu", &["x"], &["y"])))
}

/// A body of its own, for training.
pub(super) fn body<R>(model: &mut Model, fill: impl FnOnce(&mut Draft<'_>) -> R) -> BodyId {
    let mut d = Draft::new(model, true);
    fill(&mut d);
    d.b.finish()
}

/// Adds the function `l.name`.
pub(super) fn function<R>(
    model: &mut Model,
    name: &str,
    fill: impl FnOnce(&mut Draft<'_>) -> R,
) -> FunctionId {
    let mut d = Draft::new(model, false);
    fill(&mut d);
    let body = d.b.finish();
    let opset_imports = vec![import(model, "", 21), import(model, "l", 1)];
    let (name, domain) = (Some(model.names.intern(name)), Some(model.names.intern("l")));
    model.functions.push(Function {
        name,
        domain,
        overload: None,
        attributes: Vec::new(),
        attribute_defaults: Vec::new(),
        opset_imports,
        doc: None,
        metadata: Vec::new(),
        body,
    })
}

/// `E0203 use of undefined value ...` for each finding of the specification's rules.
pub(super) fn findings(model: &Model) -> Vec<String> {
    at_level(model, Level::Spec)
}

/// The findings of a model up to a level, lints included.
pub(super) fn at_level(model: &Model, level: Level) -> Vec<String> {
    let options = VerifyOptions { level, ..VerifyOptions::default() };
    verify(model, &options).iter().map(|d| format!("{} {}", d.code.id, d.message)).collect()
}

/// The ids of the findings.
pub(super) fn ids(model: &Model) -> Vec<&'static str> {
    let options = VerifyOptions { level: Level::Spec, ..VerifyOptions::default() };
    verify(model, &options).iter().map(|d| d.code.id).collect()
}

/// The main body, to change.
pub(super) fn main(model: &mut Model) -> &mut crate::Body {
    let main = model.main.expect("drafts have a main graph");
    &mut model.bodies[main]
}

/// The only element of an arena.
pub(super) fn only<K: crate::EntityId, V>(map: &mut PrimaryMap<K, V>) -> &mut V {
    map.values_mut().next().expect("an entity")
}
