//! `onnxtxt train`: trains a model by its `training_info`.

mod csv;
mod data;
mod history;
mod record;
mod run;
mod saved;

use crate::args::limits::LimitArgs;
use crate::cmd::train::data::Data;
use crate::cmd::train::history::History;
use crate::cmd::train::run::{Stop, TrainingPlan};
use crate::cmd::train::saved::{Saved, StateFile};
use crate::cmd::weights::{is_weights, write_weights};
use crate::emit::{OutFile, emit};
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output::{self, OutputTarget};
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnx_exec::Tensor;
use onnx_ir::diag::{Diagnostic, counted};
use onnx_ops::gradient::Results;
use onnxtxt::Purpose;
use onnxtxt::edit::{weight_name, weights};
use onnxtxt::train::{TrainOptions, Trainer};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Train a model by its training_info
///
/// The algorithm of the training is run on batches of the data, and its bindings replace weights and optimizer state after each step.
/// A step that would make a part of this state infinite or NaN is not made: it ends the training, and OUT is not written.
/// Arrays have the names of graph inputs; their first axis has the examples. Training begins with the weights of the model, or, with
/// --init, with those that its initialization computes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt train model.onnxtxt -i data.npz --epochs 10 --batch 32 --shuffle -o trained.onnxtxt
  onnxtxt train model.onnx -i data.csv --steps 1000 -o weights.safetensors
  onnxtxt train model.onnx --init -i data.npz --eval test.npz --epochs 50 --early-stop 5 -o trained.onnx
  onnxtxt train model.onnx -i data.npz --epochs 20 --history loss.svg --history loss.csv -o trained.onnx
  onnxtxt train model.onnx -i data.npz --steps 5000 --save every=100 -o trained.onnx
  onnxtxt train model.onnx -i data.npz --steps 5000 --save every=100 --resume trained.state.npz -o trained.onnx
  onnxtxt train --init model.onnx -o initial.onnx        only sets the initial weights
  onnxtxt train --step model.onnx -i batch.npz -o next.onnx")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Data: FILE.npz, FILE.csv with the names of inputs in its first line, NAME=FILE.npy, NAME=FILE.pb, or a folder with
    /// input_0.pb …; may be repeated
    #[arg(short, long = "input", value_name = "DATA")]
    inputs: Vec<String>,
    /// Begin with the weights that the initialization of the model computes
    #[arg(long, conflicts_with = "resume")]
    init: bool,
    /// Make one step with all of the data
    #[arg(long, conflicts_with_all = ["steps", "epochs", "batch", "shuffle", "early_stop", "save"])]
    step: bool,
    /// Stop after N steps in all, those before --resume included
    #[arg(long, value_name = "N", conflicts_with = "epochs")]
    steps: Option<u64>,
    /// Stop after N passes through the data in all; default: 1
    #[arg(long, value_name = "N")]
    epochs: Option<u64>,
    /// Examples per step; default: all, or as many as the model declares
    #[arg(long, value_name = "B", value_parser = positive)]
    batch: Option<usize>,
    /// Use the examples of each epoch in another order
    #[arg(long)]
    shuffle: bool,
    /// Seed of the order of examples and of random operators; default: 0
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Data to evaluate the model with after each epoch
    #[arg(long, value_name = "DATA")]
    eval: Vec<String>,
    /// Stop after N epochs without a lower loss (of --eval, if there is one), and return to the best state
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    early_stop: Option<u64>,
    /// Save the state every N steps and at the end: weights, optimizer state, number of steps, position in the data
    #[arg(long, value_name = "every=N")]
    save: Option<Every>,
    /// Where to save the state; default: OUT with the extension .state.npz
    #[arg(long, value_name = "STATE.npz", requires = "save")]
    state: Option<PathBuf>,
    /// Continue from a saved state; the result is that of a training without an interruption
    #[arg(long, value_name = "STATE.npz")]
    resume: Option<PathBuf>,
    /// Run only one of several algorithms in each step: the name of its graph, or #N for the N-th; default: all, in order
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// Compute intermediate results again for the gradients instead of keeping them: less memory, more time, the same results
    #[arg(long)]
    recompute: bool,
    /// An output to report, the first one is what --early-stop watches; may be repeated; default: all scalars
    #[arg(long, value_name = "OUTPUT")]
    log: Vec<String>,
    /// Write the reported numbers of every step to FILE.csv, or draw their curves as FILE.svg; updated after each epoch, may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "step")]
    history: Vec<PathBuf>,
    /// Convert data to the element types that the model declares, as `Cast` does
    #[arg(long)]
    cast: bool,
    #[command(flatten)]
    out: OutFile,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

