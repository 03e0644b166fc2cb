//! The command line: the global options and the commands.

use crate::args::global::Global;
use crate::cmd::{Command, overview};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use std::ffi::OsString;

/// Text for ONNX models: print, convert, format and check them.
///
/// Every command accepts text and binary models alike; the format is detected from the content, then from the file name:
/// .onnx .pb · .onnxtxt .onnxtext · .json · .txtpb .textproto. `-` is stdin or stdout.
#[derive(Parser)]
#[command(
    name = "onnxtxt",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
Examples:
  onnxtxt info model.onnx                        what is in it, on one screen
  onnxtxt print --elide 4 model.onnx             the model as text, at most 4 numbers of each tensor
  onnxtxt check model.onnx                       everything that is wrong with it
  onnxtxt edit model.onnx                        change it as text, in your editor
  onnxtxt convert model.onnx -o model.onnxtxt    to text; large weights go into a file beside it
  onnxtxt convert model.onnxtxt -o model.onnx    and back, byte for byte
  onnxtxt run model.onnx -i x=x.npy              what it computes
  onnxtxt explain E0203                          what an error means
  onnxtxt ops Conv                               what an operator takes and gives

Exit status: 0 nothing found · 1 findings · 2 wrong usage, or a file cannot be read or written."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands and options of the program, with its layout of the help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let template = overview::help_template(&command);
    command.help_template(template)
}

/// Reads the arguments; the first is the name of the program.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
