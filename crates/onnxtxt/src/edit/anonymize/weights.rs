//! Random numbers in place of weights.

use super::structure::Structure;
use onnx_exec::{Random, Tensor};
use onnx_ir::diag::{Diagnostic, Place, code};
use onnx_ir::{AttrValue, BodyId, ElemType, Model, TensorId, normalize_domain};
use onnx_ops::schema::Registry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Floats that are constants of formulas rather than weights.
const FEW_FLOATS: usize = 4;
/// Numbers that are axes, shapes or scales of sizes rather than weights.
const FEW_INTEGERS: usize = 64;

/// Attributes whose integers name classes, categories and words.
const LABELS: &[&str] = &[
    "classlabels_int64s",
    "classlabels_ints",
    "cats_int64s",
    "keys_int64s",
    "values_int64s",
    "int64_vocabulary",
    "pool_int64s",
    "imputed_value_int64s",
];

/// Makes weights random, and says how many: stored tensors, and the numbers in attributes.
pub(super) fn randomize(model: &mut Model, registry: &Registry, seed: u64) -> Result<usize, Vec<Diagnostic>> {
    let structure = Structure::of(model, registry);
    let mut random = Random::new(seed);
    let failed = |error: onnx_exec::Failure| {
        let message = format!("cannot make weights random: {error}");
        vec![Diagnostic::new(&code::WEIGHTS, Place::Nowhere, message)]
    };
    let mut count = 0;
    for id in model.bodies.ids().collect::<Vec<_>>() {
        let kept = structure.tensors(model, id);
        let learned = of_learned(model, id);
        let body = &mut model.bodies[id];
        for tensor_id in body.tensors.ids().collect::<Vec<_>>() {
            let stored = &mut body.tensors[tensor_id];
            if stored.is_external() {
                continue;
            }
            // An unreadable tensor does not hold numbers, or is the error that the report is about.
            let Ok(tensor) = Tensor::stored(stored) else { continue };
            let is_few = match tensor.elem() {
                _ if kept.contains(&tensor_id) => tensor.len() <= FEW_INTEGERS,
                ElemType::INT64 | ElemType::INT32 | ElemType::UINT64 | ElemType::UINT32 | ElemType::BOOL => {
                    false
                }
                _ => tensor.len() <= FEW_FLOATS && !learned.contains(&tensor_id),
            };
            if is_few || tensor.is_strings() {
                continue;
            }
            let new = randomized(&tensor, &mut random).and_then(|new| new.to_stored()).map_err(failed)?;
            count += usize::from(new.data != stored.data);
            stored.data = new.data;
        }
        for node in model.bodies[id].nodes.ids().collect::<Vec<_>>() {
            let n = &model.bodies[id].nodes[node];
            let output = n.outputs.first().copied().flatten();
            let is_kept = output.is_some_and(|output| structure.has(id, output));
            let of = match (normalize_domain(model.text(n.domain)), model.text(n.op)) {
                ("ai.onnx.ml", _) => OperatorKind::Learned,
                ("", "Constant") if !is_kept => OperatorKind::Constant,
                (domain, op) if registry.versions(domain, op).is_empty() => OperatorKind::Unknown,
                _ => OperatorKind::Known,
            };
            let mut attrs = std::mem::take(&mut model.bodies[id].nodes[node].attrs);
            for attr in &mut attrs {
                let name = model.text(attr.name);
                for value in &mut attr.values {
                    count += usize::from(numbers(value, name, of, &mut random).map_err(failed)?);
                }
            }
            model.bodies[id].nodes[node].attrs = attrs;
        }
    }
    Ok(count)
}

/// The operator of an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OperatorKind {
    /// The numbers are a model of machine learning.
    Learned,
    /// The number is a constant, and not structure.
    Constant,
    /// Nothing is known about it.
    Unknown,
    Known,
}

/// The tensors in attributes of learned models.
fn of_learned(model: &Model, id: BodyId) -> HashSet<TensorId> {
    let nodes = model.bodies[id].nodes.values();
    let learned = nodes.filter(|node| normalize_domain(model.text(node.domain)) == "ai.onnx.ml");
    let values = learned.flat_map(|node| &node.attrs).flat_map(|attr| &attr.values);
    let tensor = |value: &AttrValue| match value {
        AttrValue::Tensor(tensor) => Some(*tensor),
        _ => None,
    };
    values.filter_map(tensor).collect()
}

