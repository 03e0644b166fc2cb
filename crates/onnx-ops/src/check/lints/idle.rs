//! Nodes that give what they take.

use super::site::Site;
use crate::dims::Dim;
use crate::infer::{Shape, Ty};
use onnx_ir::Diagnostic;
use onnx_ir::diag::code;

fn idle(site: &Site<'_>, why: &str, is_exact: bool) -> Option<Diagnostic> {
    at(site, 0, why, is_exact)
}

/// The finding that the node gives its input `i`.
fn at(site: &Site<'_>, i: usize, why: &str, is_exact: bool) -> Option<Diagnostic> {
    let message = format!("this `{}` gives what it takes: {why}", site.op());
    let title = format!("read `{}` instead", site.name(site.input(i)?));
    Some(site.finding(&code::NO_OP, message).change(title, site.bypass(i), is_exact))
}

/// Exporters name what a graph returns with an Identity, and a nested graph needs one to return an outer value.
pub(super) fn identity(site: &Site<'_>) -> Option<Diagnostic> {
    if site.is_returned() { None } else { idle(site, "it is another name", true) }
}

pub(super) fn cast(site: &Site<'_>) -> Option<Diagnostic> {
    let to = site.attrs().elem("to")?;
    let is_same = matches!(site.ty(0)?, Ty::Tensor(t) if t.elem == Some(to));
    is_same.then(|| idle(site, &format!("its input is {} already", crate::infer::elem_text(to)), true))?
}

pub(super) fn transpose(site: &Site<'_>) -> Option<Diagnostic> {
    let perm = site.attrs().ints("perm")?;
    let is_identity = !perm.is_empty() && (0..).zip(&perm).all(|(i, &axis)| i == axis);
    is_identity.then(|| idle(site, "every axis stays where it is", true))?
}

/// What only changes the shape, to the one that there is.
pub(super) fn same_shape(site: &Site<'_>) -> Option<Diagnostic> {
    let (from, to) = (site.ty(0)?.shape()?, site.fact(site.output(0))?.ty.shape()?);
    is_same(from, to).then(|| idle(site, "the shape stays the same", true))?
}

pub(super) fn pad(site: &Site<'_>) -> Option<Diagnostic> {
    let pads = super::numbers::pads(site)?;
    (!pads.is_empty() && pads.iter().all(|&p| p == 0)).then(|| idle(site, "it adds nothing", true))?
}

pub(super) fn single(site: &Site<'_>) -> Option<Diagnostic> {
    let is_single = site.node.inputs.len() == 1 && !matches!(site.ty(0)?, Ty::Sequence(_));
    is_single.then(|| idle(site, "it has one input", true))?
}

pub(super) fn dropout(site: &Site<'_>) -> Option<Diagnostic> {
    // Before version 7 an attribute said whether the model is trained, and training was the default.
    let is_trained = match site.input(2) {
        Some(_) => site.number(2) != Some(0.0),
        None => site.schema.since < 7,
    };
    let wants_mask = site.output(1).is_some_and(|mask| !site.uses.is_unused(mask));
    (!is_trained && !wants_mask).then(|| idle(site, "it works in training only", true))?
}

pub(super) fn zero(site: &Site<'_>) -> Option<Diagnostic> {
    neutral(site, 0.0, if site.op() == "Add" { &[0, 1] } else { &[1] })
}

pub(super) fn one(site: &Site<'_>) -> Option<Diagnostic> {
    neutral(site, 1.0, if site.op() == "Mul" { &[0, 1] } else { &[1] })
}

/// A stored operand that changes nothing, by its elements and its shape. Not exact for the sign of zeros.
fn neutral(site: &Site<'_>, neutral: f64, operands: &[usize]) -> Option<Diagnostic> {
    let &operand = operands.iter().find(|&&i| {
        let numbers = site.numbers(i).unwrap_or_default();
        site.is_stored(i) && !numbers.is_empty() && numbers.iter().all(|&n| n == neutral)
    })?;
    let other = 1 - operand;
    let (from, to) = (site.ty(other)?, &site.fact(site.output(0))?.ty);
    if !is_same(from.shape()?, to.shape()?) || from.elem() != to.elem() {
        return None;
    }
    at(site, other, &format!("the other operand is {neutral}"), neutral != 0.0)
}

/// Whether two shapes are known to be equal, as they are written.
fn is_same(a: &Shape, b: &Shape) -> bool {
    a == b && !a.contains(&Dim::Unknown)
}
