//! Feature preparation: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler.

use super::{Samples, wide};
use crate::value::Value;
use crate::{Call, resolve_axis};
use onnx_ir::ElemType;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};
use onnx_loops::tensor::Tensor;

/// Selects columns by index. A list counts as one row.
pub(super) fn extract(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let Some((&columns, outer)) = x.dims().split_last() else { fail!("a scalar has no columns") };
    let wanted = call
        .tensor(1)?
        .ints()?
        .into_iter()
        .map(|i| {
            resolve_axis(i, columns)
                .map_err(|_| Failure::new(format!("a column is wanted that is not among {columns}")))
        })
        .try_listed()?;
    let rows: usize = outer.iter().product();
    let mut dims = if outer.is_empty() { vec![1] } else { outer.to_vec() };
    dims.push(wanted.len());
    call.has_room(x.elem(), &dims)?;
    let positions = (0..rows).flat_map(|r| wanted.iter().map(move |c| r * columns + c));
    Ok(vec![x.picked_runs(&dims, positions, 1)?.into()])
}

/// 1 where an element is greater than the threshold, otherwise 0.
pub(super) fn binarize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let threshold = f64::from(call.attrs.float("threshold").unwrap_or(0.0));
    let binary = x.floats()?.into_iter().map(|x| f64::from(u8::from(x > threshold)));
    Ok(vec![Tensor::from_floats(x.elem(), x.dims(), binary)?.into()])
}

/// Concatenates the columns of all inputs, each truncated or zero-padded to its length. A list counts as one row.
pub(super) fn join(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let given = call.attrs.ints("inputdimensions");
    if let Some(given) = given.as_ref().filter(|given| given.len() != call.inputs.len()) {
        fail!("{} have {}", counted(call.inputs.len(), "input"), counted(given.len(), "length"));
    }
    let mut parts = Vec::with_capacity(call.inputs.len());
    let mut columns = 0usize;
    for i in 0..call.inputs.len() {
        let samples = Samples::of(call.tensor(i)?)?;
        let width = match given.as_ref().map(|given| usize::try_from(given[i])) {
            Some(Ok(width)) => width,
            Some(Err(_)) => fail!("an input has a negative length"),
            None => samples.features,
        };
        columns = columns.saturating_add(width);
        parts.push((samples, width));
    }
    let rows = parts.first().map_or(0, |(first, _)| first.count);
    if let Some((other, _)) = parts.iter().find(|(part, _)| part.count != rows) {
        fail!("one input has {}, another {}", counted(rows, "row"), other.count);
    }
    let mut joined = Tensor::zeros(ElemType::FLOAT, &[rows, columns])?;
    for (row, mut to) in joined.words_mut::<f32>()?.chunks_exact_mut(columns.max(1)).enumerate() {
        for (samples, width) in &parts {
            let (here, rest) = to.split_at_mut(*width);
            here.iter_mut().zip(samples.row(row)).for_each(|(to, from)| *to = *from as f32);
            to = rest;
        }
    }
    Ok(vec![joined.into()])
}

/// The parameter of each column: one per column, or one for all.
fn per_column<T: Copy>(list: &[T], columns: usize, what: &str) -> Result<List<T>, Failure> {
    match list {
        &[one] => filled(columns, one),
        all if all.len() == columns => List::copied(all),
        all => fail!("`{what}` has {} for {}", counted(all.len(), "number"), counted(columns, "column")),
    }
}

/// Replaces a value by another one, per column.
pub(super) fn impute(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let Some(&columns) = x.dims().last() else { fail!("a scalar has no columns") };
    let attrs = &call.attrs;
    let floats = attrs.floats("imputed_value_floats").filter(|all| !all.is_empty());
    let ints = attrs.ints("imputed_value_int64s").filter(|all| !all.is_empty());
    if let (ElemType::INT64 | ElemType::INT32, Some(ints)) = (x.elem(), &ints) {
        let values = per_column(ints, columns, "imputed_value_int64s")?;
        let replaced = attrs.int("replaced_value_int64").unwrap_or(0);
        let mut all = x.ints()?;
        let of_column = values.iter().cycle();
        all.iter_mut().zip(of_column).filter(|(x, _)| **x == replaced).for_each(|(x, value)| *x = *value);
        if x.elem() == ElemType::INT64 {
            return Ok(vec![Tensor::of(x.dims(), &all)?.into()]);
        }
        let narrow = all.into_iter().map(|x| x as i32).listed()?;
        return Ok(vec![Tensor::of(x.dims(), &narrow)?.into()]);
    }
    let (values, replaced) = match (floats, ints) {
        (Some(floats), _) => {
            (wide(Some(floats)), f64::from(attrs.float("replaced_value_float").unwrap_or(0.0)))
        }
        (None, Some(ints)) => {
            (ints.iter().map(|&i| i as f64).collect(), attrs.int("replaced_value_int64").unwrap_or(0) as f64)
        }
        (None, None) => fail!("there are neither `imputed_value_floats` nor `imputed_value_int64s`"),
    };
    let values = per_column(&values, columns, "imputed_value_floats")?;
    let is_replaced = |x: f64| if replaced.is_nan() { x.is_nan() } else { x == replaced };
    let all = x.floats()?.into_iter().zip(values.iter().cycle());
    let all = all.map(|(x, &value)| if is_replaced(x) { value } else { x });
    Ok(vec![Tensor::from_floats(x.elem(), x.dims(), all)?.into()])
}

/// Divides each row by its maximum, its L1 norm or its L2 norm; a norm of 0 leaves the row unchanged.
pub(super) fn normalize(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let mut samples = Samples::of(x)?;
    let norm = call.attrs.string("norm").unwrap_or_default();
    let measure: fn(&[f64]) -> f64 = match &norm[..] {
        "MAX" => |row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        "L1" => |row| row.iter().map(|x| x.abs()).sum(),
        "L2" => |row| row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        _ => fail!("`norm` is `{norm}`, not MAX, L1 or L2"),
    };
    for row in samples.numbers.chunks_exact_mut(samples.features.max(1)) {
        let size = measure(row);
        if size != 0.0 {
            row.iter_mut().for_each(|x| *x /= size);
        }
    }
    Ok(vec![Tensor::of_floats(ElemType::FLOAT, x.dims(), &samples.numbers)?.into()])
}

/// Subtracts an offset and multiplies with a scale, per column.
pub(super) fn scale(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let Some(&columns) = x.dims().last() else { fail!("a scalar has no columns") };
    let of = |name: &str, neutral: f64| match wide(call.attrs.floats(name)) {
        none if none.is_empty() => filled(columns, neutral),
        all => per_column(&all, columns, name),
    };
    let (offset, scale) = (of("offset", 0.0)?, of("scale", 1.0)?);
    let each = offset.iter().zip(&scale).cycle();
    let scaled = x.floats()?.into_iter().zip(each).map(|(x, (offset, scale))| (x - offset) * scale);
    Ok(vec![Tensor::from_floats(ElemType::FLOAT, x.dims(), scaled)?.into()])
}
