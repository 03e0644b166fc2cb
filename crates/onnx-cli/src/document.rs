//! Files that are not models: values and operator sets, and what commands do with both.

use crate::input::{Form, Input};
use crate::opset::SetFile;
use crate::session::Session;
use crate::value::ValueDocument;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::Diagnostic;
use onnx_proto::FileKind;
use onnx_text::RaiseOptions;

/// A file that is not a model.
pub(crate) enum Document {
    /// A value, such as the input or output of a test.
    Value(ValueDocument),
    /// A list of operators.
    OperatorSet(SetFile),
}

impl Input {
    /// The content of the file, if it is a value or an operator set.
    pub(crate) fn document(&self) -> Option<Document> {
        if self.is_document_of_model() {
            return None;
        }
        let value = self.value().map(Document::Value);
        value.or_else(|| self.operator_set().map(Document::OperatorSet))
    }

    /// Whether the file is JSON or textproto of a model.
    pub(crate) fn is_document_of_model(&self) -> bool {
        match self.form {
            Form::Json => onnx_proto::json::from_json(&self.bytes, FileKind::Model).is_ok(),
            Form::Textproto => onnx_proto::textproto::from_text(&self.bytes, FileKind::Model).is_ok(),
            Form::Text | Form::Binary => false,
        }
    }
}

impl Document {
    /// The problems of the file.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Document::Value(value) => &value.diagnostics,
            Document::OperatorSet(set) => &set.diagnostics,
        }
    }

    /// Whether parts of the file are lost.
    pub(crate) fn is_partial(&self) -> bool {
        match self {
            Document::Value(value) => value.is_partial(),
            Document::OperatorSet(set) => set.is_partial(),
        }
    }

    /// All problems of the file and its content, in the order of the text.
    pub(crate) fn check(&self, input: &Input, options: &VerifyOptions) -> Vec<Diagnostic> {
        match self {
            Document::Value(value) => value.check(input, options),
            Document::OperatorSet(set) => set.check(input, options),
        }
    }

    /// Prints the problems of the file.
    pub(crate) fn report(&self, session: &mut Session, input: &Input, diagnostics: &[Diagnostic]) {
        match self {
            Document::Value(value) => value.report(session, input, diagnostics),
            Document::OperatorSet(set) => set.report(session, input, diagnostics),
        }
    }

    /// The content as text; empty if nothing could be read.
    pub(crate) fn text(&self, options: &RaiseOptions) -> String {
        match self {
            Document::Value(value) => value.text(options),
            Document::OperatorSet(set) => set.text(options),
        }
    }

    /// The file converted to another format.
    pub(crate) fn write(
        &self,
        to: Form,
        options: &RaiseOptions,
    ) -> anyhow::Result<Result<Vec<u8>, Diagnostic>> {
        match self {
            Document::Value(value) => value.write(to, options),
            Document::OperatorSet(set) => set.write(to, options),
        }
    }
}
