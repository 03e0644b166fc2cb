//! Checks a text that is edited without reading what an edit does not change.
//!
//! A statement that was read without findings, and whose lines and neighbors are not edited, has none afterwards either. So the findings
//! about the syntax are those of an excerpt: the text without such statements. And a long list of numbers that is not edited has the
//! elements that it had, so that a reference can stand for it in a text that is checked as a whole:
//!
//! ```text
//! <ir_version: 10, opset_import: ["": 21]>
//! g (float[N] x) => (float[N] y) <float[2000000] w = ["location": "literal-0"]>
//! {
//!    a = Abs(x)
//!    …                        left out: statements that are not edited
//!    m = Relu(l)              neighbor: it must be the statement that it was
//!    n = Rel                  edited
//!    o = Neg(n)               neighbor
//!    …
//!    y = Neg(z)
//! }
//! ```
//!
//! Whether what is left out matters is decided afterwards. If a neighbor is not what it was, or if a finding is of a kind that depends on
//! the rest of the text (a string that does not end, a name that may occur elsewhere), there is no result, and the caller reads the whole
//! text. So does one who edits anything outside of the braces of graph and functions, or a bracket without its other half.

use super::{Checked, Complete, Readers, beyond, check_read, completed};
use crate::ast::{Data, Node};
use crate::lex::{Kind, Token, lex};
use crate::lower::read_lexed;
use crate::map::SourceMap;
use onnx_ir::diag::{Diagnostic, Level, Parsed, Place, Span, code};
use onnx_ir::{Model, Payload};
use smallvec::SmallVec;
use std::collections::HashSet;

/// Bytes of lists of numbers for which a reference stands.
const LONG: usize = 16 << 10;

/// The location of such references, before a number. A text that has it is read as a whole.
const LOCATION: &str = "onnxtxt-literal-";

/// More findings than these are found by reading the whole text, which stops at a maximum of them.
const MANY: usize = 100;

/// The knowledge about a text since it was read: which statements have no findings, and the elements of long lists of numbers. It follows
/// edits.
///
/// ```
/// use onnx_text::{ReadStatements, read_completed};
/// use onnx_ir::diag::Span;
///
/// let nodes: String = (0..100).map(|i| format!("  t{} = Relu(t{i})\n", i + 1)).collect();
/// let mut text = format!("g (float[N] t0) => (float[N] t100) {{\n{nodes}}}\n");
/// let mut known = ReadStatements::of(&text, &read_completed(&text, &|_, _| true));
/// let at = text.find("t50 = Relu(").unwrap();
/// text.insert(at, ',');
/// let at = u32::try_from(at).unwrap();
/// known.replace(Span::at(at), 1);
/// let found = known.syntax_findings(&text, &|_, _| true).expect("a statement was edited");
/// assert!(found[0].code.id.starts_with("E01"));
/// assert!(known.excerpt(&text).is_some_and(|excerpt| excerpt.text().len() < 300));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ReadStatements {
    /// Statements without findings, in order, each on lines of its own.
    statements: Vec<Statement>,
    /// Long lists of numbers in declarations, in order.
    literals: Vec<Literal>,
    /// The content of the braces of graph and functions, in order.
    bodies: Vec<Span>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Statement {
    /// From the start of its first line to the start of the line of the next statement.
    lines: Span,
    node: Span,
}

#[derive(Clone, PartialEq, Debug)]
struct Literal {
    span: Span,
    data: SmallVec<[Payload; 1]>,
}

impl ReadStatements {
    /// The statements of a text that was read as a whole.
    #[must_use]
    pub fn of(source: &str, read: &Parsed<Checked>) -> Self {
        let Checked { syntax, model } = &read.value;
        let tree = &syntax.tree;
        let graph = tree.graph.iter().map(|graph| (&graph.body, graph.body_span));
        let functions = tree.functions.iter().map(|function| (&function.body, function.body_span));
        let bodies: Vec<(&Vec<Node>, Span)> = graph.chain(functions).collect();
        let is_closed = |span: Span| span.len() > 1 && source[span.range()].ends_with('}');
        if source.contains(LOCATION)
            || read.diagnostics.len() >= MANY
            || tree.graph.is_none()
            || !bodies.iter().all(|(_, span)| is_closed(*span))
        {
            return ReadStatements::default();
        }
        let map = SourceMap::new(source, tree, model);
        let mut marks: Vec<Span> = read.diagnostics.iter().flat_map(|found| places(found, &map)).collect();
        // While there are errors these are not reported, but when the errors are gone they are.
        marks.extend(beyond::find(source, &read.value, Readers::Ours).iter().flat_map(|d| places(d, &map)));
        let is_special = |comment: &&Span| {
            let text = &source[comment.range()];
            !text.starts_with('#') || text.contains("onnxtxt:")
        };
        marks.extend(syntax.comments.iter().filter(is_special));
        let marks = Marks::new(marks);
        let mut statements = Vec::new();
        for (nodes, _) in &bodies {
            in_body(source, nodes, &marks, &mut statements);
        }
        let bodies = bodies.iter().map(|(_, span)| Span::new(span.start + 1, span.end - 1)).collect();
        ReadStatements { statements, literals: literals(&read.value, &marks), bodies }
    }

