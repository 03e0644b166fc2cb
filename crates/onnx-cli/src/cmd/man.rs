//! `onnxtxt man`: prints manual pages.

use crate::cmd::cli::Cli;
use crate::output;
use crate::session::{Session, Status};
use anyhow::bail;
use clap::CommandFactory as _;
use clap_mangen::Man;

/// Print the manual page of the program or of one command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt man | man -l -
  onnxtxt man convert > onnxtxt-convert.1")]
pub(crate) struct Args {
    /// The command; the program if none is given
    command: Option<String>,
}

pub(crate) fn run(args: &Args, _: &mut Session) -> anyhow::Result<Status> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let Some(found) = command.find_subcommand(name) else { bail!("unknown command `{name}`") };
        command = found.clone();
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    output::to_stdout(|out| out.write_all(&page))?;
    Ok(Status::Clean)
}
