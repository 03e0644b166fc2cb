//! `onnxtxt outline`: moves nodes into a function.

use crate::edit::steps::{Made, NamedChange, change};
use crate::emit::OutArgs;
use crate::session::{Session, Status};
use anyhow::Context as _;
use onnx_ir::Model;
use onnx_ir::pass::{self, Report};
use onnxtxt::edit::Selection;
use std::path::PathBuf;

/// Move nodes into a function, and call it in their place
///
/// The nodes must be in one graph, without a path from one to another through a node that is not selected. `onnxtxt inline` is the
/// inverse.
#[derive(clap::Args)]
#[command(after_help = "\
Selections:
  name      the node of this name, or the one that computes the value of this name
  #17       node 17 in the order of the text, from 0, nested ones included
  op:Conv   every node of this operator; op:com.acme.Conv for another domain
  /enc.*/   every node whose name, or the name of a result, is like this: * any characters, ? one

Examples:
  onnxtxt outline model.onnx --select '/layer0_*/' --name local.layer0 -o outlined.onnx
  onnxtxt outline model.onnx --select q --select k --select v --name local.projections")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The nodes; may be repeated
    #[arg(long, value_name = "SELECTION", required = true)]
    select: Vec<Selection>,
    /// Domain and name of the function
    #[arg(long, value_name = "DOMAIN.NAME")]
    name: String,
    #[command(flatten)]
    out: OutArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let (domain, name) = args.name.rsplit_once('.').context("`--name` requires domain.name")?;
    let run = |model: &mut Model| {
        let mut report = Report::default();
        let Some(body) = model.main else { return Made { report, is_done: false } };
        let nodes: Vec<_> = args.select.iter().flat_map(|s| s.nodes(model)).collect();
        match pass::outline(model, body, &nodes, domain, name) {
            Ok(_) => report.note(1, "function", "made"),
            Err(diagnostics) => report.diagnostics = diagnostics,
        }
        pass::compact(model);
        let is_done = report.is_changed();
        Made { report, is_done }
    };
    change(&args.file, &args.out, session, |model| {
        args.select.iter().try_for_each(|selection| selection.ensure_some(model))?;
        Ok(vec![NamedChange { name: "outline", run: &run }])
    })
}
