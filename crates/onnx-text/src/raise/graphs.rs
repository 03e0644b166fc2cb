//! Graphs, functions and nodes of a raised tree.

use super::Raiser;
use crate::ast::{Attr, Function, Graph, List, Node, Notes, Type, ValueInfo};
use crate::comments::{Anchor, Role, Scope, function_key};
use crate::identifier::is_identifier;
use crate::lower::keys;
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{BodyId, DimValue, FunctionId, GraphId, Name, NodeId, Port, TypeKind, ValueId};

impl Raiser<'_> {
    /// A graph; `notes` are annotations of the file, where the graph has to carry them.
    pub(super) fn graph(&mut self, body: BodyId, id: GraphId, notes: Option<Notes>) -> Graph {
        self.at(Entity::Graph(body, id), |this| this.graph_at(body, id, notes))
    }

    fn graph_at(&mut self, body: BodyId, id: GraphId, notes: Option<Notes>) -> Graph {
        let graph = &self.model.bodies[body].graphs[id];
        let is_root = self.model.bodies[body].root() == Some(id);
        let inner = if is_root { Scope::Main } else { Scope::Nested(self.holder.0, self.holder.1) };
        self.holder.1 += 1;
        let outer = (std::mem::replace(&mut self.scope, inner), self.holder);
        if is_root {
            self.comments_of(|this| Anchor::Begin(this.scope.clone()));
        }
        let mut notes = notes.unwrap_or_default();
        self.doc_note(&mut notes, graph.doc);
        self.metadata_note(&mut notes, &graph.metadata);
        for annotation in &graph.quantization {
            self.note(&mut notes, keys::QUANTIZATION, |this| {
                this.record_value(|this| {
                    let mut fields = Vec::new();
                    if annotation.tensor_name.is_some() {
                        fields.push(this.field("tensor_name", |t| t.text_value(annotation.tensor_name)));
                    }
                    if !annotation.parameters.is_empty() {
                        let key = "quant_parameter_tensor_names";
                        fields.push(this.field(key, |t| t.entries_value(&annotation.parameters)));
                    }
                    fields
                })
            });
        }
        if graph.name.is_none() {
            self.words_note(&mut notes, keys::UNSET, &["name"]);
        }
        let start = self.out.here();
        let name = if !is_root {
            // The reference parses a quoted word here as a string.
            self.subgraph_name(graph.name.unwrap_or(Name::empty()))
        } else {
            self.name(graph.name.unwrap_or(Name::empty()))
        };
        let inputs = Some(self.ports("(", &graph.inputs, ")", Role::Input, |i| Entity::Input(body, id, i)));
        let outputs = self.ports("(", &graph.outputs, ")", Role::Output, |i| Entity::Output(body, id, i));
        let has_values =
            graph.value_info.len() + graph.initializers.len() + graph.sparse_initializers.len() > 0;
        let values = has_values.then(|| self.values(body, id));
        let (nodes, body_span) = self.body(body, id);
        (self.scope, self.holder) = outer;
        Graph { notes, name, inputs, outputs, values, body: nodes, body_span, span: self.out.since(start) }
    }

    fn subgraph_name(&mut self, name: Name) -> Span {
        let text = &self.model.names[name];
        // The reference parses it as a type or a number, quoted or not.
        let is_taken = is_identifier(text) && is_type_word(text);
        if is_taken && !self.extend(|| "a nested graph with the name of a type".to_owned()) {
            return self.out.put(&format!("_{text}"));
        }
        self.identifier(name, "the graph name")
    }

    pub(super) fn body(&mut self, body: BodyId, id: GraphId) -> (Vec<Node>, Span) {
        let nodes = &self.model.bodies[body].graphs[id].nodes;
        let open = self.out.put("{");
        let mut out = Vec::with_capacity(nodes.len());
        for &node in nodes {
            if self.notes_missed {
                break;
            }
            let origin = self.model.bodies[body].origins[node].0;
            let after = self.comments_of(|_| Anchor::Node(origin));
            let outer = std::mem::replace(&mut self.holder, (origin, 0));
            let node = self.at(Entity::Node(body, node), |this| this.node(body, node));
            self.holder = outer;
            out.push(node);
            self.comment_behind(after);
            self.begin_line();
        }
        self.comments_of(|this| Anchor::End(this.scope.clone()));
        self.out.put("}");
        (out, self.out.since(open))
    }

    /// Declarations in brackets; `entity` returns the entity of each.
    pub(super) fn ports(
        &mut self,
        open: &str,
        ports: &[Port],
        close: &str,
        role: Role,
        entity: impl Fn(u32) -> Entity,
    ) -> List<ValueInfo> {
        let start = self.out.put(open);
        let items = (0..)
            .zip(ports)
            .map(|(i, p)| self.at(entity(i), |this| this.commented(p.name, role, |this| this.port(p))))
            .collect();
        self.out.put(close);
        List { items, span: self.out.since(start) }
    }

    /// A value of a list, with its comments.
    fn commented(
        &mut self,
        name: Option<Name>,
        role: Role,
        value: impl FnOnce(&mut Self) -> ValueInfo,
    ) -> ValueInfo {
        let after = self
            .comments_of(|this| Anchor::Value(this.scope.clone(), role, this.model.text(name).to_owned()));
        let value = value(self);
        self.comment_behind(after);
        value
    }

    pub(super) fn port(&mut self, port: &Port) -> ValueInfo {
        let mut notes = Notes::default();
        self.doc_note(&mut notes, port.doc);
        self.metadata_note(&mut notes, &port.metadata);
        let mut ty = port.ty;
        if let Some(id) = ty {
            self.denotation_note(&mut notes, id);
            if !self.can_say_type(id) {
                ty = None;
            } else if self.model.types[id].kind == TypeKind::Unset {
                self.words_note(&mut notes, keys::SET, &["type"]);
                ty = None;
            }
        }
        if port.name.is_none() {
            self.words_note(&mut notes, keys::UNSET, &["name"]);
        }
        let start = self.out.here();
        let ty = ty.map(|t| self.ty(t));
        let port_name = port.name.unwrap_or(Name::empty());
        let name = match ty {
            // The reference parses the bare word as a type.
            None if is_type_word(&self.model.names[port_name]) => self.quoted(port_name),
            _ => self.name(port_name),
        };
        ValueInfo { notes, ty, name, data: None, span: self.out.since(start) }
    }

    /// Value infos, then initializers, dense and sparse.
    fn values(&mut self, body: BodyId, id: GraphId) -> List<ValueInfo> {
        let graph = &self.model.bodies[body].graphs[id];
        let start = self.out.put("<");
        let mut items: Vec<_> = (0..)
            .zip(&graph.value_info)
            .map(|(i, p)| {
                let port = |this: &mut Self| this.commented(p.name, Role::Stored, |this| this.port(p));
                self.at(Entity::ValueInfo(body, id, i), port)
            })
            .collect();
        for (i, initializer) in (0..).zip(&graph.initializers) {
            if self.notes_missed {
                break;
            }
            let tensor = self.tensor_of(body, initializer.tensor);
            let item = self.at(Entity::Initializer(body, id, i), |this| {
                this.commented(tensor.name, Role::Stored, |this| this.initializer(tensor))
            });
            items.push(item);
        }
        for (i, sparse) in (0..).zip(&graph.sparse_initializers) {
            let entity = Entity::SparseInitializer(body, id, i);
            if !self.at(entity, |this| this.extend(|| "a sparse initializer".to_owned())) {
                continue;
            }
            let start = self.out.here();
            let elem = self.out.put("sparse");
            let dims: Vec<_> = sparse.tensor.dims.iter().map(|&d| DimValue::Value(d)).collect();
            let dims = Some(self.dims(&dims));
            let values = sparse.tensor.values.map(|t| &self.model.bodies[body].tensors[t]);
            let value_name = values.and_then(|t| t.name).unwrap_or(Name::empty());
            let name = self.name(value_name);
            let parts = self.parts_of(body, &sparse.tensor);
            let data = Some(crate::ast::Data::Sparse(self.sparse_parts(parts, true)));
            let ty = Some(Type::Tensor { elem, dims });
            items.push(ValueInfo { notes: Notes::default(), ty, name, data, span: self.out.since(start) });
        }
        self.out.put(">");
        List { items, span: self.out.since(start) }
    }

    fn value_name(&mut self, body: BodyId, value: Option<ValueId>) -> Span {
        match value {
            Some(value) => self.name(self.model.bodies[body].values[value].name),
            None => self.out.string(""),
        }
    }

    pub(super) fn node(&mut self, body: BodyId, id: NodeId) -> Node {
        let node = &self.model.bodies[body].nodes[id];
        let mut notes = Notes::default();
        if let Some(extra) = &node.extra {
            self.node_extra(&mut notes, extra);
        }
        let mut set: smallvec::SmallVec<[&str; 2]> = smallvec::SmallVec::new();
        let mut unset: smallvec::SmallVec<[&str; 2]> = smallvec::SmallVec::new();
        match node.domain {
            Some(domain) if domain.is_empty() && !self.defaults.domain_is_set => set.push("domain"),
            None if self.defaults.domain_is_set => unset.push("domain"),
            _ => {}
        }
        if node.overload.is_some_and(Name::is_empty) {
            set.push("overload");
        }
        if node.name.is_some_and(Name::is_empty) {
            set.push("name");
        }
        if node.op.is_none() {
            unset.push("op_type");
        }
        if !set.is_empty() {
            self.words_note(&mut notes, keys::SET, &set);
        }
        if !unset.is_empty() {
            self.words_note(&mut notes, keys::UNSET, &unset);
        }
        let start = self.out.here();
        let name = node.name.filter(|n| !n.is_empty()).map(|n| self.name(n));
        let outputs = node.outputs.iter().map(|&o| self.value_name(body, o)).collect();
        let domain = node.domain.filter(|d| !d.is_empty()).map(|d| self.path(d, "the domain"));
        let op = self.identifier(node.op.unwrap_or(Name::empty()), "the operator");
        let overload = node.overload.filter(|o| !o.is_empty()).map(|o| self.identifier(o, "the overload"));
        // The tree keeps the order of the text: attributes with graphs come after the inputs.
        let graphs_last = node.attrs.iter().any(|a| a.values.iter().any(|v| !v.graphs().is_empty()));
        let mut attrs = None;
        if !graphs_last && !node.attrs.is_empty() {
            attrs = self.attrs(body, id);
        }
        let open = self.out.put("(");
        let inputs = node.inputs.iter().map(|&i| self.value_name(body, i)).collect();
        self.out.put(")");
        let inputs_span = self.out.since(open);
        if graphs_last {
            attrs = self.attrs(body, id);
        }
        let span = self.out.since(start);
        Node { notes, name, outputs, domain, op, overload, attrs, inputs, inputs_span, span, sugar: None }
    }

    fn attrs(&mut self, body: BodyId, node: NodeId) -> Option<List<Attr>> {
        let attrs = &self.model.bodies[body].nodes[node].attrs;
        let open = self.out.put("<");
        let items: Vec<_> = (0..)
            .zip(attrs)
            .filter_map(|(i, a)| self.at(Entity::Attr(body, node, i), |this| this.attr(body, a)))
            .collect();
        self.out.put(">");
        (!items.is_empty()).then(|| List { items, span: self.out.since(open) })
    }

    pub(super) fn function(&mut self, id: FunctionId) -> Function {
        self.at(Entity::Function(id), |this| this.function_at(id))
    }

    fn function_at(&mut self, id: FunctionId) -> Function {
        let model = self.model;
        let function = &model.functions[id];
        let [domain, name, overload] =
            [function.domain, function.name, function.overload].map(|text| model.text(text));
        self.scope = Scope::Function(function_key(domain, name, overload));
        self.comments_of(|this| Anchor::Begin(this.scope.clone()));
        let mut notes = Notes::default();
        self.metadata_note(&mut notes, &function.metadata);
        self.unset_imports_note(&mut notes, &function.opset_imports);
        if function.name.is_none() {
            self.words_note(&mut notes, keys::UNSET, &["name"]);
        }
        let start = self.out.here();
        let mut fields = Vec::new();
        fields.extend(self.header_text("domain", function.domain));
        fields.extend(self.header_text("overload", function.overload));
        if !function.opset_imports.is_empty() {
            fields.push(self.opset_imports(&function.opset_imports));
        }
        fields.extend(self.header_text("doc_string", function.doc));
        let header = (!fields.is_empty()).then(|| List { items: fields, span: self.out.since(start) });
        let name = self.name(function.name.unwrap_or(Name::empty()));
        let open = self.out.put("<");
        let mut items: Vec<Attr> = Vec::new();
        for &attribute in &function.attributes {
            let name = self.name(attribute);
            items.push(Attr { notes: Notes::default(), name, ty: None, value: None, span: name });
        }
        for default in &function.attribute_defaults {
            items.extend(self.parameter(function.body, default));
        }
        self.out.put(">");
        let attrs = (!items.is_empty()).then(|| List { items, span: self.out.since(open) });
        let empty = onnx_ir::Graph::default();
        let body = &model.bodies[function.body];
        let root = body.root();
        let graph = root.map_or(&empty, |r| &body.graphs[r]);
        let at = |part: fn(BodyId, GraphId, u32) -> Entity| {
            move |i| root.map_or(Entity::Function(id), |root| part(function.body, root, i))
        };
        let inputs = self.ports("(", &graph.inputs, ")", Role::Input, at(Entity::Input));
        let outputs = self.ports("(", &graph.outputs, ")", Role::Output, at(Entity::Output));
        let values = (!graph.value_info.is_empty())
            .then(|| self.ports("<", &graph.value_info, ">", Role::Stored, at(Entity::ValueInfo)));
        let (nodes, body_span) = match root {
            Some(root) => self.body(function.body, root),
            None => (Vec::new(), self.empty_list::<()>("{", "}").span),
        };
        let span = self.out.since(start);
        Function { notes, header, name, attrs, inputs, outputs, values, body: nodes, body_span, span }
    }
}

/// Words that the reference does not parse as names.
fn is_type_word(text: &str) -> bool {
    matches!(text, "seq" | "map" | "optional" | "sparse_tensor" | "opaque")
        || onnx_ir::ElemType::from_name(text).is_some()
        || crate::lower::literals::special(text).is_some()
}