fn positive(text: &str) -> anyhow::Result<usize> {
    let number: usize = text.parse().context("expected a positive number")?;
    ensure!(number > 0, "expected a positive number");
    Ok(number)
}

/// `every=100`
#[derive(Clone, Copy, Debug)]
struct Every(u64);

impl FromStr for Every {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Every> {
        let number = text.strip_prefix("every=").unwrap_or(text);
        let number = number.parse().ok().filter(|number| *number > 0);
        Ok(Every(number.with_context(|| format!("`{text}` is not of the form every=100"))?))
    }
}

/// The mode of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Only the initial weights are computed.
    Init,
    /// One step is made.
    Step,
    /// The model is trained.
    Train,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let mode = match (args.step, args.inputs.is_empty()) {
        (true, _) => Mode::Step,
        (false, true) if args.init && args.steps.is_none() => Mode::Init,
        // A training without inputs is possible.
        (false, true) if args.steps.is_none() => bail!("a training needs data: add `-i DATA.npz`"),
        (false, _) => Mode::Train,
    };
    ensure!(args.out.is_given(), "add `-o OUT`, or `--in-place` to replace the model");
    let destination = Destination::of(args)?;
    let mut prepared = Prepared::open(&args.file, &args.opset, session)?;
    may_write_all(args, &destination, &prepared)?;
    prepared.admit(Purpose::Training, &args.limits, session)?;
    let work = Work::begin(session, "preparing the training");
    let seed = args.seed.unwrap_or(0);
    let limits = args.limits.options(seed, &prepared.loaded.model);
    let done = limits.within(|| {
        let mut compile = args.limits.compile_options(&|text| session.note(text));
        if args.recompute {
            compile.gradient_results = Results::Recomputed;
        }
        let algorithm = args.algorithm.as_deref().map(|name| algorithm(&prepared, name)).transpose()?;
        let options = TrainOptions { compile, run: limits.clone(), algorithm };
        let trained = match Trainer::new(&prepared.loaded.model, prepared.registry(), &options) {
            Ok(trainer) => train(args, mode, trainer, session, &work)?,
            Err(found) => Err(found),
        };
        Ok::<_, anyhow::Error>(trained)
    })?;
    let (model, report) = match done {
        Ok(done) => done,
        Err(found) => return Ok(prepared.report(session, &found)),
    };
    let mut became = prepared.loaded.became(model);
    std::mem::swap(&mut prepared.loaded, &mut became);
    let status = match &destination {
        Destination::Weights(path) => {
            let model = &prepared.loaded.model;
            let Some(body) = model.main_body() else { bail!("{} has no graph", prepared.input.name) };
            let mut arrays = Vec::new();
            for weight in weights(model) {
                let name = weight_name(model, weight).to_owned();
                let tensor = Tensor::stored(&body.tensors[weight.tensor]);
                arrays.push((name.clone(), tensor.with_context(|| format!("weight `{name}`"))?));
            }
            write_weights(path, &arrays)?;
            Status::Clean
        }
        Destination::Model => {
            let destination = args.out.destination(&args.file, None)?;
            emit(&destination, &prepared.input, &mut prepared.loaded, session, &work)?
        }
    };
    drop(work);
    report.finish(&args.out, session)?;
    Ok(status)
}

/// The position of an algorithm, by the name of its graph or by its number from 1.
fn algorithm(prepared: &Prepared, name: &str) -> anyhow::Result<usize> {
    let model = &prepared.loaded.model;
    let names: Vec<&str> = (model.training.iter())
        .map(|training| {
            let body = training.algorithm.map(|body| &model.bodies[body]);
            let root = body.and_then(|body| Some(&body.graphs[body.root()?]));
            root.map_or("", |graph| model.text(graph.name))
        })
        .collect();
    if let Some(number) = name.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
        let at = number.checked_sub(1).filter(|at| *at < names.len());
        return at.with_context(|| {
            format!("the model has {}, and no #{number}", counted(names.len(), "algorithm"))
        });
    }
    let found: Vec<usize> = (0..names.len()).filter(|at| names[*at] == name).collect();
    match found[..] {
        [at] => Ok(at),
        [] => bail!("the model has no algorithm `{name}`: they are {}", names.join(", ")),
        _ => bail!(
            "{} are called `{name}`: choose one by its number, as in `#2`",
            counted(found.len(), "algorithm")
        ),
    }
}

