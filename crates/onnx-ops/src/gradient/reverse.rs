//! Reverse mode: propagates gradients backwards, node by node.
//!
//! Nodes are visited in the order of their graphs, which are sorted. Calls of derivatives are appended to the graph where the
//! gradients are needed.

use super::calls::{Calls, DOMAIN};
use super::{control, sequences, through};
use crate::bodies::{self, site::CallSite};
use crate::derivative::{self, Cell, is_float};
use crate::functions::{self, FunctionBody};
use crate::infer::{Facts, InferOptions, Ty, infer};
use crate::operators;
use crate::schema::{Lookup, Registry};
use foldhash::{HashMap, HashSet};
use onnx_ir::{
    Body, BodyId, GraphId, Model, Name, Node, NodeId, Origin, Value, ValueDef, ValueId, normalize_domain,
};

/// `ConstantOfShape` exists since this version.
const FILLS: i64 = 9;

/// The reason why there is no gradient.
#[derive(Debug)]
pub(super) struct Refusal {
    /// The node that cannot be differentiated.
    pub(super) node: Option<NodeId>,
    /// The reason.
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn of(why: impl Into<String>) -> Self {
        Refusal { node: None, why: why.into() }
    }
}

/// The derivative of a node.
pub(super) struct Derivative {
    /// From operands, results and gradients of results to gradients of operands.
    pub(super) function: FunctionBody,
    /// Which operands have a gradient; the function has an output for each of these.
    pub(super) given: Vec<bool>,
}

/// Differentiates a graph of one body.
pub(super) struct Reverse<'m> {
    pub(super) model: &'m mut Model,
    pub(super) registry: &'m Registry,
    pub(super) body: BodyId,
    pub(super) calls: Calls,
    /// The origin of new nodes.
    pub(super) origin: Origin,
    pub(super) facts: Facts,
}

impl<'m> Reverse<'m> {
    pub(super) fn new(model: &'m mut Model, registry: &'m Registry, body: BodyId) -> Self {
        let facts = infer(model, registry, &InferOptions::default()).facts;
        Reverse { model, registry, body, calls: Calls::default(), origin: Origin::NONE, facts }
    }

    pub(super) fn body(&self) -> &Body {
        &self.model.bodies[self.body]
    }

    /// Appends nodes to the graph `home` that compute the gradients of `wanted` from those of other values, `seeds`. Only nodes
    /// of the graphs `within` are differentiated, outermost first, and not beyond the values in `cuts`. `None`: the gradient is
    /// zero.
    pub(super) fn run(
        &mut self,
        within: &[GraphId],
        home: GraphId,
        seeds: &[(ValueId, ValueId)],
        wanted: &[ValueId],
        cuts: &HashSet<ValueId>,
    ) -> Result<Vec<Option<ValueId>>, Refusal> {
        let targets: Vec<ValueId> = seeds.iter().map(|(value, _)| *value).collect();
        let between = between(self.body(), within, &targets, cuts);
        let mut active: HashSet<ValueId> = wanted.iter().copied().collect();
        let mut taken = Vec::new();
        for node in between {
            if operands(self.body(), node).iter().any(|operand| active.contains(operand)) {
                let results: Vec<ValueId> =
                    self.body().nodes[node].outputs.iter().flatten().copied().collect();
                active.extend(results.into_iter().filter(|&result| self.may_be_float(result)));
                taken.push(node);
            }
        }
        let mut gradients: HashMap<ValueId, ValueId> = HashMap::default();
        for (value, gradient) in seeds {
            self.add(home, &mut gradients, *value, *gradient)?;
        }
        for node in taken.into_iter().rev() {
            let results = self.body().nodes[node].outputs.clone();
            let of_result = |result: &Option<ValueId>| {
                let result = result.filter(|result| !cuts.contains(result))?;
                gradients.get(&result).copied()
            };
            let given: Vec<Option<ValueId>> = results.iter().map(of_result).collect();
            if given.iter().all(Option::is_none) {
                continue;
            }
            let made = self.node(home, node, &given, &active);
            let made = made.map_err(|refusal| Refusal { node: refusal.node.or(Some(node)), ..refusal })?;
            for (operand, gradient) in made {
                let added = self.add(home, &mut gradients, operand, gradient);
                added.map_err(|refusal| Refusal { node: Some(node), ..refusal })?;
            }
        }
        Ok(wanted.iter().map(|value| gradients.get(value).copied()).collect())
    }

