//! The conversion, version by version.

use super::rows;
use super::sharding::{self, Tensors};
use crate::change::Conversion;
use crate::change::site::{ConvertSite, Note};
use crate::engine;
use crate::functions::body_of;
use crate::gradient::lost_gradients;
use crate::infer::{Facts, InferOptions, infer};
use crate::opset::is_added;
use crate::schema::{Default, Lookup, ParamKind, Registry, Schema};
use foldhash::{HashMap, HashSet};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, counted};
use onnx_ir::pass::{self, Foreign, Inline, Report, upgrade_ir_version};
use onnx_ir::{
    AttrValue, Body, BodyId, FunctionId, GraphId, Model, Name, NodeId, OpsetImport, WalkEvent,
    normalize_domain, releases,
};
use std::fmt::Write as _;

/// The outcome of a conversion.
#[derive(Clone, Debug, std::default::Default)]
pub struct Converted {
    /// The changes, and the nodes that cannot be converted.
    pub report: Report,
    /// The changes of nodes, in order.
    pub plan: Vec<Planned>,
    /// Whether the model has the target version now.
    pub is_done: bool,
}

/// A step of the conversion at a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The node of the original model, if it existed there.
    pub place: Place,
    /// The name of its first result.
    pub result: String,
    /// The operator.
    pub op: String,
    /// The version before the step.
    pub from: i64,
    /// The version after the step.
    pub to: i64,
    /// The description of the change.
    pub what: String,
}

/// `y: Softmax 12 -> 13: …`
impl std::fmt::Display for Planned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Planned { result, op, from, to, what, .. } = self;
        write!(f, "{result}: {op} {from} -> {to}: {what}")
    }
}

/// Converts a model to a version of a domain, or leaves it unchanged and reports why.
pub fn convert_opset(model: &mut Model, registry: &Registry, domain: &str, target: i64) -> Converted {
    let domain = normalize_domain(domain);
    let mut walk = Walk { registry, domain, target, sources: HashMap::default(), done: Converted::default() };
    if let Err(why) = walk.is_possible(model) {
        walk.refuse(Place::Entity(Entity::Header), &code::CONVERT_VERSION, why);
        return walk.done;
    }
    let mut changed = model.clone();
    let units = Unit::all(&changed, domain);
    if units.iter().all(|unit| unit.version(&changed, domain) == Some(target)) {
        walk.done.is_done = true;
        return walk.done;
    }
    let was_sound =
        infer(model, registry, &InferOptions::default()).diagnostics.iter().all(|d| !d.is_error());
    if !walk.run(&mut changed, &units) {
        return walk.done;
    }
    walk.upgrade_ir_version(&mut changed);
    if was_sound && !walk.is_sound(&changed) {
        return walk.done;
    }
    if let Some(lost) = lost_gradients(model, &changed, registry).into_iter().next() {
        let why = format!("in version {target}, {}", lost.message);
        walk.refuse(Place::Entity(Entity::Header), &code::CONVERT_VERSION, why);
        return walk.done;
    }
    let count = walk.done.plan.iter().map(|p| (p.place, &p.result)).collect::<HashSet<_>>().len();
    walk.done.report.note(count, "node", "rewritten");
    walk.done.report.note(units.len(), "import", "changed");
    walk.done.is_done = true;
    *model = changed;
    walk.done
}

/// A scope with its own imports: the model, or a function.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Unit(Option<FunctionId>);

impl Unit {
    /// The units that import a domain.
    fn all(model: &Model, domain: &str) -> Vec<Unit> {
        let functions = model.functions.ids().map(|f| Unit(Some(f)));
        let units = std::iter::once(Unit(None)).chain(functions);
        units.filter(|unit| unit.version(model, domain).is_some()).collect()
    }

    fn version(self, model: &Model, domain: &str) -> Option<i64> {
        let imports = match self.0 {
            None => &model.header.opset_imports,
            Some(f) => &model.functions[f].opset_imports,
        };
        model.opset_version(imports, domain)
    }

    fn set_version(self, model: &mut Model, domain: &str, version: i64) {
        let Model { names, header, functions, .. } = model;
        let imports = match self.0 {
            None => &mut header.opset_imports,
            Some(f) => &mut functions[f].opset_imports,
        };
        let is_it = |i: &&mut OpsetImport| normalize_domain(i.domain.map_or("", |d| &names[d])) == domain;
        imports.iter_mut().filter(is_it).for_each(|i| i.version = Some(version));
    }

