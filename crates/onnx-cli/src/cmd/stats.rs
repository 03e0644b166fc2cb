//! `onnxtxt stats`: what a model costs, and how its numbers are distributed.

mod costs;
mod numbers;

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::session::findings;
use crate::session::{Session, Status};
use onnxtxt::describe::{CostKey, ModelCosts};
use serde_json::json;
use std::path::PathBuf;

/// Show what a model costs, and how its numbers are distributed
///
/// MACs are multiplications with an addition: those of convolutions, matrix products, recurrent cells and attention. FLOPs are
/// all operations on numbers, two for each MAC; what only moves elements has none. Where shapes have symbols, so have the costs.
///
/// The peak is what inputs and results take at a time if nodes run in their order, each result has memory of its own, and memory
/// is given back after the last use; weights come on top.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt stats model.onnx                         totals, and the nodes that cost most
  onnxtxt stats model.onnx -D N=1 --by bytes       for a size, sorted by bytes read and written
  onnxtxt stats model.onnx --weights               min, max, mean, zeros and NaN of each weight
  onnxtxt stats model.onnx -i in.npz               the same of each result, for these inputs
  onnxtxt stats model.onnx --format json           for programs")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The sort key of nodes; symbols count as 64
    #[arg(long, value_enum, value_name = "COST", default_value = "flops")]
    by: CostKey,
    /// How many nodes, weights and results are shown; 0 is all
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// Show how the numbers of weights are distributed
    #[arg(long)]
    weights: bool,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    let sizes = args.inputs.sizes();
    let mut costs = match ModelCosts::of(&prepared.loaded.model, prepared.registry(), &sizes) {
        Ok(Some(costs)) => costs,
        Ok(None) => anyhow::bail!("{} has no graph", prepared.input.name),
        Err(found) => return Ok(prepared.report(session, &found)),
    };
    let max = if args.top == 0 { usize::MAX } else { args.top };
    let weights = if args.weights { numbers::of_weights(&prepared.loaded.model) } else { Vec::new() };
    let runs = args.inputs.is_given();
    let results = match runs {
        true => match numbers::of_results(args, &prepared, session)? {
            Ok(results) => results,
            Err(found) => return Ok(prepared.report(session, &found)),
        },
        false => Vec::new(),
    };
    if session.wants_json() {
        let mut object = costs.json(args.by);
        if args.weights {
            object["weights"] = weights.iter().map(numbers::Row::json).collect();
        }
        if runs {
            object["activations"] = results.iter().map(numbers::Row::json).collect();
        }
        object["file"] = json!(prepared.input.name);
        output::json(&object)?;
        return Ok(Status::Clean);
    }
    let mut text = format!("{}\n{}", prepared.input.name, costs::text(&mut costs, args.by, max));
    if args.weights {
        text += &numbers::text("weights", &weights, max);
    }
    if runs {
        text += &numbers::text("results", &results, max);
    }
    output::to_people(&text)?;
    findings::report(session, &prepared.loaded, &[]);
    Ok(Status::Clean)
}
