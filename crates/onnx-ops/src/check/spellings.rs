//! Proposals that need the signature of an operator: what to write for a literal operand, and the type of an attribute that
//! refers to a parameter.
//!
//! ```text
//! y = Gather(x, 1)                        c = Constant <value = int64 {1}> ()
//! c = Constant <value_float = @a> ()      value_float: float = @a
//! ```

use crate::schema::{Lookup, Registry, Schema};
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnx_ir::{BodyId, ElemType, Model, NodeId, ValueDef, normalize_domain};
use onnx_text::LiteralOperand;

/// Completes findings, and reports further uses of a literal: of an undefined value, only the first use is reported.
pub(super) fn explain(model: &Model, registry: &Registry, found: &mut Vec<Diagnostic>) {
    let mut has_literals = false;
    for finding in found.iter_mut() {
        match finding.primary.place {
            Place::Entity(Entity::NodeInput(body, node, i)) if finding.code == &code::VALUE_UNDEFINED => {
                if let Some(help) = literal(model, registry, (body, node), i) {
                    has_literals = true;
                    finding.fixes.clear();
                    finding.help = Some(help);
                }
            }
            Place::Entity(Entity::Attr(body, node, i)) if finding.code == &code::ATTR_NAME_TYPE => {
                let help = typed_reference(model, registry, (body, node), i);
                finding.help = help.or(finding.help.take());
            }
            Place::Entity(_) | Place::Source(_) | Place::Nowhere => {}
        }
    }
    if has_literals {
        further(model, registry, found);
    }
}

/// The uses of literals after the first one of each.
fn further(model: &Model, registry: &Registry, found: &mut Vec<Diagnostic>) {
    for (body, b) in model.bodies.iter() {
        for (node, n) in b.nodes.iter() {
            for (i, value) in (0..).zip(&n.inputs) {
                let Some(value) = *value else { continue };
                let place = Entity::NodeInput(body, node, i);
                let is_told = found.iter().any(|d| d.primary.place == Place::Entity(place));
                if is_told || !matches!(b.values[value].def, ValueDef::Unbound(_)) {
                    continue;
                }
                if let Some(help) = literal(model, registry, (body, node), i) {
                    let message = format!("use of undefined value `{}`", &model.names[b.values[value].name]);
                    found.push(Diagnostic::new(&code::VALUE_UNDEFINED, place, message).help(help));
                }
            }
        }
    }
}

fn schema<'r>(model: &Model, registry: &'r Registry, (body, node): (BodyId, NodeId)) -> Option<&'r Schema> {
    let node = &model.bodies[body].nodes[node];
    let domain = normalize_domain(model.text(node.domain));
    match registry.lookup(domain, model.text(node.op), model.newest_import(body, domain)?) {
        Lookup::Found(id) => Some(registry.get(id)),
        Lookup::TooNew { .. } | Lookup::UnknownOperator | Lookup::UnknownDomain => None,
    }
}

/// The text to write for an operand that is named like a number.
fn literal(model: &Model, registry: &Registry, at: (BodyId, NodeId), i: u32) -> Option<String> {
    let (body, node) = at;
    let b = &model.bodies[body];
    let value = (*b.nodes[node].inputs.get(i as usize)?)?;
    let literal = LiteralOperand::parse(&model.names[b.values[value].name])?;
    let elem = elem_of(schema(model, registry, at), i as usize, &literal);
    Some(literal.help(elem, model.functions.values().any(|function| function.body == body)))
}

/// The element type that an operator accepts for a literal: int64 where it wants indices or sizes, floats elsewhere.
fn elem_of(schema: Option<&Schema>, i: usize, literal: &LiteralOperand<'_>) -> ElemType {
    let Some(param) = schema.and_then(|schema| schema.input(i)) else { return literal.elem() };
    let allowed = param.types.tensors;
    let preferred = match allowed.contains(ElemType::FLOAT) || !literal.is_integral() {
        true => [ElemType::FLOAT, ElemType::INT64],
        false => [ElemType::INT64, ElemType::FLOAT],
    };
    let fits = preferred.into_iter().find(|elem| allowed.contains(*elem));
    fits.or_else(|| allowed.iter().next()).unwrap_or(literal.elem())
}

/// The attribute with its type.
fn typed_reference(model: &Model, registry: &Registry, at: (BodyId, NodeId), i: u32) -> Option<String> {
    let (body, node) = at;
    let attr = model.bodies[body].nodes[node].attrs.get(i as usize)?;
    let parameter = attr.reference.filter(|parameter| !parameter.is_empty())?;
    let name = model.text(attr.name);
    let ty = schema(model, registry, at)?.attr(name)?.ty.name()?;
    Some(format!("write `{name}: {ty} = @{}`", &model.names[parameter]))
}
