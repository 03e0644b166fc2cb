//! Comments that allow warnings.
//!
//! ```text
//! # onnxtxt: allow-file(name-hygiene)            before the first statement: in the whole file
//! g (float[N] x) => (float[N] y)
//! {
//!    # onnxtxt: allow(unused): kept for debugging  above a statement, with all that is in it
//!    t = Abs(x)
//!    y = Neg(x)  # onnxtxt: allow(W0211, S01)      behind: its line, and the statement that ends there
//! }
//! ```
//!
//! A code is given by its id, name or rule; text after the parenthesis is a remark. Errors cannot be allowed. Unknown codes, and
//! allowed codes without a finding, are reported on level `strict`.

use crate::ast::{self, Node, ValueInfo};
use crate::map::SourceMap;
use crate::parse::Syntax;
use onnx_ir::diag::{self, Code, Diagnostic, Edit, Level, Place, Severity, Span, code, did_you_mean};

/// A comment that allows codes.
struct Allow<'s> {
    /// The comment.
    comment: Span,
    words: Vec<Word<'s>>,
    /// The regions in which it applies; `None` for the whole file.
    regions: Option<[Span; 2]>,
}

struct Word<'s> {
    text: &'s str,
    span: Span,
    code: Option<&'static Code>,
    is_used: bool,
}

/// Removes allowed findings, and on level `strict` adds findings about the comments. `is_whole`: the whole text could be read.
pub(super) fn allow(
    source: &str,
    syntax: &Syntax<ast::File>,
    map: &SourceMap<'_>,
    mut found: Vec<Diagnostic>,
    level: Level,
    is_whole: bool,
) -> Vec<Diagnostic> {
    let mut told = Vec::new();
    let mut allows = read(source, syntax, &mut told);
    if allows.is_empty() && told.is_empty() {
        return found;
    }
    found.retain(|diagnostic| {
        let at = match diagnostic.primary.place {
            Place::Source(span) => Some(span.start),
            Place::Entity(entity) => map.span(entity).map(|span| span.start),
            Place::Nowhere => None,
        };
        let mut is_allowed = false;
        for allow in allows.iter_mut().filter(|a| diagnostic.severity == Severity::Warning && a.covers(at)) {
            for word in allow.words.iter_mut().filter(|w| w.code == Some(diagnostic.code)) {
                (word.is_used, is_allowed) = (true, true);
            }
        }
        !is_allowed
    });
    if level < Level::Strict {
        return found;
    }
    found.append(&mut told);
    for allow in &allows {
        for word in allow.words.iter().filter(|w| !w.is_used) {
            match word.code {
                None => found.push(unknown(word)),
                Some(code) if code.severity == Severity::Error => {
                    let message = format!("`{}` is an error, which cannot be allowed", word.text);
                    found.push(Diagnostic::new(&code::ALLOW_UNKNOWN, word.span, message));
                }
                Some(_) if is_whole => found.push(unused(source, allow, word)),
                Some(_) => {}
            }
        }
    }
    found
}

fn unknown(word: &Word<'_>) -> Diagnostic {
    let message = format!("unknown code `{}`", word.text);
    let diagnostic = Diagnostic::new(&code::ALLOW_UNKNOWN, word.span, message);
    let codes = diag::ALL.iter().filter(|code| code.severity == Severity::Warning);
    match did_you_mean(word.text, codes.flat_map(|code| [code.name, code.id])) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")).fix(
            format!("write `{near}`"),
            vec![Edit { span: word.span, text: near.to_owned() }],
            false,
        ),
        None => diagnostic,
    }
}

fn unused(source: &str, allow: &Allow<'_>, word: &Word<'_>) -> Diagnostic {
    let message = format!("there is no `{}` warning to allow", word.text);
    let diagnostic = Diagnostic::new(&code::ALLOW_UNUSED, word.span, message);
    if allow.words.len() > 1 {
        return diagnostic;
    }
    let before = &source[..allow.comment.start as usize];
    let blanks = before.len() - before.trim_end_matches([' ', '\t']).len();
    let start = allow.comment.start - u32::try_from(blanks).unwrap_or(0);
    let edit = Edit { span: Span::new(start, allow.comment.end), text: String::new() };
    diagnostic.fix("remove the comment", vec![edit], true)
}

