//! Arithmetic in the element type, for kernels that must not convert: sums of 64-bit integers, which wrap around.

use half::{bf16, f16};

/// Elements that are added, multiplied and compared in their own type.
pub(crate) trait Arithmetic: bytemuck::Pod {
    const ZERO: Self;
    const ONE: Self;
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The smaller one; NaN if one is NaN.
    fn least(self, other: Self) -> Self;
    /// The larger one; NaN if one is NaN.
    fn most(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($ty:ty)*) => {
        $(impl Arithmetic for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn least(self, other: Self) -> Self {
                self.min(other)
            }
            fn most(self, other: Self) -> Self {
                self.max(other)
            }
        })*
    };
}

macro_rules! floats {
    ($($ty:ty, $zero:expr, $one:expr;)*) => {
        $(impl Arithmetic for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn least(self, other: Self) -> Self {
                if self.is_nan() || self <= other { self } else { other }
            }
            fn most(self, other: Self) -> Self {
                if self.is_nan() || self >= other { self } else { other }
            }
        })*
    };
}

macro_rules! complexes {
    ($($ty:ty)*) => {
        $(
            /// Complex numbers, ordered by the real part, then by the imaginary part.
            impl Arithmetic for [$ty; 2] {
                const ZERO: Self = [0.0, 0.0];
                const ONE: Self = [1.0, 0.0];
                fn plus(self, other: Self) -> Self {
                    [self[0] + other[0], self[1] + other[1]]
                }
                fn times(self, other: Self) -> Self {
                    let [(a, b), (c, d)] = [(self[0], self[1]), (other[0], other[1])];
                    [a * c - b * d, a * d + b * c]
                }
                fn least(self, other: Self) -> Self {
                    if self <= other { self } else { other }
                }
                fn most(self, other: Self) -> Self {
                    if self >= other { self } else { other }
                }
            }
        )*
    };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }
floats! { f32, 0.0, 1.0; f64, 0.0, 1.0; f16, f16::ZERO, f16::ONE; bf16, bf16::ZERO, bf16::ONE; }
complexes! { f32 f64 }

/// Booleans: a sum is an or, a product an and.
impl Arithmetic for [u8; 1] {
    const ZERO: Self = [0];
    const ONE: Self = [1];
    fn plus(self, other: Self) -> Self {
        [self[0] | other[0]]
    }
    fn times(self, other: Self) -> Self {
        [self[0] & other[0]]
    }
    fn least(self, other: Self) -> Self {
        self.times(other)
    }
    fn most(self, other: Self) -> Self {
        self.plus(other)
    }
}

/// Calls a function that is generic over [`Arithmetic`] for an element type.
macro_rules! for_elements {
    ($elem:expr, $function:ident($($argument:expr),*)) => {{
        use onnx_ir::ElemType as E;
        match $elem {
            E::FLOAT => $function::<f32>($($argument),*),
            E::DOUBLE => $function::<f64>($($argument),*),
            E::FLOAT16 => $function::<half::f16>($($argument),*),
            E::BFLOAT16 => $function::<half::bf16>($($argument),*),
            E::INT8 => $function::<i8>($($argument),*),
            E::INT16 => $function::<i16>($($argument),*),
            E::INT32 => $function::<i32>($($argument),*),
            E::INT64 => $function::<i64>($($argument),*),
            E::UINT8 => $function::<u8>($($argument),*),
            E::UINT16 => $function::<u16>($($argument),*),
            E::UINT32 => $function::<u32>($($argument),*),
            E::UINT64 => $function::<u64>($($argument),*),
            E::BOOL => $function::<[u8; 1]>($($argument),*),
            E::COMPLEX64 => $function::<[f32; 2]>($($argument),*),
            E::COMPLEX128 => $function::<[f64; 2]>($($argument),*),
            other => fail!("there is no arithmetic of {}", other.name().unwrap_or("?")),
        }
    }};
}
pub(crate) use for_elements;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_no_number_stays() {
        assert_eq!(i64::MAX.plus(1), i64::MIN);
        assert!(f32::NAN.least(1.0).is_nan() && 1.0f32.least(f32::NAN).is_nan());
        assert!(f32::NAN.most(1.0).is_nan() && 1.0f32.most(f32::NAN).is_nan());
        assert_eq!([0.0f32, 1.0].times([0.0, 1.0]), [-1.0, 0.0]);
    }
}
