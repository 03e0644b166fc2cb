//! Splits axes where positions divide them.
//!
//! The memory of a result is the same whether an axis is one of 768 or two of 12 and 64; but a position with `i / 64` and `i %
//! 64` is linear in the two. So a product stays one when there are views between it and its factors:
//! ```text
//! sum over i2 < 768 of x[i2 / 64, i0, i2 % 64] * w[i2, i1]
//! sum over i2 < 12, i3 < 64 of x[i2, i0, i3] * w[64*i2 + i3, i1]
//! ```

use onnx_formula::{Expr, Formula, Index, Position, Rewrite};

/// The most splits of a formula.
const MAX_SPLITS: usize = 8;

/// The formula with axes split as its positions require. The shape of the result can change; its number of elements does not.
pub(super) fn split(formula: &Formula) -> Option<Formula> {
    let mut formula = respelled(formula, None)?;
    for _ in 0..MAX_SPLITS {
        let Some(at) = wanted(&formula) else { break };
        formula = respelled(&formula, Some(at))?;
    }
    Some(formula)
}

/// An axis that positions divide, and the extent of the inner part.
fn wanted(formula: &Formula) -> Option<(usize, usize)> {
    let extents = formula.extents();
    let mut found = None;
    formula.parts(&mut |part, _| {
        let indices = match part {
            Expr::Load(_, position) => &position[..],
            Expr::Index(index) => std::slice::from_ref(index),
            _ => return,
        };
        for index in indices {
            divided(index, &extents, &mut found);
        }
    });
    found
}

fn divided(index: &Index, extents: &[usize], found: &mut Option<(usize, usize)>) {
    match index {
        Index::Affine(..) | Index::Element(_) => {}
        Index::Sum(parts) => parts.iter().for_each(|(part, _)| divided(part, extents, found)),
        Index::Div(x, by) | Index::Rem(x, by) => {
            divided(x, extents, found);
            let Index::Affine(_, terms) = &**x else { return };
            // The term whose range exceeds the divisor.
            for (axis, of) in terms {
                let Some(extent) = extents.get(*axis).and_then(|d| i64::try_from(*d).ok()) else { continue };
                if *of <= 0 || by % of != 0 {
                    continue;
                }
                let inner = by / of;
                if inner > 1 && inner < extent && extent % inner == 0 {
                    *found = usize::try_from(inner).ok().map(|inner| (*axis, inner));
                }
            }
        }
    }
}

/// The formula with simplified positions, with one axis split in two if given.
fn respelled(formula: &Formula, at: Option<(usize, usize)>) -> Option<Formula> {
    let mut result = formula.clone();
    let rank = formula.dims.len();
    let count = formula.extents().len();
    let mut indices: Vec<Position> = Vec::with_capacity(count);
    if let Some((axis, inner)) = at {
        let dims = match (axis.checked_sub(rank), &mut result.over) {
            (None, _) => &mut result.dims,
            (Some(_), Some(over)) => &mut over.dims,
            (Some(_), None) => return None,
        };
        let own = if axis < rank { axis } else { axis - rank };
        let outer = dims.get(own)? / inner;
        dims.splice(own..=own, [outer, inner]);
        for index in 0..count {
            indices.push(match index.cmp(&axis) {
                std::cmp::Ordering::Less => Position::index(index),
                std::cmp::Ordering::Equal => {
                    let whole =
                        Position::default().plus(&Position::index(index), i64::try_from(inner).ok()?)?;
                    whole.plus(&Position::index(index + 1), 1)?
                }
                std::cmp::Ordering::Greater => Position::index(index + 1),
            });
        }
    } else {
        indices.extend((0..count).map(Position::index));
    }
    let extents = result.extents();
    let rewrite = Rewrite {
        indices: &indices,
        extents: &extents,
        total: None,
        load: &|operand, position| Some(Expr::load(operand, position)),
    };
    rewrite.formula(formula, result)
}

/// The number of nonlinear positions of a formula.
pub(super) fn roughness(formula: &Formula) -> usize {
    let mut count = 0;
    formula.parts(&mut |part, _| {
        let is_rough = match part {
            Expr::Load(_, position) => position.iter().any(|index| !matches!(index, Index::Affine(..))),
            Expr::Index(index) => !matches!(index, Index::Affine(..)),
            _ => false,
        };
        count += usize::from(is_rough);
    });
    count
}
