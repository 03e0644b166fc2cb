//! Values in files of their own: the inputs and outputs of test cases (`input_0.pb`).

use onnx_ir::{ElemType, Name, Tensor};
use smallvec::SmallVec;

/// A value as a file stores it, right or wrong.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// `TensorProto`
    Tensor(Tensor),
    /// `SparseTensorProto`
    SparseTensor(SparseData),
    /// `SequenceProto`
    Sequence(Sequence),
    /// `MapProto`
    Map(MapData),
    /// `OptionalProto`
    Optional(OptionalData),
}

/// A sparse tensor that belongs to no model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SparseData {
    /// The values that are stored, of rank 1.
    pub values: Option<Tensor>,
    /// INT64 indices of shape `[NNZ]` (linear) or `[NNZ, rank]`.
    pub indices: Option<Tensor>,
    /// The dense shape.
    pub dims: SmallVec<[i64; 4]>,
}

/// A sequence. In a sound one only the list that [`kind`](Self::kind) selects has entries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sequence {
    /// Its name.
    pub name: Option<Name>,
    /// `elem_type`: the kind of the elements, a [`DataKind`] by number.
    pub kind: Option<i32>,
    /// Elements of kind TENSOR.
    pub tensors: Vec<Tensor>,
    /// Elements of kind SPARSE_TENSOR.
    pub sparse_tensors: Vec<SparseData>,
    /// Elements of kind SEQUENCE.
    pub sequences: Vec<Sequence>,
    /// Elements of kind MAP.
    pub maps: Vec<MapData>,
    /// Elements of kind OPTIONAL.
    pub optionals: Vec<OptionalData>,
}

/// A map: keys, and as many values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MapData {
    /// Its name.
    pub name: Option<Name>,
    /// The type of the keys: an integer type or STRING.
    pub key: Option<ElemType>,
    /// Keys of an integer type.
    pub keys: Vec<i64>,
    /// Keys of type STRING.
    pub string_keys: Vec<bytes::Bytes>,
    /// The values.
    pub values: Option<Sequence>,
}

/// A value or none. In a sound one only the field that [`kind`](Self::kind) selects may be set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OptionalData {
    /// Its name.
    pub name: Option<Name>,
    /// `elem_type`: the kind of the value, a [`DataKind`] by number.
    pub kind: Option<i32>,
    /// A value of kind TENSOR.
    pub tensor: Option<Tensor>,
    /// A value of kind SPARSE_TENSOR.
    pub sparse_tensor: Option<SparseData>,
    /// A value of kind SEQUENCE.
    pub sequence: Option<Box<Sequence>>,
    /// A value of kind MAP.
    pub map: Option<Box<MapData>>,
    /// A value of kind OPTIONAL.
    pub optional: Option<Box<OptionalData>>,
}

/// `SequenceProto.DataType` and `OptionalProto.DataType`, which are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum DataKind {
    /// `TENSOR`
    Tensor = 1,
    /// `SPARSE_TENSOR`
    SparseTensor = 2,
    /// `SEQUENCE`
    Sequence = 3,
    /// `MAP`
    Map = 4,
    /// `OPTIONAL`
    Optional = 5,
}