/// Makes the numbers of an attribute random. Returns whether it has changed them.
fn numbers(
    value: &mut AttrValue,
    name: &str,
    of: OperatorKind,
    random: &mut Random,
) -> Result<bool, onnx_exec::Failure> {
    let new = match (&*value, of) {
        (AttrValue::Ints(list), OperatorKind::Learned | OperatorKind::Known) if LABELS.contains(&name) => {
            let sorted: BTreeSet<i64> = list.iter().copied().collect();
            let ranks: BTreeMap<i64, i64> = sorted.into_iter().zip(0..).collect();
            AttrValue::Ints(list.iter().map(|x| ranks[x]).collect::<Vec<_>>().into())
        }
        (AttrValue::Floats(list), OperatorKind::Learned | OperatorKind::Constant | OperatorKind::Unknown) => {
            if of == OperatorKind::Constant && list.len() <= FEW_FLOATS {
                return Ok(false);
            }
            let numbers: Vec<f32> = list.iter().copied().collect();
            let new = randomized(&Tensor::of(&[numbers.len()], &numbers)?, random)?;
            AttrValue::Floats(new.slice::<f32>()?.to_vec().into())
        }
        (AttrValue::Ints(list), OperatorKind::Constant) => {
            let numbers: Vec<i64> = list.iter().copied().collect();
            let new = randomized(&Tensor::of(&[numbers.len()], &numbers)?, random)?;
            AttrValue::Ints(new.slice::<i64>()?.to_vec().into())
        }
        (AttrValue::Float(x), OperatorKind::Learned) => {
            let new = randomized(&Tensor::scalar(*x)?, random)?;
            AttrValue::Float(new.slice::<f32>()?[0])
        }
        (AttrValue::Int(x), OperatorKind::Constant) => {
            let new = randomized(&Tensor::scalar(*x)?, random)?;
            AttrValue::Int(new.slice::<i64>()?[0])
        }
        _ => return Ok(false),
    };
    let is_changed = new != *value;
    *value = new;
    Ok(is_changed)
}

/// A tensor of random numbers with about the same mean, spread and range, or of as many strings.
///
/// # Errors
/// There is not enough memory.
pub fn randomized(tensor: &Tensor, random: &mut Random) -> Result<Tensor, onnx_exec::Failure> {
    if let Ok(strings) = tensor.string_slice() {
        let texts = (0..strings.len()).map(|i| format!("text_{i}")).collect();
        return Tensor::of_strings(tensor.dims(), texts);
    }
    let Ok(numbers) = tensor.floats() else { return Ok(tensor.clone()) };
    let finite = || numbers.iter().copied().filter(|x| x.is_finite());
    let count = finite().count().max(1) as f64;
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    let is_float =
        matches!(tensor.elem(), ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    if low >= high {
        let one = alone(low, is_float, random);
        let next = numbers.iter().map(|&x| if x.is_finite() { one } else { x });
        return Tensor::from_floats(tensor.elem(), tensor.dims(), next);
    }
    let mean = finite().sum::<f64>() / count;
    let spread = (finite().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
    let next = || match is_float {
        true => {
            let x = rough(mean) + rough(spread) * random.normal();
            if (low..=high).contains(&x) { x } else { low + (high - low) * random.uniform() }
        }
        false => (low + (high - low + 1.0) * random.uniform()).floor().clamp(low, high),
    };
    Tensor::from_floats(tensor.elem(), tensor.dims(), std::iter::repeat_with(next).take(numbers.len()))
}

/// A number in place of one that stands for itself: of the same sign, not larger if it may be an index, and one that says nothing
/// stays.
fn alone(x: f64, is_float: bool, random: &mut Random) -> f64 {
    match is_float {
        _ if x.abs() <= 1.0 && x.fract() == 0.0 || !x.is_finite() => x,
        true => rough(x * (0.5 + random.uniform() / 2.0)),
        false => x.signum() * (1.0 + (random.uniform() * x.abs()).floor()).min(x.abs()),
    }
}

/// A number of two significant digits.
pub(super) fn rough(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powf(x.abs().log10().floor() - 1.0);
    (x / unit).round() * unit
}
