//! Checks a text in one run: findings of parser, lowering and verifier, in the order of the text.
//!
//! Where the text has mistakes, a part of the model is missing or wrong, and the verifier would report consequences. Its findings
//! about parts with a mistake are dropped; where a part of a line may be lost, only its findings about names are kept, except
//! names in that line:
//!
//! ```text
//! t = Add(x, z           missing `)`
//! u = Relu(q)            use of undefined value `q`
//! y = Relu(u)            and nothing about `u`, `t` or unused values
//! ```

mod allow;
mod apply_fixes;
pub(crate) mod beyond;
mod certain;
mod commas;
mod excerpt;
#[cfg(feature = "print")]
mod expand;
#[cfg(all(feature = "print", feature = "verify"))]
mod opset;
mod value;

#[cfg(test)]
pub(crate) use apply_fixes::apply;
pub use apply_fixes::{Fixed, Fixes, apply_fixes};
pub use beyond::Readers;
pub use excerpt::{Excerpt, ReadStatements};
#[cfg(feature = "print")]
pub use expand::{Expansion, expand, expanded};
#[cfg(all(feature = "print", feature = "verify"))]
pub use opset::{CheckedSet, check_operator_set};
pub use value::value_span;
#[cfg(feature = "verify")]
pub use value::{CheckedValue, check_value};

use crate::ast;
use crate::lower::{NamedNumbers, Open};
use crate::map::SourceMap;
use crate::parse::Syntax;
use crate::sniff::TextKind;
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Entity, Level, Parsed, Place, Span, code};
#[cfg(feature = "verify")]
use onnx_ir::{VerifyOptions, verify};
use std::collections::HashSet;

/// A text with a model, for those who need its syntax as well.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree and the comments.
    pub syntax: Syntax<ast::File>,
    /// The model, as far as it could be read.
    pub model: Model,
}

/// Parses, lowers and verifies a text.
///
/// ```
/// let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) { y = Relu(z) }";
/// let checked = onnx_text::check(text, &Default::default());
/// assert_eq!(checked.diagnostics[0].message, "use of undefined value `z`");
/// ```
#[cfg(feature = "verify")]
pub fn check(source: &str, options: &VerifyOptions) -> Parsed<Checked> {
    check_with(source, options.level, |model| verify(model, options))
}

/// Parses and lowers a text and checks the model by `judge`, unless only the syntax is checked.
pub fn check_with(source: &str, level: Level, judge: impl Fn(&Model) -> Vec<Diagnostic>) -> Parsed<Checked> {
    check_for(Readers::Ours, source, level, judge)
}