impl Allow<'_> {
    fn covers(&self, at: Option<u32>) -> bool {
        let Some(regions) = &self.regions else { return true };
        at.is_some_and(|at| regions.iter().any(|region| (region.start..region.end).contains(&at)))
    }
}

/// The comments that allow codes; reports malformed ones.
fn read<'s>(source: &'s str, syntax: &Syntax<ast::File>, told: &mut Vec<Diagnostic>) -> Vec<Allow<'s>> {
    let mut statements: Option<Vec<Span>> = None;
    let mut allows = Vec::new();
    for &comment in &syntax.comments {
        let text = &source[comment.range()];
        let Some(said) = text.strip_prefix('#').and_then(|t| t.trim_start().strip_prefix("onnxtxt:")) else {
            continue;
        };
        let said = said.trim();
        let list = |verb: &str| {
            let list = said.strip_prefix(verb)?.trim_start().strip_prefix('(')?;
            list.find(')').map(|end| &list[..end])
        };
        let statements = statements.get_or_insert_with(|| statements_of(&syntax.tree));
        let (list, regions) = if let Some(list) = list("allow-file") {
            if statements.first().is_some_and(|first| first.start < comment.start) {
                let message = "`allow-file` must come before the first statement of the file";
                told.push(Diagnostic::new(&code::ALLOW_UNKNOWN, comment, message));
                continue;
            }
            (list, None)
        } else if let Some(list) = list("allow") {
            (list, Some(regions(source, comment, statements)))
        } else {
            let message = "unknown `# onnxtxt:` comment";
            let help = "write `# onnxtxt: allow(unused)`, or `allow-file` for the whole file";
            told.push(Diagnostic::new(&code::ALLOW_UNKNOWN, comment, message).help(help));
            continue;
        };
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty()).map(|word| {
            // `word` is a slice of the source: its address gives its place.
            let at = word.as_ptr().addr() - source.as_ptr().addr();
            let start = u32::try_from(at).unwrap_or(comment.start);
            let span = Span::new(start, start + u32::try_from(word.len()).unwrap_or(0));
            Word { text: word, span, code: diag::find(word), is_used: false }
        });
        allows.push(Allow { comment, words: words.collect(), regions });
    }
    allows
}

/// The regions of a comment: its line and the statement that ends there, or the next statement.
fn regions(source: &str, comment: Span, statements: &[Span]) -> [Span; 2] {
    let line = source[..comment.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let is_alone = source[line..comment.start as usize].trim().is_empty();
    if is_alone {
        let next = statements.partition_point(|span| span.start < comment.end);
        return [statements.get(next).copied().unwrap_or_default(), Span::default()];
    }
    let line = Span::new(u32::try_from(line).unwrap_or(0), comment.end);
    let ends = statements.iter().filter(|span| (line.start..=line.end).contains(&span.end));
    [line, ends.min_by_key(|span| span.start).copied().unwrap_or_default()]
}

/// Header, signatures, declarations and nodes in the order of the text, an outer one before those in it.
fn statements_of(file: &ast::File) -> Vec<Span> {
    let mut out = Vec::new();
    out.extend(file.header.as_ref().map(|h| h.span));
    if let Some(graph) = &file.graph {
        in_graph(graph, &mut out);
    }
    for function in &file.functions {
        out.push(Span::new(function.span.start, function.body_span.start));
        in_values(&function.inputs.items, &mut out);
        in_values(&function.outputs.items, &mut out);
        in_values(function.values.as_ref().map_or(&[], |l| &l.items), &mut out);
        in_nodes(&function.body, &mut out);
    }
    out.sort_by_key(|span| (span.start, u32::MAX - span.end));
    out
}

fn in_graph(graph: &ast::Graph, out: &mut Vec<Span>) {
    out.push(Span::new(graph.span.start, graph.body_span.start));
    in_values(graph.inputs.as_ref().map_or(&[], |l| &l.items), out);
    in_values(&graph.outputs.items, out);
    in_values(graph.values.as_ref().map_or(&[], |l| &l.items), out);
    in_nodes(&graph.body, out);
}

fn in_values(values: &[ValueInfo], out: &mut Vec<Span>) {
    out.extend(values.iter().map(|value| value.span));
}

fn in_nodes(nodes: &[Node], out: &mut Vec<Span>) {
    for node in nodes {
        out.push(node.span);
        node.subgraphs().into_iter().for_each(|graph| in_graph(graph, out));
    }
}
