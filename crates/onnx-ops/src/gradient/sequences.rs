//! Gradients of values that are not tensors, and of `SequenceMap`.
//!
//! The gradient of a sequence is a sequence of the same length: the gradients of its elements. The gradient of an optional value
//! is that of the value which it has.
//!
//! ```text
//! before:  ys = SequenceMap <body = b (x, c) => (y) { … }> (xs, c)
//! back:    d_c, d_xs = Loop <body = (i, go, d_c, d_xs) => (go, sum, all) {
//!             x = SequenceAt(xs, i)  d_y = SequenceAt(d_ys, i)  …, derivatives
//!             sum = Add(d_c, by_c)   all = SequenceInsert(d_xs, d_x)
//!          }> (length, , zeros, empty)
//! ```

use super::control::{Made, broken};
use super::reverse::{Refusal, Reverse};
use crate::derivative::is_float;
use crate::derivative::sequences::{MAPS, element_type, filling_body};
use crate::infer::Ty;
use foldhash::HashSet;
use onnx_ir::{AttrValue, GraphId, NodeId, ValueId};

/// Whether a value may have a gradient.
pub(super) fn may_be_float(ty: &Ty) -> bool {
    match ty {
        Ty::Tensor(tensor) | Ty::Sparse(tensor) => tensor.elem.is_none_or(is_float),
        Ty::Sequence(inner) | Ty::Optional(inner) => may_be_float(inner),
        Ty::Unknown => true,
        Ty::Map(..) | Ty::Opaque(_) => false,
    }
}

/// Whether the gradient of a value is a sequence.
fn is_sequence(ty: &Ty) -> bool {
    match ty {
        Ty::Sequence(_) => true,
        Ty::Optional(inner) => is_sequence(inner),
        Ty::Unknown | Ty::Tensor(_) | Ty::Sparse(_) | Ty::Map(..) | Ty::Opaque(_) => false,
    }
}

