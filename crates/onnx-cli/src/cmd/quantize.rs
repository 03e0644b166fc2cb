//! `onnxtxt quantize`: weights as integers of few bits, and the error that this makes.

use crate::args::limits::LimitArgs;
use crate::edit::{EditArgs, edit};
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output::numbers::count;
use crate::session::{Session, Status};
use anyhow::{Context as _, ensure};
use onnx_exec::Value;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, NodeId};
use onnxtxt::compare::{Baseline, OutputPair};
use onnxtxt::edit::{Edited, Quantize, Scheme, Selection, quantize};
use onnxtxt::{Purpose, Ranges};
use std::collections::HashSet;

/// Store weights as integers of 8 or 4 bits, and report the error that this makes
///
/// Quantizes MatMul, Gemm and Conv with constant weights of type float. With --dynamic, which is the default, MatMul and Gemm compute with
/// int8, and activations are quantized when the model runs. With --calibrate, everything is quantized with the ranges that activations
/// have for these inputs, as QuantizeLinear and DequantizeLinear around the nodes (QDQ), also of Conv. With --weights alone, weights are
/// stored as integers and computed with as floats.
///
/// The outputs of both models for the inputs of -i, for those of --calibrate or for random ones are compared; the largest and the mean relative
/// difference and the cosine similarity of each are reported.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt quantize model.onnx -o small.onnx -D N=1
  onnxtxt quantize model.onnx -o small.onnx --per-channel --exclude op:Gemm --exclude '/head/*'
  onnxtxt quantize model.onnx -o qdq.onnx --calibrate a.npz --calibrate b.npz --percentile 99.99
  onnxtxt quantize model.onnx -o int4.onnx --weights int4 --block-size 32")]
pub(crate) struct Args {
    #[command(flatten)]
    edit: EditArgs,
    /// Quantize activations when the model runs (the default)
    #[arg(long, conflicts_with_all = ["calibrate", "block_size"])]
    dynamic: bool,
    /// Inputs to measure the ranges of activations with, as for -i; may be repeated, each is a run
    #[arg(long, value_name = "X.npz", conflicts_with = "block_size")]
    calibrate: Vec<String>,
    /// The range of an activation has this share of its numbers, in percent; default: all of them
    #[arg(long, value_name = "P", requires = "calibrate", value_parser = percent)]
    percentile: Option<f64>,
    /// Type of weights; alone: quantize weights only
    #[arg(long, value_enum, value_name = "TYPE")]
    weights: Option<WeightType>,
    /// The number of elements that share a scale, for --weights alone; default: 32 for int4, and none for int8
    #[arg(long, value_name = "N", requires = "weights", value_parser = clap::value_parser!(u32).range(1..))]
    block_size: Option<u32>,
    /// Give each output channel of a weight a scale of its own
    #[arg(long)]
    per_channel: bool,
    /// Nodes that stay as they are: name, #17, op:Conv, /glob*/; may be repeated
    #[arg(long, value_name = "SELECTION")]
    exclude: Vec<Selection>,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

/// Types of quantized weights.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum WeightType {
    /// 8 bits
    Int8,
    /// 4 bits, in blocks (version 21 of ai.onnx)
    Int4,
}

/// A number of percent.
fn percent(text: &str) -> anyhow::Result<f64> {
    let number: f64 = text.parse().with_context(|| format!("`{text}` is not a number"))?;
    ensure!(number > 50.0 && number <= 100.0, "`{text}` is not between 50 and 100");
    Ok(number)
}

/// Elements of int4 that share a scale.
const BLOCK: usize = 32;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    ensure!(
        args.weights != Some(WeightType::Int4) || !args.dynamic && args.calibrate.is_empty(),
        "int4 is for weights alone: leave out `--dynamic` and `--calibrate`"
    );
    let prepared = Prepared::open(&args.edit.file, &args.opset, session)?;
    prepared.admit(Purpose::Inference, &args.limits, session)?;
    let ranges = measured(args, &prepared, session)?.map_err(|found| prepared.reported(session, &found))?;
    let before = original(args, &prepared, session)?.map_err(|found| prepared.reported(session, &found))?;
    let scheme = match args.weights {
        _ if !args.calibrate.is_empty() => Scheme::Static { ranges: ranges.known() },
        Some(WeightType::Int8) if !args.dynamic => {
            Scheme::Weights { elem: ElemType::INT8, block: args.block_size.map(|size| size as usize) }
        }
        Some(WeightType::Int4) => {
            let block = args.block_size.map_or(BLOCK, |size| size as usize);
            Scheme::Weights { elem: ElemType::INT4, block: Some(block) }
        }
        Some(WeightType::Int8) | None => Scheme::Dynamic,
    };
    let (mut kept, mut errors) = (Vec::new(), Vec::new());
    let compile_options = args.limits.compile_options(&|text| session.note(text));
    let status = edit(&args.edit.file, &args.edit.out, session, "quantize", |model| {
        args.exclude.iter().try_for_each(|selection| selection.ensure_some(model))?;
        let excluded: HashSet<NodeId> =
            args.exclude.iter().flat_map(|selection| selection.nodes(model)).collect();
        let found = prepared.load_weights(model);
        if !found.is_empty() {
            return Ok(Err(found));
        }
        let options =
            Quantize { scheme, per_channel: args.per_channel, keep: &|node| excluded.contains(&node) };
        let report = match quantize(model, &options, &mut kept) {
            Ok(report) => report,
            Err(found) => return Ok(Err(found)),
        };
        if let Some(before) = &before {
            let options = args.limits.options(args.inputs.seed, model);
            match before.rerun(model, prepared.registry_for(model), &compile_options, &options) {
                Ok(outputs) => {
                    let line = |output: &OutputPair<'_>| {
                        format!("error of `{}`: {}", output.name, error(&output.now, output.before))
                    };
                    errors = outputs.iter().map(line).collect();
                }
                Err(found) => return Ok(Err(found)),
            }
        }
        Ok(Ok(report) as Edited)
    })?;
    if status == Status::Clean {
        for (node, reason) in &kept {
            session.detail(&format!("{node} stays as it is: {reason}"));
        }
        if !kept.is_empty() {
            session.note(&format!("{} with weights not quantized (-v says why)", count(kept.len(), "node")));
        }
        errors.iter().for_each(|line| session.note(line));
    }
    Ok(status)
}

