//! Files that hold no model: values and operator sets. What commands do with either.

use crate::input::{Form, Input};
use crate::opset::SetFile;
use crate::session::Session;
use crate::value::Value;
use onnx_ir::{Diagnostic, VerifyOptions};
use onnx_proto::FileKind;
use onnx_text::RaiseOptions;

/// A file that holds no model.
pub(crate) enum Document {
    /// The input or output of a test, for instance.
    Value(Value),
    /// A list of operators.
    OperatorSet(SetFile),
}

impl Input {
    /// What the file holds, if it is a value or an operator set.
    pub(crate) fn document(&self) -> Option<Document> {
        if self.is_document_of_model() {
            return None;
        }
        let value = self.value().map(Document::Value);
        value.or_else(|| self.operator_set().map(Document::OperatorSet))
    }

    /// Whether the file is JSON or textproto that fits a model.
    pub(crate) fn is_document_of_model(&self) -> bool {
        match self.form {
            Form::Json => onnx_proto::json::from_json(&self.bytes, FileKind::Model).is_ok(),
            Form::Textproto => onnx_proto::textproto::from_text(&self.bytes, FileKind::Model).is_ok(),
            Form::Text | Form::Binary => false,
        }
    }
}

impl Document {
    /// What is wrong with the file.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Document::Value(value) => &value.diagnostics,
            Document::OperatorSet(set) => &set.diagnostics,
        }
    }

    /// Whether it is not what the file says.
    pub(crate) fn is_partial(&self) -> bool {
        match self {
            Document::Value(value) => value.is_partial(),
            Document::OperatorSet(set) => set.is_partial(),
        }
    }

    /// Everything that is wrong with the file and what it holds, in the order of the text.
    pub(crate) fn check(&self, input: &Input, options: &VerifyOptions) -> Vec<Diagnostic> {
        match self {
            Document::Value(value) => value.check(input, options),
            Document::OperatorSet(set) => set.check(input, options),
        }
    }

    /// Shows what is wrong with the file.
    pub(crate) fn report(&self, session: &mut Session, input: &Input, diagnostics: &[Diagnostic]) {
        match self {
            Document::Value(value) => value.report(session, input, diagnostics),
            Document::OperatorSet(set) => set.report(session, input, diagnostics),
        }
    }

    /// It as text; empty if nothing could be read.
    pub(crate) fn text(&self, options: &RaiseOptions) -> String {
        match self {
            Document::Value(value) => value.text(options),
            Document::OperatorSet(set) => set.text(options),
        }
    }

    /// The file that holds it in another form.
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
