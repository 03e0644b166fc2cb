//! The graph of a training step: the main graph followed by the graph of an algorithm.
//!
//! ```text
//! main:       g (x) => (y) <w>         { y = Mul(x, w) }
//! algorithm:  step (t) => (w1)         { d = Sub(y, t)  w1 = Sub(w, d) }
//! joined:     g (x, t) => (y, w1) <w>  { y = Mul(x, w)  d = Sub(y, t)  w1 = Sub(w, d) }
//! ```
//!
//! Inputs, initializers, outputs, nodes and `value_info` of the joined graph are those of the main graph, then those of the
//! algorithm. Source: onnx.proto, TrainingInfoProto.algorithm.

use super::transplant::{CopyOptions, CopySource, CopyTarget, Transplant};
use crate::body::{Body, Graph, Origin, Port, ValueDef};
use crate::diag::{Diagnostic, Entity, Place};
use crate::edit::NodeNameSet;
#[cfg(test)]
use crate::entity::FromIndex as _;
use crate::ids::{BodyId, GraphId, NodeId, ValueId};
use crate::model::{Model, TrainingInfo};
use crate::names::Name;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

type Names = HashSet<Name, RandomState>;

/// A model whose main graph is the graph of a training step.
#[derive(Clone, Debug)]
pub struct JoinedStep {
    /// The model. Its training has no graphs, only the bindings of all trainings that were given: they say which initializers are
    /// not constants. Origins of the nodes of its main body are positions in `places`.
    pub model: Model,
    /// The joined body.
    pub body: BodyId,
    /// The body of the algorithm, in the model that was given.
    algorithm: BodyId,
    /// The number of outputs that belong to the main graph.
    outputs: usize,
    /// The names that the main graph defines.
    main: Names,
    /// The nodes of the model that was given.
    places: Vec<(BodyId, NodeId)>,
}

/// Joins the main graph with the algorithm of a training; `None` if either is missing.
///
/// Where both define a name, which the specification forbids, the algorithm reads the value of the main graph.
pub fn join_training(model: &Model, training: usize) -> Option<JoinedStep> {
    let (main, algorithm) = (model.main?, model.training.get(training)?.algorithm?);
    let (root, from_root) = (model.bodies[main].root()?, model.bodies[algorithm].root()?);
    let mut joined = model.clone();
    joined.training = vec![bindings(model)];
    let mut places = Vec::new();
    number(&mut joined, main, &mut places);
    number(&mut joined, algorithm, &mut places);
    let source = std::mem::take(&mut joined.bodies[algorithm]);
    let body = &mut joined.bodies[main];
    let known: HashMap<Name, ValueId, RandomState> =
        body.graphs[root].values(body).map(|value| (body.values[value].name, value)).collect();
    let target = CopyTarget { names: &mut joined.names, types: &mut joined.types, body };
    let mut copy = Transplant::new(CopySource::body(&source), target, root, CopyOptions::default());
    let from = &source.graphs[from_root];
    let own: HashSet<ValueId, RandomState> = from.values(&source).collect();
    for (value, what) in source.values.iter() {
        let is_outside = own.contains(&value) || matches!(what.def, ValueDef::Unbound(_));
        if let Some(&to) = known.get(&what.name).filter(|_| is_outside) {
            copy.bind(value, Some(to));
        }
    }
    let is_new = |value: ValueId| !known.contains_key(&source.values[value].name);
    let inputs: Vec<Port> = (from.inputs.iter())
        .filter(|port| port.value.is_none_or(is_new))
        .map(|port| copy.port(port))
        .collect();
    let defined: Vec<ValueId> = inputs.iter().filter_map(|port| port.value).collect();
    let dense: Vec<_> = (from.initializers.iter())
        .filter(|init| is_new(init.value))
        .map(|init| copy.initializer(*init, root))
        .collect();
    let sparse: Vec<_> = (from.sparse_initializers.iter())
        .filter(|init| is_new(init.value))
        .map(|init| copy.sparse_initializer(init, root))
        .collect();
    let nodes: Vec<NodeId> = from.nodes.iter().map(|&node| copy.node(node)).collect();
    let declared: Vec<Port> = from.value_info.iter().map(|port| copy.port(port)).collect();
    let outputs: Vec<Port> = from.outputs.iter().map(|port| copy.port(port)).collect();
    drop(copy);
    for value in defined {
        body.values[value].def = ValueDef::Input(root);
    }
    let mut taken = NodeNameSet::of(body, &body.graphs[root].nodes);
    nodes.iter().for_each(|&node| taken.add(&mut joined.names, body, node));
    let graph = &mut body.graphs[root];
    let count = graph.outputs.len();
    graph.inputs.extend(inputs);
    graph.initializers.extend(dense);
    graph.sparse_initializers.extend(sparse);
    graph.nodes.extend(nodes);
    graph.value_info.extend(declared);
    graph.outputs.extend(outputs);
    let main_names = known.into_keys().collect();
    Some(JoinedStep { model: joined, body: main, algorithm, outputs: count, main: main_names, places })
}

