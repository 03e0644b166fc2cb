//! The header of a model.

use super::{Cx, Fields, int_at};
use crate::ast::{self, Element, FieldValue};
use onnx_ir::diag::{Diagnostic, Edit, Span, code};
use onnx_ir::{BodyBuilder, BodyId, Model, Name, Names, OpsetImport, TrainingInfo};
use std::collections::HashMap;

const KEYS: [&str; 9] = [
    "ir_version",
    "opset_import",
    "producer_name",
    "producer_version",
    "domain",
    "model_version",
    "doc_string",
    "metadata_props",
    "training_info",
];

impl Cx<'_> {
    pub(super) fn header(&mut self, model: &mut Model, file: &ast::File) {
        let fields = Fields::HEADER;
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for field in file.header.iter().flat_map(|h| &h.items) {
            let key = self.text(field.key);
            // There may be any number of these.
            let first = if key == "training_info" { None } else { seen.get(key).copied() };
            if let Some(first) = first {
                let d = Diagnostic::new(&code::REPEATED_KEY, field.key, format!("`{key}` is given twice"));
                self.report(d.label("the second one").related(first, "the first one"));
            } else {
                seen.insert(key, field.key);
            }
            let (names, value) = (&mut model.names, &field.value);
            match key {
                "ir_version" => model.header.ir_version = fields.int(self, value),
                "model_version" => model.header.model_version = fields.int(self, value),
                "opset_import" => model.header.opset_imports.extend(self.opset_imports(names, value)),
                "producer_name" => model.header.producer_name = fields.text(self, names, value),
                "producer_version" => model.header.producer_version = fields.text(self, names, value),
                "domain" => model.header.domain = fields.text(self, names, value),
                "doc_string" => model.header.doc = fields.text(self, names, value),
                "metadata_props" => model.header.metadata.extend(fields.entries(self, names, value)),
                // Bodies are in the order of the wire format: training comes last.
                "training_info" => {}
                "opset" | "opsets" | "opset_imports" | "opset_version" => {
                    self.misnamed_imports(names, field, &mut model.header.opset_imports);
                }
                _ => self.unknown_key(field.key, &KEYS),
            }
        }
    }

    pub(super) fn training(&mut self, model: &mut Model, file: &ast::File) {
        for field in file.header.iter().flat_map(|h| &h.items) {
            if self.text(field.key) == "training_info"
                && let Some(info) = self.training_info(model, &field.value)
            {
                model.training.push(info);
            }
        }
    }

    /// `["": 21, "com.acme": 1]`
    pub(super) fn opset_imports(&mut self, names: &mut Names, value: &FieldValue) -> Vec<OpsetImport> {
        let list = match value {
            FieldValue::List(list) => list,
            // `21`, `{"": 21}`
            FieldValue::Int(span) => {
                let text = format!("[\"\": {}]", self.text(*span));
                let edits = vec![Edit { span: *span, text: text.clone() }];
                self.wrong_imports(value.span(), &text, Some(edits), true);
                return vec![OpsetImport { domain: Some(Name::empty()), version: int_at(self, *span) }];
            }
            FieldValue::Record(record) => {
                let edits = crate::lex::other_brackets(self.source, record.span, &['}'], ["[", "]"]);
                let right = format!("[{}]", self.text(record.span).trim_matches(['{', '}']));
                self.wrong_imports(record.span, &right, edits, true);
                let import = |field: &ast::Field| OpsetImport {
                    domain: Some(self.name(names, field.key)),
                    version: Fields::HEADER.int(self, &field.value),
                };
                return record.items.iter().map(import).collect();
            }
            FieldValue::String(span) if is_version(self.text(*span)) => {
                let version = self.text(*span).trim_matches('"');
                self.wrong_imports(*span, &format!("[\"\": {version}]"), None, false);
                return Vec::new();
            }
            _ => {
                self.wrong_kind(value.span(), "a list such as `[\"\": 21]`");
                return Vec::new();
            }
        };
        let mut out = Vec::with_capacity(list.items.len());
        for Element { key, value } in &list.items {
            let Some(key) = key else {
                // The number alone: of the operators of ONNX, most likely.
                if let FieldValue::Int(span) = value {
                    let text = format!("\"\": {}", self.text(*span));
                    let edits = vec![Edit { span: *span, text: text.clone() }];
                    self.wrong_imports(*span, &text, Some(edits), false);
                    out.push(OpsetImport { domain: Some(Name::empty()), version: int_at(self, *span) });
                } else if let FieldValue::String(span) = value
                    && is_version(self.text(*span))
                {
                    let version = self.text(*span).trim_matches('"');
                    self.wrong_imports(*span, &format!("\"\": {version}"), None, false);
                } else {
                    self.wrong_kind(value.span(), "a pair such as `\"\": 21`");
                }
                continue;
            };
            let domain = Fields::HEADER.text(self, names, key);
            out.push(OpsetImport { domain, version: Fields::HEADER.int(self, value) });
        }
        out
    }

    /// Operator sets under a key other than `opset_import`; they are accepted.
    fn misnamed_imports(&mut self, names: &mut Names, field: &ast::Field, imports: &mut Vec<OpsetImport>) {
        let key = self.text(field.key);
        let mut edits = vec![Edit { span: field.key, text: "opset_import".into() }];
        let mut right = "opset_import".to_owned();
        if let FieldValue::Int(span) = field.value {
            let list = format!("[\"\": {}]", self.text(span));
            right = format!("opset_import: {list}");
            edits.push(Edit { span, text: list });
            imports.push(OpsetImport { domain: Some(Name::empty()), version: int_at(self, span) });
        } else {
            imports.extend(self.opset_imports(names, &field.value));
        }
        self.report(
            Diagnostic::new(&code::UNKNOWN_KEY, field.key, format!("unknown key `{key}`"))
                .label(format!("expected {}", crate::lex::one_of(&KEYS)))
                .help(format!("did you mean `{right}`?"))
                .fix(format!("write `{right}`"), edits, true),
        );
    }

    fn wrong_imports(&mut self, at: Span, right: &str, edits: Option<Vec<Edit>>, is_certain: bool) {
        let found = crate::lex::shown(self.text(at));
        let requested =
            if right.starts_with('[') { "a list such as `[\"\": 21]`" } else { "a pair such as `\"\": 21`" };
        let right = crate::lex::shown(right);
        self.report(
            Diagnostic::new(&code::WRONG_KIND, at, format!("expected {requested}, found `{found}`"))
                .label(match found.starts_with('{') {
                    true => format!("expected {requested}"),
                    false => "the domain string is missing, `\"\"` for the operators of ai.onnx".to_owned(),
                })
                .help(format!("write `{right}`"))
                .maybe_fix(format!("write `{right}`"), edits, is_certain),
        );
    }

    /// `{initialization: g () => (…) {…}, algorithm: …, initialization_binding: […], update_binding: […]}`
    fn training_info(&mut self, model: &mut Model, value: &FieldValue) -> Option<TrainingInfo> {
        let record = Fields::NOTE.record(self, value)?;
        let mut info = TrainingInfo::default();
        for field in &record.items {
            match self.text(field.key) {
                "initialization" => info.initialization = self.graph_value(model, &field.value),
                "algorithm" => info.algorithm = self.graph_value(model, &field.value),
                "initialization_binding" => {
                    info.initialization_bindings = Fields::NOTE.entries(self, &mut model.names, &field.value);
                }
                "update_binding" => {
                    info.update_bindings = Fields::NOTE.entries(self, &mut model.names, &field.value);
                }
                _ => self.unknown_key(
                    field.key,
                    &["initialization", "algorithm", "initialization_binding", "update_binding"],
                ),
            }
        }
        Some(info)
    }

    fn graph_value(&mut self, model: &mut Model, value: &FieldValue) -> Option<BodyId> {
        let FieldValue::Graph(graph) = value else {
            self.wrong_kind(value.span(), "a graph");
            return None;
        };
        let mut b = BodyBuilder::new(model);
        self.graph(&mut b, graph, None);
        let body = b.finish();
        self.end_body(body);
        Some(body)
    }
}

/// Whether a string is the number of a version.
fn is_version(spelling: &str) -> bool {
    let digits = spelling.trim_matches('"');
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}
