//! Writes inferred types into a model where nothing is declared.

use crate::dims::Dim;
use crate::facts::Facts;
use crate::facts::{TensorTy, Ty, dim_text};
use onnx_ir::{
    BodyId, DimValue, ElemType, GraphId, Model, Name, Port, SecondaryMap, TensorType, Type, TypeId, TypeKind,
    ValueId,
};

/// The IR version from which on functions have `value_info`.
const FUNCTION_VALUE_INFO_SINCE_IR: i64 = 10;

/// Declares the inferred types of node outputs in `value_info`, and completes the types of graph outputs.
///
/// Declarations are kept: a dimension is set only if the declaration leaves it open, or if it is a symbol and the inferred
/// dimension is a number. For functions, types that hold for all calls are declared, if the IR version allows it.
pub fn apply(model: &mut Model, facts: &mut Facts) -> Applied {
    let mut bodies: Vec<(BodyId, bool)> = model.main.into_iter().map(|b| (b, false)).collect();
    for training in &model.training {
        bodies.extend(training.initialization.into_iter().chain(training.algorithm).map(|b| (b, false)));
    }
    if model.header.ir_version.is_some_and(|v| v >= FUNCTION_VALUE_INFO_SINCE_IR) {
        bodies.extend(model.functions.values().map(|f| (f.body, true)));
    }
    let mut applied = Applied::default();
    for (body, is_function) in bodies {
        apply_to(model, facts, body, is_function, &mut applied);
    }
    applied
}

/// The result of [`apply`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Applied {
    /// Number of values that got a type or a more precise one.
    pub values: usize,
    /// Declared symbols that were replaced by numbers.
    pub refined: Vec<Refined>,
}

/// A declared symbol that was replaced by a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refined {
    /// The value.
    pub value: Name,
    /// The axis.
    pub axis: usize,
    /// The declared symbol.
    pub symbol: Name,
    /// The inferred number.
    pub number: i64,
}

fn apply_to(model: &mut Model, facts: &mut Facts, body: BodyId, is_function: bool, applied: &mut Applied) {
    let root = model.bodies[body].root();
    for graph in model.bodies[body].graphs.ids() {
        let is_untyped = is_function && Some(graph) == root;
        let mut declared: SecondaryMap<ValueId, bool> = SecondaryMap::default();
        for list in [Ports::Outputs, Ports::ValueInfo, Ports::Inputs] {
            for i in 0..list.of(model, body, graph).len() {
                let port = &list.of(model, body, graph)[i];
                let (Some(value), old) = (port.value, port.ty) else { continue };
                // The formal parameters of a function have no types, but its values have.
                if is_untyped && list != Ports::ValueInfo {
                    continue;
                }
                declared[value] = true;
                if list == Ports::Inputs {
                    continue;
                }
                let ty = merged(model, facts, body, value, old);
                let ty = refined(model, facts, (body, value), ty, &mut applied.refined);
                if ty.is_some() && ty != old {
                    list.of_mut(model, body, graph)[i].ty = ty;
                    applied.values += 1;
                }
            }
        }
        let nodes = model.bodies[body].graphs[graph].nodes.clone();
        for node in nodes {
            for i in 0..model.bodies[body].nodes[node].outputs.len() {
                let Some(value) = model.bodies[body].nodes[node].outputs[i] else { continue };
                if declared[value] {
                    continue;
                }
                let Some(ty) = merged(model, facts, body, value, None) else { continue };
                let name = model.bodies[body].values[value].name;
                let port = Port { name: Some(name), value: Some(value), ty: Some(ty), ..Port::default() };
                model.bodies[body].graphs[graph].value_info.push(port);
                applied.values += 1;
            }
        }
    }
}

/// The declared type of a tensor with inferred numbers in place of symbols, except numbers that only other nodes imply for a
/// symbol.
fn refined(
    model: &mut Model,
    facts: &Facts,
    (body, value): (BodyId, ValueId),
    declared: Option<TypeId>,
    refined: &mut Vec<Refined>,
) -> Option<TypeId> {
    let id = declared?;
    let (Ty::Tensor(computed), TypeKind::Tensor(old)) = (&facts.get(body, value).ty, &model.types[id].kind)
    else {
        return declared;
    };
    let (Some(computed), Some(shape)) = (&computed.shape, &old.shape) else { return declared };
    if computed.len() != shape.len() {
        return declared;
    }
    let mut shape = shape.clone();
    let before = refined.len();
    for (axis, (old, computed)) in shape.iter_mut().zip(computed).enumerate() {
        if let (DimValue::Param(symbol), &Dim::Const(number)) = (old.value, computed) {
            old.value = DimValue::Value(number);
            let value = model.bodies[body].values[value].name;
            refined.push(Refined { value, axis, symbol, number });
        }
    }
    if refined.len() == before {
        return declared;
    }
    let ty = Type {
        kind: TypeKind::Tensor(TensorType { elem: old.elem, shape: Some(shape) }),
        denotation: model.types[id].denotation,
    };
    Some(model.types.intern(ty))
}

