//! Node names stay distinct in a graph when nodes move into it.
//!
//! ```text
//! before:  [a] u = Neg(x)     v = If (yes) < then_branch = g () => (q) { [a] q = Exp(u) }, … >
//! after:   [a] u = Neg(x)     [a_1] q = Exp(u)
//! ```
//!
//! Source: IR.md, Names Within a Graph. Runtimes refuse a graph with two nodes of one name.

use crate::body::Body;
use crate::ids::NodeId;
use crate::names::{Name, Names};
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// The names of the nodes of one graph.
pub struct NodeNameSet(HashSet<Name, RandomState>);

impl NodeNameSet {
    /// The names of these nodes, without those of nodes nested in them.
    pub fn of<'n>(body: &Body, nodes: impl IntoIterator<Item = &'n NodeId>) -> Self {
        NodeNameSet(nodes.into_iter().filter_map(|node| body.nodes[*node].name).collect())
    }

    /// Adds the name of a node. If another node has it already, the node gets a new one.
    pub fn add(&mut self, names: &mut Names, body: &mut Body, node: NodeId) {
        let Some(name) = body.nodes[node].name.filter(|name| !name.is_empty()) else { return };
        if !self.0.insert(name) {
            let stem = names[name].to_owned();
            let name = names.fresh(&stem);
            body.nodes[node].name = Some(name);
            self.0.insert(name);
        }
    }
}
