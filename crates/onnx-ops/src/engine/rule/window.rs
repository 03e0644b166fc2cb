//! Windows that slide over the spatial axes of an input: the number of their positions.
//!
//! ```text
//! floor((extent + pads - (dilation * (kernel - 1) + 1)) / stride) + 1
//! ```

use crate::dims::{Dim, Dims};
use crate::engine::rule::axes::type_text;
use crate::engine::rule::fit::{Extent, choice, list_of};
use crate::engine::{Infer, NodeCx};
use crate::facts::{Shape, dim_text};
use onnx_ir::diag::{Diagnostic, code, counted};
use smallvec::smallvec;

/// A window and how it moves.
pub(crate) struct Window {
    /// Its size.
    pub(crate) kernel: Shape,
    strides: Shape,
    dilations: Shape,
    padding: Padding,
    rounding: Rounding,
    is_pool: bool,
}

/// The padding around the input.
enum Padding {
    /// Before and after each axis.
    Explicit(Shape, Shape),
    /// Padding for an output of the input size divided by the stride, rounded up.
    Same,
    /// Unknown, or two attributes contradict each other.
    Unknown,
}

/// How windows that are partly outside of the input are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// Not counted.
    Down,
    /// Counted.
    Up,
    /// Counted, unless they are entirely in the padding after the input.
    UpInside,
    /// The caller decides.
    Unknown,
}

/// The values of `auto_pad`. The empty string is undocumented but accepted everywhere.
const AUTO_PADS: &[&str] = &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", ""];

/// The value of `auto_pad`: `Some("")` is none, and `None` inside is unknown.
pub(crate) fn auto_pad(cx: &mut NodeCx<'_, '_>) -> Option<Option<&'static str>> {
    if !cx.has_attr("auto_pad") {
        return Some(Some(""));
    }
    choice(cx, "auto_pad", AUTO_PADS)?;
    let known = cx.string("auto_pad").and_then(|text| AUTO_PADS.iter().copied().find(|a| *a == text));
    Some(match known {
        Some("NOTSET") => Some(""),
        known => known,
    })
}

/// `pads` before and after each axis.
pub(crate) fn pads(cx: &mut NodeCx<'_, '_>, axes: usize) -> Option<(Shape, Shape)> {
    let both = list_of(cx, "pads", axes * 2, 0, 0)?;
    let (begin, end) = both.split_at(axes);
    Some((begin.into(), end.into()))
}

/// The size of the kernel of a convolution: the attribute, or that of the weight.
pub(crate) fn kernel(
    cx: &mut NodeCx<'_, '_>,
    weight: usize,
    spatial: Option<&[Dim]>,
    axes: usize,
) -> Option<Shape> {
    let unknown: Shape = smallvec![Dim::Unknown; axes];
    let spatial = spatial.unwrap_or(&unknown);
    if !cx.has_attr("kernel_shape") {
        return Some(spatial.into());
    }
    let mut kernel = list_of(cx, "kernel_shape", axes, 1, 1)?;
    for (mine, &other) in kernel.iter_mut().zip(spatial) {
        let mut extent = Extent::of_attr("kernel size", "kernel_shape", *mine);
        extent.agree(cx, weight, other)?;
        *mine = extent.dim;
    }
    Some(kernel)
}

impl Window {
    /// The window of a convolution; `pads` and `auto_pad` exclude each other.
    pub(crate) fn of_convolution(cx: &mut NodeCx<'_, '_>, kernel: Shape) -> Option<Window> {
        let (window, auto_pad) = Self::read(cx, kernel, Rounding::Down, false)?;
        if !matches!(auto_pad, Some("") | None) && cx.has_attr("pads") {
            let message = format!("`pads` of `{}` cannot be combined with `auto_pad`", cx.op());
            let diagnostic = Diagnostic::new(&code::ATTR_VALUE, cx.at_attr("pads"), message);
            cx.fail(diagnostic.related(cx.at_attr("auto_pad"), "the other attribute"))?;
        }
        Some(window)
    }

    /// The window of a pool. If `pads` and `auto_pad` contradict each other, the result depends on the implementation.
    pub(crate) fn of_pool(cx: &mut NodeCx<'_, '_>, kernel: Shape) -> Option<Window> {
        let rounding = match cx.int("ceil_mode") {
            Some(0) => Rounding::Down,
            Some(_) if cx.since() < 22 => Rounding::Up,
            Some(_) => Rounding::UpInside,
            None if cx.has_attr("ceil_mode") => Rounding::Unknown,
            None => Rounding::Down,
        };
        Some(Self::read(cx, kernel, rounding, true)?.0)
    }

