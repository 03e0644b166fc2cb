//! Single assignment, order and scopes: G02–G05, G07, G08, N01–N05, V01, V02, and for functions F05–F07.
//!
//! One walk through each body tracks the visible definition of every name. Uses were resolved when the body was built, so the
//! walk only checks where a value is defined; names determine duplicate definitions.

use super::context::{Findings, Role, Seen, VerifyContext, View, index};
use crate::body::{Graph, Value, ValueDef};
use crate::diag::{Diagnostic, Entity, ModelChange, code};
use crate::entity;
use crate::entity::{PrimaryMap, SecondaryMap};
use crate::ids::{GraphId, NodeId, ValueId};
use crate::names::Name;
use crate::order::Order;
use crate::walk::WalkEvent;
use std::collections::HashMap;

mod interface;
#[cfg(test)]
mod tests;

entity!(
    #[allow(unreachable_pub, reason = "the macro declares ids of a public API")]
    /// A definition of a name.
    DefId,
    "def"
);

/// The definition of a name.
#[derive(Clone, Copy)]
struct Def {
    graph: GraphId,
    place: Entity,
    kind: Kind,
    initializer: Option<Entity>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Input,
    Initializer,
    Node,
}

struct Walker<'s, 'm> {
    cx: &'s VerifyContext<'m>,
    view: &'s View<'m>,
    found: &'s mut Findings,
    visible: &'s mut SecondaryMap<Name, Option<DefId>>,
    definitions: PrimaryMap<DefId, Def>,
    /// Names that became visible, with their previous definitions.
    log: Vec<(Name, Option<DefId>)>,
    /// The start of the log for each open graph.
    open: Vec<(GraphId, usize)>,
    reported: SecondaryMap<ValueId, bool>,
    /// The dependencies of nodes, if some are not in order.
    order: Option<Order>,
    /// Nodes that need their own results, if some are not in order.
    circular: Option<SecondaryMap<NodeId, bool>>,
    /// Graphs that a fix has sorted.
    sorted: SecondaryMap<GraphId, bool>,
    outputs: &'s mut Seen<u32>,
    /// The first declaration of each name, for undefined names.
    declarations: Option<HashMap<Name, (GraphId, u32)>>,
    main_names: &'s SecondaryMap<Name, Option<Entity>>,
    step_names: &'s SecondaryMap<Name, Option<Entity>>,
}

pub(super) fn check(cx: &VerifyContext<'_>, found: &mut Findings) {
    let none = SecondaryMap::default();
    let main_names = if cx.bodies.len() > 1 { root_names(cx.main()) } else { none.clone() };
    let mut step_names = none;
    for view in cx.bodies.iter().filter(|v| matches!(v.role, Role::Algorithm(_))) {
        collect_root_names(view, &mut step_names);
    }
    let mut visible = SecondaryMap::with_len(None, cx.model.names.len());
    let mut outputs = Seen::new();
    for view in &cx.bodies {
        let values = view.body.values.len();
        let mut definitions = PrimaryMap::new();
        definitions.reserve(values);
        let mut walker = Walker {
            cx,
            view,
            found,
            visible: &mut visible,
            definitions,
            log: Vec::with_capacity(values),
            open: Vec::new(),
            reported: SecondaryMap::default(),
            order: None,
            circular: None,
            declarations: None,
            sorted: SecondaryMap::default(),
            outputs: &mut outputs,
            main_names: &main_names,
            step_names: &step_names,
        };
        for step in view.layout.steps() {
            match step {
                WalkEvent::EnterGraph(graph) => walker.enter(graph),
                WalkEvent::EnterNode(node) => walker.uses(node),
                WalkEvent::LeaveNode(node) => walker.results(node),
                WalkEvent::LeaveGraph(graph) => walker.leave(graph),
            }
        }
    }
}

