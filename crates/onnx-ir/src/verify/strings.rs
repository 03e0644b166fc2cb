//! M05: names, domains, documentation and metadata are UTF-8.
//!
//! Names are interned, so one scan of the table shows whether there is a finding; only then is the model searched for the first
//! use of the string.

use super::context::{Findings, Seen, VerifyContext, index};
use crate::attr::Attr;
use crate::body::{Body, Graph, Node, Port};
use crate::diag::{Diagnostic, Entity, code};
use crate::names::Name;
use crate::tensor::{Entry, Tensor};
use crate::walk::WalkEvent;

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    if cx.model.names.all_utf8() {
        return;
    }
    let mut search = Search { cx, found, seen: Seen::new() };
    search.header();
    search.functions();
    for view in &cx.bodies {
        for step in view.layout.steps() {
            match step {
                WalkEvent::EnterGraph(graph) => search.graph(view.id, graph, view.body),
                WalkEvent::EnterNode(node) => search.node(view.id, node, view.body),
                WalkEvent::LeaveNode(_) | WalkEvent::LeaveGraph(_) => {}
            }
        }
    }
    search.training();
}

struct Search<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    found: &'s mut Findings,
    seen: Seen<()>,
}

impl Search<'_, '_> {
    fn string(&mut self, name: impl Into<Option<Name>>, what: &str, place: Entity) {
        let Some(name) = name.into() else { return };
        if self.cx.model.names.is_utf8(name) || self.seen.first(name, ()).is_some() {
            return;
        }
        let message = format!("{what} `{}` is not UTF-8", self.cx.text(name));
        self.found.push(Diagnostic::new(&code::STRING_NOT_UTF8, place, message));
    }

    fn entries(&mut self, entries: &[Entry], what: &str, place: impl Fn(usize) -> Entity) {
        for (i, entry) in entries.iter().enumerate() {
            self.string(entry.key, what, place(i));
            self.string(entry.value, what, place(i));
        }
    }

    fn header(&mut self) {
        let header = &self.cx.model.header;
        self.string(header.producer_name, "producer name", Entity::Header);
        self.string(header.producer_version, "producer version", Entity::Header);
        self.string(header.domain, "domain", Entity::Header);
        self.string(header.doc, "documentation", Entity::Header);
        for (i, import) in header.opset_imports.iter().enumerate() {
            self.string(import.domain, "domain", Entity::OpsetImport(index(i)));
        }
        self.entries(&header.metadata, "metadata", |i| Entity::ModelMetadata(index(i)));
        for (i, configuration) in self.cx.model.configurations.iter().enumerate() {
            let place = Entity::Configuration(index(i));
            self.string(configuration.name, "name of a device configuration", place);
            for &device in &configuration.devices {
                self.string(device, "name of a device", place);
            }
        }
    }

    fn functions(&mut self) {
        for (f, function) in self.cx.model.functions.iter() {
            let place = Entity::Function(f);
            self.string(function.name, "name of a function", place);
            self.string(function.domain, "domain", place);
            self.string(function.overload, "overload", place);
            self.string(function.doc, "documentation", place);
            for (i, import) in function.opset_imports.iter().enumerate() {
                self.string(import.domain, "domain", Entity::FunctionOpsetImport(f, index(i)));
            }
            for (i, &name) in function.attributes.iter().enumerate() {
                self.string(name, "name of an attribute", Entity::FunctionAttribute(f, index(i)));
            }
            for (i, attr) in function.attribute_defaults.iter().enumerate() {
                let body = &self.cx.model.bodies[function.body];
                self.attr(attr, body, Entity::FunctionAttributeDefault(f, index(i)));
            }
            self.entries(&function.metadata, "metadata", |_| place);
        }
    }

    fn training(&mut self) {
        for (i, training) in self.cx.model.training.iter().enumerate() {
            let place = Entity::Training(index(i));
            self.entries(&training.initialization_bindings, "binding", |_| place);
            self.entries(&training.update_bindings, "binding", |_| place);
        }
    }

