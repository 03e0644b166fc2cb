//! Signatures of operators.

use super::{Cx, Escapes, Fields, int_at, unquote};
use crate::ast::{self, Element, Field, FieldValue, FormalCount, List};
use crate::lex::ANNOTATED;
use crate::parse;
use onnx_ir::diag::{Diagnostic, Span, code, did_you_mean};
use onnx_ir::{
    Attr, AttrType, BodyBuilder, ElemType, Formal, FormalAttr, FormalKind, FormalType, Model, Names,
    Presence, Signature, TensorType, Trait, TypeId, TypeKind, TypeVariable, Types,
};

const TRAITS: &str = "traits";
const INPUT_COUNTS: &str = "num_inputs";
const OUTPUT_COUNTS: &str = "num_outputs";

/// Whether a key of an operator's header is a part of its signature.
pub(super) fn is_of_signature(key: &str) -> bool {
    matches!(key, TRAITS | INPUT_COUNTS | OUTPUT_COUNTS)
}

/// The signature of the operator of this name in a text. `None` if there is none, or more than a signature.
pub(crate) fn read_signature(text: &str, name: &[u8], model: &mut Model) -> Option<Signature> {
    let source = format!("{ANNOTATED}\n{text}");
    let parsed = parse::parse_operator(&source);
    if !parsed.diagnostics.is_empty() {
        return None;
    }
    lower_signature(&source, &parsed.value.tree?, name, model)
}

/// The signature in the tree of an operator with this name, if the tree has no other effect. `None` also if it has errors.
fn lower_signature(source: &str, tree: &ast::Operator, name: &[u8], model: &mut Model) -> Option<Signature> {
    let mut cx = Cx::new(source, true);
    let header = tree.header.as_ref();
    let is_alone = tree.notes.is_empty()
        && tree.body.is_none()
        && header.iter().flat_map(|h| &h.items).all(|field| is_of_signature(cx.text(field.key)));
    let has_name = *unquote(cx.text(tree.name), Escapes::Literal) == *name;
    let signature = tree.signature.as_ref().filter(|_| is_alone && has_name)?;
    let signature = cx.signature(model, signature, header);
    cx.diagnostics.is_empty().then_some(signature)
}

