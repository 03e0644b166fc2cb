//! Weights: listing, replacing, sharing equal ones, casting to narrower types.
//!
//! A weight is a dense initializer of a graph of the main body; tensors of functions and attributes are not.

mod cast;
mod share;

pub use cast::{Cast, cast_weights};
pub use share::share_weights;

use super::{Edited, listed};
use onnx_ir::diag::{Diagnostic, Entity, Place, code, did_you_mean};
use onnx_ir::pass::Report;
use onnx_ir::{BodyId, Field, GraphId, Model, Payload, Tensor, TensorId, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// A weight and its location.
#[derive(Clone, Copy, Debug)]
pub struct Weight {
    /// The value that it initializes.
    pub value: ValueId,
    /// The stored tensor.
    pub tensor: TensorId,
    /// The graph that has it.
    pub graph: GraphId,
    /// The place of the finding.
    pub entity: Entity,
}

/// The weights of the main body, in the order of its graphs.
pub fn weights(model: &Model) -> Vec<Weight> {
    let Some(id) = model.main else { return Vec::new() };
    let mut all = Vec::new();
    for (graph, g) in model.bodies[id].graphs.iter() {
        for (i, init) in (0u32..).zip(&g.initializers) {
            let entity = Entity::Initializer(id, graph, i);
            all.push(Weight { value: init.value, tensor: init.tensor, graph, entity });
        }
    }
    all
}

/// The name of a weight.
pub fn weight_name(model: &Model, weight: Weight) -> &str {
    model.main.map_or("", |id| &model.names[model.bodies[id].values[weight.value].name])
}

/// Replaces the elements of weights by name. Type and shape must be those of the weight; other weights stay unchanged, and so do those
/// that have these elements already.
pub fn set_weights(model: &mut Model, new: &BTreeMap<String, Tensor>) -> Edited {
    let Some(id) = model.main else { return Ok(Report::default()) };
    let (mut found, mut count) = (Vec::new(), 0);
    let mut missing: BTreeSet<&str> = new.keys().map(String::as_str).collect();
    for weight in weights(model) {
        let name = weight_name(model, weight).to_owned();
        let Some(tensor) = new.get(&name) else { continue };
        missing.remove(name.as_str());
        let old = &mut model.bodies[id].tensors[weight.tensor];
        if old.elem != tensor.elem || old.dims != tensor.dims {
            let (is, given) = (type_text(old), type_text(tensor));
            let message = format!("`{name}` is {is}, but the file has {given}");
            found.push(Diagnostic::new(&code::WEIGHTS, weight.entity, message));
            continue;
        }
        if is_same(old, tensor) {
            continue;
        }
        old.data = in_field_of(old, tensor).into_iter().collect();
        if let Some(extra) = old.extra.as_deref_mut() {
            (extra.location, extra.segment) = (None, None);
            extra.external.clear();
        }
        count += 1;
    }
    if !missing.is_empty() {
        let missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
        found.push(no_weights(model, &missing));
    }
    if !found.is_empty() {
        return Err(found);
    }
    let mut report = Report::default();
    report.note(count, "weight", "replaced");
    Ok(report)
}

/// The finding about names that are not those of weights.
pub fn no_weights(model: &Model, names: &[String]) -> Diagnostic {
    let all = weights(model);
    let known = all.iter().map(|weight| weight_name(model, *weight));
    let like = names.first().and_then(|first| did_you_mean(first, known));
    let message = format!("the model has no weight {}", listed(names.iter().map(String::as_str)));
    let finding = Diagnostic::new(&code::WEIGHTS, Place::Nowhere, message);
    finding.maybe_help(like.map(|like| format!("did you mean `{like}`?")))
}

/// Takes out of `new` what the weights of a model are already. Unlike the model to edit, this one has all its weights in it, so that those
/// of the other can stay in their files.
pub fn forget_known_weights(whole: &Model, new: &mut BTreeMap<String, Tensor>) {
    let Some(body) = whole.main_body() else { return };
    for weight in weights(whole) {
        let name = weight_name(whole, weight);
        let old = &body.tensors[weight.tensor];
        if new.get(name).is_some_and(|new| old.elem == new.elem && old.dims == new.dims && is_same(old, new))
        {
            new.remove(name);
        }
    }
}

/// Whether a stored tensor has the elements of another one, whatever fields hold them.
fn is_same(old: &Tensor, new: &Tensor) -> bool {
    if old.is_external() || old.extra().segment.is_some() {
        return false;
    }
    match (old.bits(), new.bits()) {
        (Ok(a), Ok(b)) => old.data == new.data || a.eq(b),
        (Err(_), _) | (_, Err(_)) => old.data == new.data,
    }
}

/// The elements of a tensor in the field that stored the old ones, where its entries have the size of elements.
fn in_field_of(old: &Tensor, new: &Tensor) -> Vec<Payload> {
    let bits = new.elem.and_then(onnx_ir::ElemType::bits).unwrap_or(0) as usize;
    match (&old.data[..], &new.data[..]) {
        ([Payload::Entries { field, .. }], [Payload::Entries { field: Field::Raw, bytes }])
            if field.entry_size() * 8 == bits =>
        {
            vec![Payload::Entries { field: *field, bytes: bytes.clone() }]
        }
        _ => new.data.to_vec(),
    }
}

/// `float[2,3]`
fn type_text(tensor: &Tensor) -> String {
    let elem = tensor.elem.and_then(onnx_ir::ElemType::name).unwrap_or("?");
    let dims: Vec<String> = tensor.dims.iter().map(i64::to_string).collect();
    format!("{elem}[{}]", dims.join(","))
}

/// The main body with its weights, if these are constant: not assigned by training, not overridable by callers.
fn constants(model: &Model) -> Option<(BodyId, Vec<Weight>)> {
    let id = model.main.filter(|_| model.training.is_empty())?;
    let is_constant = |weight: &Weight| {
        matches!(model.bodies[id].values[weight.value].def, onnx_ir::ValueDef::Initializer(_))
    };
    Some((id, weights(model).into_iter().filter(is_constant).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::ElemType;

    const TEXT: &str = "<ir_version: 10, opset_import: [\"\": 21]>
g (float[2] x) => (float[2] y, float[2] z)
<float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] big = {1, 1e6}> {
    t = Add(x, a) u = Mul(t, b) y = Add(u, big) z = Neg(t) }";

    fn read() -> Model {
        onnx_text::read_model(TEXT).value
    }

    fn text(model: &Model) -> String {
        crate::Text::new(model, &onnx_text::RaiseOptions::default()).to_text()
    }

    fn tensor(list: &[f32]) -> Tensor {
        let mut tensor = Tensor { elem: Some(ElemType::FLOAT), ..Tensor::default() };
        tensor.dims.push(list.len() as i64);
        tensor.data.push(Payload::floats(list.to_vec()));
        tensor
    }

    #[test]
    fn weights_are_replaced_by_those_of_their_type() {
        let mut model = read();
        let new = BTreeMap::from([("a".to_owned(), tensor(&[5.0, 6.0]))]);
        assert_eq!(set_weights(&mut model, &new).unwrap().to_string(), "1 weight replaced");
        assert!(text(&model).contains("a = {5, 6}"), "{}", text(&model));
        for (name, list) in [("a", &[1.0][..]), ("aa", &[1.0, 2.0])] {
            let new = BTreeMap::from([(name.to_owned(), tensor(list))]);
            assert_eq!(set_weights(&mut read(), &new).unwrap_err().len(), 1);
        }
    }

    #[test]
    fn weights_that_are_the_same_stay_in_their_field() {
        let mut model = read();
        let before = model.bodies[model.main.unwrap()].tensors.clone();
        let raw = |list: &[f32]| {
            let bytes: Vec<u8> = list.iter().flat_map(|x| x.to_le_bytes()).collect();
            let mut raw = tensor(list);
            raw.data.clear();
            raw.data.push(Payload::Entries { field: Field::Raw, bytes: bytes.into() });
            BTreeMap::from([("a".to_owned(), raw)])
        };
        assert!(!set_weights(&mut model, &raw(&[1.0, 2.0])).unwrap().is_changed());
        assert_eq!(model.bodies[model.main.unwrap()].tensors, before);
        assert!(set_weights(&mut model, &raw(&[1.0, 3.0])).unwrap().is_changed());
        let fields: Vec<Field> =
            model.bodies[model.main.unwrap()].tensors.values().map(|t| t.data[0].field()).collect();
        assert_eq!(fields, [before.values().next().unwrap().data[0].field(); 3]);
    }

    #[test]
    fn equal_weights_are_stored_once() {
        let mut model = read();
        assert_eq!(share_weights(&mut model).unwrap().to_string(), "1 weight shared");
        assert!(text(&model).contains("Mul(t, a)") && !text(&model).contains(" b ="), "{}", text(&model));
        assert!(!share_weights(&mut model).unwrap().is_changed());
    }

    #[test]
    fn narrow_weights_are_cast_back_and_large_numbers_stay() {
        let mut model = read();
        let keep = |name: &str| name == "b";
        let options = Cast { to: ElemType::FLOAT16, at_least: 1, keep: &keep };
        let mut kept = Vec::new();
        let report = cast_weights(&mut model, &options, &mut kept).unwrap();
        assert_eq!(report.to_string(), "1 weight cast");
        let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "big"]);
        let text = text(&model);
        // Narrow floats are printed as bit patterns.
        assert!(text.contains("float16[2] a_float16 = {15360, 16384}"), "{text}");
        assert!(text.contains("a = Cast <to = 1> (a_float16)"), "{text}");
        assert!(
            onnx_ops::check::check(&model, onnx_ops::opset::registry_of(&model), &Default::default())
                .iter()
                .all(|d| !d.is_error())
        );
    }
}
