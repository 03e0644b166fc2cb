//! Runs the directives of a file that holds an operator set.

use super::claims;
use super::context::Context;
use super::directives::Directive;
use super::run::snapshot;
use onnx_ir::diag::Level;
use onnx_ir::{OperatorSet, VerifyOptions};
use onnx_text::render::{RenderOptions, SourceKind, SourceText, human, json};
use onnx_text::{
    FormatOptions, RaiseOptions, TextKind, check_operator_set, print_operator_set, read_operator_set,
};

/// Whether a text holds an operator set.
pub fn is_set(text: &str) -> bool {
    onnx_text::sniff_text(text) == TextKind::OperatorSet
}

pub(crate) fn run(context: &Context<'_>, directive: &Directive, finds: &[&str]) -> Result<(), String> {
    let case = context.case;
    match directive {
        Directive::Check(level) | Directive::Render(level) | Directive::Json(level) => {
            let options = VerifyOptions { level: *level, ..VerifyOptions::default() };
            let mut found = check_operator_set(&case.text, &options).diagnostics;
            found.retain(|diagnostic| diagnostic.code.level <= *level || diagnostic.is_error());
            let name = format!("{}.onnxtxt", case.name.rsplit('/').next().unwrap_or_default());
            let source = SourceText::new(&name, &case.text, SourceKind::Text);
            let style = RenderOptions { color: false, width: 100 };
            let shown = |show: &dyn Fn(&onnx_ir::diag::Diagnostic) -> String| {
                found.iter().map(|diagnostic| show(diagnostic) + "\n").collect::<String>()
            };
            match directive {
                Directive::Render(_) => {
                    snapshot(context, "render", shown(&|d| human(d, &source, style)).trim_end())?;
                }
                Directive::Json(_) => snapshot(context, "json", shown(&|d| json(d, &source)).trim_end())?,
                _ => return claims::compare(&source, &case.text, &found, finds),
            }
            Ok(())
        }
        Directive::Fmt => fmt(context),
        Directive::Print { elide, metadata, .. } => {
            let options = RaiseOptions { elide: *elide, metadata: *metadata, ..RaiseOptions::default() };
            snapshot(context, "print", print_operator_set(&sound(&case.text)?, &options).trim_end())?;
            Ok(())
        }
        Directive::Roundtrip => roundtrip(&case.text),
        Directive::CheckReference(_)
        | Directive::Expand
        | Directive::Infer
        | Directive::Schedule
        | Directive::Target(_)
        | Directive::Fix(..)
        | Directive::Pass(_)
        | Directive::Run
        | Directive::Input(..)
        | Directive::Inputs { .. }
        | Directive::Model(_)
        | Directive::Interface
        | Directive::Expect(_) => Err("a directive for models".to_owned()),
        Directive::Finds(_) | Directive::Tags(_) => Ok(()),
    }
}

fn sound(text: &str) -> Result<OperatorSet, String> {
    super::run::without_errors(read_operator_set(text), text)
}

fn fmt(context: &Context<'_>) -> Result<(), String> {
    let case = context.case;
    let formatted = |text: &str| {
        let syntax = onnx_text::parse_operator_set(text).value;
        onnx_text::format_operator_set(text, &syntax, &FormatOptions::default())
    };
    let once = formatted(&case.text);
    let twice = formatted(&once);
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    if bytes(&sound(&case.text)?)? != bytes(&sound(&once)?)? {
        return Err(format!("formatting has changed the set:\n{once}"));
    }
    snapshot(context, "fmt", once.trim_end())?;
    Ok(())
}

fn roundtrip(text: &str) -> Result<(), String> {
    let first = bytes(&sound(text)?)?;
    let (read, diagnostics) = onnx_proto::read_operator_set(first.clone().into()).into_parts();
    if let Some(diagnostic) = diagnostics.first() {
        return Err(format!("the written set cannot be read: {}", diagnostic.message));
    }
    let text = print_operator_set(&read, &RaiseOptions::default());
    let second = bytes(&sound(&text)?)?;
    if first == second { Ok(()) } else { Err(format!("the set is another one after printing it:\n{text}")) }
}

fn bytes(set: &OperatorSet) -> Result<Vec<u8>, String> {
    onnx_proto::write_operator_set(set).map_err(|error| error.to_string())
}

/// The findings in an example of the code table.
pub fn found_in(text: &str) -> Vec<onnx_ir::diag::Diagnostic> {
    check_operator_set(text, &VerifyOptions { level: Level::Strict, ..VerifyOptions::default() }).diagnostics
}
