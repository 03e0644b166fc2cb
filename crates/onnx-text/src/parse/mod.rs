//! Tokens to syntax tree. Never fails: returns the tree that could be built and everything that was wrong.
//!
//! One parser function for each production of `grammar/onnx-text.ebnf`, under the same name. The grammar needs no
//! backtracking: where a production has alternatives, the next tokens decide. Statements of the most frequent form are read by hand
//! (`grammar/plain.rs`), everything else by the grammar. This folder is the only one that names chumsky.

mod failure;
mod grammar;
mod habits;
mod look;
mod primitives;
#[cfg(test)]
mod tests;

use crate::ast;
use crate::lex::{Kind, Lexed, MAX_FINDINGS, Token, lex};
use chumsky::inspector::SimpleState;
use failure::Failure;
pub(crate) use grammar::Part;
use grammar::{Context, P, production, whole};
use onnx_ir::diag::{Diagnostic, Parsed, Place, Span, code};
use std::collections::HashMap;

/// The syntax of a source: the tree and the comments. All places are spans of the source, which [`format`](crate::format())
/// needs beside it.
#[derive(Clone, Debug, Default)]
pub struct Syntax<T> {
    /// The tree, as much of it as could be built.
    pub tree: T,
    /// Comments that are not annotations, in order.
    pub comments: Vec<Span>,
    /// The first line, if it declares that the file has annotations.
    pub annotated: Option<Span>,
}

impl<T> Syntax<T> {
    /// The syntax with another tree.
    #[must_use]
    pub(crate) fn map<U>(self, change: impl FnOnce(T) -> U) -> Syntax<U> {
        let Syntax { tree, comments, annotated } = self;
        Syntax { tree: change(tree), comments, annotated }
    }
}

impl<T> Syntax<Option<T>> {
    /// The syntax of a source of which something could be parsed.
    #[must_use]
    pub fn transpose(self) -> Option<Syntax<T>> {
        let Syntax { tree, comments, annotated } = self;
        tree.map(|tree| Syntax { tree, comments, annotated })
    }
}

/// Parses a model and passes on its parts, which are not in the tree then: the main graph of the tree has no nodes, and the file has no
/// functions. Nothing that is passed on depends on what comes after it.
pub(crate) fn parse_parts(
    source: &str,
    lexed: Lexed,
    receive: &mut dyn FnMut(Part<'_>),
) -> Parsed<Syntax<ast::File>> {
    let (tree, failures) = {
        let context = Context { receive: Some(receive), ..Context::of(source) };
        run(production(grammar::model), &lexed.tokens, context)
    };
    finish(source, lexed, tree, failures)
}

/// The tree that a parser makes of tokens, and its failures.
fn run<'t, T: Default>(
    parser: impl P<'t, T>,
    tokens: &'t [Token],
    context: Context<'t>,
) -> (T, Vec<Failure>) {
    let mut context = SimpleState(context);
    let (tree, mut failures) = parser.parse_with_state(tokens, &mut context).into_output_errors();
    failures.append(&mut context.emitted);
    (tree.unwrap_or_default(), failures)
}

