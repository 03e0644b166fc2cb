//! The geometry of windows on images, for derivatives of convolutions and pooling.

use super::cell::{Cell, numbers};
use crate::facts::Shape;
use crate::window::AutoPad;
pub(crate) use crate::window::Window;

pub(crate) fn joined(values: impl IntoIterator<Item = i64>) -> String {
    let text: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    format!("[{}]", text.join(", "))
}

impl Window {
    /// The window of a node, for this kernel size.
    pub(crate) fn read(
        cell: &Cell<'_>,
        kernel: Vec<i64>,
        image: Option<Vec<i64>>,
        places: Option<Vec<i64>>,
    ) -> Result<Self, String> {
        let count = kernel.len();
        let list = |name: &str, value: i64| match cell.site.ints(name) {
            Some(list) if list.len() == count => list,
            Some(_) | None => vec![value; count],
        };
        let (strides, dilations) = (list("strides", 1), list("dilations", 1));
        if strides.iter().chain(&dilations).chain(&kernel).any(|n| !(1..=1 << 20).contains(n)) {
            return Err("its window is not sound".to_owned());
        }
        let pads = match cell.site.ints("pads") {
            Some(pads) if pads.len() == 2 * count => pads,
            Some(_) | None => vec![0; 2 * count],
        };
        let (begin, end) = (pads[..count].to_vec(), pads[count..].to_vec());
        let mut window = Window { kernel, strides, dilations, begin, end, image, places };
        let auto = cell.site.string("auto_pad");
        let text = auto.as_deref();
        match AutoPad::parse(text).map(|auto| window.pad(auto)) {
            Some(Some(())) => Ok(window),
            Some(None) => Err(format!("`auto_pad = \"{}\"` needs known shapes", text.unwrap_or_default())),
            None => Err("its window is not sound".to_owned()),
        }
    }

    pub(crate) fn pads(&self) -> String {
        joined(self.begin.iter().chain(&self.end).copied())
    }

    /// The transposed sum over windows: each element receives the gradients of its windows, times the weights.
    pub(crate) fn back(
        &self,
        cell: &mut Cell<'_>,
        gradient: &str,
        weights: &str,
        group: i64,
        extents: &[String],
    ) -> String {
        let (strides, dilations) = (joined(self.strides.clone()), joined(self.dilations.clone()));
        let common = format!("dilations = {dilations}, group = {group}, strides = {strides}");
        if let Some(rest) = self.rest() {
            let attrs = format!("{common}, output_padding = {}, pads = {}", joined(rest), self.pads());
            return cell.op_with("ConvTranspose", &attrs, &[gradient, weights]);
        }
        // Everything that windows can cover, which includes the image.
        let more = joined(self.strides.iter().map(|stride| stride - 1));
        let attrs = format!("{common}, output_padding = {more}");
        let all = cell.op_with("ConvTranspose", &attrs, &[gradient, weights]);
        let starts = cell.list(&self.begin);
        let extents: Vec<&str> = extents.iter().map(String::as_str).collect();
        let extents = cell.op_with("Concat", "axis = 0", &extents);
        let ends = cell.op("Add", &[&starts, &extents]);
        let axes: Vec<i64> = (2..).take(self.kernel.len()).collect();
        let axes = cell.list(&axes);
        cell.op("Slice", &[&all, &starts, &ends, &axes])
    }

    /// The numbers of elements after the last window on each axis, if known and less than a stride.
    fn rest(&self) -> Option<Vec<i64>> {
        let (image, places) = (self.image.as_ref()?, self.places.as_ref()?);
        let rest = |axis: usize| {
            let covered = self.covered(axis, places[axis])?;
            let rest = image[axis] - (covered - self.begin[axis] - self.end[axis]);
            (0..self.strides[axis]).contains(&rest).then_some(rest)
        };
        let is_plain = self.begin.iter().chain(&self.end).all(|pad| *pad >= 0);
        (0..self.kernel.len()).map(rest).collect::<Option<_>>().filter(|_| is_plain)
    }
}

pub(crate) fn spatial(shape: Option<&Shape>) -> Option<Vec<i64>> {
    numbers(&shape?.iter().skip(2).copied().collect())
}

/// The spatial sizes of a tensor of the derivative.
pub(crate) fn extents(
    cell: &mut Cell<'_>,
    name: &str,
    known: Option<&Vec<i64>>,
    count: usize,
) -> Vec<String> {
    match known {
        Some(known) => known.iter().map(|n| cell.list(&[*n])).collect(),
        None => (2..).take(count).map(|axis| cell.extent_of(name, axis)).collect(),
    }
}
