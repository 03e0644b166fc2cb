//! Finds the places of a model's entities in its text.
//!
//! Nothing is recorded during lowering: the tree is kept, nodes store the start of their statement, and everything else is found
//! by its position in its list. So a model without diagnostics costs nothing; and a list that was walked once is not walked
//! again.

mod at;
mod edits;
mod index;
mod opset;

pub use at::NodeAt;
pub use opset::OpsetMap;

use crate::ast::{
    self, AttrValue, Data, Element, Field, FieldValue, List, Node, Notes, SugarForm, ValueInfo,
};
use crate::lower::keys;
use index::{Index, Kind, Root};
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{BodyId, EntityId, FunctionId, GraphId, Model, NodeId, Origin};
use std::collections::HashMap;
use std::sync::Arc;

/// Finds entities of a model in the text that it was lowered from.
#[derive(Clone)]
pub struct SourceMap<'a> {
    source: &'a str,
    file: &'a ast::File,
    model: &'a Model,
    index: Arc<Index>,
}

/// Cached results of maps of one text and model. They borrow nothing: who keeps text, tree and model keeps them beside these, and makes a
/// [`SourceMap`] by [`with_index`](SourceMap::with_index) when a place is asked for, from any thread.
#[derive(Clone, Debug, Default)]
pub struct SourceIndex(Arc<Index>);

/// The parts that graphs and functions share.
#[derive(Clone, Copy)]
struct Scope<'a> {
    span: Span,
    name: Span,
    inputs: &'a [ValueInfo],
    outputs: &'a [ValueInfo],
    values: &'a [ValueInfo],
    /// The list of the values, if there is one.
    list: Option<&'a List<ValueInfo>>,
    body: &'a [Node],
    is_function: bool,
}

impl<'a> SourceMap<'a> {
    /// A map from `model` to the tree that [`lower`](crate::lower()) made it from.
    pub fn new(source: &'a str, file: &'a ast::File, model: &'a Model) -> Self {
        SourceMap { source, file, model, index: Arc::default() }
    }

    /// The same; what it finds out is kept in `index`, which is of no other text or model.
    pub fn with_index(source: &'a str, file: &'a ast::File, model: &'a Model, index: &SourceIndex) -> Self {
        SourceMap { source, file, model, index: Arc::clone(&index.0) }
    }

