//! Formatted text of files of any kind.

use crate::source::File;
use onnx_ir::diag::Parsed;
use onnx_text::{FormatOptions, Syntax, TextKind, sniff_text};

impl File {
    /// The text as `onnxtxt fmt` writes it; `None` if nothing could be parsed. If there are errors, parts of the text may be missing.
    ///
    /// ```
    /// let file = onnxtxt::File::new("x.onnxtxt".to_owned(), None, "float[2]  {1,2}".into());
    /// assert_eq!(file.formatted(&Default::default()).value.as_deref(), Some("float[2] {1, 2}\n"));
    /// ```
    pub fn formatted(&self, options: &FormatOptions) -> Parsed<Option<String>> {
        if let Some(diagnostic) = self.no_text() {
            return Parsed::new(None, vec![diagnostic]);
        }
        let text = self.text();
        match sniff_text(text) {
            TextKind::Value => onnx_text::parse_value(text).map(|syntax| {
                let syntax = Syntax::transpose(syntax)?;
                Some(onnx_text::format_value_file(text, &syntax, options))
            }),
            TextKind::OperatorSet => onnx_text::parse_operator_set(text)
                .map(|syntax| Some(onnx_text::format_operator_set(text, &syntax, options))),
            kind if kind.is_part() => onnx_text::format_part(text, kind, options),
            _ => onnx_text::parse_model(text).map(|syntax| Some(onnx_text::format(text, &syntax, options))),
        }
    }
}
