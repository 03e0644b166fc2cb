//! The state of a training: what initializers hold between steps.

use onnx_exec::{Failure, Tensor};
use onnx_ir::diag::{Diagnostic, Place, code, did_you_mean};
use onnx_ir::{
    self as ir, BodyId, ElemType, Field, Initializer, Model, Name, Payload, TensorId, ValueDef, ValueId,
};

/// The state of a training, to be saved and loaded again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The number of steps that have been made.
    pub step: u64,
    /// The variables by name, those of the main graph first.
    pub variables: Vec<(String, Tensor)>,
}

/// An initializer that a binding names.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// The body that has the initializer.
    pub(super) body: BodyId,
    /// The value that the model stores.
    pub(super) stored: Tensor,
    pub(super) value: Tensor,
}

/// The initializer of the root graph of a body with this name, as it is run.
pub(super) fn stored(model: &Model, body: BodyId, name: Name) -> Option<Result<Tensor, Failure>> {
    let b = &model.bodies[body];
    let graph = &b.graphs[b.root()?];
    let dense = graph.initializers.iter().find(|init| b.values[init.value].name == name);
    if let Some(init) = dense {
        return Some(Tensor::stored(&b.tensors[init.tensor]));
    }
    let sparse = graph.sparse_initializers.iter().find(|init| b.values[init.value].name == name)?;
    let part = |tensor: Option<TensorId>| tensor.map(|tensor| b.tensors[tensor].clone());
    let data = ir::SparseData {
        values: part(sparse.tensor.values),
        indices: part(sparse.tensor.indices),
        dims: sparse.tensor.dims.clone(),
    };
    let value = onnx_exec::Value::stored(ir::DataRef::SparseTensor(&data));
    Some(value.and_then(|value| value.tensor().cloned()))
}

/// Puts a tensor in place of what the initializer of a body holds. A sparse one becomes dense.
pub(super) fn store(model: &mut Model, variable: &Variable) -> Result<(), Failure> {
    let Some(name) = model.names.find(&variable.name) else { return Ok(()) };
    let mut new = variable.value.to_stored()?;
    new.name = Some(name);
    let body = &mut model.bodies[variable.body];
    let Some(root) = body.root() else { return Ok(()) };
    let is_it = |body: &ir::Body, value: ValueId| body.values[value].name == name;
    let dense = body.graphs[root].initializers.iter().find(|init| is_it(body, init.value));
    if let Some(&Initializer { tensor, .. }) = dense {
        let old = &mut body.tensors[tensor];
        let field = old.data.first().map(Payload::field);
        old.data = new.data.into_iter().map(|payload| in_field(payload, field, new.elem)).collect();
        if let Some(extra) = old.extra.as_deref_mut() {
            (extra.location, extra.segment) = (None, None);
            extra.external.clear();
        }
        return Ok(());
    }
    let sparse = &body.graphs[root].sparse_initializers;
    let Some(at) = sparse.iter().position(|init| is_it(body, init.value)) else { return Ok(()) };
    let value = body.graphs[root].sparse_initializers.remove(at).value;
    let field = new.elem.and_then(ir::ElemType::field);
    new.data = new.data.into_iter().map(|payload| in_field(payload, field, new.elem)).collect();
    let tensor = body.tensors.push(new);
    body.graphs[root].initializers.push(Initializer { value, tensor });
    if !matches!(body.values[value].def, ValueDef::Input(_)) {
        body.values[value].def = ValueDef::Initializer(root);
    }
    Ok(())
}

/// Elements in the field that held them before, if the bytes of an entry are those of an element.
fn in_field(payload: Payload, field: Option<Field>, elem: Option<ir::ElemType>) -> Payload {
    match (payload, field) {
        (Payload::Entries { bytes, .. }, Some(field))
            if field != Field::String
                && elem.and_then(ir::ElemType::field) == Some(field)
                && elem
                    .and_then(ir::ElemType::bits)
                    .is_some_and(|bits| bits as usize == field.entry_size() * 8) =>
        {
            Payload::Entries { field, bytes }
        }
        (payload, _) => payload,
    }
}

