//! Pixels of images at computed places, times weights: differentiable nodes for `GridSample`, `RoiAlign` and `DeformConv`.
//!
//! Images are `[batch, channels, pixels]`, places are `[batch, places]` for each axis. A place between pixels is a sum of neighbors
//! ("taps"), whose weights depend on the place; so images and places both have gradients.

use super::cell::Cell;
use onnx_ir::ElemType;

/// A pixel on an axis, and its weight. A weight of `None` is one.
pub(crate) struct Tap {
    pub(crate) index: String,
    pub(crate) weight: Option<String>,
}

/// The pixels beyond the border of an image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// An axis of an image. Numbers are those of the element type of an operand.
pub(crate) struct Axis {
    /// The operand with the element type of places.
    like: usize,
    /// The size as a list of one integer, and as numbers.
    size: String,
    pub(crate) last: String,
    padding: Padding,
    /// The smallest coordinate, and the distance to the largest one, at which places are reflected.
    pub(crate) borders: Option<(String, String)>,
}

impl Axis {
    pub(crate) fn new(
        cell: &mut Cell<'_>,
        size: String,
        like: usize,
        padding: Padding,
    ) -> Result<Axis, String> {
        let float = cell.op_with("Cast", &format!("to = {}", cell.elem(like)?.0), &[&size]);
        let one = cell.number(1.0, like);
        let last = cell.op("Sub", &[&float, &one]);
        Ok(Axis { like, size, last, padding, borders: None })
    }

    /// Reflects places until they are between the borders: a triangle wave.
    pub(crate) fn reflected(&self, cell: &mut Cell<'_>, at: &str) -> String {
        let Some((low, range)) = &self.borders else { return at.to_owned() };
        let two = cell.number(2.0, self.like);
        let apart = cell.op("Sub", &[at, low]);
        let apart = cell.op("Abs", &[&apart]);
        let period = cell.op("Mul", &[range, &two]);
        let rest = cell.op_with("Mod", "fmod = 1", &[&apart, &period]);
        let beyond = cell.op("Sub", &[&rest, range]);
        let beyond = cell.op("Abs", &[&beyond]);
        let inside = cell.op("Sub", &[range, &beyond]);
        cell.op("Add", &[low, &inside])
    }

    /// The pixel at a coordinate without fraction; outside, its weight is zero if there is nothing beyond the border.
    pub(crate) fn tap(&self, cell: &mut Cell<'_>, at: &str, weight: Option<String>) -> Result<Tap, String> {
        let (zero, one) = (cell.number(0.0, self.like), cell.number(1.0, self.like));
        let mut weight = weight;
        let mut at = at.to_owned();
        match self.padding {
            Padding::Zeros => {
                let is_after = cell.op("GreaterOrEqual", &[&at, &zero]);
                let is_before = cell.op("LessOrEqual", &[&at, &self.last]);
                let is_inside = cell.op("And", &[&is_after, &is_before]);
                weight = Some(cell.op("Where", &[&is_inside, weight.as_deref().unwrap_or(&one), &zero]));
            }
            Padding::Border => {}
            Padding::Reflection => at = self.reflected(cell, &at),
        }
        let at = cell.op("Min", &[&at, &self.last]);
        let at = cell.op("Max", &[&at, &zero]);
        let index = cell.op_with("Cast", &format!("to = {}", ElemType::INT64.0), &[&at]);
        Ok(Tap { index, weight })
    }

    /// The two neighbors of a place.
    pub(crate) fn linear(&self, cell: &mut Cell<'_>, at: &str) -> Result<Vec<Tap>, String> {
        let one = cell.number(1.0, self.like);
        let low = cell.op("Floor", &[at]);
        let high = cell.op("Add", &[&low, &one]);
        let part = cell.op("Sub", &[at, &low]);
        let rest = cell.op("Sub", &[&one, &part]);
        Ok(vec![self.tap(cell, &low, Some(rest))?, self.tap(cell, &high, Some(part))?])
    }

