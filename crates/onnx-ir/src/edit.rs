//! Edits a body: a [`Cursor`] that moves over the nodes of a graph, and the [`Uses`] of its values.

use crate::body::{Body, ValueDef};
use crate::ids::GraphId;
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

mod cursor;
mod node_names;
#[cfg(test)]
mod tests;
mod uses;
mod values;

pub use cursor::Cursor;
pub use node_names::NodeNameSet;
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
