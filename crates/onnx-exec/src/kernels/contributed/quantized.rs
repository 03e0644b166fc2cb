//! Quantized operators: QGemm, QLinearConcat, DynamicQuantizeMatMul, MatMulIntegerToFloat.

use super::super::around::Around;
use super::super::real::Real;
use super::super::{Call, Row};
use super::whole::WholeMatrix;
use crate::budget::spend;
use crate::failure::{Failure, fail};
use crate::list::{List, filled};
use crate::tensor::{Tensor, count_of};
use crate::value::Value;
use onnx_ir::ElemType;
use std::sync::Arc;

pub(super) const ROWS: &[Row] = &[
    ("com.microsoft", "DynamicQuantizeMatMul", dynamic_quantize_mat_mul),
    ("com.microsoft", "MatMulIntegerToFloat", mat_mul_integer_to_float),
    ("com.microsoft", "QGemm", q_gemm),
    ("com.microsoft", "QLinearConcat", q_linear_concat),
];

/// One number, or this if it is left out.
fn number(call: &Call<'_>, input: usize, default: f64) -> Result<f64, Failure> {
    match call.optional_tensor(input)? {
        None => Ok(default),
        Some(tensor) => match tensor.floats()?[..] {
            [number] => Ok(number),
            _ => fail!("input {input} has to be one number"),
        },
    }
}

/// One number for each column, or one for all.
fn per_column(call: &Call<'_>, input: usize, columns: usize, default: f64) -> Result<List<f64>, Failure> {
    match call.optional_tensor(input)? {
        None => filled(columns, default),
        Some(tensor) if tensor.len() == 1 => filled(columns, tensor.floats()?[0]),
        Some(tensor) if tensor.len() == columns => tensor.floats(),
        Some(tensor) => fail!("input {input} of shape {:?} does not fit {columns} columns", tensor.dims()),
    }
}

/// Numbers as codes of this type: divided by a scale, the even one of two, with the zero point, saturated.
fn quantized(
    elem: ElemType,
    dims: &[usize],
    numbers: &[f64],
    scale: f64,
    zero: f64,
) -> Result<Tensor, Failure> {
    Tensor::from_floats(elem, dims, numbers.iter().map(|x| (x / scale).round_ties_even() + zero))
}

/// What a tensor becomes when it is quantized by its own range to 8 bits, and back.
pub(in crate::kernels) fn through_bytes<T: Real>(numbers: &mut [T]) {
    let single = |x: T| -> f32 { x.into() as f32 };
    let (low, high) =
        numbers.iter().fold((0.0f32, 0.0f32), |(l, h), &x| (l.min(single(x)), h.max(single(x))));
    let scale = if high == low { 1.0 } else { (high - low) / 255.0 };
    let zero = (-low / scale).round_ties_even().clamp(0.0, 255.0);
    for x in numbers {
        let code = ((single(*x) / scale).round_ties_even() + zero).clamp(0.0, 255.0);
        *x = T::of(f64::from(code - zero) * f64::from(scale));
    }
}

/// A product of matrices: rows and columns of `b` may be those of one for all or of as many as `a` has.
fn product(
    a: &[f64],
    a_dims: &[usize],
    b: &[f64],
    b_dims: &[usize],
) -> Result<(List<f64>, Vec<usize>), Failure> {
    let ([outer @ .., m, k], [b_outer @ .., rows, n]) = (a_dims, b_dims) else {
        fail!("{a_dims:?} is multiplied with {b_dims:?}")
    };
    if k != rows || !(b_outer.iter().all(|d| *d == 1) || b_outer == outer) {
        fail!("{a_dims:?} is multiplied with {b_dims:?}");
    }
    let mut dims = outer.to_vec();
    dims.extend([*m, *n]);
    let mut y = filled(count_of(&dims)?, 0.0)?;
    let is_shared = b_outer.iter().all(|d| *d == 1);
    for (row, y) in y.chunks_exact_mut((*n).max(1)).enumerate() {
        spend(k.saturating_mul(*n))?;
        let b = if is_shared { b } else { &b[row / m * rows * n..] };
        for (x, b) in a[row * k..][..*k].iter().zip(b.chunks_exact((*n).max(1))) {
            y.iter_mut().zip(b).for_each(|(y, b)| *y += x * b);
        }
    }
    Ok((y, dims))
}

