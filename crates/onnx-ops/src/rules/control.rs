//! Operators that run nested graphs: branches, loops, maps.
//!
//! A graph is walked with what its node passes. What a loop carries from one iteration to the next may change its shape
//! on the way, so the body is walked with the initial values, then again with what those and the results have in
//! common, until that is stable. Only what is found wrong in the last walk is told.

use super::{Row, row};
use crate::dims::Dim;
use crate::infer::{Elem, Fact, Infer, NodeCx, Shape, Source, TensorTy, Ty, Value};
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{ElemType, GraphId};
use std::sync::Arc;

pub(super) const ROWS: &[Row] = &[row("If", 1, branch), row("Loop", 1, repeat), row("SequenceMap", 17, map)];

/// Holds that the graph of an attribute has as many inputs as the node passes (S17; V02 up to IR 3, where further
/// inputs may have initializers).
pub(super) fn takes(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let (has, _) = cx.graph_signature(graph);
    if has == count {
        return Some(());
    }
    if has > count && cx.allows_default_inputs() {
        return surplus(cx, graph, attr, count);
    }
    let message = format!("`{attr}` of `{}` must have {}, but has {has}", cx.op(), counted(count, "input"));
    let place = if has > count { cx.at_graph_input(graph, count) } else { cx.at_graph(graph) };
    let label = format!("{has} inputs");
    let diagnostic = Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message);
    cx.fail(if has > count { diagnostic } else { diagnostic.label(label) })
}

/// V02: what the node does not pass has a default.
fn surplus(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let without = cx.graph_inputs_without_default(graph);
    let Some(&first) = without.iter().find(|i| **i >= count) else { return Some(()) };
    // One that follows an input with a default is told of already, whatever the node passes.
    if first > 0 && !without.contains(&(first - 1)) {
        return None;
    }
    let message = format!("`{}` does not pass this input to `{attr}`, and it has no initializer", cx.op());
    let diagnostic =
        Diagnostic::new(&code::IR3_SUBGRAPH_INITIALIZERS, cx.at_graph_input(graph, first), message);
    let passed = format!("`{}` passes {}", cx.op(), counted(count, "input"));
    cx.fail(diagnostic.related(cx.at_op(), passed))
}

/// Holds that the graph of an attribute has as many outputs as the node wants.
pub(super) fn gives(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let (_, has) = cx.graph_signature(graph);
    if has == count {
        return Some(());
    }
    let message = format!("`{attr}` of `{}` must have {}, but has {has}", cx.op(), counted(count, "output"));
    let place = if has > count { cx.at_graph_output(graph, count) } else { cx.at_graph(graph) };
    let diagnostic = Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message);
    let own = cx.output_count();
    cx.fail(diagnostic.related(cx.at_op(), format!("the node has {}", counted(own, "output"))))
}

/// A number of things.
pub(super) fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

/// The only element of an input; an input that has more or fewer is told of.
pub(super) fn single(cx: &mut NodeCx<'_, '_>, i: usize) -> Option<Elem> {
    let shape = cx.shape(i)?;
    if shape.iter().all(|d| matches!(d, Dim::Const(_))) && shape.iter().any(|d| *d != Dim::Const(1)) {
        let message = format!("`{}` expects one element as {}", cx.op(), cx.param_name(i));
        cx.fail_at_input(i, &code::SHAPE_PRECONDITION, message)?;
    }
    cx.value(i)?.single()
}

/// A boolean input that is known.
fn known_truth(elem: Option<Elem>) -> Option<bool> {
    if let Elem::Int(Dim::Const(n)) = elem? { Some(n != 0) } else { None }
}

fn is_known(fact: &Fact, truth: bool) -> bool {
    known_truth(fact.value.as_ref().and_then(|v| v.single())) == Some(truth)
}

/// Both branches are walked; a condition that is known lets one of them say what the outputs are. Models test a rank or
/// an extent and go on with what it is, so of the shapes in a branch that is never taken nothing is told.
fn branch(cx: &mut NodeCx<'_, '_>) -> Infer {
    let [then, otherwise] = ["then_branch", "else_branch"].map(|name| cx.graph(name));
    let (then, otherwise) = (then?, otherwise?);
    let condition = known_truth(single(cx, 0));
    let mut fits = true;
    for (graph, attr) in [(then, "then_branch"), (otherwise, "else_branch")] {
        let count = cx.output_count();
        fits &= takes(cx, graph, attr, 0).is_some();
        fits &= gives(cx, graph, attr, count).is_some();
    }
    let [first, second] = [(then, true), (otherwise, false)].map(|(graph, truth)| {
        let attempt = cx.attempt();
        let outputs = cx.run_graph(graph, &[]);
        if condition == Some(!truth) {
            cx.take_back_shapes(attempt);
        }
        outputs
    });
    if !fits {
        return None;
    }
    for (i, (a, b)) in first.iter().zip(&second).enumerate() {
        let Some(generic) = cx.meet(&a.ty.without_shape(), &b.ty.without_shape()) else {
            branches_differ(cx, [then, otherwise], i, [&a.ty, &b.ty]);
            continue;
        };
        let (ty, value) = match condition {
            Some(true) => (a.ty.clone(), a.value.clone()),
            Some(false) => (b.ty.clone(), b.value.clone()),
            None => (cx.join(&a.ty, &b.ty, i), cx.either_value(a, b)),
        };
        let ty = cx.meet(&ty, &generic)?;
        cx.set_fact(i, ty, value);
    }
    Some(())
}

