//! Makes a function of some nodes of a graph.
//!
//! With the nodes of `t` and `u`, and the name `l.f`:
//!
//! ```text
//! before:  <ir_version: 10, opset_import: ["": 21]>
//!          g (float[N] x, float[N] z) => (float[N] y) <float[N] t> { t = Abs(x)  u = Mul(t, z)  y = Neg(u) }
//! after:   <ir_version: 10, opset_import: ["": 21, "l": 1]>
//!          g (float[N] x, float[N] z) => (float[N] y) { u = l.f(x, z)  y = Neg(u) }
//!          <domain: "l", opset_import: ["": 21]>
//!          f (float[N] x, float[N] z) => (u) <float[N] t> { t = Abs(x)  u = Mul(t, z) }
//! ```
//!
//! Inputs of the function are the values that the nodes read from outside, including nested graphs, in the order of reading;
//! outputs are the results that are read outside, or that an annotation or training names. Names are kept. Known types are
//! declared in the function. In a function, attribute parameters that the nodes refer to become parameters of the new one.
//! [`inline`](super::inline()) is the inverse, up to names.

mod region;

use super::calls::{Functions, Imports, bodies, nodes};
use super::dead_code::trained_names;
use super::format::{IR_WITH_FUNCTIONS, upgrade_ir_version};
use super::transplant::{CopyOptions, CopySource, CopyTarget, Transplant};
use super::watched;
use crate::attr::Attr;
use crate::body::{Body, Graph, Node, Port, Value, ValueDef};
use crate::diag::{Diagnostic, Place, code};
use crate::edit::drop_declarations;
use crate::ids::{BodyId, FunctionId, NodeId, TypeId, ValueId};
use crate::model::{Function, Model, OpsetImport, normalize_domain};
use crate::names::{Name, Names};
use crate::releases::newest_version;
use crate::types::{Dim, DimValue, TensorType, Type, TypeKind, Types};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use region::Region;

type Map<K, V> = HashMap<K, V, RandomState>;
type Set<T> = HashSet<T, RandomState>;

/// From this version of the format on, functions declare types.
const IR_WITH_TYPES: i64 = 10;

/// Makes a function of nodes of one graph of a body, and a call in their place. Nodes nested in others that are listed
/// go with them.
///
/// # Errors
/// Why the nodes cannot become this function; the model is as it was.
pub fn outline(
    model: &mut Model,
    body: BodyId,
    selected: &[NodeId],
    domain: &str,
    name: &str,
) -> Result<FunctionId, Vec<Diagnostic>> {
    watched("outline", model, |model| {
        let function = identity(model, domain, name)?;
        let is_main = bodies(model).iter().all(|&(b, f)| b != body || f.is_none());
        let trained = if is_main { trained_names(model) } else { Set::default() };
        let region = Region::new(model, body, selected, &trained)?;
        upgrade_ir_version(model, IR_WITH_FUNCTIONS);
        Ok(make(model, body, &region, function))
    })
}

/// The identity of a function that can be added: its domain and name.
fn identity(model: &mut Model, domain: &str, name: &str) -> Result<(Name, Name), Vec<Diagnostic>> {
    let refused = |code, message: String| Err(vec![Diagnostic::new(code, Place::Nowhere, message)]);
    if name.is_empty() || normalize_domain(domain).is_empty() {
        let message = "a function needs a name and a domain of its own, as in `local.name`".to_owned();
        return refused(&code::FUNCTION_IDENTITY, message);
    }
    let (domain_name, name_name) = (model.names.intern(domain), model.names.intern(name));
    let functions = Functions::of(model);
    if functions.find((functions.domain(Some(domain_name)), name_name, Name::empty())).is_some() {
        return refused(&code::FUNCTION_REPEATED, format!("there is a function `{domain}.{name}` already"));
    }
    let same = |node: &Node| functions.domain(node.domain) == domain_name && node.op == Some(name_name);
    if bodies(model).iter().any(|&(body, _)| nodes(&model.bodies[body]).any(same)) {
        let message = format!("nodes mean something else by `{domain}.{name}`, and would call the function");
        return refused(&code::FUNCTION_REPEATED, message);
    }
    let of_domain = |node: &Node| functions.domain(node.domain) == domain_name;
    let has_functions = model.functions.values().any(|f| functions.domain(f.domain) == domain_name);
    if newest_version(domain).is_none()
        && !has_functions
        && bodies(model).iter().any(|&(body, _)| nodes(&model.bodies[body]).any(of_domain))
    {
        let message = format!(
            "operators of `{domain}` are not functions of the model, and would have to be if one of them were"
        );
        return refused(&code::CALL_UNRESOLVED, message);
    }
    Ok((domain_name, name_name))
}

