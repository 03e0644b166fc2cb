//! Conversion of elements to another type.

use crate::float::{self, Format, Rounding, Special};
use crate::{Kind, Mode, Number};
use onnx_ir::ElemType;

/// A conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cast {
    /// The target type.
    pub to: ElemType,
    /// Whether numbers too large for an 8-bit float become the greatest finite one.
    pub saturates: bool,
    /// The rounding to `float8e8m0`.
    pub rounding: Rounding,
}

impl From<ElemType> for Cast {
    /// Rounding to nearest without saturation.
    fn from(to: ElemType) -> Cast {
        Cast { to, saturates: false, rounding: Rounding::Nearest }
    }
}

impl Cast {
    /// A conversion with attributes, if the type uses them.
    pub fn new(to: ElemType, saturates: bool, rounding: Rounding) -> Cast {
        let is_power = to == ElemType::FLOAT8E8M0;
        let is_byte = is_power
            || [
                ElemType::FLOAT8E4M3FN,
                ElemType::FLOAT8E4M3FNUZ,
                ElemType::FLOAT8E5M2,
                ElemType::FLOAT8E5M2FNUZ,
            ]
            .contains(&to);
        let rounding = if is_power { rounding } else { Rounding::Nearest };
        Cast { to, saturates: saturates && is_byte, rounding }
    }

    /// Converts a number as the reference evaluator does; `None` if the type is not numeric.
    pub fn of(self, from: Number) -> Option<Number> {
        self.apply(from, Mode::Reference)
    }

    /// Converts a number.
    pub fn apply(self, from: Number, mode: Mode) -> Option<Number> {
        let kind = Kind::of(self.to)?;
        if mode == Mode::Portable {
            return self.portable(from, kind);
        }
        Some(match (from, kind) {
            (_, Kind::Bool) => Number::Int(i128::from(from.is_true())),
            (Number::Int(_), Kind::Int(..)) => from.wrap(self.to),
            (Number::Float(x), Kind::Int(width, is_signed)) => {
                Number::Int(to_int(x, width, is_signed)).wrap(self.to)
            }
            // Rounded once, as the hardware does.
            (Number::Int(n), Kind::Float(Format::Single)) => Number::Float(f64::from(n as f32)),
            (Number::Int(n), Kind::Float(format)) => Number::Float(self.to_float(n as f64, format)),
            (Number::Float(x), Kind::Float(format)) => Number::Float(self.to_float(x, format)),
        })
    }

    fn to_float(self, x: f64, format: Format) -> f64 {
        match format {
            Format::Double | Format::Single => format.round(x),
            Format::Power => float::cast_to_power(x, self.rounding, self.saturates),
            Format::Narrow { mantissa, special, .. } => {
                let is_byte = mantissa <= 3 && special != Special::Nothing;
                if self.saturates && is_byte {
                    format.round(if x.is_nan() { x } else { x.clamp(-format.max(), format.max()) })
                } else {
                    format.round(x)
                }
            }
        }
    }

    /// The result that all runtimes have in common.
    fn portable(self, from: Number, kind: Kind) -> Option<Number> {
        let is_common = |format: Format| match format {
            Format::Double | Format::Single => true,
            Format::Narrow { mantissa, special, .. } => mantissa > 3 && special == Special::Ieee,
            Format::Power => false,
        };
        match (from, kind) {
            (_, Kind::Bool) => Some(Number::Int(i128::from(from.is_true()))),
            (Number::Int(n), Kind::Float(format)) => {
                // Rounded once, if the integer is exact as a double.
                let is_exact =
                    n.unsigned_abs() < 1 << 53 || matches!(format, Format::Double | Format::Single);
                (is_common(format) && is_exact).then(|| self.apply(from, Mode::Reference)).flatten()
            }
            (Number::Int(_), Kind::Int(..)) => Some(from.wrap(self.to)),
            (Number::Float(x), Kind::Float(format)) => {
                is_common(format).then(|| Number::Float(format.round(x)))
            }
            (Number::Float(x), Kind::Int(..)) => {
                let whole = (x.is_finite() && x.abs() < 1e30).then(|| Number::Int(x.trunc() as i128))?;
                (whole.wrap(self.to) == whole).then_some(whole)
            }
        }
    }
}

/// The conversion of x86-64 to a register, whose low bits are the result for narrower types: 32 bits for all but the widest
/// types. Out-of-range numbers become the least number of the register.
fn to_int(x: f64, width: u32, is_signed: bool) -> i128 {
    let register = |x: f64, bits: u32| {
        let least = -(1i128 << (bits - 1));
        let whole = if x.abs() < 1e30 { x.trunc() as i128 } else { i128::MAX };
        if (least..-least).contains(&whole) { whole } else { least }
    };
    match (width, is_signed) {
        (..32, _) | (32, true) => register(x, 32),
        (32, false) | (_, true) => register(x, 64),
        (_, false) => {
            let half = (1u64 << 63) as f64;
            if x >= half { register(x - half, 64) + (1 << 63) } else { register(x, 64) }
        }
    }
}
