//! `onnxtxt inline`: bodies of functions in place of calls.

use crate::change::{Made, Step, change};
use crate::deliver::OutArgs;
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::diag::{code, did_you_mean};
use onnx_ir::pass::{self, Inline, is_function};
use onnx_ir::{FunctionId, Model};
use onnx_ops::schema::Registry;
use std::path::PathBuf;

/// Put bodies of functions in place of calls
///
/// Functions that nothing calls any more are removed. Calls that cannot be replaced stay, and are reported.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt inline model.onnx -o flat.onnx                  all calls
  onnxtxt inline --only attention model.onnx              those of the functions of this name
  onnxtxt inline --only local.norm:v2 model.onnx          of this domain, and this overload
  onnxtxt inline --depth 1 model.onnx                     calls in the bodies stay")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only calls of this function: name, domain.name or domain.name:overload; may be repeated
    #[arg(long, value_name = "F")]
    only: Vec<String>,
    /// How many calls deep: in bodies that are N calls deep, calls stay
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// The most nodes that a graph or function may have afterwards
    #[arg(long, value_name = "N", default_value_t = pass::MAX_NODES)]
    max_nodes: u64,
    #[command(flatten)]
    out: OutArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let select = |model: &Model, f: FunctionId| {
        args.only.is_empty() || args.only.iter().any(|name| is_function(model, f, name))
    };
    let run = |model: &mut Model| {
        let options = Inline { select: &select, depth: args.depth, max_nodes: args.max_nodes, others: None };
        let report = pass::inline(model, Registry::builtin(), options);
        pass::compact(model);
        let is_done = report.diagnostics.iter().all(|d| d.code != &code::INLINE_TOO_LARGE);
        Made { report, is_done }
    };
    change(&args.file, &args.out, session, |model| {
        args.only.iter().try_for_each(|name| exists(model, name))?;
        Ok(vec![Step { name: "inline", run: &run }])
    })
}

/// Whether a model has a function of a name.
fn exists(model: &Model, name: &str) -> anyhow::Result<()> {
    if model.functions.ids().any(|f| is_function(model, f, name)) {
        return Ok(());
    }
    let wanted = name.rsplit('.').next().unwrap_or(name);
    match did_you_mean(wanted, model.functions.values().map(|f| model.text(f.name))) {
        Some(like) => bail!("the model has no function `{name}`: did you mean `{like}`?"),
        None => bail!("the model has no function `{name}`"),
    }
}
