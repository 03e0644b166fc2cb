//! The body that fusion rules query and change.

use crate::dims::Dim;
use crate::infer::{Facts, Ints, Ty};
use onnx_ir::{
    Attr, AttrValue, Body, BodyId, GraphId, Initializer, Model, Name, Node, NodeId, Payload, SecondaryMap,
    Tensor, TensorId, Use, Uses, Value, ValueDef, ValueId, normalize_domain,
};
use smallvec::SmallVec;
use std::collections::HashSet;

/// Before this IR version, initializers are inputs.
const INITIALIZERS_ALONE: i64 = 4;

/// The nodes of a body while rules are applied.
pub(super) struct FuseSite<'m> {
    model: &'m mut Model,
    facts: &'m Facts,
    /// The uses before the first change.
    uses: &'m Uses,
    local: &'m HashSet<(String, Name)>,
    body: BodyId,
    /// The version of ai.onnx.
    pub(super) version: i64,
    /// The tensors of values that are constant.
    tensors: SecondaryMap<ValueId, Option<TensorId>>,
    /// The fused nodes, each with the first node, which may be unused.
    fused: Vec<(NodeId, NodeId)>,
    /// New `Constant` nodes, each with its reader.
    made: Vec<(NodeId, NodeId)>,
    fresh: u64,
}

impl<'m> FuseSite<'m> {
    pub(super) fn new(
        model: &'m mut Model,
        facts: &'m Facts,
        uses: &'m Uses,
        local: &'m HashSet<(String, Name)>,
        body: BodyId,
        version: i64,
    ) -> Self {
        let tensors = constants(model, body);
        FuseSite {
            model,
            facts,
            uses,
            local,
            body,
            version,
            tensors,
            fused: Vec::new(),
            made: Vec::new(),
            fresh: 0,
        }
    }

    /// Inserts the new nodes; returns the fused nodes, each with the first node, which may be unused.
    pub(super) fn finish(self) -> Vec<(NodeId, NodeId)> {
        let FuseSite { model, uses, body, fused, made, .. } = self;
        for (reader, node) in made {
            let graph = uses.graph_of(reader);
            let Some(nodes) = graph.map(|graph| &mut model.bodies[body].graphs[graph].nodes) else {
                continue;
            };
            let at = nodes.iter().position(|n| *n == reader).unwrap_or(0);
            nodes.insert(at, node);
        }
        fused
    }

    pub(super) fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    pub(super) fn node(&self, node: NodeId) -> &Node {
        &self.body().nodes[node]
    }

    /// The name of a node's operator, if it is one of ai.onnx, has no attribute references and no device annotations.
    pub(super) fn op(&self, node: NodeId) -> Option<&str> {
        let n = self.node(node);
        let op = n.op.filter(|op| !self.local.contains(&(String::new(), *op)))?;
        let is_plain = normalize_domain(self.model.text(n.domain)).is_empty()
            && n.overload.is_none_or(|overload| self.model.names[overload].is_empty())
            && n.extra().devices.is_empty()
            && n.attrs.iter().all(|attr| attr.reference.is_none());
        is_plain.then(|| &self.model.names[op])
    }

    pub(super) fn is_op(&self, node: NodeId, op: &str) -> bool {
        self.op(node) == Some(op)
    }

    pub(super) fn input(&self, node: NodeId, i: usize) -> Option<ValueId> {
        self.node(node).inputs.get(i).copied().flatten()
    }

    /// The only result of a node.
    pub(super) fn result(&self, node: NodeId) -> Option<ValueId> {
        let (first, rest) = self.node(node).outputs.split_first()?;
        first.filter(|_| rest.iter().all(Option::is_none))
    }

    /// The node in the reader's graph whose only result is this value.
    pub(super) fn producer(&self, value: ValueId, reader: NodeId) -> Option<NodeId> {
        let ValueDef::Output(node, 0) = self.body().values[value].def else { return None };
        let is_here = self.uses.graph_of(node).is_some() && self.graph_of(node) == self.graph_of(reader);
        (is_here && self.result(node) == Some(value)).then_some(node)
    }

    fn graph_of(&self, node: NodeId) -> Option<GraphId> {
        self.uses.graph_of(node)
    }

