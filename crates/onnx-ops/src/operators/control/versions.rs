//! Scan of version 8 had a batch axis and scanned each batch member separately.
//!
//! ```text
//! 8 → 9:   y, z = Scan <body = f, num_scan_inputs = 1> ("", s, x)
//!          y, z = Scan <num_scan_inputs = 2, body = each (s1, x1) => (y1, z1) {
//!             y1, z1 = Scan <num_scan_inputs = 1, body = f> (s1, x1)
//!          }> (s, x)
//! ```
//! The outer Scan iterates over the batch without a state, the inner one is the original.

use crate::change::site::{ConvertSite, Note};
use onnx_ir::{Attr, AttrValue, Graph, GraphId, Name, Node, Port, Value, ValueDef, ValueId};

pub(super) fn up(s: &mut ConvertSite<'_>) -> Result<Note, String> {
    if s.input(0).is_some() {
        return Err("its sequences have different lengths (`sequence_lens`)".to_owned());
    }
    let Some(AttrValue::Graph(body)) = s.attrs().find("body").and_then(Attr::value) else {
        return Err("its body is missing".to_owned());
    };
    let (body, count) = (*body, s.n().inputs.len().saturating_sub(1));
    let given: Vec<_> = s.n().inputs.iter().skip(1).copied().collect();
    let total = i64::try_from(count).unwrap_or(i64::MAX);
    let wanted = s.n().outputs.len();
    // An inner node needs the owner of its graph to exist first.
    s.rename_attr("directions", "scan_input_directions");
    let each = outer_graph(s, body, count, wanted);
    s.drop_attr("scan_input_directions");
    s.n_mut().inputs = given.into_iter().collect();
    s.set("num_scan_inputs", AttrValue::Int(total));
    s.set("body", AttrValue::Graph(each));
    Ok(Some("an outer `Scan` iterates over the batch".to_owned()))
}

/// The graph that scans one batch member, with a node that has all attributes of the old one.
fn outer_graph(s: &mut ConvertSite<'_>, inner: GraphId, inputs: usize, outputs: usize) -> GraphId {
    let (op, domain, attrs) = (s.n().op, s.n().domain, s.n().attrs.clone());
    let input_names: Vec<Name> = (0..inputs).map(|_| s.fresh_name("one")).collect();
    let output_names: Vec<Name> = (0..outputs).map(|_| s.fresh_name("each")).collect();
    let graph_name = s.fresh_name("batch");
    let owner = s.node;
    let origin = s.body().origins[owner];
    let body = &mut s.model.bodies[s.body];
    let graph = body.graphs.push(Graph { name: Some(graph_name), owner: Some(owner), ..Graph::default() });
    let port = |name: Name, value: ValueId| Port { name: Some(name), value: Some(value), ..Port::default() };
    let mut node = Node { op, domain, attrs, ..Node::default() };
    for name in input_names {
        let value = body.values.push(Value { name, def: ValueDef::Input(graph) });
        body.graphs[graph].inputs.push(port(name, value));
        node.inputs.push(Some(value));
    }
    let id = body.nodes.next_id();
    for (i, name) in (0..).zip(output_names) {
        let value = body.values.push(Value { name, def: ValueDef::Output(id, i) });
        body.graphs[graph].outputs.push(port(name, value));
        node.outputs.push(Some(value));
    }
    body.nodes.push(node);
    body.origins[id] = origin;
    body.graphs[graph].nodes.push(id);
    body.graphs[inner].owner = Some(id);
    graph
}
