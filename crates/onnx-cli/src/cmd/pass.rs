//! `onnxtxt pass`: transforms a model by named passes.

use crate::edit::steps::{Made, NamedChange, change, open};
use crate::emit::OutArgs;
use crate::input::operators::{Operators, OpsetArgs};
use crate::output;
use crate::session::findings;
use crate::session::{Session, Status};
use anyhow::{Context as _, anyhow, bail};
use onnx_ir::Model;
use onnx_ops::convert::Planned;
use onnx_ops::pass::{self, Outcome, Pass};
use serde_json::json;
use std::path::Path;

/// Transform a model by passes, one after the other
///
/// A pass preserves what the model computes and the names of its inputs and outputs.
///
/// `convert-opset` raises the IR version if the operators need it, and never lowers it, like the converter of the onnx package:
/// older operators are legal in a newer format. For a runtime that rejects the newer format, set `ir_version` in the text;
/// `check` then reports what the older version does not support.
#[derive(clap::Args)]
#[command(
    override_usage = "onnxtxt pass [OPTIONS] NAME... FILE\n       onnxtxt pass --list",
    after_help = "\
Examples:
  onnxtxt pass dead-code model.onnx -o small.onnx
  onnxtxt pass --list                                          the passes
  onnxtxt pass inline common-subexpressions dead-code m.onnx   the result as text
  onnxtxt pass convert-opset=21 model.onnx -o new.onnx         to version 21 of ai.onnx
  onnxtxt pass --plan convert-opset=21 model.onnx              what that means for which nodes"
)]
pub(crate) struct Args {
    /// The passes, in order, then the model; - is stdin
    #[arg(value_name = "NAME... FILE", required_unless_present = "list")]
    words: Vec<String>,
    /// List the passes
    #[arg(long, conflicts_with = "words")]
    list: bool,
    /// Write nothing, and list the planned changes of nodes, if a pass has a plan; with --format json, one object per line
    #[arg(long, conflicts_with = "list")]
    plan: bool,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    if args.list {
        let passes = pass::list();
        if session.wants_json() {
            let entry = |(name, summary): &(&str, &str)| json!({ "name": name, "summary": summary });
            output::json(&passes.iter().map(entry).collect())?;
            return Ok(Status::Clean);
        }
        let width = passes.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let line = |(name, summary): &(&str, &str)| format!("{name:width$}  {summary}\n");
        let list: String = passes.iter().map(line).collect();
        output::to_stdout(|out| out.write_all(list.as_bytes()))?;
        return Ok(Status::Clean);
    }
    let (file, names) = args.words.split_last().context("no passes and no model given")?;
    if names.is_empty() {
        bail!("no passes given: name them before the model `{file}` (`onnxtxt pass --list`)");
    }
    let passes: Vec<Pass> = names.iter().map(|name| named(name)).collect::<anyhow::Result<_>>()?;
    let operators = args.opset.load(session)?;
    let operators = &operators;
    if args.plan {
        return plan(&passes, Path::new(file), operators, session);
    }
    let runs: Vec<_> = (passes.iter())
        .map(|pass| {
            move |model: &mut Model| {
                let registry = operators.of(model);
                let Outcome { report, is_done, .. } = pass.run(model, registry);
                Made { report, is_done }
            }
        })
        .collect();
    change(Path::new(file), &args.out, session, |_| {
        Ok(passes.iter().zip(&runs).map(|(pass, run)| NamedChange { name: pass.name(), run }).collect())
    })
}

/// Prints the planned changes of nodes, one per line.
fn plan(
    passes: &[Pass],
    file: &Path,
    operators: &Operators,
    session: &mut Session,
) -> anyhow::Result<Status> {
    let Some((_, mut loaded)) = open(file, session)? else { return Ok(Status::Findings) };
    let mut lines = String::new();
    for pass in passes {
        let mut model = loaded.model.clone();
        let Outcome { report, plan, is_done } = pass.run(&mut model, operators.of(&loaded.model));
        findings::report(session, &loaded, &report.diagnostics);
        if session.wants_json() {
            lines.extend(plan.iter().map(|step| planned_json(pass.name(), step) + "\n"));
        } else {
            lines.extend(plan.iter().map(|step| format!("{step}\n")));
        }
        if !is_done {
            output::to_people(&lines)?;
            return Ok(Status::Findings);
        }
        session.note(&format!("{}: {report}", pass.name()));
        loaded = loaded.became(model);
    }
    output::to_people(&lines)?;
    Ok(Status::Clean)
}

/// One planned change as a JSON object.
fn planned_json(pass: &str, step: &Planned) -> String {
    let Planned { result, op, from, to, what, .. } = step;
    json!({ "pass": pass, "result": result, "op": op, "from": from, "to": to, "what": what }).to_string()
}

fn named(word: &str) -> anyhow::Result<Pass> {
    Pass::parse(word).map_err(|why| anyhow!("{why} (`onnxtxt pass --list`)"))
}
