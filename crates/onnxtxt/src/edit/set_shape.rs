//! Sets dimensions of a model's inputs and infers the other types.
//!
//! With `-D N=4`:
//!
//! ```text
//! before:  g (float[N,3] x) => (float[3,N] y) <float[3,N] t> { t = Transpose(x)  y = Relu(t) }
//! after:   g (float[4,3] x) => (float[3,4] y) <float[3,4] t> { t = Transpose(x)  y = Relu(t) }
//! ```
//!
//! Declarations of other values may be outdated: they are dropped and inferred again. If inference does not know a dimension of
//! an output, a declared symbol is kept and a declared number becomes unknown.

use super::{Edited, main_graph, main_value, types};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, did_you_mean};
use onnx_ir::pass::Report;
use onnx_ir::{BodyId, Dim, DimValue, GraphId, Model, Port, Type, TypeId, TypeKind};
use onnx_ops::infer::{InferOptions, apply, declared_type, infer};
use onnx_ops::schema::Registry;
use std::collections::HashSet;

/// The dimensions to set.
#[derive(Clone, Debug, Default)]
pub struct SetShape {
    /// Sizes of symbols.
    pub sizes: Vec<(String, i64)>,
    /// Shapes of inputs: numbers, symbols, `?`.
    pub shapes: Vec<(String, Vec<String>)>,
    /// A symbol, and the axis of every input that gets it; negative axes count from the end.
    pub dynamic: Vec<(String, i64)>,
}

