//! Derivatives of Fourier transforms, which are linear: their adjoints are transforms in the other direction.

use crate::derivative::{Cell, Done, number, numbers};
use onnx_ir::ElemType;

/// Since this version, the axis of `DFT` is an input.
const AXIS_IS_INPUT: i64 = 20;

/// A transform over an axis. `attrs` has the direction, and whether it is one-sided.
fn transform(cell: &mut Cell<'_>, of: &str, axis: i64, attrs: &str) -> String {
    if cell.version() >= AXIS_IS_INPUT {
        let axis = cell.number_of(axis as f64, ElemType::INT64);
        return cell.op_with("DFT", attrs, &[of, "", &axis]);
    }
    cell.op_with("DFT", &format!("axis = {axis}, {attrs}"), &[of])
}

/// The first elements of an axis, or all followed by zeros.
fn fitted(cell: &mut Cell<'_>, of: &str, axis: i64, (from, to): (i64, i64), rank: i64) -> String {
    if from > to {
        let (start, end, axis) = (cell.list(&[0]), cell.list(&[to]), cell.list(&[axis]));
        return cell.op("Slice", &[of, &start, &end, &axis]);
    }
    if from == to {
        return of.to_owned();
    }
    let mut pads = vec![0; usize::try_from(2 * rank).unwrap_or(0)];
    if let Some(end) = usize::try_from(rank + axis).ok().and_then(|at| pads.get_mut(at)) {
        *end = to - from;
    }
    let pads = cell.list(&pads);
    cell.op("Pad", &[of, &pads])
}

pub(super) fn dft(cell: &mut Cell<'_>) -> Done {
    let rank = cell.rank(0)?;
    let axis = match cell.version() >= AXIS_IS_INPUT {
        true if cell.has(2) => {
            let known = cell.known(2).and_then(|axis| axis.first().copied());
            known.ok_or("its axis is unknown")?
        }
        true => -2,
        false => cell.site.int("axis").unwrap_or(1),
    };
    let axis = if axis < 0 { axis + rank } else { axis };
    let at = usize::try_from(axis).ok().filter(|_| axis < rank - 1).ok_or("its axis is not sound")?;
    let is_inverse = cell.site.int("inverse").unwrap_or(0) != 0;
    let is_onesided = cell.site.int("onesided").unwrap_or(0) != 0;
    let signal = cell.shape(0).and_then(|shape| number(shape.get(at)?));
    let signal = signal.ok_or("the length of its signal is unknown")?;
    let length = match cell.has(1) {
        true => cell.known(1).and_then(|length| length.first().copied()).ok_or("its length is unknown")?,
        false if is_inverse && is_onesided => 2 * (signal - 1),
        false => signal,
    };
    if is_inverse && is_onesided {
        let back = to_half(cell, axis, length, rank)?;
        let back = fitted(cell, &back, axis, (length / 2 + 1, signal), rank);
        cell.give(0, back);
        return Ok(());
    }
    let parts = cell.shape(0).and_then(|shape| number(shape.last()?));
    let parts = parts.ok_or("it is unknown whether its signal is real")?;
    let bins = if is_onesided { length / 2 + 1 } else { length };
    let gradient = fitted(cell, "dy0", axis, (bins, length), rank);
    let back = transform(cell, &gradient, axis, &format!("inverse = {}", i64::from(!is_inverse)));
    // The inverse divides by the length, which the adjoint does not.
    let factor = cell.number(if is_inverse { 1.0 / length as f64 } else { length as f64 }, 0);
    let mut back = cell.op("Mul", &[&back, &factor]);
    if parts == 1 {
        let (start, end, last) = (cell.list(&[0]), cell.list(&[1]), cell.list(&[rank - 1]));
        back = cell.op("Slice", &[&back, &start, &end, &last]);
    }
    let back = fitted(cell, &back, axis, (length, signal), rank);
    cell.give(0, back);
    Ok(())
}

/// The gradient of the half of a spectrum that a real signal is computed from. Each of its numbers stands for a pair of conjugates, but the
/// first and, of an even length, the last.
fn to_half(cell: &mut Cell<'_>, axis: i64, length: i64, rank: i64) -> Result<String, String> {
    let bins = usize::try_from(length).ok().filter(|length| (1..=1 << 20).contains(length));
    let bins = bins.ok_or("its length is too large")? / 2 + 1;
    let is_alone = |bin: usize| bin == 0 || i64::try_from(2 * bin) == Ok(length);
    let weight = |bin: usize| if is_alone(bin) { 1.0 } else { 2.0 } / length as f64;
    let numbers: Vec<String> = (0..bins).map(|bin| format!("{:?}", weight(bin))).collect();
    let weights =
        cell.op_with("Constant", &format!("value = double[{bins}] {{{}}}", numbers.join(", ")), &[]);
    let weights = cell.op_with("Cast", &format!("to = {}", cell.elem(0)?.0), &[&weights]);
    let mut shape = vec![-1];
    shape.resize(usize::try_from(rank - axis).unwrap_or(1), 1);
    let weights = cell.reshape(&weights, &shape);
    let back = transform(cell, "dy0", axis, "inverse = 0, onesided = 1");
    Ok(cell.op("Mul", &[&back, &weights]))
}

/// Windows of the signal, multiplied with weights and transformed.
pub(super) fn stft(cell: &mut Cell<'_>) -> Done {
    let step = cell.known(1).and_then(|step| step.first().copied()).filter(|step| *step > 0);
    let step = step.ok_or("the distance of its frames is unknown")?;
    let length = match cell.has(3) {
        true => cell.known(3).and_then(|length| length.first().copied()),
        false => cell.shape(2).and_then(numbers).and_then(|shape| shape.first().copied()),
    };
    let length = length.filter(|length| *length > 0).ok_or("the length of its frames is unknown")?;
    if cell.rank(0)? != 3 {
        return Err("its signal does not say whether it is real".to_owned());
    }
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let scalar = cell.list(&[]);
    let samples = cell.extent(0, 1);
    let samples = cell.op("Reshape", &[&samples, &scalar]);
    // The first elements of the frames, and the elements of a frame.
    let last = cell.number_of((length - 1) as f64, ElemType::INT64);
    let end = cell.op("Sub", &[&samples, &last]);
    let step = cell.number_of(step as f64, ElemType::INT64);
    let starts = cell.op("Range", &[&zero, &end, &step]);
    let starts = cell.unsqueeze(&starts, &[1]);
    let size = cell.number_of(length as f64, ElemType::INT64);
    let inside = cell.op("Range", &[&zero, &size, &one]);
    let places = cell.op("Add", &[&starts, &inside]);
    let mut frames = cell.op_with("Gather", "axis = 1", &["x0", &places]);
    if cell.has(2) {
        let window = cell.unsqueeze("x2", &[1]);
        frames = cell.op("Mul", &[&frames, &window]);
    }
    let onesided = cell.site.int("onesided").unwrap_or(1);
    let attrs = format!("inverse = 0, onesided = {onesided}");
    if cell.version() >= AXIS_IS_INPUT {
        let axis = cell.number_of(2.0, ElemType::INT64);
        cell.line(format_args!("y0 = DFT <{attrs}> ({frames}, , {axis})"));
    } else {
        cell.line(format_args!("y0 = DFT <axis = 2, {attrs}> ({frames})"));
    }
    Ok(())
}
