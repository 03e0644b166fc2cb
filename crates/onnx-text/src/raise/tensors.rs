//! Tensors of a raised tree.

use super::{Profile, Raiser};
use crate::ast::{Data, Element, FieldValue, List, Notes, Scalar, Stored, TensorLiteral, Type, ValueInfo};
use crate::lower::{Storage, keys};
use crate::narrow::Narrow;
use crate::print::ENDS;
use bytes::Bytes;
use onnx_ir::{BodyId, DataLocation, DimValue, ElemType, Field, Name, Payload, Tensor, TensorId};

/// Where a text has the name of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// Before the data, always: an initializer.
    Always,
    /// In the literal, if it has one: a tensor of an attribute.
    Optional,
}

impl<'m> Raiser<'m> {
    /// A tensor of a body.
    pub(super) fn tensor_of(&self, body: BodyId, id: TensorId) -> &'m Tensor {
        &self.model.bodies[body].tensors[id]
    }

    /// An initializer with its annotations.
    pub(super) fn initializer(&mut self, tensor: &Tensor) -> ValueInfo {
        let notes = self.notes_of(tensor, Naming::Always);
        let start = self.out.here();
        let ty = self.tensor_head(tensor);
        let name = self.name(tensor.name.unwrap_or(Name::empty()));
        let data = self.data(tensor);
        ValueInfo { notes, ty: Some(ty), name, data: Some(data), span: self.out.since(start) }
    }

    /// `float[2] name {1, 2}`; `known` is a name that the text has stated already.
    pub(super) fn tensor_literal(&mut self, tensor: &Tensor, known: Option<Name>) -> TensorLiteral {
        let start = self.out.here();
        let ty = self.tensor_head(tensor);
        let name = tensor.name.filter(|n| known.is_none() && !n.is_empty());
        let name = name.map(|n| self.identifier(n, "the name of a tensor"));
        let data = self.data(tensor);
        TensorLiteral { ty, name, data, span: self.out.since(start) }
    }

    fn tensor_head(&mut self, tensor: &Tensor) -> Type {
        let has_word = tensor.elem.is_some_and(|e| e.name().is_some());
        let elem = if self.options.profile == Profile::Reference && !has_word {
            self.lose("the element type of a tensor, which has no name");
            self.out.put("float")
        } else {
            self.elem_type(tensor.elem)
        };
        let dims: Vec<_> = tensor.dims.iter().map(|&d| DimValue::Value(d)).collect();
        let dims = (!dims.is_empty()).then(|| self.dims(&dims));
        Type::Tensor { elem, dims }
    }

    fn data(&mut self, tensor: &Tensor) -> Data {
        let extra = tensor.extra();
        if tensor.is_external() && tensor.data.is_empty() {
            if extra.external.is_empty() && !self.extend(|| "an external tensor without entries".to_owned()) {
                return Data::Elements(self.empty_list("{", "}"));
            }
            let value = self.list_value(&extra.external, |this, entry| {
                let key = Some(this.external_text(entry.key));
                Element { key, value: this.external_text(entry.value) }
            });
            let FieldValue::List(list) = value else { unreachable!("a list value is a list") };
            return Data::External(list);
        }
        let location_is_plain = extra.location.is_none_or(|l| l == DataLocation::DEFAULT);
        if !extra.external.is_empty() || !location_is_plain || !is_plain(tensor) {
            return self.tensor_record(tensor);
        }
        match tensor.data.first() {
            Some(Payload::Strings(strings)) => {
                let open = self.out.put("{");
                let items = self.strings(strings);
                self.out.put("}");
                Data::Elements(List { items, span: self.out.since(open) })
            }
            Some(Payload::Entries { field, bytes }) if !bytes.is_empty() => {
                self.stored(tensor, *field, bytes)
            }
            Some(Payload::Entries { .. }) | None => Data::Elements(self.empty_list("{", "}")),
        }
    }

    /// The elements of a tensor of strings, as many as are to be shown.
    fn strings(&mut self, strings: &[Bytes]) -> Vec<Scalar> {
        if self.options.summarize.is_some_and(|max| strings.len() > max.max(2 * ENDS)) {
            let (first, last) = (&strings[..ENDS], &strings[strings.len() - ENDS..]);
            let mut items = self.scalars(first.iter(), strings.len(), ENDS, |this, s| this.string(s));
            items.extend(self.scalars(last.iter(), ENDS, ENDS, |this, s| this.string(s)));
            return items;
        }
        let shown = self.options.elide.unwrap_or(usize::MAX);
        self.scalars(strings.iter(), strings.len(), shown, |this, s| this.string(s))
    }

    fn stored(&mut self, tensor: &Tensor, field: Field, bytes: &Bytes) -> Data {
        let elem = tensor.elem.unwrap_or(ElemType::UNDEFINED);
        // In single braces the reference would store elements of these one to an entry.
        let is_packed = matches!(elem.bits(), Some(2 | 4));
        if is_packed && !self.extend(|| format!("elements of type {}", elem.name().unwrap_or("?"))) {
            return Data::Elements(self.empty_list("{", "}"));
        }
        let count = tensor.element_count().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let is_for_reading = self.options.elide.is_some() || self.options.summarize.is_some();
        let is_narrow = Narrow::of(elem).is_some();
        let as_values =
            is_narrow && (is_packed || is_for_reading || self.options.profile == Profile::Extended);
        self.is_extended |= as_values;
        let ends_of = self.options.summarize.filter(|&max| count > max).and_then(|_| {
            let dims: Option<Box<[usize]>> = tensor.dims.iter().map(|&d| usize::try_from(d).ok()).collect();
            dims.filter(|dims| !dims.is_empty())
        });
        let at = self.out.here();
        Data::Stored(Box::new(Stored {
            elem,
            field,
            bytes: bytes.clone(),
            count,
            elide_after: self.options.elide,
            ends_of,
            as_values,
            at,
        }))
    }

    fn external_text(&mut self, name: Option<Name>) -> FieldValue {
        match name {
            // The reference reads these as it reads the header.
            Some(name) => FieldValue::String(self.quoted(name)),
            None if self.extend(|| "an entry without a key or value".to_owned()) => self.text_value(None),
            None => FieldValue::String(self.out.string("")),
        }
    }

    /// `{float_data: [1.0], raw_data: b"…"}`
    fn tensor_record(&mut self, tensor: &Tensor) -> Data {
        if self.options.profile == Profile::Reference {
            self.lose(format!(
                "the elements of tensor `{}`, whose fields do not fit",
                self.model.text(tensor.name)
            ));
            return Data::Elements(self.empty_list("{", "}"));
        }
        self.is_extended = true;
        let extra = tensor.extra();
        let value = self.record_value(|this| {
            let mut fields = Vec::new();
            for payload in &tensor.data {
                fields.push(this.field(payload.field().name(), |t| t.payload_value(payload)));
            }
            if !extra.external.is_empty() {
                fields.push(this.field("external_data", |t| t.entries_value(&extra.external)));
            }
            if let Some(location) = extra.location
                && location != DataLocation::DEFAULT
            {
                fields.push(this.field("data_location", |t| t.int_value(Some(location.0.into()))));
            }
            if fields.is_empty() {
                // A record needs at least one field; an absent and an empty list are equal.
                fields.push(this.field("external_data", |t| t.entries_value(&[])));
            }
            fields
        });
        let FieldValue::Record(record) = value else { unreachable!("a record value is a record") };
        Data::Record(record)
    }

    fn payload_value(&mut self, payload: &Payload) -> FieldValue {
        match payload {
            Payload::Strings(strings) => self.list_value(strings, |this, s| {
                let span = match std::str::from_utf8(s) {
                    Ok(text) => this.out.escaped(text),
                    Err(_) => this.out.bytes(s),
                };
                Element { key: None, value: FieldValue::String(span) }
            }),
            Payload::Entries { field: Field::Raw, bytes } => FieldValue::String(self.out.bytes(bytes)),
            Payload::Entries { field, bytes } => {
                let entries = bytes.chunks_exact(field.entry_size().max(1));
                self.list_value(entries, |this, entry| this.entry(*field, entry))
            }
        }
    }

    /// An entry of a typed field: a number, or `nan: bits` for a NaN other than `nan` and `-nan`.
    fn entry(&mut self, field: Field, entry: &[u8]) -> Element {
        let four = || entry.first_chunk::<4>().copied().unwrap_or_default();
        let eight = || entry.first_chunk::<8>().copied().unwrap_or_default();
        let odd = match field {
            Field::Float => Some(u32::from_le_bytes(four())).filter(|&b| is_odd_nan(b)).map(i64::from),
            Field::Double => {
                Some(u64::from_le_bytes(eight())).filter(|&b| is_odd_double_nan(b)).map(u64::cast_signed)
            }
            _ => None,
        };
        if odd.is_some() {
            let key = Some(FieldValue::Word(self.out.put("nan")));
            return Element { key, value: self.int_value(odd) };
        }
        let value = match field {
            Field::Float => FieldValue::Float(self.out.float(f32::from_le_bytes(four()))),
            Field::Double => FieldValue::Float(self.out.double(f64::from_le_bytes(eight()))),
            Field::Int32 => FieldValue::Int(self.out.int(i32::from_le_bytes(four()))),
            Field::Uint64 => FieldValue::Int(self.out.int(u64::from_le_bytes(eight()))),
            Field::Int64 | Field::Raw | Field::String => {
                FieldValue::Int(self.out.int(i64::from_le_bytes(eight())))
            }
        };
        Element { key: None, value }
    }

    /// Annotations of an element of a list of tensors.
    pub(super) fn tensor_notes(&mut self, tensor: &Tensor) -> Notes {
        self.notes_of(tensor, Naming::Optional)
    }

    fn notes_of(&mut self, tensor: &Tensor, naming: Naming) -> Notes {
        let mut notes = Notes::default();
        let (set, unset) = self.presence(tensor, naming);
        if let Some(storage) = self.storage_note(tensor) {
            self.note(&mut notes, keys::STORAGE, |t| FieldValue::Word(t.out.put(storage)));
        }
        if let Some(extra) = &tensor.extra {
            self.doc_note(&mut notes, extra.doc);
            self.metadata_note(&mut notes, &extra.metadata);
            if let Some(segment) = extra.segment {
                self.note(&mut notes, keys::SEGMENT, |t| t.segment_value(segment));
            }
        }
        let nans = self.odd_nans(tensor);
        self.nan_bits_note(&mut notes, &nans);
        self.words_note(&mut notes, keys::SET, &set);
        self.words_note(&mut notes, keys::UNSET, &unset);
        notes
    }

    /// `tensor: {…}` of an attribute.
    pub(super) fn attr_tensor_note(&mut self, notes: &mut Notes, tensor: &Tensor) {
        self.nested_note(notes, tensor, Naming::Optional);
    }

    /// Adds the notes of a tensor whose name is elsewhere in the text.
    pub(super) fn named_tensor_note(&mut self, notes: &mut Notes, tensor: &Tensor) {
        self.nested_note(notes, tensor, Naming::Always);
    }

    fn nested_note(&mut self, notes: &mut Notes, tensor: &Tensor, naming: Naming) {
        let (set, unset) = self.presence(tensor, naming);
        let storage = self.storage_note(tensor);
        let extra = tensor.extra();
        let doc = extra.doc.filter(|_| self.options.metadata);
        let has_metadata = !extra.metadata.is_empty() && self.options.metadata;
        let nans = self.odd_nans(tensor);
        let nothing = set.is_empty() && unset.is_empty() && storage.is_none() && doc.is_none();
        if nothing && !has_metadata && extra.segment.is_none() && nans.is_empty() {
            return;
        }
        self.note(notes, keys::TENSOR, |this| {
            this.record_value(|this| {
                let mut fields = Vec::new();
                if let Some(storage) = storage {
                    fields.push(this.field(keys::STORAGE, |t| FieldValue::Word(t.out.put(storage))));
                }
                if doc.is_some() {
                    fields.push(this.field(keys::DOC, |t| t.text_value(doc)));
                }
                if has_metadata {
                    fields.push(this.field(keys::METADATA, |t| t.entries_value(&extra.metadata)));
                }
                if let Some(segment) = extra.segment {
                    fields.push(this.field(keys::SEGMENT, |t| t.segment_value(segment)));
                }
                if !nans.is_empty() {
                    fields.push(this.field(keys::NAN, |t| t.nan_bits_value(&nans)));
                }
                if !set.is_empty() {
                    fields.push(this.words_field(keys::SET, &set));
                }
                if !unset.is_empty() {
                    fields.push(this.words_field(keys::UNSET, &unset));
                }
                fields
            })
        });
    }

    fn segment_value(&mut self, segment: onnx_ir::Segment) -> FieldValue {
        self.list_value([segment.begin, segment.end], |t, end| Element { key: None, value: t.int_value(end) })
    }

    pub(super) fn nan_bits_note(&mut self, notes: &mut Notes, nans: &[(i64, i64)]) {
        if !nans.is_empty() {
            self.note(notes, keys::NAN, |t| t.nan_bits_value(nans));
        }
    }

    fn nan_bits_value(&mut self, nans: &[(i64, i64)]) -> FieldValue {
        self.list_value(nans, |t, &(index, bits)| Element {
            key: Some(t.int_value(Some(index))),
            value: t.int_value(Some(bits)),
        })
    }

    /// Fields whose presence the text does not show.
    fn presence(&self, tensor: &Tensor, naming: Naming) -> (Vec<&'static str>, Vec<&'static str>) {
        let (mut set, mut unset) = (Vec::new(), Vec::new());
        if self.options.summarize.is_some() {
            return (set, unset);
        }
        match (naming, tensor.name) {
            (Naming::Always, None) => unset.push("name"),
            (Naming::Optional, None) if self.defaults.tensor_name_is_set => unset.push("name"),
            (Naming::Optional, Some(name)) if name.is_empty() && !self.defaults.tensor_name_is_set => {
                set.push("name")
            }
            _ => {}
        }
        if tensor.extra().location == Some(DataLocation::DEFAULT) {
            set.push("data_location");
        }
        let is_empty_raw =
            |p: &Payload| matches!(p, Payload::Entries { field: Field::Raw, bytes } if bytes.is_empty());
        if is_plain(tensor) && tensor.data.iter().any(is_empty_raw) {
            set.push("raw_data");
        }
        (set, unset)
    }

    /// The storage, if it is not the default of the file.
    fn storage_note(&self, tensor: &Tensor) -> Option<&'static str> {
        let [Payload::Entries { field, bytes }] = &tensor.data[..] else { return None };
        if bytes.is_empty() || !is_plain(tensor) || self.options.summarize.is_some() {
            return None;
        }
        match (field, self.defaults.storage) {
            (Field::Raw, Storage::Typed) => Some("raw"),
            (Field::Raw, Storage::Raw) | (_, Storage::Typed) => None,
            (_, Storage::Raw) => Some("typed"),
        }
    }

    /// The positions and bit patterns of NaNs other than `nan` and `-nan`.
    fn odd_nans(&self, tensor: &Tensor) -> Vec<(i64, i64)> {
        let Some(Payload::Entries { field, bytes }) = tensor.data.first() else { return Vec::new() };
        if self.options.elide.is_some() || self.options.summarize.is_some() {
            return Vec::new();
        }
        let odd: Vec<_> = match (field, tensor.elem) {
            (Field::Float, _) | (Field::Raw, Some(ElemType::FLOAT | ElemType::COMPLEX64)) => {
                let bits = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]));
                (0..).zip(bits).filter(|&(_, b)| is_odd_nan(b)).map(|(i, b)| (i, i64::from(b))).collect()
            }
            (Field::Double, _) | (Field::Raw, Some(ElemType::DOUBLE | ElemType::COMPLEX128)) => {
                let bits =
                    bytes.chunks_exact(8).filter_map(|c| c.first_chunk().map(|c| u64::from_le_bytes(*c)));
                let odd = (0..).zip(bits).filter(|&(_, b)| is_odd_double_nan(b));
                odd.map(|(i, b)| (i, b.cast_signed())).collect()
            }
            _ => Vec::new(),
        };
        // A record states its NaNs itself.
        if odd.is_empty() || is_plain(tensor) { odd } else { Vec::new() }
    }
}

