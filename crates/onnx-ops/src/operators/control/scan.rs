//! `Scan`: a graph over the slices of tensors.
//!
//! Unlike the carried values of a `Loop`, the state of a `Scan` keeps its shape, so one walk of the body is enough.

use super::infer::{carries_two_types, collected, counted_or_no, gives, takes};
use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Fact, Ints, Shape, TensorTy, Ty};
use onnx_ir::GraphId;
use onnx_ir::diag::{Diagnostic, code, counted};

/// The inputs and outputs of a `Scan`.
struct Parts {
    body: GraphId,
    /// Number of inputs before the states.
    first: usize,
    states: usize,
    slices: usize,
    collected: usize,
}

/// Splits inputs and outputs, and checks those of the body.
fn parts(cx: &mut NodeCx<'_, '_>, first: usize) -> Option<Parts> {
    let body = cx.graph("body")?;
    let number = cx.int("num_scan_inputs")?;
    let inputs = cx.input_count().checked_sub(first)?;
    let slices = usize::try_from(number).ok().filter(|n| (1..=inputs).contains(n));
    let Some(slices) = slices else {
        let message = format!("`num_scan_inputs` is {number}, but the node has {}", counted(inputs, "input"));
        cx.fail_at_attr("num_scan_inputs", message)?;
        return None;
    };
    let states = inputs - slices;
    let outputs = cx.output_count();
    let Some(collected) = outputs.checked_sub(states) else {
        let message = format!(
            "`Scan` has {}, but {}",
            counted_or_no(states, "loop state variable"),
            counted(outputs, "output")
        );
        cx.fail(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_op(), message))?;
        return None;
    };
    let has_inputs = takes(cx, body, "body", inputs);
    gives(cx, body, "body", outputs).and(has_inputs)?;
    Some(Parts { body, first, states, slices, collected })
}

/// A list of one number for each of `count` tensors; zeros by default.
fn each(cx: &mut NodeCx<'_, '_>, name: &str, count: usize, what: &str) -> Option<Ints> {
    if !cx.has_attr(name) {
        return Some(Ints::from_elem(0, count));
    }
    let list = cx.ints(name)?;
    if list.len() == count {
        return Some(list);
    }
    cx.fail_at_attr(
        name,
        format!("`{name}` has {} for {}", counted(list.len(), "number"), counted(count, what)),
    )?;
    None
}

/// A list of directions: 0 is forward, 1 backward.
fn directions(cx: &mut NodeCx<'_, '_>, name: &str, count: usize, what: &str) -> Infer {
    let list = each(cx, name, count, what)?;
    match list.iter().find(|d| !(0..=1).contains(*d)) {
        Some(other) => cx.fail_at_attr(name, format!("a direction must be 0 or 1, but is {other}")),
        None => Some(()),
    }
}

/// `Scan` from version 9 on.
pub(super) fn scan(cx: &mut NodeCx<'_, '_>) -> Infer {
    let parts = parts(cx, 0)?;
    let axes = each(cx, "scan_input_axes", parts.slices, "scan input")?;
    let output_axes = each(cx, "scan_output_axes", parts.collected, "scan output")?;
    directions(cx, "scan_input_directions", parts.slices, "scan input")?;
    directions(cx, "scan_output_directions", parts.collected, "scan output")?;

    let mut facts: Vec<Fact> = (0..parts.states).map(|i| Fact::of(cx.ty(i).clone())).collect();
    let mut length: Option<(usize, Dim)> = None;
    for (i, axis) in (parts.states..).zip(axes) {
        let elem = cx.elem(i);
        let Some(mut shape) = cx.shape_of_ranks(i, 1, None) else {
            facts.push(Fact::of(Ty::unranked(elem)));
            continue;
        };
        let place = cx.at_attr("scan_input_axes");
        let axis = cx.axis(axis, shape.len(), place)?;
        length = Some(same_length(cx, length, (i, shape.remove(axis)))?);
        facts.push(Fact::of(Ty::Tensor(TensorTy { elem, shape: Some(shape) })));
    }
    let given = cx.run_graph(parts.body, &facts);
    states(cx, &parts, &facts, &given, &[])?;
    let length = length.map_or(Dim::Unknown, |(_, dim)| dim);
    for ((i, fact), axis) in given.iter().enumerate().skip(parts.states).zip(output_axes) {
        let Some(element) = collected(cx, parts.body, i, &fact.ty, length) else { continue };
        let shape = match element.shape {
            None => None,
            Some(mut shape) => {
                let place = cx.at_attr("scan_output_axes");
                let axis = cx.axis(axis, shape.len() + 1, place)?;
                shape.insert(axis, length);
                Some(shape)
            }
        };
        cx.set_ty(i, Ty::Tensor(TensorTy { elem: element.elem, shape }));
    }
    Some(())
}

