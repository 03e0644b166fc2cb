//! Edits a body: a [`Cursor`] that moves over the nodes of a graph, and the [`Uses`] of its values.
//!
//! A pass edits while it moves. Inserted nodes get the origin of the current node, so that they refer to the user's line. Unused
//! values and removed nodes remain in the arenas, but are not part of the graph and are not written.
//!
//! - [`Cursor::replace`] replaces a node by several. Its results keep their names and ids, so nothing else changes.
//! - [`Cursor::replace_uses`] redirects the readers of a value to another one, for example to remove a node. It needs the
//!   [`Uses`], which a pass computes once.
//!
//! This pass replaces `Neg` by a multiplication:
//!
//! ```text
//! before:  g (float[3] x) => (float[3] y)                      { t = Neg(x)            y = Relu(t) }
//! after:   g (float[3] x) => (float[3] y) <float minus = {-1}> { t = Mul(x, minus)     y = Relu(t) }
//! ```
//! ```
//! use onnx_ir::{Cursor, GraphBuilder, Model, Tensor};
//!
//! let mut model = Model::of_opset(21);
//! let mut b = GraphBuilder::main(&mut model, "g");
//! let x = b.input("x", None);
//! let t = b.op("Neg", [x]);
//! let y = b.op("Relu", [t]);
//! b.output("y", y, None);
//! let main = b.finish();
//!
//! let mut cursor = Cursor::new(&mut model, main);
//! while cursor.next_node().is_some() {
//!     let Some(x) = cursor.node_ref().filter(|node| node.is_op("Neg")).and_then(|node| node.input(0)) else { continue };
//!     let minus = cursor.add_initializer("minus", Tensor::scalar(-1f32));
//!     let product = cursor.op("Mul", [x, minus]);
//!     cursor.replace([product]);
//! }
//! drop(cursor); // lists the nodes
//!
//! let operators: Vec<&str> = model.walk_main().map(|node| node.op()).collect();
//! assert_eq!(operators, ["Mul", "Relu"]);
//! ```

use crate::body::{Body, GraphId, ValueDef};
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

mod cursor;
#[cfg(test)]
mod tests;
mod uses;
mod values;

pub use cursor::Cursor;
pub use uses::{Declaration, Use, Uses};

/// Removes the declarations of values that are not defined any more, and of duplicate declarations in one graph the one that was
/// outside the defining graph.
pub fn drop_declarations(body: &mut Body) {
    let graphs: Vec<GraphId> = body.walk().graphs().collect();
    let mut defined: HashSet<Name, RandomState> = HashSet::default();
    for &graph in &graphs {
        defined.extend(body.graphs[graph].values(body).map(|v| body.values[v].name));
    }
    for graph in graphs {
        let Body { graphs, values, .. } = &mut *body;
        let declarations = &mut graphs[graph].value_info;
        let own: HashSet<Name, RandomState> =
            declarations.iter().filter(|port| port.value.is_some()).filter_map(|port| port.name).collect();
        declarations.retain(|port| match port.value {
            Some(value) => !matches!(values[value].def, ValueDef::Unbound(_)),
            // In a function, what its nested graphs define may be declared outside of them.
            None => port.name.is_none_or(|name| defined.contains(&name) && !own.contains(&name)),
        });
    }
}
