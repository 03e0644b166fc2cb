//! Checks a node against its schema: arity, omitted parameters, attributes, element types (S01–S08, S11, S12).

use super::fitting::{Fitting, stated_type};
use super::node::index;
use super::walk::Engine;
use crate::facts::Argument;
use crate::facts::is_float;
use crate::facts::{Fact, FactSource, Outputs};
use crate::facts::{Ty, elem_text};
use crate::opset::{is_added, whole_registry};
use crate::schema::{AttrParam, Lookup, Param, ParamKind, Schema, SchemaId, TypeSet};
use onnx_ir::diag::{Diagnostic, Entity, ModelChange, code, counted};
use onnx_ir::{AttrType, AttrValue, ElemType, Model, Node, NodeId, TypeKind, normalize_domain};
use smallvec::SmallVec;

/// The result of the check.
pub(super) struct Checked {
    /// Whether the rule of the operator can rely on the schema.
    pub(super) is_sound: bool,
    /// The types of the outputs from type variables.
    pub(super) outputs: Outputs,
}

/// A type variable with the first input that binds it.
struct Binding<'a> {
    name: &'a str,
    input: usize,
    ty: Ty,
}

pub(super) fn check(engine: &mut Engine<'_>, id: NodeId, schema_id: SchemaId, schema: &Schema) -> Checked {
    let node = &engine.body().nodes[id];
    // Arguments of a call are not a part of the node.
    let has_arguments = engine.frame.is_called && node.attrs.iter().any(|attr| attr.reference.is_some());
    let like = engine.fitting.get(&schema_id).filter(|_| !has_arguments);
    if let Some(outputs) = like.and_then(|like| like.outputs_of(engine, node)) {
        return Checked { is_sound: true, outputs };
    }
    if schema.deprecated {
        let message = format!("`{}` is deprecated since version {}", schema.name, schema.since);
        let help = schema.replacement().map(|r| format!("use {r}"));
        let place = Entity::NodeOp(engine.frame.body, id);
        let mut diagnostic = Diagnostic::new(&code::OP_DEPRECATED, place, message).maybe_help(help);
        if let Some(same) = engine.version_of(&schema.domain).and_then(|version| schema.drop_in(version)) {
            let changes = vec![ModelChange::Rename(place, same.to_owned())];
            diagnostic = diagnostic.change(format!("write `{same}`"), changes, true);
        }
        engine.report(diagnostic);
    }
    let mut is_sound = arity(engine, id, node, schema);
    let attributes = attributes(engine, id, node, schema);
    is_sound &= attributes.are_sound;
    let mut bindings: SmallVec<[Binding<'_>; 4]> = SmallVec::new();
    is_sound &= types(engine, id, node, schema, &mut bindings);
    let outputs: Outputs = (0..node.outputs.len()).map(|i| output(schema, i, &bindings)).collect();
    if is_sound
        && attributes.are_known
        && !schema.deprecated
        && !has_arguments
        && let Some(fitting) = Fitting::new(engine, node, &outputs)
    {
        engine.fitting.insert(schema_id, fitting);
    }
    Checked { is_sound, outputs }
}

fn arity(engine: &mut Engine<'_>, id: NodeId, node: &Node, schema: &Schema) -> bool {
    let body = engine.frame.body;
    let mut is_sound = true;
    let inputs = Count {
        what: "input",
        has: node.inputs.len(),
        range: schema.input_range(),
        set: &schema.input_counts,
    };
    if let Some(message) = inputs.wrong(&schema.name) {
        let surplus = inputs.range.1.filter(|&most| inputs.has > most);
        let place = surplus.map_or(Entity::NodeOp(body, id), |at| Entity::NodeInput(body, id, index(at)));
        engine.report(Diagnostic::new(&code::ARITY, place, message));
        is_sound = false;
    }
    let outputs = Count {
        what: "output",
        has: node.outputs.len(),
        range: schema.output_range(),
        set: &schema.output_counts,
    };
    if let Some(message) = outputs.wrong(&schema.name) {
        let surplus = outputs.range.1.filter(|&most| outputs.has > most);
        let place = surplus.map_or(Entity::NodeOp(body, id), |at| Entity::NodeOutput(body, id, index(at)));
        engine.report(Diagnostic::new(&code::ARITY, place, message));
        is_sound = false;
    }
    let empty_inputs = node.inputs.iter().enumerate().filter(|(_, v)| v.is_none());
    for (i, _) in empty_inputs {
        let Some(param) = schema.input(i).filter(|p| p.kind != ParamKind::Optional) else { continue };
        let what = if param.kind == ParamKind::Single { "is required" } else { "cannot be omitted" };
        let message = format!("input `{}` of `{}` {what}", param.name, schema.name);
        engine.report(Diagnostic::new(
            &code::PARAMETER_EMPTY,
            Entity::NodeInput(body, id, index(i)),
            message,
        ));
        is_sound = false;
    }
    for (i, &value) in node.inputs.iter().enumerate() {
        let Some(value) = value.filter(|_| engine.operand(value).source == FactSource::LeftOut) else {
            continue;
        };
        if schema.input(i).is_some_and(|p| p.kind != ParamKind::Optional) {
            engine.miss(id, value);
            is_sound = false;
        }
    }
    let empty_outputs = node.outputs.iter().enumerate().filter(|(_, v)| v.is_none());
    for (i, _) in empty_outputs {
        let Some(param) = schema.output(i).filter(|p| p.kind == ParamKind::Single) else { continue };
        let message = format!("output `{}` of `{}` is required", param.name, schema.name);
        engine.report(Diagnostic::new(
            &code::PARAMETER_EMPTY,
            Entity::NodeOutput(body, id, index(i)),
            message,
        ));
        is_sound = false;
    }
    is_sound
}

struct Count<'a> {
    what: &'static str,
    has: usize,
    range: (usize, Option<usize>),
    set: &'a [u32],
}

