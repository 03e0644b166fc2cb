//! Sliding windows over the spatial axes, after batch and channels; for definitions and kernels, whose sizes are known.
//! Inference counts positions of windows over symbolic sizes (`infer/rule/window.rs`).

use super::cx::long;
use super::{Attributes, Binary, Cx, Expr, Index};
use crate::infer::ResolvedAttrs;
use std::ops::RangeInclusive;

/// A window, by spatial axis.
pub(crate) struct Window {
    pub(crate) kernel: Vec<usize>,
    pub(crate) strides: Vec<i64>,
    pub(crate) dilations: Vec<i64>,
    /// The padding before the input; the padding after it follows from the windows.
    pub(crate) begin: Vec<i64>,
    /// The declared padding after it.
    pub(crate) end: Vec<i64>,
    /// The spatial sizes of the input.
    extents: Vec<i64>,
    /// The numbers of window positions.
    places: Vec<i64>,
}

impl Window {
    /// The window of a node over an input, for the positions of the first output.
    pub(crate) fn of(cx: &Cx<'_>, input: usize, kernel: Vec<usize>) -> Option<Window> {
        let (input, output) = (cx.input(input)?.dims, cx.out()?.dims);
        let extents = longs(input.get(2..)?)?;
        let places = longs(output.get(2..)?)?;
        let rank = kernel.len();
        let Steps { strides, dilations, begin, end, same } = Steps::of(cx.attributes, rank)?;
        let is_sound = extents.len() == rank && places.len() == rank;
        if !is_sound || kernel.contains(&0) {
            return None;
        }
        let mut window = Window { kernel, strides, dilations, begin, end, extents, places };
        match same {
            None => {}
            Some(Same::Upper) => window.pad_evenly(false)?,
            Some(Same::Lower) => window.pad_evenly(true)?,
        }
        Some(window)
    }

    /// A window with stride 1, with padding before an input of these sizes.
    pub(crate) fn stepwise(
        kernel: Vec<usize>,
        dilations: Vec<i64>,
        begin: Vec<i64>,
        extents: Vec<i64>,
        places: Vec<i64>,
    ) -> Window {
        let (strides, end) = (vec![1; kernel.len()], vec![0; kernel.len()]);
        Window { kernel, strides, dilations, begin, end, extents, places }
    }

    /// Distributes the total padding evenly before and after the input.
    fn pad_evenly(&mut self, more_before: bool) -> Option<()> {
        for axis in 0..self.kernel.len() {
            let reach =
                (self.places[axis] - 1).checked_mul(self.strides[axis])?.checked_add(self.span(axis)?)?;
            let missing = (reach - self.extents[axis]).max(0);
            let half = missing / 2;
            let (less, more) = (half, missing - half);
            (self.begin[axis], self.end[axis]) = if more_before { (more, less) } else { (less, more) };
        }
        Some(())
    }

    /// The size that the kernel covers.
    fn span(&self, axis: usize) -> Option<i64> {
        span(long(self.kernel[axis])?, self.dilations[axis])
    }

    /// The position of a kernel element, by the indices of the window and of the element.
    pub(crate) fn position(&self, axis: usize, place: usize, element: usize) -> Index {
        let terms = vec![(place, self.strides[axis]), (element, self.dilations[axis])];
        Index::Affine(-self.begin[axis], terms)
    }

    /// The positions on all axes: indices of windows start at 2, those of the kernel at `kernel`.
    pub(crate) fn positions(&self, kernel: usize) -> Vec<Index> {
        (0..self.kernel.len()).map(|axis| self.position(axis, axis + 2, kernel + axis)).collect()
    }

    /// Whether these positions are inside the input; the inner `None` if always.
    pub(crate) fn is_inside(&self, positions: &[Index]) -> Option<Option<Expr>> {
        let mut conditions = Vec::new();
        for (axis, position) in positions.iter().enumerate() {
            let last = (self.places[axis] - 1)
                .checked_mul(self.strides[axis])?
                .checked_add(self.span(axis)? - 1)?
                .checked_sub(self.begin[axis])?;
            if self.begin[axis] > 0 {
                conditions.push(Expr::Index(position.clone()).binary(Binary::GreaterOrEqual, Expr::int(0)));
            }
            if last >= self.extents[axis] {
                conditions.push(Expr::Index(position.clone()).less(Expr::int(self.extents[axis])));
            }
        }
        Some(Expr::all(conditions))
    }

