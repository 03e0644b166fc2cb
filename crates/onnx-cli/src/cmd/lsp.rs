//! `onnxtxt lsp`: the language server, for editors.

use crate::session::{Session, Status};
use anyhow::Context as _;
use onnxtxt_lsp::{Options, serve_stdio};
use std::path::PathBuf;

/// Serve an editor: findings while typing, completion, hover, rename
///
/// Speaks the Language Server Protocol on stdin and stdout until the editor ends it. Editors start it themselves; docs/editors.md
/// says how. The settings of a folder are in its `onnxtxt.toml`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt lsp
  onnxtxt lsp --log /tmp/onnxtxt-lsp.log     messages and times, to find out what an editor does")]
pub(crate) struct Args {
    /// Append each message and the time of each request to a file
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Ignored: what some clients add, because other servers need it
    #[arg(long, hide = true)]
    stdio: bool,
}

pub(crate) fn run(args: &Args, _: &mut Session) -> anyhow::Result<Status> {
    let options = Options { log: args.log.clone(), ..Options::default() };
    serve_stdio(options).context("the language server ended")?;
    Ok(Status::Clean)
}