impl Count<'_> {
    fn wrong(&self, op: &str) -> Option<String> {
        let (least, most) = self.range;
        let in_set = self.set.is_empty() || self.set.iter().any(|&n| n as usize == self.has);
        if self.has >= least && most.is_none_or(|most| self.has <= most) && in_set {
            return None;
        }
        let wanted = match most {
            _ if !self.set.is_empty() => {
                let all: Vec<String> = self.set.iter().map(u32::to_string).collect();
                counted(all.join(" or "), self.what)
            }
            Some(most) if most == least => counted(least, self.what),
            Some(most) => counted(format!("{least} to {most}"), self.what),
            None => format!("at least {}", counted(least, self.what)),
        };
        let verb = if self.what == "input" { "expects" } else { "has" };
        Some(format!("`{op}` {verb} {wanted}, not {}", self.has))
    }
}

/// The result of checking attributes.
struct Attributes {
    are_sound: bool,
    /// Unknown attributes are reported, but the rule can still run.
    are_known: bool,
}

fn attributes(engine: &mut Engine<'_>, id: NodeId, node: &Node, schema: &Schema) -> Attributes {
    let (model, body) = (engine.model, engine.frame.body);
    let (mut are_sound, mut are_known) = (true, true);
    for (i, attr) in node.attrs.iter().enumerate() {
        let name = model.text(attr.name);
        let place = Entity::Attr(body, id, index(i));
        let Some(param) = schema.attr(name) else {
            if name.starts_with("__") || name.is_empty() {
                continue;
            }
            let near = engine.near((&code::ATTR_UNKNOWN, place), name, schema.attrs.iter().map(|a| &*a.name));
            let message = format!("`{}` has no attribute `{name}`", schema.name);
            let mut diagnostic = Diagnostic::new(&code::ATTR_UNKNOWN, place, message);
            if let Some(near) = near.filter(|_| other_versions(engine, schema, name).is_none()) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                if !node.attrs.iter().any(|a| model.text(a.name) == near) {
                    diagnostic = renamed(diagnostic, place, near);
                }
            }
            if let Some(range) = other_versions(engine, schema, name) {
                diagnostic = diagnostic.label(range);
            }
            engine.report(diagnostic);
            are_known = false;
            continue;
        };
        if let Some(stated) = stated_type(attr).filter(|&t| t != param.ty) {
            let message =
                format!("`{name}` of `{}` is {}, not {}", schema.name, kind(param.ty), kind(stated));
            let diagnostic = Diagnostic::new(&code::ATTR_WRONG_TYPE, place, message);
            let elem =
                attr.values.first().filter(|_| param.is_elem_type()).and_then(|value| named(model, value));
            let help =
                elem.map(|elem| format!("write `{name} = {}`, the number of {}", elem.0, elem_text(elem)));
            engine.report(diagnostic.label(format!("expected {}", kind(param.ty))).maybe_help(help));
            are_sound = false;
        } else if let (Some(argument), Some(parameter)) = (engine.scope().argument(attr), attr.reference) {
            let is_wrong = match argument {
                Argument::Omitted => param.required,
                Argument::OfType(ty) => ty != param.ty,
            };
            if is_wrong {
                engine.miss_attr(id, index(i), parameter, argument, param.ty);
                are_sound = false;
            }
        }
    }
    let missing = |a: &&AttrParam| {
        a.required && !node.attrs.iter().any(|n| n.name.is_some_and(|n| model.names[n] == *a.name))
    };
    for param in schema.attrs.iter().filter(missing) {
        let message = format!("`{}` requires the attribute `{}`", schema.name, param.name);
        let place = Entity::NodeOp(body, id);
        let diagnostic = Diagnostic::new(&code::ATTR_REQUIRED, place, message);
        engine.report(diagnostic.help(format!("add `{}`, {}", param.name, kind(param.ty))));
        are_sound = false;
    }
    Attributes { are_sound, are_known }
}

