//! `onnxtxt backend-test`: runs ONNX backend test cases, folders with a model, inputs and expected outputs.

mod case;

use crate::comparison::tolerance;
use crate::output;
use crate::output::junit;
use crate::read_files::Unreadable;
use crate::session::{Session, Status};
use anyhow::{Context as _, ensure};
use case::{Case, Verdict};
use onnx_text::visible;
use onnxtxt::compare::{TWO_STEPS_OF_BFLOAT16, Tolerance};
use onnxtxt::golden::Shard;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Run ONNX backend tests
///
/// Each folder with a model.onnx and folders test_data_set_* is a case; folders are searched recursively.
/// Prints one line per case and a summary at the end; with --format json, one object per line.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt backend-test onnx/backend/test/data    all that are in there
  onnxtxt backend-test node/test_add             one case
  onnxtxt backend-test --failed data             only those that fail
  onnxtxt backend-test data --shard 2/4          the second quarter, for one of four machines")]
pub(crate) struct Args {
    /// Folders with cases
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Allowed relative difference; 1/64 for bfloat16, if that is greater
    #[arg(long, value_name = "X", default_value_t = 1e-3)]
    rtol: f64,
    /// Allowed absolute difference
    #[arg(long, value_name = "X", default_value_t = 1e-7)]
    atol: f64,
    /// JSON list of objects with path, rtol and atol: the tolerances of some cases, and which are random
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
    /// Time limit of a case in seconds, checked between nodes
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    timeout: f64,
    /// Run only share I of N: every machine of N runs another share of the same cases
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Write a report in the format of JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Show only the cases that fail
    #[arg(long)]
    failed: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let mut cases = Vec::new();
    for folder in &args.folders {
        ensure!(folder.is_dir(), "{} is not a folder", folder.display());
        let before = cases.len();
        find(folder, &mut cases).with_context(|| Unreadable::new(folder))?;
        ensure!(cases.len() > before, "no cases in {}", folder.display());
    }
    if let Some(shard) = args.shard {
        cases = shard.of(cases);
    }
    let tolerances = match &args.index {
        Some(index) => tolerance::read_index(index)?,
        None => Vec::new(),
    };
    let mut default = Tolerance::new(Some(args.rtol), Some(args.atol));
    default.of_bfloat16 = TWO_STEPS_OF_BFLOAT16;
    let (mut passed, mut failed) = (0, 0);
    let mut outcomes = Vec::with_capacity(cases.len());
    let wants_json = session.wants_json();
    output::to_stdout(|out| {
        for case in &cases {
            let known = tolerances.iter().find(|(path, _)| case.folder.ends_with(path));
            let tolerance = known.map_or(&default, |(_, tolerance)| tolerance);
            let start = Instant::now();
            let verdict = case.run(tolerance, Duration::from_secs_f64(args.timeout));
            match &verdict {
                Verdict::Passed => passed += 1,
                Verdict::Failed(_) => failed += 1,
            }
            let name = case.folder.display();
            outcomes.push(case.outcome(&verdict, start.elapsed()));
            match verdict {
                Verdict::Passed if args.failed => {}
                verdict if wants_json => {
                    let name = name.to_string();
                    let object = match verdict {
                        Verdict::Passed => json!({ "case": name, "passed": true }),
                        Verdict::Failed(why) => json!({ "case": name, "passed": false, "why": why }),
                    };
                    writeln!(out, "{}", visible(&object.to_string()))?;
                }
                Verdict::Passed => writeln!(out, "ok      {name}")?,
                Verdict::Failed(why) => writeln!(out, "{}", visible(&format!("FAILED  {name}: {why}")))?,
            }
        }
        if wants_json {
            return writeln!(out, "{}", json!({ "passed": passed, "failed": failed }));
        }
        writeln!(out, "{passed} passed, {failed} failed")
    })?;
    if let Some(path) = &args.junit {
        let document = junit::report("onnxtxt backend", args.shard, &outcomes);
        output::to_file(path, |out| out.write_all(document.as_bytes()))?;
    }
    Ok(Status::of(failed == 0))
}

/// A time that is none or more.
fn seconds(text: &str) -> anyhow::Result<f64> {
    let seconds: f64 = text.parse().with_context(|| format!("`{text}` is not a number"))?;
    ensure!((0.0..=1e9).contains(&seconds), "`{text}` is not a time");
    Ok(seconds)
}

/// The folders that are cases, by name. Links to folders are passed over.
fn find(folder: &Path, cases: &mut Vec<Case>) -> std::io::Result<()> {
    let mut folders = Vec::new();
    let mut sets = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with("test_data_set_") { sets.push(path) } else { folders.push(path) }
        }
    }
    let model = folder.join("model.onnx");
    if model.is_file() && !sets.is_empty() {
        sets.sort();
        cases.push(Case { folder: folder.to_owned(), model, sets });
    }
    folders.sort();
    for folder in folders {
        find(&folder, cases)?;
    }
    Ok(())
}
