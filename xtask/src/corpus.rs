//! `cargo xtask corpus`: test models, fetched or built into `target/corpus`.
//!
//! ```text
//! target/corpus/backend/<kind>/<case>/model.onnx        ONNX's own 2033 test cases, with inputs and outputs
//! target/corpus/models/<name>/<name>.onnx               99 real models, 31 exports, 9 derived from those
//! target/corpus/reference_text/, reference_parsed/      what the reference prints for each, and parses back
//! ```
//!
//! Nothing of it is committed: the licences differ. The work is done by the scripts of `xtask/corpus`, which keep a
//! stamp for every model, so an interrupted run resumes and a second one is quick. What could not be had is listed at
//! the end; only `--strict` makes that an error.

use crate::venv::{self, Env};
use crate::{dirs, process};
use anyhow::{Context as _, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The parts to fetch (repeatable)
    #[arg(long, value_enum, default_values = ["light"])]
    set: Vec<Set>,
    /// Also run every real model once, for expected outputs in target/corpus/io
    #[arg(long)]
    gen_inputs: bool,
    /// Fail if a model could not be had
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Set {
    /// ONNX's backend tests (75 MB)
    Backend,
    /// The backend tests and 30 small real models (20 MB)
    Light,
    /// 99 models from public packages (1 GB)
    Real,
    /// 14 classical pipelines and 17 torch architectures, exported here (2 GB of Python packages)
    Exports,
    /// 9 quantised, half-precision and outlined variants of the exports
    Derived,
    All,
}

/// One script of xtask/corpus. The order is the order in which they run: what needs another's models comes later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Backend,
    LightModels,
    RealModels,
    Sklearn,
    Torch,
    Derived,
    GenInputs,
}

impl Set {
    fn jobs(self) -> &'static [Job] {
        use Job::{Backend, Derived, LightModels, RealModels, Sklearn, Torch};
        match self {
            Self::Backend => &[Backend],
            Self::Light => &[Backend, LightModels],
            Self::Real => &[RealModels],
            Self::Exports => &[Sklearn, Torch],
            Self::Derived => &[Torch, Derived],
            Self::All => &[Backend, RealModels, Sklearn, Torch, Derived],
        }
    }
}

impl Job {
    fn title(self) -> &'static str {
        match self {
            Self::Backend => "backend tests",
            Self::LightModels => "small real models",
            Self::RealModels => "real models",
            Self::Sklearn => "classical pipelines",
            Self::Torch => "torch exports",
            Self::Derived => "derived models",
            Self::GenInputs => "expected outputs",
        }
    }

    fn env(self) -> Env {
        match self {
            Self::Backend | Self::LightModels | Self::RealModels | Self::GenInputs => Env::Reference,
            Self::Sklearn => Env::Sklearn,
            Self::Torch | Self::Derived => Env::Torch,
        }
    }

    fn command(self, python: PathBuf) -> Command {
        let models = dirs::corpus().join("models");
        let mut command = Command::new(python);
        let mut script = |name| {
            command.arg(dirs::corpus_script(name));
        };
        match self {
            Self::Backend => script("dump_backend.py"),
            Self::LightModels | Self::RealModels => script("collect.py"),
            Self::Sklearn => script("export_sklearn.py"),
            Self::Torch => script("export_torch.py"),
            Self::Derived => script("derive.py"),
            Self::GenInputs => script("gen_inputs.py"),
        }
        match self {
            Self::Backend => command.arg(dirs::corpus().join("backend")).arg("--force"),
            Self::LightModels => command.arg(dirs::corpus_script("manifest.json")).arg(models).arg("--light"),
            Self::RealModels => command.arg(dirs::corpus_script("manifest.json")).arg(models),
            Self::Torch => command.arg("all").arg(models),
            Self::Sklearn | Self::Derived => command.arg(models),
            Self::GenInputs => command.arg("all").arg(dirs::corpus()),
        };
        command
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut jobs: BTreeSet<Job> = args.set.iter().flat_map(|set| set.jobs()).copied().collect();
    if args.gen_inputs {
        jobs.insert(Job::GenInputs);
    }
    if jobs.contains(&Job::RealModels) {
        jobs.remove(&Job::LightModels);
    }
    fs::create_dir_all(dirs::corpus())?;
    // Not being able to make the reference environment is not a missing model: nothing works without it.
    venv::ensure(Env::Reference)?;

    let mut missing = Vec::new();
    for job in jobs {
        let start = Instant::now();
        let result = if job == Job::Backend { backend() } else { models(job) };
        match result {
            Ok(report) => {
                println!("{}: {} ({:.1} s)", job.title(), report.text, start.elapsed().as_secs_f32());
                missing.extend(report.missing);
            }
            Err(error) => missing.push(format!("{}: {error:#}", job.title())),
        }
    }
    reference_texts()?;

    fs::write(missing_file(), missing.join("\n"))?;
    if missing.is_empty() {
        return Ok(());
    }
    println!("\nMISSING from the corpus:");
    for line in &missing {
        println!("  {line}");
    }
    ensure!(!args.strict, "{} parts of the corpus are missing", missing.len());
    Ok(())
}

