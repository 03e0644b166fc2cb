//! `onnxtxt run`: runs a model.

use crate::args::limits::LimitArgs;
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::{Prepared, Warnings};
use crate::execution::schedule::ScheduleArgs;
use crate::input::operators::OpsetArgs;
use crate::output::results::{self, Results, Shown};
use crate::session::progress::Work;
use crate::session::watch::watch;
use crate::session::{Session, Status};
use onnx_exec::{Executable, RunOptions, Value};
use onnx_ir::Model;
use onnx_ir::diag::{Diagnostic, Entity, Place, code};
use onnxtxt::Purpose;
use onnxtxt::edit::Selection;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Run a model
///
/// Inputs are read from files or generated with --random. Outputs are printed as text or written under their names.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt run model.onnx -i x=x.npy                      prints the outputs
  onnxtxt run model.onnx -i inputs.npz -o outputs.npz    arrays by the names of inputs and outputs
  onnxtxt run model.onnx -i test_data_set_0              input_0.pb and so on, as in ONNX's own tests
  onnxtxt run model.onnx --random -D N=1                 made-up inputs of the declared types
  onnxtxt run model.onnx -i x=x.npy --format json        the outputs as JSON, whole, an object a line
  onnxtxt run model.onnxtxt --random --watch             again after each change
  onnxtxt run model.onnx --random --dump op:Conv         what the convolutions give, too
  onnxtxt run model.onnx -i x.npz --check-nan            where NaN comes from
  onnxtxt run model.onnx -i x.npz --schedule s.txt       by a schedule that `lower` has written")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    inputs: InputArgs,
    /// Write the outputs as NumPy arrays
    #[arg(short, long, value_name = "OUT.npz")]
    output: Option<PathBuf>,
    /// Write the outputs as output_0.pb, output_1.pb … into this folder
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Print at most N elements of a tensor. Default: all, but only the ends of each axis beyond 1,000
    #[arg(long, value_name = "N")]
    elide: Option<usize>,
    /// Print all elements
    #[arg(long, conflicts_with = "elide")]
    full: bool,
    /// Write binary data to a terminal
    #[arg(long)]
    force: bool,
    /// Fail at the first result with a NaN
    #[arg(long)]
    check_nan: bool,
    /// Also output the results of these nodes: a name, #17, op:Conv or /glob*/; may be repeated
    #[arg(long, value_name = "SELECTION")]
    dump: Vec<Selection>,
    /// Run again whenever the model or another file that it reads changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    schedule: ScheduleArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    match args.watch {
        true => watch(std::slice::from_ref(&args.file), &[], session, |session| run_once(args, session)),
        false => run_once(args, session),
    }
}

fn run_once(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    prepared.admit(Purpose::Inference, &args.limits, session)?;
    args.dump.iter().try_for_each(|selection| selection.ensure_some(&prepared.loaded.model))?;
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let results = compute(args, &prepared, &options, session)?;
    options.within(|| emit(args, &results, session))?;
    Ok(Status::Clean)
}

/// Prints or writes the results.
fn emit(args: &Args, results: &Results, session: &Session) -> anyhow::Result<()> {
    if let Some(folder) = &args.output_dir {
        results::to_folder(folder, results)?;
    }
    match &args.output {
        Some(path) => results::to_archive(path, results, args.force)?,
        None if args.output_dir.is_some() => {}
        None if session.wants_json() => results::print_json(results)?,
        None => {
            let shown = match args.elide {
                _ if args.full => Shown::Full,
                Some(max) => Shown::First(max),
                None => Shown::Summary,
            };
            results::print(results, shown)?;
        }
    }
    Ok(())
}