/// Codes without their zero points, one for each column or for all.
fn centered(call: &Call<'_>, input: usize, zero: usize) -> Result<List<f64>, Failure> {
    let tensor = call.tensor(input)?;
    let columns = tensor.dims().last().copied().unwrap_or(1);
    let zeros = per_column(call, zero, columns, 0.0)?;
    let mut numbers = tensor.floats()?;
    numbers.iter_mut().enumerate().for_each(|(i, x)| *x -= zeros[i % columns]);
    Ok(numbers)
}

/// Scales each column and adds a bias.
fn scaled(
    call: &Call<'_>,
    y: &mut [f64],
    scale: f64,
    scales: usize,
    bias: usize,
    n: usize,
) -> Result<(), Failure> {
    let (scales, bias) = (per_column(call, scales, n, 1.0)?, per_column(call, bias, n, 0.0)?);
    for (i, y) in y.iter_mut().enumerate() {
        *y = *y * scale * scales[i % n] + bias[i % n];
    }
    Ok(())
}

fn dynamic_quantize_mat_mul(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let mut numbers = a.floats()?;
    through_bytes(&mut numbers);
    let (mut y, dims) = product(&numbers, a.dims(), &centered(call, 1, 3)?, b.dims())?;
    scaled(call, &mut y, 1.0, 2, 4, *dims.last().unwrap_or(&1))?;
    Ok(vec![Tensor::of_floats(a.elem(), &dims, &y)?.into()])
}

fn mat_mul_integer_to_float(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let zero = number(call, 4, 0.0)?;
    let numbers = a.floats()?.changed(|x| x - zero);
    let (mut y, dims) = product(&numbers, a.dims(), &centered(call, 1, 5)?, b.dims())?;
    scaled(call, &mut y, number(call, 2, 1.0)?, 3, 6, *dims.last().unwrap_or(&1))?;
    Ok(vec![Tensor::of_floats(call.tensor(3)?.elem(), &dims, &y)?.into()])
}

/// The numbers of a matrix, transposed if asked for.
fn oriented(
    tensor: &Tensor,
    is_transposed: bool,
    number: impl Fn(f64, usize) -> f32,
) -> Result<(List<f32>, [usize; 2]), Failure> {
    let &[rows, columns] = tensor.dims() else {
        fail!("the shape {:?} is not one of a matrix", tensor.dims())
    };
    let numbers = tensor.floats()?;
    let mut oriented = filled(numbers.len(), 0.0)?;
    if is_transposed {
        for (row, numbers) in numbers.chunks_exact(columns.max(1)).enumerate() {
            let column = oriented[row..].iter_mut().step_by(rows);
            column.zip(numbers).for_each(|(to, x)| *to = number(*x, row));
        }
        return Ok((oriented, [columns, rows]));
    }
    for (to, numbers) in oriented.chunks_exact_mut(columns.max(1)).zip(numbers.chunks_exact(columns.max(1))) {
        to.iter_mut().zip(numbers).enumerate().for_each(|(column, (to, x))| *to = number(*x, column));
    }
    Ok((oriented, [rows, columns]))
}

/// The second factor, less its zero points, laid out once if it is the same in every run.
fn second_factor(call: &Call<'_>, is_transposed: bool) -> Result<Arc<WholeMatrix>, Failure> {
    call.kept(&[3, 5], || {
        let b = call.tensor(3)?;
        let columns = b.dims().get(usize::from(!is_transposed)).copied().unwrap_or(1);
        let zeros = per_column(call, 5, columns, 0.0)?;
        let (numbers, [_, columns]) = oriented(b, is_transposed, |x, column| (x - zeros[column]) as f32)?;
        WholeMatrix::of_rows(&numbers, columns)
    })
}