/// Names of the files that the last run could not fetch, one per line.
pub(crate) fn missing_file() -> PathBuf {
    dirs::corpus().join("missing.txt")
}

struct Report {
    text: String,
    missing: Vec<String>,
}

fn backend() -> Result<Report> {
    let stamp = dirs::corpus().join("backend/.stamp");
    let wanted = fs::read_to_string(dirs::corpus_script("dump_backend.py"))?
        + &fs::read_to_string(dirs::root().join("xtask/requirements/reference.txt"))?;
    let cached = fs::read_to_string(&stamp).is_ok_and(|have| have == wanted);
    if !cached {
        process::run(&mut Job::Backend.command(venv::ensure(Env::Reference)?))?;
        fs::write(stamp, wanted)?;
    }
    let text = if cached { "there" } else { "written" }.to_owned();
    Ok(Report { text, missing: Vec::new() })
}

/// Runs a script that reports each model as a line of JSON (see progress.py).
fn models(job: Job) -> Result<Report> {
    println!("{} …", job.title());
    let mut command = job.command(venv::ensure(job.env())?);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stdout = child.stdout.take().context("stdout was asked for")?;
    let (mut ok, mut cached, mut of, mut missing) = (0, 0, 0, Vec::new());
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        let row: serde_json::Value =
            serde_json::from_str(&line).with_context(|| format!("not a progress line: {line}"))?;
        let text = |key: &str| row[key].as_str().unwrap_or_default();
        of = row["of"].as_u64().unwrap_or_default();
        match text("state") {
            "ok" => ok += 1,
            "cached" => cached += 1,
            _ => missing.push(format!("{}: {}", text("model"), text("why"))),
        }
        if text("state") != "cached" {
            progress(&format!("[{:>3}/{of}] {} {}", row["n"], text("model"), text("state")));
        }
    }
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[K");
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("the script failed ({status}) after {} of {of} models", ok + cached);
    }
    let text = format!("{} of {of} there, {ok} of them new", ok + cached);
    Ok(Report { text, missing })
}

/// One line that is written over on a terminal, a line each elsewhere.
fn progress(text: &str) {
    if std::io::stdout().is_terminal() {
        print!("\r\x1b[K{text}");
        let _ = std::io::stdout().flush();
    } else {
        println!("{text}");
    }
}

/// Prints every model with the reference, and parses the result.
fn reference_texts() -> Result<()> {
    let start = Instant::now();
    let summary = process::output(
        Command::new(venv::ensure(Env::Reference)?)
            .arg(dirs::reference_script())
            .arg("corpus")
            .arg(dirs::corpus()),
    )?;
    let summary: serde_json::Value = serde_json::from_str(&summary)?;
    let list = |key: &str| summary[key].as_array().map_or(0, Vec::len);
    println!(
        "reference texts: {} of {} models read back ({} cached), {} as the same bytes, {:.1} s",
        summary["ok"],
        summary["models"],
        summary["cached"],
        summary["identical"],
        start.elapsed().as_secs_f32()
    );
    println!(
        "  large tensors left out of {} texts; {} texts that the reference itself refuses, {} models that it \
         cannot print: target/corpus/reference_text/index.json says which",
        list("elided"),
        list("refused"),
        list("unprintable"),
    );
    Ok(())
}
