//! Tensors as models store them: shape, element type, and a payload that remembers which field held it.
//!
//! Payloads are [`Bytes`]: a slice of the mapped file, or a buffer. Invalid tensors (two payloads, too few entries) are
//! represented as they are; [`Tensor::view`] reads the elements of a valid one.

mod view;

#[cfg(feature = "verify")]
pub(crate) use view::first_out_of_range;
pub use view::{Bits, TensorElement, TensorError};

use crate::ids::TensorId;
use crate::names::Name;
use crate::types::{ElemType, Field};
use bytes::Bytes;
use smallvec::SmallVec;

/// A key with a value, as in `metadata_props` and `external_data`. Both fields may be absent in a broken model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Entry {
    /// The key.
    pub key: Option<Name>,
    /// The value.
    pub value: Option<Name>,
}

/// Stored elements.
#[derive(Clone, PartialEq, Debug)]
pub enum Payload {
    /// A numeric field: its entries one after the other, little-endian, each of [`Field::entry_size`] bytes.
    Entries {
        /// The field of the entries; never [`Field::String`].
        field: Field,
        /// The entries.
        bytes: Bytes,
    },
    /// `string_data`; should be UTF-8.
    Strings(Vec<Bytes>),
}

impl Payload {
    /// The field that stores it.
    pub fn field(&self) -> Field {
        match self {
            Payload::Entries { field, .. } => *field,
            Payload::Strings(_) => Field::String,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Payload::Entries { field, bytes } => bytes.len() / field.entry_size().max(1),
            Payload::Strings(strings) => strings.len(),
        }
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! typed_payload {
    ($($name:ident, $field:ident, $ty:ty;)*) => {
        impl Payload {
            $(
                #[doc = concat!("Entries of the field that holds `", stringify!($ty), "`, without a copy on little-endian machines.")]
                pub fn $name(entries: Vec<$ty>) -> Payload {
                    let bytes = if cfg!(target_endian = "little") {
                        Bytes::from_owner(Owned(entries))
                    } else {
                        entries.iter().flat_map(|e| e.to_le_bytes()).collect()
                    };
                    Payload::Entries { field: Field::$field, bytes }
                }
            )*
        }
    };
}

/// A number buffer seen as bytes.
struct Owned<T>(Vec<T>);
impl<T: bytemuck::NoUninit> AsRef<[u8]> for Owned<T> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

typed_payload! {
    floats, Float, f32;
    int32s, Int32, i32;
    int64s, Int64, i64;
    doubles, Double, f64;
    uint64s, Uint64, u64;
}

/// `TensorProto.DataLocation` as a number, because files may contain any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DataLocation(pub i32);

impl DataLocation {
    /// The payload is in the tensor.
    pub const DEFAULT: DataLocation = DataLocation(0);
    /// The payload is in the file that [`Tensor::external`] names.
    pub const EXTERNAL: DataLocation = DataLocation(1);
}

/// A chunk of a larger tensor (`TensorProto.Segment`); no reader assembles them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// First element.
    pub begin: Option<i64>,
    /// One past the last element.
    pub end: Option<i64>,
}

/// A tensor as stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Tensor {
    /// Its name; an initializer's is the name of its value.
    pub name: Option<Name>,
    /// The dimensions, outermost first; a broken model may have negative ones.
    pub dims: SmallVec<[i64; 4]>,
    /// `data_type`.
    pub elem: Option<ElemType>,
    /// The value fields that are set: one in a valid tensor with elements, none in an empty or external one. In the order of the
    /// field numbers.
    pub data: SmallVec<[Payload; 1]>,
    /// Everything that few tensors have.
    pub extra: Option<Box<TensorExtra>>,
}

/// The rare parts of a [`Tensor`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TensorExtra {
    /// `data_location`, if it is set.
    pub location: Option<DataLocation>,
    /// `external_data`: location, offset, length, checksum.
    pub external: Vec<Entry>,
    /// `segment`.
    pub segment: Option<Segment>,
    /// `doc_string`.
    pub doc: Option<Name>,
    /// `metadata_props`.
    pub metadata: Vec<Entry>,
}

impl Tensor {
    /// The rare parts, read-only.
    pub fn extra(&self) -> &TensorExtra {
        static NONE: TensorExtra = TensorExtra {
            location: None,
            external: Vec::new(),
            segment: None,
            doc: None,
            metadata: Vec::new(),
        };
        self.extra.as_deref().unwrap_or(&NONE)
    }

    /// The rare parts, made when missing.
    pub fn extra_mut(&mut self) -> &mut TensorExtra {
        self.extra.get_or_insert_default()
    }

    /// Whether the elements are in another file.
    pub fn is_external(&self) -> bool {
        self.extra().location == Some(DataLocation::EXTERNAL)
    }

    /// The number of elements that the shape asks for; `None` with a negative dimension or beyond 64 bits.
    pub fn element_count(&self) -> Option<u64> {
        self.dims.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::try_from(d).ok()?))
    }

    /// The value of an `external_data` key.
    pub fn external(&self, names: &crate::Names, key: &str) -> Option<Name> {
        self.extra().external.iter().find(|e| e.key.is_some_and(|k| &names[k] == key)).and_then(|e| e.value)
    }
}

/// A sparse tensor as stored: values, their indices, and the dense shape.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SparseTensor {
    /// The values that are stored, of rank 1. Its name is the name of the sparse tensor.
    pub values: Option<TensorId>,
    /// INT64 indices of shape `[NNZ]` (linear) or `[NNZ, rank]`.
    pub indices: Option<TensorId>,
    /// The dense shape.
    pub dims: SmallVec<[i64; 4]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_payloads_are_little_endian_entries() {
        let p = Payload::int64s(vec![1, -1]);
        let Payload::Entries { field, bytes } = &p else { panic!("numbers are entries") };
        assert_eq!((*field, p.len()), (Field::Int64, 2));
        assert_eq!(bytes[..8], 1i64.to_le_bytes());
    }

    #[test]
    fn element_counts_do_not_overflow() {
        let mut t = Tensor { dims: SmallVec::from_slice(&[1 << 62, 1 << 62]), ..Tensor::default() };
        assert_eq!(t.element_count(), None);
        t.dims = SmallVec::from_slice(&[2, 3]);
        assert_eq!(t.element_count(), Some(6));
        t.dims.clear();
        assert_eq!(t.element_count(), Some(1));
    }
}
