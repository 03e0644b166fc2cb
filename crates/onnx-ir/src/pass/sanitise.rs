//! Makes all names conform to the specification.
//!
//! ```text
//! before:  g (float[N] x) => (float[N] y) { [a/b] "t:0" = Abs(x)  [a_b] "t/0" = Neg("t:0")  [a_b] y = Abs("t/0") }
//! after:   g (float[N] x) => (float[N] y) { [a_b_1] t_0 = Abs(x)  [a_b] t_0_1 = Neg(t_0)  [a_b_2] y = Abs(t_0_1) }
//! ```
//!
//! Names become C90 identifiers; names of nodes are unique within a graph, and names of graphs within the model. The result is
//! deterministic: every other character becomes `_`, a leading digit gets one before it, and a name that is then taken gets a
//! number. Valid names are kept, and so are names of the main graph's inputs and outputs, which callers use.

use super::rename::{Map, Renaming, Set, interface, scopes, visit};
use super::{Report, watched};
use crate::ids::{BodyId, GraphId};
use crate::model::Model;
use crate::names::{Name, Names};
use crate::pass::calls::bodies;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The treatment of nodes without a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NodeNames {
    /// They get a name: the operator, followed by a number.
    Fill,
    /// They stay without.
    Keep,
}

/// Makes all names identifiers, and those of nodes and graphs different from each other.
pub fn sanitise(model: &mut Model, node_names: NodeNames) -> Report {
    watched("sanitise", model, |model| {
        let mut changed = identifiers(model);
        let mut report = Report::default();
        let mut fresh = Fresh::of(model);
        let mut filled = 0;
        let mut graph_names = Set::default();
        for (body, _) in bodies(model) {
            changed += distinct_graphs(model, body, &mut graph_names, &mut fresh);
            changed += distinct_nodes(model, body, &mut fresh);
            if node_names == NodeNames::Fill {
                filled += fill(model, body, &mut fresh);
            }
        }
        report.note(changed, "name", "changed");
        report.note(filled, "node", "named");
        report
    })
}

/// Names the unnamed nodes, and changes nothing else.
pub fn name_nodes(model: &mut Model) -> Report {
    watched("name-nodes", model, |model| {
        let mut fresh = Fresh::of(model);
        let mut report = Report::default();
        let named = bodies(model).into_iter().map(|(body, _)| fill(model, body, &mut fresh)).sum();
        report.note(named, "node", "named");
        report
    })
}

/// Replaces all names that are not identifiers; equal names stay equal.
fn identifiers(model: &mut Model) -> usize {
    let scopes = scopes(model);
    let mut odd: Vec<Name> = Vec::new();
    let mut seen: Set = Set::default();
    for scope in &scopes {
        visit(model, scope, &mut |_, name| {
            if seen.insert(*name) {
                odd.push(*name);
            }
        });
    }
    odd.retain(|&name| !is_identifier(&model.names[name]));
    let mut fresh = Fresh { taken: seen, next: HashMap::default() };
    let map: Map = odd
        .into_iter()
        .map(|name| {
            let text = identifier(&model.names[name]);
            (name, fresh.name(&mut model.names, &text))
        })
        .collect();
    let (inputs, outputs) = interface(model);
    let mut changed: Set = Set::default();
    for scope in &scopes {
        let mut renaming = Renaming { values: map.clone(), nodes: map.clone(), graphs: map.clone() };
        if scope.is_shared {
            renaming.values.retain(|name, _| !inputs.contains(name) && !outputs.contains(name));
        }
        changed.extend(renaming.apply(model, scope));
    }
    changed.len()
}

/// Whether a name is one that C90 allows.
fn is_identifier(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    text.bytes().all(is_part) && !text.starts_with(|c: char| c.is_ascii_digit()) && !text.is_empty()
}

/// `/layer.0/Conv` becomes `_layer_0_Conv`.
fn identifier(text: &str) -> String {
    let first = text.chars().next().filter(char::is_ascii_digit).map(|_| '_');
    let rest = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    first.into_iter().chain(rest).collect()
}

