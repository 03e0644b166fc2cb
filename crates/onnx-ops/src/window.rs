//! Windows that slide over the spatial axes, after batch and channels, of inputs with known sizes: their geometry, which
//! definitions (`definition/window.rs`), derivatives (`derivative/window.rs`) and kernels share. Inference counts positions of windows
//! over symbolic sizes (`engine/rule/window.rs`).

use crate::facts::ResolvedAttrs;
use onnx_ir::diag::counted;
use std::ops::RangeInclusive;

/// A window, by spatial axis.
pub(crate) struct Window {
    pub(crate) kernel: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
    /// The padding before the input.
    pub(crate) begin: Vec<i64>,
    /// The padding after the input, as declared: the last windows may end before or after it.
    pub(crate) end: Vec<i64>,
    /// The sizes of the input, if known.
    pub(crate) image: Option<Vec<i64>>,
    /// The numbers of window positions, if known.
    pub(crate) places: Option<Vec<i64>>,
}

/// The attribute `auto_pad`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AutoPad {
    /// The padding is the attribute `pads`.
    NotSet,
    /// The input is not padded.
    Valid,
    /// The padding follows from the number of positions; the larger half of an odd one is after the input.
    SameUpper,
    /// Likewise, with the larger half before the input.
    SameLower,
}

impl AutoPad {
    /// `None` if there is no such value. The empty string is undocumented but accepted everywhere.
    pub(crate) fn parse(text: Option<&str>) -> Option<AutoPad> {
        Some(match text {
            None | Some("" | "NOTSET") => AutoPad::NotSet,
            Some("VALID") => AutoPad::Valid,
            Some("SAME_UPPER") => AutoPad::SameUpper,
            Some("SAME_LOWER") => AutoPad::SameLower,
            Some(_) => return None,
        })
    }
}

impl Window {
    /// The size that the kernel covers on an axis; `None` if it overflows.
    pub(crate) fn span(&self, axis: usize) -> Option<i64> {
        span(self.kernel[axis], self.dilations[axis])
    }

    /// The size that this many windows cover on an axis; `None` if it overflows.
    pub(crate) fn covered(&self, axis: usize, places: i64) -> Option<i64> {
        (places - 1).checked_mul(self.strides[axis])?.checked_add(self.span(axis)?)
    }

    /// Replaces the padding by that of `auto_pad`; `None` if it needs sizes that are unknown, or overflows.
    pub(crate) fn pad(&mut self, auto: AutoPad) -> Option<()> {
        let rank = self.kernel.len();
        if auto == AutoPad::NotSet {
            return Some(());
        }
        (self.begin, self.end) = (vec![0; rank], vec![0; rank]);
        if auto == AutoPad::Valid {
            return Some(());
        }
        for axis in 0..rank {
            let covered = self.covered(axis, *self.places.as_ref()?.get(axis)?)?;
            let total = covered.checked_sub(*self.image.as_ref()?.get(axis)?)?.max(0);
            let (less, more) = (total / 2, total - total / 2);
            (self.begin[axis], self.end[axis]) =
                if auto == AutoPad::SameLower { (more, less) } else { (less, more) };
        }
        Some(())
    }
}

/// A list attribute with `count` numbers in a range, such as one per spatial axis; by default, each is `default`.
///
/// # Errors
/// Another count, or a number that is not in the range.
pub fn per_axis(
    attributes: &ResolvedAttrs<'_>,
    name: &str,
    count: usize,
    default: i64,
    range: RangeInclusive<i64>,
) -> Result<Vec<i64>, String> {
    let Some(list) = attributes.ints(name).filter(|list| !list.is_empty()) else {
        return Ok(vec![default; count]);
    };
    if list.len() != count {
        return Err(format!(
            "attribute `{name}` has {}, but must have {count}",
            counted(list.len(), "number")
        ));
    }
    match list.iter().find(|n| !range.contains(*n)) {
        Some(outside) => Err(format!("attribute `{name}` cannot be {outside}")),
        None => Ok(list.to_vec()),
    }
}

/// The size that a kernel covers; `None` if it overflows.
pub fn span(kernel: i64, dilation: i64) -> Option<i64> {
    kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// The number of positions of a window that is entirely inside an axis with its padding; not positive if there is none.
pub fn positions(extent: i64, (begin, end): (i64, i64), span: i64, stride: i64) -> Option<i64> {
    let slack = extent.checked_add(begin)?.checked_add(end)?.checked_sub(span)?;
    slack.checked_div_euclid(stride)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(auto: Option<&str>, sizes: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let mut window = Window {
            kernel: vec![3],
            strides: vec![2],
            dilations: vec![2],
            begin: vec![7],
            end: vec![8],
            image: sizes.map(|(image, _)| vec![image]),
            places: sizes.map(|(_, places)| vec![places]),
        };
        window.pad(AutoPad::parse(auto)?)?;
        Some((window.begin[0], window.end[0]))
    }

    #[test]
    fn padding_follows_from_the_number_of_windows() {
        for (auto, expected) in [
            (None, Some((7, 8))),
            (Some(""), Some((7, 8))),
            (Some("VALID"), Some((0, 0))),
            // Four windows of five elements, two apart, cover 11 of 8.
            (Some("SAME_UPPER"), Some((1, 2))),
            (Some("SAME_LOWER"), Some((2, 1))),
            (Some("SAME"), None),
        ] {
            assert_eq!(window(auto, Some((8, 4))), expected, "{auto:?}");
        }
        assert_eq!(window(Some("SAME_UPPER"), Some((20, 4))), Some((0, 0)), "none is needed");
        assert_eq!(window(Some("SAME_UPPER"), Some((8, i64::MAX))), None, "overflow");
        assert_eq!((window(Some("SAME_UPPER"), None), window(Some("VALID"), None)), (None, Some((0, 0))));
    }
}
