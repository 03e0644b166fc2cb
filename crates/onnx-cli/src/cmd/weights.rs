//! `onnxtxt weights`: the stored tensors of a model, listed, exchanged with other tools, and stored elsewhere.

mod list;
mod transfer;

pub(crate) use transfer::{export_to, import_from, is_weights, write_weights};

use crate::edit::{EditArgs, edit, edit_to};
use crate::output::OutputTarget;
use crate::session::{Session, Status};
use onnx_ir::ElemType;
use onnxtxt::Weights;
use onnxtxt::edit::{Cast, Selection, cast_weights, share_weights};
use std::collections::HashSet;
use std::path::PathBuf;

/// List, export, import, move, share and narrow the weights of a model
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt weights list model.onnx                                    name, type, bytes, and where
  onnxtxt weights export model.onnx -o w.safetensors                 for other tools; or .npz
  onnxtxt weights import model.onnx w.npz -o new.onnx                the same names, types and shapes
  onnxtxt weights external model.onnx -o small.onnx                  into a file beside the model
  onnxtxt weights internal small.onnx -o whole.onnx                  and back
  onnxtxt weights share model.onnx -o smaller.onnx                   equal ones once
  onnxtxt weights cast model.onnx --to float16 -o half.onnx          half the bytes")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show name, type, bytes and place of each weight
    #[command(after_help = "\
Examples:
  onnxtxt weights list model.onnx
  onnxtxt weights list model.onnx --format json")]
    List(list::Args),
    /// Write the weights into a file for other tools
    #[command(after_help = "\
Examples:
  onnxtxt weights export model.onnx -o w.npz
  onnxtxt weights export model.onnx -o w.safetensors --only '/encoder.*/'")]
    Export(transfer::ExportArgs),
    /// Replace weights by those of the same names in a file
    #[command(after_help = "\
Examples:
  onnxtxt weights import model.onnx w.npz -o new.onnx
  onnxtxt weights import model.onnxtxt w.safetensors --dry-run")]
    Import(transfer::ImportArgs),
    /// Put the weights into a file beside the model
    #[command(after_help = "\
Examples:
  onnxtxt weights external model.onnx -o small.onnx")]
    External(EditArgs),
    /// Put the weights into the model itself
    #[command(after_help = "\
Examples:
  onnxtxt weights internal small.onnx -o whole.onnx")]
    Internal(EditArgs),
    /// Store equal weights once
    #[command(after_help = "\
Examples:
  onnxtxt weights share model.onnx -o smaller.onnx")]
    Share(EditArgs),
    /// Store float weights in half the bytes, and cast them back where they are read
    #[command(after_help = "\
Examples:
  onnxtxt weights cast model.onnx --to float16 -o half.onnx
  onnxtxt weights cast model.onnx --to bfloat16 --keep '/*norm*/' -o half.onnx")]
    Cast(CastArgs),
}

#[derive(clap::Args)]
struct CastArgs {
    #[command(flatten)]
    edit: EditArgs,
    /// The type to store
    #[arg(long, value_enum, value_name = "TYPE")]
    to: Narrow,
    /// A weight that stays: its name, or /glob*/; may be repeated
    #[arg(long, value_name = "WEIGHT")]
    keep: Vec<Selection>,
    /// Weights with fewer elements stay
    #[arg(long, value_name = "N", default_value_t = 64)]
    at_least: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Narrow {
    Float16,
    Bfloat16,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    match &args.command {
        Command::List(args) => list::run(args, session),
        Command::Export(args) => transfer::export(args, session),
        Command::Import(args) => transfer::import(args, session),
        Command::External(args) => moved(args, Weights::Sidecar, "weights external", session),
        Command::Internal(args) => moved(args, Weights::Inline, "weights internal", session),
        Command::Share(args) => {
            edit(&args.file, &args.out, session, "weights share", |model| Ok(share_weights(model)))
        }
        Command::Cast(args) => cast(args, session),
    }
}

/// Writes a model with its weights elsewhere.
fn moved(args: &EditArgs, weights: Weights, name: &str, session: &mut Session) -> anyhow::Result<Status> {
    edit_to(&args.file, &args.out, Some(weights), session, name, |_| Ok(Ok(onnx_ir::pass::Report::default())))
}

fn cast(args: &CastArgs, session: &mut Session) -> anyhow::Result<Status> {
    let mut kept = Vec::new();
    let status = edit(&args.edit.file, &args.edit.out, session, "weights cast", |model| {
        let mut stays = HashSet::new();
        for selection in &args.keep {
            stays.extend(selection.values(model)?);
        }
        let names: HashSet<String> = match model.main_body() {
            Some(body) => stays.into_iter().map(|v| model.names[body.values[v].name].to_owned()).collect(),
            None => HashSet::new(),
        };
        let to = match args.to {
            Narrow::Float16 => ElemType::FLOAT16,
            Narrow::Bfloat16 => ElemType::BFLOAT16,
        };
        let options = Cast { to, at_least: args.at_least, keep: &|name| names.contains(name) };
        Ok(cast_weights(model, &options, &mut kept))
    })?;
    if status == Status::Clean {
        for (name, reason) in kept {
            session.note(&format!("weights cast: `{name}` stays: {reason}"));
        }
    }
    Ok(status)
}

/// Refuses a file whose name says no form of weights.
fn ensure_form(target: &OutputTarget) -> anyhow::Result<()> {
    let OutputTarget::File(path) = target else {
        anyhow::bail!("weights are not written to stdout: use -o FILE.npz or -o FILE.safetensors")
    };
    anyhow::ensure!(is_weights(path), "{} does not end in .npz or .safetensors", path.display());
    Ok(())
}

/// Where weights are written to.
#[derive(clap::Args)]
struct WeightsOut {
    /// The file, in the form that its name says: .npz or .safetensors
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
}