/// Whether the outermost graph of a body has an initializer of this name.
fn has_initializer(view: &View<'_>, name: Name) -> bool {
    let body = view.body;
    let Some(graph) = body.root().map(|root| &body.graphs[root]) else { return false };
    let dense = graph.initializers.iter().map(|init| init.value);
    let sparse = graph.sparse_initializers.iter().map(|init| init.value);
    dense.chain(sparse).any(|value| body.values[value].name == name)
}

/// The definition of each name in the outermost graph of a body.
fn root_names(view: Option<&View<'_>>) -> SecondaryMap<Name, Option<Entity>> {
    let mut names = SecondaryMap::default();
    if let Some(view) = view {
        collect_root_names(view, &mut names);
    }
    names
}

pub(super) fn collect_root_names(view: &View<'_>, names: &mut SecondaryMap<Name, Option<Entity>>) {
    let (body, Some(root)) = (view.body, view.body.root()) else { return };
    let graph = &body.graphs[root];
    let mut add = |name: Name, place| {
        if !name.is_empty() && names[name].is_none() {
            names[name] = Some(place);
        }
    };
    for (i, port) in graph.inputs.iter().enumerate() {
        add(port.name.unwrap_or(Name::empty()), Entity::Input(view.id, root, index(i)));
    }
    for (i, init) in graph.initializers.iter().enumerate() {
        add(body.values[init.value].name, Entity::Initializer(view.id, root, index(i)));
    }
    for (i, init) in graph.sparse_initializers.iter().enumerate() {
        add(body.values[init.value].name, Entity::SparseInitializer(view.id, root, index(i)));
    }
    for &node in &graph.nodes {
        for (i, value) in body.nodes[node].outputs.iter().enumerate() {
            if let Some(value) = value {
                add(body.values[*value].name, Entity::NodeOutput(view.id, node, index(i)));
            }
        }
    }
}

