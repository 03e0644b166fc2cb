//! `onnxtxt set-shape`: changes the sizes of inputs and infers all other types again.

use crate::args::sizes::{pair, shape, size};
use crate::edit::{EditOut, edit};
use crate::session::{Session, Status};
use onnx_ops::opset::registry_of;
use onnxtxt::edit::{SetShape, set_shape};
use std::path::PathBuf;

/// Set dimensions of inputs, and infer all other types again
///
/// Declared types of other values are replaced by inferred ones. A shape that contradicts a node of the graph is an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt set-shape model.onnx -D N=1 -o batch1.onnx                     N is 1 from now on
  onnxtxt set-shape model.onnx --shape x=1,3,224,224 -o fixed.onnx
  onnxtxt set-shape model.onnx --dynamic batch=0 -o dynamic.onnx     axis 0 of every input is `batch`")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Size of a symbolic dimension; may be repeated
    #[arg(short = 'D', value_name = "NAME=SIZE", value_parser = size)]
    sizes: Vec<(String, i64)>,
    /// Shape of an input: sizes, symbols or ?; may be repeated
    #[arg(long, value_name = "NAME=SHAPE", value_parser = shape)]
    shape: Vec<(String, Vec<String>)>,
    /// A symbol for an axis of every input; axes below 0 count from the end; may be repeated
    #[arg(long, value_name = "SYMBOL=AXIS", value_parser = axis)]
    dynamic: Vec<(String, i64)>,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let options =
        SetShape { sizes: args.sizes.clone(), shapes: args.shape.clone(), dynamic: args.dynamic.clone() };
    let nothing = options.sizes.is_empty() && options.shapes.is_empty() && options.dynamic.is_empty();
    anyhow::ensure!(
        !nothing,
        "nothing to set: add -D NAME=SIZE, --shape NAME=SHAPE or --dynamic SYMBOL=AXIS"
    );
    edit(&args.file, &args.out, session, "set-shape", |model| {
        Ok(set_shape(model, registry_of(model), &options))
    })
}

fn axis(text: &str) -> Result<(String, i64), String> {
    let (name, axis) = pair(text)?;
    Ok((name, axis.parse().map_err(|_| format!("invalid axis `{axis}`: expected an integer"))?))
}
