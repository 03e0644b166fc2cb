//! Single elements, and the bits that they are stored as.

use super::float::{self, Format};
use onnx_ir::ElemType;

/// An element: integers and booleans exactly, floats of any width as one that holds them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer, or a boolean as 0 or 1.
    Int(i128),
    /// A float.
    Float(f64),
}

/// What kind of number the elements of a type are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Bool,
    /// So many bits, and whether one of them is for the sign.
    Int(u32, bool),
    Float(Format),
}

impl Kind {
    /// `None` for strings, complex numbers, and types that is unknown.
    pub(crate) fn of(elem: ElemType) -> Option<Kind> {
        use ElemType as E;
        Some(match elem {
            E::BOOL => Kind::Bool,
            E::INT2 => Kind::Int(2, true),
            E::INT4 => Kind::Int(4, true),
            E::INT8 => Kind::Int(8, true),
            E::INT16 => Kind::Int(16, true),
            E::INT32 => Kind::Int(32, true),
            E::INT64 => Kind::Int(64, true),
            E::UINT2 => Kind::Int(2, false),
            E::UINT4 => Kind::Int(4, false),
            E::UINT8 => Kind::Int(8, false),
            E::UINT16 => Kind::Int(16, false),
            E::UINT32 => Kind::Int(32, false),
            E::UINT64 => Kind::Int(64, false),
            _ => Kind::Float(float::format(elem)?),
        })
    }
}

/// Whether the type's elements are floats.
pub(crate) fn is_float(elem: ElemType) -> bool {
    matches!(Kind::of(elem), Some(Kind::Float(_)))
}

impl Number {
    /// The element that has these bits, of which the lowest count; `None` if the type's elements are no numbers.
    pub fn from_bits(elem: ElemType, bits: u64) -> Option<Number> {
        Some(match Kind::of(elem)? {
            Kind::Bool => Number::Int(i128::from(bits & 0xff != 0)),
            Kind::Int(width, is_signed) => Number::Int(wrap(bits.into(), width, is_signed)),
            Kind::Float(format) => Number::Float(format.decode(bits)),
        })
    }

    /// The bits of the number as an element of a type, which it is [wrapped](Self::wrap) to.
    pub fn to_bits(self, elem: ElemType) -> Option<u64> {
        Some(match (Kind::of(elem)?, self.wrap(elem)) {
            (Kind::Bool, Number::Int(n)) => u64::from(n != 0),
            (Kind::Bool, Number::Float(x)) => u64::from(x != 0.0),
            (Kind::Int(width, _), Number::Int(n)) => n as u64 & (u64::MAX >> (64 - width)),
            (Kind::Int(width, _), Number::Float(x)) => x as i128 as u64 & (u64::MAX >> (64 - width)),
            (Kind::Float(format), Number::Int(n)) => format.encode(n as f64),
            (Kind::Float(format), Number::Float(x)) => format.encode(x),
        })
    }

    /// The number as an element of a type that it is computed in: integers wrap around, floats are rounded to nearest, ties
    /// to even, and what is too great is infinite or what the type has instead.
    pub fn wrap(self, elem: ElemType) -> Number {
        match (self, Kind::of(elem)) {
            (Number::Int(n), Some(Kind::Int(width, is_signed))) => Number::Int(wrap(n, width, is_signed)),
            (Number::Float(x), Some(Kind::Float(format))) => Number::Float(format.round(x)),
            (Number::Int(_) | Number::Float(_), _) => self,
        }
    }

    /// The number as a float.
    pub fn as_float(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) => x,
        }
    }

    /// Whether it counts as true.
    pub fn is_true(self) -> bool {
        match self {
            Number::Int(n) => n != 0,
            Number::Float(x) => x != 0.0,
        }
    }
}

fn wrap(n: i128, width: u32, is_signed: bool) -> i128 {
    let shift = 128 - width;
    if is_signed { n << shift >> shift } else { ((n as u128) << shift >> shift) as i128 }
}
