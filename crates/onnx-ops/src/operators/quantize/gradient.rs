//! `DequantizeLinear` as simpler operators.

use crate::derivative::{Cell, Done};

/// `y = (x - zero_point) * scale`: one scale per tensor, or per index of an axis.
pub(super) fn dequantize(cell: &mut Cell<'_>) -> Done {
    if cell.site.int("block_size").unwrap_or(0) != 0 {
        return Err("it has a scale for each block".to_owned());
    }
    let elem = cell.elem(1)?;
    let to = format!("to = {}", elem.0);
    let is_one = cell.rank(1)? == 0;
    let rank = cell.rank(0)?;
    let axis = cell.axis("axis", rank)?;
    let shape: Vec<i64> = std::iter::once(-1).chain((axis + 1..rank).map(|_| 1)).collect();
    let column = |cell: &mut Cell<'_>, name: &str| match is_one {
        true => name.to_owned(),
        false => cell.reshape(name, &shape),
    };
    let mut number = cell.op_with("Cast", &to, &["x0"]);
    if cell.has(2) {
        let zero = cell.op_with("Cast", &to, &["x2"]);
        let zero = column(cell, &zero);
        number = cell.op("Sub", &[&number, &zero]);
    }
    let scale = column(cell, "x1");
    let scaled = cell.op("Mul", &[&number, &scale]);
    cell.line(format_args!("y0 = Identity ({scaled})"));
    Ok(())
}
