//! Single assignment, order and scopes: G02–G05, G07, G08, N01–N05, V01, V02, and for functions F05–F07.
//!
//! One walk through each body keeps what every name stands for at that point. Uses were resolved when the body was
//! built, so the walk only asks where a value is defined; names decide what is defined twice.

use super::layout::Step;
use super::scene::{Findings, Role, Scene, Seen, View, index};
use crate::body::{Graph, GraphId, NodeId, Port, Value, ValueDef, ValueId};
use crate::diag::{Diagnostic, Entity, Severity, code};
use crate::entity::SecondaryMap;
use crate::names::Name;

#[cfg(test)]
mod tests;

/// What a name stands for.
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
    scene: &'s Scene<'m>,
    view: &'s View<'m>,
    found: &'s mut Findings,
    visible: &'s mut SecondaryMap<Name, Option<Def>>,
    /// Names that became visible, with what they stood for before.
    log: Vec<(Name, Option<Def>)>,
    /// Where the log of each open graph begins.
    open: Vec<(GraphId, usize)>,
    reported: SecondaryMap<ValueId, bool>,
    outputs: &'s mut Seen<u32>,
    main_names: &'s SecondaryMap<Name, Option<Entity>>,
    step_names: &'s SecondaryMap<Name, Option<Entity>>,
}

pub(super) fn check(scene: &Scene<'_>, found: &mut Findings) {
    let none = SecondaryMap::default();
    let main_names = if scene.bodies.len() > 1 { root_names(scene.main()) } else { none.clone() };
    let mut step_names = none;
    for view in scene.bodies.iter().filter(|v| matches!(v.role, Role::Algorithm(_))) {
        collect_root_names(view, &mut step_names);
    }
    let mut visible = SecondaryMap::with_len(None, scene.model.names.len());
    let mut outputs = Seen::new(scene.model);
    for view in &scene.bodies {
        let mut walker = Walker {
            scene,
            view,
            found,
            visible: &mut visible,
            log: Vec::new(),
            open: Vec::new(),
            reported: SecondaryMap::default(),
            outputs: &mut outputs,
            main_names: &main_names,
            step_names: &step_names,
        };
        for step in view.layout.steps() {
            match step {
                Step::Enter(graph) => walker.enter(graph),
                Step::Node(node) => walker.uses(node),
                Step::NodeEnd(node) => walker.results(node),
                Step::Leave(graph) => walker.leave(graph),
            }
        }
    }
}

