//! Places of findings in the text of a file, or in the printed model.
//!
//! Entities of a text model are where the text defines them. A binary model is printed without weights and long lists, and the
//! result is parsed: ids are assigned in document order both times, so an entity of one model is the same entity of the other,
//! and even a node without a name has a place.

use crate::loaded::Loaded;
use crate::source::{Form, text_kind};
use crate::text::Text;
use onnx_ir::diag::{Diagnostic, Place};
#[cfg(feature = "render")]
use onnx_text::render::{RenderOptions, human};
use onnx_text::render::{SourceKind, SourceText};
use onnx_text::{RaiseOptions, SourceMap};

/// Elements of a tensor that are printed, enough to recognize it.
const ELEMENTS: usize = 4;

impl Loaded {
    #[cfg(feature = "render")]
    /// A rendered finding with its source lines. For several findings, [`render_all`](Self::render_all) prints a binary model
    /// only once.
    #[must_use]
    pub fn render(&self, diagnostic: &Diagnostic) -> String {
        self.render_all(std::slice::from_ref(diagnostic), RenderOptions { color: false, width: 120 })
    }

    #[cfg(feature = "render")]
    /// Rendered findings, one after the other.
    #[must_use]
    pub fn render_all(&self, diagnostics: &[Diagnostic], style: RenderOptions) -> String {
        self.with_source(diagnostics.iter().any(has_entity), |source| {
            diagnostics.iter().map(|diagnostic| human(diagnostic, source, style) + "\n").collect()
        })
    }

    /// Calls `show` with the source text in which entities have places. A binary model is printed only if entities are needed.
    pub fn with_source<T>(&self, has_entities: bool, show: impl FnOnce(&SourceText<'_>) -> T) -> T {
        let file = self.file();
        if let Some(syntax) = self.syntax() {
            let map = SourceMap::new(file.text(), &syntax.tree, &self.model);
            let locate = |entity| map.span(entity);
            return show(&SourceText::new(&file.name, file.text(), SourceKind::Text).locating(&locate));
        }
        // Findings about the document are placed in the document, because no model was made of it.
        if file.form != Form::Binary && self.is_partial() {
            return show(&SourceText::new(&file.name, file.text(), SourceKind::Text));
        }
        let text = if has_entities { self.printed() } else { String::new() };
        let (syntax, lowered) = match text_kind(file.kind) {
            Some(part) => onnx_text::read_part(&text, part).value,
            None => {
                let syntax = onnx_text::parse_model(&text).value;
                let lowered = onnx_text::lower(&text, &syntax).value;
                (syntax, lowered)
            }
        };
        let map = SourceMap::new(&text, &syntax.tree, &lowered);
        let locate = |entity| map.span(entity);
        show(&SourceText::new(&file.name, &text, SourceKind::Binary).locating(&locate))
    }

    fn printed(&self) -> String {
        let options = RaiseOptions { elide: Some(ELEMENTS), metadata: false, ..RaiseOptions::default() };
        match text_kind(self.file().kind) {
            Some(part) => onnx_text::print_part(&self.model, part, &options),
            None => Text::new(&self.model, &options).to_text(),
        }
    }
}

/// Whether a finding refers to a part of the model, which has a place only in a text.
pub fn has_entity(diagnostic: &Diagnostic) -> bool {
    let is_entity = |place: Place| matches!(place, Place::Entity(_));
    is_entity(diagnostic.primary.place) || diagnostic.related.iter().any(|label| is_entity(label.place))
}
