//! Activations, the softmax family and dropout.

use super::case::{Case, Draw, floats, integers};
use onnx_exec::Tensor;
use onnx_ir::ElemType;

/// Mostly floats of 32 bits.
pub(crate) const FLOATS: &[ElemType] = &[
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::DOUBLE,
    ElemType::FLOAT16,
    ElemType::BFLOAT16,
];

/// Extents of up to so many axes, now and then none or of no elements.
pub(crate) fn shape(d: &mut Draw, least: usize, most: usize) -> Vec<usize> {
    let rank = least + d.below(most - least + 1);
    let mut dims = d.extents(rank, 1, 5);
    if rank > 0 && d.chance(15) {
        let axis = d.below(rank);
        dims[axis] = 0;
    }
    dims
}

/// The operators with a single operand: versions, and numbers as attributes.
const UNARY: &[(&str, &[i64], &[&str])] = &[
    ("LeakyRelu", &[6, 16], &["alpha"]),
    ("Elu", &[6, 22], &["alpha"]),
    ("Celu", &[12], &["alpha"]),
    ("Selu", &[6, 22], &["alpha", "gamma"]),
    ("HardSigmoid", &[6, 22], &["alpha", "beta"]),
    ("HardSwish", &[14, 22], &[]),
    ("Gelu", &[20], &["approximate"]),
    ("Mish", &[18, 22], &[]),
    ("Shrink", &[9], &["lambd", "bias"]),
    ("ThresholdedRelu", &[10, 22], &["alpha"]),
    ("Swish", &[24], &["alpha"]),
    ("Softplus", &[7, 22], &[]),
    ("Softsign", &[7, 22], &[]),
    ("Sigmoid", &[7, 13], &[]),
    ("Tanh", &[7, 13], &[]),
    ("Erf", &[9, 13], &[]),
    ("Relu", &[7, 13, 14], &[]),
];

pub(crate) fn draw(mut d: Draw) -> Case {
    match d.below(6) {
        0 => parametric(d),
        1 | 2 => softmax(d),
        3 => dropout(d),
        _ => unary(d),
    }
}

fn unary(mut d: Draw) -> Case {
    let (op, versions, attributes) = d.pick(UNARY);
    let version = d.pick(versions);
    let takes_integers = op == "Shrink" || op == "Erf" || op == "Relu" && version == 14;
    let elem = match takes_integers && d.chance(3) {
        true => d.pick(&[ElemType::INT32, ElemType::INT8, ElemType::INT64, ElemType::UINT8]),
        false => d.pick(FLOATS),
    };
    let dims = shape(&mut d, 0, 4);
    if d.chance(3) && matches!(elem, ElemType::FLOAT | ElemType::DOUBLE) {
        let numbers: Vec<f64> = (0..dims.iter().product())
            .map(|_| {
                d.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 100.0, -100.0, 1e-8, 20.0])
            })
            .collect();
        d.tensor(floats(elem, &dims, &numbers));
    } else {
        let scale = d.pick(&[1.0, 4.0, 20.0]);
        d.numbers(elem, &dims, scale);
    }
    for name in attributes {
        if d.chance(2) {
            continue;
        }
        if *name == "approximate" {
            let how = d.pick(&["none", "tanh"]);
            d.text(name, how);
        } else {
            let number = d.pick(&[0.25, 0.5, 1.0, 1.5, 0.125, 2.0, 0.0, -0.5]);
            let is_divisor = op == "Celu" && number == 0.0;
            d.float(name, if is_divisor { 1.5 } else { number });
        }
    }
    // Others have constants of 32 bits, and round in between.
    d.tolerance = match elem {
        ElemType::DOUBLE => Some(2e-7),
        ElemType::BFLOAT16 => Some(3e-2),
        _ => None,
    };
    d.case(op, version)
}

fn parametric(mut d: Draw) -> Case {
    let version = d.pick(&[7, 9, 16]);
    let elem = match version >= 9 && d.chance(4) {
        true => d.pick(&[ElemType::INT32, ElemType::INT64, ElemType::UINT32, ElemType::UINT64]),
        false => d.pick(FLOATS),
    };
    let dims = shape(&mut d, 0, 4);
    let first = d.below(dims.len() + 1);
    let mut slope = dims[first..].to_vec();
    for extent in &mut slope {
        if d.chance(2) {
            *extent = 1;
        }
    }
    d.numbers(elem, &dims, 5.0);
    d.numbers(elem, &slope, 5.0);
    d.case("PRelu", version)
}

fn softmax(mut d: Draw) -> Case {
    let (op, version) = (d.pick(&["Softmax", "LogSoftmax", "Hardmax"]), d.pick(&[7, 11, 13]));
    let elem = d.pick(FLOATS);
    // The reference evaluator loses what underflows, and has no old axes.
    d.is_for_runtime = true;
    let dims = shape(&mut d, 1, 4);
    let scale = d.pick(&[1.0, 4.0, 100.0]);
    if d.chance(4) {
        // Many are equal.
        d.tensor(Tensor::of_floats(elem, &dims, &vec![1.5; dims.iter().product()]).expect("as many"));
    } else {
        d.floats(elem, &dims, scale);
    }
    let rank = dims.len() as i64;
    if d.chance(3) {
        let default = if version < 13 { 1 } else { -1 };
        if default < rank {
            return d.case(op, version);
        }
    }
    let least = if version >= 11 { -rank } else { 0 };
    let axis = d.within(least, rank - 1);
    d.attribute("axis", axis);
    d.case(op, version)
}

/// Training is random; these nodes are the identity.
fn dropout(mut d: Draw) -> Case {
    let version = d.pick(&[7, 10, 12, 13, 22]);
    let elem = d.pick(FLOATS);
    let dims = shape(&mut d, 0, 3);
    d.floats(elem, &dims, 2.0);
    if version < 12 {
        d.maybe(2, "ratio", 0.25);
    } else {
        let is_training = d.chance(2);
        let ratio = d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::DOUBLE, ElemType::FLOAT16]);
        if is_training || d.chance(2) {
            d.tensor(floats(ratio, &[], &[if is_training { 0.0 } else { 0.5 }]));
        } else {
            d.omit();
        }
        if is_training || d.chance(2) {
            d.tensor(integers(ElemType::BOOL, &[], &[i64::from(is_training)]));
        }
        d.maybe(3, "seed", 5);
    }
    // ONNX Runtime says of the first versions that nothing is kept, and the reference evaluator that all is.
    let with_mask = version >= 12 && d.chance(2);
    d.outputs(&[true, with_mask]);
    d.case("Dropout", version)
}