    fn bodies(self, model: &Model) -> Vec<BodyId> {
        match self.0 {
            Some(f) => vec![model.functions[f].body],
            None => {
                let training = model.training.iter().flat_map(|t| [t.initialization, t.algorithm]);
                model.main.into_iter().chain(training.flatten()).collect()
            }
        }
    }
}

/// A node that a version boundary affects.
struct Todo {
    body: BodyId,
    graph: GraphId,
    node: NodeId,
    /// Whether its operator first appears in the upper version.
    is_born: bool,
}

struct Walk<'a> {
    registry: &'a Registry,
    domain: &'a str,
    target: i64,
    /// The nodes of the original model that new nodes derive from.
    sources: HashMap<(BodyId, NodeId), NodeId>,
    done: Converted,
}

impl Walk<'_> {
    fn is_possible(&self, model: &Model) -> Result<(), String> {
        let (name, target) = (if self.domain.is_empty() { "ai.onnx" } else { self.domain }, self.target);
        if !rows::is_convertible(self.domain) {
            return Err(format!("operators of {name} cannot be converted"));
        }
        let newest = releases::newest_version(self.domain).unwrap_or(0);
        if target > newest {
            return Err(format!("unknown version {target} of {name}: the newest known version is {newest}"));
        }
        let versions: Vec<i64> =
            Unit::all(model, self.domain).iter().filter_map(|u| u.version(model, self.domain)).collect();
        let Some(&highest) = versions.iter().max() else {
            return Err(format!("the model does not import {name}"));
        };
        if highest > newest {
            return Err(format!("the model imports the unknown version {highest} of {name}"));
        }
        if target < 1 {
            return Err(format!("cannot convert to version {target} of {name}: the lowest version is 1"));
        }
        if versions.iter().any(|v| *v < 1) {
            return Err(format!("the model imports a version of {name} that does not exist"));
        }
        Ok(())
    }

    /// Converts all units to the target; returns whether it succeeded.
    fn run(&mut self, model: &mut Model, units: &[Unit]) -> bool {
        let versions = |model: &Model| -> Vec<i64> {
            units.iter().filter_map(|u| u.version(model, self.domain)).collect()
        };
        let (lowest, highest) = match (versions(model).iter().min(), versions(model).iter().max()) {
            (Some(&lowest), Some(&highest)) => (lowest, highest),
            _ => return true,
        };
        let up = (lowest..self.target).map(|v| (v, v + 1));
        let down = (self.target..highest).rev().map(|v| (v + 1, v));
        for (from, to) in up.chain(down) {
            let here: Vec<Unit> =
                units.iter().copied().filter(|u| u.version(model, self.domain) == Some(from)).collect();
            if !here.is_empty() && !self.step(model, &here, from, to) {
                return false;
            }
        }
        true
    }

    /// Converts some units by one version; returns false if a node cannot be converted.
    fn step(&mut self, model: &mut Model, units: &[Unit], from: i64, to: i64) -> bool {
        let todo = self.concerned(model, units, from, to);
        if !todo.is_empty() {
            let mut facts = infer(model, self.registry, &InferOptions::default()).facts;
            let mut todo = todo;
            if todo.iter().any(|t| t.is_born) && self.replace_born(model, &todo, &facts, from, to) {
                facts = infer(model, self.registry, &InferOptions::default()).facts;
                todo = self.concerned(model, units, from, to);
            }
            let mut edits: HashMap<NodeKey, Edit> = HashMap::default();
            for item in todo {
                match self.convert(model, &facts, &item, from, to) {
                    Ok(edit) => _ = edits.insert((item.body, item.node), edit),
                    Err(why) => self.refuse_node(model, &item, from, to, &why),
                }
            }
            if !self.done.report.diagnostics.is_empty() {
                return false;
            }
            insert(model, edits);
        }
        units.iter().for_each(|unit| unit.set_version(model, self.domain, to));
        true
    }

    /// The nodes whose operator changes or appears at the boundary.
    fn concerned(&self, model: &Model, units: &[Unit], from: i64, to: i64) -> Vec<Todo> {
        let upper = from.max(to);
        let local: HashSet<(&str, Name, Name)> = (model.functions.values())
            .map(|f| {
                let name = |n: Option<Name>| n.unwrap_or(Name::empty());
                (normalize_domain(model.text(f.domain)), name(f.name), name(f.overload))
            })
            .collect();
        let mut known: HashMap<Name, Option<bool>> = HashMap::default();
        let mut todo = Vec::new();
        for body_id in units.iter().flat_map(|unit| unit.bodies(model)) {
            let body = &model.bodies[body_id];
            let mut walk = body.walk();
            while let Some(event) = walk.next() {
                let (WalkEvent::EnterNode(node), Some(graph)) = (event, walk.graph()) else { continue };
                let n = &body.nodes[node];
                let Some(op) = n.op else { continue };
                let domain = normalize_domain(model.text(n.domain));
                if domain != self.domain || local.contains(&(domain, op, n.overload.unwrap_or(Name::empty())))
                {
                    continue;
                }
                let is_born = *known.entry(op).or_insert_with(|| {
                    let versions = self.registry.versions(self.domain, &model.names[op]);
                    let since = |id: &crate::schema::SchemaId| i64::from(self.registry.get(*id).since);
                    let at = versions.iter().position(|id| since(id) == upper)?;
                    let older = &versions[..at];
                    let is_born = older.iter().all(|id| is_added(self.registry.get(*id)));
                    // Operators that ONNX Runtime added before ONNX did mostly mean the same.
                    let op = &model.names[op];
                    let is_left = is_born
                        && to > from
                        && (older.is_empty() || rows::change(self.domain, op, small(to)).is_none());
                    (!is_left).then_some(is_born && to < from)
                });
                if let Some(is_born) = is_born {
                    todo.push(Todo { body: body_id, graph, node, is_born });
                }
            }
        }
        todo
    }

    /// Replaces nodes whose operator does not exist in the lower version by function bodies; returns whether there were any.
    fn replace_born(&mut self, model: &mut Model, todo: &[Todo], facts: &Facts, from: i64, to: i64) -> bool {
        let mut bodies: HashMap<NodeKey, Foreign> = HashMap::default();
        for t in todo.iter().filter(|t| t.is_born) {
            let op = model.text(model.bodies[t.body].nodes[t.node].op);
            let change = rows::change(self.domain, op, small(from));
            if change.is_some_and(|change| !matches!(change.down, Conversion::No(_))) {
                continue;
            }
            let Some(body) = body_of(model, self.registry, facts, t.body, t.node) else { continue };
            bodies.insert((t.body, t.node), Foreign { model: body.model, function: body.id });
            let what = "replaced by its function body".to_owned();
            let planned = self.planned(model, t.body, t.node, (from, to), what);
            self.done.plan.push(planned);
        }
        if bodies.is_empty() {
            return false;
        }
        let before = lists(model);
        let mut others = |_: &Model, body: BodyId, node: NodeId| bodies.get(&(body, node)).cloned();
        let options = Inline { select: &|_, _| false, others: Some(&mut others), ..Inline::default() };
        let report = pass::inline(model, self.registry, options);
        self.done.report.diagnostics.extend(report.diagnostics.into_iter().filter(Diagnostic::is_error));
        self.trace(model, &before);
        true
    }

    /// Records the original node of each new node.
    fn trace(&mut self, model: &Model, before: &HashMap<(BodyId, GraphId), Vec<NodeId>>) {
        for (&(body, graph), old) in before {
            let is_old: HashSet<NodeId> = old.iter().copied().collect();
            let mut at = 0;
            for &node in &model.bodies[body].graphs[graph].nodes {
                if is_old.contains(&node) {
                    at = old.iter().position(|n| *n == node).unwrap_or(at) + 1;
                } else if let Some(&gone) = old.get(at) {
                    let source = self.sources.get(&(body, gone)).copied().unwrap_or(gone);
                    self.sources.insert((body, node), source);
                }
            }
        }
    }

    /// Converts a node by one version.
    fn convert(
        &mut self,
        model: &mut Model,
        facts: &Facts,
        t: &Todo,
        from: i64,
        to: i64,
    ) -> Result<Edit, String> {
        let n = &model.bodies[t.body].nodes[t.node];
        let op = model.text(n.op).to_owned();
        let change = rows::change(self.domain, &op, small(from.max(to)));
        let conversion = match change {
            Some(change) if to > from => change.up,
            Some(change) => change.down,
            None if t.is_born => {
                return Err("no operator or function body of that version computes the same".to_owned());
            }
            None => return Err("no conversion is defined for it".to_owned()),
        };
        let version = if self.domain.is_empty() {
            to
        } else {
            let unit = model.functions.iter().find(|(_, f)| f.body == t.body).map(|(f, _)| f);
            Unit(unit).version(model, "").unwrap_or(0)
        };
        // The plan refers to the original node, whatever the adapter does.
        let planned = self.planned(model, t.body, t.node, (from, to), String::new());
        let old = schema(self.registry, self.domain, &op, from);
        let tensors = Tensors::of(&model.bodies[t.body], t.node);
        let mut site = ConvertSite {
            model,
            facts,
            body: t.body,
            graph: t.graph,
            node: t.node,
            version,
            before: Vec::new(),
            after: Vec::new(),
            is_gone: false,
        };
        let note: Note = match conversion {
            Conversion::Same => None,
            Conversion::By(adapter) => adapter(&mut site)?,
            Conversion::No(why) => return Err(why.to_owned()),
        };
        let op = site.model.text(site.n().op).to_owned();
        let new = schema(self.registry, self.domain, &op, to)
            .ok_or("the operator does not exist in that version")?;
        if !site.is_gone {
            fit(&mut site, old, new)?;
            if let Some(tensors) = &tensors {
                sharding::follow(&mut site, tensors);
            }
        }
        let edit = Edit { before: site.before, after: site.after, is_gone: site.is_gone };
        let source = self.sources.get(&(t.body, t.node)).copied().unwrap_or(t.node);
        for &node in edit.before.iter().chain(&edit.after) {
            self.sources.insert((t.body, node), source);
        }
        if let Some(what) = note {
            self.done.plan.push(Planned { what, ..planned });
        }
        Ok(edit)
    }

    fn place(&self, body: BodyId, node: NodeId) -> Place {
        let source = self.sources.get(&(body, node)).copied().unwrap_or(node);
        Place::Entity(Entity::NodeOp(body, source))
    }

    fn planned(
        &self,
        model: &Model,
        body: BodyId,
        node: NodeId,
        (from, to): (i64, i64),
        what: String,
    ) -> Planned {
        let n = &model.bodies[body].nodes[node];
        let result = n.outputs.iter().flatten().next().map(|v| model.bodies[body].values[*v].name);
        let (result, op) = (model.text(result.or(n.name)).to_owned(), model.text(n.op).to_owned());
        Planned { place: self.place(body, node), result, op, from, to, what }
    }

    fn refuse_node(&mut self, model: &Model, t: &Todo, from: i64, to: i64, why: &str) {
        let op = model.text(model.bodies[t.body].nodes[t.node].op);
        let verb = if to < from { "downgrade" } else { "upgrade" };
        let message = format!("cannot {verb} `{op}` from version {from} to {to}: {why}");
        self.refuse(self.place(t.body, t.node), &code::CONVERT_NODE, message);
    }

    fn refuse(&mut self, place: Place, code: &'static onnx_ir::diag::Code, message: String) {
        self.done.report.diagnostics.push(Diagnostic::new(code, place, message));
    }

    /// Raises the IR version if the operator set requires it.
    fn upgrade_ir_version(&mut self, model: &mut Model) {
        let needed = releases::min_ir_version(self.domain, self.target);
        if needed.is_some_and(|needed| upgrade_ir_version(model, needed)) {
            self.done.report.note(1, "IR version", "raised");
        }
    }

    /// Checks the result, in case the table is incomplete.
    fn is_sound(&mut self, model: &Model) -> bool {
        let found = infer(model, self.registry, &InferOptions::default()).diagnostics;
        for diagnostic in found.into_iter().filter(Diagnostic::is_error) {
            let node = match diagnostic.primary.place {
                Place::Entity(entity) => entity.node(),
                Place::Source(_) | Place::Nowhere => None,
            };
            let place = node.map_or(Place::Nowhere, |(body, node)| self.place(body, node));
            let message = format!("in version {}, {}", self.target, diagnostic.message);
            self.refuse(place, &code::CONVERT_NODE, message);
        }
        self.done.report.diagnostics.is_empty()
    }
}