/// Makes the function and the call.
fn make(model: &mut Model, id: BodyId, region: &Region, (domain, name): (Name, Name)) -> FunctionId {
    let enclosing = bodies(model).into_iter().find(|(b, _)| *b == id).and_then(|(_, f)| f);
    let imports = Imports::within(model, enclosing);
    let has_types = model.header.ir_version.is_none_or(|v| v >= IR_WITH_TYPES);
    let Model { names, types, bodies, .. } = &mut *model;
    let body = &mut bodies[id];
    let known = if has_types { known_types(body, types) } else { Map::default() };
    let inside = copied(names, types, body, region, &known);
    let parameters = parameters(&inside);
    let opset_imports = own_imports(&inside, &imports);
    let call = call(body, region, domain, name, &parameters);
    put_call(body, region, call);
    let body = bodies.push(inside);
    let imports_of_caller = match enclosing {
        Some(f) => &mut model.functions[f].opset_imports,
        None => &mut model.header.opset_imports,
    };
    if imports.get(domain).is_none() {
        imports_of_caller.push(OpsetImport { domain: Some(domain), version: Some(1) });
    }
    model.functions.push(Function {
        name: Some(name),
        domain: Some(domain),
        overload: None,
        attributes: parameters.iter().filter_map(|a| a.name).collect(),
        attribute_defaults: Vec::new(),
        opset_imports,
        doc: None,
        metadata: Vec::new(),
        body,
    })
}

/// The types that a body declares, and those of its initializers.
fn known_types(body: &Body, types: &mut Types) -> Map<ValueId, TypeId> {
    let mut known = Map::default();
    for graph in body.walk().graphs() {
        let graph = &body.graphs[graph];
        for port in graph.inputs.iter().chain(&graph.outputs).chain(&graph.value_info) {
            if let (Some(value), Some(ty)) = (port.value, port.ty) {
                known.entry(value).or_insert(ty);
            }
        }
        for initializer in &graph.initializers {
            let tensor = &body.tensors[initializer.tensor];
            known.entry(initializer.value).or_insert_with(|| {
                let shape = tensor.dims.iter().map(|&n| Dim::from(DimValue::Value(n))).collect();
                let kind = TypeKind::Tensor(TensorType { elem: tensor.elem, shape: Some(shape) });
                types.intern(Type::from(kind))
            });
        }
    }
    known
}

