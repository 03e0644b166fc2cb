//! Derivatives of nodes with graphs: `If`, `Scan` and `Loop`; that of `SequenceMap` is in `sequences`.
//!
//! The graph is differentiated in place. A loop is run once more to save its states before each iteration; then iterations run
//! backwards, each recomputing its intermediate values:
//!
//! ```text
//! before:  last, outs = Scan <body = b (s, x) => (t, o) { … }> (first, xs)
//! kept:    _, states = Scan <body = (s, x) => (t, s) { … }> (first, xs)
//! back:    d_first, d_xs = Scan <backwards, body = (d_t, x, s, d_o) => (d_s, d_x) { …, derivatives }> (d_last, xs, states, d_outs)
//! ```
//!
//! The gradients of captured values are accumulated in additional states.

use super::reverse::{Refusal, Reverse, captured};
use crate::infer::Ty;
use foldhash::HashSet;
use onnx_ir::list::List;
use onnx_ir::pass::{CopyOptions, CopySource, CopyTarget, Transplant};
use onnx_ir::{
    Attr, AttrValue, BodyId, GraphId, Model, Name, NodeId, Port, Value, ValueDef, ValueId, normalize_domain,
};

/// The kind of a node with graphs.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    If,
    Loop,
    Scan,
    Map,
}

/// The kind of a node with graphs.
pub(super) fn kind(model: &Model, body: BodyId, node: NodeId) -> Option<Kind> {
    let n = &model.bodies[body].nodes[node];
    if !normalize_domain(model.text(n.domain)).is_empty() {
        return None;
    }
    match model.text(n.op) {
        "If" => Some(Kind::If),
        "Loop" => Some(Kind::Loop),
        "Scan" => Some(Kind::Scan),
        "SequenceMap" => Some(Kind::Map),
        _ => None,
    }
}

/// Gradients of operands.
pub(super) type Made = Result<Vec<(ValueId, ValueId)>, Refusal>;

pub(super) fn broken<T>() -> Result<T, Refusal> {
    Err(Refusal::of("a node with graphs is not sound"))
}

/// The graph of a backward iteration.
pub(super) struct Back {
    graph: GraphId,
    /// Its inputs for gradients of states; `None` for states without.
    states: Vec<Option<ValueId>>,
    /// Its inputs for accumulated gradients, one for each captured value.
    sums: Vec<ValueId>,
}