    /// The span of an entity, as small as possible.
    pub fn span(&self, entity: Entity) -> Option<Span> {
        match entity {
            Entity::Header => {
                self.file.header.as_ref().map(|h| h.span).or_else(|| self.top().map(|s| s.name))
            }
            Entity::IrVersion => self.header_field("ir_version"),
            Entity::ModelVersion => self.header_field("model_version"),
            Entity::OpsetImport(i) => {
                self.element(self.header()?, "opset_import", i).or_else(|| self.span(Entity::Header))
            }
            Entity::ModelMetadata(i) => self.element(self.header()?, "metadata_props", i),
            Entity::Function(f) => self.function(f).map(|f| f.name),
            Entity::FunctionOpsetImport(f, i) => {
                let function = self.function(f)?;
                let header = function.header.as_ref().map_or(&[][..], |h| &h.items);
                self.element(header, "opset_import", i).or(Some(function.name))
            }
            Entity::FunctionAttribute(f, i) => self.function_attr(f, i, false),
            Entity::FunctionAttributeDefault(f, i) => self.function_attr(f, i, true),
            // Graphs and their declarations.
            Entity::Graph(b, g) => self.scope(b, g).map(|s| s.name),
            Entity::Input(b, g, i) => at(self.scope(b, g)?.inputs, i),
            Entity::Output(b, g, i) => at(self.scope(b, g)?.outputs, i),
            Entity::ValueInfo(b, g, i) => {
                let scope = self.scope(b, g)?;
                self.value(scope, Kind::ValueInfos, i).or_else(|| self.typed_result(scope, b, g, i))
            }
            Entity::Initializer(b, g, i) => self.value(self.scope(b, g)?, Kind::Dense, i),
            Entity::InitializerEntry(b, g, i, k) => {
                let scope = self.scope(b, g)?;
                let span = self.value(scope, Kind::Dense, i)?;
                let lists = [scope.inputs, scope.values];
                let value = lists.into_iter().find_map(|list| {
                    list.get(list.partition_point(|v| v.span.start < span.start)).filter(|v| v.span == span)
                });
                value.and_then(|v| self.entry(v.data.as_ref()?, k)).or(Some(span))
            }
            Entity::SparseInitializer(b, g, i) => self.value(self.scope(b, g)?, Kind::Sparse, i),
            Entity::QuantizationAnnotation(b, g, i) => self.graph_note(b, g, keys::QUANTIZATION, i),
            // Nodes and their attributes.
            Entity::Node(b, n) => self.node(b, n).map(|n| n.span),
            Entity::NodeOp(b, n) => self.node(b, n).map(|n| n.domain.map_or(n.op, |d| d.to(n.op))),
            Entity::NodeInput(b, n, i) => {
                let node = self.node(b, n)?;
                if let Some(part) = self.part_of_subscript(b, n, i) {
                    return Some(part);
                }
                Some(
                    node.inputs
                        .get(i as usize)
                        .copied()
                        .filter(|s| !s.is_empty())
                        .unwrap_or(node.inputs_span),
                )
            }
            Entity::NodeOutput(b, n, i) => {
                let node = self.node(b, n)?;
                Some(node.outputs.get(i as usize).copied().filter(|s| !s.is_empty()).unwrap_or(node.span))
            }
            // The axis of a subscript has no other place than its index.
            Entity::Attr(b, n, i) => (self.attr_span(b, n, i))
                .or_else(|| self.part_of_subscript(b, n, 1))
                .or_else(|| self.node(b, n).map(|n| n.span)),
            Entity::AttrReference(b, n, i) => match self.attr(b, n, i).and_then(|a| a.value.as_ref()) {
                // The name, and the `@` before it.
                Some(AttrValue::Reference(name)) => {
                    let at = self.source[..name.start as usize].rfind('@');
                    let start = at.and_then(|at| u32::try_from(at).ok()).unwrap_or(name.start);
                    Some(Span::new(start, name.end))
                }
                _ => self.span(Entity::Attr(b, n, i)),
            },
            Entity::AttrEntry(b, n, i, k) => match self.attr(b, n, i).and_then(|a| a.value.as_ref()) {
                Some(AttrValue::Tensor(tensor)) => self.entry(&tensor.data, k),
                _ => None,
            }
            .or_else(|| self.span(Entity::Attr(b, n, i))),
            Entity::Training(i) => self.field(self.header()?, "training_info", i).map(|f| f.key),
            Entity::Configuration(i) => self.note(&self.file.notes, keys::CONFIGURATION, i),
            // Models have none: see `value_span` and `OpsetMap`.
            Entity::Data(_)
            | Entity::OpsetVersion
            | Entity::Operator(_)
            | Entity::OperatorInput(..)
            | Entity::OperatorOutput(..)
            | Entity::OperatorAttribute(..)
            | Entity::OperatorVariable(..) => None,
        }
    }

