//! Tensors: elements from literals into the payload that a model would store.

use super::literals::{Escapes, Refused, float32, float64, int, special, unquote};
use super::notes::TensorNotes;
use super::numbers::{BadNumber, Why, read_list};
use super::{Cx, Fields, Storage, int_at};
use crate::ast::{self, Data, FieldValue, Notes, Scalar, ScalarKind};
use crate::lex::shown;
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Edit, Span, code, counted};
use onnx_ir::{
    BodyBuilder, DataLocation, ElemType, Field, Name, Names, Payload, SparseData, SparseTensor, Tensor,
};
use smallvec::SmallVec;

impl Cx<'_> {
    /// An initializer or the tensor of an attribute.
    pub(super) fn tensor(
        &mut self,
        b: &mut BodyBuilder<'_>,
        ty: Option<&ast::Type>,
        name: Option<Name>,
        data: &Data,
        notes: &Notes,
        span: Span,
    ) -> Tensor {
        let notes = self.tensor_notes(b.names, notes);
        self.tensor_with(b.names, ty, name, data, notes, span)
    }

    pub(super) fn tensor_with(
        &mut self,
        names: &mut Names,
        ty: Option<&ast::Type>,
        name: Option<Name>,
        data: &Data,
        notes: TensorNotes,
        span: Span,
    ) -> Tensor {
        let before = self.diagnostics.len();
        let (elem, dims) = self.tensor_type(ty, span);
        let mut tensor = Tensor { name, elem, dims, ..Tensor::default() };
        let storage = notes.storage.unwrap_or(self.storage);
        match data {
            Data::Numbers(_) | Data::Elements(_) => {
                let count = self.elements(&mut tensor, data, storage);
                // With an invalid type or element, the number of elements cannot be checked.
                let has_brackets = self.text(data.span()).starts_with(['{', '[', '(']);
                if has_brackets && self.diagnostics[before..].iter().all(|d| !d.is_error()) {
                    self.check_count(&tensor, count, data.span(), ty.map_or(span, ast::Type::span));
                }
            }
            Data::External(pairs) => {
                let external = Fields::EXTERNAL.pairs(self, names, pairs);
                let extra = tensor.extra_mut();
                (extra.external, extra.location) = (external, Some(DataLocation::EXTERNAL));
            }
            Data::Record(record) => self.tensor_record(names, &mut tensor, record),
            Data::Sparse(parts) => self.wrong_kind(parts.span, "the elements of the tensor"),
            Data::Stored(stored) => {
                let bytes = stored.bytes.clone();
                tensor.data.push(Payload::Entries { field: stored.field, bytes });
            }
        }
        self.finish_tensor(names, notes, &mut tensor, span);
        tensor
    }

    fn tensor_type(&mut self, ty: Option<&ast::Type>, span: Span) -> (Option<ElemType>, SmallVec<[i64; 4]>) {
        let Some(ty) = ty else {
            let d = Diagnostic::new(&code::TENSOR_SHAPE, span, "a tensor needs a type");
            self.report(d.label("write its type before the name, as in `float[2] w = {1, 2}`"));
            return (None, SmallVec::new());
        };
        let (elem, dims) = match ty {
            ast::Type::Tensor { elem, dims } => (*elem, dims.as_ref()),
            ast::Type::Call { head, .. } if self.text(*head) == "elem_type" => (ty.span(), None),
            ast::Type::Call { .. } | ast::Type::Unset(_) => {
                self.wrong_kind(ty.span(), "a tensor type");
                return (None, SmallVec::new());
            }
        };
        let elem = self.elem_type(elem);
        let mut shape = SmallVec::new();
        if let Some(dims) = dims.filter(|d| d.items.is_empty()) {
            let d = Diagnostic::new(&code::TENSOR_SHAPE, dims.span, "a tensor with data needs a known shape");
            self.report(d.label("`[]` is a shape of unknown rank; a scalar has no brackets"));
        }
        for dim in dims.map_or(&[][..], |d| &d.items) {
            match *dim {
                ast::Dim::Int(at) => shape.push(int_at(self, at).unwrap_or(0)),
                ast::Dim::Unknown(at) | ast::Dim::Param(at) | ast::Dim::Expr(at) => {
                    let dim = shown(self.text(at));
                    let message =
                        format!("dimension `{dim}` must be a number: a tensor with data has a fixed shape");
                    let d = Diagnostic::new(&code::TENSOR_SHAPE, at, message);
                    self.report(d.label("expected a number"));
                }
            }
        }
        (elem, shape)
    }

    fn check_count(&mut self, tensor: &Tensor, found: usize, data: Span, ty: Span) {
        let Some(elem) = tensor.elem else { return };
        let Some(wanted) = tensor.element_count() else { return };
        let per_element = per_element(elem);
        if wanted.checked_mul(per_element) == u64::try_from(found).ok() {
            return;
        }
        let place = if data.len() > 80 { Span::new(data.start, data.start + 1) } else { data };
        let what = if per_element == 2 { "number" } else { "element" };
        let shape = shown(self.text(ty));
        let message = format!(
            "`{shape}` has {}, but {} given",
            counted(wanted.saturating_mul(per_element), what),
            if found == 1 { "1 is".to_owned() } else { format!("{found} are") }
        );
        // The reference accepts one number per element, too.
        let is_odd = per_element == 2 && u64::try_from(found) == Ok(wanted);
        let code = if is_odd { &code::ODD_SPELLING } else { &code::ELEMENT_COUNT };
        let d = Diagnostic::new(code, place, message).label(format!("found {}", counted(found, what)));
        self.report(d.related(ty, "the shape"));
    }

    /// Reads a list of elements into the payload. Returns how many literals there were.
    fn elements(&mut self, tensor: &mut Tensor, data: &Data, storage: Storage) -> usize {
        let Some(elem) = tensor.elem else { return 0 };
        if elem == ElemType::STRING {
            return self.strings(tensor, data);
        }
        // Six-bit floats have an entry each, as the reference reads them.
        let packed = matches!(elem.bits(), Some(2 | 4));
        let doubled = matches!(data, Data::Numbers(s) if self.text(*s).starts_with("{{"));
        let count;
        let payload = match elem.field() {
            Some(Field::Float) => {
                let values: Vec<f32> = self.floats(data, float32);
                count = values.len();
                Payload::floats(values)
            }
            Some(Field::Double) => {
                let values: Vec<f64> = self.floats(data, float64);
                count = values.len();
                Payload::doubles(values)
            }
            Some(field) => {
                let payload;
                (payload, count) = self.integers(data, elem, field, storage);
                if packed && !doubled && count > 0 && !self.has_values(data) {
                    self.warn_packed(data, elem);
                }
                payload
            }
            None => {
                let d = Diagnostic::new(
                    &code::UNKNOWN_TYPE,
                    data.span(),
                    "elements of an element type without a name",
                );
                self.report(d.label("write its fields, as in `{raw_data: b\"\\x00\"}`"));
                return 0;
            }
        };
        if count == 0 {
            return 0;
        }
        let payload = match (storage, payload) {
            // The entries of these fields are the raw bytes already.
            (
                Storage::Raw,
                Payload::Entries { bytes, field: Field::Float | Field::Double | Field::Int64 },
            ) => Payload::Entries { field: Field::Raw, bytes },
            (_, payload) => payload,
        };
        tensor.data.push(payload);
        count
    }

    /// Whether a list has a number that is not an integer: the reference rejects it where bit patterns are expected.
    fn has_values(&self, data: &Data) -> bool {
        match data {
            Data::Numbers(span) => self.text(*span).bytes().any(|b| matches!(b, b'.' | b'e' | b'E')),
            Data::Elements(list) => list.items.iter().any(|scalar| scalar.kind != ScalarKind::Int),
            Data::External(_) | Data::Record(_) | Data::Sparse(_) | Data::Stored(_) => false,
        }
    }

    #[cold]
    fn warn_packed(&mut self, data: &Data, elem: ElemType) {
        let place = data.span();
        let name = elem.name().unwrap_or_default();
        let open = Span::new(place.start, place.start + 1);
        let fixed = vec![
            Edit { span: Span::at(place.start), text: "{".into() },
            Edit { span: Span::at(place.end), text: "}".into() },
        ];
        let d = Diagnostic::new(
            &code::PACKED_ELEMENTS,
            open,
            format!("the reference parser misreads elements of `{name}`"),
        )
        .label("elements are packed into bytes, but the reference stores one per entry")
        .help("write them in double braces, which the reference rejects")
        .fix("double the braces", fixed, true);
        self.report(d);
    }

    fn strings(&mut self, tensor: &mut Tensor, data: &Data) -> usize {
        let Data::Elements(list) = data else {
            self.wrong_kind(data.span(), "strings");
            return 0;
        };
        let mut out = Vec::with_capacity(list.items.len());
        for scalar in &list.items {
            if scalar.kind != ScalarKind::String {
                self.wrong_kind(scalar.span, "a string");
                continue;
            }
            out.push(self.bytes(scalar.span, Escapes::Literal));
        }
        let count = out.len();
        if count > 0 {
            tensor.data.push(Payload::Strings(out));
        }
        count
    }

    /// The bytes of a string literal.
    pub(super) fn bytes(&mut self, span: Span, escapes: Escapes) -> Bytes {
        let spelling = self.text(span);
        if escapes == Escapes::Literal
            && spelling.contains('\\')
            && let Some(warning) = super::check_escapes(spelling, span)
        {
            self.report(warning);
        }
        Bytes::copy_from_slice(&unquote(spelling, escapes))
    }

    fn floats<F: super::numbers::Number + Overflow>(
        &mut self,
        data: &Data,
        read: fn(&str) -> Option<F>,
    ) -> Vec<F> {
        let mut out = Vec::new();
        match data {
            Data::Numbers(span) => {
                let list = self.list_text(*span);
                // A literal and its comma take two bytes at least.
                out.reserve(list.len() / 8);
                let result = read_list(list.as_bytes(), |v: F, _| {
                    out.push(v);
                    Ok(())
                });
                out.shrink_to_fit();
                self.bad_number(*span, result, "a number");
            }
            Data::Elements(list) => {
                for scalar in &list.items {
                    match read(self.text(scalar.span)) {
                        Some(value) if scalar.kind == ScalarKind::String || value.overflows(scalar.kind) => {
                            self.bad_scalar(scalar, "a number");
                        }
                        Some(value) => out.push(value),
                        None => self.bad_scalar(scalar, "a number"),
                    }
                }
            }
            Data::External(_) | Data::Record(_) | Data::Sparse(_) | Data::Stored(_) => {}
        }
        out
    }

    /// The text between the braces.
    pub(super) fn list_text(&self, span: Span) -> &str {
        let text = self.text(span);
        let doubled = usize::from(text.starts_with("{{"));
        &text[1 + doubled..text.len() - 1 - doubled]
    }

    pub(super) fn bad_number(&mut self, list: Span, result: Result<(), BadNumber>, wanted: &str) {
        let Err(bad) = result else { return };
        let inside = list.start + if self.text(list).starts_with("{{") { 2 } else { 1 };
        let at = |i: usize| inside + u32::try_from(i).unwrap_or(0);
        let place = Span::new(at(bad.start), at(bad.end));
        let text = shown(self.text(place));
        let d = match bad.why {
            Why::Separator if text == "," => {
                // The number of elements shows whether one is missing.
                let d = Diagnostic::new(&code::STRAY_PUNCTUATION, place, "unexpected `,`")
                    .label("expected a number");
                let rest = self.source[place.end as usize..].trim_start();
                match rest.starts_with('}') {
                    true => {
                        let remove = vec![Edit { span: place, text: String::new() }];
                        // It may as well be a digit that became a comma.
                        d.help("remove it").fix("remove the comma", remove, false)
                    }
                    false => d,
                }
            }
            Why::Separator => {
                Diagnostic::new(&code::MISSING_PUNCTUATION, place, "missing `,`").label("expected `,`")
            }
            Why::Number(Refused::Range) => {
                Diagnostic::new(&code::ELEMENT_OUT_OF_RANGE, place, format!("`{text}` is out of range"))
                    .label(format!("expected {wanted}"))
            }
            Why::Number(Refused::Kind) => {
                let d =
                    Diagnostic::new(&code::WRONG_KIND, place, format!("expected {wanted}, found `{text}`"))
                        .label(format!("expected {wanted}"));
                match crate::lex::meant_number(self.text(place)) {
                    Some(meant) => {
                        let help = format!("write `{meant}`");
                        d.help(help.clone()).fix(help, vec![Edit { span: place, text: meant }], false)
                    }
                    None => d,
                }
            }
        };
        self.report(d);
    }

    pub(super) fn bad_scalar(&mut self, scalar: &Scalar, wanted: &str) {
        let text = shown(self.text(scalar.span));
        let d = match scalar.kind {
            ScalarKind::Int => {
                Diagnostic::new(&code::ELEMENT_OUT_OF_RANGE, scalar.span, format!("`{text}` is out of range"))
            }
            ScalarKind::Float | ScalarKind::Special | ScalarKind::String => {
                Diagnostic::new(&code::WRONG_KIND, scalar.span, format!("expected {wanted}, found `{text}`"))
            }
        };
        self.report(d.label(format!("expected {wanted}")));
    }

    /// `{raw_data: b"…", data_location: 1, …}`: the fields as they are.
    fn tensor_record(&mut self, names: &mut Names, tensor: &mut Tensor, record: &ast::List<ast::Field>) {
        const KEYS: [&str; 9] = [
            "float_data",
            "int32_data",
            "string_data",
            "int64_data",
            "raw_data",
            "double_data",
            "uint64_data",
            "external_data",
            "data_location",
        ];
        let mut payloads: Vec<(usize, Payload)> = Vec::new();
        for field in &record.items {
            let key = self.text(field.key);
            let order = KEYS.iter().position(|k| *k == key).unwrap_or(KEYS.len());
            let value = &field.value;
            let payload = match key {
                "float_data" => {
                    Payload::floats(self.record_floats(value, float32, |bits| {
                        Some(f32::from_bits(u32::try_from(bits).ok()?))
                    }))
                }
                "double_data" => {
                    let from_bits = |bits: i64| Some(f64::from_bits(bits.cast_unsigned()));
                    Payload::doubles(self.record_floats(value, float64, from_bits))
                }
                "int32_data" => Payload::int32s(self.record_numbers(value, |s| int(s).ok()?.try_into().ok())),
                "int64_data" => Payload::int64s(self.record_numbers(value, |s| int(s).ok())),
                "uint64_data" => Payload::uint64s(self.record_numbers(value, |s| s.parse().ok())),
                "string_data" => {
                    let FieldValue::List(list) = value else {
                        self.wrong_kind(value.span(), "a list of strings");
                        continue;
                    };
                    let spans = list.items.iter().map(|e| e.value.span());
                    Payload::Strings(spans.map(|s| self.bytes(s, Escapes::Bytes)).collect())
                }
                "raw_data" => {
                    Payload::Entries { field: Field::Raw, bytes: self.bytes(value.span(), Escapes::Bytes) }
                }
                "external_data" => {
                    tensor.extra_mut().external = Fields::NOTE.entries(self, names, value);
                    continue;
                }
                "data_location" => {
                    tensor.extra_mut().location = Fields::NOTE.int32(self, value).map(DataLocation);
                    continue;
                }
                _ => {
                    self.unknown_key(field.key, &KEYS);
                    continue;
                }
            };
            payloads.push((order, payload));
        }
        payloads.sort_by_key(|(order, _)| *order);
        tensor.data = payloads.into_iter().map(|(_, p)| p).collect();
    }

    fn record_numbers<N>(&mut self, value: &FieldValue, read: impl Fn(&str) -> Option<N>) -> Vec<N> {
        self.record_floats(value, read, |_| None)
    }

    /// Numbers, and NaNs by their bits: `[1.0, nan: 2143289345]`.
    fn record_floats<N>(
        &mut self,
        value: &FieldValue,
        read: impl Fn(&str) -> Option<N>,
        from_bits: impl Fn(i64) -> Option<N>,
    ) -> Vec<N> {
        let FieldValue::List(list) = value else {
            self.wrong_kind(value.span(), "a list of numbers");
            return Vec::new();
        };
        let mut out = Vec::with_capacity(list.items.len());
        for element in &list.items {
            let span = element.value.span();
            let number = match &element.key {
                None => read(self.text(span)),
                Some(key) if self.text(key.span()) == "nan" => int_at(self, span).and_then(&from_bits),
                Some(_) => None,
            };
            match number {
                Some(number) => out.push(number),
                None => self.wrong_kind(span, "a number that fits the field"),
            }
        }
        out
    }

    /// `sparse [3,4] {values = …, indices = …}` of a body; `name` is the name of its values, if given elsewhere.
    pub(super) fn sparse(
        &mut self,
        b: &mut BodyBuilder<'_>,
        dims: &[ast::Dim],
        parts: &ast::List<ast::Attr>,
        name: Option<Name>,
    ) -> SparseTensor {
        let SparseData { values, indices, dims } = self.sparse_data(b.names, dims, parts, name);
        SparseTensor { values: values.map(|t| b.tensor(t)), indices: indices.map(|t| b.tensor(t)), dims }
    }

    pub(super) fn sparse_data(
        &mut self,
        names: &mut Names,
        dims: &[ast::Dim],
        parts: &ast::List<ast::Attr>,
        name: Option<Name>,
    ) -> SparseData {
        let mut out = SparseData::default();
        for dim in dims {
            if let ast::Dim::Int(span) = *dim {
                out.dims.push(int_at(self, span).unwrap_or(0));
            } else {
                self.wrong_kind(dim.span(), "a number");
            }
        }
        for part in &parts.items {
            let key = self.text(part.name);
            let Some(ast::AttrValue::Tensor(literal)) = &part.value else {
                if key != NOTHING {
                    self.wrong_kind(part.span, "a tensor");
                }
                continue;
            };
            let known = name.filter(|_| key == "values" && literal.name.is_none());
            let tensor = self.literal_tensor(names, literal, &part.notes, known);
            match key {
                "values" => out.values = Some(tensor),
                "indices" => out.indices = Some(tensor),
                _ => self.unknown_key(part.name, &["values", "indices"]),
            }
        }
        out
    }

    /// The tensor of an attribute, whose annotations are under `tensor`; `known` is a name given elsewhere.
    pub(super) fn literal_tensor(
        &mut self,
        names: &mut Names,
        literal: &ast::TensorLiteral,
        notes: &Notes,
        known: Option<Name>,
    ) -> Tensor {
        let notes = self.attr_tensor_notes(names, notes);
        let name = literal.name.map(|n| self.name(names, n)).or(known).or(self.default_tensor_name);
        self.tensor_with(names, Some(&literal.ty), name, &literal.data, notes, literal.span)
    }
}

