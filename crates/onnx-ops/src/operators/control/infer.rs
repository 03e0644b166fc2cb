//! Operators that run nested graphs: branches, loops, maps.
//!
//! A graph is walked with the facts that its node passes. Values carried by a loop may change their shapes from one iteration to
//! the next, so the body is walked with the initial values, then again with the join of those and the results, until
//! that is stable. Only findings of the last walk are reported.

use crate::dims::Dim;
use crate::engine::{Infer, NodeCx};
use crate::facts::{Elem, Fact, FactSource, Shape, SmallTensor, TensorTy, Ty};
use onnx_ir::diag::{Diagnostic, code, counted};
use onnx_ir::{ElemType, GraphId};
use std::sync::Arc;

/// Checks that the graph of an attribute has as many inputs as the node passes (S17; V02 up to IR version 3, when additional
/// inputs may have initializers).
pub(crate) fn takes(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let (has, _) = cx.graph_signature(graph);
    if cx.allows_default_inputs() {
        passed_with_initializer(cx, graph, attr, count.min(has))?;
    }
    if has == count {
        return Some(());
    }
    if has > count && cx.allows_default_inputs() {
        return surplus(cx, graph, attr, count);
    }
    let message =
        format!("`{attr}` of `{}` must have {}, but has {has}", cx.op(), counted_or_no(count, "input"));
    let place = if has > count { cx.at_graph_input(graph, count) } else { cx.at_graph(graph) };
    let label = counted(has, "input");
    let diagnostic = Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message);
    cx.fail(if has > count { diagnostic } else { diagnostic.label(label) })
}

/// V02: up to IR version 3 an initializer is the value of an input that the node does not pass.
fn passed_with_initializer(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let without = cx.graph_inputs_without_default(graph);
    let Some(first) = (0..count).find(|i| !without.contains(i)) else { return Some(()) };
    // An input without a default after one with a default is reported elsewhere.
    if without.last().is_some_and(|&last| last > first) {
        return None;
    }
    let message = format!("`{}` passes this input to `{attr}`, but it also has an initializer", cx.op());
    let place = cx.at_graph_input(graph, first);
    let passed = format!("`{}` passes {}", cx.op(), counted_or_no(count, "input"));
    cx.fail(Diagnostic::new(&code::IR3_SUBGRAPH_INITIALIZERS, place, message).related(cx.at_op(), passed))
}

/// V02: inputs that the node does not pass must have defaults.
fn surplus(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let without = cx.graph_inputs_without_default(graph);
    let Some(&first) = without.iter().find(|i| **i >= count) else { return Some(()) };
    // An input without a default after one with a default is reported elsewhere.
    if first > 0 && !without.contains(&(first - 1)) {
        return None;
    }
    let message = format!("`{}` does not pass this input to `{attr}`, and it has no initializer", cx.op());
    let diagnostic =
        Diagnostic::new(&code::IR3_SUBGRAPH_INITIALIZERS, cx.at_graph_input(graph, first), message);
    let passed = format!("`{}` passes {}", cx.op(), counted_or_no(count, "input"));
    cx.fail(diagnostic.related(cx.at_op(), passed))
}

/// Checks that the graph of an attribute has the expected number of outputs.
pub(crate) fn gives(cx: &mut NodeCx<'_, '_>, graph: GraphId, attr: &str, count: usize) -> Infer {
    let (_, has) = cx.graph_signature(graph);
    if has == count {
        return Some(());
    }
    let message =
        format!("`{attr}` of `{}` must have {}, but has {has}", cx.op(), counted_or_no(count, "output"));
    let place = if has > count { cx.at_graph_output(graph, count) } else { cx.at_graph(graph) };
    let diagnostic = Diagnostic::new(&code::SUBGRAPH_SIGNATURE, place, message);
    let own = cx.output_count();
    cx.fail(diagnostic.related(cx.at_op(), format!("the node has {}", counted_or_no(own, "output"))))
}

/// A count with its noun, `no inputs` for none.
pub(super) fn counted_or_no(count: usize, noun: &str) -> String {
    counted(if count == 0 { "no".to_owned() } else { count.to_string() }, noun)
}

/// The only element of an input; reports an input with another number of elements.
pub(crate) fn single(cx: &mut NodeCx<'_, '_>, i: usize) -> Option<Elem> {
    let shape = cx.shape(i)?;
    if shape.iter().all(|d| matches!(d, Dim::Const(_))) && shape.iter().any(|d| *d != Dim::Const(1)) {
        let message = format!("`{}` expects one element as {}", cx.op(), cx.param_name(i));
        cx.fail_at_input(i, &code::SHAPE_PRECONDITION, message)?;
    }
    cx.value(i)?.single()
}

/// The value of a known boolean.
fn known_truth(elem: Option<Elem>) -> Option<bool> {
    if let Elem::Int(Dim::Const(n)) = elem? { Some(n != 0) } else { None }
}

fn is_known(fact: &Fact, truth: bool) -> bool {
    known_truth(fact.value.as_ref().and_then(|v| v.single())) == Some(truth)
}

