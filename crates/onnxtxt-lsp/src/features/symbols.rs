//! The outline of a document, and symbols of all files.

use crate::answer::Demand;
use crate::document::Snapshot;
use crate::workspace::View;
use gen_lsp_types::*;
use onnx_text::ast::{Graph, Node, ValueInfo};
use onnxtxt::ir::diag::Span;

/// Symbols that are sent at most: a client that receives a million hangs.
const MAX_SYMBOLS: usize = 2_000;

/// The main graph and the functions with their inputs, initializers and nodes.
pub(crate) fn document_symbols(snapshot: &Snapshot) -> Vec<DocumentSymbol> {
    let tree = snapshot.tree();
    let graph = tree.graph.iter().map(|graph| graph_symbol(snapshot, graph));
    let functions = tree.functions.iter().map(|function| {
        let mut children = values(snapshot, &function.inputs.items, SymbolKind::Variable);
        children.extend(nodes(snapshot, &function.body));
        symbol(snapshot, function.name, function.span, SymbolKind::Function, String::new(), children)
    });
    graph.chain(functions).flatten().collect()
}

/// The symbols without their structure, for clients that show lists.
#[allow(deprecated, reason = "a structure is written with all its fields, and this one has no default")]
pub(crate) fn flat(snapshot: &Snapshot, symbols: Vec<DocumentSymbol>) -> Vec<SymbolInformation> {
    let mut flat = Vec::new();
    let mut open: Vec<(DocumentSymbol, Option<String>)> =
        symbols.into_iter().rev().map(|it| (it, None)).collect();
    while let Some((symbol, container_name)) = open.pop() {
        let container = Some(symbol.name.clone());
        open.extend(symbol.children.into_iter().flatten().rev().map(|child| (child, container.clone())));
        flat.push(SymbolInformation {
            deprecated: None,
            location: Location { uri: snapshot.uri().clone(), range: symbol.selection_range },
            base_symbol_information: BaseSymbolInformation {
                name: symbol.name,
                kind: symbol.kind,
                tags: None,
                container_name,
            },
        });
    }
    flat
}

/// Graphs, functions, inputs and initializers of all files whose names have the letters of the query in their order.
pub(crate) fn workspace_symbols(view: &View, query: &str, demand: &Demand) -> Vec<SymbolInformation> {
    let mut found = Vec::new();
    for snapshot in view.all() {
        if demand.ended().is_some() || found.len() >= MAX_SYMBOLS {
            break;
        }
        let of_file = flat(&snapshot, document_symbols(&snapshot));
        found.extend(of_file.into_iter().filter(|symbol| {
            let of_interest =
                symbol.base_symbol_information.kind != SymbolKind::Operator || !query.is_empty();
            of_interest && matches(&symbol.base_symbol_information.name, query)
        }));
    }
    found.truncate(MAX_SYMBOLS);
    found
}

/// Whether the letters of a query are in a name, in their order.
fn matches(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|wanted| letters.any(|letter| letter == wanted))
}

fn graph_symbol(snapshot: &Snapshot, graph: &Graph) -> Option<DocumentSymbol> {
    let inputs = graph.inputs.as_ref().map_or(&[][..], |list| &list.items);
    let mut children = values(snapshot, inputs, SymbolKind::Variable);
    let initializers = graph.values.iter().flat_map(|list| &list.items).filter(|value| value.data.is_some());
    children.extend(initializers.filter_map(|value| value_symbol(snapshot, value, SymbolKind::Constant)));
    children.extend(nodes(snapshot, &graph.body));
    symbol(snapshot, graph.name, graph.span, SymbolKind::Module, String::new(), children)
}

fn values(snapshot: &Snapshot, values: &[ValueInfo], kind: SymbolKind) -> Vec<DocumentSymbol> {
    values.iter().filter_map(|value| value_symbol(snapshot, value, kind)).collect()
}

