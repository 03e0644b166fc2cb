//! Formats of floats: the bits of each width, and rounding to them. For other crates of this project.
//!
//! Sources: IEEE 754, "FP8 Formats for Deep Learning" (e4m3fn, e5m2), "8-bit Numerical Formats for Deep Neural Networks"
//! (fnuz), the OCP Microscaling formats (e8m0, float6, float4).

use crate::ElemType;

/// The format of a float type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `double`
    Double,
    /// `float`
    Single,
    /// Sign, exponent, mantissa.
    Narrow {
        /// Bits of the exponent.
        exponent: u32,
        /// Bits of the mantissa.
        mantissa: u32,
        /// The exponent bias.
        bias: i32,
        /// Which bits are not finite numbers.
        special: Special,
    },
    /// `float8e8m0`: a power of two, without sign or zero.
    Power,
}

/// The encoding of infinities and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// The greatest exponent encodes infinities and NaN.
    Ieee,
    /// The greatest magnitude is NaN; infinities do not exist.
    Last,
    /// The bits of -0 are NaN; infinities do not exist.
    NegativeZero,
    /// All bits are numbers.
    Nothing,
}

/// The format of an element type; `None` for what is not a real float.
pub fn format(elem: ElemType) -> Option<Format> {
    use ElemType as E;
    let narrow =
        |exponent, mantissa, bias, special| Some(Format::Narrow { exponent, mantissa, bias, special });
    match elem {
        E::DOUBLE => Some(Format::Double),
        E::FLOAT => Some(Format::Single),
        E::FLOAT16 => narrow(5, 10, 15, Special::Ieee),
        E::BFLOAT16 => narrow(8, 7, 127, Special::Ieee),
        E::FLOAT8E4M3FN => narrow(4, 3, 7, Special::Last),
        E::FLOAT8E4M3FNUZ => narrow(4, 3, 8, Special::NegativeZero),
        E::FLOAT8E5M2 => narrow(5, 2, 15, Special::Ieee),
        E::FLOAT8E5M2FNUZ => narrow(5, 2, 16, Special::NegativeZero),
        E::FLOAT8E8M0 => Some(Format::Power),
        E::FLOAT6E2M3 => narrow(2, 3, 1, Special::Nothing),
        E::FLOAT6E3M2 => narrow(3, 2, 3, Special::Nothing),
        E::FLOAT4E2M1 => narrow(2, 1, 1, Special::Nothing),
        _ => None,
    }
}

/// 2 to the power of `n`, of those that a double has without denormals.
pub fn power(n: i32) -> f64 {
    f64::from_bits(((1023 + i64::from(n.clamp(-1022, 1023))) as u64) << 52)
}

/// The exponent of the leading bit of a finite number that is not 0.
pub fn exponent_of(x: f64) -> i32 {
    let bits = (x.abs().to_bits() >> 52) as i32;
    if bits == 0 { -1023 } else { bits - 1023 }
}

impl Format {
    /// The greatest finite number.
    pub fn max(self) -> f64 {
        match self {
            Format::Double => f64::MAX,
            Format::Single => f32::MAX.into(),
            Format::Power => power(127),
            Format::Narrow { exponent, mantissa, bias, special } => {
                let top = (1 << exponent) - 1 - bias;
                // In units of the last place of the greatest exponent.
                let units = (2 << mantissa) - 1;
                match special {
                    Special::Ieee => f64::from(units) * power(top - 1 - mantissa as i32),
                    Special::Last => f64::from(units - 1) * power(top - mantissa as i32),
                    Special::NegativeZero | Special::Nothing => {
                        f64::from(units) * power(top - mantissa as i32)
                    }
                }
            }
        }
    }

    /// The result of overflow: infinity, or the type's substitute.
    fn overflow(self, sign: f64) -> f64 {
        match self {
            Format::Double | Format::Single => f64::INFINITY.copysign(sign),
            Format::Power => f64::NAN,
            Format::Narrow { special, .. } => match special {
                Special::Ieee => f64::INFINITY.copysign(sign),
                Special::Last | Special::NegativeZero => f64::NAN.copysign(sign),
                Special::Nothing => self.max().copysign(sign),
            },
        }
    }

