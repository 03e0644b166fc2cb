//! Known elements of small tensors: computed shapes, axes, sizes.
//!
//! Inference follows such values through `Shape`, `Gather`, arithmetic and other operators, so that a following `Reshape`
//! knows its target. Elements may be symbolic.

use crate::dims::Dim;
use onnx_formula::Number;
use onnx_ir::{ElemType, Tensor};
use smallvec::{SmallVec, smallvec};

/// One element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Elem {
    /// Unknown.
    Unknown,
    /// An integer, or a boolean as 0 or 1. For floating-point elements, one that is certainly an integer.
    Int(Dim),
    /// A floating-point number.
    Float(f64),
    /// A floating-point number that is a dimension divided by a number greater than 1: `Cast(H) * 0.5`.
    Quotient(Dim, i64),
}

impl Elem {
    /// The integer or boolean; unknown for floats.
    pub fn int(self) -> Dim {
        match self {
            Elem::Int(dim) => dim,
            Elem::Unknown | Elem::Float(_) | Elem::Quotient(..) => Dim::Unknown,
        }
    }

    /// The number as a float, if it is known.
    pub fn number(self) -> Option<f64> {
        match self {
            Elem::Int(Dim::Const(n)) => Some(n as f64),
            Elem::Float(x) => Some(x),
            Elem::Unknown | Elem::Int(_) | Elem::Quotient(..) => None,
        }
    }

    /// Whether the element is unknown.
    pub fn is_unknown(self) -> bool {
        matches!(self, Elem::Unknown | Elem::Int(Dim::Unknown))
    }
}

/// Whether [`Elem::Float`] can represent floating-point elements of a type.
pub(crate) fn is_float(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16)
}

impl From<Dim> for Elem {
    fn from(dim: Dim) -> Self {
        Elem::Int(dim)
    }
}

/// A short list of integers.
pub type Ints = SmallVec<[i64; 8]>;

/// A short list of elements.
pub type Elems = SmallVec<[Elem; 4]>;

/// The elements of a tensor, in row-major order, at most [`SmallTensor::MAX_ELEMENTS`].
#[derive(Clone, PartialEq, Debug)]
pub struct SmallTensor {
    /// The dimensions.
    pub dims: SmallVec<[usize; 2]>,
    /// The elements.
    pub elems: Elems,
}

impl SmallTensor {
    /// Larger tensors are not shapes.
    pub const MAX_ELEMENTS: usize = 1024;

    /// Larger stored floats are weights.
    const MAX_FLOATS: usize = 64;

    /// A tensor of rank 0.
    pub fn scalar(elem: impl Into<Elem>) -> SmallTensor {
        SmallTensor { dims: SmallVec::new(), elems: smallvec![elem.into()] }
    }

    /// A tensor of rank 1.
    pub fn list(elems: impl IntoIterator<Item = impl Into<Elem>>) -> SmallTensor {
        let elems: Elems = elems.into_iter().map(Into::into).collect();
        SmallTensor { dims: SmallVec::from_slice(&[elems.len()]), elems }
    }

    /// A tensor of these dimensions; `None` if the number of elements does not match or is too large, or none is known.
    pub fn new(dims: impl IntoIterator<Item = usize>, elems: Elems) -> Option<SmallTensor> {
        let dims: SmallVec<[usize; 2]> = dims.into_iter().collect();
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
        let is_known = elems.is_empty() || elems.iter().any(|e| !e.is_unknown());
        (count == elems.len() && count <= Self::MAX_ELEMENTS && is_known)
            .then_some(SmallTensor { dims, elems })
    }