    /// Follows an edit: a span of the text is replaced by one of another length.
    pub fn replace(&mut self, old: Span, length: u32) {
        let ReadStatements { statements, literals, bodies } = self;
        let is_inside = |body: &Span| body.start <= old.start && old.end <= body.end;
        if !bodies.iter().any(is_inside) {
            *self = ReadStatements::default();
            return;
        }
        let moved = |at: u32| at - old.end + (old.start + length);
        for body in bodies.iter_mut().filter(|body| body.end >= old.end) {
            // The body of the edit begins before it, those after it follow a brace.
            if body.start > old.end {
                body.start = moved(body.start);
            }
            body.end = moved(body.end);
        }
        let move_all = |span: Span| Span::new(moved(span.start), moved(span.end));
        let first = statements.partition_point(|statement| statement.lines.end < old.start);
        let last = statements.partition_point(|statement| statement.lines.start <= old.end).max(first);
        for Statement { lines, node } in &mut statements[last..] {
            (*lines, *node) = (move_all(*lines), move_all(*node));
        }
        statements.drain(first..last);
        // Literals are in declarations, before or after the body.
        for literal in literals.iter_mut().filter(|literal| literal.span.start >= old.end) {
            literal.span = move_all(literal.span);
        }
    }

    /// The findings about the syntax, as `check_completed` has them; those about entities of the model are at their places in the text.
    /// `None`: the text must be read as a whole.
    #[must_use]
    pub fn syntax_findings(&self, source: &str, complete: Complete<'_>) -> Option<Vec<Diagnostic>> {
        let excerpt = self.excerpt(source)?;
        let read = excerpt.read(complete)?;
        let found = check_read(Readers::Ours, &excerpt.text, &read, Level::Syntax, |_| Vec::new());
        Some(excerpt.in_source(found, &read.value))
    }

    /// The findings of `check_completed` up to a level, without reading long lists of numbers again, and what is known of the text now.
    /// `None`: there are no such lists, or the text must be read as a whole.
    #[must_use]
    pub fn findings(
        &self,
        source: &str,
        level: Level,
        complete: Complete<'_>,
        judge: impl Fn(&Model) -> Vec<Diagnostic>,
    ) -> Option<(Vec<Diagnostic>, ReadStatements)> {
        if self.literals.is_empty() {
            return None;
        }
        let excerpt = Excerpt::new(source, self, &[]);
        let read = excerpt.read(complete)?;
        let found = check_read(Readers::Ours, &excerpt.text, &read, level, judge);
        let mut known = ReadStatements::of_excerpt(&excerpt, &read);
        known.literals.extend(self.literals.iter().cloned());
        known.literals.sort_by_key(|literal| literal.span);
        Some((excerpt.in_source(found, &read.value), known))
    }

    fn of_excerpt(excerpt: &Excerpt, read: &Parsed<Checked>) -> ReadStatements {
        // The locations are ours here.
        let mut known =
            ReadStatements::of(&excerpt.text.replace(LOCATION, &" ".repeat(LOCATION.len())), read);
        for Statement { lines, node } in &mut known.statements {
            (*lines, *node) = (excerpt.span(*lines), excerpt.span(*node));
        }
        known.bodies.iter_mut().for_each(|body| *body = excerpt.span(*body));
        known.literals.iter_mut().for_each(|literal| literal.span = excerpt.span(literal.span));
        known
    }