/// A training with the bindings of all trainings.
fn bindings(model: &Model) -> TrainingInfo {
    let mut all = TrainingInfo::default();
    for info in &model.training {
        all.initialization_bindings.extend(info.initialization_bindings.iter().cloned());
        all.update_bindings.extend(info.update_bindings.iter().cloned());
    }
    all
}

/// Makes origins of the nodes of a body their positions in a list.
fn number(model: &mut Model, body: BodyId, places: &mut Vec<(BodyId, NodeId)>) {
    let b = &mut model.bodies[body];
    for node in b.nodes.ids() {
        b.origins[node] = Origin(u32::try_from(places.len()).unwrap_or(u32::MAX));
        places.push((body, node));
    }
}

impl JoinedStep {
    /// The node of the model that was given that a node of the joined body is or comes from.
    pub fn place(&self, node: NodeId) -> Option<(BodyId, NodeId)> {
        let origin = self.model.bodies[self.body].origins[node];
        self.places.get(usize::try_from(origin.0).ok()?).copied()
    }

    /// The number of outputs that belong to the main graph; those of the algorithm follow.
    pub fn main_outputs(&self) -> usize {
        self.outputs
    }

    /// Findings about the joined model, at their places in the model that was given.
    pub fn relocate(&self, found: &mut [Diagnostic]) {
        let move_place = |place: &mut Place| {
            let Place::Entity(entity) = *place else { return };
            if let Some((body, node)) = entity.node()
                && body == self.body
            {
                *place = self
                    .place(node)
                    .map_or(Place::Nowhere, |(body, node)| Place::Entity(entity.with_node(body, node)));
            } else if matches!(entity, Entity::Graph(body, _) | Entity::Input(body, ..) | Entity::Output(body, ..)
                | Entity::ValueInfo(body, ..) | Entity::Initializer(body, ..) if body == self.body)
            {
                *place = Place::Nowhere;
            }
        };
        for diagnostic in found {
            move_place(&mut diagnostic.primary.place);
            diagnostic.related.iter_mut().for_each(|related| move_place(&mut related.place));
        }
    }

    /// Replaces the algorithm of the model that was given by what the joined graph has beyond the main graph, after a pass
    /// has changed it. What the pass has added belongs to the algorithm.
    ///
    /// The pass may define values of the main graph anew, but not take any away. [`compact`](super::compact()) the model
    /// afterwards.
    pub fn split_into(mut self, model: &mut Model) {
        let old = std::mem::take(&mut model.bodies[self.algorithm]);
        let origins: Vec<Origin> = (self.places.iter())
            .map(|&(body, node)| if body == self.algorithm { old.origins[node] } else { Origin::NONE })
            .collect();
        let mut body = std::mem::take(&mut self.model.bodies[self.body]);
        for node in body.nodes.ids() {
            let origin = usize::try_from(body.origins[node].0).ok().and_then(|at| origins.get(at));
            body.origins[node] = origin.copied().unwrap_or(Origin::NONE);
        }
        if let (Some(root), Some(from)) = (body.root(), old.root()) {
            self.keep_algorithm(&mut body, root, &old.graphs[from]);
        }
        // Names and types are those of before and more; operator sets that a pass needs are imported.
        (model.names, model.types) = (self.model.names, self.model.types);
        // The main graph may call functions whose calls in the joined graph have been inlined: its imports stay.
        for import in self.model.header.opset_imports {
            match model.header.opset_imports.iter_mut().find(|known| known.domain == import.domain) {
                Some(known) => *known = import,
                None => model.header.opset_imports.push(import),
            }
        }
        model.bodies[self.algorithm] = body;
    }