type NodeKey = (BodyId, NodeId);

/// Nodes to insert around a node.
struct Edit {
    before: Vec<NodeId>,
    after: Vec<NodeId>,
    is_gone: bool,
}

fn insert(model: &mut Model, edits: HashMap<NodeKey, Edit>) {
    let touched: HashSet<BodyId> = edits.keys().map(|(body, _)| *body).collect();
    for body_id in touched {
        for graph in model.bodies[body_id].graphs.values_mut() {
            let old = std::mem::take(&mut graph.nodes);
            for node in old {
                match edits.get(&(body_id, node)) {
                    None => graph.nodes.push(node),
                    Some(edit) => {
                        graph.nodes.extend(&edit.before);
                        graph.nodes.extend((!edit.is_gone).then_some(node));
                        graph.nodes.extend(&edit.after);
                    }
                }
            }
        }
    }
}

fn lists(model: &Model) -> HashMap<(BodyId, GraphId), Vec<NodeId>> {
    let of_body = |(id, body): (BodyId, &Body)| {
        body.graphs.iter().map(|(g, graph)| ((id, g), graph.nodes.clone())).collect::<Vec<_>>()
    };
    model.bodies.iter().flat_map(of_body).collect()
}

/// Versions are small and positive; others have no schema.
fn small(version: i64) -> u32 {
    u32::try_from(version).unwrap_or(0)
}