/// The body of the function.
fn copied(
    names: &mut Names,
    types: &mut Types,
    from: &Body,
    region: &Region,
    known: &Map<ValueId, TypeId>,
) -> Body {
    let mut inside = Body::default();
    let root = inside.graphs.push(Graph::default());
    let mut formals: Vec<ValueId> = Vec::new();
    let mut taken: Set<Name> = Set::default();
    for &value in &region.inputs {
        let mut name = from.values[value].name;
        if !taken.insert(name) {
            let text = names[name].to_owned();
            name = names.fresh(&text);
        }
        formals.push(inside.values.push(Value { name, def: ValueDef::Input(root) }));
    }
    let target = CopyTarget { names, types, body: &mut inside };
    let mut copy = Transplant::new(CopySource::body(from), target, root, CopyOptions::default());
    for (&value, &formal) in region.inputs.iter().zip(&formals) {
        copy.bind(value, Some(formal));
    }
    let copies: Vec<NodeId> = region.nodes.iter().map(|&node| copy.node(node)).collect();
    let inner = region.nodes.iter().flat_map(|&n| from.nodes[n].outputs.iter().flatten());
    let inner: Vec<(ValueId, Option<ValueId>)> = inner.map(|&v| (v, copy.value(v))).collect();
    drop(copy);

    let of: Map<ValueId, ValueId> = inner.iter().filter_map(|&(v, copy)| Some((v, copy?))).collect();
    let outputs: Vec<ValueId> = region.outputs.iter().filter_map(|v| of.get(v).copied()).collect();
    let port = |value: ValueId, ty: Option<TypeId>, body: &Body| Port {
        name: Some(body.values[value].name),
        value: Some(value),
        ty,
        ..Port::default()
    };
    // Types of the signature come first, as readers of text assign them.
    let given = region.inputs.iter().copied().zip(formals.iter().copied());
    let requested = region.outputs.iter().copied().zip(outputs.iter().copied());
    let is_output: Set<ValueId> = region.outputs.iter().copied().collect();
    let rest = inner.iter().filter_map(|&(v, copy)| Some((v, copy?)));
    let rest = rest.filter(|(v, _)| !is_output.contains(v));
    let typed: Vec<Port> = (given.chain(requested).chain(rest))
        .filter_map(|(v, copy)| Some(port(copy, Some(*known.get(&v)?), &inside)))
        .collect();
    let graph = Graph {
        inputs: formals.iter().map(|&v| port(v, None, &inside)).collect(),
        outputs: outputs.iter().map(|&v| port(v, None, &inside)).collect(),
        value_info: typed,
        nodes: copies,
        ..Graph::default()
    };
    inside.graphs[root] = graph;
    inside
}

/// Attributes that pass on the parameters that nodes of the function refer to.
fn parameters(inside: &Body) -> Vec<Attr> {
    let mut seen: Set<Name> = Set::default();
    let references = nodes(inside).flat_map(|n| &n.attrs).filter_map(|a| Some((a.reference?, a.ty)));
    references
        .filter(|(name, _)| seen.insert(*name))
        .map(|(name, ty)| Attr { name: Some(name), ty, reference: Some(name), ..Attr::default() })
        .collect()
}

/// The imports that nodes of the function need.
fn own_imports(inside: &Body, imports: &Imports) -> Vec<OpsetImport> {
    let mut seen: Set<Name> = Set::default();
    let domains = nodes(inside).map(|n| imports.domain(n.domain)).filter(|&d| seen.insert(d));
    let import = |d: Name| Some(OpsetImport { domain: Some(d), version: imports.get(d)? });
    domains.filter_map(import).collect()
}

/// The call, which is in no graph yet.
fn call(body: &mut Body, region: &Region, domain: Name, name: Name, parameters: &[Attr]) -> NodeId {
    let call = body.nodes.push(Node {
        op: Some(name),
        domain: Some(domain),
        inputs: region.inputs.iter().map(|&v| Some(v)).collect(),
        outputs: region.outputs.iter().map(|&v| Some(v)).collect(),
        attrs: parameters.to_vec(),
        ..Node::default()
    });
    body.origins[call] = region.nodes.first().map(|&n| body.origins[n]).unwrap_or_default();
    call
}

/// Replaces the nodes by the call; nodes between them that need their results move after it.
fn put_call(body: &mut Body, region: &Region, call: NodeId) {
    for &node in &region.nodes {
        for value in std::mem::take(&mut body.nodes[node].outputs).into_iter().flatten() {
            body.values[value].def = ValueDef::Unbound(region.graph);
        }
    }
    for (i, &value) in (0u32..).zip(&region.outputs) {
        body.values[value].def = ValueDef::Output(call, i);
    }
    let graph = &mut body.graphs[region.graph];
    let selected: Set<NodeId> = region.nodes.iter().copied().collect();
    let (mut order, mut later, mut left) = (Vec::new(), Vec::new(), region.nodes.len());
    for node in std::mem::take(&mut graph.nodes) {
        if selected.contains(&node) {
            left -= 1;
            if left == 0 {
                order.push(call);
                order.append(&mut later);
            }
        } else if left > 0 && left < region.nodes.len() && region.after.contains(&node) {
            later.push(node);
        } else {
            order.push(node);
        }
    }
    graph.nodes = order;
    drop_declarations(body);
}