/// Does the same as [`check_with`], and reports what some of the readers of a text reject.
pub fn check_for(
    readers: Readers,
    source: &str,
    level: Level,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Parsed<Checked> {
    check_completed(readers, source, level, &|_, _| false, judge)
}

/// Gives the literals among the operands of a model their types, and makes tensors of numbers in attributes, if it knows the operators
/// ([`literal_of`](crate::literal_of), [`NamedNumbers`]). Returns whether each literal has a type.
pub type Complete<'c> = &'c dyn Fn(&mut Model, &NamedNumbers) -> bool;

/// Does the same as [`check_for`] for a text in which operands may be literals.
pub fn check_completed(
    readers: Readers,
    source: &str,
    level: Level,
    complete: Complete<'_>,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Parsed<Checked> {
    let read = read_completed(source, complete);
    let diagnostics = check_read(readers, source, &read, level, judge);
    Parsed::new(read.value, diagnostics)
}

/// Parses and lowers a text, for [`check_read`]. The findings are those of reading; no comment of the text has allowed any of them.
pub fn read_completed(source: &str, complete: Complete<'_>) -> Parsed<Checked> {
    completed(source, crate::lower::read_open(source), complete)
}

/// The findings of [`check_completed`] about a text that [`read_completed`] has read, for those who check it by several levels.
pub fn check_read(
    readers: Readers,
    source: &str,
    read: &Parsed<Checked>,
    level: Level,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let mut checked = Parsed::new(&read.value, read.diagnostics.clone());
    if level > Level::Syntax {
        let found = judge(&checked.value.model);
        add(&mut checked, source, found);
    }
    commas::confirm(source, &mut checked, judge);
    certain::keep_certain(source, &mut checked.diagnostics, |text| crate::lower::read_open(text).diagnostics);
    // A tree with mistakes has constructs that were not written.
    if !checked.is_partial() {
        let found = beyond::find(source, checked.value, readers);
        checked.diagnostics.extend(found);
    }
    allow(&mut checked, source, level);
    checked.diagnostics
}

/// Checks a text that is a part of a model ([`read_part`](crate::read_part)).
pub fn check_part_with(
    source: &str,
    kind: TextKind,
    level: Level,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Parsed<Checked> {
    check_part_completed(source, kind, level, &|_, _| false, judge)
}

/// Does the same as [`check_part_with`] for a text in which operands may be literals.
pub fn check_part_completed(
    source: &str,
    kind: TextKind,
    level: Level,
    complete: Complete<'_>,
    judge: impl Fn(&Model) -> Vec<Diagnostic>,
) -> Parsed<Checked> {
    let read = completed(source, crate::lower::read_part_open(source, kind), complete);
    let mut checked = Parsed::new(&read.value, read.diagnostics);
    if level > Level::Syntax {
        let found = judge(&checked.value.model);
        add(&mut checked, source, found);
    }
    allow(&mut checked, source, level);
    let diagnostics = checked.diagnostics;
    Parsed::new(read.value, diagnostics)
}

/// The model of a text, with types for its literals.
fn completed(source: &str, read: Parsed<Open>, complete: Complete<'_>) -> Parsed<Checked> {
    let mut read = read;
    // A literal without a type may be a consequence of a mistake.
    let Open { model, literals, numbers, .. } = &mut read.value;
    if !(literals.is_empty() && numbers.nodes.is_empty()) {
        let is_complete = complete(model, numbers);
        if is_complete || read.is_partial() {
            read.value.literals.clear();
        }
    }
    crate::lower::close(source, read).map(|(syntax, model)| Checked { syntax, model })
}

/// Leaves out the warnings that comments of the text allow, and sorts the findings.
fn allow(checked: &mut Parsed<&Checked>, source: &str, level: Level) {
    let is_whole = !checked.is_partial();
    let Checked { syntax, model } = checked.value;
    let map = SourceMap::new(source, &syntax.tree, model);
    let found = std::mem::take(&mut checked.diagnostics);
    checked.diagnostics = allow::allow(source, syntax, &map, found, level, is_whole);
    // A stable sort: findings at the same place keep their order.
    checked.diagnostics.sort_by_cached_key(|d| match d.primary.place {
        Place::Source(span) => span.start,
        Place::Entity(entity) => map.span(entity).map_or(u32::MAX, |span| span.start),
        Place::Nowhere => u32::MAX,
    });
}

/// Adds findings about the model, except those that may be consequences of syntax errors.
fn add(checked: &mut Parsed<&Checked>, source: &str, found: Vec<Diagnostic>) {
    let Checked { syntax, model } = checked.value;
    let map = SourceMap::new(source, &syntax.tree, model);
    let span = |diagnostic: &Diagnostic| match diagnostic.primary.place {
        Place::Source(span) => Some(span),
        Place::Entity(entity) => map.span(entity),
        Place::Nowhere => None,
    };
    // Nodes with attributes that could not be read, except for the names in them: a missing attribute is not reported there.
    let lost: Vec<Span> = attributes_lost(&checked.diagnostics);
    let lacks = |diagnostic: &Diagnostic| {
        let Place::Entity(entity) = diagnostic.primary.place else { return false };
        let is_name = diagnostic.code.id.starts_with("E02");
        let node = entity.node().filter(|_| !lost.is_empty() && !is_name);
        let node = node.and_then(|(body, node)| map.span(Entity::Node(body, node)));
        node.is_some_and(|node| lost.iter().any(|at| node.start <= at.start && at.end <= node.end))
    };
    let damage = Damage::of(source, &checked.diagnostics, &syntax.tree);
    let read = &mut checked.diagnostics;
    explain_literals(read, &found, span);
    // The missing results of a node without outputs are not reported again.
    let is_lost = found.iter().any(|d| d.code == &code::NODE_WITHOUT_OUTPUT);
    let is_missed = |d: &Diagnostic| is_lost && d.code == &code::GRAPH_OUTPUT;
    let spared = found.into_iter().filter(|d| !is_missed(d) && !lacks(d) && damage.spares(d, span(d)));
    let mut added = Vec::new();
    for mut diagnostic in spared {
        let at = span(&diagnostic);
        if !is_told(read, &mut diagnostic, at) {
            added.push(with_edits(diagnostic, &map));
        }
    }
    read.extend(added);
}

/// The places of attributes, also of parameters, that have no value or a wrong one.
fn attributes_lost(read: &[Diagnostic]) -> Vec<Span> {
    let lost = read.iter().filter(|d| d.code == &code::ATTRIBUTE_MISMATCH);
    let place = |d: &Diagnostic| match d.primary.place {
        Place::Source(span) => Some(span),
        Place::Entity(_) | Place::Nowhere => None,
    };
    lost.filter_map(place).collect()
}

/// Replaces the proposals for literal operands by those of findings about the model, which know the types of the operands.
fn explain_literals(
    read: &mut [Diagnostic],
    found: &[Diagnostic],
    span: impl Fn(&Diagnostic) -> Option<Span>,
) {
    for known in found.iter().filter(|d| d.code == &code::VALUE_UNDEFINED && d.help.is_some()) {
        let Some(at) = span(known).map(Place::Source) else { continue };
        let is_same = |d: &&mut Diagnostic| d.code == &code::UNEXPECTED_TOKEN && d.primary.place == at;
        if let Some(literal) = read.iter_mut().find(is_same) {
            literal.help.clone_from(&known.help);
        }
    }
}

/// Whether a finding about the text duplicates one about the model; if the latter is more severe, it replaces the former.
fn is_told(read: &mut Vec<Diagnostic>, found: &mut Diagnostic, span: Option<Span>) -> bool {
    let Some(span) = span else { return false };
    let place = |d: &Diagnostic| match d.primary.place {
        Place::Source(place) => Some(place),
        Place::Entity(_) | Place::Nowhere => None,
    };
    if found.code == &code::ATTR_NAME_TYPE {
        let same = |d: &Diagnostic| d.code == &code::UNTYPED_REFERENCE && place(d) == Some(span);
        if let Some(i) = read.iter().position(same) {
            let of_text = read.remove(i);
            found.primary.text = of_text.primary.text;
            // The type of the attribute may be known to those who know the operator.
            found.help = found.help.take().or(of_text.help);
            found.fixes.extend(of_text.fixes);
        }
    }
    false
}

/// The finding with its fixes as edits of the text; without those for which the text has no place.
fn with_edits(mut diagnostic: Diagnostic, map: &SourceMap<'_>) -> Diagnostic {
    for fix in &mut diagnostic.fixes {
        if fix.edits.is_empty() {
            fix.edits = map.edits(&fix.changes).unwrap_or_default();
        }
    }
    diagnostic.fixes.retain(|fix| !fix.edits.is_empty());
    diagnostic
}

/// Whether the parser or the lowering made it.
fn is_of_reading(diagnostic: &Diagnostic) -> bool {
    diagnostic.code.level == Level::Syntax
}

/// The parts of a text that were not understood.
struct Damage<'s> {
    source: &'s str,
    /// The places of mistakes, in order.
    mistakes: Vec<Span>,
    /// The lines over which something may have been lost, in order.
    lines: Vec<std::ops::Range<usize>>,
    /// The words of these lines.
    words: HashSet<&'s str>,
    /// Whether a node has a mistake: inferred shapes after it are unreliable.
    is_in_node: bool,
    /// Whether a parameter of a function has a mistake: it is missing.
    is_in_parameters: bool,
    /// Whether the end of the text is lost.
    is_cut_off: bool,
}

impl<'s> Damage<'s> {
    /// `read` is in the order of the text.
    fn of(source: &'s str, read: &[Diagnostic], tree: &ast::File) -> Self {
        let mut damage = Damage {
            source,
            mistakes: Vec::new(),
            lines: Vec::new(),
            words: HashSet::new(),
            is_in_node: false,
            is_in_parameters: false,
            is_cut_off: read.iter().any(|d| d.code == &code::CUT_OFF),
        };
        for diagnostic in read.iter().filter(|d| d.is_error() && is_of_reading(d)) {
            let Place::Source(span) = diagnostic.primary.place else { continue };
            damage.mistakes.push(span);
            if !is_damaging(diagnostic) || damage.is_damaged(span) {
                continue;
            }
            let before = source.get(..span.start as usize).and_then(|text| text.rfind('\n'));
            let after = source.get(span.end as usize..).and_then(|text| text.find('\n'));
            let line = before.map_or(0, |at| at + 1)..after.map_or(source.len(), |at| span.end as usize + at);
            damage.words.extend(words(&source[line.clone()]));
            damage.lines.push(line);
        }
        let graph = tree.graph.iter().map(|graph| &graph.body);
        let bodies = graph.chain(tree.functions.iter().map(|function| &function.body));
        damage.is_in_node = bodies.flatten().any(|node| {
            let next = damage.mistakes.partition_point(|mistake| mistake.start < node.span.start);
            damage.mistakes.get(next).is_some_and(|mistake| mistake.start < node.span.end)
        });
        let parameters = tree.functions.iter().filter_map(|function| function.attrs.as_ref());
        damage.is_in_parameters = parameters.map(|list| list.span).any(|list| {
            damage.mistakes.iter().any(|mistake| list.start <= mistake.start && mistake.end <= list.end)
        });
        damage
    }

    fn spares(&self, diagnostic: &Diagnostic, span: Option<Span>) -> bool {
        if self.mistakes.is_empty() {
            return true;
        }
        let is_declared = [&code::DECLARED_TYPE, &code::DECLARED_SHAPE].contains(&diagnostic.code);
        if self.is_in_node && is_declared {
            return false;
        }
        let defines = [&code::GRAPH_OUTPUT, &code::FUNCTION_OUTPUT_UNDEFINED, &code::CALL_UNRESOLVED];
        if self.is_cut_off && defines.contains(&diagnostic.code) {
            return false;
        }
        let refers = [&code::ATTR_REF_UNDECLARED, &code::CALL_SIGNATURE];
        if self.is_in_parameters && refers.contains(&diagnostic.code) {
            return false;
        }
        let Some(span) = span else { return self.lines.is_empty() };
        // A statement with a mistake may not mean what its author intended.
        let next = self.mistakes.partition_point(|mistake| mistake.start < span.start);
        if self.mistakes.get(next).is_some_and(|mistake| mistake.start < span.end.max(span.start + 1)) {
            return false;
        }
        if self.lines.is_empty() {
            return true;
        }
        let is_about_names = diagnostic.is_error() && diagnostic.code.id.starts_with("E02");
        let name = self.source.get(span.range()).unwrap_or_default();
        let may_be_lost = [&code::VALUE_UNDEFINED, &code::GRAPH_OUTPUT].contains(&diagnostic.code);
        // The output `float[N] y` of a graph is lost where `y` is.
        let mut names = words(name);
        let is_lost = may_be_lost
            && match diagnostic.code == &code::GRAPH_OUTPUT {
                true => names.next_back().is_some_and(|word| self.words.contains(word)),
                false => names.all(|word| self.words.contains(word)),
            };
        is_about_names && !self.is_damaged(span) && !is_lost
    }

    fn is_damaged(&self, span: Span) -> bool {
        let at = span.start as usize;
        let next = self.lines.partition_point(|line| line.end < at);
        self.lines.get(next).is_some_and(|line| line.start <= at)
    }
}

/// Possible parts of names.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Whether the parser may have lost something over it.
fn is_damaging(diagnostic: &Diagnostic) -> bool {
    [
        &code::UNEXPECTED_TOKEN,
        &code::MISSING_PUNCTUATION,
        &code::STRAY_PUNCTUATION,
        &code::UNCLOSED_BRACKET,
        &code::CUT_OFF,
        &code::UNTERMINATED_STRING,
        &code::BAD_NUMBER,
        &code::NAME_NEEDS_QUOTES,
        &code::STRAY_CHARACTER,
        &code::FOREIGN_SPELLING,
        &code::NESTING_TOO_DEEP,
    ]
    .contains(&diagnostic.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_a_mistake_is_not_reported() {
        let text = "<ir_version: 10, opset_import: [\"\": 21]>\n\
                    g (float[N] x) => (float[N] y)\n{\n  t = Add(x, x\n  u = Relu(q)\n  y = Sub(t, u)\n}\n";
        let checked = check(text, &VerifyOptions::default());
        let found: Vec<_> = checked.diagnostics.iter().map(|d| (d.code.id, d.message.as_str())).collect();
        assert_eq!(found, [("E0104", "missing `)`"), ("E0203", "use of undefined value `q`")]);
        assert!(checked.is_partial());
    }
}
