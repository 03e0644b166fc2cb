//! Values as named arrays, for files that hold only arrays, such as `.npz`, and back.
//!
//! ```text
//! seq(float[N]) y        y.0, y.1, …; an empty sequence is an array `y` without elements
//! map(string, float) y   y.keys, y.values.0, y.values.1, …
//! optional(float[N]) y   y; one without a value is y.none
//! seq(map(…)) y          y.0.keys, y.0.values.0, …
//! ```
//!
//! Names alone do not say what belongs together (`y.0` may be an input itself), so values are assembled by their declared types.

use crate::{Failure, List, Map, Tensor, Value};
use onnx_ir::{ElemType, Model, TypeId, TypeKind};
use std::sync::Arc;

/// Adds the arrays of a value to a list, with their names.
pub fn to_arrays(name: &str, value: &Value, arrays: &mut Vec<(String, Tensor)>) -> Result<(), Failure> {
    match value {
        Value::Tensor(tensor) => arrays.push((name.to_owned(), tensor.clone())),
        Value::Sequence(values) if values.is_empty() => {
            arrays.push((name.to_owned(), Tensor::of::<f32>(&[0], &[])?));
        }
        Value::Sequence(values) => {
            for (i, value) in values.iter().enumerate() {
                to_arrays(&format!("{name}.{i}"), value, arrays)?;
            }
        }
        Value::Map(map) => {
            arrays.push((format!("{name}.keys"), map.keys.clone()));
            for (i, value) in map.values.iter().enumerate() {
                to_arrays(&format!("{name}.values.{i}"), value, arrays)?;
            }
        }
        Value::Optional(Some(value)) => to_arrays(name, value, arrays)?,
        Value::Optional(None) => arrays.push((format!("{name}.none"), Tensor::of_bools(&[], [true])?)),
    }
    Ok(())
}

/// The value of a type from arrays, which `take` returns by their names; `None` if they do not have it.
pub fn from_arrays(
    model: &Model,
    ty: Option<TypeId>,
    name: &str,
    take: &mut dyn FnMut(&str) -> Option<Tensor>,
) -> Result<Option<Value>, Failure> {
    match ty.map(|ty| &model.types[ty].kind) {
        Some(TypeKind::Sequence(inner)) => {
            let mut values = List::default();
            while let Some(value) = from_arrays(model, *inner, &format!("{name}.{}", values.len()), take)? {
                values.push(value)?;
            }
            if values.is_empty() {
                // An array with elements is the wrong value, which is reported with its type.
                let whole = take(name);
                return Ok(whole.map(|whole| match whole.dims() {
                    [0] => Value::Sequence(Arc::new(values)),
                    _ => whole.into(),
                }));
            }
            Ok(Some(Value::Sequence(Arc::new(values))))
        }
        Some(TypeKind::Map { value, .. }) => {
            let Some(keys) = take(&format!("{name}.keys")) else { return Ok(None) };
            let mut values = List::default();
            while values.len() < keys.len()
                && let Some(value) =
                    from_arrays(model, *value, &format!("{name}.values.{}", values.len()), take)?
            {
                values.push(value)?;
            }
            if values.len() < keys.len() {
                return Ok(None);
            }
            Ok(Some(Value::Map(Arc::new(Map { keys, values }))))
        }
        Some(TypeKind::Optional(inner)) => match from_arrays(model, *inner, name, take)? {
            Some(value) => Ok(Some(Value::Optional(Some(Arc::new(value))))),
            None => Ok(take(&format!("{name}.none")).map(|_| Value::Optional(None))),
        },
        Some(TypeKind::Tensor(_) | TypeKind::SparseTensor(_) | TypeKind::Unset | TypeKind::Opaque { .. })
        | None => Ok(take(name).map(Value::from)),
    }
}

