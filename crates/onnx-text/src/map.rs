//! Where the entities of a lowered model are written.
//!
//! Nothing is recorded on the way down: the tree is kept, nodes remember where their statement begins, and everything
//! else is found by its position in the list that it came from. So a model costs nothing for the diagnostics that it
//! does not have.

mod edits;
mod opset;

pub use opset::OpsetMap;

use crate::ast::{self, Data, Element, Field, FieldValue, List, Node, ValueInfo};
use crate::lower::keys;
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{BodyId, EntityId, FunctionId, GraphId, Model, NodeId, Origin};

/// Finds entities of a model in the text that it was lowered from.
#[derive(Clone, Copy)]
pub struct SourceMap<'a> {
    source: &'a str,
    file: &'a ast::File,
    model: &'a Model,
}

/// The parts that graphs and functions share.
#[derive(Clone, Copy)]
struct Scope<'a> {
    name: Span,
    inputs: &'a [ValueInfo],
    outputs: &'a [ValueInfo],
    values: &'a [ValueInfo],
    /// Where the values stand, if anywhere.
    list: Option<&'a List<ValueInfo>>,
    body: &'a [Node],
    is_function: bool,
}

impl<'a> SourceMap<'a> {
    /// A map from `model` to the tree that [`lower`](crate::lower()) made it from.
    pub fn new(source: &'a str, file: &'a ast::File, model: &'a Model) -> Self {
        SourceMap { source, file, model }
    }

    /// Where an entity is written, the smallest part that stands for it.
    pub fn span(&self, entity: Entity) -> Option<Span> {
        match entity {
            Entity::Header => {
                self.file.header.as_ref().map(|h| h.span).or_else(|| self.top().map(|s| s.name))
            }
            Entity::IrVersion => self.header_field("ir_version"),
            Entity::ModelVersion => self.header_field("model_version"),
            Entity::OpsetImport(i) => {
                element(self.header()?, self.source, "opset_import", i).or_else(|| self.span(Entity::Header))
            }
            Entity::ModelMetadata(i) => element(self.header()?, self.source, "metadata_props", i),
            Entity::Function(f) => self.function(f).map(|f| f.name),
            Entity::FunctionOpsetImport(f, i) => {
                let function = self.function(f)?;
                let header = function.header.as_ref().map_or(&[][..], |h| &h.items);
                element(header, self.source, "opset_import", i).or(Some(function.name))
            }
            Entity::FunctionAttribute(f, i) => self.function_attr(f, i, false),
            Entity::FunctionAttributeDefault(f, i) => self.function_attr(f, i, true),
            Entity::Graph(b, g) => self.scope(b, g).map(|s| s.name),
            Entity::Input(b, g, i) => at(self.scope(b, g)?.inputs, i),
            Entity::Output(b, g, i) => at(self.scope(b, g)?.outputs, i),
            Entity::ValueInfo(b, g, i) => self.scope(b, g)?.value_info(i),
            Entity::Initializer(b, g, i) => {
                let scope = self.scope(b, g)?;
                let is_dense =
                    |v: &&ValueInfo| matches!(&v.data, Some(data) if !matches!(data, Data::Sparse(_)));
                nth(scope.inputs.iter().chain(scope.values).filter(is_dense), i)
            }
            Entity::SparseInitializer(b, g, i) => {
                nth(self.scope(b, g)?.values.iter().filter(|v| matches!(v.data, Some(Data::Sparse(_)))), i)
            }
            Entity::QuantizationAnnotation(b, g, i) => self.graph_note(b, g, keys::QUANTIZATION, i),
            Entity::Node(b, n) => self.node(b, n).map(|n| n.span),
            Entity::NodeOp(b, n) => self.node(b, n).map(|n| n.domain.map_or(n.op, |d| d.to(n.op))),
            Entity::NodeInput(b, n, i) => {
                let node = self.node(b, n)?;
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
            Entity::Attr(b, n, i) => {
                self.attr(b, n, i).map(|a| a.span).or_else(|| self.node(b, n).map(|n| n.span))
            }
            Entity::AttrReference(b, n, i) => match self.attr(b, n, i).and_then(|a| a.value.as_ref()) {
                // The name, and the `@` before it.
                Some(ast::AttrValue::Reference(name)) => {
                    let between = &self.source[..name.start as usize];
                    Some(
                        between
                            .rfind('@')
                            .and_then(|at| u32::try_from(at).ok())
                            .map_or(*name, |at| Span::new(at, name.end)),
                    )
                }
                _ => self.span(Entity::Attr(b, n, i)),
            },
            Entity::Training(i) => {
                let mut infos = self.header()?.iter().filter(|f| self.text(f.key) == "training_info");
                infos.nth(i as usize).map(|f| f.key)
            }
            Entity::Configuration(i) => {
                let mut records =
                    self.file.notes.fields().filter(|f| self.text(f.key) == keys::CONFIGURATION);
                records.nth(i as usize).map(|f| f.value.span())
            }
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
        let mut attrs = attrs.items.iter().filter(|a| a.value.is_some() == has_default);
        attrs.nth(i as usize).map(|a| a.span)
    }

    fn top(&self) -> Option<Scope<'a>> {
        self.file.graph.as_ref().map(Scope::of_graph)
    }

    /// The root of a body.
    fn root(&self, body: BodyId) -> Option<Scope<'a>> {
        if self.model.main == Some(body) {
            return self.top();
        }
        if let Some((id, _)) = self.model.functions.iter().find(|(_, f)| f.body == body) {
            return self.function(id).map(Scope::of_function);
        }
        let (i, info) = (0..)
            .zip(&self.model.training)
            .find(|(_, t)| t.initialization == Some(body) || t.algorithm == Some(body))?;
        let key = if info.initialization == Some(body) { "initialization" } else { "algorithm" };
        let mut infos = self.header()?.iter().filter(|f| self.text(f.key) == "training_info");
        let FieldValue::Record(record) = &infos.nth(i)?.value else { return None };
        match &record.items.iter().find(|f| self.text(f.key) == key)?.value {
            FieldValue::Graph(graph) => Some(Scope::of_graph(graph)),
            _ => None,
        }
    }

