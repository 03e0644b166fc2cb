//! Values in separate files: the inputs and outputs of test cases (`input_0.pb`).
//!
//! They do not belong to a model: tensors are stored inline, and names refer to an accompanying [`Names`](crate::Names). In text
//! (see `grammar/values.md`):
//!
//! ```text
//! map(int64) scores = {
//!     keys = [1, 2],
//!     values = seq(tensor) [float {0.25}, float {0.75}]
//! }
//! ```

use crate::names::Name;
use crate::tensor::Tensor;
use crate::types::ElemType;
use bytes::Bytes;
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

/// A sequence. In a valid one only the list that [`kind`](Self::kind) selects has entries.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sequence {
    /// Its name.
    pub name: Option<Name>,
    /// `elem_type`: the kind of the elements.
    pub kind: Option<DataKind>,
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
    pub string_keys: Vec<Bytes>,
    /// The values.
    pub values: Option<Sequence>,
}

/// An optional value. In a valid one only the field that [`kind`](Self::kind) selects may be set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OptionalData {
    /// Its name.
    pub name: Option<Name>,
    /// `elem_type`: the kind of the value.
    pub kind: Option<DataKind>,
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

/// `SequenceProto.DataType` and `OptionalProto.DataType`, which are equal, as a number, because files may contain any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct DataKind(pub i32);

impl DataKind {
    /// `UNDEFINED`: allowed for an optional without a value.
    pub const UNDEFINED: DataKind = DataKind(0);
    /// `TENSOR`
    pub const TENSOR: DataKind = DataKind(1);
    /// `SPARSE_TENSOR`
    pub const SPARSE_TENSOR: DataKind = DataKind(2);
    /// `SEQUENCE`
    pub const SEQUENCE: DataKind = DataKind(3);
    /// `MAP`
    pub const MAP: DataKind = DataKind(4);
    /// `OPTIONAL`
    pub const OPTIONAL: DataKind = DataKind(5);
    /// The kinds that something can have.
    pub const ALL: [DataKind; 5] =
        [DataKind::TENSOR, DataKind::SPARSE_TENSOR, DataKind::SEQUENCE, DataKind::MAP, DataKind::OPTIONAL];

    /// The name in ONNX text, if the number is known.
    pub const fn name(self) -> Option<&'static str> {
        match self.0 {
            1 => Some("tensor"),
            2 => Some("sparse_tensor"),
            3 => Some("seq"),
            4 => Some("map"),
            5 => Some("optional"),
            _ => None,
        }
    }

    /// The kind of this name in ONNX text.
    pub fn from_name(name: &str) -> Option<DataKind> {
        DataKind::ALL.into_iter().find(|kind| kind.name() == Some(name))
    }
}

/// A borrowed value: of a [`Data`], or an element of a sequence or optional.
#[derive(Clone, Copy, Debug)]
pub enum DataRef<'a> {
    /// A tensor.
    Tensor(&'a Tensor),
    /// A sparse tensor.
    SparseTensor(&'a SparseData),
    /// A sequence.
    Sequence(&'a Sequence),
    /// A map.
    Map(&'a MapData),
    /// An optional.
    Optional(&'a OptionalData),
}

impl<'a> DataRef<'a> {
    /// Its kind.
    pub fn kind(self) -> DataKind {
        match self {
            DataRef::Tensor(_) => DataKind::TENSOR,
            DataRef::SparseTensor(_) => DataKind::SPARSE_TENSOR,
            DataRef::Sequence(_) => DataKind::SEQUENCE,
            DataRef::Map(_) => DataKind::MAP,
            DataRef::Optional(_) => DataKind::OPTIONAL,
        }
    }

    /// Calls `look` for every dense tensor in it, in order.
    pub fn tensors(self, look: &mut dyn FnMut(&'a Tensor)) {
        match self {
            DataRef::Tensor(tensor) => look(tensor),
            DataRef::SparseTensor(sparse) => sparse.values.iter().chain(&sparse.indices).for_each(look),
            DataRef::Sequence(sequence) => sequence.elements().for_each(|element| element.tensors(look)),
            DataRef::Map(map) => map.values.iter().for_each(|values| DataRef::Sequence(values).tensors(look)),
            DataRef::Optional(optional) => optional.content().for_each(|element| element.tensors(look)),
        }
    }
}

impl Data {
    /// A reference to the value, as an element of a sequence would be.
    pub fn data_ref(&self) -> DataRef<'_> {
        match self {
            Data::Tensor(tensor) => DataRef::Tensor(tensor),
            Data::SparseTensor(tensor) => DataRef::SparseTensor(tensor),
            Data::Sequence(sequence) => DataRef::Sequence(sequence),
            Data::Map(map) => DataRef::Map(map),
            Data::Optional(optional) => DataRef::Optional(optional),
        }
    }

    /// Its own name.
    pub fn name(&self) -> Option<Name> {
        match self {
            Data::Tensor(tensor) => tensor.name,
            Data::SparseTensor(tensor) => tensor.values.as_ref().and_then(|values| values.name),
            Data::Sequence(sequence) => sequence.name,
            Data::Map(map) => map.name,
            Data::Optional(optional) => optional.name,
        }
    }
}

impl Sequence {
    /// All entries of all lists, in the order of the fields.
    pub fn elements(&self) -> impl Iterator<Item = DataRef<'_>> {
        let tensors = self.tensors.iter().map(DataRef::Tensor);
        let sparse = self.sparse_tensors.iter().map(DataRef::SparseTensor);
        let sequences = self.sequences.iter().map(DataRef::Sequence);
        let maps = self.maps.iter().map(DataRef::Map);
        tensors.chain(sparse).chain(sequences).chain(maps).chain(self.optionals.iter().map(DataRef::Optional))
    }

    /// Adds an element to the list of its kind.
    pub fn push(&mut self, element: Data) {
        match element {
            Data::Tensor(tensor) => self.tensors.push(tensor),
            Data::SparseTensor(tensor) => self.sparse_tensors.push(tensor),
            Data::Sequence(sequence) => self.sequences.push(sequence),
            Data::Map(map) => self.maps.push(map),
            Data::Optional(optional) => self.optionals.push(optional),
        }
    }
}

impl OptionalData {
    /// The fields that are set, in order: at most one in a valid optional.
    pub fn content(&self) -> impl Iterator<Item = DataRef<'_>> {
        let tensor = self.tensor.iter().map(DataRef::Tensor);
        let sparse = self.sparse_tensor.iter().map(DataRef::SparseTensor);
        let sequence = self.sequence.iter().map(|sequence| DataRef::Sequence(sequence));
        let map = self.map.iter().map(|map| DataRef::Map(map));
        let optional = self.optional.iter().map(|optional| DataRef::Optional(optional));
        tensor.chain(sparse).chain(sequence).chain(map).chain(optional)
    }

    /// Sets the field of the value's kind. `false`: it is set already, and stays as it is.
    #[must_use]
    pub fn set(&mut self, value: Data) -> bool {
        fn put<T>(slot: &mut Option<T>, value: T) -> bool {
            let is_free = slot.is_none();
            slot.get_or_insert(value);
            is_free
        }
        match value {
            Data::Tensor(tensor) => put(&mut self.tensor, tensor),
            Data::SparseTensor(tensor) => put(&mut self.sparse_tensor, tensor),
            Data::Sequence(sequence) => put(&mut self.sequence, Box::new(sequence)),
            Data::Map(map) => put(&mut self.map, Box::new(map)),
            Data::Optional(optional) => put(&mut self.optional, Box::new(optional)),
        }
    }
}
