//! Excess precision: intermediate results of `float16` and `bfloat16` are kept in `float`.
//!
//! Every operator rounds its result to the element type of its output. Where only the plan reads such a result, it is kept in
//! single precision instead, within a kernel and between kernels: fewer conversions, and results nearer to those of the same model
//! in `float`. XLA allows this by default, and ONNX Runtime computes so on CPUs.
//!
//! ```text
//! float16[8] t[i0] = x[i0] * w[i0]              float[8] t[i0] = x[i0] * w[i0]
//! float16[8] y[i0] = t[i0] + b[i0]       →      float16[8] y[i0] = t[i0] + b[i0]
//! ```
//! A `Cast` of the model still rounds, as do results that are outputs or that are read by nodes outside of kernels.
//! [`CompileOptions::exact`](crate::CompileOptions::exact) switches it off.

use super::{Partition, PartitionItem, Slot, SlotSource, root};
use onnx_formula::Expr;
use onnx_ir::ElemType;

/// Whether values of this type are computed in single precision.
fn is_narrow(elem: ElemType) -> bool {
    matches!(elem, ElemType::FLOAT16 | ElemType::BFLOAT16)
}

/// Keeps the results that only the formulas of the partition read in `float`.
pub(crate) fn widen(partition: &mut Partition) {
    let Partition { items, slots, published, .. } = partition;
    if !slots.iter().any(|slot| is_narrow(slot.elem) && matches!(slot.source, SlotSource::Formula)) {
        return;
    }
    let mut is_kept = vec![false; slots.len()];
    for (_, slot) in &*published {
        is_kept[root(slots, *slot)] = true;
    }
    for item in &*items {
        let PartitionItem::Formula(it) = item else { continue };
        it.formula.parts(&mut |part, _| {
            // The bits of a loaded value are those of its original type.
            if let Expr::Bits(_, _, x) = part
                && let Expr::Load(operand, _) = &**x
            {
                is_kept[root(slots, *operand)] = true;
            }
        });
    }
    let is_widened = |slot: usize, slots: &[Slot]| {
        let slot = root(slots, slot);
        is_narrow(slots[slot].elem) && matches!(slots[slot].source, SlotSource::Formula) && !is_kept[slot]
    };
    for item in items {
        let PartitionItem::Formula(it) = item else { continue };
        if let Some(over) = it.formula.over.as_mut().filter(|over| is_narrow(over.elem)) {
            over.elem = ElemType::FLOAT;
        }
        if is_widened(it.slot, slots) {
            it.formula.elem = ElemType::FLOAT;
        }
    }
    let widened: Vec<usize> = (0..slots.len()).filter(|slot| is_widened(*slot, slots)).collect();
    for slot in widened {
        slots[slot].elem = ElemType::FLOAT;
    }
}
