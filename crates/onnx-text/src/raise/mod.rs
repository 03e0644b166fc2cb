//! Raises the IR to a syntax tree, over a new source buffer.
//!
//! The tree is like a parsed one: its spans refer to the buffer, in document order. What the reference grammar cannot express
//! becomes annotations; what annotations cannot express has an extended form, which the reference rejects. Reading the tree again
//! yields the same model, including field presence.

mod attributes;
mod buffer;
mod defaults;
mod fragment;
mod graphs;
mod header;
mod notes;
mod opset;
mod signature;
mod tensors;
mod types;
mod value;

pub(crate) use fragment::print_nodes;
pub use fragment::{
    print_attribute, print_function, print_graph, print_model, print_node, print_part, print_tensor,
    print_tensor_of, print_type, print_value, print_value_info,
};

pub use opset::print_operator_set;

pub(crate) use signature::signature_text;

use crate::ast::File;
use crate::comments::{Anchor, Comments, Scope};
use crate::lex::ANNOTATED;
use crate::parse::Syntax;
use buffer::Buffer;
use defaults::Defaults;
use onnx_ir::diag::{Diagnostic, Entity, Place, Span, code};
use onnx_ir::{BodyId, Model};
use std::collections::HashMap;

/// The syntax that a text may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Profile {
    /// The syntax of the reference parser, annotations in comments, and extended forms where necessary.
    #[default]
    Onnx,
    /// The same, and narrow floats as values, which the reference parser rejects; for display.
    Extended,
    /// Only the syntax of the reference parser; losses are listed.
    Reference,
}

/// Options of raising.
#[derive(Clone, Debug)]
pub struct RaiseOptions {
    /// The syntax that the text may use.
    pub profile: Profile,
    /// Print this many elements of a tensor and no more, and of a list of an attribute that has more than 32; of a string
    /// the first 1000 bytes. Such a text is for reading only.
    pub elide: Option<usize>,
    /// Print of a tensor with more elements than this the first and last three along each axis, and no annotations: what
    /// programs show of results.
    pub summarize: Option<usize>,
    /// Whether `metadata_props` and documentation of nodes, values and tensors are shown.
    pub metadata: bool,
    /// For display: strings with control characters, or with lines that are commands to a CI system, become byte strings with
    /// escapes, in every profile. The model stays the same.
    pub visible: bool,
}

impl Default for RaiseOptions {
    fn default() -> Self {
        RaiseOptions { profile: Profile::Onnx, elide: None, summarize: None, metadata: true, visible: false }
    }
}

/// A model as a syntax tree.
#[derive(Clone, Debug, Default)]
#[must_use = "a profile may not express the whole model"]
pub struct Raised {
    /// The text that the spans of the tree point into. Not laid out: [`format`](crate::format) does that.
    pub source: String,
    /// The tree and the comments.
    pub syntax: Syntax<File>,
    /// Losses: what the profile cannot express.
    pub losses: Vec<Diagnostic>,
    /// Whether an extended form was needed, so that the reference parser refuses the text.
    pub is_extended: bool,
}

/// Raises a model.
pub fn raise(model: &Model, options: &RaiseOptions) -> Raised {
    raise_with(model, options, &Comments::default())
}

/// Raises a model, with the comments of its original text. Comments of removed items are dropped.
pub fn raise_with(model: &Model, options: &RaiseOptions, comments: &Comments) -> Raised {
    let defaults = Defaults::of(model, options);
    let mut raiser = Raiser::new(model, options, defaults);
    raiser.comments = comments.clone();
    let mut tree = raiser.file();
    if raiser.notes_missed {
        // The first attempt needs annotations: start again with the line that declares them.
        raiser = Raiser::new(
            model,
            options,
            Defaults { is_annotated: true, ..Defaults::of(model, options) }.annotated(model),
        );
        raiser.comments = comments.clone();
        tree = raiser.file();
    }
    if u32::try_from(raiser.out.text.len()).is_err() {
        let d = Diagnostic::new(
            &code::SOURCE_TOO_LARGE,
            Place::Nowhere,
            "the text of the model is larger than 4 GiB",
        );
        return Raised {
            losses: vec![d.help("keep weights and large strings out of the text")],
            ..Raised::default()
        };
    }
    Raised {
        source: raiser.out.text,
        syntax: Syntax { tree, comments: raiser.written, annotated: raiser.annotated },
        losses: grouped(raiser.losses),
        is_extended: raiser.is_extended,
    }
}

