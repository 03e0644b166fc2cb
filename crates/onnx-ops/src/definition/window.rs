//! Sliding windows over the spatial axes, after batch and channels: their positions and conditions in definitions.

use super::cx::long;
use super::{Attributes, Binary, Cx, Expr, Index};
use crate::window::AutoPad;
pub(crate) use crate::window::Window;
pub use crate::window::{per_axis, positions, span};

impl Window {
    /// The window of a node over an input, for the positions of the first output.
    pub(crate) fn of(cx: &Cx<'_>, input: usize, kernel: Vec<i64>) -> Option<Window> {
        let (input, output) = (cx.input(input)?.dims, cx.out()?.dims);
        let (image, places) = (longs(input.get(2..)?)?, longs(output.get(2..)?)?);
        let rank = kernel.len();
        let Steps { strides, dilations, begin, end, auto } = Steps::of(cx.attributes, rank)?;
        let is_sound = image.len() == rank && places.len() == rank;
        if !is_sound || kernel.iter().any(|size| *size < 1) {
            return None;
        }
        let (image, places) = (Some(image), Some(places));
        let mut window = Window { kernel, strides, dilations, begin, end, image, places };
        window.pad(auto)?;
        Some(window)
    }

    /// A window with stride 1, with padding before an input of these sizes.
    pub(crate) fn stepwise(
        kernel: Vec<i64>,
        dilations: Vec<i64>,
        begin: Vec<i64>,
        image: Vec<i64>,
        places: Vec<i64>,
    ) -> Window {
        let (strides, end) = (vec![1; kernel.len()], vec![0; kernel.len()]);
        Window { kernel, strides, dilations, begin, end, image: Some(image), places: Some(places) }
    }

    /// The sizes of the kernel, as those of a reduction.
    pub(crate) fn kernel_sizes(&self) -> Option<Vec<usize>> {
        self.kernel.iter().map(|size| usize::try_from(*size).ok()).collect()
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

    /// The position of the last element of the last window.
    fn last(&self, axis: usize) -> Option<i64> {
        self.covered(axis, *self.places.as_ref()?.get(axis)?)?.checked_sub(1)?.checked_sub(self.begin[axis])
    }

    /// Whether these positions are inside the input; the inner `None` if always.
    pub(crate) fn is_inside(&self, positions: &[Index]) -> Option<Option<Expr>> {
        let mut conditions = Vec::new();
        for (axis, position) in positions.iter().enumerate() {
            let last = self.last(axis)?;
            if self.begin[axis] > 0 {
                conditions.push(Expr::Index(position.clone()).binary(Binary::GreaterOrEqual, Expr::int(0)));
            }
            let extent = self.image.as_ref()?[axis];
            if last >= extent {
                conditions.push(Expr::Index(position.clone()).less(Expr::int(extent)));
            }
        }
        Some(Expr::all(conditions))
    }

    /// Whether these positions are inside the input or the declared padding; the inner `None` if always.
    pub(crate) fn is_declared(&self, positions: &[Index]) -> Option<Option<Expr>> {
        let mut conditions = Vec::new();
        for (axis, position) in positions.iter().enumerate() {
            let limit = self.image.as_ref()?[axis].checked_add(self.end[axis])?;
            let last = self.last(axis)?;
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
    auto: AutoPad,
}

impl Steps {
    /// Reads the attributes of a node; `None` if they are invalid.
    fn of(attributes: &Attributes<'_>, rank: usize) -> Option<Steps> {
        const MAX_STEP: i64 = u32::MAX as i64;
        let list = |name, count, default, least| {
            per_axis(attributes.reader(), name, count, default, least..=MAX_STEP).ok()
        };
        let strides = list("strides", rank, 1, 1)?;
        let dilations = list("dilations", rank, 1, -MAX_STEP)?;
        let mut begin = list("pads", rank * 2, 0, -MAX_STEP)?;
        let mut end = begin.split_off(rank);
        let auto = AutoPad::parse(attributes.string("auto_pad").as_deref())?;
        if auto == AutoPad::Valid {
            (begin, end) = (vec![0; rank], vec![0; rank]);
        }
        Some(Steps { strides, dilations, begin, end, auto })
    }
}

pub(crate) fn longs(dims: &[usize]) -> Option<Vec<i64>> {
    dims.iter().map(|d| long(*d)).collect()
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
    if matches!(steps.auto, AutoPad::SameUpper | AutoPad::SameLower) {
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
