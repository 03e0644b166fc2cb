//! Constraints between inputs, and their errors: common dimensions, shapes that broadcast, attributes with
//! few valid values.

use crate::dims::Dim;
use crate::engine::rule::axes::type_text;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Shape, dim_text};
use onnx_ir::diag::{Diagnostic, code, counted_are};
use smallvec::smallvec;

/// Where a dimension comes from.
#[derive(Clone, Copy)]
enum Says {
    Input(usize),
    Attr(&'static str),
    /// The documentation of the operator.
    Operator,
}

/// A dimension that several inputs share, in its simplest known form.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    /// Its name: `batch size`.
    what: &'static str,
    /// The dimension.
    pub(crate) dim: Dim,
    says: Says,
}

impl Extent {
    pub(crate) fn unknown(what: &'static str) -> Extent {
        Extent { what, dim: Dim::Unknown, says: Says::Operator }
    }

    pub(crate) fn fixed(what: &'static str, extent: i64) -> Extent {
        Extent { what, dim: Dim::Const(extent), says: Says::Operator }
    }

    pub(crate) fn of_input(what: &'static str, input: usize, dim: Dim) -> Extent {
        Extent { what, dim, says: Says::Input(input) }
    }

    pub(crate) fn of_attr(what: &'static str, attr: &'static str, dim: Dim) -> Extent {
        Extent { what, dim, says: Says::Attr(attr) }
    }

    /// A dimension that follows from this one, under another name.
    pub(crate) fn derive(&self, what: &'static str, dim: Dim) -> Extent {
        Extent { what, dim, says: self.says }
    }

    /// Checks that an input has this dimension.
    pub(crate) fn agree(&mut self, cx: &mut NodeCx<'_, '_>, input: usize, dim: Dim) -> Infer {
        let what = self.what;
        self.agree_or(cx, input, dim, |a, b| format!("conflicting {what}: {a} and {b}"))
    }

    /// [`agree`](Self::agree) with another message.
    pub(crate) fn agree_or(
        &mut self,
        cx: &mut NodeCx<'_, '_>,
        input: usize,
        dim: Dim,
        message: impl FnOnce(&str, &str) -> String,
    ) -> Infer {
        if let Ok(both) = cx.dims().equate(self.dim, dim) {
            if both != self.dim && dim != Dim::Unknown {
                self.says = Says::Input(input);
            }
            self.dim = both;
            return Some(());
        }
        let [a, b] = [self.dim, dim].map(|d| {
            let d = cx.dims().resolve(d);
            dim_text(cx.dims(), d)
        });
        let text = type_text(cx, input);
        let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message(&a, &b))
            .label(format!("this is {text}"));
        let diagnostic = match self.says {
            Says::Input(i) if i != input => {
                let text = type_text(cx, i);
                diagnostic.related(cx.at_input(i), format!("this is {text}"))
            }
            Says::Attr(name) => diagnostic.related(cx.at_attr(name), format!("the {} is {a}", self.what)),
            Says::Input(_) | Says::Operator => diagnostic,
        };
        cx.fail(diagnostic)
    }
}

/// Checks that an input has these dimensions, as far as it is known.
pub(crate) fn hold(cx: &mut NodeCx<'_, '_>, input: usize, extents: &mut [&mut Extent]) -> Infer {
    if cx.rank(input).is_none() {
        return Some(());
    }
    let shape = cx.shape_of_rank(input, extents.len())?;
    for (extent, &dim) in extents.iter_mut().zip(&shape) {
        extent.agree(cx, input, dim)?;
    }
    Some(())
}

/// Checks that an input is one element, or has one for each element of an axis.
pub(crate) fn one_or_each(cx: &mut NodeCx<'_, '_>, input: usize, extent: &mut Extent) -> Infer {
    if cx.rank(input).is_none() {
        return Some(());
    }
    match cx.shape_of_ranks(input, 0, Some(1))?[..] {
        [dim] if is_never_one(cx, dim) => extent.agree(cx, input, dim),
        _ => Some(()),
    }
}

/// Checks that an input has one element, as a scalar or as a list.
pub(crate) fn single(cx: &mut NodeCx<'_, '_>, input: usize) -> Infer {
    one_or_each(cx, input, &mut Extent::fixed("number of elements", 1))
}

fn is_never_one(cx: &mut NodeCx<'_, '_>, dim: Dim) -> bool {
    let dims = cx.dims();
    dims.lower_bound(dim).is_some_and(|least| least > 1) || dims.upper_bound(dim).is_some_and(|most| most < 1)
}

/// Checks that an input broadcasts to the shape of another one without changing it (Broadcasting.md, unidirectional).
pub(crate) fn broadcasts_to(cx: &mut NodeCx<'_, '_>, input: usize, (other, shape): (usize, &[Dim])) -> Infer {
    let Some(own) = cx.shape(input) else { return Some(()) };
    let conflict = |cx: &mut NodeCx<'_, '_>, message: String| {
        let text = [input, other].map(|i| type_text(cx, i));
        let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message);
        let diagnostic = diagnostic.label(format!("this is {}", text[0]));
        cx.fail(diagnostic.related(cx.at_input(other), format!("this is {}", text[1])))
    };
    let Some(spare) = shape.len().checked_sub(own.len()) else {
        return conflict(cx, format!("cannot broadcast rank {} to rank {}", own.len(), shape.len()));
    };
    for (&dim, &target) in own.iter().zip(&shape[spare..]) {
        if is_never_one(cx, dim) && cx.dims().equate(target, dim).is_err() {
            let [from, to] = [dim, target].map(|d| dim_text(cx.dims(), d));
            return conflict(cx, format!("cannot broadcast {from} to {to}"));
        }
    }
    Some(())
}

