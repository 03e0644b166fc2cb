//! Control flow operators: If, Loop, Scan, SequenceMap.
//!
//! A subgraph reads values of enclosing graphs by their own ids, so running it means setting its inputs and running its nodes.

mod looped;
mod scan;
mod stack;

use crate::failure::Failure;
use crate::list::List;
use crate::program::{Control, Kind};
use crate::run::{Results, Run};
use crate::tensor::Tensor;
use onnx_ir::diag::{Diagnostic, code, counted};
use onnx_ir::{GraphId, NodeId};
use onnx_kernels::Attributes;
use onnx_kernels::Value;
use onnx_ops::schema::Lookup;

impl Control {
    pub(crate) fn run(self, run: &mut Run<'_, '_>, node: NodeId) -> Result<Results, Box<Diagnostic>> {
        let site = ControlNode { node, control: self };
        match self.kind {
            Kind::If => branch(run, site),
            Kind::Loop => looped::run(run, site).map(Results::from_vec),
            Kind::Scan => scan::run(run, site).map(Results::from_vec),
            Kind::SequenceMap => map(run, site).map(Results::from_vec),
        }
    }
}

/// The control flow node that is being run.
#[derive(Clone, Copy)]
struct ControlNode {
    node: NodeId,
    control: Control,
}

impl ControlNode {
    /// Converts a failure to a diagnostic about the node.
    fn told<T>(self, run: &Run<'_, '_>, result: Result<T, Failure>) -> Result<T, Box<Diagnostic>> {
        result.map_err(|why| run.failed(self.node, why.code(), &why.to_string()))
    }

    fn attrs<'x>(self, run: &Run<'x, '_>) -> Result<Attributes<'x>, Box<Diagnostic>> {
        let program = run.program;
        let n = &program.body().nodes[self.node];
        let version = program.model.newest_import(program.body, "").unwrap_or(1);
        let Lookup::Found(id) = program.registry.lookup("", program.model.text(n.op), version) else {
            return Err(run.failed(self.node, &code::RUN_FAILED, "the operator is not known"));
        };
        Ok(program.attributes(self.node, id))
    }

    /// One of the subgraphs of the node.
    fn graph(self, run: &Run<'_, '_>, at: usize) -> Result<GraphId, Box<Diagnostic>> {
        self.control.graphs[at].ok_or_else(|| {
            let name = self.control.kind.graphs().get(at).copied().unwrap_or("body");
            run.failed(self.node, &code::RUN_FAILED, &format!("attribute `{name}` has no graph"))
        })
    }

    fn input<'v>(self, run: &'v Run<'_, '_>, i: usize) -> Result<&'v Value, Box<Diagnostic>> {
        let inputs = &run.program.body().nodes[self.node].inputs;
        match inputs.get(i).copied().flatten() {
            Some(value) => run.needed(self.node, value),
            None => Err(run.failed(self.node, &code::RUN_FAILED, &format!("input {i} is left out"))),
        }
    }
}

/// The only element of a boolean tensor.
fn truth(value: &Value) -> Result<bool, Failure> {
    match value.tensor()?.words::<u8>() {
        [truth] => Ok(*truth != 0),
        other => Err(Failure::new(format!("a condition is one boolean, not {}", other.len()))),
    }
}

fn branch(run: &mut Run<'_, '_>, site: ControlNode) -> Result<Results, Box<Diagnostic>> {
    let condition = site.told(run, truth(site.input(run, 0)?))?;
    let graph = site.graph(run, usize::from(!condition))?;
    run.enter(graph)?;
    run.outputs(graph)
}

/// `SequenceMap`: runs the body for each element of the first sequence. Other sequences are iterated in parallel; tensors are
/// passed unchanged.
fn map(run: &mut Run<'_, '_>, site: ControlNode) -> Result<Vec<Value>, Box<Diagnostic>> {
    let graph = site.graph(run, 0)?;
    let inputs: Vec<Value> = run.inputs(site.node)?.into_iter().flatten().collect();
    let Some(first) = inputs.first() else {
        return Err(run.failed(site.node, &code::RUN_FAILED, "input 0 is left out"));
    };
    let count = site.told(run, first.elements())?.len();
    let outputs = run.program.body().graphs[graph].outputs.len();
    let with_room = |_| List::with_room(count);
    let mut results: Vec<List<Value>> = site.told(run, (0..outputs).map(with_room).collect())?;
    for i in 0..count {
        run.iteration(site.node)?;
        for (at, input) in inputs.iter().enumerate() {
            let given = match input {
                Value::Sequence(all) => all.get(i).cloned().ok_or_else(|| {
                    Failure::new(format!(
                        "one sequence has {}, another {}",
                        counted(count, "element"),
                        all.len()
                    ))
                }),
                Value::Tensor(_) | Value::Map(_) | Value::Optional(_) => Ok(input.clone()),
            };
            run.give(graph, at, site.told(run, given)?);
        }
        run.enter(graph)?;
        for (at, all) in results.iter_mut().enumerate() {
            let one = run.output(graph, at)?;
            site.told(run, all.push(one))?;
        }
    }
    Ok(results.into_iter().map(Value::list).collect())
}

/// An `int64` scalar.
fn number(n: usize) -> Result<Value, Failure> {
    Ok(Value::Tensor(Tensor::scalar(i64::try_from(n).unwrap_or(i64::MAX))?))
}
