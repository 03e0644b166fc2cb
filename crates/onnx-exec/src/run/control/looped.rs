//! The `Loop` operator.

use super::stack::Stack;
use super::{ControlNode, number, truth};
use crate::failure::Failure;
use crate::run::Run;
use crate::tensor::Tensor;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{GraphId, ValueDef};
use onnx_kernels::Value;

/// The number of inputs of the body before the carried ones: the iteration number and the condition.
const BEFORE: usize = 2;

pub(super) fn run(run: &mut Run<'_, '_>, site: ControlNode) -> Result<Vec<Value>, Box<Diagnostic>> {
    let graph = site.graph(run, 0)?;
    let mut inputs = run.inputs(site.node)?.into_iter();
    let (max_trips, condition) = (inputs.next().flatten(), inputs.next().flatten());
    let max_trips = site.told(run, max_trips.map(|value| trips(&value)).transpose())?;
    let mut goes_on = site.told(run, condition.map(|value| truth(&value)).transpose())?.unwrap_or(true);
    let Some(mut carried) = inputs.collect::<Option<Vec<Value>>>() else {
        return Err(run.failed(site.node, &code::RUN_FAILED, "a value that the loop carries is left out"));
    };
    let program = run.program;
    let ports = &program.body().graphs[graph].outputs;
    let count = carried.len();
    let Some(stacked) = ports.get(1 + count..) else {
        return Err(run.failed(
            site.node,
            &code::RUN_FAILED,
            "the body has fewer outputs than the loop carries values",
        ));
    };
    if goes_on && is_endless(run, graph) {
        let Some(max_trips) = max_trips else {
            let why =
                "nothing ends this loop: there is no number of iterations, and the condition stays true";
            return Err(run.failed(site.node, &code::RUN_LIMIT, why));
        };
        run.iterations(site.node, max_trips)?;
    }
    let mut stacks: Vec<Stack> = stacked.iter().map(|_| Stack::with_limit(max_trips)).collect();
    let holds = Value::Tensor(site.told(run, Tensor::of_bools(&[], [true]))?);
    let mut i = 0usize;
    while goes_on && max_trips.is_none_or(|max| i < max) {
        run.iteration(site.node)?;
        run.give(graph, 0, site.told(run, number(i))?);
        run.give(graph, 1, holds.clone());
        for (at, value) in carried.drain(..).enumerate() {
            run.give(graph, BEFORE + at, value);
        }
        run.enter(graph)?;
        goes_on = truth(&run.output(graph, 0)?)
            .map_err(|why| run.failed(site.node, why.code(), &why.to_string()))?;
        for at in 0..count {
            carried.push(run.output(graph, 1 + at)?);
        }
        for (at, stack) in stacks.iter_mut().enumerate() {
            let one = run.output(graph, 1 + count + at)?;
            site.told(run, stack.push(run, one))?;
        }
        i += 1;
    }
    for (stack, port) in stacks.into_iter().zip(stacked) {
        let stacked = stack.finish(run, port);
        carried.push(site.told(run, stacked)?.into());
    }
    Ok(carried)
}

/// Whether the body returns its condition unchanged or a constant true: then only the trip count ends the loop.
fn is_endless(run: &Run<'_, '_>, graph: GraphId) -> bool {
    let program = run.program;
    let body = program.body();
    let condition = body.graphs[graph].inputs.get(1).and_then(|port| port.value);
    let mut given = body.graphs[graph].outputs.first().and_then(|port| port.value);
    // The bound ends the walk in a cycle of nodes, which the run reports.
    for _ in 0..=body.nodes.len() {
        let Some(value) = given else { return false };
        if Some(value) == condition {
            return true;
        }
        if let Some(stored) = program.stored[value].as_ref().filter(|_| program.is_constant(value)) {
            return truth(stored).unwrap_or(false);
        }
        given = match body.values[value].def {
            ValueDef::Output(node, _) if program.op(node) == "Identity" => {
                body.nodes[node].inputs.first().copied().flatten()
            }
            ValueDef::Output(..) | ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => {
                None
            }
        };
    }
    false
}

/// The trip count.
fn trips(value: &Value) -> Result<usize, Failure> {
    match value.tensor()?.ints()?[..] {
        [n] => Ok(usize::try_from(n).unwrap_or(0)),
        _ => Err(Failure::new("the number of iterations is not one integer")),
    }
}