/// The element type that a value names: `"int64"`, `int64`.
fn named(model: &Model, value: &AttrValue) -> Option<ElemType> {
    match value {
        AttrValue::String(text) => std::str::from_utf8(text).ok().and_then(onnx_text::elem_type_named),
        AttrValue::Type(ty) => match &model.types[*ty].kind {
            TypeKind::Tensor(tensor) => tensor.elem,
            _ => None,
        },
        _ => None,
    }
}

/// The versions of the operator that have an attribute that this one does not, if any.
fn other_versions(engine: &Engine<'_>, schema: &Schema, attr: &str) -> Option<String> {
    let registry = engine.registry;
    let versions = || registry.versions(&schema.domain, &schema.name).iter().map(|&id| registry.get(id));
    let has = |other: &&Schema| other.attr(attr).is_some();
    if let Some(first) = versions().filter(|other| other.since > schema.since).find(has) {
        return Some(format!("`{}` has it since version {} of the operator set", schema.name, first.since));
    }
    let last = versions().filter(|other| other.since < schema.since).rfind(has)?;
    let next = versions().find(|other| other.since > last.since)?;
    Some(format!("`{}` has it before version {} of the operator set", schema.name, next.since))
}

/// Adds the fix with the likely spelling; it is safe if only the case differs.
fn renamed(diagnostic: Diagnostic, place: Entity, near: &str) -> Diagnostic {
    let changes = vec![ModelChange::Rename(place, near.to_owned())];
    diagnostic.change(format!("write `{near}`"), changes, false)
}

