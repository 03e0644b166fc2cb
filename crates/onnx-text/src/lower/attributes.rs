//! Attributes.

use super::integers::truth;
use super::literals::{Escapes, float32};
use super::notes::keys;
use super::numbers::read_list;
use super::tensors::{NOTHING, is_special};
use super::{Cx, Fields, aliases, int_at};
use crate::ast::{self, Notes, Scalar, ScalarKind};
use crate::lex::shown;
use onnx_ir::diag::{Diagnostic, Edit, Span, code, did_you_mean};
use onnx_ir::{Attr, AttrType, AttrValue, BodyBuilder, ElemType, NodeId, SparseTensor, TensorId, TypeId};
use smallvec::{SmallVec, smallvec};

impl Cx<'_> {
    /// An attribute; `None` where an error left no value. `owner` is the node that it belongs to.
    pub(super) fn attr(
        &mut self,
        b: &mut BodyBuilder<'_>,
        attr: &ast::Attr,
        owner: Option<NodeId>,
    ) -> Option<Attr> {
        let name = self.name(b.names, attr.name);
        let stated = attr.ty.and_then(|t| self.attr_type(t));
        let mut out = Attr { name: Some(name), ty: stated, ..Attr::default() };
        let Some(value) = &attr.value else {
            let d = Diagnostic::new(
                &code::ATTRIBUTE_MISMATCH,
                attr.span,
                format!("attribute `{}` has no value", &b.names[name]),
            );
            self.report(d.label("expected `= value`"));
            return None;
        };
        match value {
            ast::AttrValue::Reference(parameter) => {
                out.reference = Some(self.name(b.names, *parameter));
                if attr.ty.is_none() {
                    let d = Diagnostic::new(
                        &code::UNTYPED_REFERENCE,
                        attr.span,
                        "attribute reference without a type",
                    )
                    .label("the attribute has no type")
                    .help(format!(
                        "write the type, as in `{}: float = @{}`",
                        self.text(attr.name),
                        self.text(*parameter)
                    ));
                    self.report(d);
                }
            }
            ast::AttrValue::Record(parts) => {
                if let Some(ty) = attr.ty {
                    let d = Diagnostic::new(
                        &code::ATTRIBUTE_MISMATCH,
                        ty,
                        "a record of fields has a `type` field of its own",
                    );
                    self.report(d.label("this type is ignored").help("remove it"));
                    out.ty = None;
                }
                self.attr_record(b, parts, owner, &mut out);
            }
            value => {
                let value = self.attr_value(b, value, stated, &attr.notes, owner, attr.span)?;
                if out.ty.is_none() {
                    out.ty = value.as_ref().map(AttrValue::ty);
                }
                out.values.extend(value);
            }
        }
        self.attr_notes(b, &attr.notes, &mut out);
        Some(out)
    }

    fn attr_notes(&mut self, b: &mut BodyBuilder<'_>, notes: &Notes, attr: &mut Attr) {
        attr.doc = self.doc_lines(b.names, notes);
        self.value_notes(b, notes, attr.values.first_mut());
        for field in notes.fields() {
            match self.text(field.key) {
                keys::DOC => attr.doc = Fields::NOTE.text(self, b.names, &field.value),
                keys::NAN | keys::DENOTATION => {}
                keys::UNSET => {
                    for what in Fields::NOTE.texts(self, b.names, &field.value) {
                        if &b.names[what] == "name" {
                            attr.name = None;
                        }
                    }
                }
                keys::TENSOR => {}
                _ => self.unknown_key(
                    field.key,
                    &[keys::DOC, keys::TENSOR, keys::NAN, keys::DENOTATION, keys::UNSET],
                ),
            }
        }
    }

    /// Annotations of a value: bit patterns of floats, denotations of a type.
    fn value_notes(&mut self, b: &mut BodyBuilder<'_>, notes: &Notes, value: Option<&mut AttrValue>) {
        let Some(value) = value else { return };
        for field in notes.fields() {
            match self.text(field.key) {
                keys::NAN => {
                    for (index, bits) in self.nan_bits(&field.value) {
                        #[allow(clippy::cast_possible_truncation, reason = "a float has 32 bits")]
                        let float = f32::from_bits(bits as u32);
                        let slot = match &mut *value {
                            AttrValue::Float(f) if index == 0 => Some(f),
                            AttrValue::Floats(list) => list.to_mut().get_mut(index),
                            _ => None,
                        };
                        match slot.filter(|f| f.is_nan() && float.is_nan()) {
                            Some(slot) => *slot = float,
                            None => self.wrong_kind(field.value.span(), "the position and bits of a NaN"),
                        }
                    }
                }
                keys::DENOTATION => {
                    if let AttrValue::Type(ty) = &mut *value {
                        *ty = self.denotations(b.names, b.types, *ty, &field.value);
                    }
                }
                _ => {}
            }
        }
    }

    pub(super) fn attr_type(&mut self, span: Span) -> Option<AttrType> {
        let text = self.text(span);
        let ty = AttrType::from_name(text);
        if ty.is_none() {
            let same = aliases::attr_type(text);
            let near = same.or_else(|| did_you_mean(text, AttrType::ALL.iter().filter_map(|t| t.name())));
            let mut d = Diagnostic::new(
                &code::UNKNOWN_TYPE,
                span,
                format!("unknown attribute type `{}`", shown(text)),
            )
            .label("no attribute type has this name")
            .maybe_help(near.map(|n| format!("did you mean `{n}`?")));
            if let Some(near) = near {
                d = d.fix(format!("write `{near}`"), vec![Edit { span, text: near.into() }], same.is_some());
            }
            self.report(d);
            return same.and_then(AttrType::from_name);
        }
        ty
    }

    fn mismatch(&mut self, span: Span, stated: AttrType, found: &str) {
        let name = stated.name().unwrap_or("?");
        let d = Diagnostic::new(
            &code::ATTRIBUTE_MISMATCH,
            span,
            format!("expected a value of type `{name}`, found {found}"),
        );
        self.report(d.label(format!("the attribute is declared as `{name}`")));
    }

    /// The value of an attribute. The inner `None` is an empty list.
    fn attr_value(
        &mut self,
        b: &mut BodyBuilder<'_>,
        value: &ast::AttrValue,
        stated: Option<AttrType>,
        notes: &Notes,
        owner: Option<NodeId>,
        span: Span,
    ) -> Option<Option<AttrValue>> {
        let lowered = match value {
            ast::AttrValue::Scalar(scalar) => self.scalar(*scalar, stated)?,
            value @ ast::AttrValue::Type(_) if is_number(self, value) => {
                self.scalar(Scalar { kind: ScalarKind::Special, span: value.span() }, stated)?
            }
            ast::AttrValue::Type(ty) if word(self, ty).is_some_and(|text| truth(text).is_some()) => {
                let number = word(self, ty).and_then(truth).unwrap_or_default();
                self.word_for_number(value.span(), number, "boolean attributes are written 1 or 0");
                AttrValue::Int(i64::from(number == "1"))
            }
            ast::AttrValue::Type(ty) if word(self, ty).is_some_and(|text| !is_type(text)) => {
                self.bare_word(value.span(), stated);
                return None;
            }
            ast::AttrValue::Ints(list) => self.int_list(*list, stated),
            ast::AttrValue::Type(ty) => AttrValue::Type(self.ty(b, ty)),
            ast::AttrValue::Graph(graph) => AttrValue::Graph(self.graph(b, graph, owner)),
            ast::AttrValue::Tensor(literal) => {
                let tensor = self.literal_tensor(b.names, literal, notes, None);
                AttrValue::Tensor(b.tensor(tensor))
            }
            ast::AttrValue::Sparse(literal) => {
                AttrValue::SparseTensor(Box::new(self.sparse(b, &literal.dims.items, &literal.parts, None)))
            }
            ast::AttrValue::List(list) => {
                // A reference, a list or a word is a mistake of its own.
                let is_mistake = |v: &ast::AttrValue| match v {
                    ast::AttrValue::Type(ty) => word(self, ty).is_some_and(|text| !is_type(text)),
                    ast::AttrValue::Reference(_)
                    | ast::AttrValue::Ints(_)
                    | ast::AttrValue::List(_)
                    | ast::AttrValue::Braced(_) => true,
                    _ => false,
                };
                let discarded =
                    list.items.first().is_some_and(|e| !is_plain(self, &e.value) && !is_mistake(&e.value));
                if discarded {
                    self.warn_discarded(list.span);
                }
                return self.attr_list(b, list, stated, owner, span);
            }
            ast::AttrValue::Braced(list) => return self.attr_list(b, list, stated, owner, span),
            ast::AttrValue::Reference(_) | ast::AttrValue::Record(_) => {
                self.wrong_kind(value.span(), "a value");
                return None;
            }
        };
        if let Some(stated) = stated
            && lowered.ty() != stated
        {
            self.mismatch(value.span(), stated, &format!("`{}`", lowered.ty().name().unwrap_or("?")));
        }
        Some(Some(lowered))
    }

    /// A word that is neither type nor number, as the value of an attribute.
    fn bare_word(&mut self, span: Span, stated: Option<AttrType>) {
        let text = self.text(span);
        // The lexer has reported a name with other characters.
        if !text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.".contains(&c)) {
            return;
        }
        if ["None", "null", "nil"].contains(&text) {
            let d = Diagnostic::new(&code::FOREIGN_SPELLING, span, format!("`{text}` is not a value"));
            self.report(d.label("an attribute without a value is omitted").help("remove the attribute"));
            return;
        }
        let near = did_you_mean(text, ElemType::ALL.iter().filter_map(|e| e.name()));
        let help = match near {
            Some(near) if stated.is_none() => format!("did you mean `{near}`, or the string `\"{text}\"`?"),
            _ => format!(
                "write `\"{text}\"` for a string, or `@{text}` for the value of an attribute parameter"
            ),
        };
        let d = Diagnostic::new(&code::UNKNOWN_TYPE, span, format!("unknown type `{}`", shown(text)))
            .label("strings are quoted")
            .help(help)
            .fix("quote the string", vec![Edit { span, text: format!("\"{text}\"") }], false);
        self.report(d);
    }

    fn warn_discarded(&mut self, list: Span) {
        let open = Span::new(list.start, list.start + 1);
        let edits = crate::lex::other_brackets(self.source, list, &[']'], ["{", "}"]);
        self.report(
            Diagnostic::new(&code::LIST_DISCARDED, open, "the reference parser discards a list of this kind")
                .label("a list of tensors, graphs, types or references in brackets")
                .help("write it in braces")
                .maybe_fix("use braces", edits, true),
        );
    }

    fn scalar(&mut self, scalar: Scalar, stated: Option<AttrType>) -> Option<AttrValue> {
        let Scalar { kind, span } = scalar;
        let text = self.text(span);
        match (kind, stated) {
            (ScalarKind::Int, Some(AttrType::FLOAT)) | (ScalarKind::Float | ScalarKind::Special, _) => {
                match float32(text) {
                    Some(value) if value.is_infinite() && kind != ScalarKind::Special => {
                        let message = format!("`{}` is greater than the largest float", shown(text));
                        let d = Diagnostic::new(&code::NUMBER_OUT_OF_RANGE, span, message);
                        self.report(
                            d.label("the largest float is about 3.4e38").help("write `inf` for infinity"),
                        );
                        Some(AttrValue::Float(value))
                    }
                    Some(value) => Some(AttrValue::Float(value)),
                    None => {
                        self.wrong_kind(span, "a number");
                        None
                    }
                }
            }
            (ScalarKind::Int, _) => int_at(self, span).map(AttrValue::Int),
            (ScalarKind::String, _) => Some(AttrValue::String(self.bytes(span, Escapes::Literal))),
        }
    }

    fn attr_list(
        &mut self,
        b: &mut BodyBuilder<'_>,
        list: &ast::List<ast::AttrElement>,
        stated: Option<AttrType>,
        owner: Option<NodeId>,
        span: Span,
    ) -> Option<Option<AttrValue>> {
        let Some(first) = list.items.first() else {
            if let Some(stated) = stated.filter(|s| !s.is_list()) {
                self.mismatch(list.span, stated, "an empty list");
            } else if stated.is_none() {
                let d = Diagnostic::new(&code::ATTRIBUTE_MISMATCH, list.span, "an empty list needs a type");
                self.report(
                    d.label("the element type is unknown").help("write the type, as in `axes: ints = []`"),
                );
            }
            return Some(None);
        };
        let out = match &first.value {
            value if is_number(self, value) => self.number_list(list, stated),
            ast::AttrValue::Scalar(_) => {
                let mut strings = Vec::with_capacity(list.items.len());
                for element in &list.items {
                    match &element.value {
                        ast::AttrValue::Scalar(Scalar { kind: ScalarKind::String, span }) => {
                            strings.push(self.bytes(*span, Escapes::Literal));
                        }
                        other => self.wrong_kind(other.span(), "a string"),
                    }
                }
                AttrValue::Strings(strings.into())
            }
            _ => self.other_list(b, list, owner)?,
        };
        if let Some(stated) = stated
            && out.ty() != stated
        {
            self.mismatch(span, stated, &format!("`{}`", out.ty().name().unwrap_or("?")));
        }
        Some(Some(out))
    }

    /// `[1, 2, 3]`: integers, or floats if the attribute is stated to be `floats`.
    fn int_list(&mut self, list: Span, stated: Option<AttrType>) -> AttrValue {
        let text = &self.text(list)[1..list.len() - 1];
        let capacity = memchr::memchr_iter(b',', text.as_bytes()).count() + 1;
        if stated == Some(AttrType::FLOATS) {
            let mut floats = Vec::with_capacity(capacity);
            let read = read_list(text.as_bytes(), |v: f32, _| {
                floats.push(v);
                Ok(())
            });
            debug_assert!(read.is_ok(), "the lexer has checked the list");
            return AttrValue::Floats(floats.into());
        }
        let mut ints = Vec::with_capacity(capacity);
        let read = read_list(text.as_bytes(), |v: i64, _| {
            ints.push(v);
            Ok(())
        });
        debug_assert!(read.is_ok(), "the lexer has checked the list");
        AttrValue::Ints(ints.into())
    }

    /// Integers or floats: as stated, or by the first element.
    fn number_list(&mut self, list: &ast::List<ast::AttrElement>, stated: Option<AttrType>) -> AttrValue {
        let is_int =
            |value: &ast::AttrValue| matches!(value, ast::AttrValue::Scalar(s) if s.kind == ScalarKind::Int);
        let ints = stated != Some(AttrType::FLOATS) && is_int(&list.items[0].value);
        if ints && list.items.iter().all(|e| is_int(&e.value)) {
            let values = list.items.iter().map(|e| int_at(self, e.value.span()).unwrap_or(0));
            return AttrValue::Ints(values.collect());
        }
        let all_numbers = list.items.iter().all(|e| is_number(self, &e.value));
        if ints && all_numbers {
            let first = list.items[0].value.span();
            let text = format!("{}.0", self.text(first));
            let d = Diagnostic::new(&code::ATTRIBUTE_MISMATCH, first, "integers and floats in one list")
                .label("the first element makes it a list of integers")
                .fix("make it a float", vec![Edit { span: first, text }], false);
            self.report(d);
        }
        let mut values = Vec::with_capacity(list.items.len());
        for element in &list.items {
            let at = element.value.span();
            match float32(self.text(at)) {
                Some(value) if is_number(self, &element.value) => values.push(value),
                _ => self.wrong_kind(at, "a number"),
            }
        }
        AttrValue::Floats(values.into())
    }

    /// Tensors, graphs, types or sparse tensors.
    fn other_list(
        &mut self,
        b: &mut BodyBuilder<'_>,
        list: &ast::List<ast::AttrElement>,
        owner: Option<NodeId>,
    ) -> Option<AttrValue> {
        // Each element, by its kind.
        let (mut tensors, mut graphs, mut types, mut sparse) =
            (Vec::<TensorId>::new(), Vec::new(), Vec::<TypeId>::new(), Vec::<SparseTensor>::new());
        for element in &list.items {
            match &element.value {
                ast::AttrValue::Tensor(literal) => {
                    let notes = self.tensor_notes(b.names, &element.notes);
                    let name = literal.name.map(|n| self.name(b.names, n)).or(self.default_tensor_name);
                    let tensor = self.tensor_with(
                        b.names,
                        Some(&literal.ty),
                        name,
                        &literal.data,
                        notes,
                        literal.span,
                    );
                    tensors.push(b.tensor(tensor));
                }
                ast::AttrValue::Graph(graph) => graphs.push(self.graph(b, graph, owner)),
                ast::AttrValue::Type(ty) if word(self, ty).is_some_and(|text| truth(text).is_some()) => {
                    let number = word(self, ty).and_then(truth).unwrap_or_default();
                    let label = "boolean attributes are written 1 or 0";
                    self.word_for_number(element.value.span(), number, label);
                }
                ast::AttrValue::Type(ty) if word(self, ty).is_some_and(|text| !is_type(text)) => {
                    self.bare_word(element.value.span(), None);
                }
                ast::AttrValue::Ints(_) | ast::AttrValue::List(_) | ast::AttrValue::Braced(_) => {
                    let d = Diagnostic::new(
                        &code::ATTRIBUTE_MISMATCH,
                        element.value.span(),
                        "a list of an attribute cannot hold lists",
                    );
                    self.report(d.label("a list in a list").help("write one list, or a tensor"));
                    return None;
                }
                ast::AttrValue::Type(ty) => {
                    let mut ty = self.ty(b, ty);
                    for field in element.notes.fields() {
                        if self.text(field.key) == keys::DENOTATION {
                            ty = self.denotations(b.names, b.types, ty, &field.value);
                        }
                    }
                    types.push(ty);
                }
                ast::AttrValue::Sparse(literal) => {
                    sparse.push(self.sparse(b, &literal.dims.items, &literal.parts, None))
                }
                other => {
                    self.wrong_kind(other.span(), "an element of the same kind as the first");
                    return None;
                }
            }
        }
        // All elements must be of one kind.
        if tensors.is_empty() && graphs.is_empty() && types.is_empty() && sparse.is_empty() {
            return None;
        }
        let kinds = [!tensors.is_empty(), !graphs.is_empty(), !types.is_empty(), !sparse.is_empty()];
        if kinds.iter().filter(|k| **k).count() > 1 {
            let d = Diagnostic::new(
                &code::ATTRIBUTE_MISMATCH,
                list.span,
                "elements of different kinds in one list",
            );
            self.report(d.label("a list holds tensors, graphs, types or sparse tensors"));
        }
        // The kind of the first wins, if they are of several.
        Some(match kinds {
            [true, ..] => AttrValue::Tensors(tensors),
            [_, true, ..] => AttrValue::Graphs(graphs),
            [_, _, true, _] => AttrValue::Types(types),
            _ => AttrValue::SparseTensors(sparse),
        })
    }

    /// `attribute {type = 1, f = 1.0, i = 2}`: the fields as they are.
    fn attr_record(
        &mut self,
        b: &mut BodyBuilder<'_>,
        parts: &ast::List<ast::Attr>,
        owner: Option<NodeId>,
        out: &mut Attr,
    ) {
        const FIELDS: [(&str, AttrType); 14] = [
            ("f", AttrType::FLOAT),
            ("i", AttrType::INT),
            ("s", AttrType::STRING),
            ("t", AttrType::TENSOR),
            ("g", AttrType::GRAPH),
            ("floats", AttrType::FLOATS),
            ("ints", AttrType::INTS),
            ("strings", AttrType::STRINGS),
            ("tensors", AttrType::TENSORS),
            ("graphs", AttrType::GRAPHS),
            ("tp", AttrType::TYPE_PROTO),
            ("type_protos", AttrType::TYPE_PROTOS),
            ("sparse_tensor", AttrType::SPARSE_TENSOR),
            ("sparse_tensors", AttrType::SPARSE_TENSORS),
        ];
        let mut values: SmallVec<[(usize, AttrValue); 2]> = smallvec![];
        for part in &parts.items {
            let Some(value) = &part.value else {
                self.wrong_kind(part.span, "`field = value`");
                continue;
            };
            match self.text(part.name) {
                "type" => {
                    out.ty = int_at(self, value.span()).and_then(|n| i32::try_from(n).ok()).map(AttrType)
                }
                NOTHING => {}
                "ref_attr_name" => out.reference = Some(self.name(b.names, value.span())),
                key => {
                    let Some(order) = FIELDS.iter().position(|(k, _)| *k == key) else {
                        let known: Vec<_> =
                            FIELDS.iter().map(|(k, _)| *k).chain(["type", "ref_attr_name"]).collect();
                        self.unknown_key(part.name, &known);
                        continue;
                    };
                    let stated = Some(FIELDS[order].1);
                    if let Some(Some(mut value)) =
                        self.attr_value(b, value, stated, &part.notes, owner, part.span)
                    {
                        self.value_notes(b, &part.notes, Some(&mut value));
                        values.push((order, value));
                    }
                }
            }
        }
        values.sort_by_key(|(order, _)| *order);
        out.values = values.into_iter().map(|(_, v)| v).collect();
    }
}

