//! Declarations and types of values.

use super::fields::{Fields, RawValue};
use super::read_pass::ReadPass;
use onnx_ir::{Dim, DimValue, ElemType, Entry, Names, Port, TensorType, Type, TypeId, TypeKind, Types};
use smallvec::SmallVec;

// The alternatives of `TypeProto`.
const TENSOR: u32 = 1;
const SEQUENCE: u32 = 4;
const MAP: u32 = 5;
const OPAQUE: u32 = 7;
const SPARSE_TENSOR: u32 = 8;
const OPTIONAL: u32 = 9;

/// A `StringStringEntryProto`.
pub(super) fn entry(encoded: &[u8], names: &mut Names, pass: &mut ReadPass) -> Entry {
    let mut entry = Entry { key: None, value: None };
    for field in Fields::new(encoded) {
        match field {
            (1, RawValue::Bytes(key)) => entry.key = Some(names.intern_bytes(key)),
            (2, RawValue::Bytes(value)) => entry.value = Some(names.intern_bytes(value)),
            _ => pass.unusual(),
        }
    }
    entry
}

/// The occurrences of a singular message field, which are usually one.
type Pieces<'a> = SmallVec<[&'a [u8]; 1]>;

/// Calls a reader with the message that has these pieces.
fn with_joined<T>(pieces: &[&[u8]], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match pieces {
        [] => None,
        [whole] => Some(read(whole)),
        pieces => Some(read(&pieces.concat())),
    }
}

/// Reads types into a model.
pub(super) struct TypeReader<'r> {
    pub(super) names: &'r mut Names,
    pub(super) types: &'r mut Types,
    pub(super) pass: &'r mut ReadPass,
}

impl TypeReader<'_> {
    /// A `ValueInfoProto`.
    pub(super) fn port(&mut self, encoded: &[u8]) -> Port {
        let (mut port, mut ty) = (Port::default(), Pieces::new());
        for field in Fields::new(encoded) {
            match field {
                (1, RawValue::Bytes(name)) => port.name = Some(self.names.intern_bytes(name)),
                (2, RawValue::Bytes(bytes)) => ty.push(bytes),
                (3, RawValue::Bytes(doc)) => port.doc = Some(self.names.intern_bytes(doc)),
                (4, RawValue::Bytes(bytes)) => port.metadata.push(entry(bytes, self.names, self.pass)),
                _ => self.pass.unusual(),
            }
        }
        port.ty = with_joined(&ty, |ty| self.ty(ty));
        port
    }

    /// A `TypeProto`.
    pub(super) fn ty(&mut self, encoded: &[u8]) -> TypeId {
        let (mut denotation, mut alternative, mut pieces) = (None, 0, Pieces::new());
        for field in Fields::new(encoded) {
            match field {
                (6, RawValue::Bytes(bytes)) => denotation = Some(self.names.intern_bytes(bytes)),
                (
                    number @ (TENSOR | SEQUENCE | MAP | OPAQUE | SPARSE_TENSOR | OPTIONAL),
                    RawValue::Bytes(bytes),
                ) if [0, number].contains(&alternative) => {
                    alternative = number;
                    pieces.push(bytes);
                }
                _ => self.pass.unusual(),
            }
        }
        let kind = with_joined(&pieces, |encoded| match alternative {
            SPARSE_TENSOR => TypeKind::SparseTensor(self.tensor_type(encoded)),
            SEQUENCE => TypeKind::Sequence(self.element(encoded, 1).1),
            OPTIONAL => TypeKind::Optional(self.element(encoded, 1).1),
            MAP => {
                let (key, value) = self.element(encoded, 2);
                TypeKind::Map { key, value }
            }
            OPAQUE => {
                let Entry { key: domain, value: name } = entry(encoded, self.names, self.pass);
                TypeKind::Opaque { domain, name }
            }
            _ => TypeKind::Tensor(self.tensor_type(encoded)),
        });
        self.types.intern(Type { kind: kind.unwrap_or(TypeKind::Unset), denotation })
    }

    /// The type of elements, in the field with this number, and the type of keys before it.
    fn element(&mut self, encoded: &[u8], number: u32) -> (Option<ElemType>, Option<TypeId>) {
        let (mut key, mut pieces) = (None, Pieces::new());
        for field in Fields::new(encoded) {
            match field {
                (field, RawValue::Bytes(bytes)) if field == number => pieces.push(bytes),
                (1, RawValue::Number(ty)) if number > 1 => key = Some(ElemType(ty as i32)),
                _ => self.pass.unusual(),
            }
        }
        let element = match self.pass.enter() {
            true => with_joined(&pieces, |ty| self.ty(ty)),
            false => None,
        };
        self.pass.leave();
        (key, element)
    }

    /// A `TypeProto.Tensor` or `TypeProto.SparseTensor`.
    fn tensor_type(&mut self, encoded: &[u8]) -> TensorType {
        let mut ty = TensorType { elem: None, shape: None };
        for field in Fields::new(encoded) {
            match field {
                (1, RawValue::Number(elem)) => ty.elem = Some(ElemType(elem as i32)),
                // Pieces of a shape are those of its list.
                (2, RawValue::Bytes(shape)) => {
                    let dims = Fields::new(shape).filter_map(|field| self.dim(field));
                    match &mut ty.shape {
                        Some(shape) => shape.extend(dims),
                        None => ty.shape = Some(dims.collect()),
                    }
                }
                _ => self.pass.unusual(),
            }
        }
        ty
    }

    /// A field of `TensorShapeProto`: a dimension.
    fn dim(&mut self, field: (u32, RawValue<'_>)) -> Option<Dim> {
        let (1, RawValue::Bytes(encoded)) = field else {
            self.pass.unusual();
            return None;
        };
        let mut dim = Dim { value: DimValue::Unknown, denotation: None };
        for field in Fields::new(encoded) {
            match (field, &dim.value) {
                ((1, RawValue::Number(value)), DimValue::Unknown | DimValue::Value(_)) => {
                    dim.value = DimValue::Value(value as i64);
                }
                ((2, RawValue::Bytes(param)), DimValue::Unknown | DimValue::Param(_)) => {
                    dim.value = DimValue::Param(self.names.intern_bytes(param));
                }
                ((3, RawValue::Bytes(bytes)), _) => dim.denotation = Some(self.names.intern_bytes(bytes)),
                _ => self.pass.unusual(),
            }
        }
        Some(dim)
    }
}