/// Fails if a file cannot be written that is due at the end.
fn may_write_all(args: &Args, destination: &Destination, prepared: &Prepared) -> anyhow::Result<()> {
    if let Destination::Weights(path) = destination {
        output::may_write(path)?;
    } else if let Some(OutputTarget::File(path)) = args.out.path().map(OutputTarget::new)
        && !OutputTarget::new(&path).is(&args.file)
    {
        output::may_write(&path)?;
    }
    if let Destination::Model = destination {
        args.out.destination(&args.file, None)?.ensure_writable(&prepared.loaded)?;
    }
    args.history.iter().try_for_each(|path| output::may_write(path))
}

/// The files to write.
enum Destination {
    Model,
    Weights(PathBuf),
}

impl Destination {
    fn of(args: &Args) -> anyhow::Result<Destination> {
        match args.out.path().map(OutputTarget::new) {
            Some(OutputTarget::File(path)) if is_weights(&path) => Ok(Destination::Weights(path)),
            Some(_) | None => {
                args.out.destination(&args.file, None)?;
                Ok(Destination::Model)
            }
        }
    }
}

/// A trained model and its report, or findings.
type Trained = Result<(onnx_ir::Model, record::Report), Vec<Diagnostic>>;

fn train(
    args: &Args,
    mode: Mode,
    mut trainer: Trainer<'_>,
    session: &mut Session,
    work: &Work,
) -> anyhow::Result<Trained> {
    let resumed = match &args.resume {
        Some(path) => match resume(args, path, &mut trainer)? {
            Ok(saved) => Some(saved),
            Err(found) => return Ok(Err(found)),
        },
        None => None,
    };
    if args.init {
        if !trainer.has_initialization() {
            session.note("the training has no initialization graph: weights stay as the model stores them");
        }
        if let Err(found) = trainer.initialize() {
            return Ok(Err(vec![*found]));
        }
    }
    let report = if mode == Mode::Init {
        record::Report { is_initial: true, ..record::Report::default() }
    } else {
        work.now("reading the data");
        let data = match Data::open(&args.inputs, &trainer, args.cast, session)? {
            Ok(data) => data,
            Err(found) => return Ok(Err(found)),
        };
        let eval = match args.eval.as_slice() {
            [] => None,
            files => match Data::open(files, &trainer, args.cast, session)? {
                Ok(data) => Some(data),
                Err(found) => return Ok(Err(found)),
            },
        };
        let seed = trainer.seed();
        let plan = TrainingPlan {
            stop: match (mode, args.steps, args.epochs) {
                (Mode::Step, ..) => Stop::Steps(trainer.steps().saturating_add(1)),
                (_, Some(steps), _) => Stop::Steps(steps),
                (_, None, epochs) => Stop::Epochs(epochs.unwrap_or(1)),
            },
            batch: args.batch,
            shuffle: args.shuffle.then_some(seed),
            early_stop: args.early_stop,
            save: match args.save {
                Some(Every(steps)) => Some((steps, StateFile::of(args)?)),
                None => None,
            },
            log: args.log.clone(),
            history: History::of(&args.history, &args.file)?,
        };
        match run::train(&mut trainer, &plan, &data, eval.as_ref(), resumed, session, work)? {
            Ok(report) => report,
            Err(found) => return Ok(Err(found)),
        }
    };
    Ok(trainer.into_model().map(|model| (model, report)))
}

/// Loads a saved state.
fn resume(
    args: &Args,
    path: &Path,
    trainer: &mut Trainer<'_>,
) -> anyhow::Result<Result<Saved, Vec<Diagnostic>>> {
    let saved = Saved::read(path, trainer)?;
    let is_other = args.seed.is_some_and(|seed| seed != saved.seed);
    ensure!(!is_other, "{} was saved with --seed {}", path.display(), saved.seed);
    ensure!(
        args.step || args.shuffle == saved.shuffle,
        "{} was saved {} --shuffle",
        path.display(),
        if saved.shuffle { "with" } else { "without" }
    );
    trainer.set_seed(saved.seed);
    Ok(trainer.load_state(&saved.state).map(|()| saved))
}
