//! What cells do with numbers: with single ones by micro-kernels and in wide registers, with double ones plainly.

use super::dot;
use crate::failure::Failure;
use crate::kernels::contributed::through_bytes;
use crate::kernels::real::Real;
use crate::loops::{Matrix, math};

/// Numbers that states and gates are made of.
pub(super) trait Number: Real {
    /// A matrix that rows are multiplied by.
    type Matrix: Send + Sync;

    /// The matrix that has these numbers, `steps` after `steps`, as its columns.
    fn matrix(columns: &[Self], steps: usize) -> Result<Self::Matrix, Failure>;

    /// Adds to each row of `out` the product of a row of `rows` with a matrix.
    fn add_products(matrix: &Self::Matrix, rows: &[Self], out: &mut [Self]) -> Result<(), Failure>;

    /// What numbers become that are quantized by their own range to 8 bits, and back.
    fn through_bytes(numbers: &mut [Self]);

    fn exp<const FUSED: bool>(self) -> Self;
    fn exp_m1<const FUSED: bool>(self) -> Self;
    fn ln_1p<const FUSED: bool>(self) -> Self;
    fn tanh<const FUSED: bool>(self) -> Self;
}

impl Number for f32 {
    type Matrix = Matrix;

    fn matrix(columns: &[f32], steps: usize) -> Result<Matrix, Failure> {
        Matrix::of_columns(columns, steps)
    }

    fn add_products(matrix: &Matrix, rows: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        matrix.add_products(rows, out)
    }

    fn through_bytes(numbers: &mut [f32]) {
        through_bytes(numbers, |x| x as f32);
    }

    #[inline(always)]
    fn exp<const FUSED: bool>(self) -> f32 {
        math::exp::<FUSED>(self)
    }

    #[inline(always)]
    fn exp_m1<const FUSED: bool>(self) -> f32 {
        math::exp_m1::<FUSED>(self)
    }

    #[inline(always)]
    fn ln_1p<const FUSED: bool>(self) -> f32 {
        math::ln_1p::<FUSED>(self)
    }

    #[inline(always)]
    fn tanh<const FUSED: bool>(self) -> f32 {
        math::tanh::<FUSED>(self)
    }
}

impl Number for f64 {
    /// Its columns, and how many steps each has.
    type Matrix = (Vec<f64>, usize);

    fn matrix(columns: &[f64], steps: usize) -> Result<(Vec<f64>, usize), Failure> {
        Ok((columns.to_vec(), steps))
    }

    fn add_products(
        (columns, steps): &(Vec<f64>, usize),
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

    fn through_bytes(numbers: &mut [f64]) {
        through_bytes(numbers, |x| x);
    }

    fn exp<const FUSED: bool>(self) -> f64 {
        f64::exp(self)
    }

    fn exp_m1<const FUSED: bool>(self) -> f64 {
        f64::exp_m1(self)
    }

    fn ln_1p<const FUSED: bool>(self) -> f64 {
        f64::ln_1p(self)
    }

    fn tanh<const FUSED: bool>(self) -> f64 {
        f64::tanh(self)
    }
}
