//! Files that are not models: values, operator sets and parts of models, and what commands do with them.

use crate::input::operator_set::OperatorSetFile;
use crate::input::value::ValueDocument;
use crate::input::{Form, Input, undecodable};
use crate::session::Session;
use anyhow::bail;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::Diagnostic;
use onnx_proto::FileKind;
use onnx_text::RaiseOptions;
use onnxtxt::Part;

/// A file that is not a model.
pub(crate) enum Document {
    /// A value, such as the input or output of a test.
    Value(ValueDocument),
    /// A list of operators.
    OperatorSet(OperatorSetFile),
    /// A graph, a function, a node, …
    Part(Box<Part>),
}

impl Input {
    /// The content of the file, if it is not a model.
    pub(crate) fn document(&self) -> Option<Document> {
        if self.kind == FileKind::Model && matches!(self.form, Form::Json | Form::Textproto) {
            return None;
        }
        let value = self.value().map(Document::Value);
        let set = || self.operator_set().map(Document::OperatorSet);
        value.or_else(set).or_else(|| self.part().map(|part| Document::Part(Box::new(part))))
    }

    /// The kind of the file, if it is not a model.
    pub(crate) fn other_kind(&self) -> Option<&'static str> {
        if self.kind != FileKind::Model {
            return Some(self.kind.name());
        }
        if self.is_text_of_value() {
            return Some("value");
        }
        self.is_text_of_set().then_some("list of operators")
    }

    /// Fails if the file is not a model.
    pub(crate) fn ensure_model(&self) -> anyhow::Result<()> {
        match self.other_kind() {
            Some(kind) => bail!("{} is a {kind}, not a model", self.name),
            None => Ok(()),
        }
    }
}

impl Document {
    /// The problems of the file.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Document::Value(value) => &value.diagnostics,
            Document::OperatorSet(set) => &set.diagnostics,
            Document::Part(part) => &part.loaded().diagnostics,
        }
    }

    /// Whether parts of the file are lost.
    pub(crate) fn is_partial(&self) -> bool {
        match self {
            Document::Value(value) => value.is_partial(),
            Document::OperatorSet(set) => set.is_partial(),
            Document::Part(part) => part.loaded().is_partial(),
        }
    }

    /// All problems of the file and its content, in the order of the text.
    pub(crate) fn check(&self, input: &Input, options: &VerifyOptions) -> Vec<Diagnostic> {
        match self {
            Document::Value(value) => value.check(input, options),
            Document::OperatorSet(set) => set.check(input, options),
            Document::Part(part) => part.check(options.level),
        }
    }

    /// Prints the problems of the file.
    pub(crate) fn report(&self, session: &mut Session, input: &Input, diagnostics: &[Diagnostic]) {
        match self {
            Document::Value(value) => value.report(session, input, diagnostics),
            Document::OperatorSet(set) => set.report(session, input, diagnostics),
            Document::Part(part) => crate::session::findings::report(session, part.loaded(), diagnostics),
        }
    }

    /// The content as text; empty if nothing could be read.
    pub(crate) fn text(&self, options: &RaiseOptions) -> String {
        match self {
            Document::Value(value) => value.text(options),
            Document::OperatorSet(set) => set.text(options),
            Document::Part(part) => part.text(options),
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
            Document::Part(part) => write_part(part, to, options),
        }
    }
}

/// A part converted to another format.
fn write_part(part: &Part, to: Form, options: &RaiseOptions) -> anyhow::Result<Result<Vec<u8>, Diagnostic>> {
    if to == Form::Text {
        return Ok(Ok(part.text(options).into_bytes()));
    }
    let kind = part.loaded().file().kind;
    let encoded = part.encode()?;
    let document = match to {
        Form::Text | Form::Binary => Ok(encoded),
        Form::Json => onnx_proto::json::to_json(&encoded, kind).map(String::into_bytes),
        Form::Textproto => onnx_proto::textproto::to_text(&encoded, kind).map(|text| {
            let is_same =
                |other: &FileKind| onnx_proto::textproto::from_text(text.as_bytes(), *other).is_ok();
            // Another message has these fields, too.
            let is_clear = FileKind::ALL.iter().find(|other| is_same(other)) == Some(&kind);
            let mark =
                if is_clear { String::new() } else { format!("# proto-message: onnx.{}\n", kind.name()) };
            (mark + &text).into_bytes()
        }),
    };
    Ok(document.map_err(|error| undecodable(to, &error)))
}
