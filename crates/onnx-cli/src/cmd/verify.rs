//! `onnxtxt verify`: checks whether two models compute the same.

use crate::comparison::onnx_runtime;
use crate::comparison::pair::{First, PairArgs, PairFiles};
use crate::execution::prepared::{Prepared, Warnings};
use crate::output;
use crate::session::{Session, Status};
use anyhow::{Context as _, ensure};
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::Port;
use onnx_ir::diag::counted;
use onnxtxt::compare::{OutputComparison, Tolerance};
use serde_json::json;
use std::collections::HashMap;

/// Check whether two models compute the same
///
/// Both are run with the same inputs; missing inputs are generated at random. Outputs are compared in order.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt verify model.onnx optimized.onnx -D N=1        made-up inputs
  onnxtxt verify model.onnx half.onnx -i in.npz --rtol 1e-2
  onnxtxt verify model.onnx ort -D N=1                   this program and ONNX Runtime")]
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
    let others = match &other {
        Some(other) => {
            let second = other.compiled(&args.pair.limits, &first.options, session)?;
            let (a, b) = (first.executable.outputs().len(), second.outputs().len());
            ensure!(
                a == b,
                "{} has {}, but {} has {b}",
                one.input.name,
                counted(a, "output"),
                other.input.name
            );
            match second.run(first.inputs_for(&second)?, &first.options) {
                Ok(results) => results,
                Err(finding) => return Ok(other.report(session, &[*finding])),
            }
        }
        None => in_onnx_runtime(&one, &first)?,
    };
    let models = [&one].into_iter().chain(&other).map(|prepared| &prepared.loaded.model);
    let tolerance = args.pair.tolerance(models);
    let First { executable, inputs, options } = first;
    let warnings = Warnings::default();
    let warn = |warning| warnings.add(warning);
    let results = executable.run(inputs, &RunOptions { warn: Some(&warn), ..options.clone() });
    warnings.report(&one, session);
    let results = results.map_err(|finding| one.reported(session, &[*finding]))?;
    let wants_json = args.json || session.wants_json();
    show(&executable, &results, &others, &tolerance, wants_json)
}

/// The outputs that ONNX Runtime computes.
fn in_onnx_runtime(one: &Prepared, first: &First<'_>) -> anyhow::Result<Vec<Value>> {
    let executable = &first.executable;
    let name = |port: &Port| executable.model().text(port.name).to_owned();
    let outputs: Vec<String> = executable.outputs().iter().map(name).collect();
    let names = outputs.iter().map(String::as_str).collect();
    let (results, _) = onnx_runtime::run(&one.loaded.model, &first.named_inputs(), Some(&names))?;
    let mut results: HashMap<String, Value> = results.into_iter().collect();
    let output = |port: &Port| {
        let name = name(port);
        results.remove(&name).with_context(|| format!("ONNX Runtime returned no array for output `{name}`"))
    };
    executable.outputs().iter().map(output).collect()
}

fn show(
    executable: &Executable<'_>,
    results: &[Value],
    others: &[Value],
    tolerance: &Tolerance,
    wants_json: bool,
) -> anyhow::Result<Status> {
    let mut is_same = true;
    let mut lines = String::new();
    let mut objects = Vec::new();
    for (port, (result, other)) in executable.outputs().iter().zip(results.iter().zip(others)) {
        let name = executable.model().text(port.name);
        let output = OutputComparison::of(name, result, other, tolerance);
        is_same &= output.difference.is_none();
        lines += &output.text();
        objects.push(output.json());
    }
    if wants_json {
        lines = format!("{}\n", json!({ "same": is_same, "outputs": objects }));
    }
    output::to_people(&lines)?;
    Ok(Status::of(is_same))
}