/// A description of an attribute type.
pub(super) fn kind(ty: AttrType) -> String {
    match ty {
        AttrType::FLOAT => "a float".to_owned(),
        AttrType::INT => "an integer".to_owned(),
        AttrType::STRING => "a string".to_owned(),
        AttrType::TENSOR => "a tensor".to_owned(),
        AttrType::GRAPH => "a graph".to_owned(),
        AttrType::FLOATS => "a list of floats".to_owned(),
        AttrType::INTS => "a list of integers".to_owned(),
        AttrType::STRINGS => "a list of strings".to_owned(),
        AttrType::TENSORS => "a list of tensors".to_owned(),
        AttrType::GRAPHS => "a list of graphs".to_owned(),
        AttrType::SPARSE_TENSOR => "a sparse tensor".to_owned(),
        AttrType::SPARSE_TENSORS => "a list of sparse tensors".to_owned(),
        AttrType::TYPE_PROTO => "a type".to_owned(),
        AttrType::TYPE_PROTOS => "a list of types".to_owned(),
        AttrType(number) => format!("of type {number}"),
    }
}

fn types<'s>(
    engine: &mut Engine<'_>,
    id: NodeId,
    node: &Node,
    schema: &'s Schema,
    bindings: &mut SmallVec<[Binding<'s>; 4]>,
) -> bool {
    let body = engine.frame.body;
    let mut is_sound = true;
    for (i, &value) in node.inputs.iter().enumerate() {
        let Some(param) = schema.input(i) else { break };
        let ty = engine.operand(value).ty.without_shape();
        if ty == Ty::Unknown {
            continue;
        }
        let place = Entity::NodeInput(body, id, index(i));
        if !allows(&param.types, &ty) {
            let text = type_name(&ty);
            let message = format!("`{}` does not accept {text} as `{}`", schema.name, param.name);
            let diagnostic = Diagnostic::new(&code::TYPE_NOT_ALLOWED, place, message)
                .label(format!("this is {text}"))
                .help(format!("expected {}", set_text(&param.types)));
            let only = param.types.tensors.single().filter(|_| ty.elem().is_some_and(is_number));
            engine.report(match only {
                Some(elem) => cast(engine, diagnostic, place, elem),
                None => diagnostic,
            });
            is_sound = false;
            continue;
        }
        let is_heterogeneous = matches!(param.kind, ParamKind::Variadic { homogeneous: false, .. });
        if is_heterogeneous || schema.variable(&param.ty).is_none() {
            continue;
        }
        match bindings.iter_mut().find(|b| b.name == &*param.ty) {
            None => bindings.push(Binding { name: &param.ty, input: i, ty }),
            Some(binding) if agree(&binding.ty, &ty) => {
                if !is_whole(&binding.ty) {
                    binding.ty = ty;
                }
            }
            Some(binding) => {
                let (first, second) = (type_name(&binding.ty), type_name(&ty));
                let message = match schema.input(binding.input).filter(|other| other.name != param.name) {
                    Some(other) => format!(
                        "`{}` ({first}) and `{}` ({second}) of `{}` must have the same type",
                        other.name, param.name, schema.name
                    ),
                    None => format!(
                        "inputs of `{}` must have the same type, but are {first} and {second}",
                        schema.name
                    ),
                };
                let diagnostic = Diagnostic::new(&code::TYPE_CONFLICT, place, message)
                    .label(format!("this is {second}"))
                    .related(Entity::NodeInput(body, id, index(binding.input)), format!("this is {first}"));
                // Casts an integer to a float rather than the other way round, unless other operands agree with it.
                let at_first = Entity::NodeInput(body, id, index(binding.input));
                let is_alone =
                    (0..i).filter(|&j| schema.input(j).is_some_and(|p| p.ty == param.ty)).count() == 1;
                let diagnostic = match (binding.ty.elem(), ty.elem()) {
                    (Some(first), Some(second)) if is_alone && !is_float(first) && is_float(second) => {
                        cast(engine, diagnostic, at_first, second)
                    }
                    (Some(first), Some(_)) => cast(engine, diagnostic, place, first),
                    _ => diagnostic,
                };
                engine.report(diagnostic);
                is_sound = false;
            }
        }
    }
    is_sound
}

