//! `onnxtxt rename`: renames values, nodes and symbols of dimensions.

use crate::edit::{EditOut, edit};
use crate::session::{Session, Status};
use onnxtxt::edit::{Rename, Rule, rename};
use std::path::PathBuf;

/// Rename values, nodes and symbols of dimensions
///
/// OLD is a name, or a regular expression between slashes, whose groups NEW refers to as $1 or ${1}. Every match in a name is
/// replaced; the first rule that matches a name applies. Without --values, --nodes and --symbols, all three are renamed.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt rename model.onnx input.1=image 435=scores -o named.onnx
  onnxtxt rename model.onnx '/layer(\\d+)/=block$1' -o blocks.onnx
  onnxtxt rename model.onnx --symbols unk__0=N -o model2.onnx
  onnxtxt rename model.onnxtxt x=image --dry-run           what would change")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// OLD=NEW, or /EXPRESSION/=NEW
    #[arg(value_name = "OLD=NEW", required = true, value_parser = Rule::parse)]
    rules: Vec<Rule>,
    /// Names of values, inputs and outputs included
    #[arg(long)]
    values: bool,
    /// Names of nodes
    #[arg(long)]
    nodes: bool,
    /// Symbols of dimensions
    #[arg(long)]
    symbols: bool,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let all = !(args.values || args.nodes || args.symbols);
    let options = Rename {
        rules: args.rules.clone(),
        values: all || args.values,
        nodes: all || args.nodes,
        symbols: all || args.symbols,
    };
    edit(&args.file, &args.out, session, "rename", |model| Ok(rename(model, &options)))
}