    fn text(&self, span: Span) -> &'a str {
        &self.source[span.range()]
    }

    fn header(&self) -> Option<&'a [Field]> {
        self.file.header.as_ref().map(|h| &h.items[..])
    }

    fn header_field(&self, key: &str) -> Option<Span> {
        let field = self.header()?.iter().find(|f| self.text(f.key) == key);
        field.map(|f| f.key.to(f.value.span())).or_else(|| self.span(Entity::Header))
    }

    fn function(&self, id: FunctionId) -> Option<&'a ast::Function> {
        self.file.functions.get(id.index())
    }

    fn function_attr(&self, id: FunctionId, i: u32, has_default: bool) -> Option<Span> {
        let attrs = self.function(id)?.attrs.as_ref()?;
        self.index.entry((Kind::Formals(has_default), attrs.span.start), i, || {
            attrs.items.iter().filter(|a| a.value.is_some() == has_default).map(|a| a.span)
        })
    }

    /// The place of a value of a kind among those of a graph or function.
    fn value(&self, scope: Scope<'a>, kind: Kind, i: u32) -> Option<Span> {
        self.index.entry((kind, scope.span.start), i, || {
            let inputs = scope.inputs.iter().filter(move |_| kind == Kind::Dense);
            let signature = scope.signature().filter(move |_| kind == Kind::ValueInfos);
            let is_meant = move |v: &&ValueInfo| match &v.data {
                None => kind == Kind::ValueInfos,
                Some(Data::Sparse(_)) => kind == Kind::Sparse,
                Some(_) => kind == Kind::Dense,
            };
            signature.chain(inputs.chain(scope.values).filter(is_meant)).map(|v| v.span)
        })
    }

    /// The result whose statement states the type of an entry of `value_info`: from the type to its name.
    fn typed_result(&self, scope: Scope<'a>, body: BodyId, graph: GraphId, i: u32) -> Option<Span> {
        let entries = &self.model.bodies.get(body)?.graphs.get(graph)?.value_info;
        let span = self.index.entry((Kind::TypedResults, scope.span.start), i, || {
            let mut places: HashMap<String, Span> = HashMap::new();
            for (result, ty) in scope.body.iter().flat_map(Node::typed_results) {
                let name = crate::lower::spelled_name(self.text(result));
                places.entry(name).or_insert(ty.span().to(result));
            }
            let place = move |name: &str| places.get(name).copied().unwrap_or_default();
            entries.iter().map(move |entry| place(self.model.text(entry.name)))
        })?;
        (!span.is_empty()).then_some(span)
    }

    /// The field of this name at a position.
    fn field(&self, fields: &'a [Field], key: &'static str, i: u32) -> Option<&'a Field> {
        let start = fields.first()?.key.start;
        let span = self.index.entry((Kind::Fields(key), start), i, || {
            fields.iter().filter(move |f| self.text(f.key) == key).map(|f| f.key)
        })?;
        fields.get(fields.partition_point(|f| f.key.start < span.start))
    }

    /// The value of the field of this name at a position in annotations.
    fn note(&self, notes: &'a Notes, key: &'static str, i: u32) -> Option<Span> {
        self.index.entry((Kind::Notes(key), notes.start()?), i, || {
            notes.fields().filter(move |f| self.text(f.key) == key).map(|f| f.value.span())
        })
    }

    /// The element at a position of the lists of fields with this name.
    fn element(&self, fields: &'a [Field], key: &'static str, i: u32) -> Option<Span> {
        let start = fields.first()?.key.start;
        self.index.entry((Kind::Elements(key), start), i, || {
            let lists =
                fields.iter().filter(move |f| self.text(f.key) == key).filter_map(|f| match &f.value {
                    FieldValue::List(list) => Some(list),
                    _ => None,
                });
            lists.flat_map(|list| list.items.iter().map(Element::span))
        })
    }

    /// The list with such an element, and its index there.
    fn element_at(
        &self,
        fields: &'a [Field],
        key: &'static str,
        i: u32,
    ) -> Option<(&'a List<Element>, usize)> {
        let span = self.element(fields, key, i)?;
        let field = fields.partition_point(|f| f.key.start <= span.start).checked_sub(1)?;
        let FieldValue::List(list) = &fields[field].value else { return None };
        Some((list, list.items.partition_point(|e| e.span().start < span.start)))
    }

    /// An entry of external data.
    fn entry(&self, data: &Data, i: u32) -> Option<Span> {
        let list = match data {
            Data::External(list) => list,
            Data::Record(record) => {
                let field = record.items.iter().find(|f| self.text(f.key) == "external_data")?;
                match &field.value {
                    FieldValue::List(list) => list,
                    _ => return None,
                }
            }
            Data::Numbers(_) | Data::Elements(_) | Data::Sparse(_) | Data::Stored(_) => return None,
        };
        list.items.get(i as usize).map(Element::span)
    }

    fn top(&self) -> Option<Scope<'a>> {
        self.file.graph.as_ref().map(Scope::of_graph)
    }

    /// The root of a body.
    fn root(&self, body: BodyId) -> Option<Scope<'a>> {
        if self.model.main == Some(body) {
            return self.top();
        }
        let (i, key) = match self.owner(body)? {
            Root::Function(id) => return self.function(id).map(Scope::of_function),
            Root::Initialization(i) => (i, "initialization"),
            Root::Algorithm(i) => (i, "algorithm"),
        };
        let FieldValue::Record(record) = &self.field(self.header()?, "training_info", i)?.value else {
            return None;
        };
        match &record.items.iter().find(|f| self.text(f.key) == key)?.value {
            FieldValue::Graph(graph) => Some(Scope::of_graph(graph)),
            _ => None,
        }
    }

    fn scope(&self, body: BodyId, graph: GraphId) -> Option<Scope<'a>> {
        let Some(owner) = self.model.bodies.get(body)?.graphs.get(graph)?.owner else {
            return self.root(body);
        };
        let position = self.graph_position(body, graph)?;
        let node = self.node(body, owner)?;
        let place = self.index.entry((Kind::Subgraphs, node.span.start), position, || {
            node.subgraphs().into_iter().map(|graph| graph.span)
        })?;
        graph_around(node, place.start).map(Scope::of_graph)
    }

    fn graph_note(&self, body: BodyId, graph: GraphId, key: &'static str, i: u32) -> Option<Span> {
        let notes = match self.model.bodies.get(body)?.graphs.get(graph)?.owner {
            None if self.model.main == Some(body) => &self.file.graph.as_ref()?.notes,
            _ => return self.scope(body, graph).map(|s| s.name),
        };
        self.note(notes, key, i)
    }

    /// `None` also for a node of another model: a finding about a changed model may be looked up in the original.
    fn node(&self, body: BodyId, node: NodeId) -> Option<&'a Node> {
        let body_of = self.model.bodies.get(body)?;
        body_of.nodes.get(node)?;
        let statement = find_node(self.root(body)?.body, body_of.origins[node])?;
        if statement.sugar.is_none() {
            return Some(statement);
        }
        // The nodes of an expression were made in its order. What was made later, for its literals, is about all of it.
        let position = self.of_statement(body, statement.span.start).position(|id| id == node)?;
        Some(statement.at_position(position).unwrap_or(statement))
    }

    /// The place of an operand of a node that a subscript stands for: of the value, or of the index or ranges of this node.
    fn part_of_subscript(&self, body: BodyId, node: NodeId, input: u32) -> Option<Span> {
        let tree = self.node(body, node)?;
        let sugar = tree.sugar.as_ref().filter(|sugar| sugar.form == SugarForm::Subscript)?;
        if input == 0 {
            return tree.inputs.first().copied();
        }
        let statement = find_node(self.root(body)?.body, self.model.bodies[body].origins[node])?;
        let position = self.of_statement(body, statement.span.start).position(|id| id == node)?;
        sugar.items_of_node(position.checked_sub(statement.position_of(tree)?)?)
    }

    /// The attribute of a node at a position.
    fn attr(&self, body: BodyId, node: NodeId, i: u32) -> Option<&'a ast::Attr> {
        let (list, at) = self.attr_at(body, node, i)?;
        list.items.get(at)
    }

    /// The attributes of a node, and where the one at a position is in them.
    fn attr_at(&self, body: BodyId, node: NodeId, i: u32) -> Option<(&'a List<ast::Attr>, usize)> {
        let span = self.attr_span(body, node, i)?;
        let list = self.node(body, node)?.attrs.as_ref()?;
        Some((list, list.items.partition_point(|attr| attr.span.start < span.start)))
    }
}

