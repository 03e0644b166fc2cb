//! Convolutions.

use crate::dims::Dim;
use crate::engine::rule::axes::int_or;
use crate::engine::rule::fit::{Extent, at_least, choice, divides, hold, one_or_each, single};
use crate::engine::rule::window::{Window, kernel};
use crate::engine::{Infer, NodeCx};
use crate::facts::Shape;
use onnx_ir::diag::{Diagnostic, code, counted};

/// Input and weight of a convolution; the shape of at least one is known.
pub(crate) struct Operands {
    /// The position of the input.
    pub(crate) x: usize,
    /// The shape of the input; all dimensions are unknown if only the shape of the weight is known.
    pub(crate) input: Shape,
    /// The position of the weight.
    pub(crate) w: usize,
    /// The shape of the weight, if it is known.
    pub(crate) weight: Option<Shape>,
}

impl Operands {
    pub(crate) fn read(cx: &mut NodeCx<'_, '_>, x: usize, w: usize) -> Option<Operands> {
        let known = |cx: &mut NodeCx<'_, '_>, i: usize| match cx.rank(i) {
            Some(_) => cx.shape_of_ranks(i, 3, None).map(Some),
            None => Some(None),
        };
        let (input, weight) = (known(cx, x)?, known(cx, w)?);
        if let (Some(input), Some(weight)) = (&input, &weight)
            && input.len() != weight.len()
        {
            let count = |shape: &Shape| counted(shape.len() - 2, "spatial axis");
            let (input, weight) = (count(input), count(weight));
            let message = format!("the weight tensor and the input of `{}` must have the same rank", cx.op());
            let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(w), message)
                .label(format!("the weight has {weight}"))
                .related(cx.at_input(x), format!("the input has {input}"));
            cx.fail(diagnostic)?;
        }
        let rank = input.as_ref().or(weight.as_ref()).map(Shape::len)?;
        let input = input.unwrap_or_else(|| std::iter::repeat_n(Dim::Unknown, rank).collect());
        Some(Operands { x, input, w, weight })
    }

    /// A dimension of the weight.
    pub(crate) fn of_weight(&self, axis: usize) -> Dim {
        self.weight.as_ref().map_or(Dim::Unknown, |shape| shape[axis])
    }

    /// The dimensions of the kernel.
    pub(crate) fn kernel(&self, cx: &mut NodeCx<'_, '_>) -> Option<Shape> {
        let spatial = self.weight.as_ref().map(|shape| &shape[2..]);
        kernel(cx, self.w, spatial, self.input.len() - 2)
    }
}

/// The number of groups, at least 1; `None` if the caller decides.
pub(crate) fn group(cx: &mut NodeCx<'_, '_>) -> Option<Dim> {
    at_least(cx, "group", 1)?;
    Some(int_or(cx, "group", 1).map_or(Dim::Unknown, Dim::Const))
}

pub(crate) fn conv(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut channels = convolve(cx, 0, 1)?;
    hold(cx, 2, &mut [&mut channels])
}

/// Convolves an input of `N, C, …` with a weight of `M, C/group, …`. Sets the output, and returns `M`.
fn convolve(cx: &mut NodeCx<'_, '_>, x: usize, w: usize) -> Option<Extent> {
    let operands = Operands::read(cx, x, w)?;
    let channels = in_groups(cx, &operands)?;
    let kernel = operands.kernel(cx)?;
    let window = Window::of_convolution(cx, kernel)?;
    let places = window.places(cx, x, &operands.input[2..])?;
    cx.set_shape(0, [operands.input[0], channels.dim].into_iter().chain(places));
    Some(channels)
}