    /// Removes from the joined graph what the main graph defines.
    fn keep_algorithm(&mut self, body: &mut Body, root: GraphId, old: &Graph) {
        let is_main = |body: &Body, value: ValueId| self.main.contains(&body.values[value].name);
        let graph = std::mem::take(&mut body.graphs[root]);
        let outside: Vec<ValueId> = graph.values(body).filter(|&value| is_main(body, value)).collect();
        let mut kept = Graph {
            name: old.name,
            doc: old.doc,
            metadata: old.metadata.clone(),
            quantization: old.quantization.clone(),
            ..Graph::default()
        };
        let is_own = |body: &Body, port: &Port| port.value.is_none_or(|value| !is_main(body, value));
        kept.inputs = graph.inputs.into_iter().filter(|port| is_own(body, port)).collect();
        kept.value_info = graph.value_info.into_iter().filter(|port| is_own(body, port)).collect();
        kept.outputs = graph.outputs.into_iter().skip(self.outputs).collect();
        kept.initializers =
            graph.initializers.into_iter().filter(|init| !is_main(body, init.value)).collect();
        kept.sparse_initializers =
            graph.sparse_initializers.into_iter().filter(|init| !is_main(body, init.value)).collect();
        for node in graph.nodes {
            let results = || body.nodes[node].outputs.iter().flatten().copied();
            if results().count() > 0 && results().all(|value| is_main(body, value)) {
                continue;
            }
            // A node with results of both computes those of the main graph again, without a name.
            let outputs = body.nodes[node].outputs.iter().map(|output| output.filter(|&v| !is_main(body, v)));
            body.nodes[node].outputs = outputs.collect();
            kept.nodes.push(node);
        }
        body.graphs[root] = kept;
        for value in outside {
            body.values[value].def = ValueDef::Unbound(root);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{BodyBuilder, NodeSpec};

    /// `t = x` lines between inputs and outputs.
    fn body(model: &mut Model, inputs: &[&str], outputs: &[&str], lines: &[&str]) -> BodyId {
        let mut b = BodyBuilder::new(model);
        b.begin_graph(None, None);
        for input in inputs {
            let name = b.name(input);
            b.input(name, None);
        }
        for line in lines {
            let (out, arg) = line.split_once(" = ").expect("an assignment");
            let (out, arg) = (b.name(out), b.name(arg));
            let node = b.begin_node(NodeSpec::default(), [arg]);
            b.end_node(node, [out]);
        }
        for output in outputs {
            let name = b.name(output);
            b.output(name, None);
        }
        b.end_graph();
        b.finish()
    }

    fn lines(model: &Model, id: BodyId) -> Vec<String> {
        let body = &model.bodies[id];
        let name = |value: &Option<ValueId>| value.map_or("_", |v| &model.names[body.values[v].name]);
        let root = body.root().expect("a graph");
        let node = |&node: &NodeId| {
            let n = &body.nodes[node];
            format!("{} = {}", name(&n.outputs[0]), name(&n.inputs[0]))
        };
        body.graphs[root].nodes.iter().map(node).collect()
    }

    #[test]
    fn a_step_reads_values_of_the_main_graph_and_comes_back() {
        let mut model = Model::new();
        model.main = Some(body(&mut model, &["x"], &["y"], &["t = x", "y = t"]));
        let algorithm = body(&mut model, &["label"], &["w"], &["d = t", "w = d", "e = label"]);
        model.training.push(TrainingInfo { algorithm: Some(algorithm), ..TrainingInfo::default() });
        let joined = join_training(&model, 0).expect("both graphs");
        assert_eq!(lines(&joined.model, joined.body), ["t = x", "y = t", "d = t", "w = d", "e = label"]);
        let b = &joined.model.bodies[joined.body];
        let root = b.root().expect("a graph");
        assert_eq!((b.graphs[root].inputs.len(), b.graphs[root].outputs.len()), (2, 2));
        assert!(!b.values.values().any(|value| matches!(value.def, ValueDef::Unbound(_))));
        let last = b.graphs[root].nodes[4];
        assert_eq!(joined.place(last), Some((algorithm, NodeId::from_index(2))));
        joined.split_into(&mut model);
        assert_eq!(lines(&model, algorithm), ["d = t", "w = d", "e = label"]);
        let root = model.bodies[algorithm].root().expect("a graph");
        assert_eq!(model.bodies[algorithm].graphs[root].inputs.len(), 1);
        assert_eq!(model.bodies[algorithm].graphs[root].outputs.len(), 1);
    }

    #[test]
    fn without_an_algorithm_nothing_is_joined() {
        let mut model = Model::new();
        model.main = Some(body(&mut model, &["x"], &["y"], &["y = x"]));
        assert!(join_training(&model, 0).is_none());
        model.training.push(TrainingInfo::default());
        assert!(join_training(&model, 0).is_none());
    }
}