/// Replaces the values of variables by those of a state, or says what does not fit.
pub(super) fn load(variables: &mut [Variable], state: &State) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    let mut wrong = |message: String, help: Option<String>| {
        let mut diagnostic = Diagnostic::new(&code::WEIGHTS, Place::Nowhere, message);
        diagnostic.help = help;
        found.push(diagnostic);
    };
    for (name, _) in &state.variables {
        if !variables.iter().any(|variable| variable.name == *name) {
            let known = variables.iter().map(|variable| variable.name.as_str());
            let help = did_you_mean(name, known).map(|like| format!("did you mean `{like}`?"));
            wrong(format!("the training of the model has no state `{name}`"), help);
        }
    }
    for variable in variables.iter() {
        let Some((name, tensor)) = state.variables.iter().find(|(name, _)| *name == variable.name) else {
            wrong(format!("the saved state has no `{}`", variable.name), None);
            continue;
        };
        if !is_alike(&variable.value, tensor) {
            wrong(
                format!(
                    "`{name}` is {}, but the saved state has {}",
                    variable.value.type_text(),
                    tensor.type_text()
                ),
                None,
            );
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    for variable in variables {
        if let Some((_, tensor)) = state.variables.iter().find(|(name, _)| *name == variable.name) {
            variable.value = tensor.clone();
        }
    }
    Ok(())
}

/// `infinite` or `NaN`, if a tensor has such an element.
pub(super) fn not_finite(tensor: &Tensor) -> Option<&'static str> {
    // A number is finite if not all bits of its exponent are set; an infinite one has no other bit but the sign.
    fn look<const N: usize>(bytes: &[u8], exponent: u64) -> Option<&'static str> {
        let sign = 1 << (N * 8 - 1);
        let number =
            |element: &[u8; N]| element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        let (elements, _) = bytes.as_chunks::<N>();
        let mut bad = elements.iter().map(number).filter(|bits| bits & exponent == exponent).peekable();
        bad.peek()?;
        Some(if bad.all(|bits| bits & !sign == exponent) { "infinite" } else { "NaN" })
    }
    match tensor.elem() {
        ElemType::FLOAT => look::<4>(tensor.bytes(), 0x7f80_0000),
        ElemType::DOUBLE => look::<8>(tensor.bytes(), 0x7ff0_0000_0000_0000),
        ElemType::FLOAT16 => look::<2>(tensor.bytes(), 0x7c00),
        ElemType::BFLOAT16 => look::<2>(tensor.bytes(), 0x7f80),
        _ => None,
    }
}

/// Whether two tensors have one type and shape.
pub(super) fn is_alike(a: &Tensor, b: &Tensor) -> bool {
    (a.elem(), a.dims()) == (b.elem(), b.dims())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinite_elements_and_nan_are_found_in_every_width() {
        for elem in [ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16, ElemType::BFLOAT16] {
            let largest = match elem {
                ElemType::DOUBLE => f64::MAX,
                ElemType::FLOAT16 => 65504.0,
                ElemType::BFLOAT16 => f64::from(f32::from_bits(0x7f7f_0000)),
                _ => f64::from(f32::MAX),
            };
            for (last, expected) in [
                (0.0, None),
                (largest, None),
                (-largest, None),
                (f64::INFINITY, Some("infinite")),
                (f64::NEG_INFINITY, Some("infinite")),
                (f64::NAN, Some("NaN")),
                (-f64::NAN, Some("NaN")),
            ] {
                let tensor = Tensor::from_floats(elem, &[3], vec![1.0, -2.5, last]).unwrap();
                assert_eq!(not_finite(&tensor), expected, "{elem:?} {last}");
            }
            let both = Tensor::from_floats(elem, &[2], vec![f64::INFINITY, f64::NAN]).unwrap();
            assert_eq!(not_finite(&both), Some("NaN"));
        }
        assert_eq!(not_finite(&Tensor::scalar(i64::MIN).unwrap()), None);
    }
}
