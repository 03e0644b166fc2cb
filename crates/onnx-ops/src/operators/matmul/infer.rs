//! Matrix products and determinants.

use crate::dims::Dim;
use crate::engine::rule::fit::{Extent, broadcast_axis, broadcasts_to, one_or_each};
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;

pub(crate) fn matmul(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (output, _, _) = product(cx, 0, 1)?;
    cx.set_shape(0, output);
    Some(())
}

/// The product of two inputs as in `numpy.matmul`: a vector is a row on the left and a column on the right, and
/// not an axis of the output; axes before the last two broadcast. Also returns the rows of the left, and the columns
/// of the right operand, if they are vectors or matrices.
pub(crate) fn product(cx: &mut NodeCx<'_, '_>, left: usize, right: usize) -> Option<(Shape, Dim, Dim)> {
    let a = cx.shape_of_ranks(left, 1, None)?;
    let b = cx.shape_of_ranks(right, 1, None)?;
    let (rows, inner_a) = match a[..] {
        [inner] => (None, inner),
        [.., rows, inner] => (Some(rows), inner),
        [] => return None,
    };
    let (inner_b, columns) = match b[..] {
        [inner] => (inner, None),
        [.., inner, columns] => (inner, Some(columns)),
        [] => return None,
    };
    cx.equate((left, inner_a), (right, inner_b), |a, b| format!("the inner dimensions differ: {a} and {b}"))?;
    let (a, b) = (&a[..a.len().saturating_sub(2)], &b[..b.len().saturating_sub(2)]);
    let mut output = Shape::new();
    for at in (1..=a.len().max(b.len())).rev() {
        let of = |shape: &[Dim]| shape.len().checked_sub(at).map(|axis| shape[axis]);
        output.push(match (of(a), of(b)) {
            (Some(a), Some(b)) => {
                let message = |a: &str, b: &str| format!("cannot broadcast batches of {b} against {a}");
                broadcast_axis(cx, (left, a), (right, b), message)?.1
            }
            (Some(dim), None) | (None, Some(dim)) => dim,
            (None, None) => return None,
        });
    }
    output.extend(rows);
    output.extend(columns);
    let is_matrix = output.len() == usize::from(rows.is_some()) + usize::from(columns.is_some());
    let per = |dim: Option<Dim>| dim.filter(|_| is_matrix).unwrap_or(Dim::Unknown);
    Some((output, per(rows), per(columns)))
}

/// Zero points are scalars, or have one element for each row of the left and each column of the right operand.
pub(crate) fn integer(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (output, rows, columns) = product(cx, 0, 1)?;
    each(cx, 2, ("number of rows", 0, rows))?;
    each(cx, 3, ("number of columns", 1, columns))?;
    cx.set_shape(0, output);
    Some(())
}

/// `a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point`.
pub(crate) fn quantized(cx: &mut NodeCx<'_, '_>) -> Infer {
    let (output, rows, columns) = product(cx, 0, 3)?;
    for input in [1, 2] {
        each(cx, input, ("number of rows", 0, rows))?;
    }
    for input in [4, 5] {
        each(cx, input, ("number of columns", 3, columns))?;
    }
    cx.set_shape(0, output);
    Some(())
}

/// Checks the length of a list of scales or zero points, as far as it is known; tensors of higher rank are for batches.
fn each(cx: &mut NodeCx<'_, '_>, input: usize, (what, of, dim): (&'static str, usize, Dim)) -> Infer {
    match cx.rank(input) {
        Some(0 | 1) => one_or_each(cx, input, &mut Extent::of_input(what, of, dim)),
        Some(_) | None => Some(()),
    }
}

/// `A, B, C`, the first two possibly transposed. The third broadcasts to the product, up to version 6 only with the
/// attribute `broadcast`.
pub(crate) fn gemm(cx: &mut NodeCx<'_, '_>) -> Infer {
    let is_broadcast = cx.since() >= 7 || cx.int("broadcast").is_some_and(|b| b != 0);
    gemm_with(cx, (0, 1, 2), is_broadcast)
}

/// [`gemm`] with operands at these positions.
pub(crate) fn gemm_with(
    cx: &mut NodeCx<'_, '_>,
    (left, right, third): (usize, usize, usize),
    is_broadcast: bool,
) -> Infer {
    let sides: Vec<Option<(Dim, Dim)>> = [(left, "transA"), (right, "transB")]
        .into_iter()
        .map(|(input, name)| match cx.rank(input) {
            None => Some(None),
            Some(_) => {
                let shape = cx.shape_of_rank(input, 2)?;
                Some(match cx.int(name) {
                    Some(0) => Some((shape[0], shape[1])),
                    Some(_) => Some((shape[1], shape[0])),
                    None => None,
                })
            }
        })
        .collect::<Option<_>>()?;
    let (a, b) = (sides[0], sides[1]);
    if let (Some((_, inner_a)), Some((inner_b, _))) = (a, b) {
        cx.equate((left, inner_a), (right, inner_b), |a, b| {
            format!("the inner dimensions differ: {a} and {b}")
        })?;
    }
    let output = [a.map_or(Dim::Unknown, |a| a.0), b.map_or(Dim::Unknown, |b| b.1)];
    if is_broadcast && a.is_some() && b.is_some() {
        // The last axis comes from the second input, which is the likelier cause.
        broadcasts_to(cx, third, (right, &output))?;
    }
    cx.set_shape(0, output);
    Some(())
}

/// Matrices must be square; their two axes disappear.
pub(crate) fn det(cx: &mut NodeCx<'_, '_>) -> Infer {
    let shape = cx.shape_of_ranks(0, 2, None)?;
    let (batch, sides) = shape.split_at(shape.len() - 2);
    let message = |a: &str, b: &str| format!("a determinant needs a square matrix, but this is {a} by {b}");
    Extent::of_input("side", 0, sides[0]).agree_or(cx, 0, sides[1], message)?;
    cx.set_shape(0, batch.iter().copied());
    Some(())
}
