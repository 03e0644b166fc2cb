//! The numbers that kernels compute with: double ones for doubles, single ones for all shorter floats.

use crate::failure::Failure;
use crate::tensor::Tensor;
use onnx_ir::ElemType;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Numbers of a size.
pub(super) trait Real:
    bytemuck::Pod
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Send
    + Sync
{
    /// The nearest to a number.
    fn of(x: f64) -> Self;

    /// The elements of a tensor of numbers.
    fn numbers(tensor: &Tensor) -> Result<Vec<Self>, Failure>;

    /// A tensor of numbers that are rounded to the element type.
    fn tensor(elem: ElemType, dims: &[usize], numbers: &[Self]) -> Result<Tensor, Failure>;
}

impl Real for f32 {
    fn of(x: f64) -> f32 {
        x as f32
    }

    fn numbers(tensor: &Tensor) -> Result<Vec<f32>, Failure> {
        match tensor.slice::<f32>() {
            Ok(numbers) => Ok(numbers.to_vec()),
            Err(_) => Ok(tensor.floats()?.into_iter().map(f32::of).collect()),
        }
    }

    fn tensor(elem: ElemType, dims: &[usize], numbers: &[f32]) -> Result<Tensor, Failure> {
        if elem == ElemType::FLOAT {
            return Tensor::of(dims, numbers);
        }
        let numbers: Vec<f64> = numbers.iter().map(|&x| x.into()).collect();
        Tensor::of_floats(elem, dims, &numbers)
    }
}

impl Real for f64 {
    fn of(x: f64) -> f64 {
        x
    }

    fn numbers(tensor: &Tensor) -> Result<Vec<f64>, Failure> {
        tensor.floats()
    }

    fn tensor(elem: ElemType, dims: &[usize], numbers: &[f64]) -> Result<Tensor, Failure> {
        Tensor::of_floats(elem, dims, numbers)
    }
}
