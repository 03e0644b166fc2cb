//! Single elements and their bit patterns.

use crate::float::{self, Format};
use onnx_ir::ElemType;

/// An element: integers and booleans exactly, floats of any width as doubles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer, or a boolean as 0 or 1.
    Int(i128),
    /// A float.
    Float(f64),
}

/// The behaviour in edge cases of arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Only results that are equal bit for bit everywhere; no result for a division by zero, a conversion out of range, NaN, and
    /// a choice between two zeros.
    Portable,
    /// The results of the reference evaluator on x86-64; integer division by 0 and its remainder are 0.
    Reference,
}

/// The kind of numbers of an element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// True or false.
    Bool,
    /// The number of bits, and whether it is signed.
    Int(u32, bool),
    /// The format.
    Float(Format),
}

impl Kind {
    /// The kind of a type; `None` for strings, complex numbers, and unknown types.
    pub fn of(elem: ElemType) -> Option<Kind> {
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
pub fn is_float(elem: ElemType) -> bool {
    matches!(Kind::of(elem), Some(Kind::Float(_)))
}

/// The type in which functions of possibly integer elements are computed.
pub fn wide_float(elem: ElemType) -> ElemType {
    let is_single = is_float(elem) && elem != ElemType::DOUBLE;
    if is_single { ElemType::FLOAT } else { ElemType::DOUBLE }
}

/// The type in which floats are summed: at least single precision.
pub fn wide(elem: ElemType) -> ElemType {
    let is_narrow = is_float(elem) && elem != ElemType::DOUBLE;
    if is_narrow { ElemType::FLOAT } else { elem }
}

impl Number {
    /// Decodes the low bits as an element; `None` if the type is not numeric.
    pub fn from_bits(elem: ElemType, bits: u64) -> Option<Number> {
        Some(match Kind::of(elem)? {
            Kind::Bool => Number::Int(i128::from(bits & 0xff != 0)),
            Kind::Int(width, is_signed) => Number::Int(wrap(bits.into(), width, is_signed)),
            Kind::Float(format) => Number::Float(format.decode(bits)),
        })
    }

    /// Encodes the number as an element of a type, after [wrapping](Self::wrap) it.
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

    /// Rounds the number to a type: integers wrap around, floats are rounded to nearest with ties to even, and overflow becomes
    /// infinity or the type's substitute.
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

    /// Whether it is true as a condition.
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
