//! Statements with expressions as plain statements: one for each node that they stand for (`grammar/sugar.md`).
//!
//! ```text
//! y = Relu(x * w)      →      y_1 = Mul(x, w)
//!                             y = Relu(y_1)
//! ```

mod declarations;

use super::Checked;
use super::beyond::sugar;
use crate::ast::Node;
use crate::lower::dim_expression;
use crate::map::SourceMap;
use crate::raise::print_nodes;
use declarations::Insertion;
use onnx_ir::diag::{Edit, Span};
use onnx_ir::{BodyId, NodeId, Origin};
use std::collections::{BTreeSet, HashMap};

/// A statement, a dimension or a number of external data without quotes, and what replaces it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expansion {
    /// Its place.
    pub statement: Span,
    /// The edit that replaces it by plain syntax.
    pub edit: Edit,
    /// The declarations of its results.
    declared: Vec<Insertion>,
}

impl Expansion {
    /// All edits, in the order of the text: also those of the declarations to which the types of results go.
    #[must_use]
    pub fn edits(&self) -> Vec<Edit> {
        edits([self])
    }
}

/// The edits of each expansion. Fixes that insert at one place exclude each other, so the first statement of a graph takes the others that
/// declare their results there with it.
pub(crate) fn compatible_edits(expansions: &[Expansion]) -> Vec<Vec<Edit>> {
    let mut places: HashMap<u32, Vec<usize>> = HashMap::new();
    for (i, expansion) in expansions.iter().enumerate() {
        for insertion in &expansion.declared {
            places.entry(insertion.at()).or_default().push(i);
        }
    }
    let of = |(i, expansion): (usize, &Expansion)| {
        let at_its_places = || expansion.declared.iter().filter_map(|insertion| places.get(&insertion.at()));
        if !at_its_places().all(|others| others.first() == Some(&i)) {
            return expansion.edits();
        }
        let with_it: BTreeSet<usize> = at_its_places().flatten().copied().chain([i]).collect();
        edits(with_it.iter().filter_map(|&other| expansions.get(other)))
    };
    expansions.iter().enumerate().map(of).collect()
}

/// The edits of several expansions, in the order of the text.
pub(crate) fn edits<'e>(expansions: impl IntoIterator<Item = &'e Expansion> + Clone) -> Vec<Edit> {
    let mut edits: Vec<Edit> =
        expansions.clone().into_iter().map(|expansion| expansion.edit.clone()).collect();
    edits.extend(declarations::edits(expansions.into_iter().flat_map(|expansion| &expansion.declared)));
    edits.sort_by_key(|edit| edit.span);
    edits
}

/// The text without expressions. All other lines stay as they are.
#[must_use]
pub fn expanded(source: &str, checked: &Checked) -> String {
    let mut text = String::with_capacity(source.len());
    let mut end = 0;
    for edit in edits(&expand(source, checked)) {
        text.push_str(&source[end..edit.span.start as usize]);
        text.push_str(&edit.text);
        end = edit.span.end as usize;
    }
    text.push_str(&source[end..]);
    text
}

/// The expansions of all statements with expressions, in the order of the text. The model must have types for its literals
/// ([`check_completed`](crate::check_completed)).
///
/// ```
/// use onnx_ir::diag::Level;
///
/// let text = "<ir_version: 10, opset_import: [\"\": 21]>\ng (float[N] x) => (float[N] y) {\n    y = Abs(-x)\n}\n";
/// let checked = onnx_text::check_with(text, Level::Syntax, |_| Vec::new()).value;
/// let expansions = onnx_text::expand(text, &checked);
/// assert_eq!(expansions[0].edit.text, "y_1 = Neg(x)\n    y = Abs(y_1)");
/// ```
#[must_use]
pub fn expand(source: &str, checked: &Checked) -> Vec<Expansion> {
    let tree = &checked.syntax.tree;
    let (_, unquoted) = sugar(source, tree);
    let quoted = |&at: &Span| Edit { span: at, text: format!("\"{}\"", dim_expression(&source[at.range()])) };
    let quoted = |at: &Span| Expansion { statement: *at, edit: quoted(at), declared: Vec::new() };
    let mut expansions: Vec<Expansion> = unquoted.iter().map(quoted).collect();
    let statements: Vec<&Node> = tree.statements().filter(|node| node.sugar.is_some()).collect();
    if statements.is_empty() {
        return expansions;
    }
    let map = SourceMap::new(source, tree, &checked.model);
    let mut made: HashMap<(BodyId, Origin), Vec<NodeId>> = HashMap::new();
    for (id, body) in checked.model.bodies.iter() {
        for node in body.walk().nodes() {
            made.entry((id, body.origins[node])).or_default().push(node);
        }
    }
    let mut declared: HashMap<u32, Vec<Insertion>> = HashMap::new();
    for (statement, insertion) in declarations::find(source, tree) {
        declared.entry(statement).or_default().push(insertion);
    }
    let is_annotated = checked.syntax.annotated.is_some();
    let mut end = 0;
    for statement in statements {
        // The graphs of an expression are replaced with it.
        if statement.span.end <= end {
            continue;
        }
        end = statement.span.end;
        let start = Origin(statement.span.start);
        let nodes = map.node_at(start.0).and_then(|at| Some((at.body, made.get(&(at.body, start))?)));
        let Some((body, nodes)) = nodes else { continue };
        let span = Span::new(statement.notes.start().unwrap_or(start.0), statement.span.end);
        let line = source[..span.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let indent: String = source[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
        let lines = print_nodes(&checked.model, body, nodes, is_annotated);
        let text = lines.join("\n").replace('\n', &format!("\n{indent}"));
        let declared = declared.remove(&start.0).unwrap_or_default();
        expansions.push(Expansion { statement: statement.span, edit: Edit { span, text }, declared });
    }
    expansions.sort_by_key(|expansion| expansion.statement);
    expansions
}
