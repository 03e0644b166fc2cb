//! Formatted text of files of any kind.

use crate::complete::{check_text, complete};
use crate::source::File;
use onnx_ir::diag::{Level, Parsed};
use onnx_text::{FormatOptions, Readers, Syntax, TextKind, sniff_text};

impl File {
    /// The text with a plain statement for each node of an expression, which other programs read too; all other lines stay. `None` if
    /// the file is not a model, graph or function.
    ///
    /// ```
    /// let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) {\n  y = Abs(-x)\n}\n";
    /// let file = onnxtxt::File::new("x.onnxtxt".to_owned(), None, text.into());
    /// let expanded = file.expanded().value.expect("a model");
    /// assert_eq!(expanded, text.replace("y = Abs(-x)", "y_1 = Neg(x)\n  y = Abs(y_1)"));
    /// ```
    pub fn expanded(&self) -> Parsed<Option<String>> {
        if let Some(diagnostic) = self.no_text() {
            return Parsed::new(None, vec![diagnostic]);
        }
        let text = self.text();
        let checked = match sniff_text(text) {
            TextKind::Model => check_text(Readers::Ours, text, Level::Syntax, |_| Vec::new()),
            kind @ (TextKind::Graph | TextKind::Function) => {
                onnx_text::check_part_completed(text, kind, Level::Syntax, &complete, |_| Vec::new())
            }
            _ => return Parsed::new(None, Vec::new()),
        };
        checked.map(|checked| Some(onnx_text::expanded(text, &checked)))
    }

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
