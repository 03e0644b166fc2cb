//! The number type of kernels: double for doubles, single for all shorter floats.

use onnx_ir::ElemType;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, Listed as _};
use onnx_loops::tensor::Tensor;
use onnx_loops::{Matrix, PackedStore};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A float type for computations.
pub(crate) trait Real:
    bytemuck::Pod
    + PartialOrd
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
{
    /// A packed matrix to multiply rows by.
    type Matrix: Send + Sync + 'static;

    /// The matrix whose columns of `steps` numbers are contiguous, shared with other programs by a store if there is one.
    fn matrix(
        columns: &[Self],
        steps: usize,
        store: Option<&dyn PackedStore>,
    ) -> Result<Self::Matrix, Failure>;

    /// Adds to each row of `out` the product of a row of `rows` with a matrix.
    fn add_products(matrix: &Self::Matrix, rows: &[Self], out: &mut [Self]) -> Result<(), Failure>;

    /// Rounds a number.
    fn of(x: f64) -> Self;

    /// The square root.
    fn sqrt(self) -> Self;

    /// The elements of a tensor of numbers.
    fn numbers(tensor: &Tensor) -> Result<List<Self>, Failure>;

    /// A tensor of numbers, rounded to the element type.
    fn tensor(elem: ElemType, dims: &[usize], numbers: &[Self]) -> Result<Tensor, Failure>;
}

impl Real for f32 {
    type Matrix = Matrix;

    fn matrix(columns: &[f32], steps: usize, store: Option<&dyn PackedStore>) -> Result<Matrix, Failure> {
        Matrix::of_columns(columns, steps, store)
    }

    fn add_products(matrix: &Matrix, rows: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        matrix.add_products(rows, out)
    }

    #[inline]
    fn of(x: f64) -> f32 {
        x as f32
    }

    #[inline]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }

    fn numbers(tensor: &Tensor) -> Result<List<f32>, Failure> {
        match tensor.slice::<f32>() {
            Ok(numbers) => List::copied(numbers),
            Err(_) => tensor.floats()?.into_iter().map(f32::of).listed(),
        }
    }

    fn tensor(elem: ElemType, dims: &[usize], numbers: &[f32]) -> Result<Tensor, Failure> {
        if elem == ElemType::FLOAT {
            return Tensor::of(dims, numbers);
        }
        Tensor::from_floats(elem, dims, numbers.iter().map(|&x| x.into()))
    }
}

impl Real for f64 {
    /// Columns, and steps per column.
    type Matrix = (List<f64>, usize);

    /// It is not packed, and not shared.
    fn matrix(
        columns: &[f64],
        steps: usize,
        _: Option<&dyn PackedStore>,
    ) -> Result<(List<f64>, usize), Failure> {
        Ok((List::copied(columns)?, steps))
    }

    fn add_products(
        (columns, steps): &(List<f64>, usize),
        rows: &[f64],
        out: &mut [f64],
    ) -> Result<(), Failure> {
        if columns.is_empty() {
            return Ok(());
        }
        let each = columns.len() / steps;
        for (row, out) in rows.chunks_exact(*steps).zip(out.chunks_exact_mut(each)) {
            out.iter_mut()
                .zip(columns.chunks_exact(*steps))
                .for_each(|(out, column)| *out += dot(column, row));
        }
        Ok(())
    }

    #[inline]
    fn of(x: f64) -> f64 {
        x
    }

    #[inline]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    fn numbers(tensor: &Tensor) -> Result<List<f64>, Failure> {
        tensor.floats()
    }

    fn tensor(elem: ElemType, dims: &[usize], numbers: &[f64]) -> Result<Tensor, Failure> {
        Tensor::of_floats(elem, dims, numbers)
    }
}

/// The dot product, in eight partial sums for vectorization.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, a_rest) = a.as_chunks::<8>();
    let (b8, b_rest) = b.as_chunks::<8>();
    for (a, b) in a8.iter().zip(b8) {
        for i in 0..8 {
            sums[i] += a[i] * b[i];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}