/// Walks both branches; if the condition is known, only one of them determines the outputs. Models test a rank or
/// a size and use it in the branch, so shape errors in a branch that is never taken are not reported.
pub(crate) fn branch(cx: &mut NodeCx<'_, '_>) -> Infer {
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

/// Maximum number of walks of the body of a loop.
const MAX_WALKS: u32 = 4;

/// `Loop`: the inputs are trip count, condition and carried values. The inputs of the body are the iteration number, the
/// condition and the carried values; its outputs are the condition, the carried values and the scan outputs.
pub(crate) fn repeat(cx: &mut NodeCx<'_, '_>) -> Infer {
    let body = cx.graph("body")?;
    let trips = if cx.has_input(0) { single(cx, 0).map(Elem::int) } else { None };
    let condition = if cx.has_input(1) { single(cx, 1) } else { None };
    let carried = cx.input_count().saturating_sub(2);
    let count = cx.output_count();
    let mut fits = takes(cx, body, "body", 2 + carried).is_some();
    fits &= gives(cx, body, "body", 1 + count).is_some();
    if count < carried {
        let message = format!(
            "`Loop` carries {}, but has {}",
            counted_or_no(carried, "value"),
            counted_or_no(count, "output")
        );
        cx.fail(Diagnostic::new(&code::SUBGRAPH_SIGNATURE, cx.at_op(), message));
        fits = false;
    }
    // Dimensions that depend on one iteration are created later.
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
    // The specification ignores the condition of the body if the node has none. Runtimes do not.
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

/// The fact of a carried value before the first iteration, completed by the declaration of the body.
fn initial(cx: &mut NodeCx<'_, '_>, body: GraphId, input: usize) -> Fact {
    let fact = cx.fact(input).clone();
    let declared = cx.graph_input(body, input);
    let ty = cx.meet(&fact.ty, &declared).unwrap_or(fact.ty);
    Fact { ty, value: fact.value, source: FactSource::Inferred }
}

/// The iteration number: a scalar, unless the body declares another type.
fn iteration(cx: &mut NodeCx<'_, '_>, body: GraphId) -> Fact {
    let is_declared = cx.graph_input(body, 0).shape().is_some();
    let shape = (!is_declared).then(Shape::new);
    Fact::of(Ty::Tensor(TensorTy { elem: Some(ElemType::INT64), shape }))
}

/// The condition as input of the body: true, because the body runs.
fn running(cx: &mut NodeCx<'_, '_>, body: GraphId) -> Fact {
    let declared = cx.graph_input(body, 1);
    let shape = if declared.shape().is_some() { None } else { Some(Shape::new()) };
    let ty = Ty::Tensor(TensorTy { elem: Some(ElemType::BOOL), shape });
    let is_scalar = declared.shape().is_none_or(|s| s.is_empty());
    let value = is_scalar.then(|| Arc::new(SmallTensor::scalar(Dim::Const(1))));
    Fact { ty, value, source: FactSource::Inferred }
}

/// Walks the body of a loop until the carried values are stable; returns the results of the last walk.
fn walk(
    cx: &mut NodeCx<'_, '_>,
    body: GraphId,
    control: &[Fact],
    initial: &[Fact],
    outside: Dim,
) -> Vec<Fact> {
    let mut carried: Vec<Fact> =
        initial.iter().enumerate().map(|(i, fact)| cx.with_symbols(fact.clone(), i)).collect();
    let mut walks = if cx.may_repeat() { 0 } else { MAX_WALKS - 1 };
    loop {
        let is_last = walks + 1 >= MAX_WALKS;
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

/// The join of a carried value before and after an iteration. A dimension that has become a symbol, because it differs
/// in each iteration, stays that symbol.
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
    // The element type must not change; an error is reported at the end.
    for ty in [before.ty.without_shape(), cx.graph_input(body, 2 + i)] {
        both.ty = cx.meet(&both.ty, &ty).unwrap_or(both.ty);
    }
    cx.with_symbols(both, i)
}

/// The facts of carried values after any number of iterations: their element types, and the declarations of the body.
fn forget(cx: &mut NodeCx<'_, '_>, body: GraphId, initial: &[Fact]) -> Vec<Fact> {
    let carried = initial.iter().enumerate().map(|(i, fact)| {
        let (ty, declared) = (fact.ty.without_shape(), cx.graph_input(body, 2 + i));
        let ty = cx.meet(&ty, &declared).unwrap_or(ty);
        cx.with_symbols(Fact::of(ty), i)
    });
    carried.collect()
}

/// Checks that the condition that the body returns is a boolean.
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

/// The fact of a carried value after the loop.
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
            // The initial value is unknown, the later one is not: the result of the body is used.
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

/// A type of one iteration, with dimensions that may differ between iterations made anonymous.
fn settled(cx: &mut NodeCx<'_, '_>, ty: &Ty, output: usize, outside: Dim) -> Ty {
    let is_tensor = ty.as_tensor().is_some();
    ty.map_dims(&mut |dim| match cx.dims().is_older(dim, outside) {
        true => dim,
        false if is_tensor => cx.fresh(output),
        false => Dim::Unknown,
    })
}

/// Reports a carried value whose type differs from that of the node's input.
pub(crate) fn carries_two_types(
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

/// The tensor type of each iteration, to be concatenated. If there are no iterations, the declaration of the body
/// determines it.
pub(crate) fn collected(
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

/// `SequenceMap`: the inputs of the body are an element of each sequence, and tensors unchanged.
pub(crate) fn map(cx: &mut NodeCx<'_, '_>) -> Infer {
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
        // A dimension that is known in one run only may differ in the next.
        let ty = fact.ty.map_dims(&mut |dim| {
            let is_one = cx.dims().is_older(dim, outside);
            if is_one { dim } else { Dim::Unknown }
        });
        cx.set_ty(i, Ty::Sequence(Box::new(ty)));
    }
    Some(())
}

/// The fact of an input of the body of a map.
fn element(cx: &mut NodeCx<'_, '_>, i: usize) -> Fact {
    match cx.fact(i) {
        Fact { ty: Ty::Sequence(inner), .. } => {
            let fact = Fact::of((**inner).clone());
            cx.with_symbols(fact, 0)
        }
        fact => fact.clone(),
    }
}
