//! Types of literals among the operands of a text: decided at their nodes, while the walk knows the other operands.
//!
//! ```text
//! y = x * 2 + 1      x is double[N]      2 is double, so x * 2 is double, so 1 is double
//! ```

use super::Rows;
use super::literal::{Use, tensor};
use super::node::type_of_tensor;
use super::walk::{Engine, InferOptions, infer_with};
use crate::facts::SmallTensor;
use crate::facts::{Fact, FactSource};
use crate::schema::Registry;
use foldhash::HashMap;
use onnx_ir::{BodyId, ElemType, Model, Names, NodeId, ValueId};
use std::ops::Range;
use std::sync::Arc;

/// The literals of a model, by their nodes.
#[derive(Default)]
pub(super) struct Literals<'m> {
    uses: Vec<Use<'m>>,
    /// The literals of a node among `uses`.
    of_node: HashMap<(BodyId, NodeId), Range<usize>>,
    facts: HashMap<(String, ElemType), Option<Fact>>,
}

/// Decides the types of literals by one inference. Those that nothing tells have no type afterwards.
pub(crate) fn infer_literals<'m>(
    model: &'m Model,
    registry: &'m Registry,
    rows: &'static Rows,
    uses: Vec<Use<'m>>,
) -> Vec<Use<'m>> {
    let mut of_node: HashMap<(BodyId, NodeId), Range<usize>> = HashMap::default();
    for (i, place) in uses.iter().enumerate() {
        of_node.entry((place.body, place.node)).or_insert(i..i).end = i + 1;
    }
    let literals = Literals { uses, of_node, facts: HashMap::default() };
    infer_with(model, registry, rows, &InferOptions::default(), literals).uses
}

impl Engine<'_> {
    /// Gives the literals among the operands of a node the types that are known now.
    pub(super) fn type_literals(&mut self, node: NodeId) {
        let Some(mut literals) = self.literals.take() else { return };
        if let Some(range) = literals.of_node.get(&(self.frame.body, node)).cloned() {
            self.type_literals_of(node, range, &mut literals);
        }
        self.literals = Some(literals);
    }

    fn type_literals_of(&mut self, node: NodeId, range: Range<usize>, literals: &mut Literals<'_>) {
        let body = self.body();
        let value_of = |i: usize| body.nodes[node].inputs.get(i).copied().flatten();
        // The type of a literal with this text at another node does not count.
        let mut own: Vec<Option<ElemType>> = vec![None; range.len()];
        for place in &literals.uses[range.clone()] {
            self.set_literal(value_of(place.input), Fact::default());
        }
        // Literals that a value tells may tell others.
        for _ in 0..2 {
            let told: Vec<Option<ElemType>> =
                literals.uses[range.clone()].iter().map(|place| self.told(node, place)).collect();
            for (i, elem) in
                told.into_iter().enumerate().filter(|(i, _)| own[*i].is_none()).collect::<Vec<_>>()
            {
                own[i] = elem;
                let place = &literals.uses[range.start + i];
                let (input, text) = (place.input, place.text.clone());
                if let Some(fact) = elem.and_then(|elem| literals.fact(&text, elem)) {
                    self.set_literal(value_of(input), fact);
                }
            }
        }
        for (i, elem) in own.into_iter().enumerate() {
            let place = &mut literals.uses[range.start + i];
            place.decide(elem);
            if elem.is_none() {
                let (elem, input, text) = (place.default(), place.input, place.text.clone());
                if let Some(fact) = literals.fact(&text, elem) {
                    self.set_literal(value_of(input), fact);
                }
            }
        }
    }

    fn told(&mut self, node: NodeId, place: &Use<'_>) -> Option<ElemType> {
        let outputs: Vec<Option<ElemType>> = (self.body().nodes[node].outputs.iter())
            .map(|value| {
                let (ty, _) = self.frame.declared[(*value)?]?;
                self.declared_type(ty).elem()
            })
            .collect();
        let input = |value: ValueId| self.frame.facts[value].ty.elem();
        place.told(&self.body().nodes[node], &input, &outputs)
    }

    fn set_literal(&mut self, value: Option<ValueId>, fact: Fact) {
        let Some(value) = value else { return };
        if self.frame.facts[value] != fact {
            // Memoized nodes are compared by the facts of their operands.
            self.frame.run = self.next_run();
            self.frame.facts[value] = fact;
        }
    }
}

impl Literals<'_> {
    /// The fact of a literal of a type; `None` if the type does not have its numbers.
    fn fact(&mut self, text: &str, elem: ElemType) -> Option<Fact> {
        let known = self.facts.entry((text.to_owned(), elem)).or_insert_with(|| {
            let tensor = tensor(&mut Names::default(), text, elem)?;
            let value = SmallTensor::of_tensor(&tensor).map(Arc::new);
            Some(Fact { ty: type_of_tensor(&tensor), value, source: FactSource::Stored })
        });
        known.clone()
    }
}
