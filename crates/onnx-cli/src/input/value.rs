//! Files with values, such as the inputs of a test (`input_0.pb`), in every format.

use crate::input::{Form, Input, undecodable};
use crate::session::Session;
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Level, Place};
use onnx_ir::{Data, Names, VerifyOptions, verify_data};
use onnx_proto::{FileKind, FormatError};
use onnx_text::render::{SourceKind, SourceText};
use onnx_text::{RaiseOptions, TextKind, check_value, print_value, read_value, sniff_text, value_span};

/// Elements of a tensor in findings.
const ELEMENTS: usize = 4;

/// A value that was read from a file.
pub(crate) struct ValueDocument {
    names: Names,
    /// The value, as far as it could be read.
    data: Option<Data>,
    /// The problems of the file.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// The message types that are values; the first one that fits a document counts.
const KINDS: [FileKind; 5] =
    [FileKind::Tensor, FileKind::SparseTensor, FileKind::Sequence, FileKind::Map, FileKind::Optional];

impl Input {
    /// The value in the file, if there is one.
    pub(crate) fn value(&self) -> Option<ValueDocument> {
        match self.form {
            Form::Text => self.is_text_of_value().then(|| {
                let mut names = Names::new();
                let (data, diagnostics) = read_value(self.text(), &mut names).into_parts();
                ValueDocument { names, data, diagnostics }
            }),
            Form::Binary => {
                KINDS.contains(&self.kind).then(|| ValueDocument::read(self.bytes.clone(), self.kind))
            }
            Form::Json => self.value_document(onnx_proto::json::from_json),
            Form::Textproto => self.value_document(onnx_proto::textproto::from_text),
        }
    }

    /// Whether the file is the text of a value.
    pub(crate) fn is_text_of_value(&self) -> bool {
        self.form == Form::Text && self.no_text().is_none() && sniff_text(self.text()) == TextKind::Value
    }

    /// The value in JSON or textproto.
    fn value_document(
        &self,
        from: fn(&[u8], FileKind) -> Result<Vec<u8>, FormatError>,
    ) -> Option<ValueDocument> {
        let bytes = KINDS.contains(&self.kind).then(|| from(&self.bytes, self.kind).ok())??;
        Some(ValueDocument::read(bytes.into(), self.kind))
    }
}

impl ValueDocument {
    fn read(bytes: Bytes, kind: FileKind) -> ValueDocument {
        let mut names = Names::new();
        let (data, diagnostics) = onnx_proto::read_data(bytes, kind, &mut names).into_parts();
        ValueDocument { names, data, diagnostics }
    }

    /// The value, the names in it, and the problems of the file.
    pub(crate) fn into_parts(self) -> (Option<Data>, Names, Vec<Diagnostic>) {
        (self.data, self.names, self.diagnostics)
    }

    /// Whether parts of the file are lost.
    pub(crate) fn is_partial(&self) -> bool {
        self.data.is_none() || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// All problems of the file and the value, in the order of the text.
    pub(crate) fn check(&self, input: &Input, options: &VerifyOptions) -> Vec<Diagnostic> {
        if input.form == Form::Text {
            return check_value(input.text(), options).diagnostics;
        }
        let mut found = self.diagnostics.clone();
        if let (Some(data), true) = (&self.data, options.level > Level::Syntax && !self.is_partial()) {
            found.extend(verify_data(data, &self.names, options));
        }
        found
    }

    /// Prints the problems of the file. Those of a value that is not text have places in its printed text.
    pub(crate) fn report(&self, session: &mut Session, input: &Input, diagnostics: &[Diagnostic]) {
        if input.form == Form::Text {
            return session
                .report(&SourceText::new(&input.name, input.text(), SourceKind::Text), diagnostics);
        }
        let is_located = |diagnostic: &Diagnostic| matches!(diagnostic.primary.place, Place::Entity(_));
        let has_places = diagnostics.iter().any(is_located);
        let options = RaiseOptions { elide: Some(ELEMENTS), metadata: false, ..RaiseOptions::default() };
        let text = if has_places { self.text(&options) } else { String::new() };
        let tree = onnx_text::parse_value(&text).value.tree;
        let locate = |entity| value_span(tree.as_ref()?, entity);
        session
            .report(&SourceText::new(&input.name, &text, SourceKind::Binary).locating(&locate), diagnostics);
    }

    /// The value as text; empty if nothing could be read.
    pub(crate) fn text(&self, options: &RaiseOptions) -> String {
        self.data.as_ref().map(|data| print_value(data, &self.names, options) + "\n").unwrap_or_default()
    }

    /// The file converted to another format.
    pub(crate) fn write(
        &self,
        to: Form,
        options: &RaiseOptions,
    ) -> anyhow::Result<Result<Vec<u8>, Diagnostic>> {
        let Some(data) = &self.data else { return Ok(Ok(Vec::new())) };
        if to == Form::Text {
            return Ok(Ok(self.text(options).into_bytes()));
        }
        let kind = match data {
            Data::Tensor(_) => FileKind::Tensor,
            Data::SparseTensor(_) => FileKind::SparseTensor,
            Data::Sequence(_) => FileKind::Sequence,
            Data::Map(_) => FileKind::Map,
            Data::Optional(_) => FileKind::Optional,
        };
        let encoded = onnx_proto::write_data(data, &self.names)?;
        let document = match to {
            Form::Text | Form::Binary => Ok(encoded),
            Form::Json => onnx_proto::json::to_json(&encoded, kind).map(String::into_bytes),
            Form::Textproto => onnx_proto::textproto::to_text(&encoded, kind).map(String::into_bytes),
        };
        Ok(document.map_err(|error| undecodable(to, &error)))
    }
}
