//! Matches the nodes and values of two graphs.
//!
//! Nodes that are equal, or that compute a value of the same name, are anchors. Matches spread from there along edges: consumers
//! of a matched value, and producers of matched operands, match if they apply the same operator. The rest is matched by operator
//! and similarity. Each edge is visited a bounded number of times, so the work is near-linear.
//!
//! A name that both graphs define is the same value in both, as readers of a difference expect. Only if names are numbers that
//! have shifted (see [`shifted`]) are they ignored, and nodes are matched by structure alone.

use super::shifted::shifted;
use std::collections::HashMap;
use std::hash::Hash;

/// A node, as far as matching needs it. Operands and results that are left out are `""`.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeView<'a> {
    /// The name of the node.
    pub(crate) name: &'a str,
    /// Identifies domain, operator and overload.
    pub(crate) op: u64,
    /// Identifies the attributes.
    pub(crate) attrs: u64,
    /// The names of operands.
    pub(crate) inputs: Vec<&'a str>,
    /// The names of results.
    pub(crate) outputs: Vec<&'a str>,
}

/// A graph, as far as matching needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct GraphView<'a> {
    /// The names of inputs, in order.
    pub(crate) inputs: Vec<&'a str>,
    /// The names of initializers, in order.
    pub(crate) weights: Vec<&'a str>,
    /// The nodes, in order.
    pub(crate) nodes: Vec<NodeView<'a>>,
}

/// Names of one graph with their names in the other.
pub(crate) type Renames<'a> = HashMap<&'a str, &'a str>;

/// The correspondence between two graphs.
#[derive(Debug, Default)]
pub(crate) struct Alignment<'a> {
    /// The node of the second graph for each node of the first.
    pub(crate) forward: Vec<Option<usize>>,
    /// The node of the first graph for each node of the second.
    pub(crate) backward: Vec<Option<usize>>,
    /// Values that have another name in the second graph, those of enclosing graphs included.
    pub(crate) renames: Renames<'a>,
    /// The number of visited nodes, edges and candidates.
    pub(crate) steps: usize,
}

impl<'a> Alignment<'a> {
    /// The name that a value of the first graph has in the second.
    pub(crate) fn counterpart<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        self.renames.get(name).copied().unwrap_or(name)
    }

    /// The nodes of the second graph that have moved among the common nodes: as few as explain the new order.
    pub(crate) fn moved(&self) -> Vec<bool> {
        let mut moved = vec![false; self.backward.len()];
        let order: Vec<usize> = self.forward.iter().flatten().copied().collect();
        // The longest increasing subsequence stays; `ends[k]` is the position where the best one of length k + 1 ends.
        let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
        for (at, &node) in order.iter().enumerate() {
            let length = ends.partition_point(|&end| order[end] < node);
            before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
            if length == ends.len() {
                ends.push(at);
            } else {
                ends[length] = at;
            }
            moved[node] = true;
        }
        let mut at = ends.last().copied();
        while let Some(here) = at {
            moved[order[here]] = false;
            at = before[here];
        }
        moved
    }
}

/// The most candidates that an unmatched node is compared with.
const CANDIDATES: usize = 16;

/// The producer and the consumers of a value.
#[derive(Default)]
struct ValueLinks {
    is_defined: bool,
    producer: Option<(usize, usize)>,
    consumers: Vec<(usize, usize)>,
}

fn values<'a>(graph: &GraphView<'a>) -> HashMap<&'a str, ValueLinks> {
    let mut values: HashMap<&str, ValueLinks> = HashMap::with_capacity(graph.nodes.len());
    for &name in graph.inputs.iter().chain(&graph.weights) {
        values.entry(name).or_default().is_defined = true;
    }
    for (node, view) in graph.nodes.iter().enumerate() {
        for (at, &name) in view.inputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            values.entry(name).or_default().consumers.push((node, at));
        }
        for (at, &name) in view.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let value = values.entry(name).or_default();
            value.is_defined = true;
            value.producer.get_or_insert((node, at));
        }
    }
    values
}