impl Cx<'_> {
    /// A signature, with the fields of the operator's header that belong to it.
    pub(super) fn signature(
        &mut self,
        model: &mut Model,
        tree: &ast::Signature,
        header: Option<&List<Field>>,
    ) -> Signature {
        let mut b = BodyBuilder::new(model);
        // Graphs of defaults are nested in a placeholder graph.
        b.begin_graph(None, None);
        let attrs = tree.attrs.as_ref().map_or(&[][..], |list| &list.items);
        let attributes = attrs.iter().filter_map(|attr| self.attr_param(&mut b, attr)).collect();
        b.end_graph();
        let body = b.finish();
        let (names, types) = (&mut model.names, &mut model.types);
        let mut signature = Signature { attributes, ..Signature::new(body) };
        signature.inputs = self.formals(names, types, &tree.inputs);
        signature.outputs = self.formals(names, types, &tree.outputs);
        for variable in tree.variables.iter().flat_map(|clause| &clause.variables) {
            let name = self.name(names, variable.name);
            let doc = self.doc_alone(names, &variable.notes);
            let types = variable.types.items.iter().filter_map(|ty| self.type_of_set(names, types, ty));
            signature.variables.push(TypeVariable { name, types: types.collect(), doc });
        }
        for field in header.iter().flat_map(|header| &header.items) {
            match self.text(field.key) {
                TRAITS => signature.traits = self.traits(&field.value),
                INPUT_COUNTS => signature.input_counts = Fields::HEADER.ints(self, &field.value),
                OUTPUT_COUNTS => signature.output_counts = Fields::HEADER.ints(self, &field.value),
                _ => {}
            }
        }
        signature
    }

    fn traits(&mut self, value: &FieldValue) -> Vec<Trait> {
        let FieldValue::List(list) = value else {
            self.wrong_kind(value.span(), "a list of words");
            return Vec::new();
        };
        let mut traits: Vec<Trait> = list.items.iter().filter_map(|e| self.one_trait(e)).collect();
        traits.sort_unstable();
        traits.dedup();
        traits
    }

    fn one_trait(&mut self, element: &Element) -> Option<Trait> {
        let span = element.value.span();
        let text = self.text(span);
        let found = Trait::ALL.into_iter().find(|t| t.name() == text);
        if found.is_none() {
            let names = Trait::ALL.map(Trait::name);
            let near = did_you_mean(text, names).map(|near| format!("did you mean `{near}`?"));
            let d = Diagnostic::new(
                &code::UNKNOWN_KEY,
                span,
                format!("unknown trait `{}`", crate::lex::shown(text)),
            );
            let label = format!("expected {}", crate::lex::one_of(&names));
            self.report(d.label(label).maybe_help(near));
        }
        found
    }

    fn attr_param(&mut self, b: &mut BodyBuilder<'_>, tree: &ast::AttrParam) -> Option<FormalAttr> {
        let stated = tree.attr.ty.and_then(|span| AttrType::from_name(self.text(span)));
        let presence = match (&tree.attr.value, tree.optional) {
            (Some(value), _) => {
                if let ast::AttrValue::Reference(_) | ast::AttrValue::Record(_) = value {
                    self.wrong_kind(value.span(), "a value of the type");
                    return None;
                }
                let attr = self.attr(b, &tree.attr, None)?;
                if attr.values.iter().any(|value| Some(value.ty()) != stated) {
                    return None; // already reported
                }
                if let Some(mark) = tree.optional {
                    let message = "an attribute with a default is already optional";
                    self.report(
                        Diagnostic::new(&code::STRAY_PUNCTUATION, mark, message).label("has no effect"),
                    );
                }
                return Some(FormalAttr { attr, presence: Presence::Default });
            }
            (None, Some(_)) => Presence::Optional,
            (None, None) => Presence::Required,
        };
        let name = Some(self.name(b.names, tree.attr.name));
        let ty = tree.attr.ty.and_then(|span| self.attr_type(span));
        let doc = self.doc_alone(b.names, &tree.attr.notes);
        Some(FormalAttr { attr: Attr { name, ty, doc, ..Attr::default() }, presence })
    }

    fn formals(&mut self, names: &mut Names, types: &mut Types, list: &List<ast::Formal>) -> Vec<Formal> {
        list.items.iter().filter_map(|formal| self.formal(names, types, formal)).collect()
    }

    fn formal(&mut self, names: &mut Names, types: &mut Types, tree: &ast::Formal) -> Option<Formal> {
        let doc = self.doc_alone(names, &tree.notes);
        let kind = match tree.count {
            FormalCount::One => FormalKind::Single,
            FormalCount::Optional(_) => FormalKind::Optional,
            FormalCount::Variadic(_, least) => {
                FormalKind::Variadic { min: self.least(least), is_mixed: tree.each.is_some() }
            }
        };
        if let (Some(each), FormalKind::Single | FormalKind::Optional) = (tree.each, kind) {
            let d = Diagnostic::new(&code::WRONG_KIND, each, "a single value has only one type");
            self.report(d.label("write `each` only before a type with `...`"));
        }
        let name = tree.name.map(|name| self.name(names, name));
        let ty = self.formal_type(names, types, &tree.ty)?;
        Some(Formal { name, ty, kind, doc })
    }

    /// The number after `...`, by default 1.
    fn least(&mut self, span: Option<Span>) -> u32 {
        let Some(span) = span else { return 1 };
        let number = int_at(self, span).unwrap_or(1);
        u32::try_from(number).unwrap_or_else(|_| {
            self.wrong_kind(span, "a number of values");
            1
        })
    }

    /// A type, or a word that is none and so the name of a variable.
    fn formal_type(&mut self, names: &mut Names, types: &mut Types, ty: &ast::Type) -> Option<FormalType> {
        match ty {
            ast::Type::Tensor { elem, dims: None } if is_variable(self.text(*elem)) => {
                Some(FormalType::Variable(self.name(names, *elem)))
            }
            ty => self.type_of_set(names, types, ty).map(FormalType::Type),
        }
    }

    /// A type without shapes.
    fn type_of_set(&mut self, names: &mut Names, types: &mut Types, ty: &ast::Type) -> Option<TypeId> {
        if let ast::Type::Unset(span) = ty {
            self.wrong_kind(*span, "a type");
            return None;
        }
        if let Some(dims) = shape_in(ty) {
            let d = Diagnostic::new(&code::WRONG_KIND, dims, "types in signatures have no shape");
            self.report(d.label("every shape is accepted").fix(
                "remove the shape",
                vec![onnx_ir::diag::Edit { span: dims, text: String::new() }],
                true,
            ));
        }
        let before = self.diagnostics.len();
        let id = self.type_id(names, types, ty);
        (self.diagnostics.len() == before).then(|| unranked(types, id))
    }
}

/// Whether a word is not a type of the syntax.
fn is_variable(word: &str) -> bool {
    ElemType::from_name(word).is_none() && !word.starts_with("elem_type")
}

/// The first shape in a type.
fn shape_in(ty: &ast::Type) -> Option<Span> {
    match ty {
        ast::Type::Unset(_) => None,
        ast::Type::Tensor { dims, .. } => dims.as_ref().map(|dims| dims.span),
        ast::Type::Call { args, .. } => args.items.iter().find_map(|arg| match arg {
            ast::TypeArg::Type(ty) => shape_in(ty),
            ast::TypeArg::Name(_) => None,
        }),
    }
}

/// The type with tensors of any rank. Types nest no deeper than brackets do.
fn unranked(types: &mut Types, id: TypeId) -> TypeId {
    let mut ty = types[id].clone();
    match &mut ty.kind {
        TypeKind::Tensor(TensorType { shape, .. }) | TypeKind::SparseTensor(TensorType { shape, .. }) => {
            *shape = None;
        }
        TypeKind::Sequence(inner) | TypeKind::Optional(inner) | TypeKind::Map { value: inner, .. } => {
            *inner = inner.map(|inner| unranked(types, inner));
        }
        TypeKind::Opaque { .. } | TypeKind::Unset => {}
    }
    types.intern(ty)
}
