//! Packs the constant factors of matrix products, once for all plans of a program.

use super::{PlanStep, Slot, SlotSource, root};
use crate::loops::{Packed, PackedStore, Precision};
use crate::sync::lock;
use crate::tensor::Tensor;
use foldhash::HashMap;
use onnx_ir::NodeId;
use std::sync::{Arc, Mutex};

/// Packed constants, by node.
pub(crate) type PackedConstants = Mutex<HashMap<NodeId, Packed>>;

/// How constants are packed.
pub(crate) struct Packing<'p> {
    pub(crate) packed: &'p PackedConstants,
    /// Whether results are rounded as the operators define it.
    pub(crate) is_exact: bool,
    /// Where they are looked for before.
    pub(crate) store: Option<&'p Arc<dyn PackedStore>>,
    /// Called with the bytes of constants that will not be read again.
    pub(crate) release: Option<fn(&[u8])>,
}

/// Smaller constants are not worth a system call.
const MIN_RELEASED_BYTES: usize = 1 << 18;

impl Packing<'_> {
    /// Packs the constant factors of matrix products. The packed copies take as much memory again.
    ///
    /// Stored tensors that have been packed are released; a later read loads their pages again.
    pub(super) fn pack(&self, steps: &mut [PlanStep], slots: &[Slot]) {
        for step in steps {
            let PlanStep::Kernel(kernel) = step else { continue };
            let constant = |slot: &usize| match &slots[root(slots, *slot)].source {
                SlotSource::Constant(tensor) => Some(tensor),
                SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => None,
            };
            let constants: Vec<Option<&Tensor>> = kernel.loads.iter().map(constant).collect();
            // Kernels with several members are computed in blocks of few rows, for which fast algorithms do not pay.
            let is_exact = self.is_exact || kernel.members.len() > 1;
            let precision = if is_exact { Precision::Exact } else { Precision::Fast };
            for member in kernel.members.iter_mut().filter(|member| member.nest.is_product()) {
                let Some(node) = member.assignment.nodes.first() else { continue };
                let mut packed = lock(self.packed);
                // Without memory for it, packing happens in each run.
                let packed = packed.entry(*node).or_insert_with(|| Packed::new(self.store));
                _ = member.nest.pack_constants(&constants, packed, precision);
                let Some(release) = self.release else { continue };
                for operand in member.nest.packed_operands() {
                    if let Some(Some(tensor)) = constants.get(operand)
                        && tensor.bytes().len() >= MIN_RELEASED_BYTES
                    {
                        release(tensor.bytes());
                    }
                }
            }
        }
    }
}