/// The bias is quantized with the scale of the product.
fn q_gemm(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (a_zero, is_b_turned) = (number(call, 2, 0.0)?, call.attrs.flag("transB"));
    let (a, [m, k]) = oriented(call.tensor(0)?, call.attrs.flag("transA"), |x, _| (x - a_zero) as f32)?;
    let b = second_factor(call, is_b_turned)?;
    if b.steps() != k {
        fail!("{:?} is multiplied with {:?}", call.tensor(0)?.dims(), call.tensor(3)?.dims());
    }
    let n = b.columns();
    spend(m.saturating_mul(k).saturating_mul(n))?;
    let (mut y, dims) = (b.product(&a, m)?, [m, n]);
    if let Some(c) = call.optional_tensor(6)? {
        let numbers = c.floats()?;
        let (rows, columns) = match *c.dims() {
            [] => (1, 1),
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => fail!("a bias of shape {:?} does not fit {dims:?}", c.dims()),
        };
        if (rows != 1 && rows != dims[0]) || (columns != 1 && columns != n) {
            fail!("a bias of shape {:?} does not fit {dims:?}", c.dims());
        }
        for (i, y) in y.iter_mut().enumerate() {
            let (row, column) = (i / n, i % n);
            let row = if rows == 1 { 0 } else { row };
            *y += numbers[row * columns + if columns == 1 { 0 } else { column }];
        }
    }
    let scale = f64::from(call.attrs.float("alpha").unwrap_or(1.0)) * number(call, 1, 1.0)?;
    let scales = per_column(call, 4, n, 1.0)?;
    y.iter_mut().enumerate().for_each(|(i, y)| *y *= scale * scales[i % n]);
    let Some(zero) = call.optional_tensor(8)? else {
        return Ok(vec![Tensor::of_floats(ElemType::FLOAT, &dims, &y)?.into()]);
    };
    let y = quantized(zero.elem(), &dims, &y, number(call, 7, 1.0)?, number(call, 8, 0.0)?)?;
    Ok(vec![y.into()])
}

/// Each input with a scale and a zero point of its own.
fn q_linear_concat(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let (scale, zero) = (number(call, 0, 1.0)?, number(call, 1, 0.0)?);
    let elem = call.tensor(1)?.elem();
    let count = call.inputs.len().saturating_sub(2) / 3;
    let first = call.tensor(2)?;
    let axis = call.attrs.axis("axis", first.rank())?;
    let mut dims = first.dims().to_vec();
    let mut extent = 0usize;
    let mut parts = Vec::with_capacity(count);
    for i in 0..count {
        let x = call.tensor(2 + 3 * i)?;
        let mut same = x.dims().to_vec();
        if same.len() != dims.len() {
            fail!("{:?} is put behind {:?}", x.dims(), first.dims());
        }
        extent = extent.saturating_add(same[axis]);
        same[axis] = dims[axis];
        if same != dims {
            fail!("{:?} is put behind {:?}", x.dims(), first.dims());
        }
        let (x_scale, x_zero) = (number(call, 3 + 3 * i, 1.0)?, number(call, 4 + 3 * i, 0.0)?);
        let numbers = x.floats()?.changed(|x| (x - x_zero) * x_scale);
        parts.push((numbers, Around::of(x.dims(), axis)?));
    }
    dims[axis] = extent;
    call.has_room(elem, &dims)?;
    let mut y = List::with_room(count_of(&dims)?)?;
    let outer = if count_of(&dims)? == 0 { 0 } else { Around::of(&dims, axis)?.outer };
    for outer in 0..outer {
        for (numbers, around) in &parts {
            let size = around.extent * around.inner;
            y.extend(numbers[outer * size..][..size].iter().copied())?;
        }
    }
    Ok(vec![quantized(elem, &dims, &y, scale, zero)?.into()])
}