/// Adds the fix that casts an operand, if `Cast` supports it.
fn cast(engine: &Engine<'_>, diagnostic: Diagnostic, operand: Entity, to: ElemType) -> Diagnostic {
    let Entity::NodeInput(_, node, i) = operand else { return diagnostic };
    let value = engine.body().nodes[node].inputs.get(i as usize).copied().flatten();
    let from = match &engine.operand(value).ty {
        Ty::Tensor(tensor) => tensor.elem,
        _ => None,
    };
    // Before version 6, `to` was a string.
    let has_cast = engine.version_of("").is_some_and(|version| version >= 6);
    if !has_cast || !is_number(to) || !from.is_some_and(is_number) {
        return diagnostic;
    }
    let title = format!("cast it to {}", elem_text(to));
    diagnostic.change(title, vec![ModelChange::Cast(operand, to)], false)
}

/// Whether every version of `Cast` supports this type.
fn is_number(elem: ElemType) -> bool {
    use ElemType as E;
    [
        E::FLOAT,
        E::DOUBLE,
        E::FLOAT16,
        E::INT8,
        E::INT16,
        E::INT32,
        E::INT64,
        E::UINT8,
        E::UINT16,
        E::UINT32,
        E::UINT64,
        E::BOOL,
    ]
    .contains(&elem)
}

/// The type of an output from the schema.
fn output(schema: &Schema, i: usize, bindings: &[Binding<'_>]) -> Fact {
    let Some(param) = schema.output(i) else { return Fact::default() };
    let is_heterogeneous = matches!(param.kind, ParamKind::Variadic { homogeneous: false, .. });
    let bound = bindings.iter().find(|b| b.name == &*param.ty && !is_heterogeneous);
    let ty = bound.map_or_else(|| only(param), |b| b.ty.clone());
    let source = if ty == Ty::Unknown { FactSource::Nothing } else { FactSource::Inferred };
    Fact { ty, value: None, source }
}

/// The type of a parameter that allows only one type, or only one kind.
fn only(param: &Param) -> Ty {
    let set = &param.types;
    let kinds = [set.tensors, set.sparse_tensors, set.sequences, set.optionals, set.optional_sequences];
    if !set.others.is_empty() || kinds.iter().filter(|k| k.0 != 0).count() != 1 {
        return Ty::Unknown;
    }
    let tensor = |set: crate::schema::ElemSet| Ty::unranked(set.single());
    if set.tensors.0 != 0 {
        tensor(set.tensors)
    } else if set.sequences.0 != 0 {
        Ty::Sequence(Box::new(tensor(set.sequences)))
    } else if set.optionals.0 != 0 {
        Ty::Optional(Box::new(tensor(set.optionals)))
    } else if set.optional_sequences.0 != 0 {
        Ty::Optional(Box::new(Ty::Sequence(Box::new(tensor(set.optional_sequences)))))
    } else {
        Ty::Unknown
    }
}

/// Whether a set contains a type, as far as it is known.
pub(crate) fn allows(set: &TypeSet, ty: &Ty) -> bool {
    let has = |elems: crate::schema::ElemSet, inner: &Ty| match inner {
        Ty::Tensor(t) => t.elem.map_or(elems.0 != 0, |e| elems.contains(e)),
        Ty::Unknown => elems.0 != 0,
        Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => false,
    };
    let listed = || {
        let text = canonical(ty);
        text.is_none_or(|text| set.others.iter().any(|o| **o == text))
    };
    match ty {
        Ty::Unknown => true,
        Ty::Tensor(_) => has(set.tensors, ty),
        Ty::Sparse(t) => t.elem.map_or(set.sparse_tensors.0 != 0, |e| set.sparse_tensors.contains(e)),
        Ty::Sequence(inner) => {
            let is_tensor = matches!(**inner, Ty::Tensor(_) | Ty::Unknown);
            is_tensor && has(set.sequences, inner) || !set.others.is_empty() && listed()
        }
        Ty::Optional(inner) => match &**inner {
            Ty::Sequence(of) => has(set.optional_sequences, of),
            inner => has(set.optionals, inner),
        },
        Ty::Map(..) | Ty::Opaque(_) => listed(),
    }
}

/// A type as spelled in schemas, `None` if a part is unknown.
fn canonical(ty: &Ty) -> Option<String> {
    Some(match ty {
        Ty::Unknown => return None,
        Ty::Tensor(t) => format!("tensor({})", elem_text(t.elem?)),
        Ty::Sparse(t) => format!("sparse_tensor({})", elem_text(t.elem?)),
        Ty::Sequence(inner) => format!("seq({})", canonical(inner)?),
        Ty::Optional(inner) => format!("optional({})", canonical(inner)?),
        Ty::Map(key, value) => format!("map({},{})", elem_text((*key)?), canonical(value)?),
        Ty::Opaque(names) => format!("opaque({},{})", names.0, names.1),
    })
}

/// A type without shape, for messages.
fn type_name(ty: &Ty) -> String {
    match ty {
        Ty::Tensor(t) => t.elem.map_or_else(|| "a tensor".to_owned(), elem_text),
        ty => canonical(ty).unwrap_or_else(|| "something else".to_owned()),
    }
}

/// A set of types, for messages.
fn set_text(set: &TypeSet) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut add = |elems: crate::schema::ElemSet, form: fn(String) -> String| {
        parts.extend(elems.iter().map(|e| form(elem_text(e))));
    };
    add(set.tensors, |e| e);
    add(set.sparse_tensors, |e| format!("sparse_tensor({e})"));
    add(set.sequences, |e| format!("seq({e})"));
    add(set.optionals, |e| format!("optional({e})"));
    add(set.optional_sequences, |e| format!("optional(seq({e}))"));
    parts.extend(set.others.iter().map(|o| o.to_string()));
    const MAX_LISTED: usize = 16;
    if parts.len() > MAX_LISTED {
        let more = parts.len() - MAX_LISTED;
        parts.truncate(MAX_LISTED);
        parts.push(format!("{more} more"));
    }
    parts.join(", ")
}

