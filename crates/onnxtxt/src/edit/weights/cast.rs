//! Casts weights to half precision.
//!
//! ```text
//! before:  <float[2] w = {1, 2}> { y = Add(x, w) }
//! after:   <float16[2] w_float16 = {1, 2}> { w = Cast <to = 1> (w_float16)  y = Add(x, w) }
//! ```
//!
//! The model still computes in single precision: only the weights are rounded. Weights that the narrow type cannot represent are
//! kept.

use super::{Edited, constants, weight_name};
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Place, code, counted};
use onnx_ir::float::format;
use onnx_ir::pass::Report;
use onnx_ir::{Attr, AttrValue, ElemType, Field, Model, Node, Payload, Tensor, Use, Uses, Value, ValueDef};

/// Since this version, `Cast` has an integer attribute.
const CASTS_BY_NUMBER: i64 = 6;
/// Since this version, `Cast` supports bfloat16.
const KNOWS_BFLOAT16: i64 = 13;

/// Options of casting.
pub struct Cast<'k> {
    /// [`ElemType::FLOAT16`] or [`ElemType::BFLOAT16`].
    pub to: ElemType,
    /// Weights with fewer elements are kept.
    pub at_least: u64,
    /// Whether to keep the weight of this name.
    pub keep: &'k dyn Fn(&str) -> bool,
}

/// Casts the float weights of the main graph. Those that are not cast are listed in `kept` with the reason.
pub fn cast_weights(model: &mut Model, options: &Cast<'_>, kept: &mut Vec<(String, String)>) -> Edited {
    let mut report = Report::default();
    let Some((id, all)) = constants(model) else { return Ok(report) };
    // The operator set must have the cast.
    let min = if options.to == ElemType::BFLOAT16 { KNOWS_BFLOAT16 } else { CASTS_BY_NUMBER };
    let version = model.newest_import(id, "").unwrap_or(0);
    if version < min {
        let to = options.to.name().unwrap_or("?");
        let message = format!("version {version} of ai.onnx has no `Cast` of {to}: version {min} is needed");
        return Err(vec![Diagnostic::new(&code::WEIGHTS, Place::Nowhere, message)]);
    }
    let uses = Uses::of(&model.bodies[id]);
    let root = model.bodies[id].root();
    let mut casts = Vec::new();
    let domain = first_domain(model, id);
    for weight in all.into_iter().filter(|weight| Some(weight.graph) == root) {
        let name = weight_name(model, weight).to_owned();
        let tensor = &model.bodies[id].tensors[weight.tensor];
        if tensor.elem != Some(ElemType::FLOAT) {
            continue;
        }
        // The reason why a weight stays as it is, if there is one.
        let is_named = uses.is_annotated(model.bodies[id].values[weight.value].name);
        let is_output = uses.of_value(weight.value).iter().any(|user| matches!(user, Use::Output(..)));
        let count = tensor.element_count().unwrap_or(0);
        let reason = if (options.keep)(&name) {
            Some("as told".to_owned())
        } else if count < options.at_least {
            Some(counted(count, "element"))
        } else if tensor.is_external() {
            Some("stored in another file".to_owned())
        } else if is_named || is_output {
            Some("named by an annotation or an output".to_owned())
        } else {
            None
        };
        let narrow = match reason {
            Some(reason) => Err(reason),
            None => narrowed(tensor, options.to).ok_or_else(|| "a number is out of range".to_owned()),
        };
        let narrow = match narrow {
            Ok(narrow) => narrow,
            Err(reason) => {
                kept.push((name, reason));
                continue;
            }
        };
        // The narrow tensor gets a name of its own, and a `Cast` computes the old value.
        let stem = format!("{name}_{}", options.to.name().unwrap_or("narrow"));
        let free = (0u64..).map(|i| if i == 0 { stem.clone() } else { format!("{stem}_{i}") });
        let Some(free) = free.into_iter().find(|name| model.names.find(name).is_none()) else { continue };
        let new_name = model.names.intern(&free);
        let (op, to) = (model.names.intern("Cast"), model.names.intern("to"));
        let body = &mut model.bodies[id];
        let narrow = Tensor { name: Some(new_name), ..narrow };
        body.tensors[weight.tensor] = narrow;
        let stored = body.values.push(Value { name: new_name, def: ValueDef::Initializer(weight.graph) });
        let mut cast = Node { op: Some(op), domain, ..Node::default() };
        cast.attrs.push(Attr::new(to, AttrValue::Int(ElemType::FLOAT.0.into())));
        cast.inputs.push(Some(stored));
        cast.outputs.push(Some(weight.value));
        let node = body.nodes.push(cast);
        body.values[weight.value].def = ValueDef::Output(node, 0);
        let graph = &mut body.graphs[weight.graph];
        graph.initializers.iter_mut().filter(|i| i.value == weight.value).for_each(|i| i.value = stored);
        casts.push(node);
    }
    report.note(casts.len(), "weight", "cast");
    if let Some(root) = root {
        let nodes = &mut model.bodies[id].graphs[root].nodes;
        nodes.splice(0..0, casts);
    }
    Ok(report)
}

/// How the nodes of a body spell the domain of ai.onnx.
fn first_domain(model: &Model, id: onnx_ir::BodyId) -> Option<onnx_ir::Name> {
    let is_ours = |node: &&Node| onnx_ir::normalize_domain(model.text(node.domain)).is_empty();
    model.bodies[id].nodes.values().find(is_ours).and_then(|node| node.domain)
}

/// The tensor in a narrower type; `None` if a finite number becomes infinite, or the tensor is invalid.
fn narrowed(tensor: &Tensor, to: ElemType) -> Option<Tensor> {
    let format = format(to)?;
    let [Payload::Entries { field: Field::Raw | Field::Float, bytes }] = &tensor.data[..] else {
        return None;
    };
    let (entries, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty()
        || tensor.element_count() != Some(entries.len() as u64)
        || tensor.extra().segment.is_some()
    {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(entries.len() * 2);
    for entry in entries {
        let x = f64::from(f32::from_le_bytes(*entry));
        let bits = format.encode(x);
        if x.is_finite() && !format.decode(bits).is_finite() {
            return None;
        }
        out.extend((bits as u16).to_le_bytes());
    }
    let mut narrow = Tensor { elem: Some(to), dims: tensor.dims.clone(), ..Tensor::default() };
    narrow.extra = tensor.extra.clone();
    narrow.data.push(Payload::Entries { field: Field::Raw, bytes: Bytes::from(out) });
    Some(narrow)
}