/// Names that nothing has yet.
struct Fresh {
    taken: Set,
    /// The number to try next for a name, so that many collisions do not take quadratic time.
    next: HashMap<Name, u64, RandomState>,
}

impl Fresh {
    fn of(model: &mut Model) -> Self {
        let mut taken = Set::default();
        for scope in scopes(model) {
            visit(model, &scope, &mut |_, name| _ = taken.insert(*name));
        }
        Fresh { taken, next: HashMap::default() }
    }

    /// `text`, followed by a number if it is taken.
    fn name(&mut self, names: &mut Names, text: &str) -> Name {
        let name = names.intern(text);
        if self.taken.insert(name) { name } else { self.numbered(names, name) }
    }

    /// A name followed by a number.
    fn numbered(&mut self, names: &mut Names, name: Name) -> Name {
        let next = self.next.entry(name).or_insert(1);
        loop {
            let text = format!("{}_{next}", &names[name]);
            *next += 1;
            let numbered = names.intern(&text);
            if self.taken.insert(numbered) {
                return numbered;
            }
        }
    }
}

/// The graphs of a body in document order.
fn graphs_of(model: &Model, body: BodyId) -> Vec<GraphId> {
    model.bodies[body].walk().graphs().collect()
}

/// Two graphs of the model have different names.
fn distinct_graphs(model: &mut Model, body: BodyId, seen: &mut Set, fresh: &mut Fresh) -> usize {
    let mut changed = 0;
    for graph in graphs_of(model, body) {
        let graph = &mut model.bodies[body].graphs[graph];
        let Some(name) = graph.name.filter(|n| !n.is_empty()) else { continue };
        if !seen.insert(name) {
            let name = fresh.numbered(&mut model.names, name);
            graph.name = Some(name);
            seen.insert(name);
            changed += 1;
        }
    }
    changed
}

/// Two nodes of a graph have different names.
fn distinct_nodes(model: &mut Model, body: BodyId, fresh: &mut Fresh) -> usize {
    let mut changed = 0;
    for graph in graphs_of(model, body) {
        let mut seen = Set::default();
        for at in 0..model.bodies[body].graphs[graph].nodes.len() {
            let node = model.bodies[body].graphs[graph].nodes[at];
            let node = &mut model.bodies[body].nodes[node];
            let Some(name) = node.name.filter(|n| !n.is_empty()) else { continue };
            if !seen.insert(name) {
                node.name = Some(fresh.numbered(&mut model.names, name));
                changed += 1;
            }
        }
    }
    changed
}

fn fill(model: &mut Model, body: BodyId, fresh: &mut Fresh) -> usize {
    let mut filled = 0;
    for graph in graphs_of(model, body) {
        for at in 0..model.bodies[body].graphs[graph].nodes.len() {
            let node = model.bodies[body].graphs[graph].nodes[at];
            let node = &mut model.bodies[body].nodes[node];
            if node.name.is_none_or(Name::is_empty) {
                let op = identifier(node.op.map_or("", |op| &model.names[op]));
                let op = model.names.intern(if op.is_empty() { "node" } else { &op });
                node.name = Some(fresh.numbered(&mut model.names, op));
                filled += 1;
            }
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_made_of_anything() {
        let all = ["/layer.0/Conv", "1a", "a b", "größe", ""].map(identifier);
        assert_eq!(all, ["_layer_0_Conv", "_1a", "a_b", "gr__e", ""]);
    }

    #[test]
    fn many_names_that_collide_take_no_quadratic_time() {
        let mut names = Names::new();
        let mut fresh = Fresh { taken: Set::default(), next: HashMap::default() };
        let last = (0..200_000).map(|_| fresh.name(&mut names, "a")).last();
        assert_eq!(last.map(|n| names[n].to_owned()), Some("a_199999".to_owned()));
    }
}
