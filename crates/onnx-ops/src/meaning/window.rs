//! Sliding windows over the spatial axes, after batch and channels.

use crate::meaning::cx::long;
use crate::meaning::{Attributes, Binary, Cx, Expr, Index};

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
        let list = |name: &str, default: i64, n: usize| match cx.attributes.ints(name) {
            Some(list) if list.is_empty() => Some(vec![default; n]),
            Some(list) => {
                (list.len() == n && list.iter().all(|i| i.unsigned_abs() < 1 << 32)).then_some(list)
            }
            None => Some(vec![default; n]),
        };
        let (strides, dilations) = (list("strides", 1, rank)?, list("dilations", 1, rank)?);
        let pads = list("pads", 0, rank * 2)?;
        let is_sound = extents.len() == rank && places.len() == rank && strides.iter().all(|s| *s > 0);
        if !is_sound || kernel.contains(&0) {
            return None;
        }
        let mut window = Window {
            kernel,
            strides,
            dilations,
            begin: pads[..rank].to_vec(),
            end: pads[rank..].to_vec(),
            extents,
            places,
        };
        match cx.attributes.string("auto_pad").as_deref() {
            None | Some("" | "NOTSET") => {}
            Some("VALID") => (window.begin, window.end) = (vec![0; rank], vec![0; rank]),
            Some("SAME_UPPER") => window.pad_evenly(false)?,
            Some("SAME_LOWER") => window.pad_evenly(true)?,
            Some(_) => return None,
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
        long(self.kernel[axis])?.checked_sub(1)?.checked_mul(self.dilations[axis])?.checked_add(1)
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
    let list = |name: &str, default: i64, n: usize| {
        let list = attributes.ints(name).filter(|list| !list.is_empty()).unwrap_or_else(|| vec![default; n]);
        (list.len() == n && list.iter().all(|i| i.unsigned_abs() < 1 << 32)).then_some(list)
    };
    let rank = kernel.len();
    if input.len() != rank + 2 || !attributes.is("ceil_mode") {
        return None;
    }
    let (strides, dilations) = (list("strides", 1, rank)?, list("dilations", 1, rank)?);
    let pads = match attributes.string("auto_pad").as_deref() {
        None | Some("" | "NOTSET") => list("pads", 0, rank * 2)?,
        Some("VALID") => vec![0; rank * 2],
        Some(_) => return None,
    };
    let mut shape = input[..2].to_vec();
    for axis in 0..rank {
        let (extent, stride) = (long(input[axis + 2])?, strides[axis]);
        let span = kernel[axis].checked_sub(1)?.checked_mul(dilations[axis])?.checked_add(1)?;
        let before = extent.checked_add(pads[axis])?;
        let slack = before.checked_add(pads[rank + axis])?.checked_sub(span)?;
        if stride < 1 || slack < 0 {
            return None;
        }
        // Windows that fit partially, and those that start before the end of the input.
        let places = slack.checked_add(stride - 1)? / stride + 1;
        let inside = before.checked_add(stride - 1)?.div_euclid(stride);
        shape.push(usize::try_from(places.min(inside)).ok()?);
    }
    Some(shape)
}
