//! The steps by which a selection grows: the word, the operand, the list, the statement, the body, the graph, the file.

use crate::document::Snapshot;
use gen_lsp_types::{Position, SelectionRange};
use onnx_text::TokenClass;
use onnx_text::ast::{Attr, AttrValue, Graph, Node, ValueInfo};
use onnxtxt::ir::diag::Span;

/// The growing selections at each position.
pub(crate) fn selection_ranges(snapshot: &Snapshot, positions: &[Position]) -> Vec<SelectionRange> {
    positions.iter().map(|&position| selection_range(snapshot, position)).collect()
}

fn selection_range(snapshot: &Snapshot, position: Position) -> SelectionRange {
    let spans = spans(snapshot, snapshot.offset(position));
    let mut result: Option<SelectionRange> = None;
    for span in spans {
        result = Some(SelectionRange { range: snapshot.range(span), parent: result.map(Box::new) });
    }
    let nothing =
        || SelectionRange { range: snapshot.range(Span::at(snapshot.offset(position))), parent: None };
    result.unwrap_or_else(nothing)
}

/// The spans around a byte, the largest first; each is in the one before.
fn spans(snapshot: &Snapshot, at: u32) -> Vec<Span> {
    let mut spans = vec![Span::new(0, u32::try_from(snapshot.text().len()).unwrap_or(u32::MAX))];
    let mut add = |span: Span| {
        if span.start <= at && at <= span.end && !span.is_empty() {
            spans.push(span);
        }
    };
    let tree = snapshot.tree();
    if let Some(header) = &tree.header {
        add(header.span);
    }
    if let Some(graph) = &tree.graph {
        in_graph(graph, at, &mut add);
    }
    for function in tree.functions.iter().filter(|function| has(function.span, at)) {
        add(function.span);
        add(function.inputs.span);
        add(function.outputs.span);
        values(&function.inputs.items, at, &mut add);
        values(&function.outputs.items, at, &mut add);
        add(function.body_span);
        nodes(&function.body, at, &mut add);
    }
    brackets(snapshot, at, &mut add);
    // The word; after it, if nothing begins there.
    let tokens = snapshot.tokens();
    let next = tokens.partition_point(|token| token.span.start <= at);
    for token in
        tokens[next.saturating_sub(2)..next].iter().filter(|token| token.class != TokenClass::Punctuation)
    {
        add(token.span);
    }
    spans.sort_by_key(|span| std::cmp::Reverse(span.len()));
    spans.dedup();
    // Lists of operands and statements may overlap where the text has mistakes.
    let mut nested: Vec<Span> = Vec::new();
    for span in spans {
        if nested.last().is_none_or(|outer| outer.start <= span.start && span.end <= outer.end) {
            nested.push(span);
        }
    }
    nested
}

fn has(span: Span, at: u32) -> bool {
    span.start <= at && at <= span.end
}

fn in_graph(graph: &Graph, at: u32, add: &mut impl FnMut(Span)) {
    if !has(graph.span, at) {
        return;
    }
    add(graph.span);
    for list in graph.inputs.iter().chain([&graph.outputs]).chain(&graph.values) {
        add(list.span);
        values(&list.items, at, add);
    }
    add(graph.body_span);
    nodes(&graph.body, at, add);
}

fn values(list: &[ValueInfo], at: u32, add: &mut impl FnMut(Span)) {
    for value in list.iter().filter(|value| has(value.span, at)) {
        add(value.span);
        value.ty.iter().for_each(|ty| add(ty.span()));
        value.data.iter().for_each(|data| add(data.span()));
    }
}

fn nodes(nodes_of: &[Node], at: u32, add: &mut impl FnMut(Span)) {
    let next = nodes_of.partition_point(|node| node.span.end < at);
    let Some(node) = nodes_of.get(next).filter(|node| has(node.span, at)) else { return };
    add(node.span);
    expression(node, at, add);
}

/// The parts of a node, and of the expressions in it.
fn expression(node: &Node, at: u32, add: &mut impl FnMut(Span)) {
    add(node.inputs_span);
    if let Some(attrs) = &node.attrs {
        add(attrs.span);
        attrs.items.iter().for_each(|attr| attribute(attr, at, add));
    }
    if let Some(inner) = node.nested().find(|inner| has(inner.span, at)) {
        add(inner.span);
        expression(inner, at, add);
    }
}

fn attribute(attr: &Attr, at: u32, add: &mut impl FnMut(Span)) {
    if !has(attr.span, at) {
        return;
    }
    add(attr.span);
    let Some(value) = &attr.value else { return };
    add(value.span());
    match value {
        AttrValue::Graph(graph) => in_graph(graph, at, add),
        AttrValue::List(list) | AttrValue::Braced(list) => {
            for element in list.items.iter().filter(|element| has(element.value.span(), at)) {
                add(element.value.span());
                if let AttrValue::Graph(graph) = &element.value {
                    in_graph(graph, at, add);
                }
            }
        }
        _ => {}
    }
}

/// The innermost brackets around the byte, with and without them.
fn brackets(snapshot: &Snapshot, at: u32, add: &mut impl FnMut(Span)) {
    let Some((open, close)) = super::cursor::brackets_around(snapshot, at) else { return };
    add(open.to(close));
    add(Span::new(open.end, close.start.max(open.end)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::{at_cursor, model};

    #[test]
    fn selections_grow_from_the_word_to_the_file() {
        let text = model("y = Gemm <alpha = 2.0, beta = 1.0> (x, a$0b, c)");
        let (snapshot, cursor) = at_cursor(&text);
        let mut range = Some(Box::new(selection_ranges(&snapshot, &[cursor]).remove(0)));
        let mut texts = Vec::new();
        while let Some(this) = range {
            texts.push(snapshot.slice(snapshot.span(this.range)).to_owned());
            range = this.parent;
        }
        assert_eq!(texts[..3], ["ab", "x, ab, c", "(x, ab, c)"]);
        assert_eq!(texts[3], "y = Gemm <alpha = 2.0, beta = 1.0> (x, ab, c)");
        assert!(texts[4].starts_with('{') && texts[5].starts_with("g ("), "{texts:?}");
        assert_eq!(texts.last().unwrap(), snapshot.text());
    }

    #[test]
    fn every_position_has_a_selection() {
        let text =
            model("y = If (c) <then_branch = a () => (z) { z = Elu <alpha = 1.0> (x) }, else_branch = ");
        let snapshot = crate::features::testing::snapshot(&text);
        for at in 0..=u32::try_from(text.len()).unwrap() {
            let all = spans(&snapshot, at);
            assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{at}");
        }
    }
}
