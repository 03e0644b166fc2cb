//! Values in files of their own.

use super::Raiser;
use super::defaults::Defaults;
use crate::ast::{
    Content, Element, FieldValue, List, MapPart, MapPartValue, Notes, Value, ValueHead, ValueKind,
};
use crate::lower::Storage;
use onnx_ir::diag::Span;
use onnx_ir::{DataKind, DataRef, Field, MapData, Name, OptionalData, Payload, Sequence, SparseData};

impl Defaults {
    /// The conventions of a text with a value: those of the majority of its tensors. A single tensor states its storage itself.
    pub(super) fn of_value(value: DataRef<'_>) -> Self {
        let (mut raw, mut typed, mut named, mut unnamed) = (0, 0, 0, 0);
        value.tensors(&mut |tensor| {
            match tensor.data.first() {
                Some(Payload::Entries { field: Field::Raw, .. }) => raw += 1,
                Some(Payload::Entries { .. }) => typed += 1,
                Some(Payload::Strings(_)) | None => {}
            }
            match tensor.name {
                Some(name) if name.is_empty() => named += 1,
                Some(_) => {}
                None => unnamed += 1,
            }
        });
        if raw + unnamed == 0 {
            return Defaults::plain();
        }
        let is_alone = matches!(value, DataRef::Tensor(_));
        Defaults {
            is_annotated: true,
            storage: if raw > typed && !is_alone { Storage::Raw } else { Storage::Typed },
            domain_is_set: false,
            tensor_name_is_set: named > unnamed && !is_alone,
            ..Defaults::plain()
        }
    }
}

impl Raiser<'_> {
    /// A value with the annotations of its file.
    pub(super) fn value_file(&mut self, value: DataRef<'_>) -> Value {
        let notes = match value {
            DataRef::Tensor(_) => Notes::default(),
            DataRef::SparseTensor(_) | DataRef::Sequence(_) | DataRef::Map(_) | DataRef::Optional(_) => {
                self.conventions()
            }
        };
        let value = self.value(value);
        if notes.is_empty() { value } else { Value { notes, ..value } }
    }

    fn value(&mut self, value: DataRef<'_>) -> Value {
        let notes = match value {
            DataRef::Tensor(tensor) => self.tensor_notes(tensor),
            DataRef::SparseTensor(_) | DataRef::Sequence(_) | DataRef::Map(_) | DataRef::Optional(_) => {
                Notes::default()
            }
        };
        let start = self.out.here();
        let kind = match value {
            DataRef::Tensor(tensor) => ValueKind::Tensor(Box::new(self.tensor_literal(tensor, None))),
            DataRef::SparseTensor(SparseData { values, indices, dims }) => {
                let parts = [values.as_ref(), indices.as_ref()];
                ValueKind::Sparse(Box::new(self.sparse_literal(dims, parts)))
            }
            DataRef::Sequence(sequence) => self.sequence(sequence),
            DataRef::Map(map) => self.map(map),
            DataRef::Optional(optional) => self.optional(optional),
        };
        Value { notes, kind, span: self.out.since(start) }
    }

    fn sequence(&mut self, sequence: &Sequence) -> ValueKind {
        let head = self.head("seq", sequence.name, |t| t.data_kind(sequence.kind));
        ValueKind::Sequence(Box::new(head), self.held(sequence.elements()))
    }

    fn held<'v>(&mut self, values: impl Iterator<Item = DataRef<'v>>) -> List<Value> {
        let open = self.out.put("[");
        let mut items = Vec::new();
        for value in values {
            if self.notes_missed {
                break;
            }
            items.push(self.value(value));
        }
        self.out.put("]");
        List { items, span: self.out.since(open) }
    }

    fn map(&mut self, map: &MapData) -> ValueKind {
        let head = self.head("map", map.name, |t| map.key.map(|key| t.elem_type(Some(key))));
        let open = self.out.put("{");
        let mut items = Vec::new();
        if !map.keys.is_empty() {
            let key = self.out.put("keys");
            let keys = self.keys(&map.keys, |t, &key| FieldValue::Int(t.out.int(key)));
            items.push(MapPart { key, value: MapPartValue::Keys(keys) });
        }
        if !map.string_keys.is_empty() {
            let key = self.out.put("string_keys");
            let keys = self.keys(&map.string_keys, |t, key| FieldValue::String(t.string(key).span));
            items.push(MapPart { key, value: MapPartValue::Keys(keys) });
        }
        if let Some(values) = &map.values {
            let key = self.out.put("values");
            let value = MapPartValue::Values(Box::new(self.value(DataRef::Sequence(values))));
            items.push(MapPart { key, value });
        }
        self.out.put("}");
        ValueKind::Map(Box::new(head), List { items, span: self.out.since(open) })
    }

    fn keys<T>(&mut self, keys: &[T], mut key: impl FnMut(&mut Self, &T) -> FieldValue) -> List<Element> {
        let open = self.out.put("[");
        let items = keys.iter().map(|k| Element { key: None, value: key(self, k) }).collect();
        self.out.put("]");
        List { items, span: self.out.since(open) }
    }

    fn optional(&mut self, optional: &OptionalData) -> ValueKind {
        let head = self.head("optional", optional.name, |t| t.data_kind(optional.kind));
        let mut values = optional.content();
        let content = match (values.next(), values.next()) {
            (None, _) => Content::None(self.out.put("none")),
            (Some(value), None) => Content::One(Box::new(self.value(value))),
            (Some(_), Some(_)) => Content::Many(self.held(optional.content())),
        };
        ValueKind::Optional(Box::new(head), content)
    }

    /// `seq(tensor) name`
    fn head(
        &mut self,
        word: &str,
        name: Option<Name>,
        arg: impl FnOnce(&mut Self) -> Option<Span>,
    ) -> ValueHead {
        let word = self.out.put(word);
        let open = self.out.put("(");
        let arg = arg(self);
        self.out.put(")");
        let args = self.out.since(open);
        let name = name.map(|name| self.name(name));
        ValueHead { word, arg, args, name }
    }

    fn data_kind(&mut self, kind: Option<DataKind>) -> Option<Span> {
        let kind = kind?;
        Some(match kind.name() {
            Some(word) => self.out.put(word),
            None => self.out.int(kind.0),
        })
    }
}
