//! Attributes of a raised tree.

use super::tensors::is_odd_nan;
use super::{Profile, Raiser};
use crate::ast::{
    Attr as Tree, AttrElement, AttrValue as Value, ELIDED, List, Notes, Scalar, ScalarKind, SparseLiteral,
};
use crate::lower::keys;
use onnx_ir::diag::Span;
use onnx_ir::list::Element;
use onnx_ir::{Attr, AttrType, AttrValue, BodyId, DimValue, Name, SparseTensor, Tensor, TypeId};

/// Attribute lists up to this length are printed completely: they are not data.
const SHOWN_WHOLE: usize = 32;
/// Bytes of a string attribute that are printed in any case. Compiled programs are kept in some.
const SHOWN_OF_STRING: usize = 1000;

impl<'m> Raiser<'m> {
    /// An attribute of a node; `None` if the profile cannot express it.
    pub(super) fn attr(&mut self, body: BodyId, attr: &Attr) -> Option<Tree> {
        self.attr_named(body, attr, |this, name| this.identifier(name, "the attribute"))
    }

    /// A parameter of a function with its default, whose name may be quoted.
    pub(super) fn parameter(&mut self, body: BodyId, attr: &Attr) -> Option<Tree> {
        self.attr_named(body, attr, Self::name)
    }

    fn attr_named(&mut self, body: BodyId, attr: &Attr, named: fn(&mut Self, Name) -> Span) -> Option<Tree> {
        let mut notes = Notes::default();
        self.doc_note(&mut notes, attr.doc);
        if attr.name.is_none() {
            self.words_note(&mut notes, keys::UNSET, &["name"]);
        }
        let is_sound = is_sound(attr);
        if let ([value], true) = (&attr.values[..], is_sound) {
            self.value_notes(body, &mut notes, value);
        }
        if !self.can_say(attr, is_sound) {
            return None;
        }
        let start = self.out.here();
        let name = named(self, attr.name.unwrap_or(Name::empty()));
        let mut ty = None;
        let value = if !is_sound {
            Some(self.parts(body, attr))
        } else if let Some(reference) = attr.reference {
            ty = attr.ty.and_then(AttrType::name).map(|t| self.out.put(t));
            Some(Value::Reference(self.name(reference)))
        } else if let [value] = &attr.values[..] {
            Some(self.attr_value(body, value))
        } else {
            ty = attr.ty.and_then(AttrType::name).map(|t| self.out.put(t));
            Some(Value::List(Box::new(self.empty_list("[", "]"))))
        };
        Some(Tree { notes, name, ty, value, span: self.out.since(start) })
    }

    /// Whether the profile has a form for the attribute; if not, it is listed.
    fn can_say(&mut self, attr: &Attr, is_sound: bool) -> bool {
        let has_form = is_sound
            && !matches!(
                attr.values.first(),
                Some(
                    AttrValue::Tensors(_)
                        | AttrValue::Graphs(_)
                        | AttrValue::Types(_)
                        | AttrValue::SparseTensor(_)
                        | AttrValue::SparseTensors(_)
                )
            );
        if let [AttrValue::Type(ty)] = attr.values[..]
            && !self.can_say_type(ty)
        {
            return false;
        }
        let name = self.model.text(attr.name);
        has_form || self.extend(|| format!("the value of attribute `{name}`"))
    }

    pub(super) fn value_notes(&mut self, body: BodyId, notes: &mut Notes, value: &AttrValue) {
        match value {
            AttrValue::Float(f) => self.nan_note(notes, [*f]),
            AttrValue::Floats(list) => self.nan_note(notes, list.elements().take(self.shown(list.len()))),
            AttrValue::Tensor(tensor) => {
                let tensor = self.tensor_of(body, *tensor);
                self.attr_tensor_note(notes, tensor);
            }
            AttrValue::Type(ty) => self.denotation_note(notes, *ty),
            AttrValue::Int(_)
            | AttrValue::String(_)
            | AttrValue::Graph(_)
            | AttrValue::Ints(_)
            | AttrValue::Strings(_)
            | AttrValue::Tensors(_)
            | AttrValue::Graphs(_)
            | AttrValue::Types(_)
            | AttrValue::SparseTensor(_)
            | AttrValue::SparseTensors(_) => {}
        }
    }

    fn nan_note(&mut self, notes: &mut Notes, floats: impl IntoIterator<Item = f32>) {
        let bits = floats.into_iter().map(f32::to_bits);
        let odd = (0i64..).zip(bits).filter(|&(_, bits)| is_odd_nan(bits));
        let odd: Vec<_> = odd.map(|(i, bits)| (i, i64::from(bits))).collect();
        if !odd.is_empty() {
            self.nan_bits_note(notes, &odd);
        }
    }

    /// The number of printed elements of a list.
    fn shown(&self, len: usize) -> usize {
        match self.options.elide {
            Some(max) if len > SHOWN_WHOLE => max.min(len),
            Some(_) | None => len,
        }
    }

