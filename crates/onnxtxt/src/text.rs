//! Printing of models as text.

use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_text::{Comments, FormatOptions, RaiseOptions, Raised, format_to, raise_with};
use std::io::{self, Write};

/// A model prepared for printing.
#[derive(Debug)]
pub struct Text(Raised);

impl Text {
    /// The text of a model without comments.
    #[must_use]
    pub fn new(model: &Model, options: &RaiseOptions) -> Text {
        Text::commented(model, options, &Comments::default())
    }

    /// The text with the comments of its original text.
    #[must_use]
    pub fn commented(model: &Model, options: &RaiseOptions, comments: &Comments) -> Text {
        Text(raise_with(model, options, comments))
    }

    /// Losses: what the profile cannot express.
    pub fn losses(&self) -> &[Diagnostic] {
        &self.0.losses
    }

    /// Whether no text could be produced.
    pub fn is_lost(&self) -> bool {
        self.0.source.is_empty() && !self.0.losses.is_empty()
    }

    /// Whether the reference parser refuses the text.
    pub fn is_extended(&self) -> bool {
        self.0.is_extended
    }

    /// Writes the text piece by piece.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Raised { source, syntax, .. } = &self.0;
        let mut text = TextWriter::new(out);
        let written = format_to(&mut text, source, syntax, &FormatOptions::default());
        text.finish(written)
    }

    /// The text as a whole.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Raised { source, syntax, .. } = &self.0;
        onnx_text::format(source, syntax, &FormatOptions::default())
    }
}

/// An adapter from text to byte writers, which keeps the I/O error.
struct TextWriter<'w> {
    out: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl<'w> TextWriter<'w> {
    fn new(out: &'w mut dyn Write) -> Self {
        TextWriter { out, error: None }
    }

    /// Converts the result, with the kept error.
    fn finish(self, result: std::fmt::Result) -> io::Result<()> {
        match (result, self.error) {
            (_, Some(error)) => Err(error),
            (Ok(()), None) => Ok(()),
            (Err(std::fmt::Error), None) => Err(io::Error::other("the text cannot be written")),
        }
    }
}

impl std::fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.out.write_all(text.as_bytes()).map_err(|error| {
            self.error = Some(error);
            std::fmt::Error
        })
    }
}
