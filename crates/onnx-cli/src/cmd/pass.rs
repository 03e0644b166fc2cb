//! `onnxtxt pass`: changes of a model, by name.

use crate::change::{Made, Step, change};
use crate::deliver::OutArgs;
use crate::operators::OpsetArgs;
use crate::output;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail};
use onnx_ir::Model;
use onnx_ir::diag::did_you_mean;
use onnx_ir::pass::{self, Pass};
use std::path::Path;

/// Change a model by passes, one after the other
///
/// A pass keeps what the model computes, and the names of its inputs and outputs.
#[derive(clap::Args)]
#[command(
    override_usage = "onnxtxt pass [OPTIONS] NAME... FILE\n       onnxtxt pass --list",
    after_help = "\
Examples:
  onnxtxt pass --list                                          the passes
  onnxtxt pass dead-code model.onnx -o small.onnx
  onnxtxt pass inline common-subexpressions dead-code m.onnx   the result as text"
)]
pub(crate) struct Args {
    /// The passes, in order, then the model; - is stdin
    #[arg(value_name = "NAME... FILE", required_unless_present = "list")]
    words: Vec<String>,
    /// List the passes
    #[arg(long, conflicts_with = "words")]
    list: bool,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    if args.list {
        let width = pass::ALL.iter().map(|pass| pass.name.len()).max().unwrap_or(0);
        let line = |pass: &Pass| format!("{:width$}  {}\n", pass.name, pass.summary);
        let list: String = pass::ALL.iter().map(line).collect();
        output::to_stdout(|out| out.write_all(list.as_bytes()))?;
        return Ok(Status::Clean);
    }
    let (file, names) = args.words.split_last().context("passes and a model are missing")?;
    if names.is_empty() {
        bail!("`{file}` is the model: say which passes to run in front of it (`onnxtxt pass --list`)");
    }
    let passes: Vec<&Pass> = names.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?;
    let operators = match args.opset.load(session)? {
        Ok(operators) => operators,
        Err(status) => return Ok(status),
    };
    let operators = &operators;
    let runs: Vec<_> = (passes.iter())
        .map(|pass| {
            move |model: &mut Model| {
                let registry = operators.of(model);
                Made { report: pass.run(model, registry), is_done: true }
            }
        })
        .collect();
    change(Path::new(file), &args.out, session, |_| {
        Ok(passes.iter().zip(&runs).map(|(pass, run)| Step { name: pass.name, run }).collect())
    })
}

fn named(name: &str) -> anyhow::Result<&'static Pass> {
    if let Some(pass) = pass::find(name) {
        return Ok(pass);
    }
    match did_you_mean(name, pass::ALL.iter().map(|pass| pass.name)) {
        Some(like) => bail!("there is no pass `{name}`: did you mean `{like}`?"),
        None => bail!("there is no pass `{name}` (`onnxtxt pass --list`)"),
    }
}