impl<'a> Scope<'a> {
    fn of_graph(graph: &'a ast::Graph) -> Self {
        Scope {
            span: graph.span,
            name: graph.name,
            inputs: graph.inputs.as_ref().map_or(&[], |l| &l.items),
            outputs: &graph.outputs.items,
            values: graph.values.as_ref().map_or(&[], |l| &l.items),
            list: graph.values.as_ref(),
            body: &graph.body,
            is_function: false,
        }
    }

    fn of_function(function: &'a ast::Function) -> Self {
        Scope {
            span: function.span,
            name: function.name,
            inputs: &function.inputs.items,
            outputs: &function.outputs.items,
            values: function.values.as_ref().map_or(&[], |l| &l.items),
            list: function.values.as_ref(),
            body: &function.body,
            is_function: true,
        }
    }

    /// Types in the signature of a function are entries of its `value_info`.
    fn signature(&self) -> impl Iterator<Item = &'a ValueInfo> + use<'a> {
        let Scope { inputs, outputs, is_function, .. } = *self;
        let is_entry = move |v: &&ValueInfo| is_function && (v.ty.is_some() || !v.notes.is_empty());
        inputs.iter().chain(outputs).filter(is_entry)
    }
}

fn at(list: &[ValueInfo], i: u32) -> Option<Span> {
    list.get(i as usize).map(|v| v.span)
}

