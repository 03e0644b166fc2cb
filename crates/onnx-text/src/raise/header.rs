//! Headers of a raised tree.

use super::{Profile, Raiser};
use crate::ast::{Element, Field, FieldValue, Graph, List};
use onnx_ir::diag::Span;
use onnx_ir::{Name, OpsetImport, TrainingInfo};

impl Raiser<'_> {
    /// The header of the model; `None` if it is empty.
    pub(super) fn header(&mut self) -> Option<List<Field>> {
        let header = &self.model.header;
        let open = self.out.here();
        let mut fields = Vec::new();
        let mut int = |this: &mut Self, key, value: Option<i64>| {
            if value.is_some() {
                fields.push(this.field(key, |t| t.int_value(value)));
            }
        };
        int(self, "ir_version", header.ir_version);
        if !header.opset_imports.is_empty() {
            fields.push(self.opset_imports(&header.opset_imports));
        }
        for (key, value) in [
            ("producer_name", header.producer_name),
            ("producer_version", header.producer_version),
            ("domain", header.domain),
        ] {
            fields.extend(self.header_text(key, value));
        }
        if header.model_version.is_some() {
            fields.push(self.field("model_version", |t| t.int_value(header.model_version)));
        }
        fields.extend(self.header_text("doc_string", header.doc));
        if !header.metadata.is_empty() {
            fields.push(self.field("metadata_props", |this| {
                this.list_value(&header.metadata, |this, entry| {
                    let key = Some(this.header_string(entry.key));
                    Element { key, value: this.header_string(entry.value) }
                })
            }));
        }
        for info in &self.model.training {
            if self.extend(|| "training_info".to_owned()) {
                fields.push(self.training_info(info));
            }
        }
        (!fields.is_empty()).then(|| List { items: fields, span: self.out.since(open) })
    }

    pub(super) fn header_text(&mut self, key: &str, value: Option<Name>) -> Option<Field> {
        value.map(|_| self.field(key, |t| t.header_string(value)))
    }

    /// A string as the reference reads it; `_` for one that is absent.
    pub(super) fn header_string(&mut self, value: Option<Name>) -> FieldValue {
        match value {
            Some(name) => FieldValue::String(self.quoted(name)),
            None if self.extend(|| "an entry without a key or value".to_owned()) => {
                FieldValue::Word(self.out.put("_"))
            }
            None => FieldValue::String(self.out.string("")),
        }
    }

    /// A string in quotes.
    pub(super) fn quoted(&mut self, name: Name) -> Span {
        let names = &self.model.names;
        let text = &names[name];
        if names.is_utf8(name) && self.is_literal(text) {
            return self.out.string(text);
        }
        let bytes = names.bytes(name);
        if self.may_escape(|| format!("the text {text:?} is not UTF-8, or has a NUL")) {
            self.out.bytes(bytes)
        } else {
            self.out.string(&text.replace('\0', "\u{fffd}"))
        }
    }

    pub(super) fn opset_imports(&mut self, imports: &[OpsetImport]) -> Field {
        self.field("opset_import", |this| {
            this.list_value(imports, |this, import| {
                let key = Some(FieldValue::String(this.quoted(import.domain.unwrap_or(Name::empty()))));
                Element { key, value: this.int_value(Some(import.version.unwrap_or(0))) }
            })
        })
    }

    fn training_info(&mut self, info: &TrainingInfo) -> Field {
        self.field("training_info", |this| {
            this.record_value(|this| {
                let mut fields = Vec::new();
                for (key, body) in [("initialization", info.initialization), ("algorithm", info.algorithm)] {
                    if let Some(body) = body {
                        fields
                            .push(this.field(key, |this| FieldValue::Graph(Box::new(this.root(body, None)))));
                    }
                }
                for (key, bindings) in [
                    ("initialization_binding", &info.initialization_bindings),
                    ("update_binding", &info.update_bindings),
                ] {
                    if !bindings.is_empty() {
                        fields.push(this.field(key, |this| this.entries_value(bindings)));
                    }
                }
                fields
            })
        })
    }

    /// A graph for a model without one, marked by `unset: [graph]`. The reference would read an empty graph, so the name has a
    /// form that it rejects.
    pub(super) fn placeholder(&mut self) -> Graph {
        let start = self.out.here();
        self.is_extended |= self.options.profile != Profile::Reference;
        let name = if self.is_extended { self.out.bytes(&[]) } else { self.out.string("") };
        let inputs = Some(self.empty_list("(", ")"));
        let outputs = self.empty_list("(", ")");
        let body_span = self.empty_list::<()>("{", "}").span;
        let span = self.out.since(start);
        Graph { name, inputs, outputs, body_span, span, ..Graph::default() }
    }

    pub(super) fn empty_list<T>(&mut self, open: &str, close: &str) -> List<T> {
        let start = self.out.put(open);
        self.out.put(close);
        List { items: Vec::new(), span: self.out.since(start) }
    }
}
