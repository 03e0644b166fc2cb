//! Which functions call which.

use crate::document::Snapshot;
use gen_lsp_types::*;
use onnx_text::{NameId, NameKind, NameRole};
use onnxtxt::ir::diag::Span;

/// The function at a position.
pub(crate) fn prepare(snapshot: &Snapshot, position: Position) -> Option<Vec<CallHierarchyItem>> {
    let occurrence = snapshot.names().at(snapshot.offset(position))?;
    match snapshot.names().info(occurrence.name).kind {
        NameKind::Function => Some(vec![function(snapshot, occurrence.name)?]),
        NameKind::Graph => Some(vec![main(snapshot)?]),
        _ => None,
    }
}

/// The functions and the main graph that call a function.
pub(crate) fn incoming(snapshot: &Snapshot, item: &CallHierarchyItem) -> Vec<CallHierarchyIncomingCall> {
    let Some(name) = name_of(snapshot, item) else { return Vec::new() };
    let mut calls: Vec<CallHierarchyIncomingCall> = Vec::new();
    for occurrence in snapshot.names().occurrences(name).filter(|it| it.role == NameRole::Use) {
        let Some(caller) = around(snapshot, occurrence.span) else { continue };
        let range = snapshot.range(occurrence.span);
        match calls.iter_mut().find(|call| call.from == caller) {
            Some(call) => call.from_ranges.push(range),
            None => calls.push(CallHierarchyIncomingCall { from: caller, from_ranges: vec![range] }),
        }
    }
    calls
}

/// The functions that a function or the main graph calls.
pub(crate) fn outgoing(snapshot: &Snapshot, item: &CallHierarchyItem) -> Vec<CallHierarchyOutgoingCall> {
    let span = snapshot.span(item.range);
    let names = snapshot.names();
    let mut calls: Vec<CallHierarchyOutgoingCall> = Vec::new();
    for occurrence in names.within(span).iter().filter(|it| it.role == NameRole::Use) {
        if names.info(occurrence.name).kind != NameKind::Function {
            continue;
        }
        let Some(to) = function(snapshot, occurrence.name) else { continue };
        let range = snapshot.range(occurrence.span);
        match calls.iter_mut().find(|call| call.to == to) {
            Some(call) => call.from_ranges.push(range),
            None => calls.push(CallHierarchyOutgoingCall { to, from_ranges: vec![range] }),
        }
    }
    calls
}

fn name_of(snapshot: &Snapshot, item: &CallHierarchyItem) -> Option<NameId> {
    let occurrence = snapshot.names().at(snapshot.offset(item.selection_range.start))?;
    (snapshot.names().info(occurrence.name).kind == NameKind::Function).then_some(occurrence.name)
}

/// The function or main graph around a span.
fn around(snapshot: &Snapshot, span: Span) -> Option<CallHierarchyItem> {
    let has = |outer: Span| outer.start <= span.start && span.end <= outer.end;
    let tree = snapshot.tree();
    if tree.graph.as_ref().is_some_and(|graph| has(graph.span)) {
        return main(snapshot);
    }
    let function_of = tree.functions.iter().find(|function| has(function.span))?;
    Some(item(snapshot, SymbolKind::Function, function_of.name, function_of.span))
}

fn main(snapshot: &Snapshot) -> Option<CallHierarchyItem> {
    let graph = snapshot.tree().graph.as_ref()?;
    Some(item(snapshot, SymbolKind::Module, graph.name, graph.span))
}

fn function(snapshot: &Snapshot, name: NameId) -> Option<CallHierarchyItem> {
    let definition = snapshot.names().definition(name)?.span;
    let function = snapshot.tree().functions.iter().find(|function| function.name == definition)?;
    Some(item(snapshot, SymbolKind::Function, function.name, function.span))
}

fn item(snapshot: &Snapshot, kind: SymbolKind, name: Span, span: Span) -> CallHierarchyItem {
    CallHierarchyItem {
        name: snapshot.slice(name).trim_matches('"').to_owned(),
        kind,
        tags: None,
        detail: None,
        uri: snapshot.uri().clone(),
        range: snapshot.range(span),
        selection_range: snapshot.range(name),
        data: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::at_cursor;

    #[test]
    fn calls_are_found_in_both_directions() {
        let text = "<opset_import: [\"l\": 1]> g (x) => (y) { t = l.F(x) y = l.F(t) }\n\
                    <domain: \"l\", opset_import: [\"l\": 1]> F$0 (v) => (u) { u = l.G(v) }\n\
                    <domain: \"l\", opset_import: [\"\": 21]> G (v) => (u) { u = Abs(v) }";
        let (snapshot, cursor) = at_cursor(text);
        let item = prepare(&snapshot, cursor).unwrap().remove(0);
        let callers = incoming(&snapshot, &item);
        assert_eq!((callers.len(), callers[0].from.name.as_str(), callers[0].from_ranges.len()), (1, "g", 2));
        let callees = outgoing(&snapshot, &item);
        assert_eq!((callees.len(), callees[0].to.name.as_str()), (1, "G"));
        let again = incoming(&snapshot, &callees[0].to);
        assert_eq!(again[0].from.name, "F");
        let whole = outgoing(&snapshot, &callers[0].from);
        assert_eq!((whole.len(), whole[0].from_ranges.len()), (1, 2));
    }
}
