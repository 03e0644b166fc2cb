//! The derivative of a node through equivalent nodes: its function body, or a rewrite.
//!
//! The nodes form a model of their own, which is differentiated and becomes a function.

use super::reverse::{Derivative, Refusal, Reverse};
use super::sequences::may_be_float;
use crate::dims::Dim;
use crate::functions::{FunctionBody, alone};
use crate::infer::{Facts, Ty, dim_text};
use crate::schema::Registry;
use foldhash::HashSet;
use onnx_ir::pass::{self, Initializers};
use onnx_ir::{
    BodyId, DimValue, Function, GraphId, Model, Name, NodeId, Port, TypeId, Value, ValueDef, ValueId,
};
use std::sync::Arc;

/// The derivative of a node that a function is equivalent to.
pub(super) fn derivative(
    model: &Model,
    registry: &Registry,
    facts: &Facts,
    body: BodyId,
    node: NodeId,
    function: &FunctionBody,
    gradients: &[bool],
) -> Result<Option<Derivative>, Refusal> {
    let mut lone = alone(model, registry, body, node, function);
    let Some(main) = lone.main else { return Err(Refusal::of("it has no body")) };
    let Some(root) = lone.bodies[main].root() else { return Err(Refusal::of("its body has no graph")) };
    let source = &model.bodies[body].nodes[node];
    let name_of = |value: ValueId| &model.names[model.bodies[body].values[value].name];
    let port_of = |lone: &Model, ports: &[Port], value: ValueId| {
        ports.iter().find(|port| lone.text(port.name) == name_of(value)).and_then(|port| port.value)
    };
    // The facts of the operands apply.
    let inputs = lone.bodies[main].graphs[root].inputs.clone();
    let outputs = lone.bodies[main].graphs[root].outputs.clone();
    for &operand in source.inputs.iter().flatten() {
        let ty = declared(&mut lone, facts, &facts.get(body, operand).ty);
        let ports = &mut lone.bodies[main].graphs[root].inputs;
        let at = inputs
            .iter()
            .position(|port| lone.names[port.name.unwrap_or(Name::empty())] == *name_of(operand));
        if let Some(port) = at.and_then(|at| ports.get_mut(at)) {
            port.ty = ty;
        }
    }
    // Each operand once, and the gradients of results.
    let mut formal: Vec<Option<ValueId>> = Vec::new();
    for operand in &source.inputs {
        let value = operand.and_then(|operand| port_of(&lone, &inputs, operand));
        formal.push(value.filter(|value| !formal.contains(&Some(*value))));
    }
    let mut seeds = Vec::new();
    let mut given = Vec::new();
    for (result, has_gradient) in source.outputs.iter().zip(gradients) {
        let value = result.filter(|_| *has_gradient).and_then(|result| port_of(&lone, &outputs, result));
        given.push(value.map(|value| {
            let gradient = input(&mut lone, main, root, "dy");
            seeds.push((value, gradient));
            gradient
        }));
    }
    let is_differentiable =
        |operand: &Option<ValueId>| operand.is_some_and(|operand| may_be_float(&facts.get(body, operand).ty));
    let wanted: Vec<Option<ValueId>> = source
        .inputs
        .iter()
        .zip(&formal)
        .map(|(operand, value)| value.filter(|_| is_differentiable(operand)))
        .collect();
    let values: Vec<ValueId> = wanted.iter().flatten().copied().collect();
    let cuts: HashSet<ValueId> = values.iter().copied().collect();
    let mut reverse = Reverse::new(&mut lone, registry, main);
    let made = reverse.run(&[root], root, &seeds, &values, &cuts);
    // A node inside the function is not a node of the model.
    let made = made.map_err(|refusal| Refusal { node: None, ..refusal })?;
    let calls = std::mem::take(&mut reverse.calls);
    let mut results = Vec::new();
    let mut has = Vec::new();
    let mut made = made.into_iter();
    for value in &wanted {
        let gradient = value.and_then(|_| made.next().flatten());
        has.push(gradient.is_some());
        results.extend(gradient);
    }
    if results.is_empty() {
        return Ok(None);
    }
    // Each output needs a unique name.
    let mut seen = HashSet::default();
    for result in &mut results {
        if !seen.insert(*result) {
            let name = reverse.fresh(*result);
            let copy = reverse.emit(root, ("", "Identity"), None, &[Some(*result)], &[Some(name)]);
            *result = copy.into_iter().flatten().next().unwrap_or(*result);
        }
    }
    let names = &lone.bodies[main].values;
    lone.bodies[main].graphs[root].outputs =
        results.iter().map(|&value| port(names[value].name, value)).collect();
    calls.inline(&mut lone, registry)?;
    pass::common_subexpressions(&mut lone, registry, Initializers::Keep);
    pass::dead_code(&mut lone, registry);
    // The inputs of the function in the order of the call.
    let mut ports = Vec::new();
    let formal = formal.into_iter().chain(source.outputs.iter().map(|_| None)).chain(given);
    for value in formal.collect::<Vec<_>>() {
        let value = value.unwrap_or_else(|| input(&mut lone, main, root, "unused"));
        ports.push(port(lone.bodies[main].values[value].name, value));
    }
    let graph = &mut lone.bodies[main].graphs[root];
    graph.inputs = ports;
    graph.outputs.iter_mut().for_each(|port| port.ty = None);
    graph.value_info.clear();
    graph.name = None;
    let (name, domain) = (lone.names.intern("Derivative"), lone.names.intern(super::calls::DOMAIN));
    let id = lone.functions.push(Function {
        name: Some(name),
        domain: Some(domain),
        overload: None,
        attributes: Vec::new(),
        attribute_defaults: Vec::new(),
        opset_imports: lone.header.opset_imports.clone(),
        doc: None,
        metadata: Vec::new(),
        body: main,
    });
    lone.main = None;
    Ok(Some(Derivative { function: FunctionBody { model: Arc::new(lone), id }, given: has }))
}

fn port(name: Name, value: ValueId) -> Port {
    Port { name: Some(name), value: Some(value), ..Port::default() }
}

/// Adds an input to the main graph.
fn input(lone: &mut Model, main: BodyId, root: GraphId, stem: &str) -> ValueId {
    let name = super::reverse::fresh(lone, stem);
    let body = &mut lone.bodies[main];
    let value = body.values.push(Value { name, def: ValueDef::Input(root) });
    body.graphs[root].inputs.push(port(name, value));
    value
}

/// A type in another model; symbols keep their text.
fn declared(lone: &mut Model, facts: &Facts, ty: &Ty) -> Option<TypeId> {
    let tensor = ty.as_tensor().filter(|_| matches!(ty, Ty::Tensor(_)))?;
    let (elem, shape) = (tensor.elem?, tensor.shape.as_ref()?);
    let dims: Vec<DimValue> = shape
        .iter()
        .map(|dim| match dim {
            Dim::Const(n) => DimValue::Value(*n),
            Dim::Unknown => DimValue::Unknown,
            Dim::Expr(_) => DimValue::Param(lone.names.intern(&dim_text(&facts.dims, *dim))),
        })
        .collect();
    Some(lone.types.tensor(elem, dims))
}
