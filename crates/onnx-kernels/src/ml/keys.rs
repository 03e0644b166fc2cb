//! Element lookup: LabelEncoder, CategoryMapper, OneHotEncoder.

use crate::Call;
use crate::order::is_integer;
use crate::value::Value;
use foldhash::{HashMap, HashMapExt};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::budget::Charge;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;

/// A hashable element: numbers are equal by value across types, and NaN equals NaN.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Key<'a> {
    Int(i64),
    /// The bits of a number that is not a 64-bit integer.
    Other(u64),
    Text(&'a str),
}

impl Key<'_> {
    fn of_float(x: f64) -> Self {
        let int = x as i64;
        if int as f64 == x && int != i64::MAX {
            Key::Int(int)
        } else {
            Key::Other(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() })
        }
    }
}

/// The elements of a tensor as keys.
pub(super) fn keys(tensor: &Tensor) -> Result<List<Key<'_>>, Failure> {
    if tensor.is_strings() {
        return tensor.string_slice()?.iter().map(|text| Key::Text(text)).listed();
    }
    if is_integer(tensor.elem()) {
        return tensor.ints()?.into_iter().map(Key::Int).listed();
    }
    tensor.floats()?.into_iter().map(Key::of_float).listed()
}

/// The same, with numbers cast to integers. NaN and infinities are not integers.
fn integer_keys(tensor: &Tensor) -> Result<List<Key<'_>>, Failure> {
    if tensor.is_strings() || is_integer(tensor.elem()) {
        return keys(tensor);
    }
    tensor.floats()?.into_iter().map(|x| Key::of_float(x.trunc())).listed()
}