    fn scope(&self, body: BodyId, graph: GraphId) -> Option<Scope<'a>> {
        let Some(owner) = self.model.bodies[body].graphs.get(graph)?.owner else { return self.root(body) };
        let position = self.model.bodies[body].subgraphs(owner).position(|g| g == graph)?;
        let graphs = self.node(body, owner)?.subgraphs();
        graphs.get(position).map(|g| Scope::of_graph(g))
    }

    fn graph_note(&self, body: BodyId, graph: GraphId, key: &str, i: u32) -> Option<Span> {
        let notes = match self.model.bodies[body].graphs.get(graph)?.owner {
            None if self.model.main == Some(body) => &self.file.graph.as_ref()?.notes,
            _ => return self.scope(body, graph).map(|s| s.name),
        };
        notes.fields().filter(|f| self.text(f.key) == key).nth(i as usize).map(|f| f.value.span())
    }

    fn node(&self, body: BodyId, node: NodeId) -> Option<&'a Node> {
        let origin = self.model.bodies[body].origins[node];
        find_node(self.root(body)?.body, origin)
    }

    /// The attribute of a node at a position: the tree may have more, where one could not be lowered.
    fn attr(&self, body: BodyId, node: NodeId, i: u32) -> Option<&'a ast::Attr> {
        let tree = self.node(body, node)?;
        let attrs = &self.model.bodies[body].nodes[node].attrs;
        let name = attrs.get(i as usize)?.name;
        let before = attrs[..i as usize].iter().filter(|a| a.name == name).count();
        let spelled = |a: &&ast::Attr| {
            let text =
                crate::lower::literals::unquote(self.text(a.name), crate::lower::literals::Escapes::Literal);
            name.is_none_or(|n| *text == *self.model.names.bytes(n))
        };
        tree.attrs.as_ref()?.items.iter().filter(spelled).nth(before)
    }
}

impl<'a> Scope<'a> {
    fn of_graph(graph: &'a ast::Graph) -> Self {
        Scope {
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
            name: function.name,
            inputs: &function.inputs.items,
            outputs: &function.outputs.items,
            values: function.values.as_ref().map_or(&[], |l| &l.items),
            list: function.values.as_ref(),
            body: &function.body,
            is_function: true,
        }
    }

    fn value_info(&self, i: u32) -> Option<Span> {
        nth(self.signature().chain(self.values.iter().filter(|v| v.data.is_none())), i)
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

fn nth<'a>(mut list: impl Iterator<Item = &'a ValueInfo>, i: u32) -> Option<Span> {
    list.nth(i as usize).map(|v| v.span)
}

/// An element of a list that a field holds.
fn element(fields: &[Field], source: &str, key: &str, i: u32) -> Option<Span> {
    let (list, at) = element_at(fields, source, key, i)?;
    Some(list.items[at].span())
}

/// An element of a list that a field holds: the list, and where it is in it.
fn element_at<'a>(
    fields: &'a [Field],
    source: &str,
    key: &str,
    i: u32,
) -> Option<(&'a List<Element>, usize)> {
    let lists = fields.iter().filter(|f| &source[f.key.range()] == key).filter_map(|f| match &f.value {
        FieldValue::List(list) => Some(list),
        _ => None,
    });
    lists.flat_map(|list| (0..list.items.len()).map(move |at| (list, at))).nth(i as usize)
}

/// The node whose statement begins at `origin`: statements ascend, and one that holds another spans it.
fn find_node(nodes: &[Node], origin: Origin) -> Option<&Node> {
    let mut nodes = nodes;
    loop {
        let at = nodes.partition_point(|n| n.span.start <= origin.0).checked_sub(1)?;
        let node = &nodes[at];
        if node.span.start == origin.0 {
            return Some(node);
        }
        let graphs = node.subgraphs();
        let inside = graphs.iter().find(|g| (g.span.start..g.span.end).contains(&origin.0))?;
        nodes = &inside.body;
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
        let model = crate::lower(source, &parsed).model;
        let map = SourceMap::new(source, &parsed.tree, &model);
        let text = |e| map.span(e).map_or("", |s| &source[s.range()]);
        let main = model.main.expect("a main graph");
        let [root, then, other] = [0, 1, 2].map(GraphId::from_index);
        let [abs, cond, call, neg] = [0, 1, 2, 3].map(NodeId::from_index);
        let f = FunctionId::from_index(0);
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
    }
}