/// Whether a NaN is not one of `nan` and `-nan`.
pub(super) fn is_odd_nan(bits: u32) -> bool {
    let magnitude = bits & (u32::MAX >> 1);
    magnitude > 0x7f80_0000 && magnitude != 0x7fc0_0000
}

fn is_odd_double_nan(bits: u64) -> bool {
    let magnitude = bits & (u64::MAX >> 1);
    magnitude > 0x7ff0 << 48 && magnitude != 0x7ff8 << 48
}

/// Whether a list of elements is a complete description: one payload of the right kind and length, with every entry in range.
fn is_plain(tensor: &Tensor) -> bool {
    let (Some(elem), Some(count)) = (tensor.elem, tensor.element_count()) else { return false };
    let [payload] = &tensor.data[..] else {
        return tensor.data.is_empty() && count == 0 && elem.name().is_some();
    };
    let Some(own) = elem.field() else { return false };
    let Payload::Entries { field, bytes } = payload else {
        return own == Field::String && u64::try_from(payload.len()) == Ok(count) && count > 0;
    };
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let bits = elem.bits().unwrap_or(0);
    if *field == Field::Raw {
        return elem.raw_size(count) == Some(length)
            && match (elem, bits) {
                (ElemType::BOOL, _) => bytes.iter().all(|&b| b < 2),
                (_, 2 | 4 | 6) => padding_is_zero(bytes, count * u64::from(bits)),
                _ => true,
            };
    }
    let entries = match (elem, bits) {
        (ElemType::COMPLEX64 | ElemType::COMPLEX128, _) => count.checked_mul(2),
        (_, 2 | 4) => Some(count.div_ceil(u64::from(8 / bits))),
        _ => Some(count),
    };
    if *field != own
        || count == 0
        || entries.and_then(|n| n.checked_mul(field.entry_size() as u64)) != Some(length)
    {
        return false;
    }
    let range = match (elem, bits) {
        (ElemType::INT8, _) => -128..=127,
        (ElemType::INT16, _) => -0x8000..=0x7fff,
        (ElemType::INT32, _) => return true,
        (ElemType::BOOL, _) => 0..=1,
        (_, 2 | 4 | 8) => 0..=255,
        (_, 6) => 0..=63,
        (_, 16) => 0..=0xffff,
        // `uint64_data` stores both widths.
        (ElemType::UINT32, _) => {
            return bytes.chunks_exact(8).all(|c| c[4..].iter().all(|&b| b == 0));
        }
        _ => return true,
    };
    let mut entries = bytes.chunks_exact(4).map(|c| i32::from_le_bytes([c[0], c[1], c[2], c[3]]));
    let used = count * u64::from(bits) % 8;
    let last_is_clean = bits >= 6 || used == 0 || entries.clone().next_back().is_none_or(|e| e >> used == 0);
    last_is_clean && entries.all(|e| range.contains(&e))
}

fn padding_is_zero(bytes: &[u8], bits: u64) -> bool {
    let used = bits % 8;
    used == 0 || bytes.last().is_none_or(|&b| b >> used == 0)
}