impl<'m> Walker<'_, 'm> {
    fn graph(&self, graph: GraphId) -> &'m Graph {
        &self.view.body.graphs[graph]
    }

    fn value(&self, value: ValueId) -> Value {
        self.view.body.values[value]
    }

    fn here(&self) -> Option<GraphId> {
        self.open.last().map(|&(graph, _)| graph)
    }

    fn is_root(&self) -> bool {
        self.open.len() == 1
    }

    fn is_function_root(&self) -> bool {
        self.view.role.is_function() && self.is_root()
    }

    fn show(&mut self, name: Name, def: Def) {
        let before = self.visible[name].replace(self.definitions.push(def));
        self.log.push((name, before));
    }

    /// The visible definition of a name.
    fn definition(&self, name: Name) -> Option<Def> {
        self.visible[name].map(|def| self.definitions[def])
    }

    /// `did you mean …?` among the names that are visible here.
    fn suggest(&mut self, name: Name) -> Option<String> {
        self.near(name).map(|near| format!("did you mean `{near}`?"))
    }

    /// The most similar visible name.
    fn near(&mut self, name: Name) -> Option<&'m str> {
        let cx = self.cx;
        let candidates = self.log.iter().map(|&(n, _)| cx.text(n));
        self.found.near(cx.text(name), self.log.len(), candidates)
    }

    /// Every operand that reads a value, under another name.
    fn renamed(&mut self, value: ValueId, name: &str) -> Vec<ModelChange> {
        let nodes = &self.view.body.nodes;
        if !self.found.affords(nodes.len()) {
            return Vec::new();
        }
        let mut changes = Vec::new();
        for (node, n) in nodes.iter() {
            for (i, _) in n.inputs.iter().enumerate().filter(|(_, v)| **v == Some(value)) {
                let place = Entity::NodeInput(self.view.id, node, index(i));
                changes.push(ModelChange::Rename(place, name.to_owned()));
            }
        }
        changes
    }

    /// A fix that sorts a graph, once per graph.
    fn sorted(&mut self, node: NodeId) -> Vec<ModelChange> {
        let (id, body) = (self.view.id, self.view.body);
        let Some(graph) = self.view.layout.owner(node).filter(|&g| !self.sorted[g]) else {
            return Vec::new();
        };
        self.sorted[graph] = true;
        let order = self.order.get_or_insert_with(|| Order::of(body));
        let order = order.sorted(&body.graphs[graph].nodes);
        order.map(|nodes| vec![ModelChange::Order(id, graph, nodes)]).unwrap_or_default()
    }

    fn uses(&mut self, node: NodeId) {
        let Some(here) = self.here() else { return };
        for (i, value) in self.view.body.nodes[node].inputs.iter().enumerate() {
            let Some(value) = *value else { continue };
            if self.reported[value] {
                continue;
            }
            let place = Entity::NodeInput(self.view.id, node, index(i));
            let layout = &self.view.layout;
            let diagnostic = match self.value(value).def {
                ValueDef::Unbound(_) => self.unbound(value, place),
                ValueDef::Input(g) | ValueDef::Initializer(g) if layout.encloses(g, here) => None,
                ValueDef::Input(_) | ValueDef::Initializer(_) => Some(self.out_of_scope(value, place, None)),
                ValueDef::Output(by, o) => {
                    let produced = Entity::NodeOutput(self.view.id, by, o);
                    match layout.owner(by) {
                        Some(g) if layout.encloses(g, here) => (!layout.precedes(by, node))
                            .then(|| self.too_early(value, place, node, by, produced)),
                        Some(_) => Some(self.out_of_scope(value, place, Some(produced))),
                        None => Some(self.out_of_scope(value, place, None)),
                    }
                }
            };
            if let Some(diagnostic) = diagnostic {
                self.reported[value] = true;
                self.found.push(diagnostic);
            }
        }
    }

    fn unbound(&mut self, value: ValueId, place: Entity) -> Option<Diagnostic> {
        let name = self.value(value).name;
        let text = self.cx.text(name);
        if let Role::Initialization(i) = self.view.role
            && self.cx.bodies.iter().any(|view| {
                [Role::Main, Role::Algorithm(i)].contains(&view.role) && has_initializer(view, name)
            })
        {
            // The state: what the initializations before this one have assigned.
            return None;
        }
        if let Some(outer) = self.main_names[name] {
            match self.view.role {
                Role::Algorithm(_) => return None,
                Role::Function(_) => {
                    let message = format!("function reads `{text}`, which belongs to the main graph");
                    return Some(
                        Diagnostic::new(&code::FUNCTION_SCOPE_CLOSED, place, message)
                            .related(outer, "defined outside of the function")
                            .help(format!("add `{text}` to the inputs of the function")),
                    );
                }
                Role::Main | Role::Initialization(_) => {}
            }
        }
        if let (Role::Main, Some(step)) = (self.view.role, self.step_names[name]) {
            let message = format!("main graph reads `{text}`, which belongs to a training step");
            return Some(
                Diagnostic::new(&code::TRAINING_GRAPHS, place, message)
                    .related(step, "defined in the training step"),
            );
        }
        if let Some(declared) = self.declared(value) {
            let message = format!("`{text}` is declared, but nothing defines it");
            return Some(
                Diagnostic::new(&code::VALUE_UNDEFINED, place, message)
                    .label("no node, input or initializer gives it a value")
                    .related(declared, "declared without elements")
                    .help(format!(
                        "write the elements of `{text}` after its declaration, as in `= {{1, 2}}`"
                    )),
            );
        }
        let message = format!("use of undefined value `{text}`");
        let diagnostic = Diagnostic::new(&code::VALUE_UNDEFINED, place, message);
        let Some(near) = self.near(name) else { return Some(diagnostic) };
        let changes = self.renamed(value, near);
        let help = format!("did you mean `{near}`?");
        Some(diagnostic.help(help).change(format!("write `{near}`"), changes, false))
    }

    /// The declaration of a value that is not defined.
    fn declared(&mut self, value: ValueId) -> Option<Entity> {
        let name = self.value(value).name;
        let body = self.view.body;
        let declarations = self.declarations.get_or_insert_with(|| {
            let mut declarations = HashMap::new();
            for (id, graph) in body.graphs.iter() {
                for (i, port) in graph.value_info.iter().enumerate() {
                    if let Some(name) = port.name {
                        declarations.entry(name).or_insert((id, index(i)));
                    }
                }
            }
            declarations
        });
        declarations.get(&name).map(|&(graph, i)| Entity::ValueInfo(self.view.id, graph, i))
    }

    /// Name resolution cannot cause this; an incorrect edit can.
    fn out_of_scope(&self, value: ValueId, place: Entity, produced: Option<Entity>) -> Diagnostic {
        let message =
            format!("use of value `{}`, which is not in scope", self.cx.text(self.value(value).name));
        let diagnostic = Diagnostic::new(&code::VALUE_UNDEFINED, place, message);
        match produced {
            Some(produced) => {
                diagnostic.related(produced, "defined in a graph that does not enclose the use")
            }
            None => diagnostic,
        }
    }

    fn too_early(
        &mut self,
        value: ValueId,
        at: Entity,
        node: NodeId,
        by: NodeId,
        produced: Entity,
    ) -> Diagnostic {
        let name = self.cx.text(self.value(value).name);
        let cycle = self.body_code(&code::NODE_CYCLE);
        if self.view.layout.contains(by, node) {
            let message = format!("`{name}` is read by the node that produces it");
            return Diagnostic::new(cycle, at, message).related(produced, "the producer");
        }
        let order = self.order.get_or_insert_with(|| Order::of(self.view.body));
        let circular = self.circular.get_or_insert_with(|| order.circular(self.view.body));
        if circular[by] {
            let message = format!("use of `{name}`, which depends on itself");
            let produced_by = "the node that produces it needs its own result";
            return Diagnostic::new(cycle, at, message).related(produced, produced_by);
        }
        let code = self.body_code(&code::NODE_ORDER);
        Diagnostic::new(code, at, format!("use of `{name}` before the node that produces it"))
            .related(produced, "the producer")
            .help(format!("move the node that produces `{name}` up"))
            .change("sort the nodes of the graph", self.sorted(by), true)
    }

    /// Order and single assignment have a code of their own in functions.
    fn body_code(&self, in_graph: &'static crate::diag::Code) -> &'static crate::diag::Code {
        if self.view.role.is_function() { &code::FUNCTION_BODY } else { in_graph }
    }

    fn results(&mut self, node: NodeId) {
        let Some(here) = self.here() else { return };
        for (i, value) in self.view.body.nodes[node].outputs.iter().enumerate() {
            let Some(value) = *value else { continue };
            let name = self.value(value).name;
            if name.is_empty() {
                continue;
            }
            let text = self.cx.text(name);
            let place = Entity::NodeOutput(self.view.id, node, index(i));
            match self.definition(name) {
                Some(first) if first.graph == here => {
                    let (message, label) = match first.kind {
                        Kind::Node => (format!("`{text}` is defined a second time"), "the first definition"),
                        Kind::Input => (format!("`{text}` is an input of the graph already"), "the input"),
                        Kind::Initializer => {
                            (format!("`{text}` is an initializer of the graph already"), "the initializer")
                        }
                    };
                    let code = self.body_code(&code::VALUE_REDEFINED);
                    self.found.push(Diagnostic::new(code, place, message).related(first.place, label));
                    continue;
                }
                Some(outer) => {
                    let message = format!("`{text}` hides a value of the enclosing graph");
                    self.found.push(
                        Diagnostic::new(&code::SHADOW_BY_NODE, place, message)
                            .related(outer.place, "the value that is hidden"),
                    );
                }
                None => self.joined(name, place),
            }
            self.show(name, Def { graph: here, place, kind: Kind::Node, initializer: None });
        }
    }
}
