//! Derivatives of sums of products.

use crate::gradient::cell::{Cell, Done};

/// `dA = dY Bᵀ`, `dB = Aᵀ dY`. A vector is a row on the left and a column on the right; broadcast leading axes are summed.
pub(crate) fn matmul(cell: &mut Cell<'_>) -> Done {
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
fn give(cell: &mut Cell<'_>, i: usize, product: &str, has_vector: bool, shape: Option<&crate::infer::Shape>) {
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
pub(crate) fn gemm(cell: &mut Cell<'_>) -> Done {
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

/// The gradient of an operand is an Einsum of the gradient of the result and the other operands. An axis that only this operand
/// has was summed: ones in its shape restore it.
pub(crate) fn einsum(cell: &mut Cell<'_>) -> Done {
    let equation = cell.site.string("equation").ok_or("its equation is unknown")?;
    let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    if equation.contains('.') {
        return Err("its equation has an ellipsis".to_owned());
    }
    let (terms, output) = match equation.split_once("->") {
        Some((terms, output)) => (terms.to_owned(), output.to_owned()),
        None => (equation.clone(), implied(&equation)),
    };
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != cell.arity() {
        return Err(format!("its equation has {} terms for {} operands", terms.len(), cell.arity()));
    }
    if terms
        .iter()
        .any(|term| term.chars().enumerate().any(|(i, c)| term[..].chars().take(i).any(|d| d == c)))
    {
        return Err("its equation takes the diagonal of an operand".to_owned());
    }
    for i in 0..terms.len() {
        let mut names = vec!["dy0".to_owned()];
        let mut own = vec![output.as_str()];
        for (j, term) in terms.iter().enumerate().filter(|(j, _)| *j != i) {
            names.push(format!("x{j}"));
            own.push(term);
        }
        let is_lost = |c: char| !own.iter().any(|term| term.contains(c));
        if terms[i].chars().any(is_lost) {
            let shape = cell.shape_of(i);
            let ones = cell.filled(&shape, 1, cell.elem(i)?);
            names.push(ones);
            own.push(terms[i]);
        }
        let equation = format!("equation = \"{}->{}\"", own.join(","), terms[i]);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let sum = cell.op_with("Einsum", &equation, &names);
        cell.give(i, sum);
    }
    Ok(())
}

/// The implicit output of an equation: the letters that occur once, in order.
fn implied(terms: &str) -> String {
    let mut letters: Vec<char> = terms.chars().filter(|c| *c != ',').collect();
    letters.sort_unstable();
    let is_once = |c: &char| terms.chars().filter(|d| d == c).count() == 1;
    letters.into_iter().filter(is_once).collect()
}