/// The text of a type that is one word.
fn word<'s>(cx: &Cx<'s>, ty: &ast::Type) -> Option<&'s str> {
    match ty {
        ast::Type::Tensor { elem, dims: None } => Some(cx.text(*elem)),
        ast::Type::Tensor { .. } | ast::Type::Call { .. } | ast::Type::Unset(_) => None,
    }
}

/// Whether a word is the name of an element type, here or in other tools.
fn is_type(word: &str) -> bool {
    ElemType::from_name(word).is_some()
        || word == "elem_type"
        || aliases::elem_type(word).is_some()
        || aliases::likely_elem_type(word).is_some()
}

/// Whether the reference keeps a list of such values.
fn is_plain(cx: &Cx<'_>, value: &ast::AttrValue) -> bool {
    matches!(value, ast::AttrValue::Scalar(_)) || is_number(cx, value)
}

/// A number literal, including `inf` and `nan` (which the parser cannot distinguish from types).
fn is_number(cx: &Cx<'_>, value: &ast::AttrValue) -> bool {
    match value {
        ast::AttrValue::Scalar(s) => s.kind != ScalarKind::String,
        ast::AttrValue::Type(ty) => match &**ty {
            ast::Type::Tensor { elem, dims: None } => is_special(cx.text(*elem)),
            ast::Type::Tensor { .. } | ast::Type::Call { .. } | ast::Type::Unset(_) => false,
        },
        _ => false,
    }
}