    /// The text without statements that are not edited; `None` if that is most of it.
    #[must_use]
    pub fn excerpt(&self, source: &str) -> Option<Excerpt> {
        let mut runs = Vec::new();
        for run in self.statements.chunk_by(|a, b| a.lines.end == b.lines.start) {
            if let [first, second, .., last] = run {
                let end = last.lines.start;
                if second.lines.start < end {
                    runs.push(Run {
                        left_out: Span::new(second.lines.start, end),
                        neighbors: [*first, *last],
                    });
                }
            }
        }
        let left_out: usize = runs.iter().map(|run| run.left_out.len()).sum();
        let replaced: usize = self.literals.iter().map(|literal| literal.span.len()).sum();
        if source.len() - left_out - replaced > source.len() / 2 {
            return None;
        }
        Some(Excerpt::new(source, self, &runs))
    }
}

/// Statements that are left out, and those before and after them.
struct Run {
    left_out: Span,
    neighbors: [Statement; 2],
}

/// Places of findings: the start of each, in order, and the greatest end of those up to it.
struct Marks(Vec<(u32, u32)>);

impl Marks {
    fn new(mut spans: Vec<Span>) -> Marks {
        spans.sort_unstable();
        let mut furthest = 0;
        let reach = |span: Span| {
            furthest = span.end.max(furthest);
            (span.start, furthest)
        };
        Marks(spans.into_iter().map(reach).collect())
    }

    /// Whether one of them overlaps a span, or is beside it.
    fn touch(&self, span: Span) -> bool {
        let next = self.0.partition_point(|(start, _)| *start <= span.end);
        next.checked_sub(1).is_some_and(|last| self.0[last].1 >= span.start)
    }
}

/// The statements of a body that have lines of their own and no finding. The first and the last one are never left out.
fn in_body(source: &str, nodes: &[Node], marks: &Marks, out: &mut Vec<Statement>) {
    let bytes = source.as_bytes();
    // The start of the line of a statement, if nothing precedes it there.
    let line_of = |node: &Node| {
        let begin = node.notes.start().unwrap_or(node.span.start) as usize;
        let before = bytes.get(..begin)?;
        let start = memchr::memrchr(b'\n', before)? + 1;
        let is_first = before[start..].iter().all(|byte| matches!(byte, b' ' | b'\t'));
        is_first.then(|| u32::try_from(start).ok()).flatten()
    };
    let mut start = nodes.first().and_then(line_of);
    for (i, pair) in nodes.windows(2).enumerate() {
        let end = line_of(&pair[1]);
        if let (Some(start), Some(end), true) = (start, end, i > 0) {
            let lines = Span::new(start, end);
            if pair[0].span.end <= end && pair[0].sugar.is_none() && !marks.touch(lines) {
                out.push(Statement { lines, node: pair[0].span });
            }
        }
        start = end;
    }
}

/// The places of a finding and of its fixes.
fn places(found: &Diagnostic, map: &SourceMap<'_>) -> Vec<Span> {
    let labels = std::iter::once(&found.primary).chain(&found.related);
    let spans = labels.filter_map(|label| match label.place {
        Place::Source(span) => Some(span),
        Place::Entity(entity) => map.span(entity),
        Place::Nowhere => None,
    });
    let edits = found.fixes.iter().flat_map(|fix| &fix.edits).map(|edit| edit.span);
    spans.chain(edits).collect()
}

/// The long lists of numbers among the declarations of the graph, with their elements.
fn literals(checked: &Checked, marks: &Marks) -> Vec<Literal> {
    let Checked { syntax, model } = checked;
    let Some(graph) = &syntax.tree.graph else { return Vec::new() };
    let Some(body) = model.main.map(|main| &model.bodies[main]) else { return Vec::new() };
    let Some(root) = body.root() else { return Vec::new() };
    let inputs = graph.inputs.iter().flat_map(|list| &list.items);
    let values = graph.values.iter().flat_map(|list| &list.items);
    let data = inputs.chain(values).filter_map(|value| value.data.as_ref());
    let data: Vec<&Data> = data.filter(|data| !matches!(data, Data::Sparse(_))).collect();
    let initializers = &body.graphs[root].initializers;
    if data.len() != initializers.len() {
        return Vec::new();
    }
    let of = |(data, initializer): (&Data, &onnx_ir::Initializer)| match data {
        Data::Numbers(span) if span.len() >= LONG && !marks.touch(*span) => {
            Some(Literal { span: *span, data: body.tensors[initializer.tensor].data.clone() })
        }
        _ => None,
    };
    data.into_iter().zip(initializers).filter_map(of).collect()
}