fn branches_differ(cx: &mut NodeCx<'_, '_>, graphs: [GraphId; 2], i: usize, types: [&Ty; 2]) {
    let [a, b] = types.map(|ty| ty.text(cx.dims()));
    let [first, second] = graphs.map(|graph| cx.at_graph_output(graph, i));
    let message = format!("the branches of `{}` have different output types: {a} and {b}", cx.op());
    cx.tell(
        Diagnostic::new(&code::SUBGRAPH_SIGNATURE, second, message)
            .label(format!("this is {b}"))
            .related(first, format!("this is {a}")),
    );
}

/// How often the body of a loop is walked at most.
const MOST_WALKS: u32 = 4;

/// `Loop`: trip count and condition, then carried values. The body takes the number of the iteration, the condition and
/// the carried values; it gives the condition, the carried values and what is collected.
fn repeat(cx: &mut NodeCx<'_, '_>) -> Infer {
    let body = cx.graph("body")?;
    let trips = if cx.has_input(0) { single(cx, 0).map(Elem::int) } else { None };
    let condition = if cx.has_input(1) { single(cx, 1) } else { None };
    let carried = cx.input_count().saturating_sub(2);
    let count = cx.output_count();
    let mut fits = takes(cx, body, "body", 2 + carried).is_some();
    fits &= gives(cx, body, "body", 1 + count).is_some();
    if count < carried {
        let message =
            format!("`Loop` carries {}, but has {}", counted(carried, "value"), counted(count, "output"));
        cx.fail(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_op(), message));
        fits = false;
    }
    // Everything that depends on one iteration is newer.
    let outside = cx.dims().fresh("outside");
    let initial: Vec<Fact> = (0..carried).map(|i| initial(cx, body, 2 + i)).collect();
    let control = [iteration(cx, body), running(cx, body)];
    let never_runs = known_truth(condition) == Some(false) || matches!(trips, Some(Dim::Const(n)) if n <= 0);
    let attempt = cx.attempt();
    let outputs = walk(cx, body, &control, &initial, outside);
    if never_runs {
        cx.take_back_shapes(attempt);
    }
    if !fits {
        return None;
    }
    is_boolean(cx, body, outputs.first()?)?;
    // The specification ignores what the body says where the node has no condition. All who run models heed it.
    let begins = !cx.has_input(1) || known_truth(condition) == Some(true);
    let runs_on = begins && outputs.first().is_some_and(|c| is_known(c, true));
    let trips = match trips {
        _ if never_runs => Dim::Const(0),
        Some(trips @ (Dim::Const(_) | Dim::Expr(_))) if runs_on => cx.dims().max(trips, Dim::Const(0)),
        Some(_) | None => cx.fresh(carried),
    };
    let results = outputs.get(1..)?;
    for (i, (before, after)) in initial.iter().zip(results).enumerate() {
        finish(cx, body, i, [before, after], trips, outside);
    }
    for (i, fact) in results.iter().enumerate().skip(carried) {
        let Some(element) = collected(cx, body, 1 + i, &fact.ty, trips) else { continue };
        let shape = element.shape.map(|s| std::iter::once(trips).chain(s).collect());
        cx.set_ty(i, Ty::Tensor(TensorTy { elem: element.elem, shape }));
    }
    Some(())
}

/// What is known of a carried value before the first iteration, also from what the body declares.
fn initial(cx: &mut NodeCx<'_, '_>, body: GraphId, input: usize) -> Fact {
    let fact = cx.fact(input).clone();
    let declared = cx.graph_input(body, input);
    let ty = cx.meet(&fact.ty, &declared).unwrap_or(fact.ty);
    Fact { ty, value: fact.value, source: Source::Inferred }
}