    /// Computes the gradients of the operands of a node.
    fn node(
        &mut self,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        active: &HashSet<ValueId>,
    ) -> Result<Vec<(ValueId, ValueId)>, Refusal> {
        if let Some(kind) = control::kind(self.model, self.body, node) {
            return self.control(kind, home, node, given, active);
        }
        let gradients: Vec<bool> = given.iter().map(Option::is_some).collect();
        let derivative = derivative(self.model, self.registry, &self.facts, self.body, node, &gradients)?;
        let Some(derivative) = derivative else { return Ok(Vec::new()) };
        let Node { inputs, outputs, .. } = self.body().nodes[node].clone();
        let is_wanted = |(i, operand): (usize, &Option<ValueId>)| {
            let is_given = derivative.given.get(i).copied().unwrap_or(false);
            is_given.then(|| operand.filter(|operand| active.contains(operand)))
        };
        // The function has an output for each operand with a gradient, needed or not.
        let wanted: Vec<Option<ValueId>> = inputs.iter().enumerate().filter_map(is_wanted).collect();
        if wanted.iter().all(Option::is_none) {
            return Ok(Vec::new());
        }
        // The prefix for the names of the nodes that replace the call.
        let stem = outputs.iter().flatten().next().map(|&stem| format!("d_{}", self.text(stem)));
        let name = stem.map(|stem| self.model.names.intern(&stem));
        let op = self.calls.add(derivative.function);
        let made: Vec<Option<Name>> =
            wanted.iter().map(|operand| operand.map(|operand| self.fresh(operand))).collect();
        let operands = inputs.into_iter().chain(outputs).chain(given.iter().copied()).collect::<Vec<_>>();
        let results = self.emit(home, (DOMAIN, &op), name, &operands, &made);
        Ok(wanted.into_iter().zip(results).filter_map(|(operand, result)| operand.zip(result)).collect())
    }

    /// Adds a gradient to that of a value.
    fn add(
        &mut self,
        home: GraphId,
        gradients: &mut HashMap<ValueId, ValueId>,
        value: ValueId,
        gradient: ValueId,
    ) -> Result<(), Refusal> {
        let sum = match gradients.get(&value) {
            None => gradient,
            Some(&before) => self.sum(home, value, before, gradient)?,
        };
        gradients.insert(value, sum);
        Ok(())
    }

    /// Appends a node to a graph.
    pub(super) fn emit(
        &mut self,
        home: GraphId,
        (domain, op): (&str, &str),
        name: Option<Name>,
        inputs: &[Option<ValueId>],
        outputs: &[Option<Name>],
    ) -> Vec<Option<ValueId>> {
        let domain = Some(self.model.names.intern(domain));
        let op = Some(self.model.names.intern(op));
        let origin = self.origin;
        let body = &mut self.model.bodies[self.body];
        let node = body.nodes.push(Node {
            name,
            op,
            domain,
            inputs: inputs.iter().copied().collect(),
            ..Node::default()
        });
        let results: Vec<Option<ValueId>> = (0u32..)
            .zip(outputs)
            .map(|(i, name)| {
                name.map(|name| body.values.push(Value { name, def: ValueDef::Output(node, i) }))
            })
            .collect();
        body.nodes[node].outputs = results.iter().copied().collect();
        if origin != Origin::NONE {
            body.origins[node] = origin;
        }
        body.graphs[home].nodes.push(node);
        results
    }

