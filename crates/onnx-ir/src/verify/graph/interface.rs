//! The interface of a graph: its inputs and initializers at its start, its outputs at its end.

use super::{Def, Kind, Walker};
use crate::body::{Port, ValueDef};
use crate::diag::{Diagnostic, Entity, ModelChange, code};
use crate::ids::GraphId;
use crate::names::Name;
use crate::tensor::Tensor;
use crate::verify::context::{Role, index};

impl<'m> Walker<'_, 'm> {
    pub(super) fn enter(&mut self, graph: GraphId) {
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
        if nested && self.cx.ir_version <= 3 {
            self.defaults_last(graph);
        }
    }

    fn nameless(&mut self, what: &str, place: Entity) {
        let message = format!("{what} without a name");
        self.found.push(Diagnostic::new(&code::VALUE_NAME_EMPTY, place, message).help("give it a name"));
    }

    /// An input of the graph that has just begun.
    fn declare(&mut self, name: Name, graph: GraphId, place: Entity) {
        let text = self.cx.text(name);
        let def = Def { graph, place, kind: Kind::Input, initializer: None };
        match self.definition(name) {
            Some(first) if first.graph == graph => {
                let (code, what) = match self.is_function_root() {
                    true => (&code::FUNCTION_FORMALS_REPEATED, "function input"),
                    false => (&code::VALUE_REDEFINED, "graph input"),
                };
                let message = format!("{what} `{text}` is listed twice");
                self.found.push(Diagnostic::new(code, place, message).related(first.place, "the first one"));
                return;
            }
            Some(outer) => self.shadows(name, "input", place, outer),
            None => self.joined(name, place),
        }
        self.show(name, def);
    }

    /// The tensor of a dense initializer.
    fn tensor_at(&self, place: Entity) -> Option<&'m Tensor> {
        let Entity::Initializer(_, graph, i) = place else { return None };
        let init = self.view.body.graphs[graph].initializers.get(i as usize)?;
        self.view.body.tensors.get(init.tensor)
    }

    fn initializer(&mut self, name: Name, graph: GraphId, place: Entity, nested: bool) {
        if name.is_empty() {
            return self.nameless("initializer", place);
        }
        let text = self.cx.text(name);
        match self.definition(name) {
            Some(def) if def.graph == graph => {
                if let Some(first) = def.initializer {
                    let message = format!("`{text}` is initialized twice");
                    let mut diagnostic = Diagnostic::new(&code::INITIALIZER_REPEATED, place, message)
                        .related(first, "the first initializer");
                    if self.tensor_at(first).is_some_and(|t| Some(t) == self.tensor_at(place)) {
                        diagnostic =
                            diagnostic.change("remove the second", vec![ModelChange::Remove(place)], true);
                    }
                    self.found.push(diagnostic);
                    return;
                }
                let def_with = Def { initializer: Some(place), ..def };
                self.visible[name] = Some(self.definitions.push(def_with));
                if nested && self.cx.ir_version >= 4 && self.held_by_standard_operator(graph) {
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
        if self.cx.ir_version <= 3 && !self.view.role.is_function() {
            let message = format!("initializer `{text}` is not a graph input, as IR version 3 requires");
            self.found.push(
                Diagnostic::new(&code::IR3_INITIALIZERS, place, message)
                    .help("set `ir_version` to 4 or later, or declare the input"),
            );
        }
    }

    /// Operators of other domains may allow that inputs of their graphs have defaults.
    fn held_by_standard_operator(&self, graph: GraphId) -> bool {
        let holder = self.view.layout.holder(graph);
        holder.is_some_and(|n| self.cx.domain(self.view.body.nodes[n].domain).is_empty())
    }

    /// Up to IR version 3, inputs with an initializer come after those that the node passes.
    fn defaults_last(&mut self, graph: GraphId) {
        let mut default = None;
        for (i, port) in self.graph(graph).inputs.iter().enumerate() {
            let Some(def) = port.name.and_then(|n| self.definition(n)).filter(|d| d.graph == graph) else {
                continue;
            };
            match (default, def.initializer) {
                (None, Some(_)) => default = Some(def.place),
                (Some(first), None) => {
                    let text = self.cx.model.text(port.name);
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
        let message = format!("{what} `{}` hides a value of the enclosing graph", self.cx.text(name));
        self.found.push(
            Diagnostic::new(&code::SHADOW_BY_INPUT_OR_INITIALIZER, place, message)
                .related(outer.place, "the value that is hidden"),
        );
    }

    /// A training step runs as one graph with the main graph, so it may not define a name again.
    pub(super) fn joined(&mut self, name: Name, place: Entity) {
        let Role::Algorithm(_) = self.view.role else { return };
        if let Some(first) = self.main_names[name].filter(|_| self.is_root()) {
            let message = format!("training step redefines `{}` of the main graph", self.cx.text(name));
            self.found.push(
                Diagnostic::new(&code::TRAINING_GRAPHS, place, message)
                    .related(first, "defined in the main graph"),
            );
        }
    }

    pub(super) fn leave(&mut self, graph: GraphId) {
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
        let text = self.cx.text(name);
        let in_function = self.is_function_root();
        if let Some(first) = self.outputs.first(name, index(i)) {
            let first = Entity::Output(self.view.id, graph, first);
            let (code, what) = match in_function {
                true => (&code::FUNCTION_FORMALS_REPEATED, "function"),
                false => (&code::OUTPUT_REPEATED, "graph"),
            };
            let message = format!("{what} output `{text}` is listed twice");
            let diagnostic = Diagnostic::new(code, place, message);
            self.found.push(diagnostic.related(first, "the first one"));
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
            if let Some(outer) = self.definition(name) {
                diagnostic = diagnostic.related(outer.place, "defined in the enclosing graph");
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
