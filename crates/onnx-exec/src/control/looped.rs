//! Loop: the body again and again, with what the last time left.

use super::stack::stack;
use super::{Site, number, truth};
use crate::failure::Failure;
use crate::list::List;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{GraphId, ValueDef};

pub(super) fn run(
    run: &mut Run<'_, '_>,
    site: Site,
    inputs: Vec<Option<Value>>,
) -> Result<Vec<Value>, Box<Diagnostic>> {
    let graph = site.graph(run, "body")?;
    let mut inputs = inputs.into_iter();
    let (most, condition) = (inputs.next().flatten(), inputs.next().flatten());
    let most = site.told(run, most.map(|value| trips(&value)).transpose())?;
    let mut goes_on = site.told(run, condition.map(|value| truth(&value)).transpose())?.unwrap_or(true);
    let Some(mut carried) = inputs.collect::<Option<Vec<Value>>>() else {
        return Err(run.failed(site.node, &code::RUN_FAILED, "a value that the loop carries is left out"));
    };
    let ports = &run.executable.body().graphs[graph].outputs;
    let Some(kept) = ports.len().checked_sub(carried.len() + 1) else {
        return Err(run.failed(
            site.node,
            &code::RUN_FAILED,
            "the body has fewer outputs than the loop carries values",
        ));
    };
    if goes_on && is_endless(run, graph) {
        let Some(most) = most else {
            let why =
                "nothing ends this loop: there is no number of iterations, and the condition stays true";
            return Err(run.failed(site.node, &code::RUN_LIMIT, why));
        };
        run.iterations(site.node, most)?;
    }
    let mut scanned: Vec<List<Value>> = (0..kept).map(|_| List::new()).collect();
    let mut i = 0usize;
    while goes_on && most.is_none_or(|most| i < most) {
        run.iteration(site.node)?;
        let mut given =
            vec![site.told(run, number(i))?, site.told(run, Tensor::of_bools(&[], [true]))?.into()];
        given.append(&mut carried);
        let mut results = run.graph(graph, given)?;
        let more = results.split_off(results.len() - kept);
        for (all, one) in scanned.iter_mut().zip(more) {
            site.told(run, all.push(one))?;
        }
        carried = results.split_off(1);
        goes_on = match results.first() {
            Some(value) => site.told(run, truth(value))?,
            None => false,
        };
        i += 1;
    }
    let first = ports.len() - kept;
    for (at, all) in scanned.into_iter().enumerate() {
        let stacked = stack(run, &all, 0, false, &ports[first + at]);
        carried.push(site.told(run, stacked)?.into());
    }
    Ok(carried)
}

/// Whether the condition that a body gives is always the one that it is given, or a constant that is true: only the number of
/// iterations ends such a loop.
fn is_endless(run: &Run<'_, '_>, graph: GraphId) -> bool {
    let executable = run.executable;
    let body = executable.body();
    let condition = body.graphs[graph].inputs.get(1).and_then(|port| port.value);
    let mut given = body.graphs[graph].outputs.first().and_then(|port| port.value);
    // Nodes that form a circle are found when they are run.
    for _ in 0..=body.nodes.len() {
        let Some(value) = given else { return false };
        if Some(value) == condition {
            return true;
        }
        if let Some(stored) = executable.stored[value].as_ref().filter(|_| executable.is_constant(value)) {
            return truth(stored).unwrap_or(false);
        }
        given = match body.values[value].def {
            ValueDef::Output(node, _) if executable.op(node) == "Identity" => {
                body.nodes[node].inputs.first().copied().flatten()
            }
            ValueDef::Output(..) | ValueDef::Input(_) | ValueDef::Initializer(_) | ValueDef::Unbound(_) => {
                None
            }
        };
    }
    false
}

/// How often, at most.
fn trips(value: &Value) -> Result<usize, Failure> {
    match value.tensor()?.ints()?[..] {
        [n] => Ok(usize::try_from(n).unwrap_or(0)),
        _ => Err(Failure::new("the number of iterations is not one integer")),
    }
}
