//! Replaces the calls of one body, graph by graph.

use super::copy::{Callee, Work};
use super::{Inline, Map, Set, Setting};
use crate::body::Node;
use crate::diag::{Diagnostic, Entity, code, counted};
use crate::ids::{BodyId, FunctionId, GraphId, NodeId};
use crate::model::Model;
use crate::names::Name;
use crate::pass::calls::{Imports, implies_opset, nodes};
use crate::pass::format::{IR_WITH_FUNCTIONS, IR_WITHOUT_DEFAULTS, upgrade_ir_version};
use crate::verify::devices::{declared_ranks, misplaced_axes};
use std::collections::VecDeque;

/// The longest chain of nested bodies that is not known to end.
const LONGEST: u32 = 100;

/// Replaces the calls of one body.
pub(super) struct Expander<'e> {
    model: &'e mut Model,
    setting: &'e Setting<'e>,
    body: BodyId,
    function: Option<FunctionId>,
    depth: Option<u32>,
    work: Work<'e>,
    /// Graphs to be processed.
    todo: VecDeque<Todo>,
    queued: Set<GraphId>,
    /// Whether the imports of functions fit.
    fits: Map<FunctionId, bool>,
    calls: usize,
    /// Nodes with device annotations, with the original nodes that they derive from.
    sharded: Vec<(NodeId, NodeId)>,
    /// Whether nested graphs that were copied store something.
    stores: bool,
    /// Whether functions of other models have become too many or too deep.
    is_exhausted: bool,
    /// Nodes that were made of functions of other models.
    made: u64,
}

struct Todo {
    graph: GraphId,
    /// The call depth of its nodes.
    depth: u32,
    /// The number of enclosing graphs, including itself.
    level: usize,
    /// The original call that its nodes derive from, if they do.
    site: Option<NodeId>,
}

/// A node that is to get a place in its graph.
#[derive(Clone, Copy)]
struct Pending {
    node: NodeId,
    depth: u32,
    /// Itself, or the original call that it derives from.
    site: NodeId,
}

impl<'e> Expander<'e> {
    pub(super) fn new(
        model: &'e mut Model,
        setting: &'e Setting<'e>,
        body: BodyId,
        function: Option<FunctionId>,
        depth: Option<u32>,
    ) -> Self {
        let work = Work::new(model, body, function, setting);
        Expander {
            model,
            setting,
            body,
            function,
            depth,
            work,
            todo: VecDeque::new(),
            queued: Set::default(),
            fits: Map::default(),
            calls: 0,
            sharded: Vec::new(),
            stores: false,
            is_exhausted: false,
            made: 0,
        }
    }

    /// Inlines the calls and returns their number.
    pub(super) fn run(mut self, options: &mut Inline<'_>, found: &mut Vec<Diagnostic>) -> usize {
        let root = self.model.bodies[self.body].root();
        self.todo.extend(root.map(|graph| Todo { graph, depth: 0, level: 1, site: None }));
        while let Some(todo) = self.todo.pop_front() {
            self.graph(&todo, options);
        }
        self.work.substitute(&mut self.model.bodies[self.body]);
        if self.calls > 0 {
            self.drop_misplaced_shardings();
        }
        self.add_imports();
        if self.stores && self.function.is_none() {
            upgrade_ir_version(self.model, IR_WITHOUT_DEFAULTS);
        }
        found.append(&mut self.work.found);
        self.calls
    }

    fn graph(&mut self, todo: &Todo, options: &mut Inline<'_>) {
        let graph = &mut self.model.bodies[self.body].graphs[todo.graph];
        let is_copied = todo.site.is_some();
        self.stores |= is_copied && !(graph.initializers.is_empty() && graph.sparse_initializers.is_empty());
        let before = std::mem::take(&mut graph.nodes);
        self.work.enter(todo.graph, graph, todo.level);
        let pending = |node: NodeId| Pending { node, depth: todo.depth, site: todo.site.unwrap_or(node) };
        let mut stack: Vec<Pending> = before.into_iter().rev().map(pending).collect();
        let mut after = Vec::with_capacity(stack.len());
        while let Some(pending) = stack.pop() {
            let Pending { node, depth, site } = pending;
            let is_copy = todo.site.is_some() || depth > todo.depth;
            for graph in self.model.bodies[self.body].subgraphs(node) {
                if self.queued.insert(graph) {
                    let site = is_copy.then_some(site);
                    self.todo.push_back(Todo { graph, depth, level: todo.level + 1, site });
                }
            }
            match self.replacement(pending, options) {
                Some(nodes) => {
                    self.calls += 1;
                    let depth = depth.saturating_add(1);
                    stack.extend(nodes.into_iter().rev().map(|node| Pending { node, depth, site }));
                }
                None => {
                    if !self.model.bodies[self.body].nodes[node].extra().devices.is_empty() {
                        self.sharded.push((node, site));
                    }
                    after.push(node);
                }
            }
        }
        self.model.bodies[self.body].graphs[todo.graph].nodes = after;
    }

