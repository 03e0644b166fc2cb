//! The `Scan` operator: runs the body for each slice of the scanned tensors and carries a state.
//!
//! Version 8 has a leading batch axis and a length for each sequence; results beyond the length are zero. Since version 9 each
//! scanned tensor has an axis and a direction.

use super::ControlNode;
use super::stack::{Stack, none, slice, stack};
use crate::failure::Failure;
use crate::list::List;
use crate::run::Run;
use crate::tensor::Tensor;
use onnx_ir::diag::{Diagnostic, code, counted};
use onnx_kernels::Value;
use onnx_kernels::resolve_axis;

pub(super) fn run(run: &mut Run<'_, '_>, site: ControlNode) -> Result<Vec<Value>, Box<Diagnostic>> {
    let mut inputs = run.inputs(site.node)?;
    let attrs = site.attrs(run)?;
    let is_batched = attrs.schema.since < 9;
    let lengths = if is_batched && !inputs.is_empty() { inputs.remove(0) } else { None };
    let lengths = lengths.map(|value| value.tensor()?.ints()).transpose();
    let lengths = site.told(run, lengths)?;
    let Some(inputs) = inputs.into_iter().collect::<Option<Vec<Value>>>() else {
        return Err(run.failed(site.node, &code::RUN_FAILED, "an input is left out"));
    };
    let scanned = attrs.int("num_scan_inputs").and_then(|n| usize::try_from(n).ok());
    let Some(states) = scanned.and_then(|n| inputs.len().checked_sub(n)) else {
        return Err(run.failed(
            site.node,
            &code::RUN_FAILED,
            "`num_scan_inputs` is more than there are inputs",
        ));
    };
    let list = |name: &str, at: usize| attrs.ints(name).and_then(|all| all.get(at).copied()).unwrap_or(0);
    let axes: Vec<i64> = (0..inputs.len() - states).map(|i| list("scan_input_axes", i)).collect();
    let directions = if is_batched { "directions" } else { "scan_input_directions" };
    let backward: Vec<bool> = (0..axes.len()).map(|i| list(directions, i) != 0).collect();
    let out = |i: usize| (list("scan_output_axes", i), list("scan_output_directions", i) != 0);
    let course = Course { states, axes, backward, out: &out };
    if !is_batched {
        return scan(run, site, &inputs, &course, None);
    }
    // Each batch member is scanned alone; the results are stacked.
    let batch = match inputs.first().map(Value::tensor) {
        Some(Ok(first)) => first.dims().first().copied().unwrap_or(0),
        Some(Err(_)) | None => 0,
    };
    let mut all: Vec<List<Value>> = Vec::new();
    for b in 0..batch {
        let member = inputs.iter().map(|v| Ok(Value::Tensor(slice(v.tensor()?, 0, b)?)));
        let member: Vec<Value> = site.told(run, member.collect())?;
        let length = lengths.as_ref().and_then(|all| all.get(b).copied());
        let results = scan(run, site, &member, &course, length)?;
        all.resize_with(results.len(), List::new);
        for (all, one) in all.iter_mut().zip(results) {
            site.told(run, all.push(one))?;
        }
    }
    let graph = site.graph(run, 0)?;
    let ports = &run.program.body().graphs[graph].outputs;
    let stacked = all.iter().zip(ports).map(|(all, port)| Ok(stack(run, all, 0, false, port)?.into()));
    site.told(run, stacked.collect())
}

/// The axes and directions of a scan.
struct Course<'a> {
    /// The number of states; the other inputs are scanned.
    states: usize,
    axes: Vec<i64>,
    backward: Vec<bool>,
    /// The axis along which an output is collected, and whether backward.
    out: &'a dyn Fn(usize) -> (i64, bool),
}

/// `steps` is the number of slices to process, at most all.
fn scan(
    run: &mut Run<'_, '_>,
    site: ControlNode,
    inputs: &[Value],
    course: &Course<'_>,
    steps: Option<i64>,
) -> Result<Vec<Value>, Box<Diagnostic>> {
    let Course { states, axes, backward, out } = course;
    let states = *states;
    let graph = site.graph(run, 0)?;
    let mut carried = inputs[..states].to_vec();
    let resolved = |(value, axis): (&Value, &i64)| -> Result<(Tensor, usize), Failure> {
        let tensor = value.tensor()?;
        Ok((tensor.clone(), resolve_axis(*axis, tensor.rank())?))
    };
    // The scanned tensors, which all have as many slices.
    let scanned: Result<Vec<(Tensor, usize)>, Failure> =
        inputs[states..].iter().zip(axes).map(resolved).collect();
    let scanned = site.told(run, scanned)?;
    let length = scanned.first().map_or(0, |(tensor, axis)| tensor.dims()[*axis]);
    if let Some((other, axis)) = scanned.iter().find(|(tensor, axis)| tensor.dims()[*axis] != length) {
        let why = format!("one input has {}, another {}", counted(length, "slice"), other.dims()[*axis]);
        return Err(run.failed(site.node, &code::RUN_FAILED, &why));
    }
    let steps = match steps.map(usize::try_from) {
        None => length,
        Some(Ok(steps)) if steps <= length => steps,
        Some(_) => {
            let why = format!(
                "a sequence of `sequence_lens` is longer than {}, or shorter than none",
                counted(length, "slice")
            );
            return Err(run.failed(site.node, &code::RUN_FAILED, &why));
        }
    };
    let program = run.program;
    let ports = program.body().graphs[graph].outputs.get(states..).unwrap_or_default();
    // If all slices are processed, each output has as many slices.
    let is_whole = steps == length;
    let new = |(i, _)| {
        let (axis, is_reversed) = out(i);
        if is_whole { Stack::with_count(steps, axis, is_reversed) } else { Stack::listed(axis, is_reversed) }
    };
    let mut stacks: Vec<Stack> = ports.iter().enumerate().map(new).collect();
    // One iteration for each slice.
    for i in 0..steps {
        run.iteration(site.node)?;
        for (at, state) in carried.drain(..).enumerate() {
            run.give(graph, at, state);
        }
        for (at, ((tensor, axis), is_backward)) in scanned.iter().zip(backward).enumerate() {
            let which = if *is_backward { steps - 1 - i } else { i };
            let slice = site.told(run, slice(tensor, *axis, which))?;
            run.give(graph, states + at, slice.into());
        }
        run.enter(graph)?;
        for at in 0..states {
            carried.push(run.output(graph, at)?);
        }
        for (at, stack) in stacks.iter_mut().enumerate() {
            let one = run.output(graph, states + at)?;
            site.told(run, stack.push(run, one))?;
        }
    }
    // The results, filled up if the sequence is shorter than the tensors.
    for (mut stack, port) in stacks.into_iter().zip(ports) {
        if !is_whole {
            let empty = none(run, stack.slices(), port);
            let empty = site.told(run, empty)?.into();
            site.told(run, stack.fill_up(length, empty))?;
        }
        let stacked = stack.finish(run, port);
        carried.push(site.told(run, stacked)?.into());
    }
    Ok(carried)
}