    /// Whether these positions are inside the input or the declared padding; the inner `None` if always.
    pub(crate) fn is_declared(&self, positions: &[Index]) -> Option<Option<Expr>> {
        let mut conditions = Vec::new();
        for (axis, position) in positions.iter().enumerate() {
            let limit = self.extents[axis].checked_add(self.end[axis])?;
            let last = (self.places[axis] - 1)
                .checked_mul(self.strides[axis])?
                .checked_add(self.span(axis)? - 1)?
                .checked_sub(self.begin[axis])?;
            if last >= limit {
                conditions.push(Expr::Index(position.clone()).less(Expr::int(limit)));
            }
        }
        Some(Expr::all(conditions))
    }
}

/// How a window moves, by spatial axis.
struct Steps {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// The declared padding before and after the input.
    begin: Vec<i64>,
    end: Vec<i64>,
    /// Padding that follows from the number of positions instead.
    same: Option<Same>,
}

/// Where the larger half of an odd padding is.
enum Same {
    Upper,
    Lower,
}

impl Steps {
    /// Reads the attributes of a node; `None` if they are invalid.
    fn of(attributes: &Attributes<'_>, rank: usize) -> Option<Steps> {
        const MOST: i64 = u32::MAX as i64;
        let list = |name, count, default, least| {
            per_axis(attributes.reader(), name, count, default, least..=MOST).ok()
        };
        let strides = list("strides", rank, 1, 1)?;
        let dilations = list("dilations", rank, 1, -MOST)?;
        let mut begin = list("pads", rank * 2, 0, -MOST)?;
        let mut end = begin.split_off(rank);
        let same = match attributes.string("auto_pad").as_deref() {
            None | Some("" | "NOTSET") => None,
            Some("VALID") => {
                (begin, end) = (vec![0; rank], vec![0; rank]);
                None
            }
            Some("SAME_UPPER") => Some(Same::Upper),
            Some("SAME_LOWER") => Some(Same::Lower),
            Some(_) => return None,
        };
        Some(Steps { strides, dilations, begin, end, same })
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
        return Err(format!("attribute `{name}` has {} numbers, but must have {count}", list.len()));
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

pub(crate) fn longs(dims: &[usize]) -> Option<Vec<i64>> {
    dims.iter().map(|d| long(*d)).collect()
}

/// Sizes from an attribute.
pub(crate) fn sizes(list: Vec<i64>) -> Option<Vec<usize>> {
    list.into_iter().map(|n| usize::try_from(n).ok()).collect()
}

/// The output shape of pooling where the documentation leaves it open and all implementations agree: before version 22, windows
/// that start after the input do not count.
pub(crate) fn open_shape(attributes: &Attributes<'_>, input: &[usize]) -> Option<Vec<usize>> {
    let kernel = attributes.ints("kernel_shape")?;
    let rank = kernel.len();
    if input.len() != rank + 2 || !attributes.is("ceil_mode") {
        return None;
    }
    let steps = Steps::of(attributes, rank)?;
    if steps.same.is_some() {
        return None;
    }
    let mut shape = input[..2].to_vec();
    for axis in 0..rank {
        let (extent, stride) = (long(input[axis + 2])?, steps.strides[axis]);
        let before = extent.checked_add(steps.begin[axis])?;
        let slack =
            before.checked_add(steps.end[axis])?.checked_sub(span(kernel[axis], steps.dilations[axis])?)?;
        if slack < 0 {
            return None;
        }
        // Windows that fit partially, and those that start before the end of the input.
        let places = slack.checked_add(stride - 1)? / stride + 1;
        let inside = before.checked_add(stride - 1)?.div_euclid(stride);
        shape.push(usize::try_from(places.min(inside)).ok()?);
    }
    Some(shape)
}
