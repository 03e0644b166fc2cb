//! Values in files of their own.

use super::line::Printer;
use super::list::{BRACES, Layout, ListStyle, SQUARE};
use crate::ast::{Content, Data, List, MapPart, MapPartValue, TensorLiteral, Value, ValueHead, ValueKind};

impl Printer<'_> {
    /// `seq(tensor) name = [float {1}, float {2}]`
    pub(super) fn value(&mut self, value: &Value) {
        self.notes(&value.notes);
        self.begin(value.span.start);
        match &value.kind {
            ValueKind::Tensor(tensor) => self.tensor_value(tensor),
            ValueKind::Sparse(sparse) => self.sparse(sparse),
            ValueKind::Sequence(head, items) => {
                self.value_head(head);
                self.values(items);
            }
            ValueKind::Map(head, parts) => {
                self.value_head(head);
                let layout = Layout::broken_if(parts.items.iter().any(|part| self.part_breaks(part)));
                self.list(BRACES, parts, ListStyle::Lines, layout, Self::map_part);
            }
            ValueKind::Optional(head, content) => {
                self.value_head(head);
                if head.name.is_none() {
                    self.put("=");
                    self.space();
                }
                match content {
                    Content::None(span) => self.put_span(*span),
                    Content::One(value) => self.value(value),
                    Content::Many(items) => self.values(items),
                }
            }
        }
    }

    /// `float[2] name = {1, 2}`, as an initializer; `float[2] {1, 2}` without a name.
    fn tensor_value(&mut self, tensor: &TensorLiteral) {
        self.ty(&tensor.ty);
        self.space();
        if let Some(name) = tensor.name {
            self.put_span(name);
            self.space();
        }
        // Without a name, what begins like a list of dimensions or of parts would be read as one.
        if tensor.name.is_some()
            || matches!(tensor.data, Data::External(_) | Data::Record(_) | Data::Sparse(_))
        {
            self.put("=");
            self.space();
        }
        self.data(&tensor.data);
    }

    /// `seq(tensor) name = `; without a name no `=`.
    fn value_head(&mut self, head: &ValueHead) {
        self.put_span(head.word);
        self.put_at(head.args.start, "(");
        if let Some(arg) = head.arg {
            self.words(arg);
        }
        self.put(")");
        self.space();
        if let Some(name) = head.name {
            self.put_span(name);
            self.space();
            self.put("=");
            self.space();
        }
    }

    fn values(&mut self, items: &List<Value>) {
        let layout = Layout::broken_if(items.items.iter().any(|value| self.value_is_long(value)));
        self.list(SQUARE, items, ListStyle::Lines, layout, Self::value);
    }

    fn map_part(&mut self, part: &MapPart) {
        self.put_span(part.key);
        self.space();
        self.put("=");
        self.space();
        match &part.value {
            MapPartValue::Keys(keys)
                if self.are_too_many(keys.items.len()) && !self.has_comment_before(keys.span.end) =>
            {
                let source = self.source;
                let texts = keys.items.iter().map(|k| source.get(k.value.span().range()).unwrap_or_default());
                self.long(SQUARE, keys.span, keys.items.len(), texts);
            }
            MapPartValue::Keys(keys) => {
                self.list(SQUARE, keys, ListStyle::Fill, Layout::Auto, |p, key| p.put_span(key.value.span()));
            }
            MapPartValue::Values(value) => self.value(value),
        }
    }

    fn part_breaks(&self, part: &MapPart) -> bool {
        match &part.value {
            MapPartValue::Keys(keys) => self.are_too_many(keys.items.len()),
            MapPartValue::Values(value) => self.value_is_long(value),
        }
    }

    /// Whether a value certainly needs more than one line.
    fn value_is_long(&self, value: &Value) -> bool {
        if !value.notes.is_empty() {
            return true;
        }
        match &value.kind {
            ValueKind::Tensor(tensor) => self.is_long(&tensor.data),
            ValueKind::Sparse(sparse) => sparse.parts.items.iter().any(|part| self.breaks(part)),
            ValueKind::Sequence(_, items) | ValueKind::Optional(_, Content::Many(items)) => {
                items.items.iter().any(|value| self.value_is_long(value))
            }
            ValueKind::Map(_, parts) => parts.items.iter().any(|part| self.part_breaks(part)),
            ValueKind::Optional(_, Content::One(value)) => self.value_is_long(value),
            ValueKind::Optional(_, Content::None(_)) => false,
        }
    }
}