/// A text without some of its parts.
#[derive(Clone, Debug)]
pub struct Excerpt {
    text: String,
    /// In order; each reaches to the next one.
    pieces: Vec<Piece>,
    /// The statements beside those that are left out.
    neighbors: Vec<Statement>,
    /// The number of bodies of the text.
    bodies: usize,
    /// The elements for which references stand.
    data: Vec<SmallVec<[Payload; 1]>>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Its first byte in the excerpt.
    at: u32,
    /// The span of the text that it is, or that it stands for.
    source: Span,
    is_reference: bool,
}

impl Excerpt {
    /// Runs and literals are in order, and do not overlap.
    fn new(source: &str, known: &ReadStatements, runs: &[Run]) -> Excerpt {
        let ReadStatements { literals, bodies, .. } = known;
        let mut excerpt = Excerpt {
            text: String::new(),
            pieces: Vec::new(),
            neighbors: Vec::new(),
            bodies: bodies.len(),
            data: Vec::new(),
        };
        let mut cuts: Vec<(Span, Option<&Literal>)> = runs.iter().map(|run| (run.left_out, None)).collect();
        cuts.extend(literals.iter().map(|literal| (literal.span, Some(literal))));
        cuts.sort_by_key(|(span, _)| *span);
        let mut from = 0;
        for (span, literal) in cuts {
            excerpt.copy(source, Span::new(from, span.start));
            if let Some(literal) = literal {
                excerpt.refer(literal);
            }
            from = span.end;
        }
        excerpt.copy(source, Span::new(from, short(source.len())));
        for statement in runs.iter().flat_map(|run| run.neighbors) {
            let Statement { lines, node } = statement;
            let distance = excerpt.distance(lines.start);
            let moved = |span: Span| Span::new(span.start - distance, span.end - distance);
            excerpt.neighbors.push(Statement { lines: moved(lines), node: moved(node) });
        }
        excerpt
    }

    fn copy(&mut self, source: &str, span: Span) {
        self.pieces.push(Piece { at: short(self.text.len()), source: span, is_reference: false });
        self.text += &source[span.range()];
    }

    fn refer(&mut self, literal: &Literal) {
        self.pieces.push(Piece { at: short(self.text.len()), source: literal.span, is_reference: true });
        self.text += &format!("[\"location\": \"{LOCATION}{}\"]", self.data.len());
        self.data.push(literal.data.clone());
    }

    /// How far a byte of the text has moved to the front.
    fn distance(&self, at: u32) -> u32 {
        let next = self.pieces.partition_point(|piece| piece.source.start <= at);
        next.checked_sub(1).map_or(0, |i| self.pieces[i].source.start - self.pieces[i].at)
    }

    /// The text that is left.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A span of the excerpt in the text that it was made of.
    #[must_use]
    pub fn span(&self, span: Span) -> Span {
        let piece = |next: usize| next.checked_sub(1).map_or(self.pieces[0], |i| self.pieces[i]);
        let first = piece(self.pieces.partition_point(|piece| piece.at <= span.start));
        let start = match first.is_reference {
            true if span.start == first.at => first.source.start,
            true => first.source.end,
            false => first.source.start + (span.start - first.at),
        };
        if span.is_empty() {
            return Span::at(start);
        }
        let next = self.pieces.partition_point(|piece| piece.at < span.end);
        let last = piece(next);
        let end = match last.is_reference {
            true => last.source.end,
            false => last.source.start + (span.end - last.at),
        };
        Span::new(start, end.max(start))
    }

    /// Reads the excerpt with the elements of its references; `None` if what is left out may matter.
    fn read(&self, complete: Complete<'_>) -> Option<Parsed<Checked>> {
        // A comment over several lines, or a mistake at its start, which leaves out what follows.
        if self.text.contains("/*") {
            return None;
        }
        let lexed = lex(&self.text);
        if !self.has_pairs_of_brackets(&lexed.tokens) {
            return None;
        }
        let mut read = completed(&self.text, read_lexed(&self.text, lexed), complete);
        if read.diagnostics.len() >= MANY || read.diagnostics.iter().any(depends_on_rest) {
            return None;
        }
        let Checked { syntax, model } = &read.value;
        let tree = &syntax.tree;
        let graph = tree.graph.iter().flat_map(|graph| &graph.body);
        let nodes = graph.chain(tree.functions.iter().flat_map(|function| &function.body));
        let nodes: HashSet<Span> = nodes.map(|node| node.span).collect();
        let is_same = |statement: &Statement| nodes.contains(&statement.node);
        if tree.functions.len() + 1 != self.bodies || !self.neighbors.iter().all(is_same) {
            return None;
        }
        let map = SourceMap::new(&self.text, tree, model);
        let touches = |span: &Span| {
            let next = self.neighbors.partition_point(|statement| statement.lines.end <= span.start);
            self.neighbors.get(next).is_some_and(|statement| statement.lines.start < span.end)
        };
        if read.diagnostics.iter().flat_map(|found| places(found, &map)).any(|span| touches(&span)) {
            return None;
        }
        if self.put_back(&mut read.value) { Some(read) } else { None }
    }