/// The number of the iteration: a scalar, unless the body declares otherwise.
fn iteration(cx: &mut NodeCx<'_, '_>, body: GraphId) -> Fact {
    let is_declared = cx.graph_input(body, 0).shape().is_some();
    let shape = (!is_declared).then(Shape::new);
    Fact::of(Ty::Tensor(TensorTy { elem: Some(ElemType::INT64), shape }))
}

/// The condition as the body gets it: true, or it would not run.
fn running(cx: &mut NodeCx<'_, '_>, body: GraphId) -> Fact {
    let declared = cx.graph_input(body, 1);
    let shape = if declared.shape().is_some() { None } else { Some(Shape::new()) };
    let ty = Ty::Tensor(TensorTy { elem: Some(ElemType::BOOL), shape });
    let is_scalar = declared.shape().is_none_or(|s| s.is_empty());
    let value = is_scalar.then(|| Arc::new(Value::scalar(Dim::Const(1))));
    Fact { ty, value, source: Source::Inferred }
}

/// Walks the body of a loop until what is carried is stable; what the last walk gave.
fn walk(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    control: &[Fact],
    initial: &[Fact],
    outside: Dim,
) -> Vec<Fact> {
    let mut carried: Vec<Fact> =
        initial.iter().enumerate().map(|(i, fact)| cx.with_symbols(fact.clone(), i)).collect();
    let mut walks = if cx.may_repeat() { 0 } else { MOST_WALKS - 1 };
    loop {
        let is_last = walks + 1 >= MOST_WALKS;
        if is_last {
            carried = forget(cx, body, initial);
        }
        let attempt = cx.attempt();
        let inputs: Vec<Fact> = control.iter().chain(&carried).cloned().collect();
        let repeats = if is_last { 0 } else { walks };
        let outputs = cx.repeat_graph(body, &inputs, repeats);
        let next: Vec<Fact> = carried
            .iter()
            .zip(outputs.iter().skip(1))
            .enumerate()
            .map(|(i, (before, after))| common(cx, body, i, [before, after], outside))
            .collect();
        if is_last || is_stable(&carried, &next) {
            return outputs;
        }
        cx.take_back(attempt);
        carried.splice(..next.len(), next);
        walks += 1;
    }
}

fn is_stable(before: &[Fact], after: &[Fact]) -> bool {
    before.iter().zip(after).all(|(a, b)| a.ty == b.ty && a.value == b.value)
}

/// What holds of a carried value before an iteration and after it. An extent that has become a symbol, for it is another
/// one in each iteration, stays that symbol.
fn common(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    i: usize,
    [before, after]: [&Fact; 2],
    outside: Dim,
) -> Fact {
    let mut both = cx.either(before, after);
    if let (Some(old), Ty::Tensor(TensorTy { shape: Some(new), .. })) = (before.ty.shape(), &mut both.ty) {
        for (old, new) in old.iter().zip(new) {
            if *new == Dim::Unknown && !cx.dims().is_older(*old, outside) {
                *new = *old;
            }
        }
    }
    // The element type stays; where it does not, that is told at the end.
    for ty in [before.ty.without_shape(), cx.graph_input(body, 2 + i)] {
        both.ty = cx.meet(&both.ty, &ty).unwrap_or(both.ty);
    }
    cx.with_symbols(both, i)
}

/// What holds of carried values after any number of iterations: their element types, and what the body declares.
fn forget(cx: &mut NodeCx<'_, '_>, body: GraphId, initial: &[Fact]) -> Vec<Fact> {
    let carried = initial.iter().enumerate().map(|(i, fact)| {
        let (ty, declared) = (fact.ty.without_shape(), cx.graph_input(body, 2 + i));
        let ty = cx.meet(&ty, &declared).unwrap_or(ty);
        cx.with_symbols(Fact::of(ty), i)
    });
    carried.collect()
}

/// Holds that the condition that the body gives is a boolean.
fn is_boolean(cx: &mut NodeCx<'_, '_>, body: GraphId, fact: &Fact) -> Infer {
    let is_wrong = match &fact.ty {
        Ty::Unknown => false,
        Ty::Tensor(t) => t.elem.is_some_and(|e| e != ElemType::BOOL),
        Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => true,
    };
    if is_wrong {
        let text = fact.ty.text(cx.dims());
        let place = cx.at_graph_output(body, 0);
        let message =
            format!("the first output of the body of `{}` is its condition and must be a boolean", cx.op());
        let diagnostic = Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message);
        return cx.fail(diagnostic.label(format!("this is {text}")));
    }
    Some(())
}

