//! Values in files of their own.

use super::literals::Escapes;
use super::{Cx, Fields, int_at, parse};
use crate::ast::{self, Content, MapPartValue, ValueKind};
use crate::lex::shown;
use crate::parse::Syntax;
use onnx_ir::diag::{Diagnostic, Edit, Parsed, Span, code, did_you_mean};
use onnx_ir::{Data, DataKind, MapData, Name, Names, OptionalData, Sequence, Tensor};

/// Reads a file with a value (`grammar/values.md`). Its names go into `names`. `None`: nothing could be read. Returns all
/// findings, in the order of the source.
///
/// ```
/// use onnx_ir::{Data, Names};
///
/// let mut names = Names::new();
/// let data = onnx_text::read_value("seq(tensor) s = [float[2] {1, 2}, float[1] {3}]", &mut names).into_result().unwrap();
/// let Some(Data::Sequence(s)) = data else { panic!("a sequence") };
/// assert_eq!((s.name.map(|n| &names[n]), s.tensors.len()), (Some("s"), 2));
/// ```
pub fn read_value(source: &str, names: &mut Names) -> Parsed<Option<Data>> {
    read_value_syntax(source, names).map(|(_, data)| data)
}

/// [`read_value`] with the syntax of the source.
pub(crate) fn read_value_syntax(
    source: &str,
    names: &mut Names,
) -> Parsed<(Syntax<Option<ast::Value>>, Option<Data>)> {
    super::fragment::read_tree(source, parse::parse_value, |cx, tree| cx.value_file(names, tree))
}

/// Reads a tensor, `float[2] w = {1, 2}`: type, name and `=` as in a list of initializers, but the last two may be
/// left out. Its names go into `names`.
///
/// ```
/// use onnx_ir::{ElemType, Names};
///
/// let mut names = Names::new();
/// let tensor = onnx_text::read_tensor("int64[3] axes = {0, 1, -1}", &mut names).into_result().unwrap();
/// assert_eq!(tensor.map(|t| (t.elem, t.element_count())), Some((Some(ElemType::INT64), Some(3))));
/// ```
pub fn read_tensor(source: &str, names: &mut Names) -> Parsed<Option<Tensor>> {
    let read =
        super::fragment::read(source, parse::parse_value, |cx, tree| match cx.value_file(names, tree) {
            Data::Tensor(tensor) => Some(tensor),
            Data::SparseTensor(_) | Data::Sequence(_) | Data::Map(_) | Data::Optional(_) => {
                cx.wrong_kind(tree.span, "a tensor");
                None
            }
        });
    read.map(Option::flatten)
}

