//! Conversions between maps and tensors: CastMap, DictVectorizer, ZipMap.

use super::keys::{Key, keys};
use crate::value::{Map, Value};
use crate::{Call, text};
use foldhash::{HashMap, HashMapExt};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, Strings, filled};
use onnx_loops::tensor::Tensor;
use std::sync::Arc;

fn map<'a>(call: &'a Call<'_>) -> Result<&'a Map, Failure> {
    match call.value(0)? {
        Value::Map(map) => Ok(map),
        other @ (Value::Tensor(_) | Value::Sequence(_) | Value::Optional(_)) => {
            fail!("a map is expected, this is {}", other.kind())
        }
    }
}

/// Values of a map at the given indices as a tensor of rank 1; 0 for `None`.
fn gathered(map: &Map, elem: ElemType, places: &[Option<usize>]) -> Result<Tensor, Failure> {
    let mut numbers = Tensor::zeros(elem, &[places.len()])?;
    let width = numbers.bytes().len().checked_div(places.len()).unwrap_or(0);
    let mut strings = Strings::empty(if elem == ElemType::STRING { places.len() } else { 0 })?;
    for (i, &place) in places.iter().enumerate() {
        let Some(place) = place else { continue };
        let value = map.values[place].tensor()?;
        if (value.elem(), value.len()) != (elem, 1) {
            fail!("the values of the map are not one element each");
        }
        if elem == ElemType::STRING {
            strings.set(i, &value.string_slice()?[0])?;
        } else {
            numbers.bytes_mut()?[i * width..][..width].copy_from_slice(value.bytes());
        }
    }
    if elem == ElemType::STRING { Tensor::of_texts(&[places.len()], strings) } else { Ok(numbers) }
}

/// The values in the order of the keys, or each at the index given by its key.
pub(super) fn cast(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let map = map(call)?;
    let attrs = &call.attrs;
    let ints = map.keys.ints()?;
    let mut order = (0..ints.len()).listed()?;
    order.sort_unstable_by_key(|&i| (ints[i], i));
    let places: List<Option<usize>> = match &attrs.string("map_form").unwrap_or_default()[..] {
        "DENSE" => order.into_iter().map(Some).listed()?,
        "SPARSE" => {
            let count = usize::try_from(attrs.int("max_map").unwrap_or(1)).unwrap_or(0);
            // Checks the limit for the largest element type.
            drop(Tensor::zeros(ElemType::STRING, &[count])?);
            let mut places = filled(count, None)?;
            for i in order {
                match usize::try_from(ints[i]).ok().and_then(|key| places.get_mut(key)) {
                    Some(place) => *place = Some(i),
                    None => fail!("key {} is outside of `max_map`, which is {count}", ints[i]),
                }
            }
            places
        }
        other => fail!("`map_form` is `{other}`, not DENSE or SPARSE"),
    };
    let target = match &attrs.string("cast_to").unwrap_or_default()[..] {
        "TO_FLOAT" => ElemType::FLOAT,
        "TO_INT64" => ElemType::INT64,
        "TO_STRING" => ElemType::STRING,
        other => fail!("`cast_to` is `{other}`, not TO_FLOAT, TO_INT64 or TO_STRING"),
    };
    let source = map.values.first().and_then(Value::elem).unwrap_or(target);
    let there = places.iter().copied().filter(Option::is_some).listed()?;
    let values = gathered(map, source, &there)?;
    let values = match (source, target) {
        (ElemType::STRING, target) => text::from_text(&values, target)?,
        (_, ElemType::STRING) => text::to_text(&values)?,
        (_, target) => Tensor::of_floats(target, values.dims(), &values.floats()?)?,
    };
    if there.len() == places.len() {
        return Ok(vec![values.reshaped(&[1, places.len()])?.into()]);
    }
    // Missing values are 0 or the empty string.
    let mut spread = Tensor::zeros(target, &[1, places.len()])?;
    let at = places.iter().enumerate().filter(|(_, place)| place.is_some()).map(|(i, _)| i);
    if let Ok(from) = values.string_slice() {
        let mut strings = Strings::empty(places.len())?;
        at.zip(from).try_for_each(|(i, text)| strings.set(i, text))?;
        return Ok(vec![Tensor::of_texts(&[1, places.len()], strings)?.into()]);
    }
    let width = spread.bytes().len() / places.len().max(1);
    for (i, element) in at.zip(values.bytes().chunks_exact(width.max(1))) {
        spread.bytes_mut()?[i * width..][..width].copy_from_slice(element);
    }
    Ok(vec![spread.into()])
}

