//! The library of the `onnxtxt` program: one file per command in `cmd`, and shared code beside it.
//!
//! Exit codes: 0 done and nothing found, 1 findings, 2 usage or I/O, 101 a bug. Data goes to stdout, and so do the findings of
//! `check`; everything else goes to stderr. This crate is the only one that touches files (but for mapping them), terminals and the environment.

mod args;
mod cmd;
mod comparison;
mod edit;
mod execution;
mod input;
mod output;
mod programs;
mod session;

use args::global::Format;
use args::{Cli, Command};
use clap::Parser as _;
use session::{Session, Status};
use std::process::ExitCode;

/// Runs the command of the process's arguments. The exit code is that of the program.
#[must_use]
pub fn main() -> ExitCode {
    session::panics::report_panics();
    let cli = Cli::parse();
    let mut session = Session::new(&cli.global);
    let done = run(&cli.command, &mut session).or_else(|error| session.ended_by(error));
    let written = session.finish();
    match done.and_then(|status| written.map(|()| status)) {
        Ok(Status::Clean) => ExitCode::SUCCESS,
        Ok(Status::Findings) => ExitCode::from(1),
        Ok(Status::Unread) => ExitCode::from(2),
        // The reader of our output has closed the pipe.
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            session.error(&error);
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command, session: &mut Session) -> anyhow::Result<Status> {
    if matches!(session.format(), Format::Markdown | Format::Html) && !matches!(command, Command::Diff(_)) {
        anyhow::bail!("`--format markdown` and `--format html` are supported only by `onnxtxt diff`");
    }
    match command {
        Command::Info(args) => cmd::info::run(args, session),
        Command::Print(args) => cmd::print::run(args, session),
        Command::Convert(args) => cmd::convert::run(args, session),
        Command::Fmt(args) => cmd::fmt::run(args, session),
        Command::Check(args) => cmd::check::run(args, session),
        Command::Infer(args) => cmd::infer::run(args, session),
        Command::Inline(args) => cmd::inline::run(args, session),
        Command::Outline(args) => cmd::outline::run(args, session),
        Command::Pass(args) => cmd::pass::run(args, session),
        Command::Edit(args) => cmd::edit::run(args, session),
        Command::Extract(args) => cmd::extract::run(args, session),
        Command::Replace(args) => cmd::replace::run(args, session),
        Command::Insert(args) => cmd::insert::run(args, session),
        Command::Concat(args) => cmd::concat::run(args, session),
        Command::Rename(args) => cmd::rename::run(args, session),
        Command::SetShape(args) => cmd::set_shape::run(args, session),
        Command::SetOpset(args) => cmd::set_opset::run(args, session),
        Command::SetMetadata(args) => cmd::set_metadata::run(args, session),
        Command::Simplify(args) => cmd::simplify::run(args, session),
        Command::Quantize(args) => cmd::quantize::run(args, session),
        Command::Reduce(args) => cmd::reduce::run(args, session),
        Command::Repro(args) => cmd::repro::run(args, session),
        Command::Strip(args) => cmd::strip::run(args, session),
        Command::Stats(args) => cmd::stats::run(args, session),
        Command::Draw(args) => cmd::draw::run(args, session),
        Command::Weights(args) => cmd::weights::run(args, session),
        Command::Train(args) => cmd::train::run(args, session),
        Command::Trainable(args) => cmd::trainable::run(args, session),
        Command::Run(args) => cmd::run::run(args, session),
        Command::Bench(args) => cmd::bench::run(args, session),
        Command::Lower(args) => cmd::lower::run(args, session),
        Command::Verify(args) => cmd::verify::run(args, session),
        Command::Compare(args) => cmd::compare::run(args, session),
        Command::BackendTest(args) => cmd::backend_test::run(args, session),
        Command::Diff(args) => cmd::diff::run(args, session),
        Command::Merge(args) => cmd::merge::run(args, session),
        Command::Git(args) => cmd::git::run(args, session),
        Command::Test(args) => cmd::test::run(args, session),
        Command::Semver(args) => cmd::semver::run(args, session),
        Command::Explain(args) => cmd::explain::run(args, session),
        Command::Ops(args) => cmd::ops::run(args, session),
        Command::Limits(args) => cmd::limits::run(args, session),
        Command::Completions(args) => cmd::completions::run(args, session),
        Command::Man(args) => cmd::man::run(args, session),
    }
}