    /// A tensor of these dimensions with the elements that `elem` returns for each position, in row-major order; `None` if
    /// there are too many, or none is known.
    pub fn from_fn(
        dims: impl IntoIterator<Item = usize>,
        mut elem: impl FnMut(&[usize]) -> Elem,
    ) -> Option<SmallTensor> {
        let dims: SmallVec<[usize; 2]> = dims.into_iter().collect();
        let count =
            dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)).filter(|&n| n <= Self::MAX_ELEMENTS)?;
        let mut at: SmallVec<[usize; 4]> = SmallVec::from_elem(0, dims.len());
        let mut elems = Elems::with_capacity(count);
        for _ in 0..count {
            elems.push(elem(&at));
            for (i, d) in at.iter_mut().zip(&dims).rev() {
                *i += 1;
                if *i < *d {
                    break;
                }
                *i = 0;
            }
        }
        SmallTensor::new(dims, elems)
    }

    /// The elements as dimensions; unknown ones are [`Dim::Unknown`].
    pub fn as_dims(&self) -> impl ExactSizeIterator<Item = Dim> + '_ {
        self.elems.iter().map(|e| e.int())
    }

    /// The elements, if all are known integers.
    pub fn ints(&self) -> Option<Ints> {
        self.elems
            .iter()
            .map(|e| match e {
                Elem::Int(Dim::Const(n)) => Some(*n),
                Elem::Unknown | Elem::Int(_) | Elem::Float(_) | Elem::Quotient(..) => None,
            })
            .collect()
    }

    /// The elements, if all are known numbers.
    pub fn numbers(&self) -> Option<Vec<f64>> {
        self.elems.iter().map(|e| e.number()).collect()
    }

    /// The only element.
    pub fn single(&self) -> Option<Elem> {
        match self.elems[..] {
            [elem] => Some(elem),
            _ => None,
        }
    }

    /// The element at a position of a shape that this tensor broadcasts to.
    pub fn broadcast_at(&self, at: &[usize]) -> Option<Elem> {
        let at = &at[at.len().checked_sub(self.dims.len())?..];
        let mut offset = 0;
        for (&i, &d) in at.iter().zip(&self.dims) {
            offset = offset * d + if d == 1 { 0 } else { i };
        }
        self.elems.get(offset).copied()
    }

    /// The elements of a stored tensor, if it is small, numeric, valid and not external.
    pub fn of_tensor(tensor: &Tensor) -> Option<SmallTensor> {
        let count = usize::try_from(tensor.element_count()?).ok().filter(|&n| n <= Self::MAX_ELEMENTS)?;
        let dims: SmallVec<[usize; 2]> =
            tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect::<Option<_>>()?;
        if tensor.is_external() {
            return None;
        }
        let elem = tensor.elem?;
        if is_float(elem) && count > Self::MAX_FLOATS {
            return None;
        }
        if count == 0 {
            return (elem != ElemType::STRING).then_some(SmallTensor { dims, elems: Elems::new() });
        }
        if !(elem.is_integer() || elem == ElemType::BOOL || is_float(elem)) {
            return None;
        }
        let read = |bits: u64| match Number::from_bits(elem, bits) {
            Some(Number::Int(n)) => i64::try_from(n).map_or(Elem::Unknown, whole),
            Some(Number::Float(x)) => Elem::Float(x),
            None => Elem::Unknown,
        };
        let elems: Elems = tensor.bits().ok()?.map(read).collect();
        Some(SmallTensor { dims, elems })
    }
}

fn whole(n: i64) -> Elem {
    Elem::Int(Dim::Const(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::Payload;

    #[test]
    fn positions_come_in_row_major_order() {
        let mut seen = Vec::new();
        let value = SmallTensor::from_fn([2, 2], |at| {
            seen.push(at.to_vec());
            whole(1)
        });
        assert_eq!(seen, [vec![0, 0], vec![0, 1], vec![1, 0], vec![1, 1]]);
        assert_eq!(value.and_then(|v| v.ints()), Some(Ints::from_slice(&[1; 4])));
        assert_eq!(SmallTensor::from_fn([usize::MAX, 2], |_| whole(1)), None);
        assert_eq!(SmallTensor::from_fn([3, 0], |_| whole(1)).map(|v| v.elems.len()), Some(0));
    }

    #[test]
    fn stored_tensors_are_read_from_any_field() {
        let mut tensor = Tensor { elem: Some(ElemType::INT64), ..Tensor::default() };
        tensor.dims = SmallVec::from_slice(&[2]);
        tensor.data.push(Payload::int64s(vec![3, -1]));
        assert_eq!(SmallTensor::of_tensor(&tensor).and_then(|v| v.ints()), Some(Ints::from_slice(&[3, -1])));
        tensor.elem = Some(ElemType::BOOL);
        assert_eq!(SmallTensor::of_tensor(&tensor), None);
        tensor.data[0] = Payload::int32s(vec![1, 0]);
        assert_eq!(SmallTensor::of_tensor(&tensor).and_then(|v| v.ints()), Some(Ints::from_slice(&[1, 0])));
        tensor.dims = SmallVec::from_slice(&[1 << 40]);
        assert_eq!(SmallTensor::of_tensor(&tensor), None);
    }
}