/// Sets dimensions of inputs and infers all other types anew.
///
/// # Errors
/// Symbols and inputs that do not exist, shapes of another rank, and contradictions with the nodes of the graph.
pub fn set_shape(model: &mut Model, registry: &Registry, options: &SetShape) -> Edited {
    let Some((id, graph)) = main_graph(model) else {
        return Err(vec![Diagnostic::new(&code::SET_SHAPE, Place::Nowhere, "the model has no graph")]);
    };
    let before = errors(model, registry);
    let mut report = Report::default();
    let mut found = Vec::new();
    set_sizes(model, options, &mut report, &mut found);
    set_shapes(model, (id, graph), options, &mut report, &mut found);
    set_dynamic(model, (id, graph), options, &mut report, &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    forget(model, (id, graph));
    let Forgotten { declared, outputs } = take_declarations(model, (id, graph));
    let inference = infer(model, registry, &InferOptions::default());
    let known: HashSet<String> = before.into_iter().map(|d| d.message).collect();
    let new = inference.diagnostics.into_iter().filter(|d| d.is_error() && !known.contains(&d.message));
    let new: Vec<Diagnostic> = new.collect();
    if !new.is_empty() {
        return Err(new);
    }
    let mut facts = inference.facts;
    apply(model, &mut facts);
    let mut restored = 0;
    for (id, graph, before) in declared {
        let mut ports: Vec<Port> = before;
        for port in &mut ports {
            let Some(value) = port.value else { continue };
            let ty = declared_type(model, &mut facts, id, value, None);
            restored += usize::from(ty.is_some() && ty != port.ty);
            port.ty = ty.or_else(|| port.ty.map(|old| without_numbers(model, old)));
        }
        model.bodies[id].graphs[graph].value_info = ports;
    }
    for (i, old) in outputs.into_iter().enumerate() {
        let now = model.bodies[id].graphs[graph].outputs[i].ty;
        let ty = completed(model, now, old);
        model.bodies[id].graphs[graph].outputs[i].ty = ty;
    }
    report.note(restored, "declaration", "changed");
    Ok(report)
}

fn errors(model: &Model, registry: &Registry) -> Vec<Diagnostic> {
    let mut found = infer(model, registry, &InferOptions::default()).diagnostics;
    found.retain(Diagnostic::is_error);
    found
}

/// Replaces symbols by numbers.
fn set_sizes(model: &mut Model, options: &SetShape, report: &mut Report, found: &mut Vec<Diagnostic>) {
    let mut used: HashSet<String> = HashSet::new();
    let mut seen: HashSet<String> = HashSet::new();
    let changed = types::map_all(model, &mut |model, dim| {
        let DimValue::Param(name) = dim.value else { return dim };
        let text = &model.names[name];
        seen.insert(text.to_owned());
        match options.sizes.iter().find(|(symbol, _)| symbol == text) {
            Some((symbol, size)) => {
                used.insert(symbol.clone());
                Dim { value: DimValue::Value(*size), ..dim }
            }
            None => dim,
        }
    });
    for (symbol, _) in options.sizes.iter().filter(|(symbol, _)| !used.contains(symbol)) {
        let message = format!("the model has no symbolic dimension `{symbol}`");
        let like = did_you_mean(symbol, seen.iter().map(String::as_str));
        let help = like.map(|like| format!("did you mean `{like}`?"));
        found.push(Diagnostic::new(&code::SET_SHAPE, Place::Nowhere, message).maybe_help(help));
    }
    report.note(changed, "type", "changed");
}

/// Shapes of single inputs.
fn set_shapes(
    model: &mut Model,
    (id, graph): (BodyId, GraphId),
    options: &SetShape,
    report: &mut Report,
    found: &mut Vec<Diagnostic>,
) {
    let mut count = 0;
    for (name, shape) in &options.shapes {
        let value = main_value(model, name);
        let at =
            model.bodies[id].graphs[graph].inputs.iter().position(|p| value.is_some() && p.value == value);
        let Some(at) = at else {
            let inputs = model.bodies[id].graphs[graph].inputs.iter().map(|p| model.text(p.name));
            let help = did_you_mean(name, inputs).map(|like| format!("did you mean `{like}`?"));
            let message = format!("the model has no input `{name}`");
            found.push(Diagnostic::new(&code::SET_SHAPE, Place::Nowhere, message).maybe_help(help));
            continue;
        };
        let place = Entity::Input(id, graph, u32::try_from(at).unwrap_or(u32::MAX));
        let ty = model.bodies[id].graphs[graph].inputs[at].ty.map(|ty| model.types[ty].clone());
        let Some(Type { kind: TypeKind::Tensor(mut tensor), denotation }) = ty else {
            let message = format!("`{name}` is not a tensor, so that it has no shape to set");
            found.push(Diagnostic::new(&code::SET_SHAPE, place, message));
            continue;
        };
        if let Some(old) = tensor.shape.as_ref().filter(|old| old.len() != shape.len()) {
            let (old, new) = (old.len(), shape.len());
            let message = format!("`{name}` has rank {old}, but the shape to set has rank {new}");
            found.push(Diagnostic::new(&code::SET_SHAPE, place, message));
            continue;
        }
        let denotations = tensor.shape.iter().flatten().map(|d| d.denotation).chain(std::iter::repeat(None));
        let dims = shape.iter().zip(denotations);
        let dims: Vec<Dim> =
            dims.map(|(text, denotation)| Dim { value: dim(model, text), denotation }).collect();
        tensor.shape = Some(dims);
        let ty = model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation });
        model.bodies[id].graphs[graph].inputs[at].ty = Some(ty);
        count += 1;
    }
    report.note(count, "input", "set");
}

/// `4`, `N` or `?`
fn dim(model: &mut Model, text: &str) -> DimValue {
    match text.parse::<i64>() {
        Ok(size) => DimValue::Value(size),
        Err(_) if text == "?" => DimValue::Unknown,
        Err(_) => DimValue::Param(model.names.intern(text)),
    }
}

/// A symbol on one axis of every input that has it.
fn set_dynamic(
    model: &mut Model,
    (id, graph): (BodyId, GraphId),
    options: &SetShape,
    report: &mut Report,
    found: &mut Vec<Diagnostic>,
) {
    let mut count = 0;
    for (symbol, axis) in &options.dynamic {
        let name = model.names.intern(symbol);
        let before = count;
        for i in 0..model.bodies[id].graphs[graph].inputs.len() {
            let port = &model.bodies[id].graphs[graph].inputs[i];
            let has_default =
                |v| model.bodies[id].graphs[graph].initializers.iter().any(|init| init.value == v);
            let Some(ty) = port.ty.filter(|_| !port.value.is_some_and(has_default)) else { continue };
            let Type { kind: TypeKind::Tensor(mut tensor), denotation } = model.types[ty].clone() else {
                continue;
            };
            let Some(shape) = &mut tensor.shape else { continue };
            let rank = i64::try_from(shape.len()).unwrap_or(i64::MAX);
            let axis = if *axis < 0 { axis.saturating_add(rank) } else { *axis };
            let Some(dim) = usize::try_from(axis).ok().and_then(|axis| shape.get_mut(axis)) else { continue };
            dim.value = DimValue::Param(name);
            let ty = model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation });
            model.bodies[id].graphs[graph].inputs[i].ty = Some(ty);
            count += 1;
        }
        if count == before {
            let message = format!("no input has an axis {axis} to be named `{symbol}`");
            found.push(Diagnostic::new(&code::SET_SHAPE, Place::Nowhere, message));
        }
    }
    report.note(count, "dimension", "made dynamic");
}

