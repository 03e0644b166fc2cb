//! `onnxtxt extract`: extracts a part of the graph as a model.

use crate::edit::{EditOut, edit};
use crate::session::{Session, Status};
use onnx_ir::{Model, ValueId};
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{self, Selection};
use std::path::PathBuf;

/// Extract a part of the graph as a model
///
/// The values of --from become the inputs, those of --to the outputs. Without --from, the inputs are the inputs of the model
/// that the outputs depend on. Initializers and functions that are used are kept, and so are values captured by nested graphs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt extract model.onnx --from features --to scores --to boxes -o head.onnx
  onnxtxt extract model.onnx --to features -o backbone.onnx       from the inputs of the model
  onnxtxt extract model.onnx --nodes '/encoder/*' -o encoder.onnx
  onnxtxt extract model.onnxtxt --to t --dry-run             what would change")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A value that becomes an input: its name, /glob*/, or a node that computes it (#17, op:Conv); may be repeated
    #[arg(long, value_name = "VALUE", num_args = 1..)]
    from: Vec<Selection>,
    /// A value that becomes an output, selected in the same way
    #[arg(long, value_name = "VALUE", num_args = 1.., required_unless_present = "nodes")]
    to: Vec<Selection>,
    /// The nodes to keep, instead of --from and --to: name, #17, op:Conv, /glob*/
    #[arg(long, value_name = "SELECTION", num_args = 1.., conflicts_with_all = ["from", "to"])]
    nodes: Vec<Selection>,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    edit(&args.file, &args.out, session, "extract", |model| {
        let registry = registry_of(model);
        if !args.nodes.is_empty() {
            args.nodes.iter().try_for_each(|selection| selection.ensure_some(model))?;
            let nodes: Vec<_> = args.nodes.iter().flat_map(|selection| selection.nodes(model)).collect();
            return Ok(edit::extract_nodes(model, registry, &nodes));
        }
        let (from, to) = (values(model, &args.from)?, values(model, &args.to)?);
        Ok(edit::extract(model, registry, &from, &to))
    })
}

pub(super) fn values(model: &Model, selections: &[Selection]) -> anyhow::Result<Vec<ValueId>> {
    let mut all = Vec::new();
    for selection in selections {
        all.extend(selection.values(model)?);
    }
    Ok(all)
}
