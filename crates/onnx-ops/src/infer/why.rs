//! Derivations: how the type of a value follows from other values, back to inputs and stored tensors.
//!
//! ```text
//! y: float[N,6]     Reshape of `t` and `s`: its rule read the shape of `t` and the elements of `s`
//! t: float[N,2,3]   an input of the graph, which declares N
//! s: int64[2]       stored: 0, 6
//! ```
//!
//! Runs inference once more with a trace, so that normal inference has no overhead.

use super::formulas::difference;
use crate::dims::{Dim, Dims};
use crate::engine::{InferOptions, traced};
use crate::engine::{Looked, Trace};
use crate::facts::merge::meet;
use crate::facts::{Elem, SmallTensor};
use crate::facts::{FactSource, Facts};
use crate::facts::{Ty, dim_text};
use crate::operators::ROWS;
use crate::schema::{Lookup, Param, Registry, Schema, SchemaId};
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::Entity;
use onnx_ir::{
    Body, BodyId, ElemType, EntityId as _, GraphId, Model, NodeId, Port, ValueDef, ValueId, normalize_domain,
};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// A derivation.
#[derive(Clone, Debug)]
pub struct Why {
    /// The requested value, then the values that it depends on, those of the last nodes first. Each value occurs once.
    pub steps: Vec<Derivation>,
    /// Number of further values after the last step.
    pub left_out: usize,
}

/// The derivation of one value.
#[derive(Clone, Debug)]
pub struct Derivation {
    /// The value.
    pub value: Used,
    /// Where the value is defined.
    pub place: Option<Entity>,
    /// The definition.
    pub how: How,
    /// The values that it is computed from, in the order of the inputs.
    pub from: Vec<Used>,
    /// The declarations of the value.
    pub declared: Vec<Declared>,
    /// The origins of the symbols in its type.
    pub symbols: Vec<Symbol>,
}

/// A value with its facts.
#[derive(Clone, Debug)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Its type as text.
    pub ty: String,
    /// Its elements as text, if some are known.
    pub elements: Option<String>,
}

/// The definition of a value.
#[derive(Clone, Debug)]
pub enum How {
    /// An input of the main graph.
    Input,
    /// An input of a function, with facts that hold for all calls.
    Parameter {
        /// The name of the function.
        function: String,
    },
    /// An input of a graph that a node runs.
    NestedInput {
        /// The operator of the node.
        op: String,
    },
    /// A stored tensor.
    Stored,
    /// Not defined.
    Undefined,
    /// A node of an operator.
    Operator {
        /// Domain and name: `ai.onnx.Reshape`.
        op: String,
        /// The version of the operator.
        since: u32,
        /// Where the element type comes from.
        elem: String,
        /// The reads of the rule for the shape; inputs are positions in [`Derivation::from`].
        looked: Looked,
    },
    /// A call of a function of the model.
    Function {
        /// Its name.
        name: String,
    },
    /// A node of an unknown operator.
    UnknownOperator {
        /// Domain and name.
        op: String,
    },
}

/// A declaration of a value.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Where it is.
    pub place: Entity,
    /// The declared type.
    pub ty: String,
    /// Whether it agrees with inference, as far as that is known.
    pub agrees: bool,
    /// The condition under which a declared formula is right: `H*4 = H*3`.
    pub only_where: Option<String>,
}

/// A symbol of a type.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The first value with this symbol.
    pub of: String,
    /// Where that value is defined.
    pub place: Option<Entity>,
    /// Whether an input of the graph declares it; otherwise a node introduces it.
    pub is_declared: bool,
}