/// Broadcasts one axis of two inputs: the dimension, and the input that it comes from.
pub(crate) fn broadcast_axis(
    cx: &mut NodeCx<'_, '_>,
    (i, a): (usize, Dim),
    (j, b): (usize, Dim),
    message: impl FnOnce(&str, &str) -> String,
) -> Option<(usize, Dim)> {
    let (a, b) = (cx.dims().resolve(a), cx.dims().resolve(b));
    if let Ok(both) = cx.dims().broadcast(a, b) {
        return Some((if both == a { i } else { j }, both));
    }
    // They cannot be equal either, which reports the error.
    cx.equate((i, a), (j, b), message)?;
    None
}

/// Checks that inputs have equal shapes, as far as they are known; returns the shape.
pub(crate) fn same_shapes(cx: &mut NodeCx<'_, '_>, inputs: &[usize]) -> Option<Shape> {
    let mut best: Option<(usize, Shape)> = None;
    for &i in inputs {
        let Some((first, mut shape)) = best.take() else {
            best = cx.shape(i).map(|shape| (i, shape));
            continue;
        };
        if let Some(other) = cx.shape(i) {
            if other.len() != shape.len() {
                let message = format!(
                    "`{}` expects equal shapes, but the ranks are {} and {}",
                    cx.op(),
                    shape.len(),
                    other.len()
                );
                let text = [first, i].map(|i| type_text(cx, i));
                let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(i), message)
                    .label(format!("this is {}", text[1]))
                    .related(cx.at_input(first), format!("this is {}", text[0]));
                cx.fail(diagnostic)?;
            }
            for (axis, (mine, other)) in shape.iter_mut().zip(other).enumerate() {
                let op = cx.op();
                let message = |a: &str, b: &str| {
                    format!("`{op}` expects equal shapes, but axis {axis} has sizes {a} and {b}")
                };
                *mine = cx.equate((first, *mine), (i, other), message)?;
            }
        }
        best = Some((first, shape));
    }
    best.map(|(_, shape)| shape)
}

/// Checks that a string attribute is one of a few values, if it is known and the version has it.
pub(crate) fn choice(cx: &mut NodeCx<'_, '_>, name: &str, allowed: &[&'static str]) -> Infer {
    if cx.string(name).is_some() {
        cx.one_of(name, allowed)?;
    }
    Some(())
}

/// Checks that an integer attribute, if it is known, is not too small.
pub(crate) fn at_least(cx: &mut NodeCx<'_, '_>, name: &str, least: i64) -> Infer {
    match cx.int(name) {
        Some(n) if n < least => {
            cx.fail_at_attr(name, format!("`{name}` of `{}` must be at least {least}, but is {n}", cx.op()))
        }
        Some(_) | None => Some(()),
    }
}

/// Checks that an integer attribute, if it is known, is 0 or 1.
pub(crate) fn flag(cx: &mut NodeCx<'_, '_>, name: &str) -> Infer {
    match cx.int(name) {
        Some(n) if n != 0 && n != 1 => cx.fail_at_attr(name, format!("`{name}` must be 0 or 1, but is {n}")),
        Some(_) | None => Some(()),
    }
}

/// A list attribute of `len` integers of at least `least`; `default` for each if the node does not have it.
pub(crate) fn list_of(
    cx: &mut NodeCx<'_, '_>,
    name: &str,
    len: usize,
    default: i64,
    least: i64,
) -> Option<Shape> {
    if !cx.has_attr(name) {
        return Some(smallvec![Dim::Const(default); len]);
    }
    let Some(list) = cx.ints(name) else { return Some(smallvec![Dim::Unknown; len]) };
    let op = cx.op();
    if list.len() != len {
        let plural = if list.len() == 1 { "" } else { "s" };
        let message = format!("`{name}` of `{op}` has {} value{plural}, but needs {len}", list.len());
        cx.fail_at_attr(name, message)?;
    }
    if let Some(small) = list.iter().find(|&&n| n < least) {
        cx.fail_at_attr(
            name,
            format!("each value of `{name}` of `{op}` must be at least {least}, but one is {small}"),
        )?;
    }
    Some(list.into_iter().map(Dim::Const).collect())
}

/// Checks that a number divides a dimension of an input, if both are known.
pub(crate) fn divides(
    cx: &mut NodeCx<'_, '_>,
    (attr, divisor): (&str, Option<i64>),
    (input, noun, dim): (usize, &str, Dim),
) -> Infer {
    let (Some(divisor @ 1..), Some(extent)) = (divisor, cx.dims().as_const(dim)) else { return Some(()) };
    if extent % divisor == 0 {
        return Some(());
    }
    let text = type_text(cx, input);
    let message = format!("{} not a multiple of `{attr}`, {divisor}", counted_are(extent, noun));
    let diagnostic = Diagnostic::new(&code::SHAPE_PRECONDITION, cx.at_input(input), message)
        .label(format!("this is {text}"))
        .related(cx.at_attr(attr), format!("`{attr}` is {divisor}"));
    cx.fail(diagnostic)
}