    fn graph(&mut self, id: crate::BodyId, graph: crate::GraphId, body: &Body) {
        let g: &Graph = &body.graphs[graph];
        let place = Entity::Graph(id, graph);
        self.string(g.name, "name of a graph", place);
        self.string(g.doc, "documentation", place);
        self.entries(&g.metadata, "metadata", |_| place);
        let mut ports = |list: &[Port], place: fn(crate::BodyId, crate::GraphId, u32) -> Entity| {
            for (i, port) in list.iter().enumerate() {
                let place = place(id, graph, index(i));
                self.string(port.name, "name of a value", place);
                self.string(port.doc, "documentation", place);
                self.entries(&port.metadata, "metadata", |_| place);
                if let Some(ty) = port.ty {
                    self.ty(ty, place);
                }
            }
        };
        ports(&g.inputs, Entity::Input);
        ports(&g.outputs, Entity::Output);
        ports(&g.value_info, Entity::ValueInfo);
        for (i, init) in g.initializers.iter().enumerate() {
            self.tensor(&body.tensors[init.tensor], Entity::Initializer(id, graph, index(i)));
        }
        for (i, init) in g.sparse_initializers.iter().enumerate() {
            let place = Entity::SparseInitializer(id, graph, index(i));
            for tensor in init.tensor.values.into_iter().chain(init.tensor.indices) {
                self.tensor(&body.tensors[tensor], place);
            }
        }
        for (i, annotation) in g.quantization.iter().enumerate() {
            let place = Entity::QuantizationAnnotation(id, graph, index(i));
            self.string(annotation.tensor_name, "name of a tensor", place);
            self.entries(&annotation.parameters, "quantization parameter", |_| place);
        }
    }

    fn ty(&mut self, ty: crate::TypeId, place: Entity) {
        for ty in super::types::chain(&self.cx.model.types, ty) {
            let ty = &self.cx.model.types[ty];
            self.string(ty.denotation, "denotation", place);
            if let Some(tensor) = super::types::tensor_of(ty) {
                for dim in tensor.shape.iter().flatten() {
                    self.string(dim.denotation, "denotation", place);
                    if let crate::DimValue::Param(name) = dim.value {
                        self.string(name, "name of a dimension", place);
                    }
                }
            }
            if let crate::TypeKind::Opaque { domain, name } = ty.kind {
                self.string(domain, "domain", place);
                self.string(name, "name of a type", place);
            }
        }
    }

    fn tensor(&mut self, tensor: &Tensor, place: Entity) {
        self.string(tensor.name, "name of a tensor", place);
        let extra = tensor.extra();
        self.string(extra.doc, "documentation", place);
        self.entries(&extra.external, "external data", |_| place);
        self.entries(&extra.metadata, "metadata", |_| place);
    }

    fn attr(&mut self, attr: &Attr, body: &Body, place: Entity) {
        self.string(attr.name, "name of an attribute", place);
        self.string(attr.reference, "name of an attribute", place);
        self.string(attr.doc, "documentation", place);
        for stored in super::tensors::stored(attr) {
            for tensor in stored.tensors() {
                self.tensor(&body.tensors[tensor], place);
            }
        }
        for ty in super::types::of_attribute(attr) {
            self.ty(ty, place);
        }
    }

    fn node(&mut self, id: crate::BodyId, node: crate::NodeId, body: &Body) {
        let n: &Node = &body.nodes[node];
        let place = Entity::Node(id, node);
        self.string(n.name, "name of a node", place);
        self.string(n.op, "name of an operator", Entity::NodeOp(id, node));
        self.string(n.domain, "domain", Entity::NodeOp(id, node));
        self.string(n.overload, "overload", Entity::NodeOp(id, node));
        let mut values = |list: &[Option<crate::ValueId>],
                          place: fn(crate::BodyId, crate::NodeId, u32) -> Entity| {
            for (i, value) in list.iter().enumerate() {
                let name = value.map(|v| body.values[v].name);
                self.string(name, "name of a value", place(id, node, index(i)));
            }
        };
        values(&n.outputs, Entity::NodeOutput);
        values(&n.inputs, Entity::NodeInput);
        for (i, attr) in n.attrs.iter().enumerate() {
            self.attr(attr, body, Entity::Attr(id, node, index(i)));
        }
        let extra = n.extra();
        self.string(extra.doc, "documentation", place);
        self.entries(&extra.metadata, "metadata", |_| place);
        for configuration in &extra.devices {
            self.string(configuration.configuration, "name of a device configuration", place);
            for spec in &configuration.sharding {
                self.string(spec.tensor_name, "name of a tensor", place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;

    #[test]
    fn a_string_that_is_not_utf8_is_reported_where_it_is_used_first() {
        let mut model = relu();
        assert_eq!(findings(&model), [""; 0]);
        let bad = model.names.intern_bytes(b"a\xff");
        assert_eq!(findings(&model), [""; 0], "interned and not used");
        model.header.producer_name = Some(bad);
        only(&mut main(&mut model).nodes).name = Some(bad);
        assert_eq!(findings(&model), ["E0305 producer name `a\u{fffd}` is not UTF-8"]);
    }
}