    pub(super) fn attr_value(&mut self, body: BodyId, value: &AttrValue) -> Value {
        match value {
            AttrValue::Float(f) => Value::Scalar(self.float(*f)),
            AttrValue::Int(i) => Value::Scalar(Scalar { kind: ScalarKind::Int, span: self.out.int(*i) }),
            AttrValue::String(s) if self.options.elide.is_some() && s.len() > SHOWN_OF_STRING => {
                let text = String::from_utf8_lossy(&s[..SHOWN_OF_STRING]).replace('\0', "\u{fffd}");
                let text = format!("{}{ELIDED}", text.trim_end_matches('\u{fffd}'));
                Value::Scalar(self.string(text.as_bytes()))
            }
            AttrValue::String(s) => Value::Scalar(self.string(s)),
            AttrValue::Tensor(t) => {
                let tensor = self.tensor_of(body, *t);
                Value::Tensor(Box::new(self.tensor_literal(tensor, None)))
            }
            AttrValue::Graph(g) => Value::Graph(Box::new(self.graph(body, *g, None))),
            AttrValue::Floats(list) => Value::List(self.elements(list, Self::float)),
            AttrValue::Ints(list) => {
                let shown = self.shown(list.len());
                Value::Ints(self.out.ints(list.elements().take(shown), shown < list.len()))
            }
            AttrValue::Strings(list) => Value::List(self.elements(list, Self::string)),
            AttrValue::Type(ty) => Value::Type(Box::new(self.ty(*ty))),
            AttrValue::Types(list) => Value::Braced(Box::new(self.type_list(list))),
            AttrValue::Tensors(list) => {
                let open = self.out.put("{");
                let mut items = Vec::with_capacity(list.len());
                for &tensor in list {
                    let tensor = self.tensor_of(body, tensor);
                    let notes = self.tensor_notes(tensor);
                    let value = Value::Tensor(Box::new(self.tensor_literal(tensor, None)));
                    items.push(AttrElement { notes, value });
                }
                self.out.put("}");
                Value::Braced(Box::new(List { items, span: self.out.since(open) }))
            }
            AttrValue::Graphs(list) => Value::Braced(
                self.list("{", list, "}", |t, g| Value::Graph(Box::new(t.graph(body, *g, None)))),
            ),
            AttrValue::SparseTensor(sparse) => Value::Sparse(Box::new(self.sparse(body, sparse))),
            AttrValue::SparseTensors(list) => {
                Value::Braced(self.list("{", list, "}", |t, s| Value::Sparse(Box::new(t.sparse(body, s)))))
            }
        }
    }

    fn type_list(&mut self, list: &[TypeId]) -> List<AttrElement> {
        let open = self.out.put("{");
        let mut items = Vec::with_capacity(list.len());
        for &ty in list {
            let mut notes = Notes::default();
            self.denotation_note(&mut notes, ty);
            let value = Value::Type(Box::new(self.ty(ty)));
            items.push(AttrElement { notes, value });
        }
        self.out.put("}");
        List { items, span: self.out.since(open) }
    }