/// The ranges of activations, for the calibration inputs.
fn measured(
    args: &Args,
    prepared: &Prepared,
    session: &mut Session,
) -> anyhow::Result<Result<Ranges, Vec<Diagnostic>>> {
    let mut ranges = Ranges::new(args.percentile);
    if args.calibrate.is_empty() {
        return Ok(Ok(ranges));
    }
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let executable = prepared.compiled(&args.limits, &options, session)?;
    for file in &args.calibrate {
        let given = args.inputs.of_files(std::slice::from_ref(file));
        let inputs = match options.within(|| given.values(prepared, &executable, session))? {
            Ok(inputs) => inputs,
            Err(found) => return Ok(Err(found)),
        };
        if let Err(finding) = ranges.measure(&executable, inputs, &options) {
            return Ok(Err(vec![*finding]));
        }
    }
    Ok(Ok(ranges))
}

/// Runs the model before it is quantized. `None`: it cannot be run, and no inputs are given, so that nothing can be measured.
fn original<'r>(
    args: &Args,
    prepared: &'r Prepared,
    session: &Session,
) -> anyhow::Result<Result<Option<Baseline<'r>>, Vec<Diagnostic>>> {
    let is_needed = args.inputs.is_given() || !args.calibrate.is_empty();
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let none = |session: &Session, why: String| {
        session.note(&format!("the error is not measured: {why}"));
        Ok(Ok(None))
    };
    let compile_options = args.limits.compile_options(&|text| session.note(text));
    let executable = match options.within(|| prepared.executable(&compile_options)) {
        Ok(executable) => executable,
        Err(found) if is_needed => return Ok(Err(found)),
        Err(found) => return none(session, found.first().map_or(String::new(), |d| d.message.clone())),
    };
    let given = match args.calibrate.first() {
        Some(first) if !args.inputs.is_given() => args.inputs.of_files(std::slice::from_ref(first)),
        Some(_) | None => args.inputs.or_random(),
    };
    let inputs = match options.within(|| given.values(prepared, &executable, session)) {
        Ok(Ok(inputs)) => inputs,
        Ok(Err(found)) => return Ok(Err(found)),
        Err(error) if is_needed => return Err(error),
        Err(error) => return none(session, format!("{error:#}")),
    };
    match Baseline::run(executable, inputs, &options) {
        Ok(original) => Ok(Ok(Some(original))),
        Err(finding) if is_needed => Ok(Err(vec![*finding])),
        Err(finding) => none(session, finding.message),
    }
}

/// `max 1.2e-2, mean relative 0.8 %, cosine 0.999912`
fn error(now: &Value, before: &Value) -> String {
    let (Value::Tensor(now), Value::Tensor(before)) = (now, before) else { return "not a tensor".to_owned() };
    if now.dims() != before.dims() {
        return format!("shape {:?} instead of {:?}", now.dims(), before.dims());
    }
    let (Ok(xs), Ok(ys)) = (now.floats(), before.floats()) else { return "not numbers".to_owned() };
    let pairs = || xs.iter().zip(ys.iter());
    let largest = pairs().map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    // Relative to the mean size: single elements may be 0.
    let size: f64 = ys.iter().map(|y| y.abs()).sum();
    let difference: f64 = pairs().map(|(x, y)| (x - y).abs()).sum();
    let relative = if difference == 0.0 { 0.0 } else { difference / size };
    let cosine = onnxtxt::compare::DifferenceStatistics::of(&xs, &ys).cosine;
    let cosine = cosine.map_or_else(|| "undefined".to_owned(), |cosine| format!("{cosine:.6}"));
    format!("max {largest:.2e}, mean relative {:.3} %, cosine {cosine}", relative * 100.0)
}