/// Derives the facts of a value, in at most `most` steps.
pub fn why(model: &Model, registry: &Registry, body: BodyId, value: ValueId, most: usize) -> Why {
    let (inference, trace) = traced(model, registry, &ROWS, &InferOptions::default());
    let mut asked = Asked { model, registry, facts: inference.facts, trace, origins: HashMap::default() };
    asked.find_origins(body);
    let mut steps = Vec::new();
    let mut seen = HashSet::default();
    seen.insert((body, value));
    // The order of a value: the positions of its node and of the calls that lead to it. Inputs and stored tensors are the oldest.
    let position = |asked: &Asked<'_>, calls: &[usize], body: BodyId, value: ValueId| {
        let node = match asked.body(body).values[value].def {
            ValueDef::Output(node, _) => node.index() + 1,
            ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => 0,
        };
        calls.iter().copied().chain([node]).collect::<Vec<usize>>()
    };
    let mut open = BinaryHeap::from([(position(&asked, &[], body, value), Reverse(0), body, value)]);
    while steps.len() < most
        && let Some((at, _, body, value)) = open.pop()
    {
        let from = asked.sources(body, value);
        steps.push(asked.step(body, value, &from));
        for (inner, source) in from {
            if seen.insert((inner, source)) {
                let calls = if inner == body { &at[..at.len() - 1] } else { &at[..] };
                open.push((position(&asked, calls, inner, source), Reverse(seen.len()), inner, source));
            }
        }
    }
    Why { steps, left_out: open.len() }
}

struct Asked<'m> {
    model: &'m Model,
    registry: &'m Registry,
    facts: Facts,
    trace: Trace,
    /// The first value of each symbol, and whether it is an input of a graph.
    origins: HashMap<String, (BodyId, ValueId, bool)>,
}