    /// The nodes in place of a node, if it is replaced.
    fn replacement(&mut self, at: Pending, options: &mut Inline<'_>) -> Option<Vec<NodeId>> {
        if self.depth.is_some_and(|max| at.depth >= max) {
            return None;
        }
        let site = Entity::NodeOp(self.body, at.site);
        let node = &self.model.bodies[self.body].nodes[at.node];
        match self.setting.functions.callee(node) {
            Some(callee) => self.local(callee, at.node, site),
            None if self.is_exhausted => None,
            None => {
                let foreign = options.others.as_mut()?(self.model, self.body, at.node)?;
                if at.depth >= LONGEST || self.made > options.max_nodes {
                    self.exhausted(at.depth, options.max_nodes, site);
                    return None;
                }
                let other = &*foreign.model;
                let function = &other.functions[foreign.function];
                let callee =
                    Callee { id: None, function, body: &other.bodies[function.body], other: Some(other) };
                let Model { names, types, bodies, .. } = &mut *self.model;
                let fits = self.work.imports_fit(names, &callee, site);
                let made = fits
                    .then(|| self.work.replace(names, types, &mut bodies[self.body], &callee, at.node, site));
                let made = made.flatten()?;
                self.made += u64::try_from(nodes(callee.body).count()).unwrap_or(u64::MAX >> 1);
                Some(made)
            }
        }
    }

    fn local(&mut self, callee: FunctionId, node: NodeId, site: Entity) -> Option<Vec<NodeId>> {
        if !self.setting.plan.is_replaced(callee) {
            return None;
        }
        let Model { names, types, bodies, functions, .. } = &mut *self.model;
        let function = &functions[callee];
        let source = std::mem::take(&mut bodies[function.body]);
        let from = Callee { id: Some(callee), function, body: &source, other: None };
        let fits = match self.fits.get(&callee) {
            Some(&fits) => fits,
            None => {
                let fits = self.work.imports_fit(names, &from, site);
                self.fits.insert(callee, fits);
                fits
            }
        };
        let made = fits.then(|| self.work.replace(names, types, &mut bodies[self.body], &from, node, site));
        bodies[function.body] = source;
        made.flatten()
    }

    fn exhausted(&mut self, depth: u32, max_nodes: u64, site: Entity) {
        self.is_exhausted = true;
        let (code, message) = if depth >= LONGEST {
            (
                &code::FUNCTION_LIMITS,
                format!("bodies of operators are more than {LONGEST} deep in each other"),
            )
        } else {
            (
                &code::INLINE_TOO_LARGE,
                format!("bodies of operators have made more than {}", counted(max_nodes, "node")),
            )
        };
        let diagnostic =
            Diagnostic::new(code, site, message).help("the operators that are left stay as they are");
        self.work.found.push(diagnostic);
    }

    /// Drops shardings of axes that a tensor lacks, when the rank of a function's operand is known.
    fn drop_misplaced_shardings(&mut self) {
        if self.sharded.is_empty() {
            return;
        }
        let Model { names, types, bodies, .. } = &mut *self.model;
        let body = &mut bodies[self.body];
        let ranks = declared_ranks(types, body, body.walk().graphs());
        for &(node, site) in &self.sharded {
            let Node { inputs, outputs, extra, .. } = &mut body.nodes[node];
            for device in extra.as_deref_mut().into_iter().flat_map(|e| &mut e.devices) {
                device.sharding.retain(|spec| {
                    let name = spec.tensor_name.unwrap_or(Name::empty());
                    let mut operands = inputs.iter().chain(&*outputs).flatten();
                    let rank = operands.find(|&&v| body.values[v].name == name).and_then(|&v| ranks[v]);
                    let Some(wrong) = misplaced_axes(spec, rank, &names[name]).into_iter().next() else {
                        return true;
                    };
                    let place = Entity::NodeOp(self.body, site);
                    let message = format!("a sharding is lost: {wrong}");
                    self.work.found.push(Diagnostic::new(&code::INLINE_LOST, place, message));
                    false
                });
            }
        }
    }

    /// Adds the imports that copied nodes need.
    fn add_imports(&mut self) {
        let added = std::mem::take(&mut self.work.added);
        if added.is_empty() {
            return;
        }
        let imports = Imports::within(self.model, self.function);
        let used: Set<Name> =
            nodes(&self.model.bodies[self.body]).map(|node| imports.domain(node.domain)).collect();
        let list = match self.function {
            Some(f) => &mut self.model.functions[f].opset_imports,
            None => &mut self.model.header.opset_imports,
        };
        list.extend(added.into_iter().filter(|import| used.contains(&imports.domain(import.domain))));
        if self.function.is_none() && implies_opset(self.model) {
            upgrade_ir_version(self.model, IR_WITH_FUNCTIONS);
        }
    }
}
