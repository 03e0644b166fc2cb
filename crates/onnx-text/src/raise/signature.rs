//! Signatures of operators.

use super::defaults::Defaults;
use super::{RaiseOptions, Raiser};
use crate::ast::{self, AttrValue, Element, Field, FieldValue, FormalCount, List, Notes, Type, TypeArg};
use crate::print::{FormatOptions, format_operator};
use onnx_ir::{
    AttrType, Formal, FormalAttr, FormalKind, FormalType, Model, Name, Presence, Signature, Trait, TypeId,
    TypeKind, TypeVariable,
};

/// The text of a signature, as in the documentation of the operator of this name. Names and bodies of the signature are those of
/// `model`, to which the name is added.
pub(crate) fn signature_text(name: &[u8], signature: &Signature, model: &mut Model) -> String {
    let name = model.names.intern_bytes(name);
    // Always with annotations, so that the text does not depend on what needs them.
    let defaults =
        Defaults { is_annotated: true, domain_is_set: false, tensor_name_is_set: false, ..Defaults::plain() };
    let mut raiser = Raiser::new(model, &RaiseOptions::default(), defaults);
    let start = raiser.out.here();
    let header = raiser.header_of(|this| this.signature_fields(signature));
    let keyword = raiser.out.put("operator");
    let name = raiser.name(name);
    let signature = Some(raiser.signature(signature));
    let span = raiser.out.since(start);
    let notes = Notes::default();
    let tree = ast::Operator { notes, header, keyword, name, signature, values: None, body: None, span };
    format_operator(&raiser.out.text, &tree, &[], &FormatOptions::default())
}

impl Raiser<'_> {
    /// A header of these fields; none without any.
    pub(super) fn header_of(&mut self, fields: impl FnOnce(&mut Self) -> Vec<Field>) -> Option<List<Field>> {
        let start = self.out.here();
        let items = fields(self);
        (!items.is_empty()).then(|| List { items, span: self.out.since(start) })
    }

    /// The fields of an operator's header that belong to its signature.
    pub(super) fn signature_fields(&mut self, signature: &Signature) -> Vec<Field> {
        let mut fields = Vec::new();
        if !signature.traits.is_empty() {
            fields.push(self.field("traits", |this| {
                this.list_value(&signature.traits, |this, what: &Trait| Element {
                    key: None,
                    value: FieldValue::Word(this.out.put(what.name())),
                })
            }));
        }
        for (key, counts) in
            [("num_inputs", &signature.input_counts), ("num_outputs", &signature.output_counts)]
        {
            if !counts.is_empty() {
                fields.push(self.field(key, |this| {
                    this.list_value(counts, |this, &count| Element {
                        key: None,
                        value: this.int_value(Some(count)),
                    })
                }));
            }
        }
        fields
    }

    pub(super) fn signature(&mut self, signature: &Signature) -> ast::Signature {
        let attrs = (!signature.attributes.is_empty()).then(|| {
            self.items("<", &signature.attributes, ">", |this, attr| this.attr_param(signature, attr))
        });
        let inputs = self.items("(", &signature.inputs, ")", Self::formal);
        let outputs = self.items("(", &signature.outputs, ")", Self::formal);
        let variables = (!signature.variables.is_empty()).then(|| {
            let keyword = self.out.put("where");
            let variables = signature.variables.iter().map(|v| self.variable(v)).collect();
            ast::WhereClause { keyword, variables }
        });
        ast::Signature { attrs, inputs, outputs, variables }
    }

    fn items<T, O>(
        &mut self,
        open: &str,
        items: &[T],
        close: &str,
        mut item: impl FnMut(&mut Self, &T) -> O,
    ) -> List<O> {
        let start = self.out.put(open);
        let items = items.iter().map(|it| item(self, it)).collect();
        self.out.put(close);
        List { items, span: self.out.since(start) }
    }

    fn attr_param(&mut self, signature: &Signature, formal: &FormalAttr) -> ast::AttrParam {
        let attr = &formal.attr;
        let mut notes = Notes::default();
        self.doc_note(&mut notes, attr.doc);
        if let Some(value) = attr.values.first() {
            self.value_notes(signature.body, &mut notes, value);
        }
        let start = self.out.here();
        let name = self.name(attr.name.unwrap_or(Name::empty()));
        let ty = attr.ty.and_then(AttrType::name).map(|ty| self.out.put(ty));
        let optional = (formal.presence == Presence::Optional).then(|| self.out.put("?"));
        let value = (formal.presence == Presence::Default).then(|| match attr.values.first() {
            Some(value) => self.attr_value(signature.body, value),
            None => AttrValue::List(Box::new(self.empty_list("[", "]"))),
        });
        let attr = ast::Attr { notes, name, ty, value, span: self.out.since(start) };
        ast::AttrParam { attr, optional }
    }

    fn formal(&mut self, formal: &Formal) -> ast::Formal {
        let mut notes = Notes::default();
        self.doc_note(&mut notes, formal.doc);
        let start = self.out.here();
        let is_mixed = matches!(formal.kind, FormalKind::Variadic { is_mixed: true, .. });
        let each = is_mixed.then(|| self.out.put("each"));
        let ty = match formal.ty {
            FormalType::Variable(name) => Type::Tensor { elem: self.name(name), dims: None },
            FormalType::Type(ty) => self.unranked_type(ty),
        };
        let count = match formal.kind {
            FormalKind::Single => FormalCount::One,
            FormalKind::Optional => FormalCount::Optional(self.out.put("?")),
            FormalKind::Variadic { min, .. } => {
                let dots = self.out.put("...");
                FormalCount::Variadic(dots, (min != 1).then(|| self.out.int(min)))
            }
        };
        let name = formal.name.map(|name| self.name(name));
        ast::Formal { notes, each, ty, count, name, span: self.out.since(start) }
    }

    fn variable(&mut self, variable: &TypeVariable) -> ast::Variable {
        let mut notes = Notes::default();
        self.doc_note(&mut notes, variable.doc);
        let name = self.name(variable.name);
        let types = self.items("{", &variable.types, "}", |this, &ty| this.unranked_type(ty));
        ast::Variable { notes, name, types }
    }

    /// A type of tensors of any shape: without the brackets that are needed elsewhere.
    fn unranked_type(&mut self, id: TypeId) -> Type {
        match &self.model.types[id].kind {
            TypeKind::Tensor(tensor) => Type::Tensor { elem: self.elem_type(tensor.elem), dims: None },
            TypeKind::SparseTensor(tensor) => self.call("sparse_tensor", |this| {
                vec![TypeArg::Type(Type::Tensor { elem: this.elem_type(tensor.elem), dims: None })]
            }),
            TypeKind::Sequence(inner) => self.call("seq", |this| this.unranked_arg(*inner)),
            TypeKind::Optional(inner) => self.call("optional", |this| this.unranked_arg(*inner)),
            TypeKind::Map { key, value } => self.call("map", |this| {
                let mut args = vec![TypeArg::Type(this.elem_type_alone(*key))];
                args.extend(this.unranked_arg(*value));
                args
            }),
            TypeKind::Opaque { .. } | TypeKind::Unset => self.ty(id),
        }
    }

    fn unranked_arg(&mut self, inner: Option<TypeId>) -> Vec<TypeArg> {
        inner.map(|inner| TypeArg::Type(self.unranked_type(inner))).into_iter().collect()
    }
}