/// Whether two types without shapes may be the same.
fn agree(a: &Ty, b: &Ty) -> bool {
    match (a, b) {
        (Ty::Unknown, _) | (_, Ty::Unknown) => true,
        (Ty::Tensor(a), Ty::Tensor(b)) | (Ty::Sparse(a), Ty::Sparse(b)) => {
            a.elem.is_none() || b.elem.is_none() || a.elem == b.elem
        }
        (Ty::Sequence(a), Ty::Sequence(b)) | (Ty::Optional(a), Ty::Optional(b)) => agree(a, b),
        (Ty::Map(ka, a), Ty::Map(kb, b)) => (ka.is_none() || kb.is_none() || ka == kb) && agree(a, b),
        (Ty::Opaque(a), Ty::Opaque(b)) => a == b,
        _ => false,
    }
}

/// Whether every part of a type is known.
fn is_whole(ty: &Ty) -> bool {
    match ty {
        Ty::Unknown => false,
        Ty::Tensor(t) | Ty::Sparse(t) => t.elem.is_some(),
        Ty::Sequence(inner) | Ty::Optional(inner) => is_whole(inner),
        Ty::Map(key, value) => key.is_some() && is_whole(value),
        Ty::Opaque(_) => true,
    }
}

/// How to use an operator that ONNX Runtime adds to ONNX's own domain.
fn of_runtime(domain: &str, op: &str, version: i64) -> Option<String> {
    let registry = whole_registry();
    let Lookup::Found(id) = registry.lookup(domain, op, version) else { return None };
    let schema = registry.get(id);
    if !domain.is_empty() || !is_added(schema) {
        return None;
    }
    Some(if schema.deprecated {
        format!("ONNX Runtime adds `{op}` to versions of ai.onnx before {}", schema.since)
    } else {
        format!("ONNX Runtime adds `{op}` to ai.onnx: it is known if version 1 of com.microsoft is imported")
    })
}

