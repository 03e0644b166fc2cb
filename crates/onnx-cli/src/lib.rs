//! The library of the `onnxtxt` program: one file per command in `cmd`, and shared code beside it.
//!
//! Exit codes: 0 done and nothing found, 1 findings, 2 usage or I/O, 101 a bug. Data goes to stdout, and so do the findings of
//! `check`; everything else goes to stderr. This crate is the only one that touches files (but for mapping them), terminals and the environment.

mod args;
mod cmd;
mod comparison;
mod edit;
mod emit;
mod execution;
mod input;
mod npy;
mod output;
mod programs;
mod read_files;
mod session;

use args::global::Format;
use cmd::overview::overview;
use cmd::{Command, cli, usage};
use onnx_ir::Model;
use onnx_text::visible;
use onnxtxt::edit::{Edited, Selection};
use session::{Session, Status};
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// Runs the command of the process's arguments. The exit code is that of the program.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run_with(std::env::args_os()))
}

/// Runs the command of some arguments, of which the first is the name of the program. Returns the exit code of the program.
#[must_use]
pub fn run_with(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    session::panics::report_panics();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() <= 1 {
        return match output::to_people(&overview()) {
            Err(error) if !output::is_closed_pipe(&error) => 2,
            Ok(()) | Err(_) => 0,
        };
    }
    let cli = match cli::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // A closed stream is not a reason to fail in another way.
            _ = error.print();
            if let Some(step) = usage::after(&error, &arguments) {
                _ = session::to_stderr(&format!("help: {}\n", visible(&step)));
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let mut session = Session::new(&cli.global);
    let done = run(&cli.command, &mut session).or_else(|error| session.ended_by(error));
    let written = session.finish();
    match done.and_then(|status| written.map(|()| status)) {
        Ok(Status::Clean) => 0,
        Ok(Status::Findings) => 1,
        Ok(Status::Unread) => 2,
        // The reader of our output has closed the pipe.
        Err(error) if output::is_closed_pipe(&error) => 0,
        Err(error) => {
            session.error(&error);
            2
        }
    }
}

/// Writes the weights of a model that are selected (all) into a file, as `onnxtxt weights export`: .npz or .safetensors. Returns their
/// number.
///
/// # Errors
///
/// A selection selects nothing, a weight is not in the model, or the file cannot be written.
pub fn export_weights(path: &Path, model: &Model, only: &[Selection]) -> anyhow::Result<usize> {
    cmd::weights::export_to(path, model, only)
}

/// Replaces weights of a model by those of the same names in a file, as `onnxtxt weights import`.
///
/// # Errors
///
/// The file cannot be read.
pub fn import_weights(path: &Path, model: &mut Model) -> anyhow::Result<Edited> {
    cmd::weights::import_from(path, model)
}

fn run(command: &Command, session: &mut Session) -> anyhow::Result<Status> {
    if matches!(session.format(), Format::Markdown | Format::Html) && !matches!(command, Command::Diff(_)) {
        anyhow::bail!("`--format markdown` and `--format html` are supported only by `onnxtxt diff`");
    }
    command.run(session)
}