    /// Appends a call of a function in ONNX text with one result to a graph. The result is named after the first operand.
    pub(super) fn call(
        &mut self,
        home: GraphId,
        text: &str,
        operands: &[ValueId],
    ) -> Result<ValueId, Refusal> {
        let version = self.version()?;
        let function = bodies::read(text, version).ok_or_else(|| Refusal::of("its text is not sound"))?;
        let op = self.calls.add(function);
        let name = operands.first().map(|&operand| self.fresh(operand));
        let operands: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
        let made = self.emit(home, (DOMAIN, &op), name, &operands, &[name]);
        made.into_iter().flatten().next().ok_or_else(|| Refusal::of("it has no result"))
    }

    /// A call that yields ones or zeros in the shape of a value, or in those of the elements of a sequence.
    pub(super) fn filled(&mut self, home: GraphId, like: ValueId, value: i64) -> Result<ValueId, Refusal> {
        let version = self.version()?;
        let ty = &self.facts.get(self.body, like).ty;
        if let Ty::Optional(_) = ty {
            let name = self.text(like);
            return Err(Refusal::of(format!("`{name}` may have no value, so its gradient has no shape")));
        }
        let elem = crate::derivative::sequences::element_type(ty).filter(|&elem| is_float(elem)).ok_or_else(
            || Refusal::of(format!("`{}` is not known to be a tensor of floats", self.text(like))),
        )?;
        let filling = crate::derivative::shapes::filling(value, elem);
        if let Ty::Sequence(_) = ty {
            return self.filled_sequence(home, like, &filling);
        }
        let shape = match ty.shape().and_then(crate::derivative::numbers) {
            Some(extents) => {
                let (len, list) = (extents.len(), crate::derivative::shapes::listed(&extents));
                format!("shape = Constant <value = int64[{len}] {{{list}}}> ()")
            }
            None => "shape = Shape (x)".to_owned(),
        };
        let text = format!(
            "<domain: \"ai.onnx\", opset_import: [\"\": {version}]>\nFilled (x) => (y) {{ {shape} y = ConstantOfShape <value = {filling}> (shape) }}"
        );
        self.call(home, &text, &[like])
    }

    /// The imported version of ai.onnx, which must have `ConstantOfShape`: every gradient begins with ones.
    pub(super) fn version(&self) -> Result<i64, Refusal> {
        match self.model.newest_import(self.body, "") {
            Some(version) if version >= FILLS => Ok(version),
            Some(version) => Err(Refusal::of(format!(
                "gradients need version {FILLS} of ai.onnx, and the model imports {version}"
            ))),
            None => Err(Refusal::of("the model does not import ai.onnx")),
        }
    }

    /// A new name for the gradient of a value.
    pub(super) fn fresh(&mut self, of: ValueId) -> Name {
        let stem = format!("d_{}", self.text(of));
        fresh(self.model, &stem)
    }

    pub(super) fn text(&self, value: ValueId) -> &str {
        &self.model.names[self.body().values[value].name]
    }

    pub(super) fn may_be_float(&self, value: ValueId) -> bool {
        sequences::may_be_float(&self.facts.get(self.body, value).ty)
    }
}

/// An unused name.
pub(super) fn fresh(model: &mut Model, stem: &str) -> Name {
    let mut name = stem.to_owned();
    let mut count = 0u64;
    while model.names.find(&name).is_some() {
        count += 1;
        name = format!("{stem}_{count}");
    }
    model.names.intern(&name)
}

/// The values that a node reads, including those that its graphs capture.
pub(super) fn operands(body: &Body, node: NodeId) -> Vec<ValueId> {
    let mut read: Vec<ValueId> = body.nodes[node].inputs.iter().flatten().copied().collect();
    read.extend(captured(body, node));
    read
}

/// The values that the graphs of a node capture, without repetitions.
pub(super) fn captured(body: &Body, node: NodeId) -> Vec<ValueId> {
    let mut open: Vec<GraphId> = body.subgraphs(node).collect();
    let (mut graphs, mut own, mut read) = (HashSet::default(), HashSet::default(), Vec::new());
    while let Some(graph) = open.pop() {
        if !graphs.insert(graph) {
            continue;
        }
        let g = &body.graphs[graph];
        own.extend(g.values(body));
        read.extend(g.outputs.iter().filter_map(|port| port.value));
        for &inner in &g.nodes {
            read.extend(body.nodes[inner].inputs.iter().flatten().copied());
            open.extend(body.subgraphs(inner));
        }
    }
    let mut seen = HashSet::default();
    read.retain(|value| !own.contains(value) && seen.insert(*value));
    read
}

