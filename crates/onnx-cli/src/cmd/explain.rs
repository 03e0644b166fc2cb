//! `onnxtxt explain`: explains an error code or an operator, offline.

use crate::input::operators::OpsetArgs;
use crate::output;
use crate::session::{Session, Status};
use onnx_ir::diag;
use onnxtxt::describe::{Subject, card, code_json, code_text, code_title, operator_json};
use std::fmt::Write as _;

/// Explain an error code (what it means, why it is wrong, what to do) or an operator
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
            None => diag::ALL.iter().map(|code| code_json(code, code_title(code))).collect(),
            Some(key) => match Subject::find(key, operators.all())? {
                Subject::Code(code) => code_json(code, code.explain.trim()),
                Subject::Operator(operator) => operator_json(operators.all(), &operator),
            },
        };
        output::json(&document)?;
        return Ok(Status::Clean);
    }
    let text = match &args.code {
        None => list(),
        Some(key) => match Subject::find(key, operators.all())? {
            Subject::Code(code) => code_text(code, session.colors_data()),
            Subject::Operator(operator) => card(operators.all(), &operator, session.colors_data()),
        },
    };
    output::to_stdout(|out| out.write_all(text.as_bytes()))?;
    Ok(Status::Clean)
}

fn list() -> String {
    let mut out = String::new();
    for code in diag::ALL {
        let title = code_title(code);
        let rule = code.rule.unwrap_or("");
        _ = writeln!(out, "{} {rule:<4} {:<28} {title}", code.id, code.name);
    }
    out
}