impl Asked<'_> {
    fn body(&self, body: BodyId) -> &Body {
        &self.model.bodies[body]
    }

    /// The values that the type of a value is computed from.
    fn sources(&self, body: BodyId, value: ValueId) -> Vec<(BodyId, ValueId)> {
        let b = self.body(body);
        let here = |values: Vec<ValueId>| values.into_iter().map(|v| (body, v)).collect();
        match b.values[value].def {
            ValueDef::Initializer(_) | ValueDef::Unbound(_) => Vec::new(),
            ValueDef::Input(graph) => match self.runner(body, graph) {
                Some(node) => here(b.nodes[node].inputs.iter().flatten().copied().collect()),
                None => Vec::new(),
            },
            ValueDef::Output(node, i) => {
                let mut values: Vec<ValueId> = b.nodes[node].inputs.iter().flatten().copied().collect();
                values.extend(b.subgraphs(node).flat_map(|graph| self.results(body, node, graph, i)));
                let mut found: Vec<(BodyId, ValueId)> = here(values);
                if let Callee::Function(function) = self.callee(body, node) {
                    let inner = self.model.functions[function].body;
                    let root = self.body(inner).root();
                    let output = root.and_then(|g| self.body(inner).graphs[g].outputs.get(i as usize)?.value);
                    found.extend(output.map(|value| (inner, value)));
                }
                found
            }
        }
    }

    /// The results of a nested graph that contribute to an output of its node.
    fn results(&self, body: BodyId, node: NodeId, graph: GraphId, output: u32) -> Vec<ValueId> {
        let b = self.body(body);
        let outputs = &b.graphs[graph].outputs;
        // The first result of a loop body is its condition.
        let shift = outputs.len().saturating_sub(b.nodes[node].outputs.len());
        let port = outputs.get(output as usize + shift);
        port.and_then(|port| port.value).into_iter().collect()
    }

    /// The node that runs a nested graph.
    fn runner(&self, body: BodyId, graph: GraphId) -> Option<NodeId> {
        let b = self.body(body);
        if b.root() == Some(graph) {
            return None;
        }
        b.nodes.ids().find(|&node| b.subgraphs(node).any(|inner| inner == graph))
    }

    fn callee(&self, body: BodyId, node: NodeId) -> Callee {
        let model = self.model;
        let n = &model.bodies[body].nodes[node];
        let domain = normalize_domain(model.text(n.domain));
        let called = model.functions.iter().find(|(_, f)| {
            normalize_domain(model.text(f.domain)) == domain
                && model.text(f.name) == model.text(n.op)
                && model.text(f.overload) == model.text(n.overload)
        });
        if let Some((function, _)) = called {
            return Callee::Function(function);
        }
        let version = model.newest_import(body, domain).unwrap_or(1);
        match self.registry.lookup(domain, model.text(n.op), version) {
            Lookup::Found(id) => Callee::Operator(id),
            Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => Callee::Unknown,
        }
    }

    fn step(&mut self, body: BodyId, value: ValueId, from: &[(BodyId, ValueId)]) -> Derivation {
        let how = self.how(body, value);
        Derivation {
            value: self.used(body, value),
            place: self.place(body, value),
            how,
            from: from.iter().map(|&(body, value)| self.used(body, value)).collect(),
            declared: self.declared(body, value),
            symbols: self.symbols(body, value),
        }
    }

    fn used(&mut self, body: BodyId, value: ValueId) -> Used {
        let fact = self.facts.resolved(body, value);
        let Facts { dims, .. } = &mut self.facts;
        let elem = fact.ty.elem().unwrap_or(ElemType::DOUBLE);
        let elements = fact.value.as_deref().map(|value| elements_text(dims, value, elem));
        let name = self.model.names[self.model.bodies[body].values[value].name].to_owned();
        Used { name, ty: fact.ty.text(&self.facts.dims), elements }
    }

    fn how(&self, body: BodyId, value: ValueId) -> How {
        let b = self.body(body);
        match b.values[value].def {
            ValueDef::Input(graph) => match self.runner(body, graph) {
                Some(node) => How::NestedInput { op: self.model.text(b.nodes[node].op).to_owned() },
                None => match self.model.functions.values().find(|f| f.body == body) {
                    Some(f) => How::Parameter { function: self.model.text(f.name).to_owned() },
                    None => How::Input,
                },
            },
            ValueDef::Initializer(_) => How::Stored,
            ValueDef::Unbound(_) => How::Undefined,
            ValueDef::Output(node, i) => {
                let n = &b.nodes[node];
                let domain = normalize_domain(self.model.text(n.domain));
                let domain = if domain.is_empty() { "ai.onnx" } else { domain };
                let op = format!("{domain}.{}", self.model.text(n.op));
                match self.callee(body, node) {
                    Callee::Function(_) => How::Function { name: op },
                    Callee::Unknown => How::UnknownOperator { op },
                    Callee::Operator(id) => {
                        let schema = self.registry.get(id);
                        let mut looked = self.trace.of(body, node);
                        // Omitted inputs are not listed among the values that it is computed from.
                        let place = |i: usize| {
                            let before = n.inputs.get(..i)?.iter().flatten().count();
                            n.inputs.get(i)?.map(|_| before)
                        };
                        for list in [&mut looked.shapes, &mut looked.elements] {
                            *list = list.iter().filter_map(|&i| place(i)).collect();
                        }
                        let elem = self.elem(body, node, schema, i as usize);
                        How::Operator { op, since: schema.since, elem, looked }
                    }
                }
            }
        }
    }

    /// The origin of the element type of an output.
    fn elem(&self, body: BodyId, node: NodeId, schema: &Schema, output: usize) -> String {
        let Some(param) = schema.output(output) else { return "the rule of the operator".to_owned() };
        if schema.variable(&param.ty).is_none() {
            return format!("{}, always", param.ty);
        }
        let b = self.body(body);
        let binds = |(i, value): (usize, &Option<ValueId>)| {
            let is_same = schema.input(i).is_some_and(|p: &Param| p.ty == param.ty);
            value.filter(|_| is_same).map(|value| &self.model.names[b.values[value].name])
        };
        match b.nodes[node].inputs.iter().enumerate().find_map(binds) {
            Some(name) => format!("the type variable {}, bound by `{name}`", param.ty),
            None => format!("the type variable {}, bound by the rule of the operator", param.ty),
        }
    }

    fn place(&self, body: BodyId, value: ValueId) -> Option<Entity> {
        let b = self.body(body);
        let at = |ports: &[Port]| {
            ports.iter().position(|p| p.value == Some(value)).and_then(|i| u32::try_from(i).ok())
        };
        Some(match b.values[value].def {
            ValueDef::Output(node, i) => Entity::NodeOutput(body, node, i),
            ValueDef::Input(graph) => Entity::Input(body, graph, at(&b.graphs[graph].inputs)?),
            ValueDef::Initializer(graph) => {
                let g = &b.graphs[graph];
                let dense = g.initializers.iter().position(|init| init.value == value);
                let sparse = || g.sparse_initializers.iter().position(|init| init.value == value);
                match (dense, sparse) {
                    (Some(i), _) => Entity::Initializer(body, graph, u32::try_from(i).ok()?),
                    (None, sparse) => Entity::SparseInitializer(body, graph, u32::try_from(sparse()?).ok()?),
                }
            }
            ValueDef::Unbound(_) => return None,
        })
    }

    /// The declarations of a value in graph outputs and `value_info`. An input's declaration is its definition.
    fn declared(&mut self, body: BodyId, value: ValueId) -> Vec<Declared> {
        let model = self.model;
        let mut found = Vec::new();
        for (g, graph) in model.bodies[body].graphs.iter() {
            let lists: [(&[Port], Variant); 2] =
                [(&graph.outputs, Entity::Output), (&graph.value_info, Entity::ValueInfo)];
            for (ports, place) in lists {
                for (i, port) in (0..).zip(ports) {
                    let (true, Some(ty)) = (port.value == Some(value), port.ty) else { continue };
                    let computed = self.facts.get(body, value).ty.clone();
                    let ty = Ty::declared(model, &mut self.facts.dims, ty);
                    let dims = &mut self.facts.dims;
                    let (_, conflict) = meet(dims, &computed, &ty);
                    let difference = difference(dims, &computed, &ty).filter(|_| conflict.is_none());
                    found.push(Declared {
                        place: place(body, g, i),
                        ty: ty.text(dims),
                        agrees: conflict.is_none() && difference.is_none(),
                        only_where: difference.map(|difference| difference.text(dims)),
                    });
                }
            }
        }
        found
    }

    fn symbols(&mut self, body: BodyId, value: ValueId) -> Vec<Symbol> {
        let ty = self.facts.resolved(body, value).ty;
        let names = symbols_of(&self.facts.dims, &ty);
        let symbol = |name: String| {
            let &(origin, first, is_declared) = self.origins.get(&name)?;
            if is_declared && (origin, first) == (body, value) {
                return None; // it says so itself
            }
            let (body, value) = (origin, first);
            let of = self.model.names[self.body(body).values[value].name].to_owned();
            Some(Symbol { name, of, place: self.place(body, value), is_declared })
        };
        names.into_iter().filter_map(symbol).collect()
    }

    /// Finds the first value of each symbol: inputs of graphs, then results in the order of the nodes.
    fn find_origins(&mut self, body: BodyId) {
        let model = self.model;
        let bodies: Vec<BodyId> = std::iter::once(body).chain(model.main).collect();
        for body in bodies {
            let b = &model.bodies[body];
            let inputs = b.graphs.values().flat_map(|g| g.inputs.iter().filter_map(|port| port.value));
            let results = b.nodes.values().flat_map(|node| node.outputs.iter().flatten().copied());
            let all = inputs.map(|v| (v, true)).chain(results.map(|v| (v, false)));
            for (value, is_declared) in all.collect::<Vec<_>>() {
                if self.facts.get(body, value).source == FactSource::Nothing {
                    continue;
                }
                let ty = self.facts.resolved(body, value).ty;
                for name in symbols_of(&self.facts.dims, &ty) {
                    self.origins.entry(name).or_insert((body, value, is_declared));
                }
            }
        }
    }
}

