//! Normalizations as simpler operators.

use crate::derivative::{Cell, Done};

fn epsilon(cell: &mut Cell<'_>) -> Result<String, String> {
    let epsilon = cell.site.float("epsilon").ok_or("attribute `epsilon` is unknown")?;
    Ok(cell.number(epsilon.into(), 0))
}

/// Per-channel numbers for tensors `[N, C, …]`, in the type of the first operand.
fn of_channels(cell: &mut Cell<'_>, i: usize, rank: i64) -> String {
    let name = format!("x{i}");
    let name = match cell.elem(i).ok() == cell.elem(0).ok() {
        true => name,
        false => cell.op("CastLike", &[&name, "x0"]),
    };
    let shape: Vec<i64> = std::iter::once(-1).chain((2..rank).map(|_| 1)).collect();
    cell.reshape(&name, &shape)
}

/// Mean, variance and normalized operand over some axes.
fn moments(cell: &mut Cell<'_>, axes: &[i64]) -> (String, String, String) {
    let mean = cell.reduce("ReduceMean", "x0", axes, true);
    let deviation = cell.op("Sub", &["x0", &mean]);
    let square = cell.op("Mul", &[&deviation, &deviation]);
    let variance = cell.reduce("ReduceMean", &square, axes, true);
    (mean, deviation, variance)
}

fn normalized(cell: &mut Cell<'_>, deviation: &str, variance: &str, scale: &str, bias: &str) -> Done {
    let epsilon = epsilon(cell)?;
    let more = cell.op("Add", &[variance, &epsilon]);
    let root = cell.op("Sqrt", &[&more]);
    let normal = cell.op("Div", &[deviation, &root]);
    let scaled = cell.op("Mul", &[&normal, scale]);
    cell.line(format_args!("y0 = Add ({scaled}, {bias})"));
    Ok(())
}

pub(super) fn batch(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    if rank < 2 {
        return Err("its operand has no channels".to_owned());
    }
    let trains = cell.site.int("training_mode").unwrap_or(0) != 0;
    let (scale, bias) = (of_channels(cell, 1, rank), of_channels(cell, 2, rank));
    if !trains {
        if cell.version() < 14 && cell.outputs.len() > 1 {
            return Err("it trains, which it does in another way before version 14".to_owned());
        }
        let (mean, variance) = (of_channels(cell, 3, rank), of_channels(cell, 4, rank));
        let deviation = cell.op("Sub", &["x0", &mean]);
        return normalized(cell, &deviation, &variance, &scale, &bias);
    }
    let axes: Vec<i64> = std::iter::once(0).chain(2..rank).collect();
    let (mean, deviation, variance) = moments(cell, &axes);
    normalized(cell, &deviation, &variance, &scale, &bias)?;
    let momentum = f64::from(cell.site.float("momentum").unwrap_or(0.9));
    for (j, (running, new)) in [(3, mean), (4, variance)].into_iter().enumerate() {
        if cell.outputs.get(j + 1).is_some_and(Option::is_some) {
            let (old, share) = (cell.number(momentum, running), cell.number(1.0 - momentum, running));
            let flat = cell.reshape(&new, &[-1]);
            let flat = cell.op("CastLike", &[&flat, &format!("x{running}")]);
            let before = cell.op("Mul", &[&format!("x{running}"), &old]);
            let now = cell.op("Mul", &[&flat, &share]);
            cell.line(format_args!("y{} = Add ({before}, {now})", j + 1));
        }
    }
    Ok(())
}

pub(super) fn instance(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    let (scale, bias) = (of_channels(cell, 1, rank), of_channels(cell, 2, rank));
    let axes: Vec<i64> = (2..rank).collect();
    let (_, deviation, variance) = moments(cell, &axes);
    normalized(cell, &deviation, &variance, &scale, &bias)
}

pub(super) fn lp(cell: &mut Cell<'_>) -> Done {
    let axis = cell.site.int("axis").unwrap_or(-1);
    let op = match cell.site.int("p").unwrap_or(2) {
        1 => "ReduceL1",
        2 => "ReduceL2",
        p => return Err(format!("its norm is of order {p}")),
    };
    let length = cell.reduce(op, "x0", &[axis], true);
    let (zero, one) = (cell.number(0.0, 0), cell.number(1.0, 0));
    let is_zero = cell.op("Equal", &[&length, &zero]);
    let length = cell.op("Where", &[&is_zero, &one, &length]);
    cell.line(format_args!("y0 = Div (x0, {length})"));
    Ok(())
}

/// `y = x / (bias + alpha / size * s)^beta`, where `s` is the sum of squares of `size` channels around.
pub(super) fn local_response(cell: &mut Cell<'_>) -> Done {
    cell.need(13)?;
    let size = cell.site.int("size").ok_or("attribute `size` is unknown")?;
    if !(1..=256).contains(&size) {
        return Err(format!("its size is {size}"));
    }
    let get = |cell: &Cell<'_>, name: &str, default: f32| f64::from(cell.site.float(name).unwrap_or(default));
    let (alpha, beta, bias) = (get(cell, "alpha", 1e-4), get(cell, "beta", 0.75), get(cell, "bias", 1.0));
    let rank = cell.rank(0)?;
    let (before, after) = ((size - 1) / 2, size / 2);
    let square = cell.op("Mul", &["x0", "x0"]);
    let mut pads = vec![0; usize::try_from(2 * rank).map_err(|_| "its rank is not sound")?];
    let at = usize::try_from(rank + 1).map_err(|_| "its rank is not sound")?;
    if rank < 2 {
        return Err("its operand has no channels".to_owned());
    }
    (pads[1], pads[at]) = (before, after);
    let pads = cell.list(&pads);
    let padded = cell.op("Pad", &[&square, &pads]);
    let channels = cell.extent(0, 1);
    let axis = cell.list(&[1]);
    let mut sum = String::new();
    for offset in 0..size {
        let start = cell.list(&[offset]);
        let end = cell.op("Add", &[&channels, &start]);
        let part = cell.op("Slice", &[&padded, &start, &end, &axis]);
        sum = if offset == 0 { part } else { cell.op("Add", &[&sum, &part]) };
    }
    let share = cell.number(alpha / size as f64, 0);
    let (bias, beta) = (cell.number(bias, 0), cell.number(beta, 0));
    let scaled = cell.op("Mul", &[&sum, &share]);
    let base = cell.op("Add", &[&scaled, &bias]);
    let divisor = cell.op("Pow", &[&base, &beta]);
    cell.line(format_args!("y0 = Div (x0, {divisor})"));
    Ok(())
}