    /// Whether brackets are in pairs up to each place where statements are left out, but for the brace of the body: how a mistake with them
    /// is understood depends on the brackets of the rest of the text.
    fn has_pairs_of_brackets(&self, tokens: &[Token]) -> bool {
        let cuts = self.neighbors.chunks(2).filter_map(|pair| pair.first()).map(|before| before.lines.end);
        let mut cuts = cuts.peekable();
        // Braces, parentheses, square and angle brackets that are open.
        let mut open = [0_u32; 4];
        for token in tokens {
            while cuts.next_if(|cut| *cut <= token.span.start).is_some() {
                if open != [1, 0, 0, 0] {
                    return false;
                }
            }
            let (bracket, is_open) = match token.kind {
                Kind::LBrace => (0, true),
                Kind::RBrace => (0, false),
                Kind::LParen => (1, true),
                Kind::RParen => (1, false),
                Kind::LBracket => (2, true),
                Kind::RBracket => (2, false),
                Kind::LAngle => (3, true),
                Kind::RAngle => (3, false),
                _ => continue,
            };
            let count = open[bracket];
            let changed = if is_open { count.checked_add(1) } else { count.checked_sub(1) };
            let Some(changed) = changed else { return false };
            open[bracket] = changed;
        }
        open == [0; 4]
    }

    /// Gives references their elements; returns whether all of them are declarations, as they were.
    fn put_back(&self, checked: &mut Checked) -> bool {
        let mut left = self.pieces.iter().filter(|piece| piece.is_reference).count();
        let Checked { syntax: _, model } = checked;
        let Some(main) = model.main else { return left == 0 };
        let Model { names, bodies, .. } = model;
        for tensor in bodies[main].tensors.values_mut() {
            let Some(location) = tensor.external(names, "location") else { continue };
            let Some(number) = names[location].strip_prefix(LOCATION) else { continue };
            let Some(data) = number.parse::<usize>().ok().and_then(|number| self.data.get(number)) else {
                return false;
            };
            tensor.data.clone_from(data);
            let extra = tensor.extra_mut();
            (extra.location, extra.external) = (None, Vec::new());
            if *extra == Default::default() {
                tensor.extra = None;
            }
            left = left.saturating_sub(1);
        }
        left == 0
    }

    /// Findings at their places in the text.
    fn in_source(&self, mut found: Vec<Diagnostic>, checked: &Checked) -> Vec<Diagnostic> {
        let map = SourceMap::new(&self.text, &checked.syntax.tree, &checked.model);
        let moved = |place: &mut Place| match *place {
            Place::Source(span) => *place = self.span(span).into(),
            Place::Entity(entity) => {
                *place = map.span(entity).map_or(Place::Nowhere, |span| self.span(span).into());
            }
            Place::Nowhere => {}
        };
        for diagnostic in &mut found {
            moved(&mut diagnostic.primary.place);
            diagnostic.related.iter_mut().for_each(|label| moved(&mut label.place));
            for edit in diagnostic.fixes.iter_mut().flat_map(|fix| &mut fix.edits) {
                edit.span = self.span(edit.span);
            }
        }
        found
    }
}

/// Whether a finding, or whether its fix is safe, depends on what is elsewhere in the text.
fn depends_on_rest(found: &Diagnostic) -> bool {
    let of_rest = [
        &code::UNTERMINATED_STRING,
        &code::NESTING_TOO_DEEP,
        &code::TOO_MANY_MISTAKES,
        &code::CUT_OFF,
        &code::SOURCE_TOO_LARGE,
        // Whether the name occurs again.
        &code::NAME_NEEDS_QUOTES,
    ];
    let inserts_comma = || found.fixes.iter().any(|fix| fix.edits.iter().any(|edit| edit.text == ","));
    of_rest.contains(&found.code) || found.code == &code::MISSING_PUNCTUATION && inserts_comma()
}

fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
