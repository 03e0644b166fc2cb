//! A model that was read from a file, a text or bytes.

use crate::complete::check_text;
#[cfg(feature = "edit")]
use crate::edit::Incoming;
use crate::source::{File, Form, undecodable};
use bytes::Bytes;
use onnx_ir::diag::{Diagnostic, Level, Parsed, Place, code};
use onnx_ir::pass::compact;
use onnx_ir::{BodyId, Model, NodeId, Origin};
use onnx_proto::external::{Folder, Which, internalize, is_stored_outside};
use onnx_proto::{FileKind, FormatError};
use onnx_text::{Checked, Comments, Readers, Syntax, ast};
use std::path::Path;

/// A model and its origin.
///
/// ```
/// let loaded = onnxtxt::parse("g (float[N] x) => (float[N] y) { y = Relu(z) } # a comment");
/// assert!(loaded.diagnostics.is_empty()); // it could be read
/// let found = loaded.check(onnxtxt::Level::Spec);
/// assert!(found.iter().any(|finding| loaded.render(finding).contains("use of undefined value `z`")));
/// assert_eq!(loaded.syntax().map(|syntax| syntax.comments.len()), Some(1));
/// ```
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The model, as much of it as could be read.
    pub model: Model,
    /// Findings about the file, in the order of its text or bytes.
    pub diagnostics: Vec<Diagnostic>,
    file: File,
    /// The syntax, if the file is text.
    syntax: Option<Syntax<ast::File>>,
    /// The comments, unless they are those of `syntax`: for a model that passes have produced, or that adopted others.
    kept: Option<Comments>,
    /// Whether it was made of a model that is partial.
    is_of_partial: bool,
}

/// Wraps a model that a program has built or changed, to check, print, save and run it like one that was read.
///
/// Its bodies are rebuilt in document order ([`compact`]), so that findings have places in its printed text. Existing ids become
/// invalid.
impl From<Model> for Loaded {
    fn from(mut model: Model) -> Loaded {
        compact(&mut model);
        let mut file = File::new("<model>".to_owned(), None, Bytes::new());
        file.form = Form::Binary;
        Loaded::new(file, model, Vec::new())
    }
}

impl File {
    /// The model in it, as much as could be read, with all findings.
    #[must_use]
    pub fn load(&self) -> Loaded {
        Loaded::of(self.clone())
    }
}

/// The finding for a file with another message.
fn no_model(file: &File) -> Option<Diagnostic> {
    let message = format!("this is a {}, not a model", file.kind.name());
    let is_other = file.kind != FileKind::Model;
    is_other.then(|| Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message))
}

impl Loaded {
    /// Reads the content of a file.
    pub(crate) fn of(file: File) -> Loaded {
        let refused = file.foreign().or_else(|| if file.form == Form::Text { file.no_text() } else { None });
        let refused = refused.or_else(|| no_model(&file));
        if let Some(diagnostic) = refused {
            return Loaded::nothing(file, vec![diagnostic]);
        }
        match file.form {
            Form::Text => {
                let checked = check_text(Readers::Ours, file.text(), Level::Syntax, |_| Vec::new());
                Loaded::checked(file, checked)
            }
            Form::Binary => {
                let (model, diagnostics) = onnx_proto::read(file.bytes.clone()).into_parts();
                Loaded::new(file, model, diagnostics)
            }
            #[cfg(feature = "forms")]
            Form::Json => {
                let bytes = onnx_proto::json::from_json(&file.bytes, FileKind::Model);
                Loaded::document(file, bytes)
            }
            #[cfg(feature = "forms")]
            Form::Textproto => {
                let bytes = onnx_proto::textproto::from_text(&file.bytes, FileKind::Model);
                Loaded::document(file, bytes)
            }
            #[cfg(not(feature = "forms"))]
            Form::Json | Form::Textproto => {
                let message = "this program is built without JSON and textproto".to_owned();
                Loaded::document(file, Err(FormatError { offset: None, message }))
            }
        }
    }

    /// A model that the caller has read from a file itself.
    #[must_use]
    pub fn new(file: File, model: Model, diagnostics: Vec<Diagnostic>) -> Loaded {
        Loaded { model, diagnostics, file, syntax: None, kept: None, is_of_partial: false }
    }

    /// An empty model, with the findings that explain why.
    #[must_use]
    pub fn nothing(file: File, diagnostics: Vec<Diagnostic>) -> Loaded {
        Loaded::new(file, Model::default(), diagnostics)
    }

    fn document(file: File, bytes: Result<Vec<u8>, FormatError>) -> Loaded {
        match bytes {
            Ok(bytes) => {
                let (model, diagnostics) = onnx_proto::read(bytes.into()).into_parts();
                Loaded::new(file, model, diagnostics)
            }
            Err(error) => {
                let diagnostic = undecodable(file.form, &error);
                Loaded::nothing(file, vec![diagnostic])
            }
        }
    }

    pub(crate) fn checked(file: File, checked: Parsed<Checked>) -> Loaded {
        let Parsed { value: Checked { syntax, model }, diagnostics } = checked;
        Loaded { syntax: Some(syntax), ..Loaded::new(file, model, diagnostics) }
    }

    /// Reads a file with all findings up to a level; `judge` checks the model. Comments of a text can allow findings.
    #[must_use]
    pub fn judged(file: &File, level: Level, judge: impl Fn(&Model) -> Vec<Diagnostic>) -> Loaded {
        Loaded::judged_for(Readers::Ours, file, level, judge)
    }