/// The declared element type of an array of a value, by the part of its name after that of the value: `.0.keys`
pub fn array_elem(model: &Model, ty: TypeId, rest: &str) -> Option<ElemType> {
    let (part, after) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        None if rest.is_empty() => ("", ""),
        None => return None,
    };
    match &model.types[ty].kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) if part.is_empty() => tensor.elem,
        TypeKind::Sequence(inner) if !part.is_empty() => array_elem(model, (*inner)?, after),
        TypeKind::Optional(inner) => array_elem(model, (*inner)?, rest),
        TypeKind::Map { key, .. } if part == "keys" => *key,
        TypeKind::Map { value, .. } if part == "values" => {
            let number = after.strip_prefix('.')?;
            array_elem(model, (*value)?, &number[number.find('.').unwrap_or(number.len())..])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(values: impl IntoIterator<Item = Value>) -> Value {
        let mut list = List::default();
        values.into_iter().for_each(|value| list.push(value).unwrap());
        Value::Sequence(Arc::new(list))
    }

    fn map(keys: Tensor, values: impl IntoIterator<Item = Value>) -> Value {
        let mut list = List::default();
        values.into_iter().for_each(|value| list.push(value).unwrap());
        Value::Map(Arc::new(Map { keys, values: list }))
    }

    #[test]
    fn values_of_every_type_come_back() {
        let types =
            ["float[N]", "seq(float[N])", "seq(seq(int64))", "map(int64, float)", "seq(map(string, float))"];
        let types = types.into_iter().chain(["optional(float[N])", "optional(seq(float[N]))"]);
        let inputs: String = types.enumerate().map(|(i, ty)| format!("{ty} x{i}, ")).collect();
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>\ng ({}) => () {{ }}",
            inputs.trim_end_matches(", ")
        );
        let model = onnx_text::read_model(&text).value;
        let body = model.main_body().unwrap();
        let inputs = &body.graphs[body.root().unwrap()].inputs;
        let floats = |list: &[f32]| Value::from(Tensor::of(&[list.len()], list).unwrap());
        let int = |n: i64| Value::from(Tensor::scalar(n).unwrap());
        let words = Tensor::of_strings(&[2], vec!["a".to_owned(), "b.0".to_owned()]).unwrap();
        let scalar = |x: f32| Value::from(Tensor::scalar(x).unwrap());
        let named = map(words.clone(), [scalar(1.0), scalar(2.0)]);
        let all = [
            vec![floats(&[1.0]), floats(&[])],
            vec![sequence([floats(&[1.0]), floats(&[2.0, 3.0])]), sequence([])],
            vec![sequence([sequence([int(1)]), sequence([]), sequence([int(2), int(3)])])],
            vec![map(Tensor::of(&[2], &[7i64, 8]).unwrap(), [scalar(1.0), scalar(2.0)])],
            vec![sequence([named.clone(), named]), sequence([])],
            vec![Value::Optional(Some(Arc::new(floats(&[1.0])))), Value::Optional(None)],
            vec![Value::Optional(Some(Arc::new(sequence([])))), Value::Optional(None)],
        ];
        assert_eq!(inputs.len(), all.len());
        for (port, values) in inputs.iter().zip(all) {
            let (name, ty) = (model.text(port.name), port.ty.unwrap());
            for value in values {
                let mut arrays = Vec::new();
                to_arrays(name, &value, &mut arrays).unwrap();
                for (array, tensor) in &arrays {
                    let elem = array_elem(&model, ty, &array[name.len()..]);
                    let is_mark = array.ends_with(".none") || tensor.dims() == [0];
                    assert!(is_mark || elem == Some(tensor.elem()), "{array}: {elem:?}");
                }
                let mut take = |wanted: &str| {
                    let at = arrays.iter().position(|(name, _)| name == wanted)?;
                    Some(arrays.remove(at).1)
                };
                assert_eq!(from_arrays(&model, Some(ty), name, &mut take).unwrap(), Some(value));
                assert!(arrays.is_empty(), "{arrays:?}");
            }
        }
    }
}
