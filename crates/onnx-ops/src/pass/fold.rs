//! Constant folding.
//!
//! ```text
//! before:  g (float[2,3] x, float[N,4] u) => (float[3,2] y, float[N,2,2] z) <int64[2] a = {1, 2}, int64[2] b = {2, 0}> {
//!             s = Add(a, b)            y = Reshape(x, s)
//!             t = Shape(x)             …
//!          }
//! after:      s = Constant <value = int64[2] {3, 2}> ()
//!             t = Constant <value = int64[2] {2, 3}> ()
//! ```
//!
//! A node becomes a `Constant` in its place, with its name and results, if all its inputs are constants and
//! [`meaning`](crate::meaning) has a formula for it, or if inference knows all elements of the result: constant shapes and what
//! is computed from them. Constants are initializers that inputs cannot override, and `Constant` nodes. Unused values are left to
//! `dead-code`. An `If` with a constant condition is replaced by its branch (`decide`).
//!
//! Results larger than [`LIMIT`] are not folded, so that the model does not grow. Operations whose rounding differs between
//! runtimes are not folded, nor is anything in a model with training information.

use super::decide::Decide;
use crate::derivative::is_trained;
use crate::dims::Dim;
use crate::infer::{Fact, InferOptions, Ty, infer};
use crate::lint::local_functions;
use crate::meaning::{Attributes, Cx, Dense, Elements, Mode, Number, Operand, Output, define};
use crate::schema::{Lookup, Registry};
use onnx_ir::pass::{Report, node_orders};
use onnx_ir::{
    Attr, AttrValue, Body, BodyId, ElemType, GraphId, Model, Name, Node, NodeId, SecondaryMap, Uses,
    ValueDef, ValueId, normalize_domain,
};
use std::rc::Rc;

/// The largest result in bytes, and the largest operand that is considered.
pub const LIMIT: usize = 64 << 10;
/// The most steps for one result.
const EFFORT: usize = 1 << 20;
/// The most rounds of replacing branches.
const ROUNDS: usize = 8;

/// Folds constants.
pub fn fold_constants(model: &mut Model, registry: &Registry) -> Report {
    let mut report = Report::default();
    if is_trained(model) {
        return report;
    }
    let (mut folded, mut decided) = (0, 0);
    for _ in 0..ROUNDS {
        let (nodes, conditions) = fold(model, registry);
        (folded, decided) = (folded + nodes, decided + conditions);
        // A replaced branch may make more values constant.
        if conditions == 0 {
            break;
        }
    }
    report.note(folded, "node", "folded");
    report.note(decided, "condition", "decided");
    report
}

/// Returns the number of folded nodes, and of decided conditions.
fn fold(model: &mut Model, registry: &Registry) -> (usize, usize) {
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let local = local_functions(model);
    let (mut count, mut decided) = (0, 0);
    for body_id in model.bodies.ids().collect::<Vec<_>>() {
        let Some(version) = model.opset_version(model.imports_of(body_id), "") else { continue };
        let is_function = model.functions.values().any(|f| f.body == body_id);
        let mut known = initializers(&model.bodies[body_id]);
        for node in in_order(&model.bodies[body_id]) {
            crate::interrupt::look();
            let body = &model.bodies[body_id];
            let n = &body.nodes[node];
            let is_ours = normalize_domain(model.text(n.domain)).is_empty()
                && n.op.is_some_and(|op| !local.contains(&(String::new(), op)));
            let [Some(output)] = n.outputs[..] else { continue };
            // Device annotations name the inputs.
            if !is_ours || !n.extra().devices.is_empty() {
                continue;
            }
            if model.text(n.op) == "Constant" {
                known[output] = constant(model, body, n).map(Rc::new);
                continue;
            }
            let site = FoldSite { model, registry, body: body_id, node, version, known: &known };
            let fact = facts.get(body_id, output);
            let result =
                site.computed(fact).or_else(|| (!is_function).then(|| site.inferred(fact)).flatten());
            let Some(result) = result.filter(|dense| fits(dense, version)) else { continue };
            let Some(tensor) = result.tensor() else { continue };
            become_constant(model, body_id, node, tensor);
            known[output] = Some(Rc::new(result));
            count += 1;
        }
        let uses = Uses::of(&model.bodies[body_id]);
        let is_if = |op: &Name| model.text(Some(*op)) == "If";
        let is_hidden = local.iter().any(|(domain, op)| domain.is_empty() && is_if(op));
        let body = body_id;
        let mut decide = Decide {
            model,
            body,
            facts: &facts,
            known: &known,
            uses: &uses,
            version,
            is_function,
            is_hidden,
        };
        decided += decide.all();
    }
    (count, decided)
}

/// By value.
pub(super) type KnownElements = SecondaryMap<ValueId, Option<Rc<Dense>>>;

/// The values of initializers that callers cannot override.
fn initializers(body: &Body) -> KnownElements {
    let mut known = KnownElements::default();
    for init in body.graphs.values().flat_map(|graph| &graph.initializers) {
        if matches!(body.values[init.value].def, ValueDef::Initializer(_)) {
            known[init.value] = Dense::of(&body.tensors[init.tensor], LIMIT).map(Rc::new);
        }
    }
    known
}

/// The nodes of a body in topological order; those of a graph before those of nested graphs.
fn in_order(body: &Body) -> Vec<NodeId> {
    let nodes = |(graph, order): (GraphId, Option<Vec<NodeId>>)| {
        order.unwrap_or_else(|| body.graphs[graph].nodes.clone())
    };
    node_orders(body).into_iter().flat_map(nodes).collect()
}

