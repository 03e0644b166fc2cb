//! Types.

use super::{Cx, aliases, int_at};
use crate::ast;
use crate::lex::Kind;
use onnx_ir::diag::{Diagnostic, Edit, Span, code, counted, did_you_mean};
use onnx_ir::{BodyBuilder, Dim, DimValue, ElemType, Name, Names, TensorType, Type, TypeId, TypeKind, Types};

/// Words that begin a type with parentheses.
const HEADS: [&str; 5] = ["seq", "map", "optional", "sparse_tensor", "opaque"];

impl Cx<'_> {
    pub(super) fn ty(&mut self, b: &mut BodyBuilder<'_>, ty: &ast::Type) -> TypeId {
        self.type_id(b.names, b.types, ty)
    }

    pub(super) fn type_id(&mut self, names: &mut Names, types: &mut Types, ty: &ast::Type) -> TypeId {
        let kind = self.type_kind(names, types, ty);
        types.intern(kind.into())
    }

    fn type_kind(&mut self, names: &mut Names, types: &mut Types, ty: &ast::Type) -> TypeKind {
        match ty {
            ast::Type::Unset(_) => TypeKind::Unset,
            ast::Type::Tensor { elem, dims } => TypeKind::Tensor(TensorType {
                elem: self.elem_type(*elem),
                shape: self.shape(names, dims.as_ref()),
            }),
            ast::Type::Call { head, args } => match self.text(*head) {
                "seq" => TypeKind::Sequence(self.one_type(names, types, *head, args)),
                "optional" => TypeKind::Optional(self.one_type(names, types, *head, args)),
                "sparse_tensor" => match self.args(*head, args, 0..=1).first() {
                    None => TypeKind::SparseTensor(TensorType::default()),
                    Some(arg) => {
                        let kind = match arg {
                            ast::TypeArg::Type(ty) => self.type_kind(names, types, ty),
                            ast::TypeArg::Name(_) => TypeKind::Opaque { domain: None, name: None },
                        };
                        match kind {
                            TypeKind::Tensor(tensor) => TypeKind::SparseTensor(tensor),
                            // A type without a name has been reported.
                            TypeKind::Unset => TypeKind::SparseTensor(TensorType::default()),
                            _ => {
                                self.wrong_kind(arg_span(arg), "a tensor type");
                                TypeKind::SparseTensor(TensorType::default())
                            }
                        }
                    }
                },
                "map" => {
                    let args = self.args(*head, args, 0..=2);
                    let key = args.first().and_then(|a| match a {
                        ast::TypeArg::Type(ast::Type::Tensor { elem, dims: None }) => self.elem_type(*elem),
                        ast::TypeArg::Type(call @ ast::Type::Call { .. }) => self.elem_type(call.span()),
                        other => {
                            let at = arg_span(other);
                            if !at.is_empty() {
                                self.wrong_kind(at, "an element type");
                            }
                            None
                        }
                    });
                    let value = args.get(1).and_then(|a| self.type_arg(names, types, a));
                    TypeKind::Map { key, value }
                }
                "opaque" => {
                    let args = self.args(*head, args, 0..=2);
                    let mut parts = [None, None];
                    for (part, arg) in parts.iter_mut().zip(args) {
                        *part = self.opaque_part(names, arg);
                    }
                    match (args.len(), parts) {
                        (2, [domain, name]) => TypeKind::Opaque { domain, name },
                        (_, [name, _]) => TypeKind::Opaque { domain: None, name },
                    }
                }
                // `elem_type(99)` without dimensions.
                "elem_type" => {
                    TypeKind::Tensor(TensorType { elem: self.elem_type(ty.span()), shape: Some(Vec::new()) })
                }
                // `tensor(float)`, as signatures of operators have it.
                "tensor"
                    if matches!(
                        &args.items[..],
                        [ast::TypeArg::Type(ast::Type::Tensor { dims: None, .. })]
                    ) =>
                {
                    self.schema_type(ty.span(), &args.items[0])
                }
                // `float(N, 4)`
                word if ElemType::from_name(word).is_some() => {
                    self.dims_in_parentheses(args.span);
                    TypeKind::Tensor(TensorType { elem: ElemType::from_name(word), shape: None })
                }
                _ => {
                    self.unknown_type(*head);
                    TypeKind::Unset
                }
            },
        }
    }

    fn dims_in_parentheses(&mut self, args: Span) {
        let open = Span::new(args.start, args.start + 1);
        let edits = crate::lex::other_brackets(self.source, args, &[')'], ["[", "]"]);
        self.report(
            Diagnostic::new(&code::FOREIGN_SPELLING, open, "expected `[`, found `(`")
                .label("the shape of a tensor is written in `[…]`")
                .help("write it between `[` and `]`")
                .maybe_fix("use `[…]`", edits, false),
        );
    }

    fn schema_type(&mut self, span: Span, arg: &ast::TypeArg) -> TypeKind {
        let inner = self.text(arg_span(arg));
        let message = format!("unknown type `{}`", crate::lex::shown(self.text(span)));
        self.report(
            Diagnostic::new(&code::UNKNOWN_TYPE, span, message)
                .label("a tensor type is written as element type and shape")
                .help(format!("write `{inner}[]`, or `{inner}` for a scalar")),
        );
        TypeKind::Tensor(TensorType { elem: ElemType::from_name(inner), shape: None })
    }

    fn one_type(
        &mut self,
        names: &mut Names,
        types: &mut Types,
        head: Span,
        args: &ast::List<ast::TypeArg>,
    ) -> Option<TypeId> {
        let arg = self.args(head, args, 0..=1).first()?;
        self.type_arg(names, types, arg)
    }

    fn type_arg(&mut self, names: &mut Names, types: &mut Types, arg: &ast::TypeArg) -> Option<TypeId> {
        match arg {
            ast::TypeArg::Type(ty) => Some(self.type_id(names, types, ty)),
            ast::TypeArg::Name(span) => {
                if !span.is_empty() {
                    self.wrong_kind(*span, "a type");
                }
                None
            }
        }
    }

    fn args<'a>(
        &mut self,
        head: Span,
        args: &'a ast::List<ast::TypeArg>,
        count: std::ops::RangeInclusive<usize>,
    ) -> &'a [ast::TypeArg] {
        if let Some(extra) = args.items.get(*count.end()) {
            let text = format!("`{}` accepts at most {}", self.text(head), counted(*count.end(), "argument"));
            self.report(
                Diagnostic::new(&code::WRONG_KIND, arg_span(extra), text).label("one argument too many"),
            );
        }
        &args.items[..args.items.len().min(*count.end())]
    }

    fn opaque_part(&mut self, names: &mut Names, arg: &ast::TypeArg) -> Option<Name> {
        match arg {
            ast::TypeArg::Name(span) if span.is_empty() => None,
            ast::TypeArg::Name(span) => Some(self.dotted(names, *span)),
            ast::TypeArg::Type(ast::Type::Tensor { elem, dims: None }) => Some(self.name(names, *elem)),
            ast::TypeArg::Type(ty) => {
                self.wrong_kind(ty.span(), "a name");
                None
            }
        }
    }

    /// `float`, `elem_type(99)`, or `elem_type()` for one that is not set.
    pub(super) fn elem_type(&mut self, span: Span) -> Option<ElemType> {
        let text = self.text(span);
        if let Some(elem) = ElemType::from_name(text) {
            return Some(elem);
        }
        if text.starts_with("elem_type") {
            let tokens = crate::lex::lex(text).tokens;
            let digits = tokens.iter().find(|t| t.kind == Kind::Int).map_or("", |t| &text[t.span.range()]);
            if digits.is_empty() {
                return None;
            }
            if let Ok(number) = digits.parse() {
                return Some(ElemType(number));
            }
            self.wrong_kind(span, "the number of an element type");
            return None;
        }
        // `tensor(float)[N]`
        if let Some(inner) = text.strip_prefix("tensor(").and_then(|rest| rest.strip_suffix(')'))
            && let Some(elem) = ElemType::from_name(inner.trim())
        {
            let message = format!("unknown type `{}`", crate::lex::shown(text));
            let fix = vec![Edit { span, text: inner.trim().into() }];
            self.report(
                Diagnostic::new(&code::UNKNOWN_TYPE, span, message)
                    .label("a tensor type is written as element type and shape")
                    .help(format!("write `{}`", inner.trim()))
                    .fix(format!("write `{}`", inner.trim()), fix, true),
            );
            return Some(elem);
        }
        self.unknown_type(span)
    }

    /// Reports an unknown type; returns the only likely element type.
    fn unknown_type(&mut self, span: Span) -> Option<ElemType> {
        let text = self.text(span);
        let names = ElemType::ALL.iter().filter_map(|e| e.name()).chain(HEADS);
        let same = aliases::elem_type(text);
        let near = same.or_else(|| aliases::likely_elem_type(text)).or_else(|| did_you_mean(text, names));
        let mut d =
            Diagnostic::new(&code::UNKNOWN_TYPE, span, format!("unknown type `{}`", crate::lex::shown(text)))
                .label("no type has this name")
                .maybe_help(near.map(|n| format!("did you mean `{n}`?")));
        if let Some(near) = near {
            d = d.fix(format!("write `{near}`"), vec![Edit { span, text: near.into() }], same.is_some());
        }
        self.report(d);
        same.and_then(ElemType::from_name)
    }

    fn shape(&mut self, names: &mut Names, dims: Option<&ast::List<ast::Dim>>) -> Option<Vec<Dim>> {
        let Some(dims) = dims else { return Some(Vec::new()) };
        if dims.items.is_empty() {
            return None;
        }
        let dim = |d: &ast::Dim| match *d {
            ast::Dim::Unknown(_) => DimValue::Unknown,
            ast::Dim::Int(span) => int_at(self, span).map_or(DimValue::Unknown, DimValue::Value),
            ast::Dim::Param(span) => DimValue::Param(self.name(names, span)),
            ast::Dim::Expr(span) => DimValue::Param(names.intern(&dim_expression(self.text(span)))),
        };
        Some(dims.items.iter().map(dim).map(Dim::from).collect())
    }

    /// A type with denotations from an annotation: `["": "IMAGE", "0": "DATA_BATCH", "elem.1": "…"]`.
    pub(super) fn denote(
        &mut self,
        types: &mut Types,
        ty: TypeId,
        path: &str,
        denotation: Name,
    ) -> Option<TypeId> {
        let mut new: Type = types[ty].clone();
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        match (first, &mut new.kind) {
            ("", _) => new.denotation = Some(denotation),
            ("elem", TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)))
            | ("value", TypeKind::Map { value: Some(inner), .. }) => {
                *inner = self.denote(types, *inner, rest, denotation)?;
            }
            (axis, TypeKind::Tensor(t) | TypeKind::SparseTensor(t)) => {
                t.shape.as_mut()?.get_mut(axis.parse::<usize>().ok()?)?.denotation = Some(denotation);
            }
            _ => return None,
        }
        Some(types.intern(new))
    }
}

/// The name of a dimension that is an expression without quotes: without white space and comments, but for a blank after a comma, and for
/// those that tell a difference or quotient of symbols from a name, as `M - N` (`grammar/dimensions.md`).
pub(crate) fn dim_expression(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        let end = [line.find('#'), line.find("//")].into_iter().flatten().min().unwrap_or(line.len());
        plain.extend(line[..end].chars().filter(|c| !c.is_whitespace()));
    }
    let is_sign = |c: char| matches!(c, '-' | '/');
    let is_joined = plain.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || is_sign(c))
        && plain.split(is_sign).filter(|part| part.starts_with(|c: char| !c.is_ascii_digit())).count() > 1;
    match is_joined {
        true => plain.replace('-', " - ").replace('/', " / "),
        false => plain.replace(',', ", "),
    }
}

fn arg_span(arg: &ast::TypeArg) -> Span {
    match arg {
        ast::TypeArg::Type(ty) => ty.span(),
        ast::TypeArg::Name(span) => *span,
    }
}