/// The nodes of graphs that compute `targets` from `cuts`, in order.
pub(super) fn between(
    body: &Body,
    within: &[GraphId],
    targets: &[ValueId],
    cuts: &HashSet<ValueId>,
) -> Vec<NodeId> {
    let mut needed: HashSet<ValueId> = targets.iter().copied().collect();
    let mut taken = Vec::new();
    for &graph in within.iter().rev() {
        for &node in body.graphs[graph].nodes.iter().rev() {
            let mut results = body.nodes[node].outputs.iter().flatten();
            if results.any(|result| needed.contains(result) && !cuts.contains(result)) {
                needed.extend(operands(body, node));
                taken.push(node);
            }
        }
    }
    taken.reverse();
    taken
}

/// The derivative of a node. `None`: it is zero.
fn derivative(
    model: &Model,
    registry: &Registry,
    facts: &Facts,
    body: BodyId,
    node: NodeId,
    gradients: &[bool],
) -> Result<Option<Derivative>, Refusal> {
    let n = &model.bodies[body].nodes[node];
    let (domain, op) = (normalize_domain(model.text(n.domain)), model.text(n.op));
    let version =
        model.newest_import(body, "").ok_or_else(|| Refusal::of("the model does not import ai.onnx"))?;
    let found = model.newest_import(body, domain).map(|version| registry.lookup(domain, op, version));
    let Some(Lookup::Found(id)) = found else {
        return Err(Refusal::of(format!("operator `{op}` is unknown")));
    };
    let function = model.functions.values().find(|f| f.body == body);
    let site = CallSite::of_node(model, facts, body, function, node, registry.get(id), version);
    let fact = |value: &Option<ValueId>| value.map(|value| facts.get(body, value).clone());
    let (inputs, outputs) = (n.inputs.iter().map(fact).collect(), n.outputs.iter().map(fact).collect());
    let mut cell = Cell::new(site, inputs, outputs, gradients.to_vec());
    let refuse = |why: String| Refusal::of(format!("`{op}` cannot be differentiated here: {why}"));
    let through = |function: FunctionBody| {
        through::derivative(model, registry, facts, body, node, &function, gradients)
    };
    match operators::derivative_of(domain, op) {
        Some(derivative::Derivative::Zero(_)) => return Ok(None),
        Some(derivative::Derivative::Graphs) => return Err(refuse("its graphs are not sound".to_owned())),
        Some(derivative::Derivative::None(why)) => {
            return Err(Refusal::of(format!("`{op}` has no derivative: {why}")));
        }
        Some(derivative::Derivative::Text(text)) => cell.text(text).map_err(refuse)?,
        Some(derivative::Derivative::Build(build)) => build(&mut cell).map_err(refuse)?,
        Some(derivative::Derivative::Rewrite(rewrite)) => {
            rewrite(&mut cell).map_err(refuse)?;
            let function = bodies::read(&cell.rewritten(), version);
            return through(function.ok_or_else(|| refuse("its text is not sound".to_owned()))?);
        }
        None => {
            let function = functions::body_of(model, registry, facts, body, node);
            let Some(function) = function else {
                let why = match functions::has_body(registry.get(id), version) {
                    true => "too little is known of the node",
                    false => "its derivative is not known",
                };
                return Err(refuse(why.to_owned()));
            };
            return through(function);
        }
    }
    let given = cell.given();
    if !given.contains(&true) {
        return Ok(None);
    }
    let function = bodies::read(&cell.derivative(), version);
    let function = function.ok_or_else(|| refuse("its text is not sound".to_owned()))?;
    Ok(Some(Derivative { function, given }))
}
