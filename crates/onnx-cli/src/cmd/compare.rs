//! `onnxtxt compare`: finds where two models, or two programs that run one, begin to differ.

pub(super) mod gap;
pub(super) mod ort;

use super::pair::{Other, PairArgs};
use crate::close::{Precision, Tolerance, ToleranceArgs, difference, is_close_as_a_whole};
use crate::feed::{self, FeedArgs};
use crate::limits::LimitArgs;
use crate::operators::OpsetArgs;
use crate::output;
use crate::ready::Ready;
use crate::results::Results;
use crate::session::{Session, Status, grouped};
use crate::spread::Spread;
use gap::gap;
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Find the first result in which two models differ
///
/// Compares the results of all nodes of the main graph by name, in the order of the first model, with those of another model or
/// of ONNX Runtime (the Python packages onnx and onnxruntime; ONNXTXT_PYTHON names the Python interpreter).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt compare model.onnx ort -D N=1              this program and ONNX Runtime
  onnxtxt compare model.onnx quantized.onnx -i in.npz --rtol 0.05
  onnxtxt compare model.onnx half.onnx --max-differing 0.01 --min-cosine 0.999")]
pub(crate) struct Args {
    #[command(flatten)]
    pair: PairArgs,
    /// Print a JSON object; the same as --format json
    #[arg(long)]
    json: bool,
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
    let ready = Ready::open(&args.pair.one, &args.opset, session)?;
    let other = match args.pair.other()? {
        Other::Model(path) => Some(Ready::open(path, &args.opset, session)?),
        Other::OnnxRuntime => None,
    };
    let options = args.limits.options(args.feed.seed, &ready.loaded.model);
    let (executable, inputs) = ready.prepared(&args.limits, &args.feed.or_random(), &options, session)?;
    let results =
        all(&executable, inputs.clone(), &options).map_err(|finding| ready.reported(session, &[*finding]))?;
    let mut precision = Precision::of(&ready.loaded.model);
    let (others, name) = match &other {
        None => {
            let names = executable.inputs().iter().map(|port| executable.model().text(port.name).to_owned());
            let given: Results = names.zip(inputs).filter_map(|(name, value)| Some((name, value?))).collect();
            ort::run(&ready.loaded.model, &given)?
        }
        Some(other) => {
            precision = precision.max(Precision::of(&other.loaded.model));
            let second = other.compiled(&args.limits, &options, session)?;
            let again = feed::again(&executable, &inputs, &second)?;
            match all(&second, again, &options) {
                Ok(results) => (results, other.input.name.clone()),
                Err(finding) => return Ok(other.report(session, &[*finding])),
            }
        }
    };
    let tolerance = args.tolerance.tolerance().for_precision(precision);
    let found = Comparison::of(&results, others, &tolerance);
    let text = if args.json || session.wants_json() {
        format!("{}\n", found.json(&ready.loaded.model, &name))
    } else {
        found.text(&ready.loaded.model, &name)
    };
    output::to_people(&text)?;
    Ok(Status::of(found.first.is_none() && found.compared > 0))
}

/// All results of the main graph, in the order of computation.
fn all(
    executable: &Executable<'_>,
    inputs: Vec<Option<Value>>,
    options: &RunOptions<'_>,
) -> Result<Results, Box<Diagnostic>> {
    let seen = Mutex::new(Results::new());
    let observe = |name: &str, value: &Value| {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.push((name.to_owned(), value.clone()));
    };
    executable.run(inputs, &RunOptions { observe: Some(&observe), ..options.clone() })?;
    Ok(seen.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// The comparison of all results.
struct Comparison {
    compared: usize,
    /// Results of the first model without a counterpart in the second.
    alone: usize,
    differing: usize,
    /// Results that are equal only as a whole, and that criterion in words.
    as_a_whole: usize,
    in_words: String,
    /// The first result that differs: its name, how, and its statistics.
    first: Option<(String, String, Option<Spread>)>,
}

impl Comparison {
    fn of(results: &Results, others: Results, tolerance: &Tolerance) -> Comparison {
        let others: HashMap<String, Value> = others.into_iter().collect();
        let in_words = tolerance.as_a_whole_in_words();
        let mut comparison =
            Comparison { compared: 0, alone: 0, differing: 0, as_a_whole: 0, in_words, first: None };
        for (name, result) in results {
            let Some(other) = others.get(name) else {
                comparison.alone += 1;
                continue;
            };
            comparison.compared += 1;
            let Some(plain) = difference(result, other, tolerance) else {
                comparison.as_a_whole += usize::from(is_close_as_a_whole(result, other, tolerance));
                continue;
            };
            comparison.differing += 1;
            let how = || gap(result, other, tolerance).unwrap_or(plain);
            let spread = || Spread::of_values(result, other);
            comparison.first.get_or_insert_with(|| (name.clone(), how(), spread()));
        }
        comparison
    }

    fn json(&self, model: &Model, other: &str) -> serde_json::Value {
        let first = self.first.as_ref().map(|(name, how, spread)| {
            let node = node_of(model, name);
            let spread = spread.as_ref().map(Spread::json);
            json!({ "name": name, "node": node, "difference": how, "spread": spread })
        });
        json!({
            "with": other,
            "compared": self.compared,
            "same": self.compared - self.differing,
            "same_only_as_a_whole": self.as_a_whole,
            "differing": self.differing,
            "without_counterpart": self.alone,
            "first_difference": first,
        })
    }

    fn text(&self, model: &Model, other: &str) -> String {
        let mut text = String::new();
        if let Some((name, how, spread)) = &self.first {
            let from =
                node_of(model, name).map(|node| format!(", which {node} computes")).unwrap_or_default();
            text += &format!("first difference: `{name}`{from}\n  {how}\n");
            if let Some(spread) = spread {
                text += &format!("  {spread}\n");
            }
        }
        let same = self.compared - self.differing;
        let all = grouped(self.compared as u64);
        text += &format!("{same} of {all} results agree with {other}");
        if self.alone > 0 {
            text += &format!("; {} have no counterpart", self.alone);
        }
        text += "\n";
        if self.as_a_whole > 0 {
            text +=
                &format!("{} of them only as a whole: {}\n", grouped(self.as_a_whole as u64), self.in_words);
        }
        text
    }
}

/// A description of the node that computes a result.
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
