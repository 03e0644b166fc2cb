//! Replaces two casts by one, if the first is lossless.
//!
//! ```text
//! before:  a = Cast <to = 7> (x)     y = Cast <to = 1> (a)      # int32 to int64 to float
//! after:   y = Cast <to = 1> (x)
//! ```

use super::site::FuseSite;
use crate::lint::is_lossless;
use onnx_ir::{ElemType, NodeId};

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if !site.is_op(node, "Cast") {
        return None;
    }
    let between = site.input(node, 0)?;
    let first = site.producer(between, node).filter(|first| site.is_op(*first, "Cast"))?;
    let x = site.input(first, 0)?;
    let (from, wide) = (site.ty(x).elem()?, site.ty(between).elem()?);
    let to = site.ty(site.result(node)?).elem()?;
    if !is_lossless(from, wide) || !is_number(to) || !site.is_read_by_ops(between, node, &["Cast"]) {
        return None;
    }
    // The conversion of negative floats to unsigned integers is undefined, while integers wrap around.
    let is_float = matches!(wide, ElemType::FLOAT | ElemType::DOUBLE);
    if from.is_integer() && is_float && to.is_integer() {
        return None;
    }
    site.set_input(node, 0, x);
    site.absorb(node, first);
    Some(())
}

/// Whether all runtimes convert the numbers of a type alike.
fn is_number(elem: ElemType) -> bool {
    let is_float =
        matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16 | ElemType::BFLOAT16);
    is_float || elem.is_integer() || elem == ElemType::BOOL
}
