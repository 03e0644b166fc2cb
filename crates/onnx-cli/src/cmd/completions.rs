//! `onnxtxt completions`: prints a script that completes the command line.

use crate::cmd::cli::Cli;
use crate::output;
use crate::session::{Session, Status};
use clap::CommandFactory as _;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt completions bash > ~/.local/share/bash-completion/completions/onnxtxt
  onnxtxt completions fish > ~/.config/fish/completions/onnxtxt.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args, _: &mut Session) -> anyhow::Result<Status> {
    // The script is generated in memory: the generator panics if it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "onnxtxt", &mut script);
    output::to_stdout(|out| out.write_all(&script))?;
    Ok(Status::Clean)
}