    /// `[1.0, 2.5]`, without elided elements.
    fn elements<T: Element>(
        &mut self,
        list: &onnx_ir::list::List<T>,
        scalar: impl FnMut(&mut Self, T::Ref<'_>) -> Scalar,
    ) -> Box<List<AttrElement>> {
        let open = self.out.put("[");
        let items = self.scalars(list.elements(), list.len(), self.shown(list.len()), scalar);
        self.out.put("]");
        let element = |scalar| AttrElement { notes: Notes::default(), value: Value::Scalar(scalar) };
        let items = items.into_iter().map(element).collect();
        Box::new(List { items, span: self.out.since(open) })
    }

    /// The first elements of a list, and the placeholder for the others.
    pub(super) fn scalars<T>(
        &mut self,
        elements: impl Iterator<Item = T>,
        len: usize,
        shown: usize,
        mut scalar: impl FnMut(&mut Self, T) -> Scalar,
    ) -> Vec<Scalar> {
        let mut scalars: Vec<_> = elements.take(shown).map(|element| scalar(self, element)).collect();
        if shown < len {
            scalars.push(Scalar { kind: ScalarKind::Special, span: self.out.put(ELIDED) });
        }
        scalars
    }

    fn list<T>(
        &mut self,
        open: &str,
        items: &[T],
        close: &str,
        mut value: impl FnMut(&mut Self, &T) -> Value,
    ) -> Box<List<AttrElement>> {
        let open = self.out.put(open);
        let element = |item| AttrElement { notes: Notes::default(), value: value(self, item) };
        let items = items.iter().map(element).collect();
        self.out.put(close);
        Box::new(List { items, span: self.out.since(open) })
    }

    fn float(&mut self, value: f32) -> Scalar {
        let kind = if value.is_finite() { ScalarKind::Float } else { ScalarKind::Special };
        Scalar { kind, span: self.out.float(value) }
    }

    /// A string of an attribute or tensor.
    pub(super) fn string(&mut self, bytes: &[u8]) -> Scalar {
        Scalar { kind: ScalarKind::String, span: self.string_span(bytes) }
    }

    fn string_span(&mut self, bytes: &[u8]) -> Span {
        match std::str::from_utf8(bytes) {
            Ok(text) if self.is_literal(text) => self.out.string(text),
            _ if self.may_escape(|| "a string that is not UTF-8, or has a NUL".to_owned()) => {
                self.out.bytes(bytes)
            }
            _ => self.out.string(&String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}")),
        }
    }

    fn sparse(&mut self, body: BodyId, sparse: &SparseTensor) -> SparseLiteral {
        let parts = self.parts_of(body, sparse);
        self.sparse_literal(&sparse.dims, parts)
    }

    /// The values and indices of a sparse tensor of a body.
    pub(super) fn parts_of(&self, body: BodyId, sparse: &SparseTensor) -> [Option<&'m Tensor>; 2] {
        [sparse.values, sparse.indices].map(|id| id.map(|id| self.tensor_of(body, id)))
    }

    /// `sparse [3,4] {values = …, indices = …}`
    pub(super) fn sparse_literal(&mut self, dims: &[i64], parts: [Option<&Tensor>; 2]) -> SparseLiteral {
        let start = self.out.put("sparse");
        let dims: Vec<_> = dims.iter().map(|&d| DimValue::Value(d)).collect();
        let dims = self.dims(&dims);
        let parts = self.sparse_parts(parts, false);
        SparseLiteral { dims, parts, span: self.out.since(start) }
    }

    /// `{values = …, indices = …}`; the values of an initializer are named before the brace.
    pub(super) fn sparse_parts(
        &mut self,
        [values, indices]: [Option<&Tensor>; 2],
        is_named: bool,
    ) -> List<Tree> {
        let open = self.out.put("{");
        let mut items = Vec::new();
        for (key, tensor) in [("values", values), ("indices", indices)] {
            let Some(tensor) = tensor else { continue };
            let mut notes = Notes::default();
            let named = is_named && key == "values";
            if named {
                self.named_tensor_note(&mut notes, tensor);
            } else {
                self.attr_tensor_note(&mut notes, tensor);
            }
            let start = self.out.here();
            let name = self.out.put(key);
            let known = named.then(Name::empty);
            let value = Some(Value::Tensor(Box::new(self.tensor_literal(tensor, known))));
            items.push(Tree { notes, name, ty: None, value, span: self.out.since(start) });
        }
        if items.is_empty() {
            let name = self.out.put("none");
            let value = Some(Value::Scalar(Scalar { kind: ScalarKind::Int, span: self.out.int(0) }));
            items.push(Tree { notes: Notes::default(), name, ty: None, value, span: self.out.since(name) });
        }
        self.out.put("}");
        List { items, span: self.out.since(open) }
    }

    /// `attribute {type = 1, f = 1.0, i = 2}`
    fn parts(&mut self, body: BodyId, attr: &Attr) -> Value {
        debug_assert_ne!(self.options.profile, Profile::Reference);
        self.out.put("attribute");
        let open = self.out.put("{");
        let mut items = Vec::new();
        let mut part = |this: &mut Self, notes, key: &str, value: &mut dyn FnMut(&mut Self) -> Value| {
            let name = this.out.put(key);
            let value = Some(value(this));
            items.push(Tree { notes, name, ty: None, value, span: this.out.since(name) });
        };
        let int =
            |this: &mut Self, i: i64| Value::Scalar(Scalar { kind: ScalarKind::Int, span: this.out.int(i) });
        match attr.ty {
            Some(ty) => part(self, Notes::default(), "type", &mut |t| int(t, ty.0.into())),
            None => part(self, Notes::default(), "none", &mut |t| int(t, 0)),
        }
        if let Some(reference) = attr.reference {
            part(self, Notes::default(), "ref_attr_name", &mut |t| {
                let span = t.name(reference);
                let quoted = t.out.text.as_bytes()[span.start as usize] == b'"';
                let kind = if quoted { ScalarKind::String } else { ScalarKind::Special };
                Value::Scalar(Scalar { kind, span })
            });
        }
        for value in &attr.values {
            let mut notes = Notes::default();
            self.value_notes(body, &mut notes, value);
            part(self, notes, field_name(value.ty()), &mut |t| t.attr_value(body, value));
        }
        self.out.put("}");
        Value::Record(Box::new(List { items, span: self.out.since(open) }))
    }
}

/// The field of `AttributeProto` for a type.
fn field_name(ty: AttrType) -> &'static str {
    match ty {
        AttrType::FLOAT => "f",
        AttrType::INT => "i",
        AttrType::STRING => "s",
        AttrType::TENSOR => "t",
        AttrType::GRAPH => "g",
        AttrType::TYPE_PROTO => "tp",
        _ => ty.name().unwrap_or("none"),
    }
}

/// Whether the fields of an attribute are consistent, so that one value determines them.
fn is_sound(attr: &Attr) -> bool {
    match (&attr.values[..], attr.reference, attr.ty) {
        ([], Some(_), ty) => ty.is_none_or(|t| t.name().is_some()),
        ([], None, Some(ty)) => ty.is_list(),
        ([value], None, Some(ty)) => value.ty() == ty,
        _ => false,
    }
}