/// Whether digits were rounded to infinity.
trait Overflow: Copy {
    fn overflows(self, kind: ScalarKind) -> bool;
}

impl Overflow for f32 {
    fn overflows(self, kind: ScalarKind) -> bool {
        self.is_infinite() && kind != ScalarKind::Special
    }
}

impl Overflow for f64 {
    fn overflows(self, kind: ScalarKind) -> bool {
        self.is_infinite() && kind != ScalarKind::Special
    }
}

/// An empty part of a record, which would otherwise be omitted.
pub(super) const NOTHING: &str = "none";

/// Literals for one element.
fn per_element(elem: ElemType) -> u64 {
    if matches!(elem, ElemType::COMPLEX64 | ElemType::COMPLEX128) { 2 } else { 1 }
}

/// Puts the bit patterns of an annotation into elements that are NaN; `false` if one names none.
pub(super) fn patch_nans(tensor: &mut Tensor, nans: &[(usize, u64)]) -> bool {
    let Some(Payload::Entries { field, bytes }) = tensor.data.first_mut() else { return false };
    let size = match (&*field, tensor.elem) {
        (Field::Float, _) | (Field::Raw, Some(ElemType::FLOAT | ElemType::COMPLEX64)) => 4,
        (Field::Double, _) | (Field::Raw, Some(ElemType::DOUBLE | ElemType::COMPLEX128)) => 8,
        _ => return false,
    };
    // A copy: the patterns are rare, and the payload may be shared.
    let mut patched = bytes.to_vec();
    for &(index, bits) in nans {
        let Some(slot) = index.checked_mul(size).and_then(|at| patched.get_mut(at..at + size)) else {
            return false;
        };
        let new = &bits.to_le_bytes()[..size];
        if !is_nan(slot) || !is_nan(new) {
            return false;
        }
        slot.copy_from_slice(new);
    }
    *bytes = patched.into();
    true
}

/// Whether the bytes of a float are a NaN.
fn is_nan(bytes: &[u8]) -> bool {
    match (bytes.first_chunk(), bytes.first_chunk()) {
        (_, Some(eight)) => f64::from_le_bytes(*eight).is_nan(),
        (Some(four), None) => f32::from_le_bytes(*four).is_nan(),
        (None, None) => false,
    }
}

/// Whether a word is a number: `inf`, `nan`.
pub(super) fn is_special(text: &str) -> bool {
    special(text).is_some()
}