/// The lists of a graph with declared types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ports {
    Inputs,
    Outputs,
    ValueInfo,
}

impl Ports {
    fn of(self, model: &Model, body: BodyId, graph: GraphId) -> &[Port] {
        let graph = &model.bodies[body].graphs[graph];
        match self {
            Ports::Inputs => &graph.inputs,
            Ports::Outputs => &graph.outputs,
            Ports::ValueInfo => &graph.value_info,
        }
    }

    fn of_mut(self, model: &mut Model, body: BodyId, graph: GraphId) -> &mut [Port] {
        let graph = &mut model.bodies[body].graphs[graph];
        match self {
            Ports::Inputs => &mut graph.inputs,
            Ports::Outputs => &mut graph.outputs,
            Ports::ValueInfo => &mut graph.value_info,
        }
    }
}

/// The type of a value as a declaration: the declared type, completed by inference. `None` if neither has an element type.
pub fn declared_type(
    model: &mut Model,
    facts: &mut Facts,
    body: BodyId,
    value: ValueId,
    declared: Option<TypeId>,
) -> Option<TypeId> {
    merged(model, facts, body, value, declared)
}

/// The declared type completed by inference.
fn merged(
    model: &mut Model,
    facts: &mut Facts,
    body: BodyId,
    value: ValueId,
    declared: Option<TypeId>,
) -> Option<TypeId> {
    let ty = facts.resolved(body, value).ty;
    complete(model, facts, declared, &ty)
}

fn complete(model: &mut Model, facts: &Facts, declared: Option<TypeId>, ty: &Ty) -> Option<TypeId> {
    let old = declared.map(|id| model.types[id].clone());
    let denotation = old.as_ref().and_then(|t| t.denotation);
    let kind = match (old.map_or(TypeKind::Unset, |t| t.kind), ty) {
        (TypeKind::Unset, Ty::Unknown) => return declared,
        (TypeKind::Unset, Ty::Tensor(t)) => TypeKind::Tensor(tensor(model, facts, TensorType::default(), t)?),
        (TypeKind::Unset, Ty::Sparse(t)) => {
            TypeKind::SparseTensor(tensor(model, facts, TensorType::default(), t)?)
        }
        (TypeKind::Tensor(old), Ty::Tensor(t)) => TypeKind::Tensor(tensor(model, facts, old, t)?),
        (TypeKind::SparseTensor(old), Ty::Sparse(t)) => TypeKind::SparseTensor(tensor(model, facts, old, t)?),
        (TypeKind::Unset, Ty::Sequence(t)) => TypeKind::Sequence(Some(complete(model, facts, None, t)?)),
        (TypeKind::Sequence(old), Ty::Sequence(t)) => TypeKind::Sequence(complete(model, facts, old, t)),
        (TypeKind::Unset, Ty::Optional(t)) => TypeKind::Optional(Some(complete(model, facts, None, t)?)),
        (TypeKind::Optional(old), Ty::Optional(t)) => TypeKind::Optional(complete(model, facts, old, t)),
        (TypeKind::Unset, Ty::Map(key, t)) => {
            TypeKind::Map { key: *key, value: Some(complete(model, facts, None, t)?) }
        }
        (TypeKind::Map { key: old_key, value }, Ty::Map(key, t)) => {
            TypeKind::Map { key: old_key.or(*key), value: complete(model, facts, value, t) }
        }
        // A contradicting declaration is kept; the checker reports it.
        _ => return declared,
    };
    Some(model.types.intern(Type { kind, denotation }))
}

/// Returns `None` if the element type is unknown: such a type must not be written.
fn tensor(model: &mut Model, facts: &Facts, old: TensorType, new: &TensorTy) -> Option<TensorType> {
    let elem: ElemType = old.elem.filter(|&e| e != ElemType::UNDEFINED).or(new.elem)?;
    let mut dim = |d: Dim| match d {
        Dim::Unknown => DimValue::Unknown,
        Dim::Const(n) => DimValue::Value(n),
        Dim::Expr(_) => DimValue::Param(model.names.intern(&dim_text(&facts.dims, d))),
    };
    let shape = match (old.shape, &new.shape) {
        (None, None) => None,
        (None, Some(new)) => Some(new.iter().map(|&d| dim(d).into()).collect()),
        (Some(mut old), new) => {
            for (old, &new) in old.iter_mut().zip(new.iter().flatten()) {
                if old.value == DimValue::Unknown {
                    old.value = dim(new);
                }
            }
            Some(old)
        }
    };
    Some(TensorType { elem: Some(elem), shape })
}