struct Matcher<'g, 'a> {
    graphs: [&'g GraphView<'a>; 2],
    values: [HashMap<&'a str, ValueLinks>; 2],
    found: Alignment<'a>,
    /// Values of the second graph that have another name in the first.
    taken: Renames<'a>,
    /// Whether names of computed values are ignored.
    is_shifted: bool,
    /// Matched values whose neighbours have not been visited.
    queue: Vec<(&'a str, &'a str)>,
}

/// Aligns two graphs; `outer` are the renames of the values of enclosing graphs.
pub(crate) fn align<'a>(a: &GraphView<'a>, b: &GraphView<'a>, outer: &Renames<'a>) -> Alignment<'a> {
    let mut matcher = Matcher {
        graphs: [a, b],
        values: [values(a), values(b)],
        found: Alignment {
            forward: vec![None; a.nodes.len()],
            backward: vec![None; b.nodes.len()],
            renames: outer.clone(),
            steps: 0,
        },
        taken: outer.iter().map(|(&old, &new)| (new, old)).collect(),
        is_shifted: false,
        queue: Vec::new(),
    };
    if let Some(pairs) = shifted(a, b) {
        matcher.is_shifted = true;
        pairs.into_iter().for_each(|(old, new)| matcher.pair(old, new));
    }
    matcher.ports();
    matcher.anchors();
    matcher.spread();
    matcher.rest(|node| Some((node.op, node.attrs, node.inputs.len(), node.outputs.len())));
    matcher.similar();
    matcher.replaced();
    matcher.forget_taken();
    matcher.found
}

