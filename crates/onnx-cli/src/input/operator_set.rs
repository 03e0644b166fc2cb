//! Operator-set files, in every format.

use crate::input::{Form, Input, undecodable};
use crate::output::numbers::count;
use crate::session::Session;
use onnx_ir::diag::{Diagnostic, Level, Place};
use onnx_ir::{OperatorSet, VerifyOptions, verify_operator_set};
use onnx_proto::{FileKind, FormatError};
use onnx_text::render::{SourceKind, SourceText};
use onnx_text::{OpsetMap, RaiseOptions, TextKind, check_operator_set, print_operator_set, sniff_text};

/// An operator set that was read from a file.
pub(crate) struct OperatorSetFile {
    /// The set, as far as it could be read.
    pub(crate) set: OperatorSet,
    /// The problems of the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl Input {
    /// The operator set in the file, if there is one.
    pub(crate) fn operator_set(&self) -> Option<OperatorSetFile> {
        match self.form {
            Form::Text => self.is_text_of_set().then(|| {
                let (set, diagnostics) = onnx_text::read_operator_set(self.text()).into_parts();
                OperatorSetFile { set, diagnostics }
            }),
            Form::Binary => {
                (self.kind == FileKind::OperatorSet).then(|| OperatorSetFile::read(self.bytes.clone()))
            }
            Form::Json => self.set_document(onnx_proto::json::from_json),
            Form::Textproto => self.set_document(onnx_proto::textproto::from_text),
        }
    }

    /// Whether the file is the text of an operator set.
    pub(crate) fn is_text_of_set(&self) -> bool {
        self.form == Form::Text
            && self.no_text().is_none()
            && sniff_text(self.text()) == TextKind::OperatorSet
    }

    /// The set in JSON or textproto.
    fn set_document(
        &self,
        from: fn(&[u8], FileKind) -> Result<Vec<u8>, FormatError>,
    ) -> Option<OperatorSetFile> {
        let bytes = (self.kind == FileKind::OperatorSet).then(|| from(&self.bytes, self.kind).ok())??;
        Some(OperatorSetFile::read(bytes.into()))
    }
}

impl OperatorSetFile {
    fn read(bytes: bytes::Bytes) -> OperatorSetFile {
        let (set, diagnostics) = onnx_proto::read_operator_set(bytes).into_parts();
        OperatorSetFile { set, diagnostics }
    }

    /// Whether parts of the file are lost.
    pub(crate) fn is_partial(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All problems of the file and the set, in the order of the text.
    pub(crate) fn check(&self, input: &Input, options: &VerifyOptions) -> Vec<Diagnostic> {
        if input.form == Form::Text {
            return check_operator_set(input.text(), options).diagnostics;
        }
        let mut found = self.diagnostics.clone();
        if options.level > Level::Syntax && !self.is_partial() {
            let signatures = onnx_text::signatures(&self.set);
            found.extend(signatures.diagnostics);
            found.extend(verify_operator_set(&self.set, &signatures.value, options));
        }
        found
    }

    /// Prints the problems of the file. Those of a set that is not text have places in its printed text.
    pub(crate) fn report(&self, session: &mut Session, input: &Input, diagnostics: &[Diagnostic]) {
        if input.form == Form::Text {
            return session
                .report(&SourceText::new(&input.name, input.text(), SourceKind::Text), diagnostics);
        }
        let is_located = |diagnostic: &Diagnostic| matches!(diagnostic.primary.place, Place::Entity(_));
        let has_places = diagnostics.iter().any(is_located);
        let text = if has_places { self.text(&RaiseOptions::default()) } else { String::new() };
        let tree = onnx_text::parse_operator_set(&text).value.tree;
        let set = onnx_text::read_operator_set(&text).value;
        let map = OpsetMap::new(&text, &tree, &set);
        let locate = |entity| map.span(entity);
        session
            .report(&SourceText::new(&input.name, &text, SourceKind::Binary).locating(&locate), diagnostics);
    }

    pub(crate) fn text(&self, options: &RaiseOptions) -> String {
        print_operator_set(&self.set, options)
    }

    /// The file converted to another format.
    pub(crate) fn write(
        &self,
        to: Form,
        options: &RaiseOptions,
    ) -> anyhow::Result<Result<Vec<u8>, Diagnostic>> {
        if to == Form::Text {
            return Ok(Ok(self.text(options).into_bytes()));
        }
        let encoded = onnx_proto::write_operator_set(&self.set)?;
        let document = match to {
            Form::Text | Form::Binary => Ok(encoded),
            Form::Json => onnx_proto::json::to_json(&encoded, FileKind::OperatorSet).map(String::into_bytes),
            Form::Textproto => {
                onnx_proto::textproto::to_text(&encoded, FileKind::OperatorSet).map(String::into_bytes)
            }
        };
        Ok(document.map_err(|error| undecodable(to, &error)))
    }

    /// The content of the set: a title and a text for each row.
    pub(crate) fn rows(&self) -> Vec<(&'static str, String)> {
        let set = &self.set;
        let number = |number: Option<i64>| number.map_or("none".to_owned(), |number| number.to_string());
        let domain = match set.domain() {
            "" => "ai.onnx",
            domain => domain,
        };
        let names: Vec<&str> = set.operators.iter().map(|operator| set.model.text(operator.name)).collect();
        let bodies = set.definitions().iter().filter(|definition| definition.function.is_some()).count();
        vec![
            ("domain", domain.to_owned()),
            ("version", number(set.opset_version)),
            ("IR version", number(set.model.header.ir_version)),
            (
                "operators",
                format!("{}, {bodies} with a body\n{}", count(names.len(), "operator"), names.join(", ")),
            ),
            ("functions", count(set.model.functions.len(), "function")),
        ]
    }
}
