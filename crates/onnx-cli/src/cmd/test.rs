//! `onnxtxt test`: runs golden tests, model texts with their expected results.

mod record;
mod report;

use crate::execution::inputs;
use crate::npy;
use crate::output;
use crate::output::junit::{self, Outcome};
use crate::output::results;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::ensure;
use onnx_exec::Value;
use onnx_ir::Model;
use onnx_text::visible;
use onnxtxt::golden::folder::{Bless, Options, Test, tests};
use onnxtxt::golden::{ElemOf, Named, Shard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Run golden tests
///
/// A test is a model text that begins with directives (`#! check`, `#! print`, `#! pass dead-code`, `#! run`); folders are
/// searched for such files. Snapshots are stored beside the file. docs/testing.md lists all directives.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt test tests                         every test in the folder
  onnxtxt test tests --filter relu           those with `relu` in their name
  onnxtxt test tests --bless                 write the snapshots; look at the diff before you commit it
  onnxtxt test tests --junit report.xml      a report for CI
  onnxtxt test tests --shard 2/4             the second quarter, for one of four machines
  onnxtxt test tests --format github         annotations of a GitHub workflow
  onnxtxt test --record model.onnx -i x.npz  write a first test of a model

Exit status: 0 all passed · 1 some failed · 2 wrong usage, or a file cannot be read or written.")]
pub(crate) struct Args {
    /// Test files, and folders with such files
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Write the present snapshots and expected outputs; refused if results change, unless `force`, which notes the difference in
    /// the test
    #[arg(long, value_name = "force", num_args = 0..=1, require_equals = true, default_missing_value = "safe")]
    #[arg(value_parser = ["safe", "force"])]
    bless: Option<String>,
    /// Run only tests with this in their name
    #[arg(long, value_name = "S")]
    filter: Option<String>,
    /// Run only tests with this tag (`#! tags NAME`)
    #[arg(long, value_name = "NAME")]
    tag: Vec<String>,
    /// Run only share I of N: every machine of N runs another share of the same tests
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// List the tests instead of running them
    #[arg(long)]
    list: bool,
    /// Write a report in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Folder of the snapshots, if they are not beside the tests
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,
    /// Let tests start other programs: Python with ONNX Runtime for `#! expect same as onnxruntime`. Without it, such a test fails
    #[arg(long)]
    allow_programs: bool,
    /// Run the tests again whenever a file in the folders changes, until interrupted
    #[arg(long, conflicts_with_all = ["list", "record"])]
    watch: bool,
    #[command(flatten)]
    record: record::RecordArgs,
}

/// The number of tests of which `-v` says how long they took.
const MAX_SLOWEST: usize = 5;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    if let Some(model) = &args.record.record {
        return record::run(model, &args.record, session);
    }
    loop {
        let before = times(&args.paths);
        let status = once(args, session)?;
        if !args.watch {
            return Ok(status);
        }
        // Snapshots that this run has written are not a change.
        let before = if args.bless.is_some() { times(&args.paths) } else { before };
        while times(&args.paths) == before {
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

fn once(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let options = options(args);
    let mut all = Vec::new();
    for path in &args.paths {
        let found = tests(path, &Options { root: root(path), ..options.clone() })?;
        ensure!(!found.is_empty(), "no tests in {}", path.display());
        all.extend(found);
    }
    if let Some(filter) = &args.filter {
        all.retain(|test| test.name().contains(filter.as_str()));
        ensure!(!all.is_empty(), "no test has `{filter}` in its name");
    }
    if !args.tag.is_empty() {
        all.retain(|test| args.tag.iter().any(|tag| test.tags.contains(tag)));
        ensure!(!all.is_empty(), "no test has the tag `{}`", args.tag.join("` or `"));
    }
    if let Some(shard) = args.shard {
        all = shard.of(all);
    }
    if args.list {
        let names: String = all.iter().map(|test| visible(test.name()).into_owned() + "\n").collect();
        output::to_people(&names)?;
        return Ok(Status::Clean);
    }
    let outcomes = run_all(&all, session);
    say_slowest(&outcomes, session);
    if let Some(path) = &args.junit {
        let document = junit::report("onnxtxt", args.shard, &outcomes);
        output::to_file(path, |out| out.write_all(document.as_bytes()))?;
    }
    // Annotations begin with colons, which would be escaped.
    let text = report::text(&outcomes, session);
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Status::of(outcomes.iter().all(|outcome| outcome.failure.is_none())))
}

/// The folder that tests may read: that of a single file is the current one if the file is in it, so that it runs as with all others.
fn root(path: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).ok()?;
    let is_inside = !path.is_dir() && path.canonicalize().is_ok_and(|path| path.starts_with(&here));
    is_inside.then_some(here)
}

fn options(args: &Args) -> Options {
    Options {
        root: None,
        bless: match args.bless.as_deref() {
            None => Bless::No,
            Some("force") => Bless::Force,
            Some(_) => Bless::Safe,
        },
        snapshots: args.snapshots.clone(),
        values: Some(Arc::new(values)),
        write_values: Some(Arc::new(write_values)),
        allow_programs: args.allow_programs,
        literal: Some(Arc::new(literal)),
        onnxruntime: Some(Arc::new(onnxruntime)),
    }
}

/// The values of a file; of a single one, the name that the file gives it, or none.
fn values(path: &Path, elem: &ElemOf<'_>) -> Result<Named, String> {
    let read = || {
        if npy::is_archive(path) {
            let bytes = onnx_proto::file::open(path)?;
            let arrays = npy::read_all(&bytes, |name| npy::Wanted::As(elem(name)))?.read;
            return Ok(arrays.into_iter().map(|(name, tensor)| (name, tensor.into())).collect());
        }
        if npy::is_array(path) {
            let array = npy::read(&onnx_proto::file::open(path)?, elem(""))?;
            return Ok(vec![(String::new(), array.into())]);
        }
        let (value, name) = inputs::file(path)?;
        Ok(vec![(name.unwrap_or_default(), value)])
    };
    read().map_err(|error: anyhow::Error| format!("{}: {error:#}", path.display()))
}

fn write_values(path: &Path, values: &Named) -> Result<Vec<u8>, String> {
    results::archive(path, values).map_err(|error| format!("{}: {error:#}", path.display()))
}

fn literal(name: &str, value: &Value) -> Result<String, String> {
    results::literal(name, value).map_err(|error| format!("{error:#}"))
}

fn onnxruntime(model: &Model, inputs: &Named) -> Result<Named, String> {
    match crate::comparison::onnx_runtime::run(model, inputs, None) {
        Ok((results, _)) => Ok(results),
        Err(error) => Err(format!("{error:#}")),
    }
}

/// Runs the tests on the processors that there are; the outcomes have the order of the tests.
fn run_all(tests: &[Test], session: &Session) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Outcome>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tests.len());
    let work = Work::begin(session, "testing");
    work.now_counted("testing", tests.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = tests.get(index) else { break };
                    work.at(index, &format!("testing {}", test.name()));
                    let start = Instant::now();
                    let failure = test.run().err();
                    let outcome = Outcome {
                        name: test.name().to_owned(),
                        file: test.file.display().to_string(),
                        failure,
                        time: start.elapsed(),
                    };
                    done.lock().unwrap_or_else(PoisonError::into_inner).insert(index, outcome);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
}

/// With `-v`, says which tests took the time.
fn say_slowest(outcomes: &[Outcome], session: &Session) {
    let mut slowest: Vec<&Outcome> = outcomes.iter().collect();
    slowest.sort_by_key(|outcome| std::cmp::Reverse(outcome.time));
    for outcome in slowest.iter().take(MAX_SLOWEST) {
        session.detail(&format!("{}: {:.2} s", outcome.name, outcome.time.as_secs_f64()));
    }
}

/// When each file in the folders was changed last.
fn times(paths: &[PathBuf]) -> BTreeMap<PathBuf, SystemTime> {
    let mut times = BTreeMap::new();
    let mut open: Vec<PathBuf> = paths.to_vec();
    while let Some(path) = open.pop() {
        let Ok(metadata) = std::fs::metadata(&path) else { continue };
        if metadata.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            // Hidden files belong to other programs.
            let shown = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
            open.extend(shown.map(|entry| entry.path()));
        } else if let Ok(time) = metadata.modified() {
            times.insert(path, time);
        }
    }
    times
}