/// Where the outermost graph of a body defines each name.
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
        let before = self.visible[name].replace(def);
        self.log.push((name, before));
    }

    /// `did you mean …?` among the names that are visible here.
    fn suggest(&mut self, name: Name) -> Option<String> {
        let word = self.scene.text(name);
        let candidates = self.log.iter().map(|&(n, _)| self.scene.text(n));
        self.found.suggest(word, self.log.len(), candidates)
    }

    fn enter(&mut self, graph: GraphId) {
        self.open.push((graph, self.log.len()));
        let id = self.view.id;
        let nested = self.open.len() > 1;
        for (i, port) in self.graph(graph).inputs.iter().enumerate() {
            let place = Entity::Input(id, graph, index(i));
            match port.name.filter(|n| !n.is_empty()) {
                Some(name) => self.declare(name, graph, place),
                None => self.nameless("input", place),
            }
        }
        let body = self.view.body;
        for (i, init) in self.graph(graph).initializers.iter().enumerate() {
            let place = Entity::Initializer(id, graph, index(i));
            self.initializer(body.values[init.value].name, graph, place, nested);
        }
        for (i, init) in self.graph(graph).sparse_initializers.iter().enumerate() {
            let place = Entity::SparseInitializer(id, graph, index(i));
            self.initializer(body.values[init.value].name, graph, place, nested);
        }
        if nested && self.scene.ir_version <= 3 {
            self.defaults_last(graph);
        }
    }

    fn nameless(&mut self, what: &str, place: Entity) {
        let message = format!("{what} without a name");
        self.found.push(Diagnostic::new(&code::VALUE_NAME_EMPTY, place, message).help("give it a name"));
    }

    /// An input of the graph that has just begun.
    fn declare(&mut self, name: Name, graph: GraphId, place: Entity) {
        let text = self.scene.text(name);
        let def = Def { graph, place, kind: Kind::Input, initializer: None };
        match self.visible[name] {
            Some(first) if first.graph == graph => {
                let (code, what) = match self.is_function_root() {
                    true => (&code::FUNCTION_FORMALS_REPEATED, "function input"),
                    false => (&code::VALUE_REDEFINED, "graph input"),
                };
                let message = format!("{what} `{text}` is listed twice");
                self.found
                    .push(Diagnostic::new(code, place, message).related(first.place, "first listed here"));
                return;
            }
            Some(outer) => self.shadows(name, "input", place, outer),
            None => self.joined(name, place),
        }
        self.show(name, def);
    }

    fn initializer(&mut self, name: Name, graph: GraphId, place: Entity, nested: bool) {
        if name.is_empty() {
            return self.nameless("initializer", place);
        }
        let text = self.scene.text(name);
        match self.visible[name] {
            Some(def) if def.graph == graph => {
                if let Some(first) = def.initializer {
                    let message = format!("`{text}` is initialized twice");
                    self.found.push(
                        Diagnostic::new(&code::INITIALIZER_REPEATED, place, message)
                            .related(first, "the first initializer"),
                    );
                    return;
                }
                self.visible[name] = Some(Def { initializer: Some(place), ..def });
                if nested && self.scene.ir_version >= 4 && self.held_by_standard_operator(graph) {
                    let message = format!("`{text}` is both an input and an initializer of a nested graph");
                    self.found.push(
                        Diagnostic::new(&code::SUBGRAPH_INPUT_IS_INITIALIZER, place, message)
                            .related(def.place, "the input")
                            .help("remove the input, or the initializer"),
                    );
                }
                return;
            }
            Some(outer) => self.shadows(name, "initializer", place, outer),
            None => self.joined(name, place),
        }
        self.show(name, Def { graph, place, kind: Kind::Initializer, initializer: Some(place) });
        if self.scene.ir_version <= 3 && !self.view.role.is_function() {
            let message = format!("initializer `{text}` is no graph input, which IR version 3 asks for");
            self.found.push(
                Diagnostic::new(&code::IR3_INITIALIZERS, place, message)
                    .help("set `ir_version` to 4 or later, or declare the input"),
            );
        }
    }

    /// Operators of other domains may allow that inputs of their graphs have defaults.
    fn held_by_standard_operator(&self, graph: GraphId) -> bool {
        let holder = self.view.layout.holder(graph);
        holder.is_some_and(|n| self.scene.domain(self.view.body.nodes[n].domain).is_empty())
    }

    /// Up to IR 3, inputs with an initializer come after those that the node passes.
    fn defaults_last(&mut self, graph: GraphId) {
        let mut default = None;
        for (i, port) in self.graph(graph).inputs.iter().enumerate() {
            let Some(def) = port.name.and_then(|n| self.visible[n]).filter(|d| d.graph == graph) else {
                continue;
            };
            match (default, def.initializer) {
                (None, Some(_)) => default = Some(def.place),
                (Some(first), None) => {
                    let text = self.scene.model.text(port.name);
                    let message =
                        format!("input `{text}` of a nested graph follows one that is an initializer");
                    self.found.push(
                        Diagnostic::new(
                            &code::IR3_SUBGRAPH_INITIALIZERS,
                            Entity::Input(self.view.id, graph, index(i)),
                            message,
                        )
                        .related(first, "this input is an initializer")
                        .help("move inputs that are initializers to the end"),
                    );
                    return;
                }
                (None, None) | (Some(_), Some(_)) => {}
            }
        }
    }

    /// An input or initializer hides a value of an enclosing graph.
    fn shadows(&mut self, name: Name, what: &str, place: Entity, outer: Def) {
        let message = format!("{what} `{}` hides a value of the enclosing graph", self.scene.text(name));
        self.found.push(
            Diagnostic::new(&code::SHADOW_BY_INPUT_OR_INITIALIZER, place, message)
                .related(outer.place, "the value that is hidden"),
        );
    }

    /// A training step runs as one graph with the main graph, so it may not define a name again.
    fn joined(&mut self, name: Name, place: Entity) {
        let Role::Algorithm(_) = self.view.role else { return };
        if let Some(first) = self.main_names[name].filter(|_| self.is_root()) {
            let message =
                format!("the training step defines `{}` of the main graph again", self.scene.text(name));
            self.found
                .push(Diagnostic::new(&code::TRAINING_GRAPHS, place, message).related(first, "defined here"));
        }
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
        let text = self.scene.text(name);
        if let Some(outer) = self.main_names[name] {
            match self.view.role {
                Role::Algorithm(_) => return None,
                Role::Function(_) => {
                    let message = format!("function reads `{text}`, which belongs to the main graph");
                    return Some(
                        Diagnostic::new(&code::FUNCTION_SCOPE_CLOSED, place, message)
                            .related(outer, "defined here, out of reach")
                            .help(format!("add `{text}` to the inputs of the function")),
                    );
                }
                Role::Main | Role::Initialization(_) => {}
            }
        }
        if let (Role::Main, Some(step)) = (self.view.role, self.step_names[name]) {
            let message = format!("main graph reads `{text}`, which belongs to a training step");
            return Some(
                Diagnostic::new(&code::TRAINING_GRAPHS, place, message).related(step, "defined here"),
            );
        }
        let help = self.suggest(name);
        let message = format!("use of undefined value `{text}`");
        Some(Diagnostic::new(&code::VALUE_UNDEFINED, place, message).maybe_help(help))
    }

    /// No name resolution gives this; an edit that went wrong can.
    fn out_of_scope(&self, value: ValueId, place: Entity, produced: Option<Entity>) -> Diagnostic {
        let message =
            format!("use of value `{}`, which is not visible here", self.scene.text(self.value(value).name));
        let diagnostic = Diagnostic::new(&code::VALUE_UNDEFINED, place, message);
        match produced {
            Some(produced) => {
                diagnostic.related(produced, "defined in a graph that does not enclose the use")
            }
            None => diagnostic,
        }
    }

    fn too_early(
        &self,
        value: ValueId,
        at: Entity,
        node: NodeId,
        by: NodeId,
        produced: Entity,
    ) -> Diagnostic {
        let name = self.scene.text(self.value(value).name);
        let code = self.body_code(&code::NODE_ORDER);
        if self.view.layout.contains(by, node) {
            let message = format!("`{name}` is read by the node that produces it");
            return Diagnostic::new(code, at, message).related(produced, "produced here");
        }
        Diagnostic::new(code, at, format!("use of `{name}` before the node that produces it"))
            .related(produced, "produced here")
            .help(format!("move the node that produces `{name}` up"))
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
            let text = self.scene.text(name);
            let place = Entity::NodeOutput(self.view.id, node, index(i));
            match self.visible[name] {
                Some(first) if first.graph == here => {
                    let (message, label) = match first.kind {
                        Kind::Node => (format!("`{text}` is defined a second time"), "first defined here"),
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

    fn leave(&mut self, graph: GraphId) {
        self.outputs.clear();
        for (i, port) in self.graph(graph).outputs.iter().enumerate() {
            let place = Entity::Output(self.view.id, graph, index(i));
            match port.name.filter(|n| !n.is_empty()) {
                Some(name) => self.output(name, port, i, graph, place),
                None => self.nameless("output", place),
            }
        }
        let Some((_, start)) = self.open.pop() else { return };
        // From the newest to the oldest, so that a name logged twice gets its first meaning back.
        while self.log.len() > start {
            let Some((name, before)) = self.log.pop() else { return };
            self.visible[name] = before;
        }
    }

    fn output(&mut self, name: Name, port: &Port, i: usize, graph: GraphId, place: Entity) {
        let text = self.scene.text(name);
        let in_function = self.is_function_root();
        if let Some(first) = self.outputs.first(name, index(i)) {
            let first = Entity::Output(self.view.id, graph, first);
            let (code, severity, what) = match in_function {
                true => (&code::FUNCTION_FORMALS_REPEATED, Severity::Error, "function"),
                false => (&code::GRAPH_OUTPUT, Severity::Warning, "graph"),
            };
            let message = format!("{what} output `{text}` is listed twice");
            let diagnostic = Diagnostic::new(code, place, message).severity(severity);
            self.found.push(diagnostic.related(first, "first listed here"));
            return;
        }
        let layout = &self.view.layout;
        let home = match port.value.map(|v| self.value(v).def) {
            Some(ValueDef::Input(g) | ValueDef::Initializer(g)) => Some(g),
            Some(ValueDef::Output(by, _)) => layout.owner(by),
            Some(ValueDef::Unbound(_)) | None => None,
        };
        if home == Some(graph) || port.value.is_some_and(|v| self.reported[v]) {
            return;
        }
        if let Some(value) = port.value {
            self.reported[value] = true;
        }
        // The graph of a training step continues the main graph.
        if matches!(self.view.role, Role::Algorithm(_)) && self.is_root() && self.main_names[name].is_some() {
            return;
        }
        if home.is_some_and(|g| layout.encloses(g, graph)) {
            let message = format!("nested graph returns `{text}` of the enclosing graph");
            let mut diagnostic = Diagnostic::new(&code::SUBGRAPH_OUTPUT_FROM_OUTSIDE, place, message)
                .help(format!("pass `{text}` through an `Identity` node"));
            if let Some(outer) = self.visible[name] {
                diagnostic = diagnostic.related(outer.place, "defined outside");
            }
            self.found.push(diagnostic);
            return;
        }
        let help = self.suggest(name);
        let (code, what) = match in_function {
            true => (&code::FUNCTION_OUTPUT_UNDEFINED, "function"),
            false => (&code::GRAPH_OUTPUT, "graph"),
        };
        let message = format!("{what} output `{text}` is not defined");
        self.found.push(Diagnostic::new(code, place, message).maybe_help(help));
    }
}