/// The value of a `Constant` node.
fn constant(model: &Model, body: &Body, n: &Node) -> Option<Dense> {
    let [attr] = &n.attrs[..] else { return None };
    let value = attr.value().filter(|_| attr.reference.is_none())?;
    let list = |elem, numbers: Vec<Number>| Some(Dense { elem, dims: vec![numbers.len()], numbers });
    let scalar = |elem, number| Some(Dense { elem, dims: Vec::new(), numbers: vec![number] });
    match (model.text(attr.name), value) {
        ("value", AttrValue::Tensor(tensor)) => Dense::of(&body.tensors[*tensor], LIMIT),
        ("value_int", AttrValue::Int(i)) => scalar(ElemType::INT64, Number::Int((*i).into())),
        ("value_float", AttrValue::Float(x)) => scalar(ElemType::FLOAT, Number::Float((*x).into())),
        ("value_ints", AttrValue::Ints(all)) => {
            list(ElemType::INT64, all.iter().map(|i| Number::Int((*i).into())).collect())
        }
        ("value_floats", AttrValue::Floats(all)) => {
            list(ElemType::FLOAT, all.iter().map(|x| Number::Float((*x).into())).collect())
        }
        _ => None,
    }
}

/// Whether a constant of this size and type can be stored.
fn fits(dense: &Dense, version: i64) -> bool {
    let bytes = dense.elem.raw_size(dense.numbers.len() as u64).unwrap_or(u64::MAX);
    let is_float = matches!(dense.elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16);
    let is_allowed = match version {
        ..9 => is_float,
        9..13 => dense.elem != ElemType::BFLOAT16,
        _ => true,
    };
    bytes <= LIMIT as u64 && is_allowed
}

fn become_constant(model: &mut Model, body: BodyId, node: NodeId, tensor: onnx_ir::Tensor) {
    let (op, value): (Name, Name) = (model.names.intern("Constant"), model.names.intern("value"));
    let body = &mut model.bodies[body];
    let tensor = body.tensors.push(tensor);
    let n = &mut body.nodes[node];
    n.op = Some(op);
    n.inputs.clear();
    n.attrs = vec![Attr::new(value, AttrValue::Tensor(tensor))];
}

/// A node that may be folded.
struct FoldSite<'a> {
    model: &'a Model,
    registry: &'a Registry,
    body: BodyId,
    node: NodeId,
    version: i64,
    known: &'a KnownElements,
}

impl FoldSite<'_> {
    fn n(&self) -> &Node {
        &self.model.bodies[self.body].nodes[self.node]
    }

    /// The result by its formula, if all inputs are known.
    fn computed(&self, fact: &Fact) -> Option<Dense> {
        let n = self.n();
        let (elem, dims) = (fact.ty.elem()?, extents(&fact.ty)?);
        let inputs: Vec<Option<&Dense>> = (n.inputs.iter())
            .map(|v| v.map_or(Some(None), |v| self.known[v].as_deref().map(Some)))
            .collect::<Option<_>>()?;
        let op = self.model.text(n.op);
        let Lookup::Found(id) = self.registry.lookup("", op, self.version) else { return None };
        let body = &self.model.bodies[self.body];
        let attributes = Attributes::of(self.model, body, n, self.registry.get(id))?;
        let operands: Vec<Option<Operand<'_>>> = (inputs.iter())
            .map(|dense| dense.map(|d| Operand { elem: d.elem, dims: &d.dims, value: Some(d) }))
            .collect();
        let outputs = [Some(Output { elem, dims: &dims })];
        let cx = Cx { inputs: &operands, outputs: &outputs, attributes: &attributes };
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= LIMIT);
        let definition = count.and_then(|_| define(&cx))?;
        let elems: Vec<Option<ElemType>> = operands.iter().map(|x| x.map(|x| x.elem)).collect();
        if !definition.is_exact(&elems) {
            return None;
        }
        let elements: Vec<Option<&dyn Elements>> =
            inputs.iter().map(|dense| dense.map(|d| d as &dyn Elements)).collect();
        definition.evaluate(&elements, Mode::Portable, EFFORT)?.pop()?
    }

    /// The result by inference.
    fn inferred(&self, fact: &Fact) -> Option<Dense> {
        let elem = fact.ty.elem().filter(|e| e.is_integer() || *e == ElemType::BOOL)?;
        let holds_graphs = self.model.bodies[self.body].subgraphs(self.node).next().is_some();
        let (value, dims) = (fact.value.as_ref()?, extents(&fact.ty)?);
        if holds_graphs || value.dims[..] != dims[..] {
            return None;
        }
        let numbers: Vec<Number> = value.ints()?.into_iter().map(|i| Number::Int(i.into())).collect();
        let is_sound = numbers.iter().all(|n| match elem {
            ElemType::BOOL => matches!(n, Number::Int(0 | 1)),
            _ => n.wrap(elem) == *n,
        });
        is_sound.then_some(Dense { elem, dims, numbers })
    }
}

/// The shape of a tensor, if it is numbers.
fn extents(ty: &Ty) -> Option<Vec<usize>> {
    let Ty::Tensor(t) = ty else { return None };
    let number = |d: &Dim| match d {
        Dim::Const(n) => usize::try_from(*n).ok(),
        Dim::Unknown | Dim::Expr(_) => None,
    };
    t.shape.as_ref()?.iter().map(number).collect()
}
