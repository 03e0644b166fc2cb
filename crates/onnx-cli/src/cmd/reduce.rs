//! `onnxtxt reduce`: the smallest model for which a command still fails.

use crate::edit::EditOut;
use crate::edit::steps::open;
use crate::emit::Destination;
use crate::input::{Input, Loaded};
use crate::output::OutputTarget;
use crate::output::numbers::count;
use crate::programs::scratch::Scratch;
use crate::programs::user_command::{CommandResult, Exit, UserCommand};
use crate::read_files;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail};
use onnx_ir::Model;
use onnx_proto::external::is_stored_outside;
use onnxtxt::reduce::{Oracle, Reduced, Size, reduce};
use onnxtxt::{SaveOptions, Saved, Weights};
use regex::Regex;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Find the smallest model for which a command still fails
///
/// Removes nodes, outputs, operands, attributes, weights and everything else as long as the command fails, and writes each smaller
/// model to OUT at once, so that Ctrl-C leaves the best one. The command is run with the path of a candidate in place of `{}`; the
/// candidate has the file name and the format of FILE. The first run gets a copy of FILE, so that the command may change `{}`.
///
/// A run fails if it ends as with FILE itself: with the same exit code, which must not be 0, by the same signal, or not in time.
/// --exit, --stderr and --stdout ask for something else. Candidates have no errors that `check` finds, if FILE has none.
#[derive(clap::Args)]
#[command(
    override_usage = "onnxtxt reduce [OPTIONS] FILE -o OUT -- COMMAND... {}",
    after_help = "\
Examples:
  onnxtxt reduce model.onnx -o small.onnx -- python run.py {}
  onnxtxt reduce model.onnx -o small.onnxtxt --stderr 'ShapeInferenceError' -- python run.py {}
  onnxtxt reduce model.onnx -o small.onnx --exit 1 -- onnxtxt compare {} ort -D N=1
  onnxtxt reduce model.onnx -o small.onnx --timeout 10 --max-runs 200 -- ./converter {} /dev/null
  onnxtxt reduce broken.onnx -o small.onnx --invalid -- sh -c 'onnxtxt check {} | grep -q E0203 && exit 1'"
)]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    out: EditOut,
    /// A run fails if it exits with this code
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit: Option<i32>,
    /// A run fails if this regular expression matches its stderr; with --exit, both must hold
    #[arg(long, value_name = "PATTERN")]
    stderr: Option<Regex>,
    /// The same for its stdout
    #[arg(long, value_name = "PATTERN")]
    stdout: Option<Regex>,
    /// End a run, with all that it has started, after this many seconds; default: ten times as long as the run with FILE takes,
    /// but at least 10
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Stop after this many runs
    #[arg(long, value_name = "N")]
    max_runs: Option<usize>,
    /// Also try candidates with errors
    #[arg(long)]
    invalid: bool,
    /// The command, with {} in place of the model
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A positive number of seconds.
fn seconds(text: &str) -> anyhow::Result<Duration> {
    let seconds: f64 = text.parse().with_context(|| format!("`{text}` is not a number"))?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) if !time.is_zero() => Ok(time),
        Ok(_) | Err(_) => bail!("`{text}` is not a positive number of seconds"),
    }
}

/// A run ends after this many times the time of the first one,
const PATIENCE: u32 = 10;
/// but not before this.
const MIN_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let user_command = UserCommand::new(&args.command)?;
    let destination = args.out.destination(&args.file)?;
    let work = Work::begin(session, format!("reading {}", args.file.display()));
    let Some((input, mut loaded)) = open(&args.file, session)? else { return Ok(Status::Findings) };
    let scratch = Scratch::new()?;
    let name = input.path.as_deref().and_then(Path::file_name);
    let name = name.map_or_else(|| PathBuf::from(format!("model.{}", input.form.ending())), PathBuf::from);
    work.now("running the command");
    let first = user_command.run_copy(&input, &loaded.model, args.timeout)?;
    let failure = Failure { args, first: first.end };
    if !failure.is(&first) {
        bail!("the command does not fail with {}: it {}{}", input.name, first.end, failure.wanted());
    }
    if is_stored_outside(&loaded.model) {
        if let Some(path) = &input.path {
            read_files::note_external(&loaded.model, path);
        }
        let found = loaded.load_weights();
        if !found.is_empty() {
            findings::report(session, &loaded, &found);
            return Ok(Status::Findings);
        }
    }
    let timeout = args.timeout.unwrap_or_else(|| (first.took * PATIENCE).max(MIN_TIMEOUT));
    let mut search = Search {
        failure,
        user_command,
        timeout,
        input: &input,
        loaded: &loaded,
        destination: &destination,
        is_written: !args.out.is_dry_run(),
        scratch,
        name,
        known: HashMap::new(),
        runs: 0,
        session,
        work: &work,
    };
    let before = Size::of(&loaded.model);
    let Reduced { model, size, stop } = reduce(&loaded.model, args.invalid, &mut search);
    let runs = search.runs;
    let why = match stop {
        None => "",
        Some(Stop::Runs) => "; --max-runs is reached",
        Some(Stop::Error(error)) => return Err(error),
    };
    session.note(&format!("reduce: {before} → {size} after {}{why}", count(runs, "run")));
    let mut became = loaded.became(model);
    args.out.put(&destination, &input, &loaded, &mut became, session, work)
}

