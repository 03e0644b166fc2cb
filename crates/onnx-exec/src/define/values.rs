//! Knowledge about the values that nodes read: constants, types, and elements that a plan may depend on.

use super::definition::extents;
use super::{Define, KnownValue, MAX_FOLDED_ELEMENTS};
use crate::facts::{fact, type_of};
use crate::plan::{Need, Slot, SlotSource};
use crate::program::Action;
use crate::tensor::{Tensor, count};
use onnx_ir::{ElemType, NodeId, ValueId};
use onnx_kernels::Value;
use onnx_ops::infer::Fact;

impl Define<'_> {
    /// The planner's knowledge of a value that a node reads.
    pub(super) fn value(&mut self, value: ValueId) -> Option<KnownValue> {
        if let Some(known) = self.values.get(&value) {
            return Some(known.clone());
        }
        let program = self.program;
        let known = match (self.known.value(value)?, program.is_constant(value)) {
            (there, true) => KnownValue::Constant(there.clone()),
            (Value::Tensor(tensor), false) if !tensor.is_strings() => {
                let (elem, dims) = (tensor.elem(), tensor.dims());
                if self.needed.insert(value) {
                    self.partition.needs.push((value, Need::Tensor(elem, dims.into())));
                }
                let dims = dims.to_vec();
                KnownValue::Slot(self.slot(elem, dims, SlotSource::Value(value)))
            }
            (other, false) => {
                let other = other.clone();
                if self.needed.insert(value) {
                    self.partition.needs.push((value, Need::Other(type_of(&other))));
                }
                KnownValue::Fact(Fact::of(type_of(&other)))
            }
        };
        self.values.insert(value, known.clone());
        Some(known)
    }

    pub(super) fn slot(&mut self, elem: ElemType, dims: Vec<usize>, source: SlotSource) -> usize {
        self.partition.slots.push(Slot::new(elem, dims, source));
        self.partition.slots.len() - 1
    }

    /// Whether a node of the plan computes a value, so that its elements do not exist yet.
    pub(super) fn is_made_here(&self, value: ValueId) -> bool {
        match self.values.get(&value) {
            Some(KnownValue::Slot(slot)) => {
                !matches!(self.partition.slots[*slot].source, SlotSource::Value(value) if self.needed.contains(&value))
            }
            Some(KnownValue::Fact(_)) => !self.needed.contains(&value),
            Some(KnownValue::Constant(_)) | None => false,
        }
    }

    /// Specializes the plan to the elements of small inputs. Returns whether there are any.
    pub(super) fn assume(
        &mut self,
        node: NodeId,
        inputs: &mut [Option<KnownValue>],
        which: impl Fn(usize) -> bool,
    ) -> bool {
        if !self.may_assume {
            return false;
        }
        let program = self.program;
        let values = &program.body().nodes[node].inputs;
        let mut is_any = false;
        for (i, (input, value)) in inputs.iter_mut().zip(values).enumerate() {
            let (Some(known @ KnownValue::Slot(_)), Some(value)) = (input, value) else { continue };
            let Some(Value::Tensor(tensor)) = self.known.value(*value) else { continue };
            if !which(i) || !says_shapes(tensor) {
                continue;
            }
            // The plan lives longer than memory that is lent for this run.
            let Ok(tensor) = tensor.to_kept() else { continue };
            self.partition.needs.push((*value, Need::Elements(tensor.clone())));
            *known = KnownValue::Constant(Value::Tensor(tensor));
            self.values.insert(*value, known.clone());
            is_any = true;
        }
        is_any
    }

    /// The inferred results of a node.
    pub(super) fn facts(&self, node: NodeId, inputs: &[Option<KnownValue>]) -> Option<Vec<Fact>> {
        let facts: Vec<Option<Fact>> =
            inputs.iter().map(|known| known.as_ref().map(|known| self.fact_of(known))).collect();
        self.known.infer(node, &facts)
    }

    pub(super) fn fact_of(&self, known: &KnownValue) -> Fact {
        match known {
            KnownValue::Constant(value) => fact(value),
            KnownValue::Slot(slot) => Fact::of(self.partition.ty(*slot)),
            KnownValue::Fact(fact) => fact.clone(),
        }
    }

    /// Computes a node with constant inputs if the result is small. The result of a node without a formula must not be larger
    /// than the inputs.
    pub(super) fn fold(&mut self, node: NodeId, inputs: &[Option<KnownValue>], outputs: &[Fact]) -> bool {
        let given = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(Value::Tensor(tensor))) => tensor.len(),
            Some(KnownValue::Constant(_) | KnownValue::Slot(_) | KnownValue::Fact(_)) | None => 0,
        });
        let is_kernel = matches!(self.program.actions[node], Some(Action::Kernel(..)));
        let max_elements =
            if is_kernel { given.max().unwrap_or(0).max(MAX_FOLDED_ELEMENTS) } else { MAX_FOLDED_ELEMENTS };
        let is_small = |fact: &Fact| {
            extents(&fact.ty).is_some_and(|(_, dims)| count(&dims).is_some_and(|count| count <= max_elements))
        };
        let n = &self.program.body().nodes[node];
        if !outputs.iter().zip(&n.outputs).all(|(fact, value)| value.is_none() || is_small(fact)) {
            return false;
        }
        let inputs = inputs.iter().map(|known| match known {
            Some(KnownValue::Constant(value)) => Some(value.clone()),
            Some(KnownValue::Slot(_) | KnownValue::Fact(_)) | None => None,
        });
        let Some(results) = self.known.fold(node, inputs.collect()) else { return false };
        for (value, result) in n.outputs.iter().zip(results) {
            if let Some(value) = value {
                self.values.insert(*value, KnownValue::Constant(result));
            }
        }
        true
    }

    /// Uses inferred elements if they are known for all results, so that shapes become constants.
    pub(super) fn has_known_elements(&mut self, node: NodeId, outputs: &[Fact]) -> bool {
        let n = &self.program.body().nodes[node];
        let known = |fact: &Fact| {
            let (elem, dims) = extents(&fact.ty)?;
            let ints = fact.value.as_ref()?.ints()?;
            let is_long = elem == ElemType::INT64 && count(&dims) == Some(ints.len());
            is_long.then(|| Tensor::of(&dims, &ints).ok()).flatten()
        };
        let mut found = Vec::new();
        for (value, fact) in n.outputs.iter().zip(outputs) {
            let Some(value) = value else { continue };
            let Some(tensor) = known(fact) else { return false };
            found.push((*value, KnownValue::Constant(Value::Tensor(tensor))));
        }
        self.values.extend(found);
        true
    }
}

/// Whether a tensor is small enough to be a shape, axes, a count or scales. Larger tensors are data.
fn says_shapes(tensor: &Tensor) -> bool {
    let max_elements = match tensor.elem() {
        ElemType::INT64 | ElemType::INT32 => 64,
        ElemType::FLOAT => 8,
        _ => 0,
    };
    tensor.rank() <= 1 && tensor.len() <= max_elements
}
