//! The body of one function in place of one call.

use super::fit::differs;
use super::{Map, Set, Setting};
use crate::body::{Body, Graph, Node, Origin, Port, ValueDef};
use crate::diag::{Diagnostic, Entity, code};
use crate::entity::FromIndex as _;
use crate::ids::{BodyId, FunctionId, GraphId, NodeId, ValueId};
use crate::model::{Function, Model, OpsetImport};
use crate::names::{Name, Names};
use crate::pass::calls::{Imports, function_text, nodes};
use crate::pass::notes::pass_on_notes;
use crate::pass::transplant::{CopyOptions, CopySource, CopyTarget, Transplant};
use crate::types::Types;

/// Longer names of calls are not used as prefixes, because prefixes accumulate in nested calls.
const MAX_STEM: usize = 64;

/// A function to be inlined at a call.
pub(super) struct Callee<'c> {
    /// Its id, if the model itself has it.
    pub(super) id: Option<FunctionId>,
    pub(super) function: &'c Function,
    pub(super) body: &'c Body,
    /// The model that has it, if it is another one.
    pub(super) other: Option<&'c Model>,
}

/// The state for the current body.
pub(super) struct Work<'e> {
    pub(super) setting: &'e Setting<'e>,
    imports: Imports,
    /// Imports that copied nodes need.
    pub(super) added: Vec<OpsetImport>,
    pub(super) found: Vec<Diagnostic>,
    /// The number of calls with each prefix.
    stems: Map<Name, u64>,
    /// Values that are another one, or nothing.
    became: Map<ValueId, Option<ValueId>>,
    /// Names that something knows besides nodes and graphs.
    pinned: Set<Name>,
    /// Values with a declaration.
    declared: Set<ValueId>,
    /// Attribute parameters without a default, if the body is a function's.
    pub(super) parameters: Set<Name>,
    /// The graph that is being worked on.
    graph: GraphId,
    outputs: Set<ValueId>,
    pub(super) level: usize,
}