/// The kind of run that counts as a failure.
struct Failure<'a> {
    args: &'a Args,
    /// How the run with the model itself ended.
    first: Exit,
}

impl Failure<'_> {
    /// Whether a run failed.
    fn is(&self, run: &CommandResult) -> bool {
        let Args { exit, stderr, stdout, .. } = self.args;
        if exit.is_none() && stderr.is_none() && stdout.is_none() {
            return run.end == self.first && run.end != Exit::Code(0);
        }
        exit.is_none_or(|code| run.end == Exit::Code(code))
            && stderr.as_ref().is_none_or(|pattern| pattern.is_match(&run.stderr))
            && stdout.as_ref().is_none_or(|pattern| pattern.is_match(&run.stdout))
    }

    /// The expectation of the first run, as the end of a sentence.
    fn wanted(&self) -> String {
        let Args { exit, stderr, stdout, .. } = self.args;
        let mut wanted = String::new();
        if let Some(code) = exit {
            wanted += &format!(", not with {code}");
        }
        for (name, pattern) in [("stderr", stderr), ("stdout", stdout)] {
            if let Some(pattern) = pattern {
                wanted += &format!(", and {name} is to match `{pattern}`");
            }
        }
        wanted
    }
}

/// Why a search ends early.
enum Stop {
    /// There were as many runs as are allowed.
    Runs,
    Error(anyhow::Error),
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Stop {
        Stop::Error(error)
    }
}

/// Runs the command with candidates, each once.
struct Search<'s> {
    failure: Failure<'s>,
    user_command: UserCommand<'s>,
    timeout: Duration,
    input: &'s Input,
    loaded: &'s Loaded,
    destination: &'s Destination,
    is_written: bool,
    /// Where candidates are written.
    scratch: Scratch,
    name: PathBuf,
    /// Whether the command fails, by the digest of the candidate.
    known: HashMap<[u8; 32], bool>,
    runs: usize,
    session: &'s Session,
    work: &'s Work,
}

impl Search<'_> {
    /// Writes a candidate as a file of the format of the input.
    fn write(&self, candidate: &Model) -> anyhow::Result<PathBuf> {
        let path = self.scratch.empty("candidate")?.join(&self.name);
        let options = SaveOptions { form: Some(self.input.form), ..SaveOptions::default() };
        let _: Saved = self.loaded.became(candidate.clone()).save_with(&path, &options)?;
        Ok(path)
    }

    /// The digest of all files of the candidate.
    fn digest(&self, candidate: &Path) -> anyhow::Result<[u8; 32]> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(candidate.parent().unwrap_or(candidate))?
            .map(|entry| Ok(entry?.path()))
            .collect::<std::io::Result<_>>()?;
        files.sort();
        let mut digest = Sha256::new();
        for file in files {
            let content = std::fs::read(file)?;
            digest.update((content.len() as u64).to_le_bytes());
            digest.update(&content);
        }
        Ok(digest.finalize().into())
    }
}

impl Oracle for Search<'_> {
    type Stop = Stop;

    fn fails(&mut self, candidate: &Model) -> Result<bool, Stop> {
        let path = self.write(candidate)?;
        let digest = self.digest(&path)?;
        if let Some(&known) = self.known.get(&digest) {
            return Ok(known);
        }
        if self.failure.args.max_runs.is_some_and(|max| self.runs >= max) {
            return Err(Stop::Runs);
        }
        self.runs += 1;
        self.work.now(format!("run {}: {}", self.runs, Size::of(candidate)));
        let fails = self.failure.is(&self.user_command.run(&path, Some(self.timeout))?);
        self.known.insert(digest, fails);
        Ok(fails)
    }

    fn found(&mut self, model: &Model, size: &Size) -> Result<(), Stop> {
        self.session.detail(&format!("run {}: {size}", self.runs));
        let OutputTarget::File(path) = &self.destination.target else { return Ok(()) };
        if !self.is_written {
            return Ok(());
        }
        // A file of weights beside it would stay when a smaller model does not need it.
        let options = SaveOptions {
            form: Some(self.destination.to),
            weights: Some(Weights::Inline),
            reads: read_files::all(),
            ..SaveOptions::default()
        };
        let saved = self.loaded.became(model.clone()).save_with(path, &options);
        saved.map(|_: Saved| ()).map_err(|error| Stop::Error(error.into()))
    }
}
