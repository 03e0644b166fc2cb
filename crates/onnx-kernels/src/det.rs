//! The Det kernel: determinants of square matrices.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::Listed as _;
use onnx_loops::tensor::Tensor;

pub(crate) const ROWS: &[Row] = &[row("", "Det", det)];

fn det(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let [outer @ .., m, n] = x.dims() else { fail!("the shape {:?} is not one of matrices", x.dims()) };
    if m != n {
        fail!("a matrix of {} and {} is not square", counted(m, "row"), counted(n, "column"));
    }
    if *n == 0 {
        let count = call.has_room(x.elem(), outer)?;
        return Ok(vec![Tensor::of_floats(x.elem(), outer, &onnx_loops::list::filled(count, 1.0)?)?.into()]);
    }
    let mut matrices = x.floats()?;
    let found = matrices.chunks_exact_mut(n * n).map(|matrix| determinant(matrix, *n)).try_listed()?;
    Ok(vec![Tensor::of_floats(x.elem(), outer, &found)?.into()])
}

/// The determinant by elimination with partial pivoting.
fn determinant(a: &mut [f64], n: usize) -> Result<f64, Failure> {
    let mut product = 1.0;
    for k in 0..n {
        spend((n - k) * (n - k))?;
        let size = |&i: &usize| a[i * n + k].abs();
        let Some(pivot) = (k..n).max_by(|i, j| size(i).total_cmp(&size(j))) else { break };
        if a[pivot * n + k] == 0.0 {
            return Ok(0.0);
        }
        if pivot != k {
            for j in 0..n {
                a.swap(pivot * n + j, k * n + j);
            }
            product = -product;
        }
        let (above, below) = a.split_at_mut((k + 1) * n);
        let row = &above[k * n..];
        product *= row[k];
        for other in below.chunks_exact_mut(n) {
            let factor = other[k] / row[k];
            for j in k + 1..n {
                other[j] -= factor * row[j];
            }
        }
    }
    Ok(product)
}
