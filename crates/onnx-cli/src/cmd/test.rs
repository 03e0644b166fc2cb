//! `onnxtxt test`: runs golden tests, model texts with their expected results.

mod report;
mod store;

use crate::files;
use crate::output;
use crate::reads::Unreadable;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnx_text::visible;
use onnxtxt::golden::{self, Case};
use report::Outcome;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use store::Store;

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
  onnxtxt test tests --format github         annotations of a GitHub workflow

Exit status: 0 all passed · 1 some failed · 2 wrong usage, or a file cannot be read or written.")]
pub(crate) struct Args {
    /// Test files, and folders with such files
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    /// Write the snapshots; refused if a pass changes what a model computes, unless `force`
    #[arg(long, value_name = "force", num_args = 0..=1, require_equals = true, default_missing_value = "safe")]
    #[arg(value_parser = ["safe", "force"])]
    bless: Option<String>,
    /// Run only tests with this in their name
    #[arg(long, value_name = "S")]
    filter: Option<String>,
    /// List the tests instead of running them
    #[arg(long)]
    list: bool,
    /// Write a report in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Folder of the snapshots, if they are not beside the tests
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,
}

/// A test and the file it is in.
struct Test {
    file: PathBuf,
    case: Case,
    store: Arc<Store>,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let mut tests = Vec::new();
    for path in &args.paths {
        let before = tests.len();
        collect(path, args, &mut tests)?;
        ensure!(tests.len() > before, "no tests in {}", path.display());
    }
    if let Some(filter) = &args.filter {
        tests.retain(|test| test.case.name.contains(filter.as_str()));
        ensure!(!tests.is_empty(), "no test has `{filter}` in its name");
    }
    if args.list {
        let names: String = tests.iter().map(|test| visible(&test.case.name).into_owned() + "\n").collect();
        output::to_people(&names)?;
        return Ok(Status::Clean);
    }
    let outcomes = run_all(&tests, args);
    for (test, outcome) in tests.iter().zip(&outcomes) {
        if outcome.failure.is_none() && args.bless.is_some() {
            test.store.write()?;
        }
    }
    if let Some(path) = &args.junit {
        let document = report::junit(&outcomes);
        output::to_file(path, |out| out.write_all(document.as_bytes()))?;
    }
    // Annotations begin with colons, which would be escaped.
    let text = report::text(&outcomes, session);
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Status::of(outcomes.iter().all(|outcome| outcome.failure.is_none())))
}

/// The tests of a file or folder, in the order of their names.
fn collect(path: &Path, args: &Args, tests: &mut Vec<Test>) -> anyhow::Result<()> {
    let is_folder = path.is_dir();
    for file in files::expand(std::slice::from_ref(&path.to_owned()), &["onnxtxt", "onnxtext"])? {
        let cannot = || Unreadable::new(&file);
        let bytes = std::fs::read(&file).with_context(cannot)?;
        let Ok(text) = String::from_utf8(bytes) else {
            if is_folder {
                continue;
            }
            bail!("{} is not a text", file.display());
        };
        // Models without directives may be stored beside the tests.
        let is_test = text.lines().any(|line| line.starts_with("#!") || line.starts_with("#---"));
        if is_folder && !is_test {
            continue;
        }
        let root = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
        let stem = file.strip_prefix(root).unwrap_or(&file).with_extension("");
        let name = stem.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
        let name = name.join("/");
        let cases = golden::split(&text)
            .map_err(|(line, why)| anyhow::anyhow!("{}:{line}: {why}", file.display()))?;
        for (part, text) in cases {
            let base = match &args.snapshots {
                Some(folder) => folder.join(&stem),
                None => file.with_extension(""),
            };
            let store = Arc::new(Store::new(base, part.as_deref(), args.bless.is_some()));
            let name = part.map_or_else(|| name.clone(), |part| format!("{name}/{part}"));
            let compare = Arc::clone(&store);
            let compare = Arc::new(move |_: &Case, what: &str, content: &str| compare.compare(what, content));
            tests.push(Test { file: file.clone(), case: Case { name, text, compare }, store });
        }
    }
    Ok(())
}

/// Runs the tests on all processors; the outcomes are in the order of the tests.
fn run_all(tests: &[Test], args: &Args) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Outcome)>> = Mutex::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(tests.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(test) = tests.get(index) else { break };
                    let start = Instant::now();
                    let failure = run_one(test, args).err();
                    let outcome = Outcome {
                        name: test.case.name.clone(),
                        file: test.file.display().to_string(),
                        failure,
                        time: start.elapsed(),
                    };
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn run_one(test: &Test, args: &Args) -> Result<(), String> {
    golden::run(&test.case)?;
    if args.bless.as_deref() == Some("safe") && test.store.has_changes() {
        let why = match golden::changed_results(&test.case) {
            Ok(None) => return Ok(()),
            Ok(Some(how)) => how,
            Err(why) => format!("the results before and after the pass cannot be compared: {why}"),
        };
        return Err(format!(
            "snapshot not written, because results change (`--bless=force` writes it anyway):\n{why}"
        ));
    }
    Ok(())
}