    /// Whether a node is the only reader of a value, and nothing else names it.
    pub(super) fn is_read_by(&self, value: ValueId, node: NodeId) -> bool {
        matches!(self.uses.of_value(value), [Use::Input(reader, _)] if *reader == node)
            && !self.is_named(value)
    }

    /// Whether only nodes of the reader's graph with these operators read a value, and nothing else names it.
    pub(super) fn is_read_by_ops(&self, value: ValueId, reader: NodeId, ops: &[&str]) -> bool {
        let fits = |user: &Use| match *user {
            Use::Input(node, 0) => {
                self.graph_of(node) == self.graph_of(reader)
                    && self.op(node).is_some_and(|op| ops.contains(&op))
            }
            Use::Input(..) | Use::Output(..) => false,
        };
        self.uses.of_value(value).iter().all(fits) && !self.is_named(value)
    }

    /// The number of readers of a value before the sweep.
    pub(super) fn reads(&self, value: ValueId) -> usize {
        self.uses.of_value(value).len()
    }

    fn is_named(&self, value: ValueId) -> bool {
        self.uses.is_annotated(self.body().values[value].name)
    }

    pub(super) fn ty(&self, value: ValueId) -> &Ty {
        &self.facts.get(self.body, value).ty
    }

    pub(super) fn shape(&self, value: ValueId) -> Option<&[Dim]> {
        match self.ty(value) {
            Ty::Tensor(t) => t.shape.as_deref(),
            _ => None,
        }
    }

    /// The facts about the elements of a small tensor.
    pub(super) fn elems(&self, value: ValueId) -> Option<&crate::infer::SmallTensor> {
        self.facts.get(self.body, value).value.as_deref()
    }

    pub(super) fn ints(&self, value: ValueId) -> Option<Ints> {
        self.elems(value)?.ints()
    }

    /// The tensor of a constant value.
    pub(super) fn tensor(&self, value: ValueId) -> Option<&Tensor> {
        self.tensors[value].map(|tensor| &self.body().tensors[tensor])
    }

    pub(super) fn attr(&self, node: NodeId, name: &str) -> Option<&AttrValue> {
        self.node(node).attrs.iter().find(|attr| self.model.text(attr.name) == name)?.value()
    }

    /// An integer attribute or its default; `None` if the attribute has another type.
    pub(super) fn int_attr(&self, node: NodeId, name: &str, default: i64) -> Option<i64> {
        match self.attr(node, name) {
            None => Some(default),
            Some(AttrValue::Int(i)) => Some(*i),
            Some(_) => None,
        }
    }

    pub(super) fn float_attr(&self, node: NodeId, name: &str, default: f32) -> Option<f32> {
        match self.attr(node, name) {
            None => Some(default),
            Some(AttrValue::Float(x)) => Some(*x),
            Some(_) => None,
        }
    }

    pub(super) fn ints_attr(&self, node: NodeId, name: &str) -> Option<Vec<i64>> {
        match self.attr(node, name)? {
            AttrValue::Ints(list) => Some(list.to_vec()),
            _ => None,
        }
    }

    pub(super) fn text_attr(&self, node: NodeId, name: &str, default: &'static str) -> Option<String> {
        match self.attr(node, name) {
            None => Some(default.to_owned()),
            Some(AttrValue::String(text)) => std::str::from_utf8(text).ok().map(str::to_owned),
            Some(_) => None,
        }
    }

    /// Changes the operator of a node, which keeps its results.
    pub(super) fn become_op(&mut self, node: NodeId, op: &str, inputs: &[Option<ValueId>], attrs: Vec<Attr>) {
        let op = self.model.names.intern(op);
        let n = &mut self.model.bodies[self.body].nodes[node];
        n.op = Some(op);
        n.inputs = SmallVec::from_slice(inputs);
        while matches!(n.inputs.last(), Some(None)) {
            n.inputs.pop();
        }
        n.attrs = attrs;
    }

    /// Moves the name of the first node to the fused one.
    pub(super) fn take_name(&mut self, node: NodeId, first: NodeId) {
        let nodes = &mut self.model.bodies[self.body].nodes;
        if let Some(name) = nodes[first].name.take() {
            nodes[node].name = Some(name);
        }
    }

    /// Sets an input of a node.
    pub(super) fn set_input(&mut self, node: NodeId, i: usize, value: ValueId) {
        if let Some(input) = self.model.bodies[self.body].nodes[node].inputs.get_mut(i) {
            *input = Some(value);
        }
    }

