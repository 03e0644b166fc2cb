//! `onnxtxt explain`: explains an error code or an operator, offline.

use super::ops::{
    self,
    card::card,
    spec::{Operator, Spec},
};
use crate::args::operators::OpsetArgs;
use crate::output;
use crate::session::{Session, Status};
use anyhow::bail;
use onnx_ir::diag::{self, Code};
use onnx_ops::schema::Registry;
use serde_json::json;
use std::fmt::Write as _;

/// Explain an error code (what it means, why it is wrong, and what to do) or an operator
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt explain E0203
  onnxtxt explain value-undefined
  onnxtxt explain Conv
  onnxtxt explain Conv@11
  onnxtxt explain --list
  onnxtxt explain --format json E0203")]
pub(crate) struct Args {
    /// A code (E0203), its name (value-undefined), the rule of the specification that it enforces (G03), or an operator
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// List all codes
    #[arg(long, conflicts_with = "code")]
    list: bool,
    #[command(flatten)]
    opset: OpsetArgs,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let operators = args.opset.load(session)?;
    if session.wants_json() {
        let document = match &args.code {
            None => diag::ALL.iter().map(|code| code_json(code, title(code))).collect(),
            Some(key) => match diag::find(key) {
                Some(code) => code_json(code, code.explain.trim()),
                None => ops::json::operator(operators.all(), &operator(key, operators.all())?),
            },
        };
        output::json(&document)?;
        return Ok(Status::Clean);
    }
    let text = match &args.code {
        None => list(),
        Some(key) => match diag::find(key) {
            Some(code) => explain(code, session.colors_data()),
            None => card(operators.all(), &operator(key, operators.all())?, session.colors_data()),
        },
    };
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Status::Clean)
}

/// An operator, if the key is not a code.
fn operator<'r>(key: &str, registry: &'r Registry) -> anyhow::Result<Operator<'r>> {
    let spec = Spec::parse(key)?;
    match spec.find(registry) {
        Ok(operator) => Ok(operator),
        Err(_) if !spec.is_operator(registry) => bail!("{}", unknown(key, registry)),
        Err(error) => Err(error),
    }
}

fn unknown(key: &str, registry: &Registry) -> String {
    let codes = diag::ALL.iter().flat_map(|code| [code.id, code.name]);
    let operators = registry.domains().flat_map(|domain| registry.operators(domain));
    let near = diag::did_you_mean(key, codes.chain(operators));
    let help = near.map_or_else(
        || "; `onnxtxt explain --list` lists all codes, `onnxtxt ops` all operators".to_owned(),
        |near| format!("; did you mean `{near}`?"),
    );
    format!("unknown code or operator `{key}`{help}")
}

/// The first line of the description of a code.
fn title(code: &Code) -> &'static str {
    code.explain.trim().lines().next().unwrap_or_default().trim()
}

/// A code with its description.
fn code_json(code: &Code, text: &str) -> serde_json::Value {
    let mut object =
        json!({ "code": code.id, "name": code.name, "severity": code.severity.name(), "text": text });
    if let Some(rule) = code.rule {
        object["rule"] = rule.into();
    }
    if let Some(clear) = code.clear {
        object["clear"] = clear.into();
    }
    object
}

fn list() -> String {
    let mut out = String::new();
    for code in diag::ALL {
        let title = title(code);
        let rule = code.rule.unwrap_or("");
        _ = writeln!(out, "{} {rule:<4} {:<28} {title}", code.id, code.name);
    }
    out
}

fn explain(code: &Code, color: bool) -> String {
    let paint = |style: &str, text: &str| {
        if color { format!("\x1b[{style}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let rule = code.rule.map_or(String::new(), |rule| format!(", rule {rule}"));
    let title = format!("{}[{}] {}", code.severity.name(), code.id, code.name);
    let mut out = format!("{}{rule}\n\n", paint("1", &title));
    let mut is_code = false;
    let mut examples = 0;
    for line in code.explain.trim_end().lines() {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            if is_code {
                examples += 1;
                // The first example is wrong, the second right.
                _ = writeln!(out, "{}", if examples % 2 == 1 { "wrong:" } else { "right:" });
            }
        } else if is_code {
            _ = writeln!(out, "    {}", paint("36", line));
        } else {
            let spans: String = line
                .split('`')
                .enumerate()
                .map(|(index, part)| if index % 2 == 0 { part.to_owned() } else { paint("36", part) })
                .collect();
            _ = writeln!(out, "{spans}");
        }
    }
    if let Some(clear) = code.clear {
        _ = writeln!(
            out,
            "\nThe meaning is clear: {clear}. So models with this error are run, with a warning."
        );
    }
    out
}
