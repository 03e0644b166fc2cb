//! `onnxtxt fmt`: formats text.

use crate::args::config::Configs;
use crate::input::paths;
use crate::input::{Form, Input};
use crate::output;
use crate::output::numbers::count;
use crate::output::unified_diff::diff;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::ensure;
use onnx_ir::diag::Parsed;
use onnx_text::FormatOptions;
use onnx_text::render::{SourceKind, SourceText};
use serde_json::json;
use std::path::PathBuf;

/// Format text in place
///
/// Comments keep their places and the meaning does not change. A file with errors is reported and left unchanged.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt fmt model.onnxtxt         in place
  onnxtxt fmt models/               every .onnxtxt and .onnxtext file below the folder
  onnxtxt fmt --check .             only say which files are not formatted
  onnxtxt fmt --diff model.onnxtxt  show what would change
  onnxtxt fmt --expand a.onnxtxt    y = x * w + 1 becomes one statement for each node
  onnxtxt fmt < a.onnxtxt           stdin to stdout")]
pub(crate) struct Args {
    /// Files and folders; - (or none) reads stdin and writes stdout
    #[arg(value_name = "FILES", default_value = "-")]
    files: Vec<PathBuf>,
    /// Change nothing; list the files that are not formatted, with --format json as one object per line
    #[arg(long)]
    check: bool,
    /// Change nothing; show the changes as a diff
    #[arg(long)]
    diff: bool,
    /// Write a plain statement for each node of an expression, for other programs
    #[arg(long)]
    expand: bool,
}

/// File name extensions of text in folders.
const EXTENSIONS: &[&str] = &["onnxtxt", "onnxtext"];

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    paths::ensure_given(&args.files)?;
    let files = paths::expand(&args.files, EXTENSIONS)?;
    let work = Work::begin(session, "formatting");
    let mut status = Status::Clean;
    let mut configs = Configs::default();
    let mut changed = 0;
    work.now_counted("formatting", files.len());
    for (index, path) in files.iter().enumerate() {
        work.at(index, &format!("formatting {}", path.display()));
        let input = Input::open(path)?;
        ensure!(input.form == Form::Text, "{} is {}, not text", input.name, input.form.name());
        let width = configs.of(path)?.config.line_width;
        let options = width.map_or_else(FormatOptions::default, |width| FormatOptions { width });
        let Some(formatted) = formatted(&input, &options, args.expand, session) else {
            status = Status::Findings;
            continue;
        };
        let is_stdin = input.path.is_none();
        let differs = formatted != input.text();
        changed += usize::from(differs);
        if args.diff || args.check {
            status = status.and(Status::of(!differs));
            if args.diff && differs {
                let diff = diff(input.text(), &formatted, &input.name);
                output::to_people(&diff)?;
            } else if differs && session.wants_json() {
                output::to_people(&format!("{}\n", json!({ "file": input.name, "formatted": false })))?;
            } else if differs {
                output::to_people(&format!("{}\n", input.name))?;
            }
        } else if is_stdin {
            output::model_text(&formatted)?;
        } else if differs {
            output::rewrite_named(path, &args.files, formatted.as_bytes())?;
            session.detail(&format!("formatted {}", input.name));
        }
    }
    drop(work);
    if args.check && changed > 0 {
        session.note(&format!("{changed} of {} not formatted", count(files.len(), "file")));
    }
    Ok(status)
}

/// The formatted text, without expressions if they are to be expanded; reports its errors if it has any.
fn formatted(input: &Input, options: &FormatOptions, expands: bool, session: &mut Session) -> Option<String> {
    if !expands {
        return right(input.formatted(options), input, session).flatten();
    }
    let Some(expanded) = right(input.expanded(), input, session)? else {
        return right(input.formatted(options), input, session).flatten();
    };
    let plain = onnxtxt::File::new(input.name.clone(), None, expanded.into());
    right(plain.formatted(options), input, session).flatten()
}

/// The parsed value if it has no errors; otherwise reports all findings.
fn right<T>(parsed: Parsed<T>, input: &Input, session: &mut Session) -> Option<T> {
    let report = |found: Vec<_>| {
        session.report(&SourceText::new(&input.name, input.text(), SourceKind::Text), &found);
    };
    parsed.into_result().map_err(report).ok()
}