/// What a carried value is after the loop.
fn finish(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    i: usize,
    [before, after]: [&Fact; 2],
    trips: Dim,
    outside: Dim,
) {
    let Some(generic) = cx.meet(&before.ty.without_shape(), &after.ty.without_shape()) else {
        if let Ty::Optional(inner) = &before.ty
            && cx.meet(&inner.without_shape(), &after.ty.without_shape()).is_some()
        {
            // Nothing to begin with, and something later: what the body gives is believed.
            let ty = settled(cx, &after.ty, i, outside);
            return cx.set_fact(i, ty, None);
        }
        return carries_two_types(cx, body, [2 + i, 1 + i], i, [&before.ty, &after.ty]);
    };
    let (ty, value) = if trips == Dim::Const(0) {
        (before.ty.clone(), before.value.clone())
    } else if cx.dims().lower_bound(trips).is_some_and(|least| least > 0) {
        let ty = settled(cx, &after.ty, i, outside);
        let value =
            after.value.clone().filter(|v| v.elems.iter().all(|e| cx.dims().is_older(e.int(), outside)));
        (ty, value)
    } else {
        (cx.join(&before.ty, &after.ty, i), cx.either_value(before, after))
    };
    let ty = cx.meet(&ty, &generic).unwrap_or(generic);
    cx.set_fact(i, ty, value);
}

/// A type that an iteration gives, where what may differ from one to the next is anonymous.
fn settled(cx: &mut NodeCx<'_, '_>, ty: &Ty, output: usize, outside: Dim) -> Ty {
    let is_tensor = ty.as_tensor().is_some();
    ty.map_dims(&mut |dim| match cx.dims().is_older(dim, outside) {
        true => dim,
        false if is_tensor => cx.fresh(output),
        false => Dim::Unknown,
    })
}

/// A value that is carried has one type, that of the node's input.
pub(super) fn carries_two_types(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    [input, output]: [usize; 2],
    result: usize,
    types: [&Ty; 2],
) {
    let [before, after] = types.map(|ty| ty.text(cx.dims()));
    let message =
        format!("value carried by `{}` is {before} before an iteration, but {after} after it", cx.op());
    let generic = types[0].without_shape();
    cx.tell(
        Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_graph_output(body, output), message)
            .label(format!("this is {after}"))
            .related(cx.at_input(input), format!("this is {before}")),
    );
    cx.set_fact(result, generic, None);
}

/// The tensor that each of so many iterations gives, to be collected. Where there is none, it is what the body declares
/// that says what is collected.
pub(super) fn collected(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    output: usize,
    ty: &Ty,
    trips: Dim,
) -> Option<TensorTy> {
    match ty {
        Ty::Unknown => None,
        Ty::Tensor(tensor) if trips == Dim::Const(0) => {
            let declared = cx.graph_output(body, output);
            let number = |dim: &Dim| if let Dim::Const(_) = dim { *dim } else { Dim::Unknown };
            let shape = declared.shape().map(|shape| shape.iter().map(number).collect());
            Some(TensorTy { elem: tensor.elem, shape })
        }
        Ty::Tensor(tensor) => Some(tensor.clone()),
        Ty::Sparse(_) | Ty::Sequence(_) | Ty::Optional(_) | Ty::Map(..) | Ty::Opaque(_) => {
            let text = ty.text(cx.dims());
            let place = cx.at_graph_output(body, output);
            let message = format!("`{}` can only collect tensors, but this output is {text}", cx.op());
            cx.tell(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message));
            None
        }
    }
}

/// `SequenceMap`: the body gets an element of each sequence, and tensors as they are.
fn map(cx: &mut NodeCx<'_, '_>) -> Infer {
    let body = cx.graph("body")?;
    let (inputs, outputs) = (cx.input_count(), cx.output_count());
    let mut fits = takes(cx, body, "body", inputs).is_some();
    fits &= gives(cx, body, "body", outputs).is_some();
    let outside = cx.dims().fresh("outside");
    let passed: Vec<Fact> = (0..inputs).map(|i| element(cx, i)).collect();
    let given = cx.run_graph(body, &passed);
    if !fits {
        return None;
    }
    for (i, fact) in given.iter().enumerate() {
        // An extent that is known in one run only may be another one in the next.
        let ty = fact.ty.map_dims(&mut |dim| {
            let is_one = cx.dims().is_older(dim, outside);
            if is_one { dim } else { Dim::Unknown }
        });
        cx.set_ty(i, Ty::Sequence(Box::new(ty)));
    }
    Some(())
}

/// What the body of a map gets of an input.
fn element(cx: &mut NodeCx<'_, '_>, i: usize) -> Fact {
    match cx.fact(i) {
        Fact { ty: Ty::Sequence(inner), .. } => {
            let fact = Fact::of((**inner).clone());
            cx.with_symbols(fact, 0)
        }
        fact => fact.clone(),
    }
}