/// The dumped results and the outputs. Problems are reported.
fn compute(
    args: &Args,
    prepared: &Prepared,
    limits: &RunOptions<'static>,
    session: &mut Session,
) -> anyhow::Result<Results> {
    let mut options: RunOptions<'_> = limits.clone();
    let (executable, inputs) = prepared.with_inputs(&args.limits, &args.inputs, &options, session)?;
    args.schedule.follow(prepared, &executable, &inputs, &options, session)?;
    let work = Work::begin(session, format!("running {}", prepared.input.name));
    let model = &prepared.loaded.model;
    let watch = Watch {
        wanted: args.dump.iter().flat_map(|selection| results_of(model, selection)).collect(),
        checks_nan: args.check_nan,
        end: Arc::default(),
        seen: Mutex::default(),
    };
    let observe = |name: &str, value: &Value| watch.see(name, value);
    options.cancel = Some(Arc::clone(&watch.end));
    if watch.checks_nan || !watch.wanted.is_empty() {
        options.observe = Some(&observe);
    }
    let warnings = Warnings::default();
    let warn = |warning| warnings.add(warning);
    options.warn = Some(&warn);
    let outputs = executable.run(inputs, &options);
    drop(work);
    warnings.report(prepared, session);
    let Seen { mut dumped, nan } =
        std::mem::take(&mut *watch.seen.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some((name, at)) = nan {
        let message = format!("element {at} of `{name}` is NaN, the first one in this run");
        let finding = Diagnostic::new(&code::RUN_FAILED, place_of(model, &name), message);
        return Err(prepared.reported(session, &[finding]));
    }
    match outputs {
        Err(finding) => Err(prepared.reported(session, &[*finding])),
        Ok(outputs) => {
            // An output that is also dumped is returned once.
            dumped.retain(|(dumped, _)| !names(&executable).any(|name| name == *dumped));
            dumped.extend(names(&executable).zip(outputs));
            Ok(dumped)
        }
    }
}

fn names(executable: &Executable<'_>) -> impl Iterator<Item = String> {
    executable.outputs().iter().map(|port| executable.model().text(port.name).to_owned())
}

/// The names of the results of selected nodes.
fn results_of(model: &Model, selection: &Selection) -> Vec<String> {
    let Some(body) = model.main_body() else { return Vec::new() };
    let nodes = selection.nodes(model);
    let values = nodes.iter().flat_map(|&node| body.nodes[node].outputs.iter().flatten());
    values.map(|&value| model.names[body.values[value].name].to_owned()).collect()
}

/// The place of the node of the main graph that computes a value.
fn place_of(model: &Model, name: &str) -> Place {
    let Some(body) = model.main else { return Place::Nowhere };
    let main = &model.bodies[body];
    let gives = |node: &onnx_ir::Node| {
        node.outputs.iter().flatten().any(|&value| &model.names[main.values[value].name] == name)
    };
    match main.nodes.iter().find(|(_, node)| gives(node)) {
        Some((node, _)) => Entity::Node(body, node).into(),
        None => Place::Nowhere,
    }
}

/// Observes results while the model runs.
struct Watch {
    /// The names of results to keep.
    wanted: HashSet<String>,
    checks_nan: bool,
    /// Stops the run.
    end: Arc<AtomicBool>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    dumped: Results,
    /// The first result with a NaN, and the index of the element.
    nan: Option<(String, usize)>,
}

impl Watch {
    fn see(&self, name: &str, value: &Value) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if self.wanted.contains(name) {
            seen.dumped.push((name.to_owned(), value.clone()));
        }
        if self.checks_nan
            && seen.nan.is_none()
            && let Some(at) = nan_in(value)
        {
            seen.nan = Some((name.to_owned(), at));
            self.end.store(true, Ordering::Relaxed);
        }
    }
}

/// The index of the first NaN.
fn nan_in(value: &Value) -> Option<usize> {
    match value {
        Value::Tensor(tensor) if tensor.ints().is_ok() => None,
        Value::Tensor(tensor) => tensor.floats().ok()?.iter().position(|x| x.is_nan()),
        Value::Sequence(values) => values.iter().find_map(nan_in),
        Value::Map(map) => map.values.iter().find_map(nan_in),
        Value::Optional(value) => value.as_deref().and_then(nan_in),
    }
}
