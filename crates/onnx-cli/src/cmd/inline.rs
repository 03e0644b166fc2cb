//! `onnxtxt inline`: replaces calls by function bodies, and nodes of operators that have one.

use crate::edit::steps::{Made, NamedChange, change};
use crate::emit::OutArgs;
use crate::input::operators::OpsetArgs;
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::diag::{code, did_you_mean};
use onnx_ir::pass::{self, Inline, Report, is_function};
use onnx_ir::{FunctionId, Model, normalize_domain};
use onnx_ops::functions::{Expand, expand};
use onnx_ops::schema::{Registry, Schema};
use std::path::PathBuf;

/// Replace calls by function bodies
///
/// Functions that are not called any more are removed. Calls that cannot be replaced are kept and reported. Operators that are
/// defined by a function are expanded with --schema; those of an operator set (--opset) with functions are always expanded.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt inline model.onnx -o flat.onnx                  all calls
  onnxtxt inline --only attention model.onnx              those of the functions of this name
  onnxtxt inline --only local.norm:v2 model.onnx          of this domain, and this overload
  onnxtxt inline --depth 1 model.onnx                     calls in the bodies stay
  onnxtxt inline --schema model.onnx                      Gelu, LayerNormalization, … as simpler operators
  onnxtxt inline --schema --only Softmax model.onnx       those of one operator
  onnxtxt inline --opset acme.onnxtxt model.onnx          operators of one's own")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only calls of this function, or nodes of this operator: name, domain.name or domain.name:overload; may be repeated
    #[arg(long, value_name = "F")]
    only: Vec<String>,
    /// Maximum depth: calls in bodies that are N calls deep are kept
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Maximum number of nodes of a graph or function afterwards
    #[arg(long, value_name = "N", default_value_t = pass::MAX_NODES)]
    max_nodes: u64,
    /// Expand nodes of operators that a function body defines as well
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    out: OutArgs,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let operators = args.opset.load(session)?;
    let is_only = |is: &dyn Fn(&str) -> bool| args.only.is_empty() || args.only.iter().any(|name| is(name));
    let calls = |model: &mut Model| {
        let select = |model: &Model, f: FunctionId| is_only(&|name| is_function(model, f, name));
        let options = Inline { select: &select, depth: args.depth, max_nodes: args.max_nodes, others: None };
        let report = pass::inline(model, operators.of(model), options);
        pass::compact(model);
        made(report)
    };
    let nodes = |model: &mut Model| {
        let select = |schema: &Schema| {
            (args.schema || operators.is_ours(schema)) && is_only(&|name| is_operator(schema, name))
        };
        let options = Expand { select: &select, depth: args.depth, max_nodes: args.max_nodes };
        made(expand(model, operators.of(model), &options))
    };
    let expands = args.schema || args.opset.is_given();
    change(&args.file, &args.out, session, |model| {
        args.only.iter().try_for_each(|name| exists(model, expands.then(|| operators.of(model)), name))?;
        let mut steps = vec![NamedChange { name: "inline", run: &calls }];
        if expands {
            steps.push(NamedChange { name: "inline operators", run: &nodes });
        }
        Ok(steps)
    })
}

fn made(report: Report) -> Made {
    let is_done = report.diagnostics.iter().all(|d| d.code != &code::INLINE_TOO_LARGE);
    Made { report, is_done }
}

/// Whether a name refers to an operator: `Gelu`, `ai.onnx.Gelu`.
fn is_operator(schema: &Schema, name: &str) -> bool {
    match name.rsplit_once('.') {
        None => schema.name == name,
        Some((domain, name)) => {
            schema.name == name && normalize_domain(domain) == normalize_domain(&schema.domain)
        }
    }
}

/// Fails if neither a function of the model nor a known operator has the name.
fn exists(model: &Model, registry: Option<&Registry>, name: &str) -> anyhow::Result<()> {
    let is_named = |registry: &Registry| {
        let (domain, op) = name.rsplit_once('.').map_or((None, name), |(domain, op)| (Some(domain), op));
        let mut domains =
            registry.domains().filter(|d| domain.is_none_or(|requested| *d == normalize_domain(requested)));
        domains.any(|domain| !registry.versions(domain, op).is_empty())
    };
    if model.functions.ids().any(|f| is_function(model, f, name)) || registry.is_some_and(is_named) {
        return Ok(());
    }
    let requested = name.rsplit('.').next().unwrap_or(name);
    let functions = model.functions.values().map(|f| model.text(f.name));
    let operators = registry.into_iter().flat_map(|r| r.domains().flat_map(|domain| r.operators(domain)));
    let what = if registry.is_some() { "unknown function or operator" } else { "unknown function" };
    match did_you_mean(requested, functions.chain(operators)) {
        Some(like) => bail!("{what} `{name}`: did you mean `{like}`?"),
        None if registry.is_none() && is_named(Registry::builtin()) => {
            bail!("{what} `{name}`; there is an operator `{name}`: `--schema` expands operators")
        }
        None => bail!("{what} `{name}`"),
    }
}
