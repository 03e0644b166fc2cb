//! IR to syntax tree, over a buffer of its own.
//!
//! The tree is like one that was parsed: its spans point into the buffer, in document order. What the reference's
//! grammar has no place for becomes annotations; what can be said neither way takes an extended form that the reference
//! refuses. Reading the tree again gives the same model, presence of fields included.

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

pub use fragment::{
    print_attribute, print_function, print_graph, print_model, print_node, print_tensor, print_type,
    print_value, print_value_info,
};

pub use opset::print_operator_set;

pub(crate) use buffer::name_text;
pub(crate) use signature::signature_text;

use crate::ast::File;
use crate::lex::ANNOTATED;
use buffer::Buffer;
use defaults::Defaults;
use onnx_ir::diag::{Diagnostic, Place, Span, code};
use onnx_ir::{BodyId, Model};

/// What a text may be made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Profile {
    /// What the reference parser accepts, annotations in comments, and extended forms where nothing else will do.
    #[default]
    Onnx,
    /// The same, and numbers of narrow floats as values, which the reference parser refuses: for people.
    Extended,
    /// What the reference parser accepts, and nothing else; what is lost is listed.
    Reference,
}

/// How a model is raised.
#[derive(Clone, Debug)]
pub struct RaiseOptions {
    /// What the text may be made of.
    pub profile: Profile,
    /// Print this many elements of a tensor and no more, and of a list of an attribute that has more than 32; of a string
    /// the first 1000 bytes. Such a text is for reading only.
    pub elide: Option<usize>,
    /// Print of a tensor with more elements than this the first and last three along each axis, and no annotations: what
    /// programs show of results.
    pub summarize: Option<usize>,
    /// Whether `metadata_props` and documentation of nodes, values and tensors are shown.
    pub metadata: bool,
}

impl Default for RaiseOptions {
    fn default() -> Self {
        RaiseOptions { profile: Profile::Onnx, elide: None, summarize: None, metadata: true }
    }
}

/// A model as a syntax tree.
#[derive(Clone, Debug, Default)]
pub struct Raised {
    /// The text that the spans of the tree point into. Not laid out: [`format`](crate::format) does that.
    pub source: String,
    /// The tree.
    pub tree: File,
    /// The first line, if the tree has annotations.
    pub annotated: Option<Span>,
    /// What the profile cannot say.
    pub losses: Vec<Diagnostic>,
    /// Whether an extended form was needed, so that the reference parser refuses the text.
    pub is_extended: bool,
}

/// Raises a model.
pub fn raise(model: &Model, options: &RaiseOptions) -> Raised {
    let defaults = Defaults::of(model, options);
    let mut raiser = Raiser::new(model, options, defaults);
    let mut tree = raiser.file();
    if raiser.notes_missed {
        // The first try found something to annotate: begin again with the line that says so.
        raiser = Raiser::new(
            model,
            options,
            Defaults { is_annotated: true, ..Defaults::of(model, options) }.annotated(model),
        );
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
        annotated: raiser.annotated,
        tree,
        losses: raiser.losses,
        is_extended: raiser.is_extended,
    }
}

/// What raising carries along.
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
        }
    }

    fn file(&mut self) -> File {
        let mut file = File::default();
        if self.defaults.is_annotated {
            self.annotated = Some(self.out.put(ANNOTATED));
        }
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
        file
    }

    fn root(&mut self, body: BodyId, notes: Option<crate::ast::Notes>) -> crate::ast::Graph {
        match self.model.bodies[body].root() {
            Some(root) => self.graph(body, root, notes),
            None => self.placeholder(),
        }
    }

    /// The profile cannot say this.
    #[cold]
    fn lose(&mut self, what: impl Into<String>) {
        let d = Diagnostic::new(&code::NOT_EXPRESSIBLE, Place::Nowhere, what);
        self.losses.push(d);
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