impl Reverse<'_> {
    pub(super) fn control(
        &mut self,
        kind: Kind,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        active: &HashSet<ValueId>,
    ) -> Made {
        let around: Vec<ValueId> = captured(self.body(), node)
            .into_iter()
            .filter(|value| active.contains(value) && self.may_be_float(*value))
            .collect();
        match kind {
            Kind::If => self.branches(home, node, given, &around),
            Kind::Scan => self.scan(home, node, given, &around, active),
            Kind::Loop => self.repeat(home, node, given, &around, active),
            Kind::Map => self.map(home, node, given, &around, active),
        }
    }

    pub(super) fn graph_of(&self, node: NodeId, attr: &str) -> Result<GraphId, Refusal> {
        let name = self.model.names.find(attr);
        match name.and_then(|name| self.body().nodes[node].attr(name)?.value()) {
            Some(AttrValue::Graph(graph)) => Ok(*graph),
            _ => broken(),
        }
    }

    fn int_of(&self, node: NodeId, attr: &str) -> Option<i64> {
        match self.body().nodes[node].attr(self.model.names.find(attr)?)?.value()? {
            AttrValue::Int(value) => Some(*value),
            _ => None,
        }
    }

    fn ints_of(&self, node: NodeId, attr: &str, count: usize) -> Vec<i64> {
        let name = self.model.names.find(attr);
        match name.and_then(|name| self.body().nodes[node].attr(name)?.value()) {
            Some(AttrValue::Ints(list)) if list.len() == count => list.to_vec(),
            _ => vec![0; count],
        }
    }

    pub(super) fn set(&mut self, node: NodeId, attr: &str, value: AttrValue) {
        let name = self.model.names.intern(attr);
        self.model.bodies[self.body].nodes[node].attrs.push(Attr::new(name, value));
    }

    fn set_ints(&mut self, node: NodeId, attr: &str, values: Vec<i64>) {
        if values.iter().any(|value| *value != 0) {
            self.set(node, attr, AttrValue::Ints(List::from(values)));
        }
    }

    /// Appends a node without results to a graph.
    pub(super) fn begin(
        &mut self,
        home: GraphId,
        op: &str,
        inputs: &[Option<ValueId>],
    ) -> Result<NodeId, Refusal> {
        self.emit(home, ("", op), None, inputs, &[]);
        self.body().graphs[home].nodes.last().copied().map_or_else(broken, Ok)
    }

    /// Adds a result to a node.
    pub(super) fn result(&mut self, node: NodeId, like: ValueId) -> ValueId {
        let name = self.fresh(like);
        let body = &mut self.model.bodies[self.body];
        let at = u32::try_from(body.nodes[node].outputs.len()).unwrap_or(u32::MAX);
        let value = body.values.push(Value { name, def: ValueDef::Output(node, at) });
        body.nodes[node].outputs.push(Some(value));
        value
    }

    /// Copies a graph for another node. Facts of its values apply to the copies.
    pub(super) fn copy(&mut self, graph: GraphId, owner: NodeId) -> GraphId {
        let Model { names, types, bodies, .. } = &mut *self.model;
        let body = &mut bodies[self.body];
        let mut originals = Vec::new();
        let (mut open, mut seen) = (vec![graph], HashSet::default());
        while let Some(inner) = open.pop() {
            if seen.insert(inner) {
                originals.extend(body.graphs[inner].values(body));
                open.extend(body.graphs[inner].nodes.iter().flat_map(|&node| body.subgraphs(node)));
            }
        }
        let style = CopyOptions { prefix: Some("d_".to_owned()), ..CopyOptions::default() };
        let mut copier = Transplant::new(CopySource::same(), CopyTarget { names, types, body }, graph, style);
        let copy = copier.graph(graph, Some(owner));
        let pairs: Vec<_> =
            originals.iter().filter_map(|&value| Some((value, copier.value(value)?))).collect();
        drop(copier);
        for (value, copy) in pairs {
            self.facts.copy(self.body, value, copy);
        }
        self.model.bodies[self.body].graphs[copy].value_info.clear();
        copy
    }

    /// Adds an input to a graph.
    pub(super) fn input(&mut self, graph: GraphId, like: ValueId) -> ValueId {
        let name = self.fresh(like);
        let body = &mut self.model.bodies[self.body];
        let value = body.values.push(Value { name, def: ValueDef::Input(graph) });
        body.graphs[graph].inputs.push(port(name, value));
        value
    }

    /// Appends a node with one result, which is named after a value, to a graph.
    pub(super) fn made(
        &mut self,
        home: GraphId,
        op: &str,
        operands: &[ValueId],
        like: ValueId,
    ) -> Result<ValueId, Refusal> {
        let name = self.fresh(like);
        let operands: Vec<Option<ValueId>> = operands.iter().copied().map(Some).collect();
        let results = self.emit(home, ("", op), None, &operands, &[Some(name)]);
        results.into_iter().flatten().next().map_or_else(broken, Ok)
    }

    /// Adds an output to a graph: a new value, equal to one that may be captured.
    pub(super) fn output(&mut self, graph: GraphId, value: ValueId) {
        if let Ok(copy) = self.made(graph, "Identity", &[value], value) {
            let name = self.body().values[copy].name;
            self.model.bodies[self.body].graphs[graph].outputs.push(port(name, copy));
        }
    }

    fn output_of(&mut self, graph: GraphId, gradient: Option<ValueId>, like: ValueId) -> Result<(), Refusal> {
        let gradient = match gradient {
            Some(gradient) => gradient,
            None => self.filled(graph, like, 0)?,
        };
        self.output(graph, gradient);
        Ok(())
    }

    fn values_of(ports: &[Port]) -> Result<Vec<ValueId>, Refusal> {
        ports.iter().map(|port| port.value).collect::<Option<_>>().map_or_else(broken, Ok)
    }

    /// Both branches compute the gradients of everything that either reads.
    fn branches(
        &mut self,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        around: &[ValueId],
    ) -> Made {
        if around.is_empty() {
            return Ok(Vec::new());
        }
        let inputs: Vec<_> = self.body().nodes[node].inputs.iter().copied().collect();
        let back = self.begin(home, "If", &inputs)?;
        for attr in ["then_branch", "else_branch"] {
            let graph = self.copy(self.graph_of(node, attr)?, back);
            let results =
                Self::values_of(&std::mem::take(&mut self.model.bodies[self.body].graphs[graph].outputs))?;
            let seeds: Vec<_> =
                results.into_iter().zip(given).filter_map(|(r, g)| Some((r, (*g)?))).collect();
            let gradients = self.run(&[graph], graph, &seeds, around, &HashSet::default())?;
            for (gradient, &value) in gradients.into_iter().zip(around) {
                self.output_of(graph, gradient, value)?;
            }
            self.set(back, attr, AttrValue::Graph(graph));
        }
        Ok(around.iter().map(|&value| (value, self.result(back, value))).collect())
    }

    /// Fails for states that cannot be restored.
    fn ensure_states(&self, values: &[ValueId]) -> Result<(), Refusal> {
        for &value in values {
            match self.facts.get(self.body, value).ty {
                Ty::Tensor(_) | Ty::Sequence(_) | Ty::Unknown => {}
                Ty::Sparse(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => {
                    return Err(Refusal::of(format!(
                        "state `{}` of a loop is neither a tensor nor a sequence",
                        self.text(value)
                    )));
                }
            }
        }
        Ok(())
    }

    /// The graph of a backward iteration: inputs for gradients of states and for accumulated gradients are prepended.
    pub(super) fn back(&mut self, graph: GraphId, states: &[ValueId], around: &[ValueId]) -> Back {
        let old = std::mem::take(&mut self.model.bodies[self.body].graphs[graph].inputs);
        let mut gradients = Vec::new();
        for &state in states {
            gradients.push(self.may_be_float(state).then(|| self.input(graph, state)));
        }
        let sums = around.iter().map(|&value| self.input(graph, value)).collect();
        self.model.bodies[self.body].graphs[graph].inputs.extend(old);
        Back { graph, states: gradients, sums }
    }

    /// Adds the derivatives of an iteration, and outputs for the gradients of states and captured values. Returns the gradients
    /// of `others`. Gradients end at `cuts`.
    pub(super) fn iterate(
        &mut self,
        back: &Back,
        states: &[ValueId],
        others: &[ValueId],
        around: &[ValueId],
        seeds: &[(ValueId, ValueId)],
        cuts: &HashSet<ValueId>,
    ) -> Result<Vec<Option<ValueId>>, Refusal> {
        let mut wanted: Vec<ValueId> = states.to_vec();
        wanted.extend(around);
        wanted.extend(others);
        let gradients = self.run(&[back.graph], back.graph, seeds, &wanted, cuts)?;
        let (of_states, rest) = gradients.split_at(states.len());
        let (of_around, of_others) = rest.split_at(around.len());
        for ((gradient, &state), has) in of_states.iter().zip(states).zip(&back.states) {
            if has.is_some() {
                self.output_of(back.graph, *gradient, state)?;
            }
        }
        for ((gradient, &sum), &value) in of_around.iter().zip(&back.sums).zip(around) {
            let total = match gradient {
                None => sum,
                Some(gradient) => self.sum(back.graph, value, sum, *gradient)?,
            };
            self.output(back.graph, total);
        }
        Ok(of_others.to_vec())
    }

    /// The initial gradients of a loop: those of its last states, and zeros for captured values.
    fn first(
        &mut self,
        home: GraphId,
        states: &[ValueId],
        has: &[Option<ValueId>],
        given: &[Option<ValueId>],
        around: &[ValueId],
    ) -> Result<Vec<Option<ValueId>>, Refusal> {
        let mut first = Vec::new();
        for (i, &state) in states.iter().enumerate().filter(|(i, _)| has[*i].is_some()) {
            let gradient = given.get(i).copied().flatten();
            first.push(Some(match gradient {
                Some(gradient) => gradient,
                None => self.filled(home, state, 0)?,
            }));
        }
        first.extend(self.zeros(home, around)?);
        Ok(first)
    }

    /// Zeros for each value.
    pub(super) fn zeros(
        &mut self,
        home: GraphId,
        values: &[ValueId],
    ) -> Result<Vec<Option<ValueId>>, Refusal> {
        values.iter().map(|&value| self.filled(home, value, 0).map(Some)).collect()
    }

    /// Takes the inputs and outputs of a graph.
    pub(super) fn take_ports(&mut self, graph: GraphId) -> Result<(Vec<ValueId>, Vec<ValueId>), Refusal> {
        let graph = &mut self.model.bodies[self.body].graphs[graph];
        let (inputs, outputs) = (std::mem::take(&mut graph.inputs), std::mem::take(&mut graph.outputs));
        Ok((Self::values_of(&inputs)?, Self::values_of(&outputs)?))
    }

    fn scan(
        &mut self,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        around: &[ValueId],
        active: &HashSet<ValueId>,
    ) -> Made {
        let graph = self.graph_of(node, "body")?;
        let inputs: Vec<Option<ValueId>> = self.body().nodes[node].inputs.iter().copied().collect();
        let operands: Vec<ValueId> = inputs.iter().copied().collect::<Option<_>>().map_or_else(broken, Ok)?;
        let scans = self.int_of(node, "num_scan_inputs").and_then(|n| usize::try_from(n).ok());
        let Some(count) = scans.and_then(|scans| operands.len().checked_sub(scans)) else { return broken() };
        let scans = operands.len() - count;
        let (initial, scanned) = operands.split_at(count);
        self.ensure_states(initial)?;
        let axes = self.ints_of(node, "scan_input_axes", scans);
        let directions = self.ints_of(node, "scan_input_directions", scans);
        let results = self.body().graphs[graph].outputs.len().saturating_sub(count);
        let out_axes = self.ints_of(node, "scan_output_axes", results);
        let out_directions = self.ints_of(node, "scan_output_directions", results);

        // Run once more to save the states before each iteration.
        let forward = self.begin(home, "Scan", &inputs)?;
        let kept = self.copy(graph, forward);
        let states = Self::values_of(&self.body().graphs[kept].inputs)?;
        let Some(states) = states.get(..count).map(<[ValueId]>::to_vec) else { return broken() };
        self.model.bodies[self.body].graphs[kept].outputs.truncate(count);
        states.iter().for_each(|&state| self.output(kept, state));
        self.set(forward, "body", AttrValue::Graph(kept));
        self.set(forward, "num_scan_inputs", AttrValue::Int(i64::try_from(scans).unwrap_or(0)));
        self.set_ints(forward, "scan_input_axes", axes.clone());
        self.set_ints(forward, "scan_input_directions", directions.clone());
        initial.iter().for_each(|&state| _ = self.result(forward, state));
        let saved: Vec<ValueId> = initial.iter().map(|&state| self.result(forward, state)).collect();

        let node_back = self.begin(home, "Scan", &[])?;
        let copied = self.copy(graph, node_back);
        let ends =
            Self::values_of(&std::mem::take(&mut self.model.bodies[self.body].graphs[copied].outputs))?;
        let begins = Self::values_of(&self.body().graphs[copied].inputs)?;
        if begins.len() != operands.len() || ends.len() < count {
            return broken();
        }
        let (states, slices) = begins.split_at(count);
        let back = self.back(copied, states, around);
        // Scanned slices come before states, which are slices here.
        let front = self.body().graphs[copied].inputs.len() - begins.len();
        self.model.bodies[self.body].graphs[copied].inputs[front..].rotate_left(count);
        let mut seeds: Vec<(ValueId, ValueId)> =
            ends.iter().zip(&back.states).filter_map(|(end, gradient)| Some((*end, (*gradient)?))).collect();
        let mut all = self.first(home, initial, &back.states, given, around)?;
        let begin = all.len();
        all.extend(scanned.iter().chain(&saved).map(|&value| Some(value)));
        let (mut back_axes, mut back_directions) = (axes.clone(), Vec::new());
        back_axes.extend(vec![0; count]);
        back_directions.extend(directions.iter().map(|direction| 1 - direction));
        back_directions.extend(vec![1; count]);
        for (k, end) in ends.iter().enumerate().skip(count) {
            let Some(gradient) = given.get(k).copied().flatten() else { continue };
            seeds.push((*end, self.input(copied, *end)));
            all.push(Some(gradient));
            back_axes.push(out_axes[k - count]);
            back_directions.push(1 - out_directions[k - count]);
        }
        let is_wanted = |value: &ValueId| active.contains(value);
        let wanted: Vec<usize> =
            (0..scans).filter(|&i| is_wanted(&scanned[i]) && self.may_be_float(scanned[i])).collect();
        let others: Vec<ValueId> = wanted.iter().map(|&i| slices[i]).collect();
        let gradients = self.iterate(&back, states, &others, around, &seeds, &HashSet::default())?;
        for (gradient, &slice) in gradients.into_iter().zip(&others) {
            self.output_of(copied, gradient, slice)?;
        }
        let total = i64::try_from(all.len() - begin).unwrap_or(0);
        self.model.bodies[self.body].nodes[node_back].inputs = all.into_iter().collect();
        self.set(node_back, "body", AttrValue::Graph(copied));
        self.set(node_back, "num_scan_inputs", AttrValue::Int(total));
        self.set_ints(node_back, "scan_input_axes", back_axes);
        self.set_ints(node_back, "scan_input_directions", back_directions);
        self.set_ints(node_back, "scan_output_axes", wanted.iter().map(|&i| axes[i]).collect());
        self.set_ints(
            node_back,
            "scan_output_directions",
            wanted.iter().map(|&i| 1 - directions[i]).collect(),
        );
        self.order(home, node_back);
        let mut made = Vec::new();
        for (&state, has) in initial.iter().zip(&back.states) {
            if has.is_some() {
                made.push((state, self.result(node_back, state)));
            }
        }
        made.extend(
            around
                .iter()
                .chain(wanted.iter().map(|&i| &scanned[i]))
                .map(|&value| (value, self.result(node_back, value)))
                .collect::<Vec<_>>(),
        );
        Ok(made)
    }

    /// Moves a node after those that were created for its inputs.
    fn order(&mut self, home: GraphId, node: NodeId) {
        let nodes = &mut self.model.bodies[self.body].graphs[home].nodes;
        nodes.retain(|&other| other != node);
        nodes.push(node);
    }

    fn repeat(
        &mut self,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        around: &[ValueId],
        active: &HashSet<ValueId>,
    ) -> Made {
        let graph = self.graph_of(node, "body")?;
        let inputs: Vec<Option<ValueId>> = self.body().nodes[node].inputs.iter().copied().collect();
        let initial: Vec<ValueId> =
            inputs.iter().skip(2).copied().collect::<Option<_>>().map_or_else(broken, Ok)?;
        self.ensure_states(&initial)?;
        let count = initial.len();

        // Run once more to save the iteration numbers and the states before each iteration.
        let forward = self.begin(home, "Loop", &inputs)?;
        let kept = self.copy(graph, forward);
        let begins = Self::values_of(&self.body().graphs[kept].inputs)?;
        if begins.len() != count + 2 || self.body().graphs[kept].outputs.len() < count + 1 {
            return broken();
        }
        self.model.bodies[self.body].graphs[kept].outputs.truncate(count + 1);
        self.output(kept, begins[0]);
        // Sequences cannot be collected: these are computed again, from the first iteration on.
        let is_saved: Vec<bool> = initial.iter().map(|&state| !self.is_sequence(state)).collect();
        for (&state, _) in begins[2..].iter().zip(&is_saved).filter(|(_, is_saved)| **is_saved) {
            self.output(kept, state);
        }
        self.set(forward, "body", AttrValue::Graph(kept));
        let last: Vec<ValueId> = initial.iter().map(|&state| self.result(forward, state)).collect();
        let iterations = self.result(forward, begins[0]);
        let mut saved = Vec::new();
        for (&state, &is_saved) in initial.iter().zip(&is_saved) {
            saved.push(is_saved.then(|| self.result(forward, state)));
        }
        let trips = self.integer(home, iterations, "y = Size (x)")?;
        let final_iteration = self.integer(
            home,
            iterations,
            "count = Size (x) one = Constant <value = int64 {1}> () y = Sub (count, one)",
        )?;

        let node_back = self.begin(home, "Loop", &[])?;
        let copied = self.copy(graph, node_back);
        let ends =
            Self::values_of(&std::mem::take(&mut self.model.bodies[self.body].graphs[copied].outputs))?;
        let begins =
            Self::values_of(&std::mem::take(&mut self.model.bodies[self.body].graphs[copied].inputs))?;
        let states = begins[2..].to_vec();
        let back = self.back(copied, &states, around);
        let (iteration, goes_on) = (self.input(copied, begins[0]), self.input(copied, begins[1]));
        // These come first.
        self.model.bodies[self.body].graphs[copied].inputs.rotate_right(2);
        // The inputs of the iteration are computed before its nodes.
        let nodes = std::mem::take(&mut self.model.bodies[self.body].graphs[copied].nodes);
        self.define(copied, "Sub", &[final_iteration, iteration], begins[0])?;
        self.define(copied, "Identity", &[goes_on], begins[1])?;
        let again = match is_saved.contains(&false) {
            true => self.states_again(copied, graph, &inputs, begins[0])?,
            false => Vec::new(),
        };
        for (i, &state) in states.iter().enumerate() {
            match (saved[i], again.get(i)) {
                (Some(saved), _) => self.define(copied, "Gather", &[saved, begins[0]], state)?,
                (None, Some(&again)) => self.define(copied, "Identity", &[again], state)?,
                (None, None) => return broken(),
            }
        }
        let mut seeds: Vec<(ValueId, ValueId)> = ends[1..]
            .iter()
            .zip(&back.states)
            .filter_map(|(end, gradient)| Some((*end, (*gradient)?)))
            .collect();
        for (k, end) in ends.iter().enumerate().skip(count + 1) {
            let Some(gradient) = given.get(k - 1).copied().flatten() else { continue };
            let name = self.fresh(*end);
            let slice =
                self.emit(copied, ("", "Gather"), None, &[Some(gradient), Some(begins[0])], &[Some(name)]);
            seeds.extend(slice.into_iter().flatten().map(|slice| (*end, slice)));
        }
        self.model.bodies[self.body].graphs[copied].nodes.extend(nodes);
        self.output(copied, goes_on);
        // States are computed from earlier ones, whose gradients are those of the next iterations backwards.
        let cuts = states.iter().copied().collect();
        self.iterate(&back, &states, &[], around, &seeds, &cuts)?;
        let mut all = vec![Some(trips), None];
        // A sequence may have become longer or shorter.
        let outputs = self.body().nodes[node].outputs.clone();
        let mut final_states = initial.clone();
        for (i, state) in final_states.iter_mut().enumerate().filter(|(i, _)| !is_saved[*i]) {
            let like = outputs.get(i).copied().flatten().unwrap_or(*state);
            self.facts.copy(self.body, like, last[i]);
            *state = last[i];
        }
        all.extend(self.first(home, &final_states, &back.states, given, around)?);
        self.model.bodies[self.body].nodes[node_back].inputs = all.into_iter().collect();
        self.set(node_back, "body", AttrValue::Graph(copied));
        self.order(home, node_back);
        let mut made = Vec::new();
        for (&state, has) in initial.iter().zip(&back.states) {
            if has.is_some() {
                let gradient = self.result(node_back, state);
                made.extend(active.contains(&state).then_some((state, gradient)));
            }
        }
        made.extend(around.iter().map(|&value| (value, self.result(node_back, value))).collect::<Vec<_>>());
        Ok(made)
    }

    /// The states of a loop before an iteration, computed from the initial ones.
    fn states_again(
        &mut self,
        home: GraphId,
        graph: GraphId,
        inputs: &[Option<ValueId>],
        iteration: ValueId,
    ) -> Result<Vec<ValueId>, Refusal> {
        let mut operands = inputs.to_vec();
        let [trips, ..] = &mut *operands else { return broken() };
        *trips = Some(iteration);
        let again = self.begin(home, "Loop", &operands)?;
        let copied = self.copy(graph, again);
        let states = operands.iter().skip(2).copied().flatten().collect::<Vec<_>>();
        self.model.bodies[self.body].graphs[copied].outputs.truncate(states.len() + 1);
        self.set(again, "body", AttrValue::Graph(copied));
        Ok(states.iter().map(|&state| self.result(again, state)).collect())
    }

    /// An integer derived from the number of elements of a value.
    pub(super) fn integer(&mut self, home: GraphId, of: ValueId, lines: &str) -> Result<ValueId, Refusal> {
        let version = self.version()?;
        let text =
            format!("<domain: \"ai.onnx\", opset_import: [\"\": {version}]>\nCount (x) => (y) {{ {lines} }}");
        self.call(home, &text, &[of])
    }

    /// Replaces an input of a graph by a node that computes it.
    pub(super) fn define(
        &mut self,
        graph: GraphId,
        op: &str,
        operands: &[ValueId],
        value: ValueId,
    ) -> Result<(), Refusal> {
        let operands: Vec<Option<ValueId>> = operands.iter().map(|&operand| Some(operand)).collect();
        let node = self.begin(graph, op, &operands)?;
        let body = &mut self.model.bodies[self.body];
        body.nodes[node].outputs.push(Some(value));
        body.values[value].def = ValueDef::Output(node, 0);
        Ok(())
    }
}

fn port(name: Name, value: ValueId) -> Port {
    Port { name: Some(name), value: Some(value), ..Port::default() }
}
