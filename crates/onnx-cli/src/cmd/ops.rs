//! `onnxtxt ops`: describes the operators of ONNX, offline.

mod export;

use crate::input::Form;
use crate::input::operators::OpsetArgs;
use crate::output;
use crate::session::{Session, Status};
use onnx_ops::schema::{BodyKind, Registry};
use onnxtxt::describe::{Listed, Spec, card, domain_text, listed, operator_json, operators_json, snippet};
use std::path::PathBuf;

/// List operators, or show the signature of one and the changes of each version
#[derive(clap::Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Examples:
  onnxtxt ops Conv                            the newest version, and what each version changed
  onnxtxt ops Conv@11                         the version in force where ai.onnx is imported in version 11
  onnxtxt ops Conv --snippet                  a statement to be filled in
  onnxtxt ops                                 all operators
  onnxtxt ops --domain ai.onnx.ml --version 3    those of a version of a domain
  onnxtxt ops ai.onnx.ml.Scaler --json        every version, for programs
  onnxtxt ops com.microsoft.FusedMatMul       one that ONNX Runtime adds
  onnxtxt ops --opset acme.onnxtxt --domain com.acme
  onnxtxt ops --export opsets/                every domain as an operator-set document
  onnxtxt ops --export - --domain ai.onnx.ml --version 3"
)]
pub(crate) struct Args {
    /// The operator: Conv, Conv@11, ai.onnx.ml.Scaler
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only operators of this domain
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// The operators of this version of the domain (default: ai.onnx)
    #[arg(long, value_name = "VERSION")]
    version: Option<i64>,
    /// Print a statement of the operator to be filled in: what it requires, and as comments what it also accepts
    #[arg(long, requires = "name", conflicts_with = "json")]
    snippet: bool,
    /// Print a JSON document instead of text; the same as --format json
    #[arg(long)]
    json: bool,
    /// Write operator-set documents: of every domain into an existing folder, or of one (default: ai.onnx) into a file; - is
    /// stdout. They contain all versions of the operators, or those in force in --version
    #[arg(long, value_name = "OUT", conflicts_with_all = ["name", "json"])]
    export: Option<PathBuf>,
    /// Format of the documents, if the name of OUT does not determine it
    #[arg(long, value_enum, value_name = "FORM", requires = "export")]
    to: Option<Form>,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let operators = args.opset.load(session)?;
    let registry = operators.all();
    if let Some(out) = &args.export {
        return export::export(args, registry, out, session);
    }
    let wants_json = args.json || session.wants_json();
    let text = match &args.name {
        Some(name) => {
            let mut spec = Spec::parse(name)?;
            spec.version = spec.version.or(args.version);
            spec.domain = spec.domain.or(args.domain.as_deref());
            let operator = spec.find(registry)?;
            match wants_json {
                _ if args.snippet => snippet(registry, &operator),
                true => document(&operator_json(registry, &operator)),
                false => card(registry, &operator, session.colors_data()),
            }
        }
        None => {
            let operators = listed(registry, args.domain.as_deref(), args.version)?;
            match wants_json {
                true => document(&operators_json(registry, &operators)),
                false => table(registry, &operators),
            }
        }
    };
    output::to_people(&text)?;
    Ok(Status::Clean)
}

/// The text of a JSON document.
fn document(value: &serde_json::Value) -> String {
    format!("{value:#}\n")
}

fn table(registry: &Registry, operators: &[Listed<'_>]) -> String {
    let rows: Vec<[String; 4]> = operators.iter().map(|operator| row(registry, operator)).collect();
    let head = ["domain", "operator", "versions", "remarks"].map(str::to_owned);
    let widths: [usize; 3] = [0, 1, 2].map(|at| {
        std::iter::once(&head).chain(&rows).map(|row| row[at].chars().count()).max().unwrap_or_default()
    });
    let line = |row: &[String; 4]| {
        let [a, b, c] = widths;
        let text = format!("{:a$}  {:b$}  {:c$}  {}", row[0], row[1], row[2], row[3]);
        format!("{}\n", text.trim_end())
    };
    std::iter::once(&head).chain(&rows).map(line).collect()
}

fn row(registry: &Registry, operator: &Listed<'_>) -> [String; 4] {
    let Listed { domain, name, shown } = operator;
    let versions = registry.versions(domain, name).iter().map(|id| registry.get(*id).since.to_string());
    let mut remarks = Vec::new();
    if shown.deprecated {
        remarks.push("deprecated".to_owned());
    }
    if shown.experimental {
        remarks.push("experimental".to_owned());
    }
    match shown.body {
        BodyKind::None => {}
        BodyKind::Fixed | BodyKind::PerNode => remarks.push("function".to_owned()),
    }
    let versions = versions.collect::<Vec<_>>().join(" ");
    [domain_text(domain).to_owned(), (*name).to_owned(), versions, remarks.join(", ")]
}