macro_rules! entry {
    ($(#[$doc:meta])* $name:ident, $production:expr, $tree:ty) => {
        $(#[$doc])*
        pub fn $name(source: &str) -> Parsed<Syntax<$tree>> {
            let lexed = lex(source);
            let (tree, failures) = run($production, &lexed.tokens, Context::of(source));
            finish(source, lexed, tree, failures)
        }
    };
}

/// A model: header, graph, functions.
pub fn parse_model(source: &str) -> Parsed<Syntax<ast::File>> {
    parse_lexed_model(source, lex(source))
}

/// Parses a model of a source whose tokens are known.
pub(crate) fn parse_lexed_model(source: &str, lexed: Lexed) -> Parsed<Syntax<ast::File>> {
    let (tree, failures) = run(production(grammar::model), &lexed.tokens, Context::of(source));
    finish(source, lexed, tree, failures)
}

entry!(
    /// An operator set in a file of its own.
    parse_operator_set, production(grammar::operator_set), ast::OperatorSet
);
entry!(
    /// One operator of an operator set.
    parse_operator, whole(grammar::operator_item), Option<ast::Operator>
);
entry!(
    /// One graph.
    parse_graph, whole(grammar::graph), Option<ast::Graph>
);
entry!(
    /// One model-local function.
    parse_function, whole(grammar::function), Option<ast::Function>
);
entry!(
    /// One node.
    parse_node, whole(grammar::node), Option<ast::Node>
);
entry!(
    /// One attribute, `name = value`.
    parse_attribute, whole(grammar::attr), Option<ast::Attr>
);
entry!(
    /// One type.
    parse_type, whole(grammar::type_), Option<ast::Type>
);
entry!(
    /// One value info, `float[N] x`; with data, an initializer or a tensor.
    parse_value_info, whole(grammar::value_info), Option<ast::ValueInfo>
);
entry!(
    /// One value in a file of its own: a tensor, sparse tensor, sequence, map or optional.
    parse_value, whole(grammar::value), Option<ast::Value>
);

/// [`parse_model`] by the grammar alone.
#[cfg(test)]
pub(crate) fn parse_model_by_grammar(source: &str) -> Parsed<Syntax<ast::File>> {
    let lexed = lex(source);
    let context = Context { has_plain_reader: false, ..Context::of(source) };
    let (tree, failures) = run(production(grammar::model), &lexed.tokens, context);
    finish(source, lexed, tree, failures)
}

fn finish<T>(source: &str, lexed: Lexed, tree: T, failures: Vec<Failure>) -> Parsed<Syntax<T>> {
    let Lexed { tokens, comments, mut diagnostics, annotated, swallowing } = lexed;
    // Tokens inside an unterminated string are not reported as missing, and a skipped text has no other mistakes.
    let reported = |f: &Failure| {
        swallowing.iter().any(|&t| f.at == t + 1)
            || diagnostics.iter().any(|d| d.code == &code::NESTING_TOO_DEEP)
    };
    let stray = stray(&diagnostics);
    let failures = failures.into_iter().filter(|f| !reported(f) && !follows_stray(f, &tokens, &stray));
    let (at_end, failures): (Vec<_>, Vec<_>) = failures.partition(|f| f.at as usize >= tokens.len());
    match &at_end[..] {
        [] => {}
        [one] => diagnostics.push(failure::diagnose(*one, &tokens, source)),
        more => diagnostics.push(failure::cut_off(more, &tokens, source)),
    }
    diagnostics.extend(failures.into_iter().map(|f| failure::diagnose(f, &tokens, source)));
    sort(&mut diagnostics);
    confirm_names(source, &tokens, &mut diagnostics);
    doubt_commas(source, &tokens, &mut diagnostics);
    if diagnostics.len() >= MAX_FINDINGS {
        let message = format!("more than {MAX_FINDINGS} mistakes: the rest of the text was not read");
        diagnostics.push(Diagnostic::new(&code::TOO_MANY_MISTAKES, Place::Nowhere, message));
    }
    Parsed::new(Syntax { tree, comments, annotated }, diagnostics)
}

/// The places of dropped characters that belong to no token, in order.
fn stray(diagnostics: &[Diagnostic]) -> Vec<Span> {
    let place = |d: &Diagnostic| match d.primary.place {
        Place::Source(span) if d.code == &code::STRAY_CHARACTER => Some(span),
        Place::Source(_) | Place::Entity(_) | Place::Nowhere => None,
    };
    diagnostics.iter().filter_map(place).collect()
}

/// Whether a failure is a consequence of characters that were dropped right before it, as in `x + y`.
fn follows_stray(failure: &Failure, tokens: &[Token], stray: &[Span]) -> bool {
    let at = failure.at as usize;
    let begin = at.checked_sub(1).and_then(|i| tokens.get(i)).map_or(0, |t| t.span.end);
    let end = tokens.get(at).map_or(u32::MAX, |t| t.span.start);
    let next = stray.partition_point(|span| span.start < begin);
    failure.is_local() && stray.get(next).is_some_and(|span| span.end <= end)
}

/// A name that occurs twice is one name, not a typing mistake: quoting it is certain.
fn confirm_names(source: &str, tokens: &[Token], diagnostics: &mut [Diagnostic]) {
    let needs_quotes = |d: &Diagnostic| d.code == &code::NAME_NEEDS_QUOTES;
    let name = |d: &Diagnostic| match d.primary.place {
        Place::Source(span) => source.get(span.range()).filter(|_| needs_quotes(d)),
        Place::Entity(_) | Place::Nowhere => None,
    };
    let mut places: HashMap<&str, usize> = HashMap::new();
    for text in diagnostics.iter().filter_map(name) {
        *places.entry(text).or_default() += 1;
    }
    if places.is_empty() {
        return;
    }
    for token in tokens.iter().filter(|t| t.kind == Kind::String) {
        let text = source[token.span.range()].trim_matches('"');
        if let Some(count) = places.get_mut(text) {
            *count += 1;
        }
    }
    for diagnostic in diagnostics.iter_mut() {
        let is_certain = name(diagnostic).is_some_and(|text| places[text] > 1);
        for fix in diagnostic.fixes.iter_mut().filter(|_| is_certain) {
            fix.safe = true;
        }
    }
}

/// A comma missing after a name that occurs nowhere else may have become a character of it: `int64 ix bool go`.
fn doubt_commas(source: &str, tokens: &[Token], diagnostics: &mut [Diagnostic]) {
    let is_comma = |d: &Diagnostic| {
        let mut edits = d.fixes.iter().flat_map(|fix| &fix.edits);
        d.code == &code::MISSING_PUNCTUATION && edits.any(|edit| edit.text == ",")
    };
    let name = |d: &Diagnostic| {
        let Place::Source(span) = d.primary.place else { return None };
        let next = tokens.partition_point(|token| token.span.end < span.start);
        let before = tokens.get(next).filter(|t| t.kind == Kind::Ident && t.span.end == span.start)?;
        is_comma(d).then(|| &source[before.span.range()])
    };
    let mut places: HashMap<&str, usize> =
        diagnostics.iter().filter_map(name).map(|text| (text, 0)).collect();
    if places.is_empty() {
        return;
    }
    for token in tokens.iter().filter(|t| t.kind == Kind::Ident) {
        if let Some(count) = places.get_mut(&source[token.span.range()]) {
            *count += 1;
        }
    }
    for diagnostic in diagnostics.iter_mut() {
        let is_doubtful = name(diagnostic).is_some_and(|text| places[text] < 2);
        for fix in diagnostic.fixes.iter_mut().filter(|_| is_doubtful) {
            fix.safe = false;
        }
    }
}

/// Puts diagnostics into the order of the source.
pub(crate) fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by_key(|d| match d.primary.place {
        Place::Source(span) => span,
        Place::Entity(_) | Place::Nowhere => Span::at(u32::MAX),
    });
}