/// Makes numbers in the declarations of nested graphs unknown, because they depend on values of the main graph.
fn forget(model: &mut Model, (main, root): (BodyId, GraphId)) {
    for graph in model.bodies[main].graphs.ids().filter(|g| *g != root).collect::<Vec<_>>() {
        let mut lists = {
            let g = &mut model.bodies[main].graphs[graph];
            [&mut g.inputs, &mut g.outputs].map(std::mem::take)
        };
        for port in lists.iter_mut().flatten() {
            port.ty = port.ty.map(|ty| without_numbers(model, ty));
        }
        let g = &mut model.bodies[main].graphs[graph];
        [g.inputs, g.outputs] = lists;
    }
}

/// The type with unknown dimensions in place of numbers.
fn without_numbers(model: &mut Model, ty: TypeId) -> TypeId {
    types::map_dims(model, ty, &mut |_, dim| match dim.value {
        DimValue::Value(_) => Dim { value: DimValue::Unknown, ..dim },
        DimValue::Unknown | DimValue::Param(_) => dim,
    })
}

/// Declarations that were taken out of a model.
struct Forgotten {
    /// `value_info` of each graph that has one.
    declared: Vec<(BodyId, GraphId, Vec<Port>)>,
    /// Types of the outputs of the main graph.
    outputs: Vec<Option<TypeId>>,
}

/// Removes `value_info` and the shapes of the outputs from a model.
fn take_declarations(model: &mut Model, (main, root): (BodyId, GraphId)) -> Forgotten {
    let graphs: Vec<(BodyId, GraphId)> =
        model.bodies.iter().flat_map(|(id, body)| body.graphs.ids().map(move |g| (id, g))).collect();
    let mut declared = Vec::new();
    for (id, graph) in graphs {
        let ports = std::mem::take(&mut model.bodies[id].graphs[graph].value_info);
        if !ports.is_empty() {
            declared.push((id, graph, ports));
        }
    }
    let mut outputs = Vec::new();
    for i in 0..model.bodies[main].graphs[root].outputs.len() {
        let old = model.bodies[main].graphs[root].outputs[i].ty;
        outputs.push(old);
        let Some(Type { kind: TypeKind::Tensor(mut tensor), denotation }) =
            old.map(|ty| model.types[ty].clone())
        else {
            continue;
        };
        tensor.shape = None;
        let ty = model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation });
        model.bodies[main].graphs[root].outputs[i].ty = Some(ty);
    }
    Forgotten { declared, outputs }
}

/// The inferred type of an output, completed with declared symbols.
fn completed(model: &mut Model, now: Option<TypeId>, old: Option<TypeId>) -> Option<TypeId> {
    let (Some(now), Some(old)) = (now, old) else { return now.or(old) };
    let (TypeKind::Tensor(new), TypeKind::Tensor(before)) = (&model.types[now].kind, &model.types[old].kind)
    else {
        return Some(now);
    };
    let Some(declared) = &before.shape else { return Some(now) };
    let kept = |old: &Dim| match old.value {
        DimValue::Value(_) => Dim { value: DimValue::Unknown, ..*old },
        DimValue::Unknown | DimValue::Param(_) => *old,
    };
    let shape = match &new.shape {
        None => declared.iter().map(kept).collect(),
        Some(shape) if shape.len() == declared.len() => {
            let dims = shape.iter().zip(declared);
            dims.map(|(new, old)| if new.value == DimValue::Unknown { kept(old) } else { *new }).collect()
        }
        Some(shape) => shape.clone(),
    };
    let tensor = onnx_ir::TensorType { elem: new.elem, shape: Some(shape) };
    let denotation = model.types[now].denotation;
    Some(model.types.intern(Type { kind: TypeKind::Tensor(tensor), denotation }))
}
