//! `onnxtxt strip`: removes information that does not affect what a model computes.

use crate::edit::{EditArgs, edit};
use crate::session::{Session, Status};
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{Strip, strip};

/// Remove documentation, metadata, inferable declarations and unused parts
///
/// By default, everything but the names of nodes is removed. What the model computes does not change.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt strip model.onnx -o small.onnx
  onnxtxt strip model.onnx --docs --names -o nameless.onnx   these alone
  onnxtxt strip model.onnxtxt --dry-run                      what would change")]
pub(crate) struct Args {
    #[command(flatten)]
    edit: EditArgs,
    /// Documentation
    #[arg(long)]
    docs: bool,
    /// Names of nodes
    #[arg(long)]
    names: bool,
    /// Metadata of everything but the model itself, such as where an exporter found a node
    #[arg(long)]
    metadata: bool,
    /// Types of values that can be inferred
    #[arg(long)]
    value_info: bool,
    /// Unused nodes, initializers, functions and imports
    #[arg(long)]
    unused: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let asked = Strip {
        docs: args.docs,
        names: args.names,
        metadata: args.metadata,
        value_info: args.value_info,
        unused: args.unused,
    };
    let options = if asked == Strip::default() { Strip::USUAL } else { asked };
    edit(&args.edit.file, &args.edit.out, session, "strip", |model| {
        Ok(strip(model, registry_of(model), options))
    })
}
