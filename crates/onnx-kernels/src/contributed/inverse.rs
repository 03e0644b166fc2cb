//! The Inverse kernel: inverses of square matrices.

use crate::value::Value;
use crate::{Call, Row, row};
use onnx_ir::diag::counted;
use onnx_loops::budget::spend;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::filled;
use onnx_loops::tensor::Tensor;

pub(super) const ROWS: &[Row] = &[row("com.microsoft", "Inverse", inverse)];

fn inverse(call: &mut Call<'_>) -> Result<Vec<Value>, Failure> {
    let x = call.tensor(0)?;
    let &[.., m, n] = x.dims() else { fail!("the shape {:?} is not one of matrices", x.dims()) };
    if m != n {
        fail!("a matrix of {} and {} is not square", counted(m, "row"), counted(n, "column"));
    }
    let mut matrices = x.floats()?;
    let mut turned = filled(matrices.len(), 0.0)?;
    for (from, to) in matrices.chunks_exact_mut((n * n).max(1)).zip(turned.chunks_exact_mut((n * n).max(1))) {
        eliminate(from, to, n)?;
    }
    Ok(vec![Tensor::of_floats(x.elem(), x.dims(), &turned)?.into()])
}

/// Gauss-Jordan elimination with partial pivoting: `a` becomes the identity, and `b`, initially zero, the inverse of `a`. A
/// singular matrix yields infinities or NaN.
fn eliminate(a: &mut [f64], b: &mut [f64], n: usize) -> Result<(), Failure> {
    b.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    for k in 0..n {
        spend(n.saturating_mul(2 * n))?;
        let size = |&i: &usize| a[i * n + k].abs();
        let Some(pivot) = (k..n).max_by(|i, j| size(i).total_cmp(&size(j))) else { break };
        let by = a[pivot * n + k];
        for matrix in [&mut *a, &mut *b] {
            for j in 0..n {
                matrix.swap(pivot * n + j, k * n + j);
                matrix[k * n + j] /= by;
            }
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[i * n + k];
            for matrix in [&mut *a, &mut *b] {
                for j in 0..n {
                    matrix[i * n + j] -= factor * matrix[k * n + j];
                }
            }
        }
    }
    Ok(())
}