impl<'e> Work<'e> {
    pub(super) fn new(
        model: &Model,
        body: BodyId,
        function: Option<FunctionId>,
        setting: &'e Setting<'e>,
    ) -> Self {
        let imports = Imports::within(model, function);
        let mut pinned = if function.is_none() { setting.trained.clone() } else { Set::default() };
        let mut declared = Set::default();
        let body = &model.bodies[body];
        for graph in body.walk().graphs() {
            let graph = &body.graphs[graph];
            for annotation in &graph.quantization {
                pinned.extend(annotation.names());
            }
            let ports = graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_info);
            declared.extend(ports.filter_map(|p| p.value));
        }
        let parameters = function.map(|f| model.functions[f].attributes.iter().copied().collect());
        Work {
            setting,
            imports,
            added: Vec::new(),
            found: Vec::new(),
            stems: Map::default(),
            became: Map::default(),
            pinned,
            declared,
            parameters: parameters.unwrap_or_default(),
            graph: body.root().unwrap_or(GraphId::from_index(0)),
            outputs: Set::default(),
            level: 1,
        }
    }

    /// Begins with the calls of a graph.
    pub(super) fn enter(&mut self, id: GraphId, graph: &Graph, level: usize) {
        (self.graph, self.level) = (id, level);
        self.outputs = graph.outputs.iter().filter_map(|p| p.value).collect();
    }

    /// Whether the nodes of a function mean the same here, once the domains that are missing are imported.
    pub(super) fn imports_fit(&mut self, names: &mut Names, callee: &Callee<'_>, site: Entity) -> bool {
        let theirs = Imports::of(callee.names(names), &callee.function.opset_imports);
        let mut missing: Map<Name, Option<i64>> = Map::default();
        let mut order = Vec::new();
        for node in nodes(callee.body) {
            let domain = theirs.domain(node.domain);
            let domain = callee.other.map_or(domain, |other| names.intern(&other.names[domain]));
            let op = theirs.op_ref(callee.names(names), node);
            match self.imports.get(domain) {
                None if missing.insert(domain, op.version).is_none() => order.push(domain),
                None => {}
                Some(_) if callee.id.is_some() && self.setting.functions.callee(node).is_some() => {}
                Some(version) if version == op.version || op.version.is_none() => {}
                Some(Some(version)) if self.setting.operators.is_same(op, version) => {}
                Some(version) => {
                    let diagnostic = differs(callee, names, op, version, site);
                    self.found.push(diagnostic);
                    return false;
                }
            }
        }
        for domain in order {
            let version = missing[&domain];
            self.imports.insert(domain, version);
            self.added.push(OpsetImport { domain: Some(domain), version });
        }
        true
    }

    /// Puts the nodes of a function in place of a call; `None` if they do not fit there.
    pub(super) fn replace(
        &mut self,
        names: &mut Names,
        types: &mut Types,
        target: &mut Body,
        callee: &Callee<'_>,
        node: NodeId,
        site: Entity,
    ) -> Option<Vec<NodeId>> {
        let formal = &callee.body.graphs[callee.body.root()?];
        if let Some(diagnostic) = self.misfit(names, target, callee, formal, node, site) {
            self.found.push(diagnostic);
            return None;
        }
        let origin = target.origins[node];
        let call = std::mem::take(&mut target.nodes[node]);
        let actual = self.actual(&call, formal);
        let requested: Vec<(ValueId, ValueId, bool)> = (formal.outputs.iter().zip(&call.outputs))
            .filter_map(|(port, &requested)| port.value.zip(requested))
            .map(|(from, to)| (from, to, self.is_pinned(target, to)))
            .collect();

        // Parameters become the operands and attributes of the call, or their defaults.
        let style = CopyOptions {
            prefix: Some(self.prefix(names, &call, callee)),
            symbols: true,
            origin: callee.other.map(|_| origin),
        };
        let source = match callee.other {
            None => CopySource::body(callee.body),
            Some(other) => CopySource::other(other, callee.body),
        };
        let mut copy = Transplant::new(source, CopyTarget { names, types, body: target }, self.graph, style);
        for (port, actual) in formal.inputs.iter().zip(&actual) {
            port.value.into_iter().for_each(|v| copy.bind(v, *actual));
        }
        copy.close_parameters();
        for attr in call.attrs {
            if let Some(parameter) = attr.name.and_then(|n| copy.source_name(n)) {
                copy.give(parameter, attr);
            }
        }
        for default in &callee.function.attribute_defaults {
            if let Some(parameter) = default.name.filter(|&n| !copy.is_given(n)) {
                let attr = copy.attr(default);
                copy.give(parameter, attr);
            }
        }
        // Results that are the same value as an argument or as another result.
        let mut same: Vec<(ValueId, Option<ValueId>, bool)> = Vec::new();
        let mut first: Map<ValueId, ValueId> = Map::default();
        for &(from, to, is_pinned) in &requested {
            match (callee.body.values[from].def, first.get(&from)) {
                (ValueDef::Input(_), _) => same.push((to, copy.value(from), is_pinned)),
                (_, Some(&first)) => same.push((to, Some(first), is_pinned)),
                (_, None) => {
                    copy.bind(from, Some(to));
                    first.insert(from, to);
                }
            }
        }
        // Nodes, initializers and declarations of the function are copied into the graph of the call.
        let mut made: Vec<NodeId> = formal.nodes.iter().map(|&n| copy.node(n)).collect();
        let graph = self.graph;
        let dense: Vec<_> = formal.initializers.iter().map(|i| copy.initializer(*i, graph)).collect();
        let sparse: Vec<_> =
            formal.sparse_initializers.iter().map(|i| copy.sparse_initializer(i, graph)).collect();
        let is_inner = |v: ValueId| !matches!(callee.body.values[v].def, ValueDef::Input(_));
        let declarations: Vec<Port> = (formal.value_info.iter())
            .filter(|p| p.value.is_some_and(is_inner))
            .map(|p| copy.port(p))
            .collect();
        drop(copy);

        let home = &mut target.graphs[graph];
        home.initializers.extend(dense);
        home.sparse_initializers.extend(sparse);
        for port in declarations {
            if port.value.is_some_and(|v| self.declared.insert(v)) {
                home.value_info.push(port);
            }
        }
        // Results that are other values are renamed, or copied where the name must stay.
        for (to, from, is_pinned) in same {
            match from {
                Some(from) if is_pinned => made.push(self.identity(names, target, callee, origin, from, to)),
                // A value that would be itself is never read in a valid model.
                Some(from) if from == to => {}
                from => {
                    target.values[to].def = ValueDef::Unbound(graph);
                    self.became.insert(to, from);
                }
            }
        }
        // The metadata of the call goes to the copied nodes.
        if let Some(extra) = call.extra {
            pass_on_notes(names, &mut target.nodes, &extra, &made);
            if !extra.devices.is_empty() {
                let message = "the device configurations of this call are lost";
                self.found.push(Diagnostic::new(&code::INLINE_LOST, site, message));
            }
        }
        Some(made)
    }

    /// The operand of the call for each input of the function.
    fn actual(&mut self, call: &Node, formal: &Graph) -> Vec<Option<ValueId>> {
        let given = |i: usize| call.inputs.get(i).copied().flatten();
        (0..formal.inputs.len()).map(|i| given(i).and_then(|v| self.current(v))).collect()
    }

    /// The replacement of a value.
    fn current(&mut self, value: ValueId) -> Option<ValueId> {
        let (mut at, mut way) = (Some(value), Vec::new());
        while let Some(value) = at
            && let Some(&next) = self.became.get(&value)
        {
            way.push(value);
            at = next;
        }
        way.into_iter().for_each(|value| _ = self.became.insert(value, at));
        at
    }

    /// The final replacement of a value, without caching it.
    pub(super) fn known(&self, mut value: ValueId) -> Option<ValueId> {
        while let Some(&next) = self.became.get(&value) {
            value = next?;
        }
        Some(value)
    }

    /// Whether something besides nodes and nested graphs knows a value.
    pub(super) fn is_pinned(&self, target: &Body, value: ValueId) -> bool {
        self.outputs.contains(&value) || self.pinned.contains(&target.values[value].name)
    }

    /// The prefix for names of the copied body.
    fn prefix(&mut self, names: &mut Names, call: &Node, callee: &Callee<'_>) -> String {
        let own = call.name.filter(|&n| !n.is_empty() && names[n].len() <= MAX_STEM);
        let stem = own.unwrap_or_else(|| {
            let function = callee.function.name.map_or("f", |n| &callee.names(names)[n]).to_owned();
            names.intern(if function.is_empty() { "f" } else { &function })
        });
        let count = self.stems.entry(stem).or_default();
        *count += 1;
        match *count {
            1 => format!("{}__", &names[stem]),
            n => format!("{}_{}__", &names[stem], n - 1),
        }
    }

    /// `to = Identity(from)`
    fn identity(
        &mut self,
        names: &mut Names,
        target: &mut Body,
        callee: &Callee<'_>,
        origin: Origin,
        from: ValueId,
        to: ValueId,
    ) -> NodeId {
        if self.imports.get(Name::empty()).is_none() {
            let theirs = Imports::of(callee.names(names), &callee.function.opset_imports);
            let version = theirs.get(Name::empty()).flatten().or(Some(1));
            self.imports.insert(Name::empty(), version);
            self.added.push(OpsetImport { domain: Some(Name::empty()), version });
        }
        // The default domain as the function writes it.
        let theirs =
            nodes(callee.body).filter(|n| n.domain.is_none_or(Name::is_empty)).map(|n| n.domain).next();
        let node = target.nodes.push(Node {
            op: Some(names.intern("Identity")),
            domain: theirs.flatten(),
            inputs: [Some(from)].into_iter().collect(),
            outputs: [Some(to)].into_iter().collect(),
            ..Node::default()
        });
        target.origins[node] = origin;
        target.values[to].def = ValueDef::Output(node, 0);
        node
    }

    /// Lets everything that reads a value that became another one read that.
    pub(super) fn substitute(&mut self, body: &mut Body) {
        if self.became.is_empty() {
            return;
        }
        let graphs: Vec<GraphId> = body.walk().graphs().collect();
        for id in graphs {
            let Body { graphs, nodes, values, .. } = &mut *body;
            let graph = &mut graphs[id];
            for &node in &graph.nodes {
                let node = &mut nodes[node];
                for i in 0..node.inputs.len() {
                    let Some(old) = node.inputs[i].filter(|v| self.became.contains_key(v)) else { continue };
                    let new = self.current(old);
                    node.inputs[i] = new;
                    let extra = node.extra.as_deref_mut().into_iter();
                    for device in extra.flat_map(|e| &mut e.devices) {
                        device.sharding.retain_mut(|spec| {
                            if spec.tensor_name != Some(values[old].name) {
                                return true;
                            }
                            spec.tensor_name = new.map(|v| values[v].name);
                            new.is_some()
                        });
                    }
                }
            }
            for port in &mut graph.outputs {
                if let Some(old) = port.value.filter(|v| self.became.contains_key(v)) {
                    port.value = self.current(old);
                    port.name = port.value.map(|v| values[v].name);
                }
            }
            graph.value_info.retain(|p| p.value.is_none_or(|v| !self.became.contains_key(&v)));
        }
    }
}

impl Callee<'_> {
    /// The names that it is written in; `own` are those of the model that is worked on.
    pub(super) fn names<'n>(&'n self, own: &'n Names) -> &'n Names {
        self.other.map_or(own, |model| &model.names)
    }

    /// `l.f`
    pub(super) fn text(&self, own: &Names) -> String {
        function_text(self.names(own), self.function)
    }
}