/// The node whose statement starts at `origin`: statements ascend, and one that contains another spans it.
fn find_node(nodes: &[Node], origin: Origin) -> Option<&Node> {
    let mut nodes = nodes;
    loop {
        let at = nodes.partition_point(|n| n.span.start <= origin.0).checked_sub(1)?;
        let node = &nodes[at];
        if node.span.start == origin.0 {
            return Some(node);
        }
        nodes = &graph_around(node, origin.0)?.body;
    }
}

/// The graph in the attributes of a node, or of an expression in it, that has this byte: attributes and elements ascend.
fn graph_around(node: &Node, at: u32) -> Option<&ast::Graph> {
    if let Some(inner) = node.nested().find(|inner| inner.span.start <= at && at < inner.span.end) {
        return graph_around(inner, at);
    }
    let mut attrs = &node.attrs.as_ref()?.items[..];
    loop {
        let attr = attrs.get(attrs.partition_point(|attr| attr.span.start <= at).checked_sub(1)?)?;
        let graph = match attr.value.as_ref()? {
            AttrValue::Graph(graph) => graph,
            AttrValue::Record(parts) => {
                attrs = &parts.items;
                continue;
            }
            AttrValue::List(list) | AttrValue::Braced(list) => {
                let next = list.items.partition_point(|element| element.value.span().start <= at);
                match &list.items.get(next.checked_sub(1)?)?.value {
                    AttrValue::Graph(graph) => graph,
                    _ => return None,
                }
            }
            _ => return None,
        };
        return (graph.span.start..graph.span.end).contains(&at).then_some(graph);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_found_where_they_are_written() {
        let source = r#"<ir_version: 10, opset_import: ["": 21, "l": 1]>
g (bool c, float[N] x = {1}) => (float[N] y) <float[N] t, float[1] w = {2}> {
  t = Abs(x)
  y = If(c) <then_branch = a () => (p) { p = l.f <alpha = 1.0> (t) }, else_branch = b () => (q) { q = Neg(t) }>
}
<domain: "l", opset_import: ["": 21]> f <alpha: float = 1.0> (float v) => (u) { u = Relu(v) }"#;
        let parsed = crate::parse_model(source);
        let model = crate::lower(source, &parsed.value).value;
        let map = SourceMap::new(source, &parsed.value.tree, &model);
        let text = |e| map.span(e).map_or("", |s| &source[s.range()]);
        let main = model.main.expect("a main graph");
        let body = &model.bodies[main];
        let [root, then, other] = [0, 1, 2].map(|at| body.graphs.id_at(at).expect("a graph"));
        let [abs, cond, call, neg] = [0, 1, 2, 3].map(|at| body.nodes.id_at(at).expect("a node"));
        let f = model.functions.id_at(0).expect("a function");
        assert_eq!(text(Entity::IrVersion), "ir_version: 10");
        assert_eq!(text(Entity::OpsetImport(1)), r#""l": 1"#);
        assert_eq!(text(Entity::Input(main, root, 1)), "float[N] x = {1}");
        assert_eq!(text(Entity::Initializer(main, root, 1)), "float[1] w = {2}");
        assert_eq!(text(Entity::ValueInfo(main, root, 0)), "float[N] t");
        assert_eq!(text(Entity::NodeInput(main, abs, 0)), "x");
        assert_eq!(text(Entity::NodeOp(main, call)), "l.f");
        assert_eq!(text(Entity::Attr(main, call, 0)), "alpha = 1.0");
        assert_eq!(text(Entity::Attr(main, cond, 1)), "else_branch = b () => (q) { q = Neg(t) }");
        assert_eq!((text(Entity::Graph(main, then)), text(Entity::Graph(main, other))), ("a", "b"));
        assert_eq!(text(Entity::NodeOutput(main, neg, 0)), "q");
        assert_eq!(text(Entity::FunctionAttributeDefault(f, 0)), "alpha: float = 1.0");
        assert_eq!(text(Entity::ValueInfo(model.functions[f].body, root, 0)), "float v");
        assert_eq!(text(Entity::FunctionOpsetImport(f, 0)), r#""": 21"#);
        // The other way round, from the first and the last byte of each.
        let inner = model.functions[f].body;
        let call_of_f = model.bodies[inner].nodes.id_at(0).expect("a node");
        for entity in [
            Entity::Input(main, root, 0),
            Entity::Input(main, root, 1),
            Entity::Output(main, root, 0),
            Entity::ValueInfo(main, root, 0),
            Entity::Initializer(main, root, 1),
            Entity::NodeInput(main, abs, 0),
            Entity::NodeOutput(main, abs, 0),
            Entity::NodeOp(main, call),
            Entity::Attr(main, call, 0),
            Entity::Output(main, then, 0),
            Entity::Output(main, other, 0),
            Entity::NodeOutput(main, neg, 0),
            Entity::NodeInput(main, cond, 0),
            Entity::NodeInput(inner, call_of_f, 0),
            Entity::Function(f),
        ] {
            let span = map.span(entity).expect("a place");
            assert_eq!(map.entity_at(span.start), Some(entity), "{}", &source[span.range()]);
            assert_eq!(map.entity_at(span.end - 1), Some(entity), "{}", &source[span.range()]);
        }
        assert_eq!(map.entity_at(0), None);
    }

    /// A finding about a changed model is looked up in the text of the original, which has fewer of everything.
    #[test]
    fn entities_of_another_model_have_no_place_and_do_no_harm() {
        let large = crate::read_model(
            r#"<ir_version: 10, opset_import: ["": 21, "l": 1], metadata_props: ["a": "b", "c": "d"]>
g (bool c, float[N] x) => (float[N] y, float[N] z) <float[N] t, float[1] w = {2}, float[1] v = {1}> {
  t = Abs(x)
  y = If(c) <then_branch = a () => (p) { p = l.f <alpha = 1.0> (t) }, else_branch = b () => (q) { q = Neg(t) }>
  z = Add(x, w)
}
<domain: "l", opset_import: ["": 21, "m": 1]> f <beta, alpha: float = 1.0> (float v) => (u) { u = Relu(v) }
<domain: "l", opset_import: ["": 21]> h (v) => (u) { k = Relu(v) u = Relu(k) }"#,
        )
        .value;
        let source = "g () => (float[1] y) { y = Constant <value = float[1] {1}> () }";
        let parsed = crate::parse_model(source);
        let model = crate::lower(source, &parsed.value).value;
        let map = SourceMap::new(source, &parsed.value.tree, &model);
        let mut entities = vec![Entity::Header, Entity::IrVersion, Entity::ModelVersion];
        for i in 0..3 {
            let numbered =
                [Entity::OpsetImport, Entity::ModelMetadata, Entity::Training, Entity::Configuration];
            entities.extend(numbered.map(|of| of(i)));
            for f in large.functions.ids() {
                let of_function = [
                    Entity::FunctionOpsetImport,
                    Entity::FunctionAttribute,
                    Entity::FunctionAttributeDefault,
                ];
                entities.push(Entity::Function(f));
                entities.extend(of_function.map(|of| of(f, i)));
            }
            for (b, body) in large.bodies.iter() {
                for g in body.graphs.ids() {
                    let of_graph = [
                        Entity::Input,
                        Entity::Output,
                        Entity::ValueInfo,
                        Entity::Initializer,
                        Entity::SparseInitializer,
                        Entity::QuantizationAnnotation,
                    ];
                    entities.push(Entity::Graph(b, g));
                    entities.extend(of_graph.map(|of| of(b, g, i)));
                }
                for n in body.nodes.ids() {
                    let of_node =
                        [Entity::NodeInput, Entity::NodeOutput, Entity::Attr, Entity::AttrReference];
                    entities.extend([Entity::Node(b, n), Entity::NodeOp(b, n)]);
                    entities.extend(of_node.map(|of| of(b, n, i)));
                }
            }
        }
        let places = entities.iter().filter_map(|&entity| map.span(entity)).count();
        assert!(0 < places && places < entities.len() / 4, "{places} of {}", entities.len());
    }
}
