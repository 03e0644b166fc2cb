//! The inverse of finding places: the entity at a place of the text.

use super::{Scope, SourceMap, graph_around};
use crate::ast::{Data, FieldValue, Node, SugarForm, ValueInfo};
use onnx_ir::diag::{Entity, Span};
use onnx_ir::{BodyId, EntityId, GraphId, NodeId};

/// A node of a model with its statement.
#[derive(Clone, Copy, Debug)]
pub struct NodeAt<'a> {
    /// The body of the node.
    pub body: BodyId,
    /// The node.
    pub id: NodeId,
    /// Its statement.
    pub tree: &'a Node,
}

impl<'a> SourceMap<'a> {
    /// The innermost node whose statement has this byte, or ends at it.
    pub fn node_at(&self, offset: u32) -> Option<NodeAt<'a>> {
        let (body, scope) = self.body_at(offset)?;
        let statement = innermost(scope.body, offset)?;
        if statement.sugar.is_none() {
            return self.node_of(body, statement);
        }
        let tree = statement.innermost_at(offset);
        let position = statement.position_of(tree)?;
        let id = self.of_statement(body, statement.span.start).nth(position + tree.count() - 1)?;
        Some(NodeAt { body, id, tree })
    }

    /// The node of a statement.
    pub fn node_of(&self, body: BodyId, tree: &'a Node) -> Option<NodeAt<'a>> {
        // It is the last of its nodes, but for those of literals, which were made later.
        let position = tree.position_of(tree)? + tree.count() - 1;
        let id = self.of_statement(body, tree.span.start).nth(position)?;
        Some(NodeAt { body, id, tree })
    }

    /// The smallest entity with a place of its own at a byte: a part of a node, a declaration, or a function.
    ///
    /// ```
    /// use onnx_ir::diag::Entity;
    /// use onnx_text::{SourceMap, lower, parse_model};
    ///
    /// let text = "g (float[N] x) => (float[N] y) { y = Relu(x) }";
    /// let syntax = parse_model(text).value;
    /// let model = lower(text, &syntax).value;
    /// let map = SourceMap::new(text, &syntax.tree, &model);
    /// let entity = map.entity_at(text.find("x) }").unwrap() as u32);
    /// assert!(matches!(entity, Some(Entity::NodeInput(_, _, 0))));
    /// assert_eq!(map.span(entity.unwrap()).map(|span| &text[span.range()]), Some("x"));
    /// ```
    pub fn entity_at(&self, offset: u32) -> Option<Entity> {
        let (body, scope) = self.body_at(offset)?;
        if let Some(NodeAt { id, tree, .. }) = self.node_at(offset) {
            if let Some(graph) = graph_around(tree, offset)
                && has(graph.span, offset)
            {
                let inner = self.graph_id(body, id, graph.span)?;
                return self.declaration_at(body, inner, &Scope::of_graph(graph), offset);
            }
            return Some(self.part_of_node(body, id, tree, offset));
        }
        let root = self.model.bodies.get(body)?.root()?;
        let function = self.model.functions.iter().find(|(_, function)| function.body == body);
        match function {
            Some((id, _)) if has(scope.name, offset) => Some(Entity::Function(id)),
            _ => self.declaration_at(body, root, &scope, offset),
        }
    }

    fn part_of_node(&self, body: BodyId, id: NodeId, tree: &Node, offset: u32) -> Entity {
        let position = |names: &[Span]| {
            let at = names.iter().position(|&name| !name.is_empty() && has(name, offset))?;
            u32::try_from(at).ok()
        };
        if let Some(i) = position(&tree.outputs) {
            return Entity::NodeOutput(body, id, i);
        }
        // An operand may follow its operator directly: `x[0]`, `-x`.
        if let Some(i) = position(&tree.inputs) {
            return self.operand(body, id, tree, i);
        }
        if has(tree.domain.map_or(tree.op, |domain| domain.to(tree.op)), offset) {
            return Entity::NodeOp(body, id);
        }
        let attrs = &self.model.bodies[body].nodes[id].attrs;
        let attr = (0..u32::try_from(attrs.len()).unwrap_or(u32::MAX))
            .find(|&i| self.attr_span(body, id, i).is_some_and(|span| has(span, offset)));
        attr.map_or(Entity::Node(body, id), |i| Entity::Attr(body, id, i))
    }

    /// The operand of the model that an input of an expression is. Of the nodes that a form stands for, the last one is known; that of a
    /// subscript gathers the first of the indices.
    fn operand(&self, body: BodyId, last: NodeId, tree: &Node, i: u32) -> Entity {
        let at = i as usize;
        let (before, input) = match tree.form() {
            SugarForm::Subscript if at == 0 => (tree.count() - 1, 0),
            SugarForm::Subscript => (at - 1, 1),
            SugarForm::Unequal => (1, i),
            SugarForm::Call | SugarForm::Infix | SugarForm::Prefix => (0, i),
        };
        let index = last.index().checked_sub(before);
        let node = index.and_then(|index| self.model.bodies[body].nodes.id_at(index));
        Entity::NodeInput(body, node.unwrap_or(last), input)
    }

    /// The declaration of a graph at a byte.
    fn declaration_at(&self, body: BodyId, graph: GraphId, scope: &Scope<'_>, offset: u32) -> Option<Entity> {
        let at = |list: &[ValueInfo]| {
            let i = list.partition_point(|value| value.span.end < offset);
            list.get(i).filter(|value| has(value.span, offset)).and_then(|_| u32::try_from(i).ok())
        };
        if let Some(i) = at(scope.inputs) {
            return Some(Entity::Input(body, graph, i));
        }
        if let Some(i) = at(scope.outputs) {
            return Some(Entity::Output(body, graph, i));
        }
        let i = at(scope.values)? as usize;
        let before = &scope.values[..i];
        let count = |is: fn(&ValueInfo) -> bool, list: &[ValueInfo]| {
            u32::try_from(list.iter().filter(|value| is(value)).count()).unwrap_or(u32::MAX)
        };
        let is_sparse = |value: &ValueInfo| matches!(value.data, Some(Data::Sparse(_)));
        let is_dense =
            |value: &ValueInfo| value.data.is_some() && !matches!(value.data, Some(Data::Sparse(_)));
        let is_plain = |value: &ValueInfo| value.data.is_none();
        Some(match &scope.values[i].data {
            None => {
                let signature = u32::try_from(scope.signature().count()).unwrap_or(u32::MAX);
                Entity::ValueInfo(body, graph, signature + count(is_plain, before))
            }
            Some(Data::Sparse(_)) => Entity::SparseInitializer(body, graph, count(is_sparse, before)),
            Some(_) => {
                Entity::Initializer(body, graph, count(is_dense, scope.inputs) + count(is_dense, before))
            }
        })
    }

    /// The graph in the attributes of a node at a place.
    fn graph_id(&self, body: BodyId, node: NodeId, span: Span) -> Option<GraphId> {
        let tree = self.node(body, node)?;
        let position = tree.subgraphs().iter().position(|graph| graph.span == span)?;
        self.model.bodies.get(body)?.subgraphs(node).nth(position)
    }

    /// The main graph, function or graph of a training around a byte.
    fn body_at(&self, offset: u32) -> Option<(BodyId, Scope<'a>)> {
        if let Some(graph) = self.file.graph.as_ref().filter(|graph| has(graph.span, offset)) {
            return Some((self.model.main?, Scope::of_graph(graph)));
        }
        if self.file.header.as_ref().is_some_and(|header| has(header.span, offset)) {
            return self.training_at(offset);
        }
        let functions = &self.file.functions;
        let i = functions.partition_point(|function| function.span.end < offset);
        let function = functions.get(i).filter(|function| has(function.span, offset))?;
        let id = self.model.functions.id_at(i)?;
        Some((self.model.functions[id].body, Scope::of_function(function)))
    }
}

