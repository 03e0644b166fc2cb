//! Quantization, and products of quantized matrices.

use super::case::{Case, Draw, floats, range};
use super::products::factors;
use onnx_ir::ElemType;

pub(crate) fn draw(mut d: Draw) -> Case {
    match d.below(8) {
        0..=2 => linear(d, false),
        3 | 4 => linear(d, true),
        5 => dynamic(d),
        6 => product(d),
        _ => integers(d),
    }
}

/// The types of elements that a version quantizes to.
fn small(d: &mut Draw, version: i64) -> ElemType {
    use ElemType as E;
    let first = [E::UINT8, E::INT8];
    let floats = [E::FLOAT8E4M3FN, E::FLOAT8E4M3FNUZ, E::FLOAT8E5M2, E::FLOAT8E5M2FNUZ];
    let more = [E::UINT16, E::INT16, E::UINT4, E::INT4];
    let pick = |d: &mut Draw, all: &[E]| d.pick(all);
    match version {
        ..19 => pick(d, &first),
        19 => pick(d, &[&first[..], &floats].concat()),
        _ => pick(d, &[&first[..], &floats, &more, &more].concat()),
    }
}

/// The granularity of scales.
enum Grain {
    Whole,
    Axis,
    Block(usize),
}

fn linear(mut d: Draw, is_back: bool) -> Case {
    let version = d.pick(&[10, 13, 19, 21, 23, 24, 25]);
    let to = match is_back && d.chance(6) {
        true => ElemType::INT32,
        false => small(&mut d, version),
    };
    let float = match version {
        ..19 => ElemType::FLOAT,
        _ if !is_back && range(to).is_none() => ElemType::FLOAT,
        _ => d.pick(&[ElemType::FLOAT, ElemType::FLOAT, ElemType::FLOAT16]),
    };
    let rank = if d.chance(12) { 0 } else { 1 + d.below(4) };
    let mut dims = d.extents(rank, 1, 6);
    let grain = match d.below(3) {
        _ if rank == 0 => Grain::Whole,
        1 if version >= 13 => Grain::Axis,
        2 if version >= 21 => Grain::Block(2 + d.below(3)),
        _ => Grain::Whole,
    };
    let axis = if rank == 0 { 0 } else { d.within(-(rank as i64), rank as i64 - 1) };
    let at = if rank == 0 { 0 } else { axis.rem_euclid(rank as i64) as usize };
    let scales: Vec<usize> = match grain {
        Grain::Whole if d.chance(4) => vec![1],
        Grain::Whole => vec![],
        Grain::Axis => vec![dims[at]],
        Grain::Block(size) => {
            let scales = dims.clone();
            dims[at] = scales[at] * size - if d.chance(2) { 0 } else { d.below(size) };
            scales
        }
    };
    if is_back {
        quantized(&mut d, to, &dims, 200.0);
    } else {
        let scale = d.pick(&[2.0, 20.0, 200.0]);
        if float == ElemType::FLOAT && version < 23 && d.chance(8) {
            d.numbers(ElemType::INT32, &dims, 100.0);
        } else {
            d.floats(float, &dims, scale);
        }
    }
    let scale = d.random_floats(float, &scales, 0.05, 2.0);
    d.tensor(scale);
    let has_zero = d.chance(2) || !is_back && to != ElemType::UINT8 && (version < 21 || d.chance(2));
    if has_zero {
        match range(to) {
            // A zero point of these is zero.
            None | Some(_) if to == ElemType::INT32 || range(to).is_none() => {
                let count = scales.iter().product();
                d.tensor(zeros(to, &scales, count));
            }
            _ => d.numbers(to, &scales, 20.0),
        }
    } else if !is_back && to != ElemType::UINT8 {
        d.attribute("output_dtype", to.0);
    }
    match grain {
        Grain::Whole => {}
        Grain::Axis | Grain::Block(_) => {
            if axis != 1 || d.chance(2) {
                d.attribute("axis", axis);
            }
        }
    }
    if let Grain::Block(size) = grain {
        d.attribute("block_size", size);
    }
    if !is_back && version >= 19 && range(to).is_none() {
        // ONNX Runtime saturates the greatest numbers all the same, block by block and of scalars.
        if !matches!(grain, Grain::Block(_)) && !dims.is_empty() {
            d.maybe(2, "saturate", 0);
        }
    }
    // ONNX Runtime divides half floats in single precision.
    d.tolerance = (!is_back && float == ElemType::FLOAT16).then_some(1.0);
    d.case(if is_back { "DequantizeLinear" } else { "QuantizeLinear" }, version)
}

