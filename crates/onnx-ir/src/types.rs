//! Types of values: element types, shapes, and the kinds around them.
//!
//! A type is represented as the model states it, valid or not: an element type may be unset or unknown, a shape absent (unknown
//! rank), a sequence without element type. Types are interned in [`Types`], so equal types have equal ids.

use crate::entity::PrimaryMap;
use crate::ids::TypeId;
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// `TensorProto.DataType` as a number, because files may contain any.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ElemType(pub i32);

/// A value field of `TensorProto`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Field {
    /// `raw_data`: the elements' own bytes, little-endian, sub-byte types packed.
    Raw,
    /// `float_data`: entries of 4 bytes.
    Float,
    /// `int32_data`: entries of 4 bytes, for all narrow types.
    Int32,
    /// `int64_data`: entries of 8 bytes.
    Int64,
    /// `double_data`: entries of 8 bytes.
    Double,
    /// `uint64_data`: entries of 8 bytes.
    Uint64,
    /// `string_data`.
    String,
}

impl Field {
    /// Name of the field in the .proto.
    pub fn name(self) -> &'static str {
        match self {
            Field::Raw => "raw_data",
            Field::Float => "float_data",
            Field::Int32 => "int32_data",
            Field::Int64 => "int64_data",
            Field::Double => "double_data",
            Field::Uint64 => "uint64_data",
            Field::String => "string_data",
        }
    }

    /// Bytes of one entry in a [`Payload::Entries`](crate::Payload::Entries); 0 for strings.
    pub fn entry_size(self) -> usize {
        match self {
            Field::Raw => 1,
            Field::Float | Field::Int32 => 4,
            Field::Int64 | Field::Double | Field::Uint64 => 8,
            Field::String => 0,
        }
    }
}

/// One row for each element type that has a name in the text.
struct ElemRow {
    name: &'static str,
    bits: u32,
    field: Field,
}

macro_rules! elem_types {
    ($($konst:ident = $number:literal, $name:literal, $bits:literal, $field:ident;)*) => {
        /// The numbers of `TensorProto.DataType`.
        impl ElemType {
            $(#[doc = concat!("`", $name, "`")] pub const $konst: ElemType = ElemType($number);)*
            /// Every element type that a value can have, in the order of the text's documentation.
            pub const ALL: &[ElemType] = &[$(ElemType::$konst),*];
            const fn row(self) -> Option<&'static ElemRow> {
                match self.0 {
                    $($number => Some(&const { ElemRow { name: $name, bits: $bits, field: Field::$field } }),)*
                    _ => None,
                }
            }
            /// The element type of this name in ONNX text.
            pub fn from_name(name: &str) -> Option<ElemType> {
                Some(match name { $($name => ElemType($number),)* _ => return None })
            }
        }
    };
}

// onnx.proto, TensorProto.DataType; its comments name the field for each type.
elem_types! {
    FLOAT = 1, "float", 32, Float;
    UINT8 = 2, "uint8", 8, Int32;
    INT8 = 3, "int8", 8, Int32;
    UINT16 = 4, "uint16", 16, Int32;
    INT16 = 5, "int16", 16, Int32;
    INT32 = 6, "int32", 32, Int32;
    INT64 = 7, "int64", 64, Int64;
    STRING = 8, "string", 0, String;
    BOOL = 9, "bool", 8, Int32;
    FLOAT16 = 10, "float16", 16, Int32;
    DOUBLE = 11, "double", 64, Double;
    UINT32 = 12, "uint32", 32, Uint64;
    UINT64 = 13, "uint64", 64, Uint64;
    COMPLEX64 = 14, "complex64", 64, Float;
    COMPLEX128 = 15, "complex128", 128, Double;
    BFLOAT16 = 16, "bfloat16", 16, Int32;
    FLOAT8E4M3FN = 17, "float8e4m3fn", 8, Int32;
    FLOAT8E4M3FNUZ = 18, "float8e4m3fnuz", 8, Int32;
    FLOAT8E5M2 = 19, "float8e5m2", 8, Int32;
    FLOAT8E5M2FNUZ = 20, "float8e5m2fnuz", 8, Int32;
    UINT4 = 21, "uint4", 4, Int32;
    INT4 = 22, "int4", 4, Int32;
    FLOAT4E2M1 = 23, "float4e2m1", 4, Int32;
    FLOAT8E8M0 = 24, "float8e8m0", 8, Int32;
    UINT2 = 25, "uint2", 2, Int32;
    INT2 = 26, "int2", 2, Int32;
    FLOAT6E2M3 = 27, "float6e2m3", 6, Int32;
    FLOAT6E3M2 = 28, "float6e3m2", 6, Int32;
}

impl ElemType {
    /// `UNDEFINED`, which no value may have.
    pub const UNDEFINED: ElemType = ElemType(0);

