//! Derivatives of matrix products and determinants.

use crate::derivative::{Cell, Done, number};
use crate::facts::Shape;
use onnx_ir::diag::counted;

/// `dA = dY Bᵀ`, `dB = Aᵀ dY`. A vector is a row on the left and a column on the right; broadcast leading axes are summed.
pub(super) fn matmul(cell: &mut Cell<'_>) -> Done {
    let (a_rank, b_rank) = (cell.rank(0)?, cell.rank(1)?);
    let shape = cell.result_shape(0).cloned();
    let mut gradient = "dy0".to_owned();
    let (mut a, mut b) = ("x0".to_owned(), "x1".to_owned());
    if b_rank == 1 {
        b = cell.unsqueeze(&b, &[1]);
        gradient = cell.unsqueeze(&gradient, &[-1]);
    }
    if a_rank == 1 {
        a = cell.unsqueeze(&a, &[0]);
        gradient = cell.unsqueeze(&gradient, &[-2]);
    }
    let b_across = cell.transpose_last(&b, b_rank.max(2));
    let left = cell.op("MatMul", &[&gradient, &b_across]);
    if a_rank > 2 && b_rank == 2 {
        // One product of all rows, instead of a sum of products per matrix.
        give(cell, 0, &left, false, shape.as_ref());
        let (k, n) = (cell.extent(1, 0), cell.extent(1, 1));
        let minus = cell.list(&[-1]);
        let a_shape = cell.op_with("Concat", "axis = 0", &[&minus, &k]);
        let y_shape = cell.op_with("Concat", "axis = 0", &[&minus, &n]);
        let (rows, columns) = (cell.op("Reshape", &[&a, &a_shape]), cell.op("Reshape", &["dy0", &y_shape]));
        let across = cell.permute(&rows, &[1, 0]);
        let right = cell.op("MatMul", &[&across, &columns]);
        cell.give(1, right);
        return Ok(());
    }
    let a_across = cell.transpose_last(&a, a_rank.max(2));
    let right = cell.op("MatMul", &[&a_across, &gradient]);
    give(cell, 0, &left, a_rank == 1 || b_rank == 1, shape.as_ref());
    give(cell, 1, &right, a_rank == 1 || b_rank == 1, shape.as_ref());
    Ok(())
}

/// The product in the shape of an operand, with broadcast leading axes summed.
fn give(cell: &mut Cell<'_>, i: usize, product: &str, has_vector: bool, shape: Option<&Shape>) {
    let (rank, other) = (cell.rank(i).unwrap_or(0), cell.rank(1 - i).unwrap_or(0));
    if other <= 2 && rank >= 2 {
        // It has the axes of this operand.
        return cell.give(i, product);
    }
    if rank == 1 {
        // All but its own axis is summed: a matrix of one row or column keeps that axis.
        let keep: i64 = if i == 0 { -1 } else { -2 };
        let batch = (other - 2).max(0);
        let sum = match batch {
            0 => product.to_owned(),
            _ => {
                let axes: Vec<i64> = (0..batch).collect();
                cell.sum(product, &axes, false)
            }
        };
        let gone = if keep == -1 { 0 } else { 1 };
        let result = cell.squeeze(&sum, &[gone]);
        return cell.give(i, result);
    }
    // Broadcast axes are leading ones: the shape of the result determines them, because both operands are matrices.
    let whole = if has_vector { None } else { shape.cloned() };
    let own = cell.shape(i).cloned();
    let batch = whole.zip(own).map(|(mut whole, own)| {
        let (from, len) = (own.len() - 2, whole.len());
        whole.truncate(len - 2);
        whole.extend(own[from..].iter().copied());
        whole
    });
    let sum = cell.unbroadcast_from(i, product, batch.as_ref());
    cell.give(i, sum);
}

/// `Y = alpha A' B' + beta C`
pub(super) fn gemm(cell: &mut Cell<'_>) -> Done {
    let flag = |cell: &Cell<'_>, name: &str| cell.site.int(name).unwrap_or(0) != 0;
    let (across_a, across_b) = (flag(cell, "transA"), flag(cell, "transB"));
    let alpha = cell.site.float("alpha").unwrap_or(1.0);
    let beta = cell.site.float("beta").unwrap_or(1.0);
    let attrs = |a: bool, b: bool| {
        let alpha = if alpha == 1.0 { String::new() } else { format!("alpha = {alpha:?}, ") };
        format!("{alpha}transA = {}, transB = {}", i64::from(a), i64::from(b))
    };
    let left = match across_a {
        false => cell.op_with("Gemm", &attrs(false, !across_b), &["dy0", "x1"]),
        true => cell.op_with("Gemm", &attrs(across_b, true), &["x1", "dy0"]),
    };
    let right = match across_b {
        false => cell.op_with("Gemm", &attrs(!across_a, false), &["x0", "dy0"]),
        true => cell.op_with("Gemm", &attrs(true, across_a), &["dy0", "x0"]),
    };
    cell.give(0, left);
    cell.give(1, right);
    if cell.has(2) {
        let mut scaled = "dy0".to_owned();
        if beta != 1.0 {
            let beta = cell.number(beta.into(), 0);
            scaled = cell.op("Mul", &["dy0", &beta]);
        }
        let sum = cell.unbroadcast(2, &scaled);
        cell.give(2, sum);
    }
    Ok(())
}

/// Larger matrices have too many minors.
const MAX_ROWS: i64 = 32;

/// The matrix of cofactors (Jacobi's formula), which singular matrices have as well: element `(i, j)` is the determinant of the matrix
/// without row `i` and column `j`, with the sign of `i + j`.
pub(super) fn determinant(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    let size = cell.shape(0).and_then(|shape| number(shape.last()?));
    let size = size.ok_or("the size of its matrices is unknown")?;
    if size > MAX_ROWS {
        return Err(format!("its matrices have {}, more than {MAX_ROWS}", counted(size, "row")));
    }
    let gradient = cell.unsqueeze("dy0", &[-2, -1]);
    if size <= 1 {
        let shape = cell.shape_of(0);
        let spread = cell.op("Expand", &[&gradient, &shape]);
        cell.give(0, spread);
        return Ok(());
    }
    let others: Vec<i64> = (0..size).flat_map(|i| (0..size).filter(move |j| *j != i)).collect();
    let others = cell.list(&others);
    let others = cell.reshape(&others, &[size, size - 1]);
    // [.., row, other rows, column, other columns]
    let rows = cell.op_with("Gather", &format!("axis = {}", rank - 2), &["x0", &others]);
    let both = cell.op_with("Gather", &format!("axis = {rank}"), &[&rows, &others]);
    let perm: Vec<i64> = (0..rank - 2).chain([rank - 2, rank, rank - 1, rank + 1]).collect();
    let minors = cell.permute(&both, &perm);
    let minors = cell.op("Det", &[&minors]);
    let signs: Vec<i64> =
        (0..size * size).map(|at| if (at / size + at % size) % 2 == 0 { 1 } else { -1 }).collect();
    let signs = cell.list(&signs);
    let signs = cell.reshape(&signs, &[size, size]);
    let signs = cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&signs]);
    let cofactors = cell.op("Mul", &[&minors, &signs]);
    let product = cell.op("Mul", &[&cofactors, &gradient]);
    cell.give(0, product);
    Ok(())
}
