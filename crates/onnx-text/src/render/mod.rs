//! Renders findings for people and programs.
//!
//! A [`SourceText`] is the text that findings refer to: the file itself, or the printed form of a binary model. There are five
//! formats: [`human()`] shows source lines; [`short`], [`json`], [`github`] are one line each; [`Sarif`] is one document per run.
//! Lines and columns start at 1; columns count characters.
//!
//! ```text
//! error[E0203]: use of undefined value `q`
//!    ╭─[ m.onnxtxt:2:15 ]
//!  2 │    y = Add(x, q)
//!    │               ┬
//!    │               ╰── no input, initializer or earlier node gives it
//! ───╯
//! ```
//!
//! Only this folder uses ariadne.

#[cfg(feature = "human")]
mod human;
mod lines;
mod plain;
#[cfg(feature = "json")]
mod structured;
#[cfg(feature = "human")]
mod window;

#[cfg(feature = "human")]
pub use human::{RenderOptions, human};
pub use lines::{LineIndex, Position};
pub use plain::{github, short};
#[cfg(feature = "json")]
pub use structured::{Sarif, json};

use onnx_ir::diag::{Entity, Place, Span};

/// A text that findings are about.
pub struct SourceText<'a> {
    /// The name for messages: the path as the user gave it.
    name: &'a str,
    text: &'a str,
    lines: LineIndex,
    locate: Option<&'a dyn Fn(Entity) -> Option<Span>>,
    kind: SourceKind,
}

/// The kind of text of a [`SourceText`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SourceKind {
    /// The file's own: spans of findings are places in it.
    Text,
    /// A printed binary model: spans of findings are bytes of the file, entities are places in the text.
    Binary,
}

/// The place of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Spot {
    /// In the text of the source.
    Text(Span),
    /// A byte of a binary file.
    Byte(u32),
    Nowhere,
}

impl<'a> SourceText<'a> {
    /// A text under a name.
    pub fn new(name: &'a str, text: &'a str, kind: SourceKind) -> Self {
        SourceText { name, text, lines: LineIndex::new(text), locate: None, kind }
    }

    /// Sets the places of entities in the text; without them, findings about entities have no place.
    #[must_use]
    pub fn locating(mut self, locate: &'a dyn Fn(Entity) -> Option<Span>) -> Self {
        self.locate = Some(locate);
        self
    }

    /// The name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Line and column of a byte.
    pub fn position(&self, offset: u32) -> Position {
        self.lines.position(self.text, offset)
    }

    /// The place as a span of the text, if it has one.
    pub fn span(&self, place: Place) -> Option<Span> {
        match self.spot(place) {
            Spot::Text(span) => Some(span),
            Spot::Byte(_) | Spot::Nowhere => None,
        }
    }

    fn spot(&self, place: Place) -> Spot {
        let span = match (place, self.kind) {
            (Place::Source(span), SourceKind::Text) => Some(span),
            (Place::Source(span), SourceKind::Binary) => return Spot::Byte(span.start),
            (Place::Entity(entity), _) => self.locate.and_then(|locate| locate(entity)),
            (Place::Nowhere, _) => None,
        };
        span.map_or(Spot::Nowhere, |span| Spot::Text(self.clip(span)))
    }

    /// Clips a span to the text and to character boundaries.
    fn clip(&self, span: Span) -> Span {
        let fit = |at: u32| {
            let mut at = (at as usize).min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            u32::try_from(at).unwrap_or(u32::MAX)
        };
        let start = fit(span.start);
        Span::new(start, fit(span.end).max(start))
    }
}
