//! Registers: strips of lanes of one class.

use onnx_ir::ElemType;

/// The class of a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Class {
    /// Floats of at most 32 bits.
    Single,
    Double,
    /// Integers and booleans, as signed 64-bit integers.
    Int,
}

impl Class {
    /// The class for elements of a type; `None` if they are not numbers.
    pub(crate) fn of(elem: ElemType) -> Option<Class> {
        use ElemType as E;
        Some(match elem {
            E::DOUBLE => Class::Double,
            E::STRING | E::COMPLEX64 | E::COMPLEX128 => return None,
            E::BOOL | E::INT2 | E::INT4 | E::UINT2 | E::UINT4 => Class::Int,
            _ if elem.is_integer() => Class::Int,
            _ if elem.name().is_some() => Class::Single,
            _ => return None,
        })
    }
}

/// A register: a strip of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Reg {
    pub(crate) class: Class,
    /// The index in its class.
    pub(crate) at: usize,
}