/// The value of each key of a vocabulary, or 0. Unknown keys are errors.
pub(super) fn vectorize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let map = map(call)?;
    let ints = call.attrs.ints("int64_vocabulary").unwrap_or_default();
    let strings = call.attrs.strings("string_vocabulary").unwrap_or_default();
    let vocabulary: Vec<Key<'_>> = match (&ints[..], &strings[..]) {
        ([], []) => fail!("there is no vocabulary"),
        ([], strings) => strings.iter().map(|text| Key::Text(text)).collect(),
        (ints, _) => ints.iter().copied().map(Key::Int).collect(),
    };
    let mut places = HashMap::with_capacity(vocabulary.len());
    places.extend(vocabulary.iter().enumerate().map(|(i, &key)| (key, i)));
    let mut wanted = filled(vocabulary.len(), None)?;
    for (i, key) in keys(&map.keys)?.iter().enumerate() {
        match places.get(key) {
            Some(&place) => wanted[place] = Some(i),
            None => fail!("a key of the map is not in the vocabulary"),
        }
    }
    let Some(elem) = map.values.first().and_then(Value::elem).or_else(|| declared(call)) else {
        fail!("the type of the values of an empty map is not known");
    };
    Ok(vec![gathered(map, elem, &wanted)?.into()])
}

/// The element type that the model declares for the output.
fn declared(call: &Call<'_>) -> Option<ElemType> {
    let output = call.attrs.node.outputs.first().copied().flatten()?;
    let ports = call.attrs.body.graphs.iter().flat_map(|(_, graph)| &graph.outputs);
    let ty = ports.filter(|port| port.value == Some(output)).find_map(|port| port.ty)?;
    match &call.attrs.model.types[ty].kind {
        onnx_ir::TypeKind::Tensor(tensor) => tensor.elem,
        _ => None,
    }
}

/// A map from label to score for each row.
pub(super) fn zip(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let (rows, columns) = match x.dims() {
        &[columns] => (1, columns),
        &[rows, columns] => (rows, columns),
        dims => fail!("scores of shape [N,C] or [C] are expected, these are of shape {dims:?}"),
    };
    let strings = call.attrs.strings("classlabels_strings").filter(|all| !all.is_empty());
    let labels = match (strings, call.attrs.ints("classlabels_int64s")) {
        (Some(strings), _) => Tensor::of_strings(&[strings.len()], strings)?,
        (None, Some(ints)) => Tensor::of(&[ints.len()], &ints)?,
        (None, None) => fail!("there are neither `classlabels_strings` nor `classlabels_int64s`"),
    };
    if labels.len() != columns {
        fail!("there are {} for {}", counted(labels.len(), "label"), counted(columns, "score"));
    }
    let scores = x.slice::<f32>()?;
    if columns == 0 && rows > 0 {
        fail!("there are no scores for {}", counted(rows, "row"));
    }
    let mut maps = List::with_room(rows)?;
    for row in scores.chunks_exact(columns.max(1)) {
        let values = row.iter().map(|&score| Ok(Tensor::scalar(score)?.into())).try_listed()?;
        budget::spend(columns)?;
        maps.push(Value::Map(Arc::new(Map { keys: labels.clone(), values })))?;
    }
    Ok(vec![Value::list(maps)])
}