impl Cx<'_> {
    /// The annotations before the value are the file's as well.
    fn value_file(&mut self, names: &mut Names, value: &ast::Value) -> Data {
        if !matches!(value.kind, ValueKind::Tensor(_)) {
            self.file_notes(names, &value.notes);
            self.only_conventions(&value.notes);
        }
        self.value(names, value)
    }

    /// Reports annotations without effect in a file with a value.
    pub(super) fn only_conventions(&mut self, notes: &ast::Notes) {
        use super::keys;
        for field in notes.fields() {
            if !matches!(self.text(field.key), keys::STORAGE | keys::SET | keys::STRINGS) {
                self.unknown_key(field.key, &[keys::STORAGE, keys::SET, keys::STRINGS]);
            }
        }
        self.no_docs(notes);
    }

    /// Reports annotations where there is nothing to annotate.
    fn no_notes(&mut self, notes: &ast::Notes) {
        for field in notes.fields() {
            self.unknown_key(field.key, &[]);
        }
        self.no_docs(notes);
    }

    fn no_docs(&mut self, notes: &ast::Notes) {
        if let Some(&line) = notes.docs().first() {
            let d = Diagnostic::new(&code::UNKNOWN_KEY, line, "only tensors can have documentation");
            self.report(d.label("write `#` for a plain comment"));
        }
    }

    fn value(&mut self, names: &mut Names, value: &ast::Value) -> Data {
        match &value.kind {
            ValueKind::Tensor(literal) => {
                let notes = self.tensor_notes(names, &value.notes);
                let name = literal.name.map(|n| self.name(names, n)).or(self.default_tensor_name);
                let ty = Some(&literal.ty);
                Data::Tensor(self.tensor_with(names, ty, name, &literal.data, notes, literal.span))
            }
            ValueKind::Sparse(literal) => {
                Data::SparseTensor(self.sparse_data(names, &literal.dims.items, &literal.parts, None))
            }
            ValueKind::Sequence(head, items) => {
                let (name, kind) = (self.head_name(names, head), self.kind(head));
                let mut sequence = Sequence { name, kind, ..Sequence::default() };
                for item in &items.items {
                    let item = self.element(names, item);
                    sequence.push(item);
                }
                Data::Sequence(sequence)
            }
            ValueKind::Map(head, parts) => Data::Map(self.map(names, head, parts)),
            ValueKind::Optional(head, content) => Data::Optional(self.optional(names, head, content)),
        }
    }

    /// A nested value.
    fn element(&mut self, names: &mut Names, value: &ast::Value) -> Data {
        if !matches!(value.kind, ValueKind::Tensor(_)) {
            self.no_notes(&value.notes);
        }
        self.value(names, value)
    }

    fn head_name(&mut self, names: &mut Names, head: &ast::ValueHead) -> Option<Name> {
        head.name.map(|name| self.name(names, name))
    }

    /// `tensor`, `sparse_tensor`, `seq`, `map`, `optional`, or a number.
    fn kind(&mut self, head: &ast::ValueHead) -> Option<DataKind> {
        let span = head.arg?;
        let text = self.text(span);
        if let Some(kind) = DataKind::from_name(text) {
            return Some(kind);
        }
        if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            let number = int_at(self, span)?;
            return i32::try_from(number).map(DataKind).ok().or_else(|| {
                self.wrong_kind(span, "the number of a kind");
                None
            });
        }
        let words = DataKind::ALL.iter().filter_map(|kind| kind.name());
        let near = did_you_mean(text, words).or_else(|| {
            // `seq(float[2])` is how the type of such a value is written.
            onnx_ir::ElemType::from_name(text.split('[').next().unwrap_or("")).map(|_| "tensor")
        });
        let mut d =
            Diagnostic::new(&code::UNKNOWN_TYPE, span, format!("unknown value kind `{}`", shown(text)))
                .label("expected `tensor`, `sparse_tensor`, `seq`, `map` or `optional`")
                .maybe_help(near.map(|n| format!("did you mean `{n}`?")));
        if let Some(near) = near {
            d = d.fix(format!("write `{near}`"), vec![Edit { span, text: near.into() }], false);
        }
        self.report(d);
        None
    }

    fn map(&mut self, names: &mut Names, head: &ast::ValueHead, parts: &ast::List<ast::MapPart>) -> MapData {
        let name = self.head_name(names, head);
        let mut map = MapData { name, key: head.arg.and_then(|a| self.elem_type(a)), ..MapData::default() };
        let mut seen: Vec<(&str, Span)> = Vec::new();
        for part in &parts.items {
            let key = self.text(part.key);
            if let Some(&(_, first)) = seen.iter().find(|(k, _)| *k == key) {
                let d = Diagnostic::new(&code::REPEATED_KEY, part.key, format!("`{key}` is given twice"));
                self.report(d.label("the second one").related(first, "the first one"));
                continue;
            }
            seen.push((key, part.key));
            match (key, &part.value) {
                ("keys", MapPartValue::Keys(list)) => {
                    map.keys = list.items.iter().filter_map(|e| Fields::HEADER.int(self, &e.value)).collect();
                }
                ("string_keys", MapPartValue::Keys(list)) => {
                    for element in &list.items {
                        match element.value {
                            ast::FieldValue::String(span) => {
                                map.string_keys.push(self.bytes(span, Escapes::Literal));
                            }
                            _ => self.wrong_kind(element.value.span(), "a string"),
                        }
                    }
                }
                ("values", MapPartValue::Values(value)) => match self.element(names, value) {
                    Data::Sequence(sequence) => map.values = Some(sequence),
                    _ => self.wrong_kind(value.span, "a sequence"),
                },
                ("values", MapPartValue::Keys(list)) => {
                    self.wrong_kind(list.span, "a sequence such as `seq(tensor) [float {1}]`");
                }
                ("keys" | "string_keys", MapPartValue::Values(value)) => {
                    self.wrong_kind(value.span, "a list of keys");
                }
                _ => self.unknown_key(part.key, &["keys", "string_keys", "values"]),
            }
        }
        map
    }

    fn optional(&mut self, names: &mut Names, head: &ast::ValueHead, content: &Content) -> OptionalData {
        let (name, kind) = (self.head_name(names, head), self.kind(head));
        let mut optional = OptionalData { name, kind, ..OptionalData::default() };
        let values = match content {
            Content::None(_) => &[],
            Content::One(value) => std::slice::from_ref(&**value),
            Content::Many(list) => &list.items[..],
        };
        for value in values {
            let data = self.element(names, value);
            if !optional.set(data) {
                let d = Diagnostic::new(&code::WRONG_KIND, value.span, "a second value of the same kind");
                self.report(d.label("an optional can have only one of each kind"));
            }
        }
        optional
    }
}
