//! `onnxtxt replace`: puts a part in place of some nodes of a model.

use super::extract::values;
use crate::edit::steps::open;
use crate::edit::{EditOut, edit_with};
use crate::input::Loaded;
use crate::read_files;
use crate::session::findings;
use crate::session::{Session, Status};
use anyhow::{Context as _, ensure};
use onnx_ir::NodeId;
use onnxtxt::edit::{self, PartMap, Selection, nodes_between};
use std::path::{Path, PathBuf};

/// Put a part in place of some nodes of the main graph
///
/// The counterpart of `extract`: with the same --nodes, or --from and --to, the extracted and edited part goes back to where it was.
/// Inputs and outputs of the part belong to values of the model by name, or as --map says; the values that are read outside of the
/// nodes must be outputs of the part. Nothing is written if the result has errors that the model does not have.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt replace model.onnx --from a --to b --with part.onnxtxt -o new.onnx
  onnxtxt extract model.onnx --from a --to b -o part.onnxtxt     makes the part, which is edited in between
  onnxtxt replace model.onnx --nodes op:Gelu --with gelu.onnxtxt --map in=t --map out=u -o new.onnx
  onnxtxt replace model.onnxtxt --nodes '/head/*' --with head.onnx --dry-run")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    part: PartArgs,
    /// The nodes to replace: name, #17, op:Conv, /glob*/
    #[arg(long, value_name = "SELECTION", num_args = 1.., conflicts_with_all = ["from", "to"])]
    nodes: Vec<Selection>,
    /// Replace the nodes that compute --to from these values: a name, /glob*/, or a node that computes them
    #[arg(long, value_name = "VALUE", num_args = 1.., requires = "to")]
    from: Vec<Selection>,
    /// The last values that the replaced nodes compute
    #[arg(long, value_name = "VALUE", num_args = 1.., required_unless_present = "nodes")]
    to: Vec<Selection>,
    #[command(flatten)]
    out: EditOut,
}

/// The part, and to what it belongs.
#[derive(clap::Args)]
pub(crate) struct PartArgs {
    /// The model whose main graph is the part
    #[arg(long, value_name = "PART")]
    with: PathBuf,
    /// An input or output of the part with the value of the model that it is; may be repeated
    #[arg(long, value_name = "PART=MODEL")]
    map: Vec<String>,
}

impl PartArgs {
    /// Reads the part with its weights. `None`: problems, which have been reported.
    pub(crate) fn open(&self, session: &mut Session) -> anyhow::Result<Option<Loaded>> {
        let Some((input, mut loaded)) = open(&self.with, session)? else { return Ok(None) };
        read_files::note_external(&loaded.model, input.path.as_deref().unwrap_or(Path::new("")));
        let found = loaded.load_weights();
        findings::report(session, &loaded, &found);
        Ok(found.is_empty().then_some(loaded))
    }

    pub(crate) fn map(&self) -> anyhow::Result<PartMap> {
        let pair = |text: &String| {
            let (part, model) =
                text.split_once('=').with_context(|| format!("`{text}` is not of the form PART=MODEL"))?;
            Ok((part.to_owned(), model.to_owned()))
        };
        self.map.iter().map(pair).collect()
    }
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let map = args.part.map()?;
    let Some(part) = args.part.open(session)? else { return Ok(Status::Findings) };
    edit_with(&args.file, &args.out, vec![part], session, "replace", |model, parts| {
        let nodes: Vec<NodeId> = if args.nodes.is_empty() {
            let (from, to) = (values(model, &args.from)?, values(model, &args.to)?);
            nodes_between(model, &from, &to)
        } else {
            args.nodes.iter().try_for_each(|selection| selection.ensure_some(model))?;
            args.nodes.iter().flat_map(|selection| selection.nodes(model)).collect()
        };
        ensure!(!nodes.is_empty(), "no node between these values");
        Ok(edit::replace(model, &nodes, &parts[0], &map))
    })
}
