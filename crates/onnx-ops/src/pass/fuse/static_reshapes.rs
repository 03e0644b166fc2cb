//! Replaces the computed target of a `Reshape` by an equivalent constant.
//!
//! ```text
//! before:  float[N,S,768] x     s = Concat(n, s, twelve, sixty_four)     y = Reshape(x, s)     # N, S, 12, 64
//! after:   y = Reshape(x, t)                                             # int64[4] t = {0, 0, 12, 64}
//! ```
//!
//! A symbolic size is copied if the operand has the same at that axis (0), or inferred from the others (-1). Both together are
//! ambiguous if a copied size is 0, so a target with both is kept, unless all copied sizes are positive.

use super::site::FuseSite;
use crate::dims::Dim;
use crate::infer::Elem;
use onnx_ir::NodeId;

/// Since this version, the shape is an input.
const SHAPE_IS_INPUT: i64 = 5;

pub(super) fn fuse(site: &mut FuseSite<'_>, node: NodeId) -> Option<()> {
    if site.version < SHAPE_IS_INPUT || !site.is_op(node, "Reshape") {
        return None;
    }
    let (x, shape) = (site.input(node, 0)?, site.input(node, 1)?);
    if site.tensor(shape).is_some() {
        return None;
    }
    let allows_zero = site.int_attr(node, "allowzero", 0)? != 0;
    let elems = site.elems(shape).filter(|elems| elems.dims.len() == 1 && !elems.elems.is_empty())?;
    let from = site.shape(x)?;
    let (mut target, mut copies_symbol, mut open) = (Vec::with_capacity(elems.elems.len()), false, 0);
    for (i, elem) in elems.elems.iter().enumerate() {
        let dim = match elem {
            Elem::Int(dim) => *dim,
            Elem::Unknown | Elem::Float(_) | Elem::Quotient(..) => Dim::Unknown,
        };
        target.push(match dim {
            Dim::Const(0) if allows_zero => return None,
            Dim::Const(0) => {
                copies_symbol |= !matches!(from.get(i)?, Dim::Const(1..));
                0
            }
            Dim::Const(-1) => {
                open += 1;
                -1
            }
            Dim::Const(n) => n,
            Dim::Expr(_) if from.get(i) == Some(&dim) => {
                copies_symbol = true;
                0
            }
            Dim::Expr(_) | Dim::Unknown => {
                open += 1;
                -1
            }
        });
    }
    if open > 1 || open == 1 && copies_symbol {
        return None;
    }
    let attrs = site.attrs_without(node, &["allowzero"]);
    let target = site.int_list(node, Some(shape), target);
    site.become_op(node, "Reshape", &[Some(x), Some(target)], attrs);
    Some(())
}