/// One finding for each thing that is lost, with how often it is.
fn grouped(losses: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut groups: Vec<(Diagnostic, usize)> = Vec::new();
    let mut at: HashMap<String, usize> = HashMap::new();
    for loss in losses {
        match at.get(&loss.message) {
            Some(&group) => groups[group].1 += 1,
            None => {
                at.insert(loss.message.clone(), groups.len());
                groups.push((loss, 1));
            }
        }
    }
    let reported = |(mut loss, times): (Diagnostic, usize)| {
        if times > 1 {
            loss.message = format!("{} ({times} times)", loss.message);
        }
        loss
    };
    groups.into_iter().map(reported).collect()
}

/// The state of raising.
struct Raiser<'m> {
    model: &'m Model,
    options: RaiseOptions,
    defaults: Defaults,
    out: Buffer,
    annotated: Option<Span>,
    /// An annotation was due in a text that has none.
    notes_missed: bool,
    is_extended: bool,
    losses: Vec<Diagnostic>,
    /// Comments without a place so far.
    comments: Comments,
    /// The comments that exist.
    written: Vec<Span>,
    /// The graph or function that is being raised.
    scope: Scope,
    /// The part of the model that is being raised: where a loss is reported.
    at: Entity,
    /// The place of the node whose attributes are being raised, and the number of its graphs so far.
    holder: (u32, u32),
}

impl<'m> Raiser<'m> {
    fn new(model: &'m Model, options: &RaiseOptions, defaults: Defaults) -> Self {
        Raiser {
            model,
            options: options.clone(),
            defaults,
            out: Buffer::default(),
            annotated: None,
            notes_missed: false,
            is_extended: false,
            losses: Vec::new(),
            comments: Comments::default(),
            written: Vec::new(),
            scope: Scope::Main,
            at: Entity::Header,
            holder: (u32::MAX, 0),
        }
    }

    /// Writes the comments before an item, and returns the one after it.
    fn comments_of(&mut self, anchor: impl FnOnce(&Self) -> Anchor) -> Option<String> {
        if self.comments.is_empty() {
            return None;
        }
        let anchor = anchor(self);
        let attached = self.comments.take(&anchor);
        for comment in &attached.before {
            self.begin_line();
            let span = self.out.put(comment);
            self.written.push(span);
            self.out.text.push('\n');
        }
        attached.behind
    }

    /// Ends the line of the text, if there is something on it: two line breaks would ask for a blank line.
    fn begin_line(&mut self) {
        if !self.out.text.ends_with('\n') {
            self.out.text.push('\n');
        }
    }

    /// Writes a comment after an item.
    fn comment_behind(&mut self, comment: Option<String>) {
        if let Some(comment) = comment {
            let span = self.out.put(&comment);
            self.written.push(span);
            self.out.text.push('\n');
        }
    }

    fn file(&mut self) -> File {
        let mut file = File::default();
        if self.defaults.is_annotated {
            self.annotated = Some(self.out.put(ANNOTATED));
        }
        self.comments_of(|_| Anchor::Header);
        let notes = self.file_notes();
        file.header = self.header();
        match self.model.main {
            Some(main) => {
                let first = if file.header.is_some() { None } else { Some(notes.clone()) };
                file.graph = Some(self.root(main, first));
            }
            None => file.graph = Some(self.placeholder()),
        }
        if file.header.is_some() {
            file.notes = notes;
        } else if let (None, Some(graph)) = (self.model.main, &mut file.graph) {
            graph.notes = notes;
        }
        for id in self.model.functions.ids() {
            if self.notes_missed {
                break;
            }
            let function = self.function(id);
            file.functions.push(function);
        }
        self.comments_of(|_| Anchor::Tail);
        file
    }

    fn root(&mut self, body: BodyId, notes: Option<crate::ast::Notes>) -> crate::ast::Graph {
        match self.model.bodies[body].root() {
            Some(root) => self.graph(body, root, notes),
            None => self.placeholder(),
        }
    }

    /// Records a loss of the profile.
    #[cold]
    fn lose(&mut self, what: impl Into<String>) {
        self.losses.push(Diagnostic::new(&code::NOT_EXPRESSIBLE, self.at, what));
    }

    /// Raises a part of the model, at which losses are reported.
    fn at<T>(&mut self, entity: Entity, raise: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.at, entity);
        let raised = raise(self);
        self.at = outer;
        raised
    }

    /// Whether an extended form may be used; notes that it was, or that `what` is lost.
    fn extend(&mut self, what: impl FnOnce() -> String) -> bool {
        match self.options.profile {
            Profile::Onnx | Profile::Extended => {
                self.is_extended = true;
                true
            }
            Profile::Reference => {
                self.lose(what());
                false
            }
        }
    }
}
