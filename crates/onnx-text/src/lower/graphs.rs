//! Graphs, functions and nodes.

use super::sugar::{Inputs, Outputs};
use super::{Cx, Fields, ResultTypes};
use crate::ast;
use onnx_ir::diag::{Diagnostic, Span, code};
use onnx_ir::{BodyBuilder, Function, FunctionId, GraphId, Model, NodeId, NodeSpec, Origin, Port};

impl Cx<'_> {
    /// Lowers a graph into the builder's current place.
    pub(super) fn graph(
        &mut self,
        b: &mut BodyBuilder<'_>,
        graph: &ast::Graph,
        owner: Option<NodeId>,
    ) -> GraphId {
        // Each graph has the types of its own results.
        let outer = std::mem::take(&mut self.result_types);
        let id = self.begin_graph(b, graph, owner);
        for node in &graph.body {
            self.node(b, node);
        }
        self.end_graph(b, graph);
        self.result_types = outer;
        id
    }

    /// The part of a graph before its nodes.
    pub(super) fn begin_graph(
        &mut self,
        b: &mut BodyBuilder<'_>,
        graph: &ast::Graph,
        owner: Option<NodeId>,
    ) -> GraphId {
        let name = self.name(b.names, graph.name);
        let id = b.begin_graph(Some(name), owner);
        self.graph_notes(b, &graph.notes, owner.is_none());
        let inputs = graph.inputs.as_ref().map_or(&[][..], |l| &l.items);
        for input in inputs {
            let port = self.port(b, input);
            b.input_port(port);
        }
        let values = graph.values.as_ref().map_or(&[][..], |l| &l.items);
        for initializer in inputs.iter().chain(values) {
            self.initializer(b, initializer);
        }
        id
    }

    /// The part of a graph after its nodes.
    pub(super) fn end_graph(&mut self, b: &mut BodyBuilder<'_>, graph: &ast::Graph) {
        let mut results = ResultTypes::new(std::mem::take(&mut self.result_types));
        let types = results.by_name();
        for output in &graph.outputs.items {
            self.no_data(output, "output");
            let mut port = self.port(b, output);
            // The type of a result is that of the output, unless the output states another one.
            port.ty = port.ty.or_else(|| types.get(&port.name?).copied());
            results.note(&port);
            b.output_port(port);
        }
        let values = graph.values.as_ref().map_or(&[][..], |l| &l.items);
        for value in values.iter().filter(|v| v.data.is_none()) {
            let port = self.port(b, value);
            results.note(&port);
            b.value_info(port);
        }
        results.declare(b);
        b.end_graph();
    }

    pub(super) fn no_data(&mut self, value: &ast::ValueInfo, what: &str) {
        if let Some(data) = &value.data {
            let message = format!("an {what} cannot have elements");
            self.report(
                Diagnostic::new(&code::WRONG_KIND, data.span(), message)
                    .label("only inputs and initializers can have elements"),
            );
        }
    }

    pub(super) fn port(&mut self, b: &mut BodyBuilder<'_>, value: &ast::ValueInfo) -> Port {
        let name = self.name(b.names, value.name);
        let ty = value.ty.as_ref().map(|t| self.ty(b, t));
        let mut port = Port { name: Some(name), ty, ..Port::default() };
        self.port_notes(b, &value.notes, &mut port, value.data.is_some());
        port
    }

    fn initializer(&mut self, b: &mut BodyBuilder<'_>, value: &ast::ValueInfo) {
        let Some(data) = &value.data else { return };
        let name = self.name(b.names, value.name);
        if let ast::Data::Sparse(parts) = data {
            let dims = match &value.ty {
                Some(ast::Type::Tensor { elem, dims: Some(dims) }) if self.text(*elem) == "sparse" => {
                    dims.items.as_slice()
                }
                ty => {
                    let at = ty.as_ref().map_or(value.name, ast::Type::span);
                    self.wrong_kind(at, "`sparse` with the dense shape, as in `sparse[3,4] w`");
                    &[]
                }
            };
            let sparse = self.sparse(b, dims, parts, Some(name));
            b.sparse_initializer(sparse);
            return;
        }
        let tensor = self.tensor(b, value.ty.as_ref(), Some(name), data, &value.notes, value.span);
        b.initializer(tensor);
    }

    pub(super) fn node(&mut self, b: &mut BodyBuilder<'_>, node: &ast::Node) -> NodeId {
        let origin = Origin(node.span.start);
        if node.sugar.is_none() {
            return self.call(b, node, None, origin);
        }
        for (result, ty) in node.typed_results() {
            let stated = (self.name(b.names, result), self.ty(b, ty));
            self.result_types.push(stated);
        }
        let outputs: Outputs = node.outputs.iter().map(|&o| self.name(b.names, o)).collect();
        let result = outputs.iter().find(|output| !output.is_empty());
        let stem = result.map_or("t".to_owned(), |&name| b.names[name].to_owned());
        let inputs = self.operands(b, node, &stem, origin);
        self.expression(b, node, inputs, Some(outputs), &stem, origin).0
    }

    /// A node that is a call, with the names of its values if they are not those of the tree.
    pub(super) fn call(
        &mut self,
        b: &mut BodyBuilder<'_>,
        node: &ast::Node,
        values: Option<(Inputs, Outputs)>,
        origin: Origin,
    ) -> NodeId {
        let name = node.name.map(|n| self.name(b.names, n));
        if let Some(domain) = node.domain.filter(|domain| domain.is_empty()) {
            let place = Span::new(domain.start, domain.start + 1);
            let d = Diagnostic::new(
                &code::ODD_SPELLING,
                place,
                "an operator with a leading `.` is one of ai.onnx",
            );
            self.report(d.help("remove the `.`, or write the domain"));
        }
        let domain = match node.domain {
            Some(domain) => Some(self.dotted(b.names, domain)),
            None => self.default_domain,
        };
        let op = self.name(b.names, node.op);
        let overload = node.overload.map(|o| self.name(b.names, o));
        let spec = NodeSpec { name, op: Some(op), domain, overload, origin };
        let (inputs, outputs) = values.unzip();
        let inputs: Inputs =
            inputs.unwrap_or_else(|| node.inputs.iter().map(|&i| self.name(b.names, i)).collect());
        let id = b.begin_node(spec, inputs);
        if let Some(attrs) = &node.attrs {
            b.body_mut().nodes[id].attrs.reserve_exact(attrs.items.len());
            for attr in &attrs.items {
                if attr.is_number() && node.has_named_attributes() && self.numbers_here.last() != Some(&id) {
                    self.numbers_here.push(id);
                }
                let lowered = match self.elem_type_number(b, node, attr) {
                    Some(number) => Some(number),
                    None => self.attr(b, attr, Some(id)),
                };
                if let Some(attr) = lowered {
                    b.attr(id, attr);
                }
            }
        }
        if !node.notes.is_empty() {
            self.node_notes(b, &node.notes, id);
        }
        let outputs: Outputs =
            outputs.unwrap_or_else(|| node.outputs.iter().map(|&o| self.name(b.names, o)).collect());
        b.end_node(id, outputs);
        id
    }

    pub(super) fn function(&mut self, model: &mut Model, function: &ast::Function) -> FunctionId {
        // Inputs and attributes are parameters.
        let name = self.name(&mut model.names, function.name);
        let mut b = BodyBuilder::new(model);
        b.begin_graph(None, None);
        for input in &function.inputs.items {
            self.no_data(input, "input of a function");
            let name = self.name(b.names, input.name);
            b.input(name, None);
        }
        let mut attributes = Vec::new();
        let mut attribute_defaults = Vec::new();
        for attr in function.attrs.iter().flat_map(|l| &l.items) {
            if attr.value.is_none() && attr.ty.is_none() {
                if let Some(field) = attr.notes.fields().next() {
                    self.unknown_key(field.key, &[]);
                }
                attributes.push(self.name(b.names, attr.name));
            } else if let Some(default) = self.attr(&mut b, attr, None) {
                attribute_defaults.push(default);
            }
        }
        // Nodes, outputs and declarations.
        let outer = std::mem::take(&mut self.result_types);
        for node in &function.body {
            self.node(&mut b, node);
        }
        let mut results = ResultTypes::new(std::mem::replace(&mut self.result_types, outer));
        for output in &function.outputs.items {
            self.no_data(output, "output of a function");
            let name = self.name(b.names, output.name);
            b.output(name, None);
        }
        let io = function
            .inputs
            .items
            .iter()
            .chain(&function.outputs.items)
            .filter(|v| v.ty.is_some() || !v.notes.is_empty());
        for value in io.chain(function.values.iter().flat_map(|l| &l.items)) {
            self.no_data(value, "entry of a function's value info");
            let port = self.port(&mut b, value);
            results.note(&port);
            b.value_info(port);
        }
        results.declare(&mut b);
        b.end_graph();
        let body = b.finish();
        self.end_body(body);
        // The header.
        let mut lowered = Function {
            name: Some(name),
            domain: None,
            overload: None,
            attributes,
            attribute_defaults,
            opset_imports: Vec::new(),
            doc: None,
            metadata: Vec::new(),
            body,
        };
        for field in function.header.iter().flat_map(|h| &h.items) {
            match self.text(field.key) {
                "opset_import" => {
                    lowered.opset_imports.extend(self.opset_imports(&mut model.names, &field.value))
                }
                "domain" => lowered.domain = Fields::HEADER.text(self, &mut model.names, &field.value),
                "overload" => lowered.overload = Fields::HEADER.text(self, &mut model.names, &field.value),
                "doc_string" => lowered.doc = Fields::HEADER.text(self, &mut model.names, &field.value),
                _ => self.unknown_key(field.key, &["opset_import", "domain", "overload", "doc_string"]),
            }
        }
        self.function_notes(model, &function.notes, &mut lowered);
        model.functions.push(lowered)
    }
}
