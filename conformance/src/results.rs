//! Runs models and compares their results.

use onnx_exec::{CompileOptions, RunOptions, Tensor, Value, compile};
use onnx_ir::{Dim, DimValue, ElemType, Model, TypeKind};
use onnx_ops::opset::registry_of;

/// Options for models as they are: what they compute is compared, whether or not they break rules.
fn unchecked() -> CompileOptions {
    CompileOptions { unchecked: true, ..CompileOptions::default() }
}

/// Runs a model with these values for its first inputs and `None` for defaults; returns the reason if it fails.
pub fn run(model: &Model, given: &[Option<Value>], options: &RunOptions<'_>) -> Result<Vec<Value>, String> {
    let executable = compile(model, registry_of(model), &unchecked())
        .map_err(|found| found.first().map(|d| d.message.clone()).unwrap_or_default())?;
    let mut inputs = given.to_vec();
    inputs.resize(executable.inputs().len(), None);
    executable.run(inputs, options).map_err(|finding| finding.message.clone())
}

/// How two values differ, if they do by more than rounding does, of floats as short as these at times.
pub fn difference(value: &Value, expected: &Value, shortest: ElemType) -> Option<String> {
    match (value, expected) {
        (Value::Tensor(value), Value::Tensor(expected)) => {
            let own = rounding(expected.elem());
            of_tensors(value, expected, if own > 0.0 { own.max(rounding(shortest)) } else { own })
        }
        (Value::Sequence(values), Value::Sequence(expected)) if values.len() == expected.len() => {
            values.iter().zip(&**expected).find_map(|(value, expected)| difference(value, expected, shortest))
        }
        (Value::Optional(None), Value::Optional(None)) => None,
        (Value::Optional(Some(value)), Value::Optional(Some(expected))) => {
            difference(value, expected, shortest)
        }
        (Value::Map(value), Value::Map(expected)) if value.values.len() == expected.values.len() => {
            let keys = of_tensors(&value.keys, &expected.keys, 0.0);
            let mut both = value.values.iter().zip(&expected.values);
            keys.or_else(|| both.find_map(|(value, expected)| difference(value, expected, shortest)))
        }
        _ => Some(format!("is {}, not {}", value.kind(), expected.kind())),
    }
}

/// The shortest floats that a model stores or takes; doubles if none.
pub fn shortest(model: &Model) -> ElemType {
    let stored =
        model.bodies.values().flat_map(|body| body.tensors.values().filter_map(|tensor| tensor.elem));
    let ports = model.bodies.values().flat_map(|body| body.graphs.values().flat_map(|graph| &graph.inputs));
    let taken = ports.filter_map(|port| match &model.types[port.ty?].kind {
        TypeKind::Tensor(tensor) => tensor.elem,
        _ => None,
    });
    stored.chain(taken).max_by(|a, b| rounding(*a).total_cmp(&rounding(*b))).unwrap_or(ElemType::DOUBLE)
}

/// How far numbers may be apart, as a part of the expected one.
fn rounding(elem: ElemType) -> f64 {
    match elem {
        // Some operators compute in single precision whatever the type.
        ElemType::FLOAT | ElemType::DOUBLE => 2e-4,
        ElemType::FLOAT16 => 4e-2,
        // Errors of several steps in short floats.
        _ if elem.name().is_some_and(|name| name.contains("float")) => 2e-1,
        _ => 0.0,
    }
}

/// How two tensors differ, if they do by more than this part of the expected number, or a hundredth of it of the largest.
pub fn of_tensors(ours: &Tensor, expected: &Tensor, part: f64) -> Option<String> {
    if (ours.elem(), ours.dims()) != (expected.elem(), expected.dims()) {
        let shown = |t: &Tensor| format!("{}{:?}", t.elem().name().unwrap_or("?"), t.dims());
        return Some(format!("is {}, not {}", shown(ours), shown(expected)));
    }
    if let (Ok(a), Ok(b)) = (ours.string_slice(), expected.string_slice()) {
        return (a != b).then(|| format!("is {a:?}, not {b:?}"));
    }
    if ours.bytes() == expected.bytes() {
        return None;
    }
    let (Ok(a), Ok(b)) = (ours.floats(), expected.floats()) else {
        return Some("has other elements".to_owned());
    };
    let scale = b.iter().filter(|x| x.is_finite()).fold(1.0, |most: f64, x| most.max(x.abs()));
    // A Clip without an end has the greatest number as its end; its body has none.
    let is_end = |a: f64, b: f64| a.is_infinite() && a.signum() * b >= f32::MAX.into();
    let is_same = |a: f64, b: f64| {
        a == b || is_end(a, b) || a.is_nan() && b.is_nan() || (a - b).abs() <= part * (b.abs() + 1e-2 * scale)
    };
    let at = a.iter().zip(&b).position(|(a, b)| !is_same(*a, *b))?;
    Some(format!("element {at} is {:?}, not {:?}", a[at], b[at]))
}

/// Larger inputs are not made up.
const MAX_ELEMENTS: usize = 1 << 12;

/// Values for the inputs of a model, `None` for defaults; `None` as a whole if an input is not a small numeric tensor.
pub fn made_up(model: &Model) -> Option<Vec<Option<Value>>> {
    let executable = compile(model, registry_of(model), &unchecked()).ok()?;
    let value = |port: &onnx_ir::Port| {
        if executable.has_default(port) {
            return Some(None);
        }
        let TypeKind::Tensor(ty) = &model.types[port.ty?].kind else { return None };
        let extent = |dim: &Dim| match dim.value {
            DimValue::Value(extent) => usize::try_from(extent).ok(),
            DimValue::Param(_) | DimValue::Unknown => Some(3),
        };
        let dims: Vec<usize> = ty.shape.iter().flatten().map(extent).collect::<Option<_>>()?;
        let count = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= MAX_ELEMENTS)?;
        let elem = ty.elem?;
        if elem == ElemType::BOOL {
            return Some(Some(Value::Tensor(Tensor::of_bools(&dims, (0..count).map(|i| i % 2 == 0)).ok()?)));
        }
        let numbers: Vec<f64> = (0..count).map(|i| (i * 7 % 11) as f64 * 0.5 - 1.0).collect();
        Some(Some(Value::Tensor(Tensor::of_floats(elem, &dims, &numbers).ok()?)))
    };
    executable.inputs().iter().map(value).collect()
}
