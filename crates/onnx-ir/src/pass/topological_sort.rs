//! Sorts nodes topologically.
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y, float[N] z) { y = Relu(t)  t = Abs(x)  z = Neg(x) }
//! after:   g (float[N] x) => (float[N] y, float[N] z) { t = Abs(x)  y = Relu(t)  z = Neg(x) }
//! ```
//!
//! A node depends on what its nested graphs read from outside. The sort is stable: of the nodes that could come next, the first
//! in the original order does. A graph with a cycle is reported and not changed.

use super::calls::bodies;
use super::{Report, watched};
use crate::body::Body;
use crate::diag::{Diagnostic, Entity, code};
use crate::ids::{BodyId, GraphId, NodeId};
use crate::model::Model;
use crate::order::Order;

/// Sorts the nodes of all graphs, in `n log n`.
pub fn topological_sort(model: &mut Model) -> Report {
    watched("topological-sort", model, |model| {
        let mut report = Report::default();
        let mut moved = 0;
        for (body, _) in bodies(model) {
            let mut order = Order::of(&model.bodies[body]);
            let graphs: Vec<GraphId> = model.bodies[body].walk().graphs().collect();
            for graph in graphs {
                let before = &model.bodies[body].graphs[graph].nodes;
                match order.sorted(before) {
                    Ok(after) => {
                        moved += before.iter().zip(&after).filter(|(a, b)| a != b).count();
                        model.bodies[body].graphs[graph].nodes = after;
                    }
                    Err(node) => report.diagnostics.push(circle(model, body, node)),
                }
            }
        }
        report.note(moved, "node", "moved");
        report
    })
}

/// The graphs of a body, enclosing ones before nested ones, each with its nodes in the order of [`topological_sort`]; `None` for
/// a graph with a cycle.
///
/// For passes that must visit definitions before their readers, independent of the order in the model.
pub fn node_orders(body: &Body) -> Vec<(GraphId, Option<Vec<NodeId>>)> {
    let mut order = Order::of(body);
    let sorted = |graph: GraphId| (graph, order.sorted(&body.graphs[graph].nodes).ok());
    body.walk().graphs().map(sorted).collect()
}

fn circle(model: &Model, body: BodyId, node: NodeId) -> Diagnostic {
    let op = model.text(model.bodies[body].nodes[node].op);
    let message = format!("this `{op}` needs its own result, so that the graph has no order");
    Diagnostic::new(&code::NODE_CYCLE, Entity::Node(body, node), message)
}
