//! Replaces `MatMul` and `Add` by `Gemm`.
//!
//! ```text
//! before:  float[N,8] x, float[8,4] w, float[4] b     a = MatMul(x, w)     y = Add(a, b)
//! after:   y = Gemm(x, w, b)
//! ```
//!
//! Both operands must be matrices, and the addend must not enlarge the result.

use super::site::FuseSite;
use crate::dims::Dim;
use onnx_ir::{ElemType, NodeId, ValueId};

/// Since this version, `Gemm` and `Add` broadcast without an attribute.
const BROADCASTS: i64 = 7;

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if site.version < BROADCASTS || !site.is_op(node, "Add") || site.node(node).inputs.len() != 2 {
        return None;
    }
    let (a, b) = (site.input(node, 0)?, site.input(node, 1)?);
    let (first, product, added) = match product(site, node, a) {
        Some(first) => (first, a, b),
        None => (product(site, node, b)?, b, a),
    };
    let (x, w) = (site.input(first, 0)?, site.input(first, 1)?);
    let is_matrix = |value: ValueId| site.shape(value).is_some_and(|shape| shape.len() == 2);
    let elem = site.ty(product).elem()?;
    let is_float = matches!(elem, ElemType::FLOAT | ElemType::DOUBLE | ElemType::FLOAT16);
    if !is_float || !is_matrix(x) || !is_matrix(w) || site.ty(added).elem() != Some(elem) {
        return None;
    }
    let (of_sum, of_product) = (site.shape(added)?, site.shape(product)?);
    let fits = |(dim, extent): (&Dim, &Dim)| *dim == Dim::Const(1) || (dim == extent && *dim != Dim::Unknown);
    if of_product.len() != 2
        || of_sum.len() > 2
        || !of_sum.iter().rev().zip(of_product.iter().rev()).all(fits)
    {
        return None;
    }
    site.become_op(node, "Gemm", &[Some(x), Some(w), Some(added)], Vec::new());
    site.take_name(node, first);
    site.absorb(node, first);
    Some(())
}

/// The `MatMul` that computes a value for this node only.
fn product(site: &FuseSite<'_>, node: NodeId, value: ValueId) -> Option<NodeId> {
    let first = site.producer(value, node).filter(|first| site.is_op(*first, "MatMul"))?;
    (site.node(first).inputs.len() == 2 && site.is_read_by(value, node)).then_some(first)
}
