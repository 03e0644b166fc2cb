//! The names of a text: where each occurs, and which occurrences mean the same thing.
//!
//! The tree alone decides, so a text with mistakes has its names too:
//!
//! ```
//! use onnx_text::{TextNames, parse_model};
//!
//! let text = "g (float[N] x) => (float[N] y) { t = Abs(x) y = Add(t, x) }";
//! let syntax = parse_model(text).value;
//! let names = TextNames::new(text, &syntax.tree);
//! let x = names.at(text.find("x)").unwrap() as u32).expect("the input");
//! assert_eq!(names.occurrences(x.name).count(), 3);
//! ```
//!
//! Values are visible in their graph and in the graphs nested in it, symbols of dimensions and attribute parameters in the whole
//! function or main graph, functions everywhere. A value that nothing defines is a name of the outermost graph.

mod rename;
mod walk;

pub use rename::{RenameError, rename_in_text};

use crate::ast;
use crate::lower::literals::{Escapes, unquote};
use onnx_ir::diag::Span;
use std::borrow::Cow;

/// A name of a text; [`TextNames`] has what it means.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NameId(u32);

/// The kinds of things that names mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NameKind {
    /// A value: input, initializer or result of a node.
    Value,
    /// A node.
    Node,
    /// A graph.
    Graph,
    /// A function of the model.
    Function,
    /// An operator that is not a function of the model.
    Operator,
    /// An attribute of an operator.
    Attribute,
    /// An attribute parameter of a function.
    Parameter,
    /// A symbol of a dimension.
    Symbol,
    /// A domain of operators.
    Domain,
}

/// The role of an occurrence of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NameRole {
    /// Defines it.
    Definition,
    /// States something about it: an output of a graph, an entry of `value_info`, an annotation.
    Declaration,
    /// Uses it.
    Use,
}

/// The spelling of an occurrence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spelling {
    /// An identifier or a quoted string, whichever the name needs.
    Name,
    /// A string, quotes included.
    String,
    /// A word inside a string, such as the `N` of `"N+1"`.
    Word,
}

/// A name at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Occurrence {
    /// Its place, quotes included.
    pub span: Span,
    /// The name.
    pub name: NameId,
    /// Its role.
    pub role: NameRole,
    /// How it is spelled.
    pub spelling: Spelling,
}

/// A name and what it belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameInfo {
    /// The kind of thing that it means.
    pub kind: NameKind,
    /// The scope in which it is visible.
    pub scope: ScopeId,
    /// The operator or function of an attribute or parameter.
    pub owner: Option<NameId>,
    /// The spelling at its first occurrence.
    first: Span,
    /// How the first occurrence is spelled.
    spelling: Spelling,
}

/// A scope of a text; [`TextNames`] has where it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ScopeId(u32);

/// A part of a text with names of its own: the file, the main graph, a function, or a graph in one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextScope {
    /// The scope around it; `None` for the file.
    pub parent: Option<ScopeId>,
    /// The main graph or function that it is in or is; its own id for those and for the file.
    pub root: ScopeId,
    /// Its place.
    pub span: Span,
}

/// All names of a text.
#[derive(Clone, Default, Debug)]
pub struct TextNames {
    /// In the order of the text.
    occurrences: Vec<Occurrence>,
    names: Vec<NameInfo>,
    scopes: Vec<TextScope>,
    /// Positions in `occurrences`, those of each name together, in the order of the text.
    by_name: Vec<u32>,
    /// Where the positions of each name begin, and the end of the last.
    starts: Vec<u32>,
}

