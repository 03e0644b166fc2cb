//! The printer: a syntax tree as canonical text. It formats parsed files and prints the trees that [`raise`](crate::raise())
//! builds for models; the two differ only in the origin of the source that the spans refer to.
//!
//! ```text
//! <ir_version: 10, opset_import: ["": 21]>
//! g (float[N] x, float[4] scale) => (float[N] y)
//! <
//!     float[4] b = {1, 2, 3, 4},
//!     float[N] t
//! >
//! {
//!     t = Mul(x, scale)  # comments stay where they are
//!     y = LeakyRelu <alpha = 0.1> (t)
//! }
//! ```
//!
//! # Layout
//!
//! - A line is at most [`FormatOptions::width`] characters where it can be. Nothing is aligned.
//! - Header, signature, `<`, `{` and `}` of a top-level graph or function begin a line; one node is one line. Bodies are
//!   indented by four. A nested graph keeps its `{` on the line of its signature.
//! - A list that does not fit is broken after its opening bracket, one item a line, the closing bracket on a line of its
//!   own; literals and results are filled instead, as many to a line as fit. The author's line breaks do not count.
//! - A list is broken even if it would fit where it holds a comment, an annotation, a graph, or (the values of a graph)
//!   more than one item.
//! - Attributes stay on the side of the inputs where the author put them. No trailing commas: the reference refuses them.
//! - One blank line is kept where the author had any between statements and between the items of a broken list; none is
//!   invented but the one above a function.
//! - `##` and `#@` lines stand above their item. A `#@` line is never broken, however long.
//! - A comment on a line of its own keeps one, at the indentation of the next item. A comment after an item stays after it and
//!   never makes its line break. A comment where a line cannot end well (before a comma, inside a type) moves at most after the
//!   next punctuation. None is lost, duplicated or reordered.
//! - Strings and numbers are spelled as the source spells them.
//!
//! # How it works
//!
//! Each construct is described once, as calls on a [`Printer`]: text, possible breaks, lists. The printer writes the text
//! of a line flat into the output and remembers where it may break ([`mod@line`]). Only a line that turns out too long is
//! laid out ([`wrap`]), simple ones directly, the others by `pretty`. Elements of long tensors are written straight into
//! the output ([`numbers`], [`stored`]). Nothing is kept but the current line, so a model is printed in memory of constant size.
//!
//! A comment is on a line of its own if a line break (or the start of the source) precedes it. So a buffer of `raise` needs no
//! layout except a line break before such comments.

mod data;
mod ends;
mod file;
mod line;
mod list;
mod node;
mod notes;
mod numbers;
mod opset;
mod rows;
mod stored;
mod sugar;
#[cfg(test)]
mod tests;
mod value;
mod wrap;

use crate::ast;
use crate::lex::ANNOTATED;
use crate::parse::{self, Syntax};
use crate::sniff::TextKind;
pub(crate) use ends::ENDS;
use line::Printer;
use onnx_ir::diag::{Parsed, Span};
use std::fmt;

/// Spaces of one level.
const INDENT: usize = 4;

/// Formatting options.
#[derive(Clone, Debug)]
pub struct FormatOptions {
    /// The greatest line length in characters, where lines can be broken.
    pub width: usize,
}

impl Default for FormatOptions {
    fn default() -> Self {
        FormatOptions { width: 100 }
    }
}

/// Formats a file. The spans of `syntax` refer to `source`. It should come from a parse without errors, because text that was not
/// understood is not printed.
///
/// ```
/// let source = "g (float[N] x)=>(float[N] y){y=Relu(x)} # done";
/// let syntax = onnx_text::parse_model(source).into_result().unwrap();
/// let text = onnx_text::format(source, &syntax, &Default::default());
/// assert_eq!(text, "g (float[N] x) => (float[N] y)\n{\n    y = Relu(x)\n}  # done\n");
/// ```
#[must_use]
pub fn format(source: &str, syntax: &Syntax<ast::File>, options: &FormatOptions) -> String {
    let mut p = Printer::new(source, &syntax.comments, options, None);
    p.reserve(source.len() + source.len() / 8);
    p.file(&syntax.tree, syntax.annotated);
    p.finish();
    p.into_text()
}

