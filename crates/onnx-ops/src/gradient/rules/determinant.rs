//! The derivative of determinants.

use crate::gradient::cell::{Cell, Done, number};

/// Larger matrices have too many minors.
const MOST: i64 = 32;

/// The matrix of cofactors (Jacobi's formula), which singular matrices have as well: element `(i, j)` is the determinant of the matrix
/// without row `i` and column `j`, with the sign of `i + j`.
pub(crate) fn determinant(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    let size = cell.shape(0).and_then(|shape| number(shape.last()?));
    let size = size.ok_or("the size of its matrices is unknown")?;
    if size > MOST {
        return Err(format!("its matrices have {size} rows, more than {MOST}"));
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