/// Checks that input and weight have the same channels in each group. Returns the channels of the output.
fn in_groups(cx: &mut NodeCx<'_, '_>, operands: &Operands) -> Option<Extent> {
    let Operands { x, w, .. } = *operands;
    let group = group(cx)?;
    let mut inner = Extent::of_input("number of input channels", x, operands.input[1]);
    let taken = operands.of_weight(1);
    let taken = cx.dims().mul(taken, group);
    inner.agree_or(cx, w, taken, |a, b| match group {
        Dim::Const(2..) => {
            format!(
                "the input has {}, but the groups of the weight expect {b} in total",
                counted(a, "channel")
            )
        }
        Dim::Const(_) | Dim::Unknown | Dim::Expr(_) => {
            format!("the input has {}, but the weight expects {b}", counted(a, "channel"))
        }
    })?;
    let channels = operands.of_weight(0);
    let known = cx.dims().as_const(group);
    divides(cx, ("group", known), (w, "output channel", channels))?;
    Some(Extent::of_input("number of output channels", w, channels))
}

pub(crate) fn integer(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut channels = convolve(cx, 0, 1)?;
    single(cx, 2)?;
    one_or_each(cx, 3, &mut channels)
}

pub(crate) fn quantized(cx: &mut NodeCx<'_, '_>) -> Infer {
    let mut channels = convolve(cx, 0, 3)?;
    for scalar in [1, 2, 6, 7] {
        single(cx, scalar)?;
    }
    one_or_each(cx, 4, &mut channels)?;
    one_or_each(cx, 5, &mut channels)?;
    hold(cx, 8, &mut [&mut channels])
}

/// `X, W, offset, B, mask`. Offsets have an element for each axis, group, kernel position and output
/// position.
pub(crate) fn deformable(cx: &mut NodeCx<'_, '_>) -> Infer {
    let operands = Operands::read(cx, 0, 1)?;
    let mut channels = in_groups(cx, &operands)?;
    at_least(cx, "offset_group", 1)?;
    let offset_group = int_or(cx, "offset_group", 1);
    divides(cx, ("offset_group", offset_group), (0, "channel", operands.input[1]))?;
    let kernel = operands.kernel(cx)?;
    let window = Window::of_convolution(cx, kernel)?;
    let places = window.places(cx, 0, &operands.input[2..])?;
    let mut batch = Extent::of_input("batch size", 0, operands.input[0]);
    let mut places: Vec<Extent> = places.into_iter().map(|d| Extent::of_input("output size", 0, d)).collect();
    let mut weights = cx.dims().product(&window.kernel);
    weights = cx.dims().mul(weights, offset_group.map_or(Dim::Unknown, Dim::Const));
    let axes = i64::try_from(places.len()).ok()?;
    let offsets = cx.dims().mul(weights, Dim::Const(axes));
    for (input, what, count) in [(2, "number of offsets", offsets), (4, "number of masks", weights)] {
        let mut count = Extent::of_input(what, 1, count);
        let mut extents = vec![&mut batch, &mut count];
        extents.extend(places.iter_mut());
        hold(cx, input, &mut extents)?;
    }
    hold(cx, 3, &mut [&mut channels])?;
    cx.set_shape(0, [batch.dim, channels.dim].into_iter().chain(places.iter().map(|e| e.dim)));
    Some(())
}

/// `input, weight, bias, past_state` to an output of the input's shape, and the last `k - 1` positions.
pub(crate) fn causal(cx: &mut NodeCx<'_, '_>) -> Infer {
    choice(cx, "activation", &["none", "silu", "swish"])?;
    let mut batch = Extent::unknown("batch size");
    let mut channels = Extent::unknown("number of channels");
    let mut length = Extent::unknown("length");
    let mut kernel = Extent::unknown("kernel size");
    let mut one = Extent::fixed("number of channels per group", 1);
    hold(cx, 0, &mut [&mut batch, &mut channels, &mut length])?;
    hold(cx, 1, &mut [&mut channels, &mut one, &mut kernel])?;
    hold(cx, 2, &mut [&mut channels])?;
    if kernel.dim == Dim::Const(0) {
        let message = "the kernel must have at least one position".to_owned();
        return cx.fail_at_input(1, &code::SHAPE_PRECONDITION, message);
    }
    let past = cx.dims().sub(kernel.dim, Dim::Const(1));
    let mut past = kernel.derive("number of past positions", past);
    hold(cx, 3, &mut [&mut batch, &mut channels, &mut past])?;
    cx.set_shape(0, [batch.dim, channels.dim, length.dim]);
    cx.set_shape(1, [batch.dim, channels.dim, past.dim]);
    Some(())
}
