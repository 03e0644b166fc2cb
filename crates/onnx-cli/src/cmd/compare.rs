//! `onnxtxt compare`: where two models, or two programs that run one, begin to differ.

mod gap;
mod ort;

use crate::close::{Tolerance, ToleranceArgs, difference};
use crate::feed::{self, FeedArgs};
use crate::limits::LimitArgs;
use crate::operators::OpsetArgs;
use crate::output;
use crate::ready::Ready;
use crate::results::Results;
use crate::session::{Session, Status, count};
use gap::gap;
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::{Diagnostic, Model};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Find the first result in which two models differ
///
/// The results of all nodes of the main graph are compared by their names, in the order of the first model, with those of another
/// model or of ONNX Runtime (the Python packages onnx and onnxruntime; ONNXTXT_PYTHON says which Python).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt compare model.onnx --with ort -D N=1       this program and ONNX Runtime
  onnxtxt compare model.onnx --with quantized.onnx -i in.npz --rtol 0.05")]
pub(crate) struct Args {
    /// The model
    #[arg(value_name = "A")]
    file: PathBuf,
    /// Another model, or `ort`
    #[arg(long, value_name = "B|ort")]
    with: PathBuf,
    #[command(flatten)]
    feed: FeedArgs,
    #[command(flatten)]
    tolerance: ToleranceArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let ready = match Ready::open(&args.file, &args.opset, session)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    let executable = match ready.executable() {
        Ok(executable) => executable,
        Err(found) => return Ok(ready.report(session, &found)),
    };
    let options = args.limits.options(args.feed.seed);
    let inputs = match options.within(|| args.feed.or_random().values(&ready, &executable, session))? {
        Ok(inputs) => inputs,
        Err(found) => return Ok(ready.report(session, &found)),
    };
    let results = match all(&executable, inputs.clone(), &options) {
        Ok(results) => results,
        Err(finding) => return Ok(ready.report(session, &[*finding])),
    };
    let (others, name) = if args.with == Path::new("ort") {
        let names = executable.inputs().iter().map(|port| executable.model().text(port.name).to_owned());
        let given: Results = names.zip(inputs).filter_map(|(name, value)| Some((name, value?))).collect();
        ort::run(&ready.loaded.model, &given)?
    } else {
        let other = match Ready::open(&args.with, &args.opset, session)? {
            Ok(other) => other,
            Err(status) => return Ok(status),
        };
        let second = match other.executable() {
            Ok(executable) => executable,
            Err(found) => return Ok(other.report(session, &found)),
        };
        let again = feed::again(&executable, &inputs, &second)?;
        match all(&second, again, &options) {
            Ok(results) => (results, other.input.name.clone()),
            Err(finding) => return Ok(other.report(session, &[*finding])),
        }
    };
    let found = Comparison::of(&results, others, &args.tolerance.tolerance());
    let text = found.text(&ready.loaded.model, &name);
    output::to_people(&text)?;
    Ok(Status::of(found.first.is_none() && found.compared > 0))
}

/// All results of the main graph, in the order in which they are computed.
fn all(
    executable: &Executable<'_>,
    inputs: Vec<Option<Value>>,
    options: &RunOptions<'_>,
) -> Result<Results, Box<Diagnostic>> {
    let seen = RefCell::new(Results::new());
    let observe = |name: &str, value: &Value| seen.borrow_mut().push((name.to_owned(), value.clone()));
    executable.run(inputs, &RunOptions { observe: Some(&observe), ..options.clone() })?;
    Ok(seen.into_inner())
}

/// How results go together.
struct Comparison {
    compared: usize,
    /// Results of the first that the second has no counterpart of.
    alone: usize,
    differing: usize,
    /// The first that differs: its name and how.
    first: Option<(String, String)>,
}

impl Comparison {
    fn of(results: &Results, others: Results, tolerance: &Tolerance) -> Comparison {
        let others: HashMap<String, Value> = others.into_iter().collect();
        let mut comparison = Comparison { compared: 0, alone: 0, differing: 0, first: None };
        for (name, result) in results {
            let Some(other) = others.get(name) else {
                comparison.alone += 1;
                continue;
            };
            comparison.compared += 1;
            let Some(plain) = difference(result, other, tolerance) else { continue };
            comparison.differing += 1;
            let how = || gap(result, other, tolerance).unwrap_or(plain);
            comparison.first.get_or_insert_with(|| (name.clone(), how()));
        }
        comparison
    }

    fn text(&self, model: &Model, other: &str) -> String {
        let mut text = String::new();
        if let Some((name, how)) = &self.first {
            let from =
                node_of(model, name).map(|node| format!(", which {node} computes")).unwrap_or_default();
            text += &format!("first difference: `{name}`{from}\n  {how}\n");
        }
        let same = self.compared - self.differing;
        text += &format!("{same} of {} are the same as those of {other}", count(self.compared, "result"));
        if self.alone > 0 {
            text += &format!("; {} have no counterpart", self.alone);
        }
        text + "\n"
    }
}

/// The node that computes a result, as people call it.
fn node_of(model: &Model, name: &str) -> Option<String> {
    let body = model.main_body()?;
    let gives = |node: &onnx_ir::Node| {
        node.outputs.iter().flatten().any(|&value| &model.names[body.values[value].name] == name)
    };
    let (_, node) = body.nodes.iter().find(|(_, node)| gives(node))?;
    let op = model.text(node.op);
    Some(match model.text(node.name) {
        "" => format!("`{op}`"),
        name => format!("`{op}` (node `{name}`)"),
    })
}