/// A constructor of places of declarations.
type Variant = fn(BodyId, GraphId, u32) -> Entity;

enum Callee {
    Operator(SchemaId),
    Function(onnx_ir::FunctionId),
    Unknown,
}

/// The names of the symbols in a type.
fn symbols_of(dims: &Dims, ty: &Ty) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    _ = ty.map_dims(&mut |dim: Dim| {
        names.extend(dims.symbols_of(dim).into_iter().map(str::to_owned));
        dim
    });
    names
}

/// Elements as text, `{2, N, ?}`, limited to the first few.
fn elements_text(dims: &mut Dims, value: &SmallTensor, ty: ElemType) -> String {
    const MAX_SHOWN: usize = 8;
    let mut texts: Vec<String> = Vec::new();
    for elem in value.elems.iter().take(MAX_SHOWN) {
        texts.push(match *elem {
            Elem::Unknown => "?".to_owned(),
            Elem::Int(dim) => {
                let dim = dims.resolve(dim);
                dim_text(dims, dim)
            }
            Elem::Float(x) => onnx_text::number_text(ty, x),
            Elem::Quotient(dim, by) => {
                let dim = dims.resolve(dim);
                format!("{}/{by}", dim_text(dims, dim))
            }
        });
    }
    if value.elems.len() > MAX_SHOWN {
        texts.push("…".to_owned());
    }
    format!("{{{}}}", texts.join(", "))
}