fn schema<'r>(registry: &'r Registry, domain: &str, op: &str, version: i64) -> Option<&'r Schema> {
    match registry.lookup(domain, op, version) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// Removes attributes that have their default and are unknown to the new signature, and returns what else does not conform.
fn fit(site: &mut ConvertSite<'_>, old: Option<&Schema>, new: &Schema) -> Result<(), String> {
    if new.deprecated {
        return Err("it is deprecated in that version".to_owned());
    }
    let names: Vec<String> = site.n().attrs.iter().map(|a| site.model.text(a.name).to_owned()).collect();
    for name in names.iter().filter(|name| new.attr(name).is_none()) {
        let Some(was) = old.and_then(|old| old.attr(name)) else { continue };
        let value = site.attrs().find(name).filter(|a| a.reference.is_none()).and_then(onnx_ir::Attr::value);
        if !value.zip(was.default.as_ref()).is_some_and(|(value, default)| is_equal(value, default)) {
            return Err(format!("it has no attribute `{name}`"));
        }
        site.drop_attr(name);
    }
    for attr in new.attrs.iter().filter(|attr| attr.required) {
        if site.attrs().find(&attr.name).is_none() {
            return Err(format!("attribute `{}` is needed", attr.name));
        }
    }
    let (_, most) = new.input_range();
    if let Some(most) = most.filter(|most| site.n().inputs.len() > *most) {
        if site.n().inputs[most..].iter().any(Option::is_some) {
            return Err(format!("it has at most {}", counted(most, "input")));
        }
        site.n_mut().inputs.truncate(most);
    }
    let (_, most) = new.output_range();
    if let Some(most) = most.filter(|most| site.n().outputs.len() > *most) {
        if site.n().outputs[most..].iter().any(Option::is_some) {
            return Err(format!("it has at most {}", counted(most, "output")));
        }
        site.n_mut().outputs.truncate(most);
    }
    for (i, param) in new.inputs.iter().enumerate() {
        if param.kind == ParamKind::Single && site.input(i).is_none() {
            return Err(format!("it requires input `{}`", param.name));
        }
    }
    let (inputs, outputs) = (site.n().inputs.len(), site.n().outputs.len());
    let given = (0..inputs).map(|i| (site.input(i), new.input(i)));
    let made = (0..outputs).map(|i| (site.output(i), new.output(i)));
    for (value, param) in given.chain(made) {
        let (Some(value), Some(param)) = (value, param) else { continue };
        let ty = site.ty(value);
        if !engine::allows(&param.types, ty) {
            let mut text = String::new();
            let _ = write!(
                text,
                "`{}` does not accept {}",
                param.name,
                ty.without_shape().text(&site.facts.dims)
            );
            return Err(text.trim_end_matches("[]").to_owned());
        }
    }
    Ok(())
}

/// Whether an attribute has its default.
fn is_equal(value: &AttrValue, default: &Default) -> bool {
    match (value, default) {
        (AttrValue::Float(a), Default::Float(b)) => a == b,
        (AttrValue::Int(a), Default::Int(b)) => a == b,
        (AttrValue::String(a), Default::String(b)) => a == b.as_bytes(),
        (AttrValue::Floats(a), Default::Floats(b)) => a[..] == b[..],
        (AttrValue::Ints(a), Default::Ints(b)) => a[..] == b[..],
        _ => false,
    }
}