impl<'a> Matcher<'_, 'a> {
    /// Inputs of the same name are the same; of those left, the ones at the same position.
    fn ports(&mut self) {
        let [a, b] = self.graphs;
        for (&old, &new) in a.inputs.iter().zip(&b.inputs) {
            self.pair_values(old, new);
        }
        let ports =
            |graph: &GraphView<'a>| graph.inputs.iter().chain(&graph.weights).copied().collect::<Vec<_>>();
        let shared = ports(a).into_iter().filter(|name| self.values[1].contains_key(name));
        self.queue.extend(shared.map(|name| (name, name)));
    }

    /// Matches equal nodes, first those equal in everything, then in less.
    fn anchors(&mut self) {
        if self.is_shifted {
            return;
        }
        self.by(|n| Some((n.name, n.op, n.attrs, n.inputs.clone(), n.outputs.clone())));
        self.by(|n| first_output(n).map(|output| (output, n.op)));
        self.by(|n| Some((n.op, n.attrs, n.inputs.clone())));
        self.by(|n| (!n.name.is_empty()).then_some((n.name, n.op)));
    }

    /// Nodes of both graphs without a match, by a key: each entry with the nodes of both sides in order.
    fn groups<K: Hash + Eq>(
        &mut self,
        key: impl Fn(&NodeView<'a>) -> Option<K>,
    ) -> Vec<(Vec<usize>, Vec<usize>)> {
        let [a, b] = self.graphs;
        let mut at: HashMap<K, usize> = HashMap::new();
        let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (node, view) in a.nodes.iter().enumerate().filter(|(node, _)| self.found.forward[*node].is_none())
        {
            let Some(key) = key(view) else { continue };
            let group = *at.entry(key).or_insert_with(|| {
                groups.push(Default::default());
                groups.len() - 1
            });
            groups[group].0.push(node);
            self.found.steps += 1;
        }
        for (node, view) in
            b.nodes.iter().enumerate().filter(|(node, _)| self.found.backward[*node].is_none())
        {
            if let Some(&group) = key(view).and_then(|key| at.get(&key)) {
                groups[group].1.push(node);
            }
            self.found.steps += 1;
        }
        groups
    }

    /// Matches nodes with the same key, in order.
    fn by<K: Hash + Eq>(&mut self, key: impl Fn(&NodeView<'a>) -> Option<K>) {
        for (old, new) in self.groups(key) {
            for (a, b) in old.into_iter().zip(new) {
                self.pair(a, b);
            }
        }
    }

    fn pair(&mut self, a: usize, b: usize) {
        if self.found.forward[a].is_some() || self.found.backward[b].is_some() {
            return;
        }
        self.found.forward[a] = Some(b);
        self.found.backward[b] = Some(a);
        let [x, y] = [&self.graphs[0].nodes[a], &self.graphs[1].nodes[b]];
        self.found.steps += x.inputs.len() + x.outputs.len();
        for (&old, &new) in x.outputs.iter().zip(&y.outputs).chain(x.inputs.iter().zip(&y.inputs)) {
            self.pair_values(old, new);
        }
    }

    /// Matches values, unless they are values of other names already.
    fn pair_values(&mut self, old: &'a str, new: &'a str) {
        if old.is_empty() || new.is_empty() {
            return;
        }
        if self.is_shifted && self.pair_computed(old, new) {
            return;
        }
        if old == new {
            self.queue.push((old, new));
            return;
        }
        let is_defined = |side: usize, name: &str| self.values[side].get(name).is_some_and(|v| v.is_defined);
        let is_own = is_defined(0, old) && is_defined(1, new);
        if !is_own || is_defined(1, old) || is_defined(0, new) {
            return;
        }
        if self.found.renames.contains_key(old) || self.taken.contains_key(new) {
            return;
        }
        self.found.renames.insert(old, new);
        self.taken.insert(new, old);
        self.queue.push((old, new));
    }

    /// Matches computed values independent of their names. Returns whether both are computed.
    fn pair_computed(&mut self, old: &'a str, new: &'a str) -> bool {
        let producer = |side: usize, name: &str| self.values[side].get(name).and_then(|value| value.producer);
        let (Some(x), Some(y)) = (producer(0, old), producer(1, new)) else { return false };
        let is_free = !self.found.renames.contains_key(old) && !self.taken.contains_key(new);
        // A replaced operand is not a rename: the producers must match.
        let is_matched = self.found.forward[x.0] == Some(y.0) && x.1 == y.1;
        if is_free && is_matched {
            self.found.renames.insert(old, new);
            self.taken.insert(new, old);
            self.queue.push((old, new));
        }
        true
    }

    /// Removes the counterpart of values whose name another value has taken.
    fn forget_taken(&mut self) {
        if self.is_shifted {
            let names =
                self.values[0].iter().filter(|(_, value)| value.producer.is_some()).map(|(name, _)| *name);
            let gone: Vec<&str> = names.filter(|name| !self.found.renames.contains_key(name)).collect();
            self.found
                .renames
                .extend(gone.into_iter().filter(|name| self.taken.contains_key(name)).map(|name| (name, "")));
        }
    }

    /// Matches the neighbours of matched values, transitively.
    fn spread(&mut self) {
        let mut seen: HashMap<&str, ()> = HashMap::new();
        while let Some((old, new)) = self.queue.pop() {
            if seen.insert(old, ()).is_some() {
                continue;
            }
            let [x, y] = [self.values[0].get(old), self.values[1].get(new)];
            let (Some(x), Some(y)) = (x, y) else { continue };
            if let (Some(old), Some(new)) = (x.producer, y.producer) {
                self.try_pair(old, new);
            }
            // Consumers that read it at the same position with the same operator, in order.
            let mut consumers = |side: usize, name: &str| {
                self.values[side].get_mut(name).map(|value| std::mem::take(&mut value.consumers))
            };
            let (Some(x), Some(y)) = (consumers(0, old), consumers(1, new)) else { continue };
            self.found.steps += x.len() + y.len();
            for is_exact in [true, false] {
                let key = |node: &NodeView<'_>, at: usize| (node.op, at, is_exact.then_some(node.attrs));
                let mut open: HashMap<_, std::collections::VecDeque<usize>> = HashMap::new();
                for &(node, at) in y.iter().filter(|(node, _)| self.found.backward[*node].is_none()) {
                    open.entry(key(&self.graphs[1].nodes[node], at)).or_default().push_back(node);
                }
                if open.is_empty() {
                    break;
                }
                for &(node, at) in &x {
                    if self.found.forward[node].is_none()
                        && let Some(other) = open
                            .get_mut(&key(&self.graphs[0].nodes[node], at))
                            .and_then(|open| open.pop_front())
                    {
                        self.pair(node, other);
                    }
                }
            }
        }
    }

    fn try_pair(&mut self, (a, i): (usize, usize), (b, j): (usize, usize)) {
        self.found.steps += 1;
        let (x, y) = (&self.graphs[0].nodes[a], &self.graphs[1].nodes[b]);
        if i == j && x.op == y.op {
            self.pair(a, b);
        }
    }

    /// Matches nodes with the same key where both graphs have as many of them.
    fn rest<K: Hash + Eq>(&mut self, key: impl Fn(&NodeView<'a>) -> Option<K>) {
        for (old, new) in self.groups(key) {
            if old.len() == new.len() {
                for (a, b) in old.into_iter().zip(new) {
                    if self.share(a, b) > 0 {
                        self.pair(a, b);
                    }
                }
            }
        }
        self.spread();
    }

    /// How many operands and results of two nodes are the same.
    fn share(&mut self, a: usize, b: usize) -> usize {
        let [x, y] = [&self.graphs[0].nodes[a], &self.graphs[1].nodes[b]];
        let operands = x.inputs.iter().filter(|name| !name.is_empty());
        let same = operands.filter(|&&name| y.inputs.contains(&self.found.counterpart(name))).count();
        if self.is_shifted {
            self.found.steps += x.inputs.len();
            return same;
        }
        let results = x.outputs.iter().filter(|name| !name.is_empty() && y.outputs.contains(*name)).count();
        self.found.steps += x.inputs.len() + x.outputs.len();
        same + results + usize::from(!x.name.is_empty() && x.name == y.name)
    }

    /// Matches the most similar nodes of the same operator.
    fn similar(&mut self) {
        for (old, new) in self.groups(|node| Some(node.op)) {
            let mut first = 0;
            for a in old {
                while first < new.len() && self.found.backward[new[first]].is_some() {
                    first += 1;
                }
                let open = new[first..].iter().take(CANDIDATES).copied();
                let mut best: Option<(usize, usize)> = None;
                for b in open.filter(|&b| self.found.backward[b].is_none()).collect::<Vec<_>>() {
                    let is_alike = self.graphs[0].nodes[a].attrs == self.graphs[1].nodes[b].attrs;
                    let shared = self.share(a, b);
                    let score = 2 * shared + usize::from(is_alike);
                    if shared > 0 && best.is_none_or(|(max, _)| score > max) {
                        best = Some((score, b));
                    }
                }
                if let Some((_, b)) = best {
                    self.pair(a, b);
                }
            }
        }
        self.spread();
    }

    /// Matches nodes of different operators that compute the same value or have the same name.
    fn replaced(&mut self) {
        if self.is_shifted {
            return;
        }
        self.by(first_output);
        self.by(|node| (!node.name.is_empty()).then_some(node.name));
    }
}

fn first_output<'a>(node: &NodeView<'a>) -> Option<&'a str> {
    node.outputs.iter().copied().find(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node<'a>(op: u64, inputs: &[&'a str], outputs: &[&'a str]) -> NodeView<'a> {
        NodeView { op, inputs: inputs.into(), outputs: outputs.into(), ..NodeView::default() }
    }

    fn chain<'a>(names: &'a [String], op: impl Fn(usize) -> u64) -> GraphView<'a> {
        let nodes = names.windows(2).enumerate().map(|(i, pair)| node(op(i), &[&pair[0]], &[&pair[1]]));
        GraphView { inputs: vec![&names[0]], weights: Vec::new(), nodes: nodes.collect() }
    }

    #[test]
    fn a_chain_is_followed_through_new_names() {
        let old: Vec<String> = (0..50).map(|i| format!("a{i}")).collect();
        let new: Vec<String> = (0..50).map(|i| format!("b{i}")).collect();
        let found = align(&chain(&old, |_| 1), &chain(&new, |_| 1), &Renames::new());
        assert!(found.forward.iter().enumerate().all(|(i, &to)| to == Some(i)));
        assert_eq!(found.counterpart("a49"), "b49");
        assert!(found.moved().iter().all(|&moved| !moved));
    }

    #[test]
    fn steps_grow_with_the_graph_and_no_faster() {
        let steps = |count: usize, rename: bool| {
            let old: Vec<String> = (0..=count).map(|i| format!("a{i}")).collect();
            let new: Vec<String> =
                (0..=count).map(|i| if rename { format!("b{i}") } else { format!("a{i}") }).collect();
            // Nodes in the middle have other operators, which match nothing.
            let middle = count / 3..count / 2;
            let b = chain(&new, |i| if middle.contains(&i) { 7 } else { i as u64 % 5 });
            align(&chain(&old, |i| i as u64 % 5), &b, &Renames::new()).steps
        };
        for rename in [true, false] {
            let (small, large) = (steps(10_000, rename), steps(100_000, rename));
            assert!(large <= small * 11, "{small} for 10k nodes, {large} for 100k");
            assert!(large < 100_000 * 64, "{large}");
        }
    }

    #[test]
    fn a_value_with_many_readers_costs_no_more() {
        let steps = |count: usize| {
            let old: Vec<String> = (0..count).map(|i| format!("a{i}")).collect();
            let new: Vec<String> = (0..count).map(|i| format!("b{i}")).collect();
            let a = GraphView {
                inputs: vec!["x"],
                weights: Vec::new(),
                nodes: old.iter().map(|name| node(1, &["x"], &[name])).collect(),
            };
            let b = GraphView {
                inputs: vec!["x"],
                weights: Vec::new(),
                nodes: new.iter().map(|name| node(1, &["x"], &[name])).collect(),
            };
            align(&a, &b, &Renames::new()).steps
        };
        assert!(steps(50_000) <= steps(5_000) * 11);
    }

    #[test]
    fn one_moved_node_is_one_moved_node() {
        let a = GraphView {
            inputs: vec!["x"],
            weights: Vec::new(),
            nodes: vec![node(1, &["x"], &["p"]), node(2, &["x"], &["q"]), node(3, &["x"], &["r"])],
        };
        let mut b = a.clone();
        b.nodes.rotate_left(1);
        assert_eq!(align(&a, &b, &Renames::new()).moved(), [false, false, true]);
    }
}
