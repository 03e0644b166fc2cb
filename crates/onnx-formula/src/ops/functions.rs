//! Functions that the standard library lacks or computes imprecisely.

/// Functions of floats.
pub trait Real: Copy {
    /// The inverse hyperbolic sine; the one of the standard library overflows.
    #[must_use]
    fn precise_asinh(self) -> Self;
    /// The inverse hyperbolic cosine, NaN below 1.
    #[must_use]
    fn precise_acosh(self) -> Self;
    /// The inverse hyperbolic tangent, with all digits near ±1.
    #[must_use]
    fn precise_atanh(self) -> Self;
    /// The error function.
    #[must_use]
    fn erf(self) -> Self;
}

macro_rules! reals {
    ($($ty:ident $asinh:ident $acosh:ident $atanh:ident $erf:ident;)*) => {
        $(impl Real for $ty {
            #[inline(always)]
            fn precise_asinh(self) -> $ty {
                libm::$asinh(self)
            }

            #[inline(always)]
            fn precise_acosh(self) -> $ty {
                // The library yields numbers below -2, where the function is undefined.
                if self < 1.0 { $ty::NAN } else { libm::$acosh(self) }
            }

            #[inline(always)]
            fn precise_atanh(self) -> $ty {
                libm::$atanh(self)
            }

            #[inline(always)]
            fn erf(self) -> $ty {
                libm::$erf(self)
            }
        })*
    };
}

reals! {
    f32 asinhf acoshf atanhf erff;
    f64 asinh acosh atanh erf;
}

/// Functions of integers.
pub trait Whole: Copy {
    /// A power, wrapping around; a negative exponent yields the truncated fraction.
    #[must_use]
    fn power(self, exponent: Self) -> Self;
}

macro_rules! wholes {
    ($($ty:ident)*) => {
        $(impl Whole for $ty {
            #[inline]
            fn power(self, exponent: $ty) -> $ty {
                if exponent < 0 {
                    return match self {
                        1 => 1,
                        -1 if exponent % 2 == 0 => 1,
                        -1 => -1,
                        _ => 0,
                    };
                }
                let (mut result, mut square, mut left): ($ty, $ty, $ty) = (1, self, exponent);
                while left > 0 {
                    if left & 1 == 1 {
                        result = result.wrapping_mul(square);
                    }
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                result
            }
        })*
    };
}

wholes! { i64 i128 }
