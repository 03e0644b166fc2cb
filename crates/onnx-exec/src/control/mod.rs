//! Operators that run graphs: If, Loop, Scan, SequenceMap.
//!
//! A graph that an attribute holds reads the values around it under their own ids, so running one is running its nodes
//! with its inputs set.

mod looped;
mod scan;
mod stack;

use crate::failure::Failure;
use crate::kernels::Attributes;
use crate::list::List;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::value::Value;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{GraphId, NodeId};
use onnx_ops::schema::{Lookup, Schema};

/// An operator that runs graphs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Control {
    If,
    Loop,
    Scan,
    SequenceMap,
}

impl Control {
    pub(crate) fn find(domain: &str, op: &str) -> Option<Control> {
        Some(match (domain, op) {
            ("", "If") => Control::If,
            ("", "Loop") => Control::Loop,
            ("", "Scan") => Control::Scan,
            ("", "SequenceMap") => Control::SequenceMap,
            _ => return None,
        })
    }

    pub(crate) fn run(self, run: &mut Run<'_, '_>, node: NodeId) -> Result<Vec<Value>, Box<Diagnostic>> {
        let inputs = run.inputs(node)?;
        let site = Site { node };
        match self {
            Control::If => branch(run, site, &inputs),
            Control::Loop => looped::run(run, site, inputs),
            Control::Scan => scan::run(run, site, inputs),
            Control::SequenceMap => map(run, site, &inputs),
        }
    }
}

/// A node that runs graphs.
#[derive(Clone, Copy)]
struct Site {
    node: NodeId,
}

impl Site {
    /// Makes a finding about the node of a reason.
    fn told<T>(self, run: &Run<'_, '_>, result: Result<T, Failure>) -> Result<T, Box<Diagnostic>> {
        result.map_err(|why| run.failed(self.node, why.code(), &why.to_string()))
    }

    fn attrs<'x>(self, run: &Run<'x, '_>) -> Result<Attributes<'x>, Box<Diagnostic>> {
        let executable = run.executable;
        let n = &executable.body().nodes[self.node];
        let version = executable.model().newest_import(executable.body, "").unwrap_or(1);
        let Lookup::Found(id) = executable.registry.lookup("", executable.model().text(n.op), version) else {
            return Err(run.failed(self.node, &code::RUN_FAILED, "the operator is not known"));
        };
        let schema: &Schema = executable.registry.get(id);
        Ok(Attributes { model: executable.model(), body: executable.body(), node: n, schema })
    }

    fn graph(self, run: &Run<'_, '_>, name: &str) -> Result<GraphId, Box<Diagnostic>> {
        let missing =
            || run.failed(self.node, &code::RUN_FAILED, &format!("attribute `{name}` has no graph"));
        self.attrs(run)?.graph(name).ok_or_else(missing)
    }

    fn input<'v>(
        self,
        run: &Run<'_, '_>,
        inputs: &'v [Option<Value>],
        i: usize,
    ) -> Result<&'v Value, Box<Diagnostic>> {
        let missing = || run.failed(self.node, &code::RUN_FAILED, &format!("input {i} is left out"));
        inputs.get(i).and_then(Option::as_ref).ok_or_else(missing)
    }
}

/// The only element of a boolean tensor.
fn truth(value: &Value) -> Result<bool, Failure> {
    match value.tensor()?.words::<u8>() {
        [truth] => Ok(*truth != 0),
        other => Err(Failure::new(format!("a condition is one boolean, not {}", other.len()))),
    }
}

fn branch(
    run: &mut Run<'_, '_>,
    site: Site,
    inputs: &[Option<Value>],
) -> Result<Vec<Value>, Box<Diagnostic>> {
    let condition = site.told(run, truth(site.input(run, inputs, 0)?))?;
    let graph = site.graph(run, if condition { "then_branch" } else { "else_branch" })?;
    run.graph(graph, Vec::new())
}

/// The body for each element of the first sequence; further sequences go along with it, tensors are the same each time.
fn map(run: &mut Run<'_, '_>, site: Site, inputs: &[Option<Value>]) -> Result<Vec<Value>, Box<Diagnostic>> {
    let graph = site.graph(run, "body")?;
    let first = site.told(run, site.input(run, inputs, 0)?.elements())?;
    let outputs = run.executable.body().graphs[graph].outputs.len();
    let mut results: Vec<List<Value>> = (0..outputs).map(|_| List::new()).collect();
    for i in 0..first.len() {
        run.iteration(site.node)?;
        let given = inputs.iter().flatten().map(|input| match input {
            Value::Sequence(all) => {
                let short = || {
                    Failure::new(format!("one sequence has {} elements, another {}", first.len(), all.len()))
                };
                all.get(i).cloned().ok_or_else(short)
            }
            Value::Tensor(_) | Value::Map(_) | Value::Optional(_) => Ok(input.clone()),
        });
        let given = site.told(run, given.collect())?;
        for (all, one) in results.iter_mut().zip(run.graph(graph, given)?) {
            site.told(run, all.push(one))?;
        }
    }
    Ok(results.into_iter().map(Value::list).collect())
}

/// A scalar of 64 bits.
fn number(n: usize) -> Result<Value, Failure> {
    Ok(Value::Tensor(Tensor::scalar(i64::try_from(n).unwrap_or(i64::MAX))?))
}