    /// The attributes of a node, except some.
    pub(super) fn attrs_without(&self, node: NodeId, names: &[&str]) -> Vec<Attr> {
        let is_other = |attr: &&Attr| !names.contains(&self.model.text(attr.name));
        self.node(node).attrs.iter().filter(is_other).cloned().collect()
    }

    pub(super) fn new_attr(&mut self, name: &str, value: AttrValue) -> Attr {
        Attr::new(self.model.names.intern(name), value)
    }

    /// Records that a node computes what another one has computed for it, which may be unused now.
    pub(super) fn absorb(&mut self, node: NodeId, first: NodeId) {
        self.fused.push((node, first));
    }

    /// A new constant, named after a value.
    pub(super) fn constant(&mut self, reader: NodeId, like: Option<ValueId>, tensor: Tensor) -> ValueId {
        let stem = like.map_or("constant", |v| &self.model.names[self.body().values[v].name]).to_owned();
        let name = self.fresh_name(&stem);
        let is_old = self.model.header.ir_version.is_none_or(|version| version < INITIALIZERS_ALONE);
        let home = self.graph_of(reader).filter(|_| !is_old);
        let domain = self.node(reader).domain;
        let (op, attr) = (self.model.names.intern("Constant"), self.model.names.intern("value"));
        let body = &mut self.model.bodies[self.body];
        match home {
            Some(graph) => {
                let value = body.values.push(Value { name, def: ValueDef::Initializer(graph) });
                let tensor = body.tensors.push(Tensor { name: Some(name), ..tensor });
                body.graphs[graph].initializers.push(Initializer { value, tensor });
                self.tensors[value] = Some(tensor);
                value
            }
            None => {
                let tensor = body.tensors.push(tensor);
                let attrs = vec![Attr::new(attr, AttrValue::Tensor(tensor))];
                let node = body.nodes.push(Node { op: Some(op), domain, attrs, ..Node::default() });
                body.origins[node] = body.origins[reader];
                let value = body.values.push(Value { name, def: ValueDef::Output(node, 0) });
                body.nodes[node].outputs.push(Some(value));
                self.made.push((reader, node));
                self.tensors[value] = Some(tensor);
                value
            }
        }
    }

    /// A new constant list of integers.
    pub(super) fn int_list(&mut self, reader: NodeId, like: Option<ValueId>, list: Vec<i64>) -> ValueId {
        let mut tensor = Tensor { elem: Some(onnx_ir::ElemType::INT64), ..Tensor::default() };
        tensor.dims.push(i64::try_from(list.len()).unwrap_or(i64::MAX));
        if !list.is_empty() {
            tensor.data.push(Payload::int64s(list));
        }
        self.constant(reader, like, tensor)
    }

    fn fresh_name(&mut self, stem: &str) -> Name {
        loop {
            self.fresh += 1;
            let text = format!("{stem}_{}", self.fresh);
            if self.model.names.find(&text).is_none() {
                return self.model.names.intern(&text);
            }
        }
    }
}

/// The tensors of initializers that callers cannot override, and of `Constant` nodes.
fn constants(model: &Model, id: BodyId) -> SecondaryMap<ValueId, Option<TensorId>> {
    let body = &model.bodies[id];
    let is_old = model.header.ir_version.is_some_and(|version| version < INITIALIZERS_ALONE);
    let mut tensors = SecondaryMap::default();
    for init in body.graphs.values().flat_map(|graph| &graph.initializers) {
        match body.values[init.value].def {
            ValueDef::Initializer(_) => tensors[init.value] = Some(init.tensor),
            ValueDef::Input(_) if is_old => tensors[init.value] = Some(init.tensor),
            ValueDef::Input(_) | ValueDef::Output(..) | ValueDef::Unbound(_) => {}
        }
    }
    for node in body.nodes.values() {
        let is_constant =
            normalize_domain(model.text(node.domain)).is_empty() && model.text(node.op) == "Constant";
        if let ([attr], [Some(output)], true) = (&node.attrs[..], &node.outputs[..], is_constant)
            && let Some(AttrValue::Tensor(tensor)) = attr.value().filter(|_| attr.reference.is_none())
            && model.text(attr.name) == "value"
        {
            tensors[*output] = Some(*tensor);
        }
    }
    tensors
}