impl Reverse<'_> {
    fn ty(&self, value: ValueId) -> &Ty {
        &self.facts.get(self.body, value).ty
    }

    pub(super) fn is_sequence(&self, value: ValueId) -> bool {
        is_sequence(self.ty(value))
    }

    /// Fails for versions of ai.onnx without `SequenceMap`.
    fn need_maps(&self) -> Result<i64, Refusal> {
        match self.version()? {
            version if version >= MAPS => Ok(version),
            version => Err(Refusal::of(format!(
                "gradients of sequences need version {MAPS} of ai.onnx, and the model imports {version}"
            ))),
        }
    }

    /// A sequence of zeros or ones in the shapes of the elements of a sequence.
    pub(super) fn filled_sequence(
        &mut self,
        home: GraphId,
        like: ValueId,
        filling: &str,
    ) -> Result<ValueId, Refusal> {
        let version = self.need_maps()?;
        let body = filling_body(filling);
        let text = format!(
            "<domain: \"ai.onnx\", opset_import: [\"\": {version}]>\nFilled (x) => (y) {{ y = SequenceMap <{body}> (x) }}"
        );
        self.call(home, &text, &[like])
    }

    /// The sum of two gradients of a value.
    pub(super) fn sum(
        &mut self,
        home: GraphId,
        of: ValueId,
        a: ValueId,
        b: ValueId,
    ) -> Result<ValueId, Refusal> {
        if self.is_sequence(of) {
            let version = self.need_maps()?;
            let text = format!(
                "<domain: \"ai.onnx\", opset_import: [\"\": {version}]>\nSums (a, b) => (c) {{ c = SequenceMap <body = sum (one, other) => (total) {{ total = Add (one, other) }}> (a, b) }}"
            );
            return self.call(home, &text, &[a, b]);
        }
        self.made(home, "Add", &[a, b], of)
    }

    /// Iterates over the elements of the sequences. Gradients of tensors, which each iteration reads, are summed.
    pub(super) fn map(
        &mut self,
        home: GraphId,
        node: NodeId,
        given: &[Option<ValueId>],
        captured: &[ValueId],
        active: &HashSet<ValueId>,
    ) -> Made {
        let graph = self.graph_of(node, "body")?;
        let inputs: Vec<Option<ValueId>> = self.body().nodes[node].inputs.iter().copied().collect();
        let operands: Vec<ValueId> = inputs.into_iter().collect::<Option<_>>().map_or_else(broken, Ok)?;
        let mut around = captured.to_vec();
        // Sequences whose elements have gradients, by position.
        let mut mapped = Vec::new();
        for (i, &operand) in operands.iter().enumerate() {
            if matches!(self.ty(operand), Ty::Unknown) {
                let name = self.text(operand);
                return Err(Refusal::of(format!("it is not known whether `{name}` is a sequence")));
            }
            let is_wanted = active.contains(&operand) && self.may_be_float(operand);
            match self.is_sequence(operand) {
                true if is_wanted => mapped.push(i),
                false if is_wanted && !around.contains(&operand) => around.push(operand),
                true | false => {}
            }
        }
        let &[first, ..] = &*operands else { return broken() };
        let length = self.integer(home, first, "y = SequenceLength (x)")?;
        let mut start = vec![Some(length), None];
        start.extend(self.zeros(home, &around)?);
        for &i in &mapped {
            start.push(Some(self.empty_sequence(home, operands[i])?));
        }
        let node_back = self.begin(home, "Loop", &start)?;
        let copied = self.copy(graph, node_back);
        let (begins, ends) = self.take_ports(copied)?;
        if begins.len() != operands.len() || ends.len() < given.len() {
            return broken();
        }
        let back = self.back(copied, &[], &around);
        let lists: Vec<ValueId> = mapped.iter().map(|&i| self.input(copied, operands[i])).collect();
        let (iteration, goes_on) = (self.input(copied, length), self.input(copied, length));
        // These come first.
        self.model.bodies[self.body].graphs[copied].inputs.rotate_right(2);
        // The inputs of the iteration are computed before its nodes.
        let nodes = std::mem::take(&mut self.model.bodies[self.body].graphs[copied].nodes);
        let mut cuts = HashSet::default();
        for (&operand, &begin) in operands.iter().zip(&begins) {
            if self.is_sequence(operand) {
                self.define(copied, "SequenceAt", &[operand, iteration], begin)?;
                cuts.insert(begin);
            } else {
                self.define(copied, "Identity", &[operand], begin)?;
            }
        }
        let mut seeds = Vec::new();
        for (&end, &gradient) in ends.iter().zip(given) {
            let Some(gradient) = gradient else { continue };
            seeds.push((end, self.made(copied, "SequenceAt", &[gradient, iteration], end)?));
        }
        self.model.bodies[self.body].graphs[copied].nodes.extend(nodes);
        self.output(copied, goes_on);
        let elements: Vec<ValueId> = mapped.iter().map(|&i| begins[i]).collect();
        let gradients = self.iterate(&back, &[], &elements, &around, &seeds, &cuts)?;
        for ((gradient, &element), &list) in gradients.into_iter().zip(&elements).zip(&lists) {
            let gradient = match gradient {
                Some(gradient) => gradient,
                None => self.filled(copied, element, 0)?,
            };
            let longer = self.made(copied, "SequenceInsert", &[list, gradient], list)?;
            self.output(copied, longer);
        }
        self.set(node_back, "body", AttrValue::Graph(copied));
        let of = around.into_iter().chain(mapped.into_iter().map(|i| operands[i])).collect::<Vec<_>>();
        Ok(of.into_iter().map(|value| (value, self.result(node_back, value))).collect())
    }

    /// A sequence without elements, for tensors of the type of those of a value.
    fn empty_sequence(&mut self, home: GraphId, like: ValueId) -> Result<ValueId, Refusal> {
        let Some(elem) = element_type(self.ty(like)) else {
            let name = self.text(like);
            return Err(Refusal::of(format!("the element type of `{name}` is unknown")));
        };
        let node = self.begin(home, "SequenceEmpty", &[])?;
        self.set(node, "dtype", AttrValue::Int(i64::from(elem.0)));
        Ok(self.result(node, like))
    }
}
