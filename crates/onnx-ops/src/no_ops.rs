//! Removes nodes that return their input.
//!
//! ```text
//! before:  g (float[2,3] x) => (float[2,3] y) {
//!             a = Identity(x)             b = Transpose <perm = [1, 0]> (a)   c = Transpose <perm = [1, 0]> (b)
//!             d = Cast <to = 1> (c)       e = Reshape(d, shape)               y = Relu(e)
//!          }
//! after:   g (float[2,3] x) => (float[2,3] y) { b = Transpose <perm = [1, 0]> (x)  y = Relu(x) }
//! ```
//!
//! Unused nodes are left to `dead-code`. Types and shapes come from inference: a `Reshape` is removed only if both shapes are
//! certainly equal. Arithmetic is removed only if it is exact for every number: `x * 1`, `x / 1`, `x - 0`, and `x + 0` for
//! integers; for floats `x + 0` turns `-0` into `+0`, so only `x + -0` is removed.
//!
//! Nodes are visited in topological order, whatever their order in the graph; cycles are kept. A graph output keeps its name; if
//! that requires a node (the output is an input of the graph), the node is kept.

use crate::derivative::has_gradient;
use crate::infer::{InferOptions, infer};
use crate::lint::{Look, local_functions};
use crate::schema::Registry;
use onnx_ir::pass::{Report, node_orders};
use onnx_ir::{Body, BodyId, Cursor, GraphId, Model, Name, NodeId, SecondaryMap, Uses, ValueDef};
use std::collections::HashSet;

/// Removes nodes that do nothing.
pub fn remove_no_ops(model: &mut Model, registry: &Registry) -> Report {
    if has_gradient(model) {
        return Report::default();
    }
    let facts = infer(model, registry, &InferOptions::default()).facts;
    let local = local_functions(model);
    let trained = trained_names(model);
    let bodies: Vec<BodyId> = model.bodies.ids().filter(|b| model.bodies[*b].root().is_some()).collect();
    let mut count = 0;
    for body in bodies {
        let uses = Uses::of(&model.bodies[body]);
        let listed = Listed::sort(&mut model.bodies[body]);
        let mut cursor = Cursor::new(model, body);
        for &graph in &listed.sorted {
            cursor.goto_graph(graph);
            while let Some(node) = cursor.next_node() {
                crate::interrupt::look();
                let look =
                    Look { model: cursor.model(), facts: &facts, body, node, uses: &uses, local: &local };
                let Some((from, to)) = look.passes_on() else { continue };
                let is_kept = Some(body) == look.model.main && look.is_named(&trained, from, to);
                if from != to && !is_kept && cursor.replace_uses(&uses, from, to) {
                    cursor.remove();
                    count += 1;
                }
            }
        }
        drop(cursor);
        listed.put_back(&mut model.bodies[body]);
    }
    let mut report = Report::default();
    report.note(count, "node", "removed");
    report
}

/// The original positions of the nodes of a body that was sorted.
struct Listed {
    /// The graphs whose nodes have an order.
    sorted: Vec<GraphId>,
    places: SecondaryMap<NodeId, usize>,
}

impl Listed {
    /// Sorts the nodes topologically.
    fn sort(body: &mut Body) -> Listed {
        let mut listed = Listed { sorted: Vec::new(), places: SecondaryMap::default() };
        for (graph, order) in node_orders(body) {
            let Some(order) = order else { continue };
            let before = std::mem::replace(&mut body.graphs[graph].nodes, order);
            before.into_iter().enumerate().for_each(|(place, node)| listed.places[node] = place);
            listed.sorted.push(graph);
        }
        listed
    }

    /// Restores the original order of the remaining nodes.
    fn put_back(&self, body: &mut Body) {
        for &graph in &self.sorted {
            body.graphs[graph].nodes.sort_by_key(|node| self.places[*node]);
        }
    }
}

/// The names of values of the main graph that trainings read or assign.
fn trained_names(model: &Model) -> HashSet<Name> {
    let bindings =
        model.training.iter().flat_map(|t| t.initialization_bindings.iter().chain(&t.update_bindings));
    let bound = bindings.flat_map(|entry| [entry.key, entry.value]).flatten();
    let bodies = model.training.iter().flat_map(|t| [t.initialization, t.algorithm]).flatten();
    let values = bodies.flat_map(|body| model.bodies[body].values.values());
    let read = values.filter(|value| matches!(value.def, ValueDef::Unbound(_))).map(|value| value.name);
    bound.chain(read).collect()
}