fn value_symbol(snapshot: &Snapshot, value: &ValueInfo, kind: SymbolKind) -> Option<DocumentSymbol> {
    let ty = value.ty.as_ref().map_or("", |ty| snapshot.slice(ty.span()));
    symbol(snapshot, value.name, value.span, kind, ty.to_owned(), Vec::new())
}

/// A node has the name of its first result, and is an operator.
fn nodes(snapshot: &Snapshot, nodes_of: &[Node]) -> Vec<DocumentSymbol> {
    let node = |node: &Node| {
        let name = node.outputs.iter().copied().find(|name| !name.is_empty()).unwrap_or(node.op);
        let children =
            node.subgraphs().into_iter().filter_map(|graph| graph_symbol(snapshot, graph)).collect();
        let op = snapshot.slice(node.domain.map_or(node.op, |domain| domain.to(node.op)));
        symbol(snapshot, name, node.span, SymbolKind::Operator, op.to_owned(), children)
    };
    nodes_of.iter().take(MAX_SYMBOLS).filter_map(node).collect()
}

/// `None` for something without a name, which an outline cannot show.
#[allow(deprecated, reason = "a structure is written with all its fields, and this one has no default")]
fn symbol(
    snapshot: &Snapshot,
    name: Span,
    span: Span,
    kind: SymbolKind,
    detail: String,
    children: Vec<DocumentSymbol>,
) -> Option<DocumentSymbol> {
    let text = snapshot.slice(name).trim_matches('"').trim();
    // The range must contain the name, also where the text has mistakes.
    let span = Span::new(span.start.min(name.start), span.end.max(name.end));
    (!text.is_empty()).then(|| DocumentSymbol {
        name: text.to_owned(),
        detail: (!detail.is_empty()).then_some(detail),
        kind,
        tags: None,
        deprecated: None,
        range: snapshot.range(span),
        selection_range: snapshot.range(name),
        children: (!children.is_empty()).then_some(children),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{model, snapshot};

    fn outline(symbols: &[DocumentSymbol], depth: usize) -> String {
        let line = |symbol: &DocumentSymbol| {
            let detail = symbol.detail.as_deref().unwrap_or("-");
            let children = outline(symbol.children.as_deref().unwrap_or_default(), depth + 1);
            format!("{}{} {detail}\n{children}", "  ".repeat(depth), symbol.name)
        };
        symbols.iter().map(line).collect()
    }

    #[test]
    fn the_outline_has_graphs_values_and_nodes() {
        let text = "g (bool c, float[N] x) => (y) <float w = {1}> {\n  y = If (c) <then_branch = a () => (z) { z = l.F(x) }>\n}\n\
                    <domain: \"l\"> F (v) => (u) { u = Abs(v) }";
        let snapshot = snapshot(text);
        let symbols = document_symbols(&snapshot);
        let expected =
            "g -\n  c bool\n  x float[N]\n  w float\n  y If\n    a -\n      z l.F\nF -\n  v -\n  u Abs\n";
        assert_eq!(outline(&symbols, 0), expected);
        assert_eq!(flat(&snapshot, symbols).len(), expected.lines().count());
    }

    #[test]
    fn ranges_contain_the_names_in_broken_text() {
        let whole = model("t = Elu <alpha = 1.0> (x)\ny = If (c) <then_branch = a () => (z) { z = Neg(t) }>");
        for end in 0..whole.len() {
            let mut open = document_symbols(&snapshot(&whole[..end]));
            while let Some(symbol) = open.pop() {
                let (outer, inner) = (symbol.range, symbol.selection_range);
                assert!(outer.start <= inner.start && inner.end <= outer.end, "{end}: {symbol:?}");
                open.extend(symbol.children.into_iter().flatten());
            }
        }
    }

    #[test]
    fn queries_match_letters_in_order() {
        assert!(matches("layer1/conv", "l1c") && matches("x", "") && matches("Conv", "cV"));
        assert!(!matches("conv", "vc"));
    }
}
