//! Findings about any file, at places in a text.
//!
//! Entities of a model that was text are where the text says them. A binary model is printed without weights and
//! long lists, and the print is parsed again: ids are given in document order both times, so an entity of one model is the
//! same entity of the other, and even a node without a name has a place.

use crate::input::{Form, Input, Loaded};
use crate::session::Session;
use crate::text::Text;
use onnx_ir::diag::Place;
use onnx_ir::{Diagnostic, Model};
use onnx_text::render::{Of, Source};
use onnx_text::{RaiseOptions, SourceMap};

/// Elements of a tensor that are printed: enough to know it by.
const ELEMENTS: usize = 4;

/// Shows findings about a file.
pub(crate) fn report(session: &mut Session, input: &Input, loaded: &Loaded, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    with_source(input, loaded, diagnostics.iter().any(has_entity), |source| {
        session.report(source, diagnostics)
    });
}

/// Does something with the text that a file is or is printed as, in which entities of the model have places. Without
/// need of entities, a binary model is not printed.
pub(crate) fn with_source<T>(
    input: &Input,
    loaded: &Loaded,
    has_entities: bool,
    show: impl FnOnce(&Source<'_>) -> T,
) -> T {
    if let Some(parsed) = &loaded.tree {
        let map = SourceMap::new(input.text(), &parsed.tree, &loaded.model);
        let locate = |entity| map.span(entity);
        return show(&Source::new(&input.name, input.text(), Of::Text).locating(&locate));
    }
    // What is wrong with the document itself is in the document; a model does not exist then.
    if input.form != Form::Binary && loaded.is_partial() {
        return show(&Source::new(&input.name, input.text(), Of::Text));
    }
    let text = if has_entities { printed(&loaded.model) } else { String::new() };
    let parsed = onnx_text::parse_model(&text);
    let lowered = onnx_text::lower(&text, &parsed);
    let map = SourceMap::new(&text, &parsed.tree, &lowered.model);
    let locate = |entity| map.span(entity);
    show(&Source::new(&input.name, &text, Of::Binary).locating(&locate))
}

fn has_entity(diagnostic: &Diagnostic) -> bool {
    let is_entity = |place: Place| matches!(place, Place::Entity(_));
    is_entity(diagnostic.primary.place) || diagnostic.related.iter().any(|label| is_entity(label.place))
}

fn printed(model: &Model) -> String {
    let options = RaiseOptions { elide: Some(ELEMENTS), metadata: false, ..RaiseOptions::default() };
    Text::new(model, &options).to_text()
}