impl TextNames {
    /// Finds the names of a tree over its source.
    #[must_use]
    pub fn new(source: &str, file: &ast::File) -> TextNames {
        let mut walk = walk::Walk::new(source);
        walk.file(file);
        let (mut occurrences, names, scopes) = walk.finish();
        occurrences.sort_by_key(|occurrence| occurrence.span);
        let mut starts = vec![0; names.len() + 1];
        for occurrence in &occurrences {
            starts[occurrence.name.0 as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut next = starts.clone();
        let mut by_name = vec![0; occurrences.len()];
        for (i, occurrence) in (0..).zip(&occurrences) {
            let slot = &mut next[occurrence.name.0 as usize];
            by_name[*slot as usize] = i;
            *slot += 1;
        }
        TextNames { occurrences, names, scopes, by_name, starts }
    }

    /// The occurrence that has this byte, or ends at it.
    #[must_use]
    pub fn at(&self, offset: u32) -> Option<Occurrence> {
        let next = self.occurrences.partition_point(|occurrence| occurrence.span.start <= offset);
        let before = self.occurrences[..next].iter().rev().take(2);
        before.copied().find(|occurrence| offset <= occurrence.span.end)
    }

    /// All occurrences in the order of the text.
    #[must_use]
    pub fn all(&self) -> &[Occurrence] {
        &self.occurrences
    }

    /// The occurrences that begin in a part of the text.
    #[must_use]
    pub fn within(&self, span: Span) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|occurrence| occurrence.span.start < span.start);
        let end = self.occurrences.partition_point(|occurrence| occurrence.span.start < span.end);
        &self.occurrences[start..end.max(start)]
    }

    /// The occurrences of a name, in the order of the text.
    pub fn occurrences(&self, name: NameId) -> impl Iterator<Item = Occurrence> + '_ {
        let range = self.starts[name.0 as usize] as usize..self.starts[name.0 as usize + 1] as usize;
        self.by_name[range].iter().map(|&i| self.occurrences[i as usize])
    }

    /// The first definition of a name.
    #[must_use]
    pub fn definition(&self, name: NameId) -> Option<Occurrence> {
        self.occurrences(name).find(|occurrence| occurrence.role == NameRole::Definition)
    }

    /// The facts about a name.
    #[must_use]
    pub fn info(&self, name: NameId) -> &NameInfo {
        &self.names[name.0 as usize]
    }

    /// All names, in the order in which they were found.
    pub fn ids(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..u32::try_from(self.names.len()).unwrap_or(u32::MAX)).map(NameId)
    }

    /// A name without quotes.
    #[must_use]
    pub fn text<'s>(&self, source: &'s str, name: NameId) -> Cow<'s, str> {
        let info = self.info(name);
        plain(source, info.first, info.spelling)
    }

    /// A scope.
    #[must_use]
    pub fn scope(&self, scope: ScopeId) -> &TextScope {
        &self.scopes[scope.0 as usize]
    }

    /// The innermost scope around a byte. A scope begins before what is nested in it.
    #[must_use]
    pub fn scope_at(&self, offset: u32) -> Option<ScopeId> {
        let next = self.scopes.partition_point(|scope| scope.span.start <= offset);
        let mut scope = ScopeId(u32::try_from(next).ok()?.checked_sub(1)?);
        while self.scope(scope).span.end < offset {
            scope = self.scope(scope).parent?;
        }
        Some(scope)
    }

    /// Whether a scope is another one or nested in it.
    #[must_use]
    pub fn is_within(&self, scope: ScopeId, outer: ScopeId) -> bool {
        let mut at = Some(scope);
        while let Some(scope) = at {
            if scope == outer {
                return true;
            }
            at = self.scope(scope).parent;
        }
        false
    }

    /// The names of a kind that are visible at a byte, in no useful order.
    pub fn visible(&self, offset: u32, kind: NameKind) -> impl Iterator<Item = NameId> + '_ {
        let mut around = Vec::new();
        let mut scope = self.scope_at(offset);
        while let Some(id) = scope {
            around.push(id);
            scope = self.scope(id).parent;
        }
        self.ids().filter(move |&id| {
            let info = self.info(id);
            info.kind == kind && around.contains(&info.scope)
        })
    }
}

/// A spelling without quotes; bytes that are not UTF-8 are replaced.
fn plain(source: &str, span: Span, spelling: Spelling) -> Cow<'_, str> {
    let text = source.get(span.range()).unwrap_or_default();
    match spelling {
        Spelling::Word => Cow::Borrowed(text),
        Spelling::Name | Spelling::String => match unquote(text, Escapes::Literal) {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        },
    }
}