/// S01: the operator was added in a later version.
pub(super) fn too_new(engine: &mut Engine<'_>, id: NodeId, since: u32, version: i64) {
    let (model, body) = (engine.model, engine.frame.body);
    let node = &engine.body().nodes[id];
    let node_domain = normalize_domain(model.text(node.domain));
    let (domain, op) = (domain_text(node_domain), model.text(node.op));
    let message =
        format!("`{op}` exists since version {since} of {domain}, but version {version} is imported");
    let mut diagnostic = Diagnostic::new(&code::OP_UNKNOWN, Entity::NodeOp(body, id), message).help(
        match of_runtime(node_domain, op, version) {
            Some(how) => format!("import version {since} of {domain}, or newer; {how}"),
            None => format!("import version {since} of {domain}, or newer"),
        },
    );
    if let Some(at) = import_of(engine, domain) {
        diagnostic = diagnostic.related(at, format!("imports version {version}"));
    }
    engine.report(diagnostic);
}

/// S01, S03: the operator does not exist.
pub(super) fn unknown(engine: &mut Engine<'_>, id: NodeId, version: i64) {
    let (model, body) = (engine.model, engine.frame.body);
    let node = &engine.body().nodes[id];
    let domain = normalize_domain(model.text(node.domain));
    let op = model.text(node.op);
    let place = Entity::NodeOp(body, id);
    if domain.is_empty() && REMOVED.contains(&op) {
        let message = format!("`{op}` was an experimental operator and has been removed");
        let removed = Diagnostic::new(&code::OP_REMOVED, place, message).label("it is not checked");
        engine.report(removed.maybe_help(of_runtime(domain, op, version)));
        return;
    }
    let name = domain_text(domain);
    if op.is_empty() {
        engine.report(Diagnostic::new(&code::OP_UNKNOWN, Entity::Node(body, id), "node without an operator"));
        return;
    }
    let registry = engine.registry;
    let elsewhere = registry.domains().find(|d| *d != domain && !registry.versions(d, op).is_empty());
    let near = engine.near((&code::OP_UNKNOWN, place), op, registry.operators(domain));
    let proposed = PROPOSED.iter().find(|(name, _)| *name == op).map(|(_, what)| (*what).to_owned());
    let help = of_runtime(domain, op, version)
        .or(proposed)
        .or_else(|| near.map(|near| format!("did you mean `{near}`?")))
        .or_else(|| elsewhere.map(|d| format!("{} has an operator with this name", domain_text(d))));
    let message = format!("version {version} of {name} has no operator `{op}`");
    let diagnostic = Diagnostic::new(&code::OP_UNKNOWN, place, message).maybe_help(help);
    let exists = |near: &&str| matches!(registry.lookup(domain, near, version), Lookup::Found(_));
    engine.report(match near.filter(exists) {
        Some(near) => renamed(diagnostic, place, near),
        None => diagnostic,
    });
}

/// Operators that documents of the specification mention, but that no version has, and what to do instead.
const PROPOSED: &[(&str, &str)] = &[(
    "GraphCall",
    "`GraphCall` was proposed for calling the main graph in an algorithm of a training, but is not an operator: an algorithm is \
     joined with the main graph, whose values it reads by their names",
)];

/// The removed experimental operators.
const REMOVED: &[&str] = &[
    "ATen",
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
];

fn domain_text(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// The import of a domain in the current body.
fn import_of(engine: &Engine<'_>, domain: &str) -> Option<Entity> {
    let model = engine.model;
    let at = engine
        .imports()
        .iter()
        .position(|i| domain_text(normalize_domain(model.text(i.domain))) == domain)?;
    Some(match engine.frame.function {
        Some(f) => Entity::FunctionOpsetImport(f, index(at)),
        None => Entity::OpsetImport(index(at)),
    })
}