    /// The window, and the value of `auto_pad`.
    fn read(
        cx: &mut NodeCx<'_, '_>,
        kernel: Shape,
        rounding: Rounding,
        is_pool: bool,
    ) -> Option<(Window, Option<&'static str>)> {
        let axes = kernel.len();
        let strides = list_of(cx, "strides", axes, 1, 1)?;
        let dilations = list_of(cx, "dilations", axes, 1, 1)?;
        let (begin, end) = pads(cx, axes)?;
        let is_padded = begin.iter().chain(&end).any(|&d| d != Dim::Const(0));
        let auto_pad = auto_pad(cx)?;
        let padding = match auto_pad {
            None => Padding::Unknown,
            Some("") => Padding::Explicit(begin, end),
            Some("VALID") if !is_padded => Padding::Explicit(begin, end),
            Some(_) if cx.has_attr("pads") => Padding::Unknown,
            Some(_) => Padding::Same,
        };
        Some((Window { kernel, strides, dilations, padding, rounding, is_pool }, auto_pad))
    }

    /// The number of window positions on each spatial axis of an input.
    pub(crate) fn places(&self, cx: &mut NodeCx<'_, '_>, input: usize, spatial: &[Dim]) -> Option<Shape> {
        (0..self.kernel.len()).map(|axis| self.places_at(cx, input, axis, spatial[axis])).collect()
    }

    fn places_at(&self, cx: &mut NodeCx<'_, '_>, input: usize, axis: usize, extent: Dim) -> Option<Dim> {
        let stride = self.strides[axis];
        let (begin, end) = match &self.padding {
            Padding::Explicit(begin, end) => (begin[axis], end[axis]),
            Padding::Same => return Some(cx.dims().ceil_div(extent, stride)),
            Padding::Unknown => return Some(Dim::Unknown),
        };
        let dims = cx.dims();
        let span = span(dims, self.kernel[axis], self.dilations[axis]);
        // Combines the constants first: each sum with a symbol is normalized.
        let behind = dims.sub(end, span);
        let around = dims.add(begin, behind);
        if dims.upper_bound(extent).is_none() && self.rounding == Rounding::Down {
            return Some(self.places_down(dims, axis, extent, around));
        }
        let slack = dims.add(extent, around);
        if dims.upper_bound(slack).is_some_and(|most| most < 0) && extent != Dim::Const(0) {
            // The window is larger than the padded input. Pools that divide towards zero still have positions.
            let up = dims.ceil_div(slack, stride);
            if !self.is_pool || dims.upper_bound(up).is_some_and(|most| most < -1) {
                let padding = dims.add(begin, end);
                let padded = dims.add(extent, padding);
                let [span, padded] = [span, padded].map(|d| dim_text(dims, d));
                return self.too_large(cx, input, axis, &span, &padded).map(|()| Dim::Unknown);
            }
            if self.rounding == Rounding::Down && dims.floor_div(slack, stride) != up {
                return Some(Dim::Unknown);
            }
        }
        let is_partial = match self.rounding {
            Rounding::Down => return Some(self.places_down(dims, axis, extent, around)),
            Rounding::Unknown => return Some(Dim::Unknown),
            Rounding::Up => true,
            Rounding::UpInside => false,
        };
        let up = dims.ceil_div(slack, stride);
        let places = dims.add(up, Dim::Const(1));
        let last = dims.add(behind, stride);
        if dims.upper_bound(last).is_some_and(|most| most <= 0) {
            return Some(places);
        }
        let before = dims.add(extent, begin);
        let inside = dims.ceil_div(before, stride);
        let fewer = dims.min(places, inside);
        if !is_partial {
            return Some(fewer);
        }
        // The documentation counts windows in the padding, implementations do not.
        Some(if dims.known_equal(places, fewer) == Some(true) { places } else { Dim::Unknown })
    }

    /// One more than the number of strides in a size with padding.
    fn places_down(&self, dims: &mut Dims, axis: usize, extent: Dim, around: Dim) -> Dim {
        let stride = self.strides[axis];
        let first = dims.add(around, stride);
        let strides = dims.add(extent, first);
        dims.floor_div(strides, stride)
    }

    fn too_large(
        &self,
        cx: &mut NodeCx<'_, '_>,
        input: usize,
        axis: usize,
        span: &str,
        padded: &str,
    ) -> Infer {
        let text = type_text(cx, input);
        let message = format!(
            "the window of `{}` spans {}, but the padded axis has {padded}",
            cx.op(),
            counted(span, "element")
        );
        let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message)
            .label(format!("this is {text}: axis {} is too short", axis + 2));
        cx.fail(diagnostic)
    }
}

/// The span from the first to the last element of a kernel: `dilation * (kernel - 1) + 1`.
pub(crate) fn span(dims: &mut Dims, kernel: Dim, dilation: Dim) -> Dim {
    let gaps = dims.sub(kernel, Dim::Const(1));
    let gaps = dims.mul(gaps, dilation);
    dims.add(gaps, Dim::Const(1))
}
