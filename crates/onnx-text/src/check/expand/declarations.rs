//! The types of results move to the declarations of their graph or function.
//!
//! ```text
//! g (float[N] x) => (y)                    g (float[N] x) => (float[N] y) <float[N] t>
//! {                                        {
//!     float[N] t = Relu(x)           →         t = Relu(x)
//!     float[N] y = Abs(t)                      y = Abs(t)
//! }                                        }
//! ```

use crate::ast::{Dim, File, Function, Graph, List, Node, Type, TypeArg, ValueInfo};
use crate::lower::{dim_expression, read_type, spelled_name};
use crate::print::{FormatOptions, format_type};
use onnx_ir::Model;
use onnx_ir::diag::{Edit, Span};
use std::collections::BTreeMap;

/// A part of a declaration that is inserted for a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Insertion {
    at: u32,
    before: &'static str,
    text: String,
    after: &'static str,
}

/// The edits of insertions, one for each place.
pub(super) fn edits<'i>(insertions: impl Iterator<Item = &'i Insertion>) -> Vec<Edit> {
    let mut places: BTreeMap<u32, Vec<&Insertion>> = BTreeMap::new();
    for insertion in insertions {
        places.entry(insertion.at).or_default().push(insertion);
    }
    let edit = |(at, insertions): (u32, Vec<&Insertion>)| {
        let texts: Vec<&str> = insertions.iter().map(|insertion| &*insertion.text).collect();
        let (before, after) = insertions.first().map_or(("", ""), |first| (first.before, first.after));
        Edit { span: Span::at(at), text: format!("{before}{}{after}", texts.join(", ")) }
    };
    places.into_iter().map(edit).collect()
}

impl Insertion {
    /// Whether both are at one place.
    pub(super) fn meets(&self, other: &Insertion) -> bool {
        self.at == other.at
    }
}

/// The insertions of all statements that are expanded, with the starts of these.
pub(super) fn find(source: &str, file: &File) -> Vec<(u32, Insertion)> {
    let mut walk = Walk { source, scratch: Model::new(), found: Vec::new() };
    file.graph.iter().for_each(|graph| walk.graph(graph));
    file.functions.iter().for_each(|function| walk.function(function));
    walk.found
}

struct Walk<'s> {
    source: &'s str,
    /// For the comparison of types.
    scratch: Model,
    found: Vec<(u32, Insertion)>,
}

impl Walk<'_> {
    fn graph(&mut self, graph: &Graph) {
        let values = (graph.values.as_ref(), graph.outputs.span.end);
        for node in &graph.body {
            for (result, ty) in node.typed_results() {
                let output = graph.outputs.items.iter().find(|output| self.is_same_name(output.name, result));
                if let Some(ValueInfo { ty: None, name, .. }) = output {
                    let text = plain_type(self.source, ty);
                    let insertion = Insertion { at: name.start, before: "", text, after: " " };
                    self.found.push((node.span.start, insertion));
                } else {
                    self.entry(node, (result, ty), &graph.outputs.items, values);
                }
            }
            self.nested(node);
        }
    }

    fn function(&mut self, function: &Function) {
        let values = (function.values.as_ref(), function.outputs.span.end);
        let signature: Vec<ValueInfo> =
            function.inputs.items.iter().chain(&function.outputs.items).cloned().collect();
        for node in &function.body {
            for result in node.typed_results() {
                self.entry(node, result, &signature, values);
            }
            self.nested(node);
        }
    }

    /// The graphs of a node. Those of a statement that is replaced are replaced with it.
    fn nested(&mut self, node: &Node) {
        if node.sugar.is_none() {
            node.subgraphs().into_iter().for_each(|graph| self.graph(graph));
        }
    }

    /// An entry of `value_info`, unless a declaration says the same.
    fn entry(
        &mut self,
        node: &Node,
        (result, ty): (Span, &Type),
        signature: &[ValueInfo],
        values: (Option<&List<ValueInfo>>, u32),
    ) {
        let mut declarations = signature.iter().chain(values.0.iter().flat_map(|list| &list.items));
        let is_repeated = declarations.any(|value| {
            let is_declared = value.data.is_none() && self.is_same_name(value.name, result);
            is_declared && value.ty.as_ref().is_some_and(|declared| self.is_same_type(declared, ty))
        });
        if is_repeated {
            return;
        }
        let text = format!("{} {}", plain_type(self.source, ty), &self.source[result.range()]);
        let (at, before, after) = match values {
            (None, end) => (end, " <", ">"),
            (Some(List { items, span }), _) => match items.last() {
                Some(last) => (last.span.end, ", ", ""),
                None => (span.start + 1, "", ""),
            },
        };
        self.found.push((node.span.start, Insertion { at, before, text, after }));
    }

    fn is_same_name(&self, one: Span, other: Span) -> bool {
        spelled_name(&self.source[one.range()]) == spelled_name(&self.source[other.range()])
    }

    fn is_same_type(&mut self, one: &Type, other: &Type) -> bool {
        let [one, other] =
            [one, other].map(|ty| read_type(&plain_type(self.source, ty), &mut self.scratch).value);
        one == other
    }
}

/// The text of a type without expressions in its dimensions, on one line.
pub(super) fn plain_type(source: &str, ty: &Type) -> String {
    let text = format_type(source, ty, &[], &FormatOptions { width: usize::MAX });
    let expressions = expressions(ty);
    if expressions.is_empty() {
        return text;
    }
    // The expressions of the formatted text, which are in it in their order.
    let mut plain = String::new();
    let mut rest = &*text;
    for expression in expressions {
        let name = dim_expression(&source[expression.range()]);
        let Some(at) = rest.find(&name) else { break };
        plain.push_str(&rest[..at]);
        plain.push_str(&format!("\"{name}\""));
        rest = &rest[at + name.len()..];
    }
    plain + rest
}

/// The dimensions of a type that are expressions.
fn expressions(ty: &Type) -> Vec<Span> {
    match ty {
        Type::Tensor { dims, .. } => {
            let dims = dims.iter().flat_map(|dims| &dims.items);
            let expression = |dim: &Dim| match dim {
                Dim::Expr(span) => Some(*span),
                Dim::Unknown(_) | Dim::Int(_) | Dim::Param(_) => None,
            };
            dims.filter_map(expression).collect()
        }
        Type::Call { args, .. } => {
            let types = args.items.iter().filter_map(|arg| match arg {
                TypeArg::Type(ty) => Some(ty),
                TypeArg::Name(_) => None,
            });
            types.flat_map(expressions).collect()
        }
        Type::Unset(_) => Vec::new(),
    }
}