/// Checks that all scan inputs have the same length.
fn same_length(
    cx: &mut NodeCx<'_, '_>,
    known: Option<(usize, Dim)>,
    (i, dim): (usize, Dim),
) -> Option<(usize, Dim)> {
    let Some(first) = known else { return Some((i, dim)) };
    let message = |a: &str, b: &str| format!("scan inputs have different lengths: {a} and {b}");
    let both = cx.equate(first, (i, dim), message)?;
    Some((if both == dim && dim != first.1 { i } else { first.0 }, both))
}

/// The final states, each with the type and shape of the initial one.
fn states(cx: &mut NodeCx<'_, '_>, parts: &Parts, initial: &[Fact], given: &[Fact], outer: &[Dim]) -> Infer {
    for (i, (before, after)) in initial.iter().zip(given).enumerate().take(parts.states) {
        let Some(ty) = cx.meet(&before.ty, &after.ty) else {
            carries_two_types(cx, parts.body, [parts.first + i, i], i, [&before.ty, &after.ty]);
            continue;
        };
        let ty = match &ty {
            Ty::Tensor(t) if !outer.is_empty() => {
                let shape = t.shape.as_ref().map(|s| outer.iter().chain(s).copied().collect::<Shape>());
                Ty::Tensor(TensorTy { elem: t.elem, shape })
            }
            _ => ty,
        };
        cx.set_ty(i, ty);
    }
    Some(())
}

/// Version 8: axis 0 of every tensor is the batch, axis 1 is scanned, and an input holds the lengths.
pub(super) fn batched(cx: &mut NodeCx<'_, '_>) -> Infer {
    let parts = parts(cx, 1)?;
    directions(cx, "directions", parts.slices, "scan input")?;
    let mut batch: Option<(usize, Dim)> = None;
    let mut length: Option<(usize, Dim)> = None;
    if cx.has_input(0)
        && let Some(lengths) = cx.shape_of_rank(0, 1)
    {
        batch = Some((0, lengths[0]));
    }
    let mut facts: Vec<Fact> = Vec::new();
    for i in 1..cx.input_count() {
        let elem = cx.elem(i);
        let is_scanned = i > parts.states;
        let Some(mut shape) = cx.shape_of_ranks(i, if is_scanned { 2 } else { 1 }, None) else {
            facts.push(Fact::of(Ty::unranked(elem)));
            continue;
        };
        let first = (i, shape.remove(0));
        batch = Some(match batch {
            None => first,
            Some(known) => {
                let message = |a: &str, b: &str| format!("conflicting batch sizes: {a} and {b}");
                let both = cx.equate(known, first, message)?;
                (if both == known.1 { known.0 } else { i }, both)
            }
        });
        if is_scanned {
            length = Some(same_length(cx, length, (i, shape.remove(0)))?);
        }
        facts.push(Fact::of(Ty::Tensor(TensorTy { elem, shape: Some(shape) })));
    }
    let given = cx.run_graph(parts.body, &facts);
    let batch = batch.map_or(Dim::Unknown, |(_, dim)| dim);
    let length = length.map_or(Dim::Unknown, |(_, dim)| dim);
    states(cx, &parts, &facts, &given, &[batch])?;
    for (i, fact) in given.iter().enumerate().skip(parts.states) {
        let Some(element) = collected(cx, parts.body, i, &fact.ty, length) else { continue };
        let shape = element.shape.map(|s| [batch, length].into_iter().chain(s).collect());
        cx.set_ty(i, Ty::Tensor(TensorTy { elem: element.elem, shape }));
    }
    Some(())
}