/// [`format()`] in chunks, so that the text of a large model is never in memory as a whole.
///
/// # Errors
///
/// Those of `out`.
pub fn format_to(
    out: &mut impl fmt::Write,
    source: &str,
    syntax: &Syntax<ast::File>,
    options: &FormatOptions,
) -> fmt::Result {
    let mut p = Printer::new(source, &syntax.comments, options, Some(out));
    p.file(&syntax.tree, syntax.annotated);
    p.finish();
    p.result()
}

macro_rules! entry {
    ($($(#[$doc:meta])* $name:ident, $tree:ty, $construct:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// The result has no line break at the end.
        #[must_use]
        pub fn $name(source: &str, tree: &$tree, comments: &[Span], options: &FormatOptions) -> String {
            let mut p = Printer::new(source, comments, options, None);
            p.$construct(tree);
            p.finish();
            let mut text = p.into_text();
            if text.ends_with('\n') {
                text.pop();
            }
            text
        }
    )*};
}

entry! {
    /// Formats one graph.
    format_graph, ast::Graph, graph;
    /// Formats one function.
    format_function, ast::Function, function;
    /// Formats one operator of an operator set.
    format_operator, ast::Operator, operator;
    /// Formats one node.
    format_node, ast::Node, node;
    /// Formats one attribute.
    format_attribute, ast::Attr, attr;
    /// Formats one type.
    format_type, ast::Type, ty;
    /// Formats one value info or initializer.
    format_value_info, ast::ValueInfo, value_info;
    /// Formats one value in a file of its own. [`format_value_file`] is for a file that someone wrote.
    format_value, ast::Value, value;
}

/// Formats an operator set in a file of its own. The arguments are those of [`format()`].
#[must_use]
pub fn format_operator_set(
    source: &str,
    syntax: &Syntax<ast::OperatorSet>,
    options: &FormatOptions,
) -> String {
    let mut p = Printer::new(source, &syntax.comments, options, None);
    p.operator_set(&syntax.tree, syntax.annotated);
    p.finish();
    p.into_text()
}

/// Formats a file with a value. The arguments are those of [`format()`].
#[must_use]
pub fn format_value_file(source: &str, syntax: &Syntax<ast::Value>, options: &FormatOptions) -> String {
    let mut p = Printer::new(source, &syntax.comments, options, None);
    p.first_line(syntax.annotated);
    p.value(&syntax.tree);
    p.finish();
    p.into_text()
}

/// Formats a text that is a part of a model ([`read_part`](crate::read_part)). `None`: nothing could be parsed.
pub fn format_part(source: &str, kind: TextKind, options: &FormatOptions) -> Parsed<Option<String>> {
    let first = |syntax: Option<Span>| syntax.map(|_| format!("{ANNOTATED}\n")).unwrap_or_default();
    macro_rules! formatted {
        ($parse:path, $format:path) => {
            $parse(source).map(|syntax| {
                let tree = syntax.tree.as_ref()?;
                Some(first(syntax.annotated) + &$format(source, tree, &syntax.comments, options) + "\n")
            })
        };
    }
    match kind {
        TextKind::Graph => formatted!(parse::parse_graph, format_graph),
        TextKind::Function => formatted!(parse::parse_function, format_function),
        TextKind::Node => formatted!(parse::parse_node, format_node),
        TextKind::Attribute => formatted!(parse::parse_attribute, format_attribute),
        TextKind::Type => formatted!(parse::parse_type, format_type),
        TextKind::ValueInfo => formatted!(parse::parse_value_info, format_value_info),
        TextKind::Model | TextKind::Value | TextKind::OperatorSet => Parsed::new(None, Vec::new()),
    }
}