/// The index of each key; for equal keys the last.
fn places<'a>(all: &[Key<'a>]) -> Result<(HashMap<Key<'a>, usize>, Charge), Failure> {
    // Hash tables are at most twice as large as their contents.
    let charge = Charge::of(all.len().saturating_mul(2 * size_of::<(Key<'_>, usize)>()))?;
    let mut places = HashMap::with_capacity(all.len());
    places.extend(all.iter().enumerate().map(|(i, &key)| (key, i)));
    Ok((places, charge))
}

/// A list in one of four attributes, as a tensor of rank 1.
fn list(call: &Call<'_>, stem: &str) -> Result<Tensor, Failure> {
    let attrs = &call.attrs;
    let name = |ending: &str| format!("{stem}_{ending}");
    if let Some(tensor) = attrs.tensor(&name("tensor"))? {
        return tensor.reshaped(&[tensor.len()]);
    }
    if let Some(all) = attrs.strings(&name("strings")).filter(|all| !all.is_empty()) {
        return Tensor::of_strings(&[all.len()], all);
    }
    if let Some(all) = attrs.ints(&name("int64s")).filter(|all| !all.is_empty()) {
        return Tensor::of(&[all.len()], &all);
    }
    match attrs.floats(&name("floats")).filter(|all| !all.is_empty()) {
        Some(all) => Tensor::of(&[all.len()], &all),
        None => fail!("there are no `{stem}`"),
    }
}

/// The default of this type for unknown keys.
fn default(call: &Call<'_>, elem: ElemType) -> Result<Tensor, Failure> {
    let attrs = &call.attrs;
    if let Some(tensor) = attrs.tensor("default_tensor")? {
        if (tensor.elem(), tensor.len()) != (elem, 1) {
            fail!("the default is not one element of type {}", elem.name().unwrap_or("?"));
        }
        return tensor.reshaped(&[1]);
    }
    match elem {
        ElemType::STRING => {
            let text = attrs.string("default_string").unwrap_or_else(|| "_Unused".to_owned());
            Tensor::of_strings(&[1], vec![text])
        }
        ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16 => {
            Tensor::of_floats(elem, &[1], &[f64::from(attrs.float("default_float").unwrap_or(-0.0))])
        }
        ElemType::INT64 => Tensor::of(&[1], &[attrs.int("default_int64").unwrap_or(-1)]),
        _ => Tensor::of_floats(elem, &[1], &[attrs.int("default_int64").unwrap_or(-1) as f64]),
    }
}

/// Maps each element by its index among the keys; others become the default.
fn mapped(x: &Tensor, from: &Tensor, to: &Tensor, default: &Tensor) -> Result<Tensor, Failure> {
    if from.len() != to.len() {
        fail!("there are {} and {}", counted(from.len(), "key"), counted(to.len(), "value"));
    }
    let all = keys(from)?;
    let (places, _charge) = places(&all)?;
    let at = keys(x)?.iter().map(|key| places.get(key).copied().unwrap_or(to.len())).listed()?;
    let with_default = match (to.string_slice(), default.string_slice()) {
        (Ok(to), Ok(default)) => Tensor::of_strings(&[to.len() + 1], [to, default].concat())?,
        (Err(_), Err(_)) if to.elem() == default.elem() => {
            let mut all = Tensor::zeros(to.elem(), &[to.len() + 1])?;
            let (of_keys, of_others) = all.bytes_mut()?.split_at_mut(to.bytes().len());
            of_keys.copy_from_slice(to.bytes());
            of_others.copy_from_slice(default.bytes());
            all
        }
        _ => fail!("the default is of another type than the values"),
    };
    with_default.picked(x.dims(), &at)
}

fn positions(count: usize) -> Result<Tensor, Failure> {
    let all = (0..count).map(|i| i64::try_from(i).unwrap_or(i64::MAX)).listed()?;
    Tensor::of(&[count], &all)
}

pub(super) fn encode(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    if call.since() >= 2 {
        let (from, to) = (list(call, "keys")?, list(call, "values")?);
        return Ok(vec![mapped(x, &from, &to, &default(call, to.elem())?)?.into()]);
    }
    // Version 1 maps strings to their indices.
    let classes = call.attrs.strings("classes_strings").unwrap_or_default();
    let classes = Tensor::of_strings(&[classes.len()], classes)?;
    let numbers = positions(classes.len())?;
    let (from, to) = if x.is_strings() { (classes, numbers) } else { (numbers, classes) };
    Ok(vec![mapped(x, &from, &to, &default(call, to.elem())?)?.into()])
}

/// Maps strings to integers or back.
pub(super) fn categories(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let strings = call.attrs.strings("cats_strings").unwrap_or_default();
    let strings = Tensor::of_strings(&[strings.len()], strings)?;
    let ints = call.attrs.ints("cats_int64s").unwrap_or_default();
    let ints = Tensor::of(&[ints.len()], &ints)?;
    let (from, to) = if x.is_strings() { (strings, ints) } else { (ints, strings) };
    Ok(vec![mapped(x, &from, &to, &default(call, to.elem())?)?.into()])
}

/// A one-hot row for each element.
pub(super) fn one_hot(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let ints = call.attrs.ints("cats_int64s").unwrap_or_default();
    let strings = call.attrs.strings("cats_strings").unwrap_or_default();
    let all: Vec<Key<'_>> = match (&ints[..], &strings[..]) {
        ([], []) => fail!("there are neither `cats_int64s` nor `cats_strings`"),
        ([], strings) => strings.iter().map(|text| Key::Text(text)).collect(),
        (ints, _) => ints.iter().copied().map(Key::Int).collect(),
    };
    let (places, _charge) = places(&all)?;
    let must_be_known = call.attrs.int("zeros") == Some(0);
    let mut rows = Tensor::zeros(ElemType::FLOAT, &[x.dims(), &[all.len()]].concat())?;
    for (key, row) in integer_keys(x)?.iter().zip(rows.words_mut::<f32>()?.chunks_exact_mut(all.len())) {
        match places.get(key) {
            Some(&place) => row[place] = 1.0,
            None if must_be_known => fail!("an element is none of the categories"),
            None => {}
        }
    }
    Ok(vec![rows.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_are_found_by_the_integer_of_a_number() {
        let x = Tensor::of(&[5], &[1.7f64, -1.7, 0.4, f64::NAN, f64::INFINITY]).expect("five");
        let all = integer_keys(&x).expect("numbers");
        assert!(all[..3] == [Key::Int(1), Key::Int(-1), Key::Int(0)]);
        assert!(all[3..].iter().all(|key| matches!(key, Key::Other(_))));
    }

    #[test]
    fn numbers_are_looked_up_by_value() {
        let x = Tensor::of(&[4], &[f32::NAN, -0.0, 2.5, 7.0]).expect("four");
        let from = Tensor::of(&[4], &[0.0f32, f32::NAN, 2.5, 2.5]).expect("four");
        let to = Tensor::of(&[4], &[10i64, 11, 12, 13]).expect("four");
        let default = Tensor::of(&[1], &[-1i64]).expect("one");
        let found = mapped(&x, &from, &to, &default).expect("fit");
        assert_eq!(found.slice::<i64>().expect("int64"), [11, 10, 13, -1]);
    }
}