fn zeros(elem: ElemType, dims: &[usize], count: usize) -> onnx_exec::Tensor {
    match range(elem) {
        Some(_) => super::case::integers(elem, dims, &vec![0; count]),
        None => floats(elem, dims, &vec![0.0; count]),
    }
}

/// Quantized numbers.
fn quantized(d: &mut Draw, elem: ElemType, dims: &[usize], scale: f64) {
    d.numbers(elem, dims, scale);
}

fn dynamic(mut d: Draw) -> Case {
    let rank = d.below(4);
    let dims = d.extents(rank, 1, 6);
    let (least, most) = d.pick(&[(-2.0, 2.0), (0.5, 3.0), (-5.0, -1.0), (0.0, 0.0), (-1e-3, 100.0)]);
    let x = d.random_floats(ElemType::FLOAT, &dims, least, most);
    d.tensor(x);
    d.outputs(&[true, true, true]);
    d.case("DynamicQuantizeLinear", 11)
}

/// A scale or a zero point for all, or for each row or column.
fn grain(d: &mut Draw, count: Option<usize>) -> Vec<usize> {
    match count {
        Some(count) if d.chance(3) => vec![count],
        _ if d.chance(3) => vec![1],
        _ => vec![],
    }
}

/// Factors whose product ONNX Runtime does not leave as it was before: it does not add up nothing.
fn some_factors(d: &mut Draw) -> (Vec<usize>, Vec<usize>) {
    loop {
        let (a, b) = factors(d);
        if a.last() != Some(&0) {
            return (a, b);
        }
    }
}

fn product(mut d: Draw) -> Case {
    let version = d.pick(&[10, 21]);
    let (a, b) = some_factors(&mut d);
    let (ta, tb) = (d.pick(&[ElemType::UINT8, ElemType::INT8]), d.pick(&[ElemType::UINT8, ElemType::INT8]));
    let ty = ta;
    let scale = |d: &mut Draw, dims: &[usize]| {
        let scale = d.random_floats(ElemType::FLOAT, dims, 0.01, 0.2);
        d.tensor(scale);
    };
    let columns = (b.len() == 2).then(|| b[1]);
    d.numbers(ta, &a, 200.0);
    scale(&mut d, &[]);
    d.numbers(ta, &[], 50.0);
    let dims = grain(&mut d, columns);
    d.numbers(tb, &b, 200.0);
    scale(&mut d, &dims);
    d.numbers(tb, &dims, 50.0);
    scale(&mut d, &[]);
    d.numbers(ty, &[], 50.0);
    // A quotient may lie just between two bytes.
    d.tolerance = Some(1.0);
    d.is_for_runtime = true;
    d.case("QLinearMatMul", version)
}

fn integers(mut d: Draw) -> Case {
    let (a, b) = some_factors(&mut d);
    let (ta, tb) = (d.pick(&[ElemType::UINT8, ElemType::INT8]), d.pick(&[ElemType::UINT8, ElemType::INT8]));
    d.numbers(ta, &a, 200.0);
    d.numbers(tb, &b, 200.0);
    let rows = (a.len() == 2).then(|| a[0]);
    let columns = (b.len() == 2).then(|| b[1]);
    if d.chance(2) {
        let dims = grain(&mut d, rows);
        d.numbers(ta, &dims, 50.0);
    } else {
        d.omit();
    }
    if d.chance(2) {
        let dims = grain(&mut d, columns);
        d.numbers(tb, &dims, 50.0);
    }
    d.case("MatMulInteger", 10)
}