    /// The name in ONNX text, if the number is known.
    pub const fn name(self) -> Option<&'static str> {
        match self.row() {
            Some(row) => Some(row.name),
            None => None,
        }
    }

    /// Bits of one element in `raw_data`; `None` for strings and unknown types.
    pub fn bits(self) -> Option<u32> {
        self.row().map(|r| r.bits).filter(|&b| b > 0)
    }

    /// The typed field of `TensorProto` that stores this type.
    pub fn field(self) -> Option<Field> {
        self.row().map(|r| r.field)
    }

    /// Bytes that `count` elements take in `raw_data`: sub-byte types are packed, the last byte padded with zeros.
    /// `None` for strings, unknown types, and sizes beyond 64 bits.
    pub fn raw_size(self, count: u64) -> Option<u64> {
        Some(count.checked_mul(u64::from(self.bits()?))?.div_ceil(8))
    }

    /// Whether a type of this name is an integer type (map keys may be).
    pub fn is_integer(self) -> bool {
        use ElemType as E;
        matches!(
            self,
            E::INT8 | E::INT16 | E::INT32 | E::INT64 | E::UINT8 | E::UINT16 | E::UINT32 | E::UINT64
        )
    }
}

/// One dimension of a shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Dim {
    /// The size.
    pub value: DimValue,
    /// The meaning of the axis (`DATA_BATCH`, `DATA_CHANNEL` …).
    pub denotation: Option<Name>,
}

/// The size of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DimValue {
    /// Neither number nor symbol: `?`.
    Unknown,
    /// A number, which a broken model may have negative.
    Value(i64),
    /// A symbol, equal wherever it occurs in the model.
    Param(Name),
}

impl From<DimValue> for Dim {
    fn from(value: DimValue) -> Self {
        Dim { value, denotation: None }
    }
}

/// Element type and shape. `shape: None` is unknown rank, `Some([])` a scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TensorType {
    /// The element type, if it is set.
    pub elem: Option<ElemType>,
    /// The dimensions, outermost first.
    pub shape: Option<Vec<Dim>>,
}

/// The kind of a type with its parts (each may be missing in an invalid model).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TypeKind {
    /// A TypeProto without a value.
    Unset,
    /// `float[2,N]`
    Tensor(TensorType),
    /// `sparse_tensor(float[2,N])`
    SparseTensor(TensorType),
    /// `seq(T)`
    Sequence(Option<TypeId>),
    /// `optional(T)`
    Optional(Option<TypeId>),
    /// `map(K, T)`
    Map {
        /// Type of the keys.
        key: Option<ElemType>,
        /// Type of the values.
        value: Option<TypeId>,
    },
    /// `opaque(domain, name)`
    Opaque {
        /// The domain that defines the type.
        domain: Option<Name>,
        /// Its name there.
        name: Option<Name>,
    },
}

/// A type with its denotation (`IMAGE`, `TEXT` …).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The kind.
    pub kind: TypeKind,
    /// The denotation of the value.
    pub denotation: Option<Name>,
}

impl From<TypeKind> for Type {
    fn from(kind: TypeKind) -> Self {
        Type { kind, denotation: None }
    }
}

/// The types of a model, each stored once.
#[derive(Clone, Default)]
pub struct Types {
    types: PrimaryMap<TypeId, Type>,
    table: HashTable<TypeId>,
    hasher: RandomState,
}

impl Types {
    /// The id of `ty`, new or existing.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        let hash = self.hasher.hash_one(&ty);
        if let Some(&id) = self.table.find(hash, |&id| self.types[id] == ty) {
            return id;
        }
        let id = self.types.push(ty);
        let (types, hasher) = (&self.types, &self.hasher);
        self.table.insert_unique(hash, id, |&id| hasher.hash_one(&types[id]));
        id
    }

    /// The type of a tensor.
    pub fn tensor(&mut self, elem: ElemType, dims: impl IntoIterator<Item = DimValue>) -> TypeId {
        let shape = Some(dims.into_iter().map(Dim::from).collect());
        self.intern(TypeKind::Tensor(TensorType { elem: Some(elem), shape }).into())
    }

    /// The id at a position, in the order in which types were added, if there is one.
    pub fn id_at(&self, index: usize) -> Option<TypeId> {
        self.types.id_at(index)
    }

    /// The number of different types.
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

impl std::ops::Index<TypeId> for Types {
    type Output = Type;
    fn index(&self, id: TypeId) -> &Type {
        &self.types[id]
    }
}

impl std::fmt::Debug for Types {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.types.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_agree() {
        for &e in ElemType::ALL {
            assert_eq!(e.name().and_then(ElemType::from_name), Some(e));
        }
        assert_eq!((ElemType(99).name(), ElemType::UNDEFINED.name()), (None, None));
    }

    #[test]
    fn sub_byte_elements_are_packed() {
        assert_eq!(ElemType::INT4.raw_size(3), Some(2));
        assert_eq!(ElemType::FLOAT6E2M3.raw_size(3), Some(3));
        assert_eq!(ElemType::FLOAT.raw_size(u64::MAX), None);
        assert_eq!(ElemType::STRING.raw_size(1), None);
    }

    #[test]
    fn equal_types_are_one_id() {
        let mut types = Types::default();
        let a = types.tensor(ElemType::FLOAT, [DimValue::Value(2)]);
        assert_eq!(types.tensor(ElemType::FLOAT, [DimValue::Value(2)]), a);
        assert_ne!(types.tensor(ElemType::FLOAT, [DimValue::Unknown]), a);
    }
}
