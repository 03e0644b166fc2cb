//! Types of a raised tree.

use super::{Profile, Raiser};
use crate::ast::{Dim, List, Name as Spelling, Type, TypeArg};
use crate::identifier::is_identifier;
use crate::visible::is_active_text;
use onnx_ir::diag::Span;
use onnx_ir::{DimValue, ElemType, Name, TensorType, TypeId, TypeKind};

impl Raiser<'_> {
    /// Whether a string can be quoted without escapes.
    pub(super) fn is_literal(&self, text: &str) -> bool {
        !(text.contains('\0') || self.options.visible && is_active_text(text))
    }

    /// Whether escapes, which are an extended form, are allowed; otherwise a loss is listed.
    pub(super) fn may_escape(&mut self, what: impl FnOnce() -> String) -> bool {
        if self.options.visible {
            self.is_extended = true;
            return true;
        }
        self.extend(what)
    }

    /// A name, quoted if it has to be.
    pub(super) fn name(&mut self, name: Name) -> Spelling {
        let names = &self.model.names;
        let text = &names[name];
        if is_identifier(text) {
            return self.out.put(text);
        }
        if names.is_utf8(name) && self.is_literal(text) {
            return self.out.string(text);
        }
        let bytes = names.bytes(name);
        if self.may_escape(|| format!("the name {text:?} is not UTF-8 text")) {
            self.out.bytes(bytes)
        } else {
            self.out.string(&text.replace('\0', "\u{fffd}"))
        }
    }

    /// A name where the reference expects identifiers separated by dots.
    pub(super) fn path(&mut self, name: Name, what: &str) -> Spelling {
        let text = &self.model.names[name];
        if text.split('.').all(is_identifier) { self.out.put(text) } else { self.identifier(name, what) }
    }

    /// A name where the reference expects an identifier.
    pub(super) fn identifier(&mut self, name: Name, what: &str) -> Spelling {
        let text = &self.model.names[name];
        if is_identifier(text) {
            return self.out.put(text);
        }
        if self.extend(|| format!("{what} {text:?} is not an identifier")) {
            return self.name(name);
        }
        let safe: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        self.out.put(&format!("_{safe}"))
    }

    /// Whether the profile has a form for a type; if not, it is listed.
    pub(super) fn can_say_type(&mut self, id: TypeId) -> bool {
        let can = self.options.profile != Profile::Reference || is_complete(&self.model.types, id);
        if !can {
            self.lose("a type that is incomplete, or has an element type without a name");
        }
        can
    }

    pub(super) fn ty(&mut self, id: TypeId) -> Type {
        let model = self.model;
        match &model.types[id].kind {
            TypeKind::Unset => {
                self.extend(|| "a type that is not set".to_owned());
                Type::Unset(self.out.put("?"))
            }
            TypeKind::Tensor(tensor) => self.tensor_type(tensor),
            TypeKind::SparseTensor(tensor) => self.call("sparse_tensor", |this| {
                let ty = this.tensor_type(tensor);
                vec![TypeArg::Type(ty)]
            }),
            TypeKind::Sequence(inner) => self.call("seq", |this| this.type_args(*inner)),
            TypeKind::Optional(inner) => self.call("optional", |this| this.type_args(*inner)),
            TypeKind::Map { key, value } => self.call("map", |this| {
                let key = TypeArg::Type(this.elem_type_alone(*key));
                let mut args = vec![key];
                args.extend(this.type_args(*value));
                args
            }),
            TypeKind::Opaque { domain, name } => self.call("opaque", |this| this.opaque_args(*domain, *name)),
        }
    }

    fn type_args(&mut self, inner: Option<TypeId>) -> Vec<TypeArg> {
        match inner {
            Some(inner) => vec![TypeArg::Type(self.ty(inner))],
            None => {
                self.extend(|| "a type whose element type is missing".to_owned());
                Vec::new()
            }
        }
    }

    fn opaque_args(&mut self, domain: Option<Name>, name: Option<Name>) -> Vec<TypeArg> {
        let what = "the opaque type";
        let mut args: Vec<_> = domain.map(|domain| self.path(domain, what)).into_iter().collect();
        match (domain, name) {
            (None, Some(name)) => args.push(self.path(name, what)),
            (Some(_), Some(name)) => args.push(self.identifier(name, what)),
            (Some(_), None) if self.extend(|| "an opaque type with a domain and no name".to_owned()) => {
                args.push(self.out.here());
            }
            (_, None) => {}
        }
        args.into_iter().map(TypeArg::Name).collect()
    }

    pub(super) fn call(&mut self, head: &str, args: impl FnOnce(&mut Self) -> Vec<TypeArg>) -> Type {
        let head = self.out.put(head);
        let open = self.out.put("(");
        let items = args(self);
        self.out.put(")");
        Type::Call { head, args: List { items, span: self.out.since(open) } }
    }

    fn tensor_type(&mut self, tensor: &TensorType) -> Type {
        let elem = self.elem_type(tensor.elem);
        let dims = match &tensor.shape {
            None => Some(Vec::new()),
            Some(dims) if dims.is_empty() => None,
            Some(dims) => Some(dims.iter().map(|d| d.value).collect()),
        };
        let dims = dims.map(|dims: Vec<_>| self.dims(&dims));
        Type::Tensor { elem, dims }
    }

    pub(super) fn dims(&mut self, dims: &[DimValue]) -> List<Dim> {
        let open = self.out.put("[");
        let dim = |d: &DimValue| match *d {
            DimValue::Unknown => Dim::Unknown(self.out.put("?")),
            DimValue::Value(value) => Dim::Int(self.out.int(value)),
            DimValue::Param(name) => Dim::Param(self.name(name)),
        };
        let items = dims.iter().map(dim).collect();
        self.out.put("]");
        List { items, span: self.out.since(open) }
    }

    /// The word of an element type, or `elem_type(99)`.
    pub(super) fn elem_type(&mut self, elem: Option<ElemType>) -> Span {
        match elem {
            Some(elem) => match elem.name() {
                Some(name) => self.out.put(name),
                None => {
                    self.extend(|| format!("the element type {}", elem.0));
                    self.out.put(&format!("elem_type({})", elem.0))
                }
            },
            None => {
                self.extend(|| "an element type that is not set".to_owned());
                self.out.put("elem_type()")
            }
        }
    }

    pub(super) fn elem_type_alone(&mut self, elem: Option<ElemType>) -> Type {
        Type::Tensor { elem: self.elem_type(elem), dims: None }
    }
}

/// Whether the reference has words for all parts of a type.
fn is_complete(types: &onnx_ir::Types, id: TypeId) -> bool {
    let known = |elem: Option<ElemType>| elem.is_some_and(|e| e.name().is_some());
    match &types[id].kind {
        TypeKind::Unset => false,
        TypeKind::Tensor(t) | TypeKind::SparseTensor(t) => known(t.elem),
        TypeKind::Sequence(inner) | TypeKind::Optional(inner) => inner.is_some_and(|t| is_complete(types, t)),
        TypeKind::Map { key, value } => known(*key) && value.is_some_and(|t| is_complete(types, t)),
        TypeKind::Opaque { domain, name } => name.is_some() || domain.is_none(),
    }
}
