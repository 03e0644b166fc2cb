//! `onnxtxt compare`: finds where two models, or two programs that run one, begin to differ.

mod pass;

use crate::comparison::onnx_runtime;
use crate::comparison::pair::{First, PairArgs, PairFiles};
use crate::execution::prepared::Warnings;
use crate::output;
use crate::output::numbers::grouped;
use crate::output::results::Results;
use crate::session::{Session, Status};
use onnx_exec::{RunOptions, Value};
use onnx_ir::Model;
use onnxtxt::compare::{DifferenceStatistics, Tolerance, difference, first_difference, is_close_as_a_whole};
use pass::{Batches, Pass};
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// The results of one pass over one model take at most this part of the memory of a run.
const SHARE: usize = 4;

/// Find the first result in which two models differ
///
/// Compares the results of all nodes of the main graph by name, in the order of the first model, with those of another model or
/// of ONNX Runtime (the Python packages onnx and onnxruntime; ONNXTXT_PYTHON names the Python interpreter, which runs in isolated
/// mode: it sees the packages of its own environment, and none in the folder of the model).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt compare model.onnx ort -D N=1              this program and ONNX Runtime
  onnxtxt compare model.onnx quantized.onnx -i in.npz --rtol 0.05
  onnxtxt compare model.onnx half.onnx --max-differing 0.01 --min-cosine 0.999")]
pub(crate) struct Args {
    #[command(flatten)]
    files: PairFiles,
    /// Print a JSON object; the same as --format json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pair: PairArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let (one, other) = args.pair.open_both(&args.files, session)?;
    let first = args.pair.first(&one, session)?;
    let second = match &other {
        Some(other) => {
            let executable = other.compiled(&args.pair.limits, &first.options, session)?;
            let inputs = first.inputs_for(&executable)?;
            Some((other, executable, inputs))
        }
        None => None,
    };
    let models = [&one].into_iter().chain(&other).map(|prepared| &prepared.loaded.model);
    let tolerance = args.pair.tolerance(models);
    let First { executable, inputs, options } = &first;

    // The first pass keeps as many results as fit into the memory.
    let share = options.max_memory / SHARE;
    let warnings = Warnings::default();
    let warn = |warning| warnings.add(warning);
    let warned = RunOptions { warn: Some(&warn), ..options.clone() };
    let mut pass = Pass::first(executable, inputs.clone(), &warned, share);
    warnings.report(&one, session);

    // Later passes keep those that were left out.
    let mut found = Comparison::of(&tolerance);
    let mut name = other.as_ref().map_or_else(String::new, |other| other.input.name.clone());
    let mut later: Option<Batches> = None;
    loop {
        let Pass { results, sizes } = pass.map_err(|finding| one.reported(session, &[*finding]))?;
        let names_of_pass: HashSet<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
        let others = match &second {
            Some((other, second, inputs)) => {
                let done = Pass::of(second, inputs.clone(), options, &names_of_pass);
                done.map_err(|finding| other.reported(session, &[*finding]))?.results
            }
            None => {
                let (others, version) =
                    onnx_runtime::run(&one.loaded.model, &first.named_inputs(), Some(&names_of_pass))?;
                name = version;
                others
            }
        };
        found.add(&results, others, &tolerance);
        let later = later.get_or_insert_with(|| Batches { left: sizes.into_iter(), share });
        let Some(names) = later.next() else { break };
        drop(names_of_pass);
        drop(results);
        let names = names.iter().map(String::as_str).collect();
        pass = Pass::of(executable, inputs.clone(), options, &names);
    }
    let text = if args.json || session.wants_json() {
        format!("{}\n", found.json(&one.loaded.model, &name))
    } else {
        found.text(&one.loaded.model, &name)
    };
    output::to_people(&text)?;
    Ok(Status::of(found.first.is_none() && found.compared > 0))
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
    first: Option<(String, String, Option<DifferenceStatistics>)>,
}

impl Comparison {
    fn of(tolerance: &Tolerance) -> Comparison {
        let in_words = tolerance.as_a_whole_in_words();
        Comparison { compared: 0, alone: 0, differing: 0, as_a_whole: 0, in_words, first: None }
    }

    /// Adds the results of a pass.
    fn add(&mut self, results: &Results, others: Results, tolerance: &Tolerance) {
        let others: HashMap<String, Value> = others.into_iter().collect();
        for (name, result) in results {
            let Some(other) = others.get(name) else {
                self.alone += 1;
                continue;
            };
            self.compared += 1;
            let Some(plain) = difference(result, other, tolerance) else {
                self.as_a_whole += usize::from(is_close_as_a_whole(result, other, tolerance));
                continue;
            };
            self.differing += 1;
            let how = || first_difference(result, other, tolerance).unwrap_or(plain);
            let spread = || DifferenceStatistics::of_values(result, other);
            self.first.get_or_insert_with(|| (name.clone(), how(), spread()));
        }
    }

    fn json(&self, model: &Model, other: &str) -> serde_json::Value {
        let first = self.first.as_ref().map(|(name, how, spread)| {
            let node = node_of(model, name);
            let spread = spread.as_ref().map(DifferenceStatistics::json);
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
