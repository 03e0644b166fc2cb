//! The context of all checks: the model with the document order of its bodies, and the list of findings.

use super::layout::Layout;
use super::{Level, VerifyOptions};
use crate::body::Body;
use crate::diag::{Code, Diagnostic, Suggestions};
use crate::entity::EntityId;
use crate::ids::{BodyId, FunctionId};
use crate::model::Model;
use crate::names::Name;
use crate::releases::NEWEST_IR;

/// The role of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Main,
    Function(FunctionId),
    /// The graph that initializes entry `n` of `training_info`.
    Initialization(u32),
    /// The training step of entry `n` of `training_info`.
    Algorithm(u32),
}

impl Role {
    pub(super) fn is_function(self) -> bool {
        matches!(self, Role::Function(_))
    }
}

/// A body that the model uses.
pub(super) struct View<'m> {
    pub(super) id: BodyId,
    pub(super) body: &'m Body,
    pub(super) role: Role,
    pub(super) layout: Layout,
}

/// The model, prepared for checking.
pub(super) struct VerifyContext<'m> {
    pub(super) model: &'m Model,
    pub(super) options: &'m VerifyOptions,
    /// In the order of the text: main graph, functions, training.
    pub(super) bodies: Vec<View<'m>>,
    /// The stated IR version; the newest where none is stated, so that rules on versions stay silent.
    pub(super) ir_version: i64,
    ai_onnx: Option<Name>,
}

impl<'m> VerifyContext<'m> {
    pub(super) fn new(model: &'m Model, options: &'m VerifyOptions) -> Self {
        let functions = model.functions.iter().map(|(f, function)| (Role::Function(f), function.body));
        let training = model.training.iter().enumerate().flat_map(|(i, t)| {
            let i = index(i);
            let initialization = t.initialization.map(|b| (Role::Initialization(i), b));
            initialization.into_iter().chain(t.algorithm.map(|b| (Role::Algorithm(i), b)))
        });
        let bodies = (model.main.map(|b| (Role::Main, b)).into_iter())
            .chain(functions)
            .chain(training)
            .map(|(role, id)| {
                let body = &model.bodies[id];
                View { id, body, role, layout: Layout::new(body) }
            })
            .collect();
        let ir_version = model.header.ir_version.filter(|&v| v >= 1).unwrap_or(NEWEST_IR);
        VerifyContext { model, options, bodies, ir_version, ai_onnx: model.names.find("ai.onnx") }
    }

    /// The text of a name.
    pub(super) fn text(&self, name: Name) -> &'m str {
        &self.model.names[name]
    }

    /// A domain, where the default one is the empty name by either of its spellings.
    pub(super) fn domain(&self, domain: Option<Name>) -> Name {
        domain.filter(|&d| Some(d) != self.ai_onnx).unwrap_or(Name::empty())
    }

    /// A domain for messages.
    pub(super) fn domain_text(&self, domain: Name) -> &'m str {
        if domain.is_empty() { "ai.onnx" } else { self.text(domain) }
    }

    /// The main graph's view.
    pub(super) fn main(&self) -> Option<&View<'m>> {
        self.bodies.iter().find(|v| v.role == Role::Main)
    }
}

/// The findings so far.
pub(super) struct Findings {
    level: Level,
    list: Vec<Diagnostic>,
    suggestions: Suggestions,
}

impl Findings {
    pub(super) fn new(options: &VerifyOptions) -> Self {
        Findings { level: options.level, list: Vec::new(), suggestions: Suggestions::default() }
    }

    /// Whether findings of this code are asked for; for checks that cost something.
    pub(super) fn wants(&self, code: &Code) -> bool {
        code.level <= self.level
    }

    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        if self.wants(diagnostic.code) {
            self.list.push(diagnostic);
        }
    }

    pub(super) fn into_list(self) -> Vec<Diagnostic> {
        self.list
    }

    /// `did you mean …?` for a name, from at most `len` candidates.
    pub(super) fn suggest<'a>(
        &mut self,
        word: &str,
        len: usize,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        self.near(word, len, candidates).map(|c| format!("did you mean `{c}`?"))
    }

    /// The most similar of at most `len` candidates.
    pub(super) fn near<'a>(
        &mut self,
        word: &str,
        len: usize,
        candidates: impl IntoIterator<Item = &'a str>,
    ) -> Option<&'a str> {
        self.suggestions.near(word, len, candidates)
    }

    /// Whether the budget allows for this many comparisons for a suggestion.
    pub(super) fn affords(&mut self, len: usize) -> bool {
        self.suggestions.affords(len)
    }
}

/// Facts about names since the last [`clear`](Self::clear), which takes constant time.
///
/// Its size depends on the names with facts: most checks store few, for models with many names.
pub(super) struct Seen<T> {
    marks: Vec<(u32, T)>,
    epoch: u32,
}

impl<T: Copy + Default> Seen<T> {
    pub(super) fn new() -> Self {
        Seen { marks: Vec::new(), epoch: 1 }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        if self.epoch == u32::MAX {
            self.marks.fill((0, T::default()));
            self.epoch = 0;
        }
        self.epoch += 1;
    }

    /// The fact of a name.
    pub(super) fn get(&self, name: Name) -> Option<T> {
        self.marks.get(name.index()).filter(|m| m.0 == self.epoch).map(|m| m.1)
    }

    /// Remembers a fact about a name unless there is one, which is returned.
    pub(super) fn first(&mut self, name: Name, fact: T) -> Option<T> {
        let earlier = self.get(name);
        if earlier.is_none() {
            self.set(name, fact);
        }
        earlier
    }

    /// Remembers a fact about a name.
    pub(super) fn set(&mut self, name: Name, fact: T) {
        if self.marks.len() <= name.index() {
            self.marks.resize(name.index() + 1, (0, T::default()));
        }
        self.marks[name.index()] = (self.epoch, fact);
    }
}

/// An index in the form that diagnostics use.
pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// Whether a name is a C90 identifier.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