    /// The four neighbors of a place, with the weights of Keys's convolution.
    pub(crate) fn cubic(&self, cell: &mut Cell<'_>, at: &str) -> Result<Vec<Tap>, String> {
        const A: f64 = -0.75;
        let low = cell.op("Floor", &[at]);
        let part = cell.op("Sub", &[at, &low]);
        let mut taps = Vec::new();
        for i in -1..=2i32 {
            let shift = cell.number(f64::from(i), self.like);
            let pixel = cell.op("Add", &[&low, &shift]);
            let distance = cell.op("Sub", &[&part, &shift]);
            let distance = cell.op("Abs", &[&distance]);
            // Of neighbors: (A + 2) t³ - (A + 3) t² + 1; of others: A t³ - 5 A t² + 8 A t - 4 A.
            let powers = match i {
                0 | 1 => [A + 2.0, -(A + 3.0), 0.0, 1.0],
                _ => [A, -5.0 * A, 8.0 * A, -4.0 * A],
            };
            let mut weight = cell.number(powers[0], self.like);
            for power in &powers[1..] {
                let power = cell.number(*power, self.like);
                let product = cell.op("Mul", &[&weight, &distance]);
                weight = cell.op("Add", &[&product, &power]);
            }
            taps.push(self.tap(cell, &pixel, Some(weight))?);
        }
        Ok(taps)
    }
}

/// The sums, or another combination, of pixels of images `[batch, channels, pixels]` at the places of taps of each axis,
/// `[batch, channels, places]`.
pub(crate) fn sampled(
    cell: &mut Cell<'_>,
    images: &str,
    axes: &[Axis],
    taps: &[Vec<Tap>],
    combine: &str,
) -> Result<String, String> {
    let one = cell.list(&[1]);
    let channels = cell.extent_of(images, 1);
    let spread = cell.op_with("Concat", "axis = 0", &[&one, &channels, &one]);
    let elem = cell.elem(0)?;
    // Every combination of taps of the axes.
    let mut combined: Vec<(Option<String>, Option<String>)> = vec![(None, None)];
    for (axis, taps) in axes.iter().zip(taps) {
        let mut next = Vec::new();
        for (index, weight) in &combined {
            for tap in taps {
                let index = match index {
                    None => tap.index.clone(),
                    Some(before) => {
                        let row = cell.op("Mul", &[before, &axis.size]);
                        cell.op("Add", &[&row, &tap.index])
                    }
                };
                let weight = match (weight, &tap.weight) {
                    (Some(before), Some(own)) => Some(cell.op("Mul", &[before, own])),
                    (before, own) => before.clone().or(own.clone()),
                };
                next.push((Some(index), weight));
            }
        }
        combined = next;
    }
    let mut total: Option<String> = None;
    for (index, weight) in combined {
        let index = index.ok_or("its images have no axes")?;
        let flat = cell.reshape(&index, &[0, 1, -1]);
        let flat = cell.op("Expand", &[&flat, &spread]);
        let mut pixels = cell.op_with("GatherElements", "axis = 2", &[images, &flat]);
        if let Some(weight) = weight {
            let mut weight = cell.reshape(&weight, &[0, 1, -1]);
            if axes.first().is_some_and(|axis| cell.elem(axis.like).ok() != Some(elem)) {
                weight = cell.op_with("Cast", &format!("to = {}", elem.0), &[&weight]);
            }
            pixels = cell.op("Mul", &[&pixels, &weight]);
        }
        total = Some(match total {
            None => pixels,
            Some(before) => cell.op(combine, &[&before, &pixels]),
        });
    }
    total.ok_or_else(|| "its images have no axes".to_owned())
}

/// One of the numbers in the last axis, of a tensor `[a, b, numbers]` or `[a, numbers]`.
pub(crate) fn component(cell: &mut Cell<'_>, of: &str, i: i64, axis: i64) -> String {
    let at = cell.number_of(i as f64, ElemType::INT64);
    cell.op_with("Gather", &format!("axis = {axis}"), &[of, &at])
}

/// The numbers `0 + shift`, `1 + shift` … below `count + shift`, which is a list of one element.
pub(crate) fn steps(cell: &mut Cell<'_>, count: &str, shift: f64, like: usize) -> Result<String, String> {
    let scalar = cell.list(&[]);
    let end = cell.op("Reshape", &[count, &scalar]);
    let (zero, one) = (cell.number_of(0.0, ElemType::INT64), cell.number_of(1.0, ElemType::INT64));
    let range = cell.op("Range", &[&zero, &end, &one]);
    let range = cell.op_with("Cast", &format!("to = {}", cell.elem(like)?.0), &[&range]);
    let shift = cell.number(shift, like);
    Ok(cell.op("Add", &[&range, &shift]))
}
