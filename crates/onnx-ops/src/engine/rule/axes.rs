//! Axes and other lists of integers that are attributes in old versions of an operator and inputs in new ones.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Ints, Shape};
use onnx_ir::diag::{Diagnostic, Place, code};
use smallvec::SmallVec;

/// A list of integers that is an attribute or an input.
#[derive(Clone, Copy)]
pub(crate) struct Param {
    /// The attribute, in the versions that have it.
    attr: &'static str,
    /// The input, in the others.
    input: usize,
}

/// The known part of such a list.
pub(crate) enum List {
    Absent,
    /// Present but unknown, with its length if that is known.
    Unknown(Option<usize>),
    Known(Ints),
}

impl Param {
    pub(crate) const fn new(attr: &'static str, input: usize) -> Param {
        Param { attr, input }
    }

    fn is_attr(self, cx: &NodeCx<'_, '_>) -> bool {
        cx.schema().attr(self.attr).is_some()
    }

    /// The place of the list.
    pub(crate) fn place(self, cx: &NodeCx<'_, '_>) -> Place {
        if self.is_attr(cx) { cx.at_attr(self.attr) } else { cx.at_input(self.input) }
    }

    /// The known part of the list.
    pub(crate) fn list(self, cx: &mut NodeCx<'_, '_>) -> List {
        if self.is_attr(cx) {
            return match cx.ints(self.attr) {
                Some(list) => List::Known(list),
                None if cx.has_attr(self.attr) => List::Unknown(None),
                None => List::Absent,
            };
        }
        if !cx.has_input(self.input) {
            return List::Absent;
        }
        match cx.ints_of(self.input) {
            Some(list) => List::Known(list),
            None => List::Unknown(cx.extents_of(self.input).map(|e| e.len())),
        }
    }

    /// Its elements as dimensions.
    pub(crate) fn extents(self, cx: &mut NodeCx<'_, '_>) -> Option<Shape> {
        if self.is_attr(cx) {
            let list = cx.ints(self.attr)?;
            return Some(list.into_iter().map(Dim::Const).collect());
        }
        cx.extents_of(self.input)
    }

    /// Reports an invalid list: an attribute, or a constant input.
    pub(crate) fn fail(self, cx: &mut NodeCx<'_, '_>, message: String) -> Infer {
        if self.is_attr(cx) {
            return cx.fail_at_attr(self.attr, message);
        }
        cx.fail_at_input(self.input, &code::CONSTANT_INPUT, message)
    }

    /// [`fail`](Self::fail) with the type of an input as the cause.
    pub(crate) fn fail_for(self, cx: &mut NodeCx<'_, '_>, message: String, cause: usize) -> Infer {
        let code = if self.is_attr(cx) { &code::ATTR_VALUE } else { &code::CONSTANT_INPUT };
        let text = type_text(cx, cause);
        let diagnostic = Diagnostic::new(code, self.place(cx), message);
        let place = cx.at_input(cause);
        cx.fail(diagnostic.related(place, format!("this is {text}")))
    }
}

/// The type of an input, for messages.
pub(crate) fn type_text(cx: &mut NodeCx<'_, '_>, input: usize) -> String {
    let ty = cx.ty(input).clone();
    ty.text(cx.dims())
}

/// The positions of axes, which may repeat.
pub(crate) fn positions(
    cx: &mut NodeCx<'_, '_>,
    axes: &[i64],
    rank: usize,
    place: Place,
) -> Option<SmallVec<[usize; 4]>> {
    let mut found = SmallVec::new();
    let mut seen = mask(&[], rank);
    for &axis in axes {
        let at = cx.axis(axis, rank, place)?;
        if !std::mem::replace(&mut seen[at], true) {
            found.push(at);
        }
    }
    Some(found)
}

/// Which of the axes of a shape are among these: a rank has no limit, so lists of axes are not searched for each axis.
pub(crate) fn mask(axes: &[usize], rank: usize) -> SmallVec<[bool; 8]> {
    let mut mask = SmallVec::from_elem(false, rank);
    for &axis in axes {
        if let Some(is_among) = mask.get_mut(axis) {
            *is_among = true;
        }
    }
    mask
}

/// An integer attribute, or `otherwise` if the node does not have it.
pub(crate) fn int_or(cx: &NodeCx<'_, '_>, name: &str, otherwise: i64) -> Option<i64> {
    match cx.int(name) {
        None if !cx.has_attr(name) => Some(otherwise),
        given => given,
    }
}
