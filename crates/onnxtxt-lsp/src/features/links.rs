//! Links to files: the external data of tensors.

use crate::document::Snapshot;
use crate::uri;
use gen_lsp_types::DocumentLink;
use onnx_text::ast::{AttrValue, Data, FieldValue, Graph, Node, ValueInfo};
use onnxtxt::ir::diag::Span;
use std::path::{Component, Path};

/// The links of a document.
pub(crate) fn links(snapshot: &Snapshot) -> Vec<DocumentLink> {
    let tree = snapshot.tree();
    let mut spans = Vec::new();
    tree.graph.iter().for_each(|graph| in_graph(snapshot, graph, &mut spans));
    tree.functions.iter().for_each(|function| in_nodes(snapshot, &function.body, &mut spans));
    spans.into_iter().filter_map(|span| link(snapshot, span)).collect()
}

/// A link to a file below the folder of the document, the only ones that are read.
fn link(snapshot: &Snapshot, span: Span) -> Option<DocumentLink> {
    let name = snapshot.slice(span).trim_matches('"');
    let is_below =
        Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path = snapshot.path()?.parent()?.join(name);
    let target = uri::of_path(&path);
    (is_below && !name.is_empty()).then(|| DocumentLink {
        range: snapshot.range(span),
        target: Some(target),
        tooltip: Some("the file of the elements".to_owned()),
        data: None,
    })
}

fn in_graph(snapshot: &Snapshot, graph: &Graph, spans: &mut Vec<Span>) {
    let lists = graph.inputs.iter().chain(&graph.values);
    lists.flat_map(|list| &list.items).for_each(|value| in_value(snapshot, value, spans));
    in_nodes(snapshot, &graph.body, spans);
}

fn in_value(snapshot: &Snapshot, value: &ValueInfo, spans: &mut Vec<Span>) {
    if let Some(data) = &value.data {
        in_data(snapshot, data, spans);
    }
}

fn in_nodes(snapshot: &Snapshot, nodes: &[Node], spans: &mut Vec<Span>) {
    for attr in nodes.iter().flat_map(|node| &node.attrs).flat_map(|list| &list.items) {
        if let Some(AttrValue::Tensor(tensor)) = &attr.value {
            in_data(snapshot, &tensor.data, spans);
        }
    }
    nodes.iter().flat_map(Node::subgraphs).for_each(|graph| in_graph(snapshot, graph, spans));
}

/// The value of `location`, in a list or in a record of fields as stored.
fn in_data(snapshot: &Snapshot, data: &Data, spans: &mut Vec<Span>) {
    let list = match data {
        Data::External(list) => list,
        Data::Record(record) => {
            let field = record.items.iter().find(|field| snapshot.slice(field.key) == "external_data");
            let Some(FieldValue::List(list)) = field.map(|field| &field.value) else { return };
            list
        }
        Data::Numbers(_) | Data::Elements(_) | Data::Sparse(_) | Data::Stored(_) => return,
    };
    spans.extend(list.items.iter().filter_map(|element| match (&element.key, &element.value) {
        (Some(key), FieldValue::String(span))
            if snapshot.slice(key.span()).trim_matches('"') == "location" =>
        {
            Some(*span)
        }
        _ => None,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::testing::snapshot;

    #[test]
    fn files_of_weights_are_links() {
        let text = "g () => (y) <float[2] w = [\"location\": \"sub/w.bin\", \"offset\": \"0\"], float[2] v = [\"location\": \"../x\"]> {\n\
                    c = Constant <value = float[1] [\"location\": \"c.bin\"]> ()\ny = Add(w, v)\n}";
        let snapshot = snapshot(text);
        let found: Vec<String> =
            links(&snapshot).into_iter().filter_map(|link| Some(link.target?.0)).collect();
        assert_eq!(found, ["file:///test/sub/w.bin", "file:///test/c.bin"]);
    }
}