impl<'a> SourceMap<'a> {
    fn training_at(&self, offset: u32) -> Option<(BodyId, Scope<'a>)> {
        let fields = self.header()?.iter().filter(|field| self.text(field.key) == "training_info");
        let mut trainings = fields.zip(&self.model.training);
        let (field, training) = trainings.find(|(field, _)| has(field.value.span(), offset))?;
        let FieldValue::Record(record) = &field.value else { return None };
        record.items.iter().find_map(|part| {
            let FieldValue::Graph(graph) = &part.value else { return None };
            let body = match self.text(part.key) {
                "initialization" => training.initialization,
                "algorithm" => training.algorithm,
                _ => None,
            };
            body.filter(|_| has(graph.span, offset)).map(|body| (body, Scope::of_graph(graph)))
        })
    }
}

fn has(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

/// The innermost statement with a byte. Of two that meet there, the one that begins there.
fn innermost(nodes: &[Node], offset: u32) -> Option<&Node> {
    let mut nodes = nodes;
    let mut found = None;
    loop {
        let next = nodes.partition_point(|node| node.span.start <= offset);
        let Some(node) = next.checked_sub(1).map(|at| &nodes[at]).filter(|node| has(node.span, offset))
        else {
            return found;
        };
        found = Some(node);
        match graph_around(node, offset) {
            Some(graph) if has(graph.body_span, offset) => nodes = &graph.body,
            _ => return found,
        }
    }
}