    /// The nearest number that the format has, of two that are as near the even one.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Format::Double => x,
            Format::Single => f64::from(x as f32),
            Format::Power => self.decode(self.encode(x)),
            Format::Narrow { special, .. } if x.is_nan() => match special {
                Special::Ieee | Special::Last | Special::NegativeZero => x,
                // The reference has a zero of the other sign in its place.
                Special::Nothing => 0.0f64.copysign(-1.0f64.copysign(x)),
            },
            Format::Narrow { .. } if x.is_infinite() => self.overflow(x),
            Format::Narrow { mantissa, bias, special, .. } => {
                let unit = power(exponent_of(x).max(1 - bias) - mantissa as i32);
                let rounded = (x / unit).round_ties_even() * unit;
                if rounded.abs() > self.max() {
                    self.overflow(x)
                } else if special == Special::NegativeZero {
                    // Without a negative zero.
                    rounded + 0.0
                } else {
                    rounded
                }
            }
        }
    }

    /// The bits of the number, which is rounded.
    pub fn encode(self, x: f64) -> u64 {
        match self {
            Format::Double => x.to_bits(),
            Format::Single => (x as f32).to_bits().into(),
            Format::Power => encode_power(x),
            Format::Narrow { exponent, mantissa, bias, special } => {
                let sign = u64::from(x.is_sign_negative()) << (exponent + mantissa);
                let x = self.round(x);
                let fraction = (1u64 << mantissa) - 1;
                let top = ((1u64 << exponent) - 1) << mantissa;
                if x.is_nan() {
                    return match special {
                        Special::Ieee => sign | top | (fraction + 1) >> 1,
                        Special::Last => sign | top | fraction,
                        Special::NegativeZero | Special::Nothing => 1 << (exponent + mantissa),
                    };
                }
                if x.is_infinite() {
                    return sign | top;
                }
                let sign = if x.is_sign_negative() { 1 << (exponent + mantissa) } else { 0 };
                let min = 1 - bias;
                let e = exponent_of(x).max(min);
                let units = (x.abs() / power(e - mantissa as i32)) as u64;
                // Numbers below the least exponent have no implicit leading bit, which the exponent field 1 stands for.
                let field = (e - min) as u64;
                sign | ((field << mantissa) + units)
            }
        }
    }

    /// The number that has these bits.
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Format::Double => f64::from_bits(bits),
            Format::Single => f32::from_bits(bits as u32).into(),
            Format::Power => match bits & 0xff {
                0xff => f64::NAN,
                n => power(n as i32 - 127),
            },
            Format::Narrow { exponent, mantissa, bias, special } => {
                let is_negative = bits >> (exponent + mantissa) & 1 != 0;
                let field = (bits >> mantissa & ((1 << exponent) - 1)) as i32;
                let fraction = bits & ((1 << mantissa) - 1);
                let is_top = field == (1 << exponent) - 1;
                let sign = |x: f64| if is_negative { -x } else { x };
                let magnitude = match special {
                    Special::Ieee if is_top && fraction == 0 => f64::INFINITY,
                    Special::Ieee if is_top => f64::NAN,
                    Special::Last if is_top && fraction == (1 << mantissa) - 1 => f64::NAN,
                    Special::NegativeZero if is_negative && field == 0 && fraction == 0 => f64::NAN,
                    Special::Ieee | Special::Last | Special::NegativeZero | Special::Nothing => {
                        let units = if field == 0 { fraction } else { fraction + (1 << mantissa) };
                        units as f64 * power(field.max(1) - bias - mantissa as i32)
                    }
                };
                sign(magnitude)
            }
        }
    }
}

/// The exponent of a float, rounded to nearest by its fraction; 255 is NaN.
fn encode_power(x: f64) -> u64 {
    let bits = (x as f32).to_bits();
    let (exponent, fraction) = (u64::from(bits >> 23 & 0xff), bits & 0x7f_ffff);
    let half = 0x40_0000;
    let goes_up = fraction > half || fraction == half && exponent > 0;
    exponent + u64::from(goes_up && exponent != 0xff)
}