    /// The same, with what some of the readers of a text reject.
    #[must_use]
    pub fn judged_for(
        readers: Readers,
        file: &File,
        level: Level,
        judge: impl Fn(&Model) -> Vec<Diagnostic>,
    ) -> Loaded {
        if file.form == Form::Text && file.no_text().is_none() {
            return Loaded::checked(file.clone(), check_text(readers, file.text(), level, judge));
        }
        let mut loaded = file.load();
        if level > Level::Syntax && !loaded.is_partial() {
            let found = judge(&loaded.model);
            loaded.diagnostics.extend(found);
        }
        loaded
    }

    /// The file that it was read from.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The syntax tree with the comments, if the file is text.
    pub fn syntax(&self) -> Option<&Syntax<ast::File>> {
        self.syntax.as_ref()
    }

    /// The comments of the text that the model is from.
    pub fn comments(&self) -> Comments {
        match (&self.kept, &self.syntax) {
            (Some(kept), _) => kept.clone(),
            (None, Some(syntax)) => Comments::of(self.file.text(), syntax),
            (None, None) => Comments::default(),
        }
    }

    /// The comment on the lines before a node, without its `#`.
    #[must_use]
    pub fn comment_of(&self, body: BodyId, node: NodeId) -> String {
        let origin = self.model.bodies[body].origins[node];
        if origin == Origin::NONE {
            return String::new();
        }
        let comments = self.comments();
        let lines = comments.before_node(origin.0);
        if lines.is_empty() || self.of_origin(body, origin).next() != Some(node) {
            return String::new();
        }
        let plain = |line: &String| line.trim_start_matches('#').trim().to_owned();
        lines.iter().map(plain).collect::<Vec<_>>().join("\n")
    }

    /// Sets the comment on the lines before a node, which the text of the model has from now on. An empty one removes it.
    ///
    /// ```
    /// let mut loaded = onnxtxt::parse("g (float[N] x) => (float[N] y) {\n  # one\n  y = Relu(x)\n}");
    /// let body = loaded.model.main.expect("a graph");
    /// let node = loaded.model.bodies[body].nodes.ids().next().expect("a node");
    /// assert_eq!(loaded.comment_of(body, node), "one");
    /// loaded.set_comment_of(body, node, "two\nlines");
    /// assert!(loaded.text().contains("    # two\n    # lines\n    y = Relu(x)\n"));
    /// ```
    pub fn set_comment_of(&mut self, body: BodyId, node: NodeId, text: &str) {
        let mut comments = self.kept.take().unwrap_or_else(|| self.comments());
        let mut origin = self.model.bodies[body].origins[node];
        // A node beside which it was inserted may have the same.
        if origin == Origin::NONE || self.of_origin(body, origin).any(|other| other != node) {
            origin = Origin(comments.fresh_origin());
            self.model.bodies[body].origins[node] = origin;
        }
        comments.set_before_node(origin.0, text);
        self.kept = Some(comments);
    }

    /// The nodes of an origin, in the order of the text: the first has its comments.
    fn of_origin(&self, body: BodyId, origin: Origin) -> impl Iterator<Item = NodeId> {
        let body = &self.model.bodies[body];
        body.walk().nodes().filter(move |node| body.origins[*node] == origin)
    }

    /// Adds the comments of another model, for an edit that copies its nodes into this one ([`crate::edit::replace`]). Comments on values
    /// whose names this model has too are left out.
    #[cfg(feature = "edit")]
    pub fn adopt(&mut self, other: Loaded) -> Incoming {
        let names = &self.model.names;
        let mut comments = self.comments();
        let distance = comments.append(other.comments(), |name| names.find(name).is_none());
        self.kept = Some(comments);
        self.is_of_partial |= other.is_partial();
        Incoming::moved(other.model, distance)
    }

    /// The model that a pass made of this one. It has no places in the file, and keeps the comments of the file.
    #[must_use]
    pub fn became(&self, model: Model) -> Loaded {
        let file = self.file.clone();
        let is_of_partial = self.is_partial();
        Loaded { kept: Some(self.comments()), is_of_partial, ..Loaded::new(file, model, Vec::new()) }
    }

    /// Whether a part of the file could not be read, so that the model is incomplete; so is what a pass makes of it.
    pub fn is_partial(&self) -> bool {
        self.is_of_partial || self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Why a part of the file could not be read ([`is_partial`](Self::is_partial)): the findings about it.
    pub fn lost_parts(&self) -> Vec<Diagnostic> {
        let mut errors: Vec<_> =
            self.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).cloned().collect();
        if self.is_of_partial && errors.is_empty() {
            let message = format!("parts of {} could not be read", self.file.name);
            errors.push(Diagnostic::new(&code::MODEL_UNDECODABLE, Place::Nowhere, message));
        }
        errors
    }

    /// Loads external weights into the model. Returns findings about unreadable and inconsistent ones.
    pub fn load_weights(&mut self) -> Vec<Diagnostic> {
        if !is_stored_outside(&self.model) {
            return Vec::new();
        }
        let path = self.file.path.clone();
        let mut folder = Folder::of(path.as_deref().unwrap_or(Path::new("")));
        // The weights beside a text are verified by checksum.
        let is_summed = self.file.form == Form::Text;
        internalize(&mut self.model, Which::All, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, is_summed)
        })
    }
}
