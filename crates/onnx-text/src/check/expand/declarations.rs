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
use std::collections::{BTreeMap, HashMap};

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
    /// The place.
    pub(super) fn at(&self) -> u32 {
        self.at
    }
}

/// The insertions of all statements that are expanded, with the starts of these.
pub(super) fn find(source: &str, file: &File) -> Vec<(u32, Insertion)> {
    let mut walk = Walk { source, scratch: Model::new(), found: Vec::new() };
    file.header_graphs().chain(&file.graph).for_each(|graph| walk.graph(graph));
    file.functions.iter().for_each(|function| walk.function(function));
    walk.found
}

struct Walk<'s> {
    source: &'s str,
    /// For the comparison of types.
    scratch: Model,
    found: Vec<(u32, Insertion)>,
}

/// The declarations of a graph or function.
struct Declared<'t> {
    /// By their names, in order.
    of_name: HashMap<String, Vec<&'t ValueInfo>>,
    /// The outputs that may have a type inserted: the first of each name.
    outputs: HashMap<String, &'t ValueInfo>,
    values: Option<&'t List<ValueInfo>>,
    /// Where a list of values is inserted, if there is none.
    end: u32,
}

impl<'t> Declared<'t> {
    fn is_repeated(&self, name: &str, mut is_same: impl FnMut(&'t Type) -> bool) -> bool {
        let declarations = self.of_name.get(name).into_iter().flatten();
        let mut types =
            declarations.filter(|value| value.data.is_none()).filter_map(|value| value.ty.as_ref());
        types.any(&mut is_same)
    }
}

impl Walk<'_> {
    fn graph(&mut self, graph: &Graph) {
        if graph.body.iter().any(|node| node.typed_results().next().is_some()) {
            let outputs = &graph.outputs.items;
            let values = (graph.values.as_ref(), graph.outputs.span.end);
            let declared = self.declared(outputs.iter(), outputs, values);
            graph.body.iter().for_each(|node| self.results(node, &declared));
        }
        graph.body.iter().for_each(|node| self.nested(node));
    }

    fn function(&mut self, function: &Function) {
        if function.body.iter().any(|node| node.typed_results().next().is_some()) {
            let signature = function.inputs.items.iter().chain(&function.outputs.items);
            let values = (function.values.as_ref(), function.outputs.span.end);
            let declared = self.declared(signature, &[], values);
            function.body.iter().for_each(|node| self.results(node, &declared));
        }
        function.body.iter().for_each(|node| self.nested(node));
    }

    fn declared<'t>(
        &self,
        signature: impl Iterator<Item = &'t ValueInfo>,
        outputs: &'t [ValueInfo],
        (values, end): (Option<&'t List<ValueInfo>>, u32),
    ) -> Declared<'t> {
        let mut declared = Declared { of_name: HashMap::new(), outputs: HashMap::new(), values, end };
        for value in signature.chain(values.iter().flat_map(|list| &list.items)) {
            declared.of_name.entry(self.name(value.name)).or_default().push(value);
        }
        for output in outputs {
            declared.outputs.entry(self.name(output.name)).or_insert(output);
        }
        declared
    }

    /// The graphs of a node. Those of a statement that is replaced are replaced with it.
    fn nested(&mut self, node: &Node) {
        if node.sugar.is_none() {
            node.subgraphs().into_iter().for_each(|graph| self.graph(graph));
        }
    }

    /// The types of results: of an output without one, or an entry of `value_info` unless a declaration says the same.
    fn results(&mut self, node: &Node, declared: &Declared<'_>) {
        for (result, ty) in node.typed_results() {
            let name = self.name(result);
            if let Some(ValueInfo { ty: None, name, .. }) = declared.outputs.get(&name) {
                let text = plain_type(self.source, ty);
                self.found
                    .push((node.span.start, Insertion { at: name.start, before: "", text, after: " " }));
                continue;
            }
            if declared.is_repeated(&name, |other| self.is_same_type(other, ty)) {
                continue;
            }
            let text = format!("{} {}", plain_type(self.source, ty), &self.source[result.range()]);
            let (at, before, after) = match declared.values {
                None => (declared.end, " <", ">"),
                Some(List { items, span }) => match items.last() {
                    Some(last) => (last.span.end, ", ", ""),
                    None => (span.start + 1, "", ""),
                },
            };
            self.found.push((node.span.start, Insertion { at, before, text, after }));
        }
    }

    fn name(&self, spelling: Span) -> String {
        spelled_name(&self.source[spelling.range()])
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
