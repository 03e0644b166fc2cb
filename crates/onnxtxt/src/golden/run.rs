//! Runs the directives of a file.

use super::context::Context;
use super::directives::{self, Directive, Expected};
use super::{Case, checks, claims, execute, interface, opsets, parts, passes, schedules};
use crate::complete::check_text;
use onnx_ir::diag::{Diagnostic, Level, Parsed};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::targets::{self, TargetRuntime};
use onnx_text::render::{RenderOptions, SourceKind, SourceText, human, json};
use onnx_text::{
    Checked, FormatOptions, RaiseOptions, Readers, SourceMap, Syntax, TextKind, apply_fixes, ast,
    check_value, format, raise,
};

/// Runs the directives of a test; the error explains which expectation fails.
///
/// # Errors
///
/// A directive is invalid, a text cannot be read, or an expectation fails.
pub fn run(case: &Case) -> Result<(), String> {
    // The directives, and the findings that the test claims.
    let directives = directives::parse(&case.text)?;
    if !case.host.allows_programs() {
        let starts = |(line, directive): &(usize, Directive)| Some((*line, directive.program()?));
        if let Some((line, program)) = directives.iter().find_map(starts) {
            return Err(format!(
                "line {line}: the directive starts {program}, which needs `--allow-programs`"
            ));
        }
    }
    let finds: Vec<&str> = directives
        .iter()
        .filter_map(|(_, directive)| match directive {
            Directive::Finds(claim) => Some(claim.as_str()),
            _ => None,
        })
        .collect();
    let at = |line: usize| Context { case, directives: &directives, line };
    // Operator sets and parts of models have directives of their own.
    if opsets::is_set(&case.text) {
        return directives
            .iter()
            .try_for_each(|(line, directive)| opsets::run(&at(*line), directive, &finds));
    }
    if parts::part(&case.text).is_some() {
        return directives.iter().try_for_each(|(line, directive)| parts::run(&at(*line), directive, &finds));
    }
    for (line, directive) in &directives {
        let context = at(*line);
        let needs_text = matches!(
            directive,
            Directive::Render(_)
                | Directive::Json(_)
                | Directive::Fix(..)
                | Directive::Fmt
                | Directive::Expand
        );
        if let (Some(file), true) = (context.file(), needs_text) {
            return Err(format!(
                "line {line}: the directive needs the text of a model; this test is about `{file}`"
            ));
        }
        match directive {
            // Findings and their fixes.
            Directive::Check(level) if let Some(file) = context.file() => {
                let loaded = case.host.model(file)?;
                let found: Vec<Diagnostic> = loaded.check(*level).into_iter().collect();
                claims::compare_without_places(&found, &finds)?;
            }
            Directive::Check(level) => {
                found(case, *level, |source, found| claims::compare(source, &case.text, found, &finds))?;
            }
            Directive::CheckReference(level) => {
                found_for(Readers::Reference, case, *level, |source, found| {
                    claims::compare(source, &case.text, found, &finds)
                })?;
            }
            Directive::Render(level) => {
                let style = RenderOptions { color: false, width: 100 };
                let text = found(case, *level, |source, found| {
                    found.iter().map(|diagnostic| human(diagnostic, source, style) + "\n").collect::<String>()
                });
                snapshot(&context, "render", text.trim_end())?;
            }
            Directive::Json(level) => {
                let text = found(case, *level, |source, found| {
                    found.iter().map(|diagnostic| json(diagnostic, source) + "\n").collect::<String>()
                });
                snapshot(&context, "json", text.trim_end())?;
            }
            Directive::Fix(level, fixes) => {
                let options = VerifyOptions { level: *level, ..VerifyOptions::default() };
                let result = apply_fixes(&case.text, *fixes, |text| judged(text, &options));
                snapshot(&context, "fix", result.text.trim_end())?;
            }
            // Text that is printed again.
            Directive::Fmt => fmt(&context)?,
            Directive::Expand => expand(&context)?,
            Directive::Print { profile, elide, metadata } => {
                let model = context.model()?;
                let options = RaiseOptions {
                    profile: *profile,
                    elide: *elide,
                    metadata: *metadata,
                    ..RaiseOptions::default()
                };
                snapshot(&context, "print", print(&model, &options).trim_end())?;
            }
            Directive::Roundtrip => roundtrip(&context.model()?)?,
            // Inference, passes and execution.
            Directive::Infer => {
                let mut model = context.model()?;
                let mut inference = infer(&model, registry_of(&model), &InferOptions::default());
                apply(&mut model, &mut inference.facts);
                snapshot(&context, "infer", print(&model, &RaiseOptions::default()).trim_end())?;
            }
            Directive::Schedule => schedules::run(&context)?,
            Directive::Target(name) => target(&context, name, &finds)?,
            Directive::Pass(step) => passes::run(&context, step, &finds)?,
            Directive::Run => execute::run(&context)?,
            Directive::Interface => {
                snapshot(&context, "interface", interface::describe(&context.model()?).trim_end())?;
            }
            // Expected results, and inputs for them.
            Directive::Expect(Expected::SameAsBefore) => execute::same_after_passes(&context)?,
            Directive::Expect(Expected::SameAs { file, tolerance }) => {
                execute::same_as_model(&context, file, *tolerance)?;
            }
            Directive::Expect(Expected::SameAsOnnxRuntime { tolerance }) => {
                execute::same_as_onnxruntime(&context, *tolerance)?;
            }
            Directive::Expect(Expected::Value { .. } | Expected::File { .. }) => {
                if !directives.iter().any(|(_, directive)| *directive == Directive::Run) {
                    return Err(format!("line {line}: `#! expect` of values needs a directive `#! run`"));
                }
            }
            Directive::Input(..) | Directive::Inputs { .. } => {
                let runs = |(_, directive): &(usize, Directive)| {
                    matches!(directive, Directive::Run | Directive::Expect(_))
                };
                if !directives.iter().any(runs) {
                    return Err(format!("line {line}: `#! input` needs a directive `#! run` or `#! expect`"));
                }
            }
            Directive::Finds(_) | Directive::Model(_) | Directive::Tags(_) => {}
        }
    }
    Ok(())
}

/// All findings of a file.
fn found<T>(case: &Case, level: Level, show: impl FnOnce(&SourceText<'_>, &[Diagnostic]) -> T) -> T {
    found_for(Readers::Ours, case, level, show)
}

/// The same, with what some of its readers reject.
fn found_for<T>(
    readers: Readers,
    case: &Case,
    level: Level,
    show: impl FnOnce(&SourceText<'_>, &[Diagnostic]) -> T,
) -> T {
    let options = VerifyOptions { level, ..VerifyOptions::default() };
    let name = format!("{}.onnxtxt", case.name.rsplit('/').next().unwrap_or_default());
    let is_wanted = |diagnostic: &Diagnostic| diagnostic.code.level <= level || diagnostic.is_error();
    if is_value(case) {
        let mut diagnostics = check_value(&case.text, &options).diagnostics;
        diagnostics.retain(is_wanted);
        return show(&SourceText::new(&name, &case.text, SourceKind::Text), &diagnostics);
    }
    let Parsed { value: Checked { syntax, model }, mut diagnostics } =
        judged_for(readers, &case.text, &options);
    diagnostics.retain(is_wanted);
    let map = SourceMap::new(&case.text, &syntax.tree, &model);
    let locate = |entity| map.span(entity);
    let source = SourceText::new(&name, &case.text, SourceKind::Text).locating(&locate);
    show(&source, &diagnostics)
}

/// Compares the nodes that a runtime does not support with the claims of the file.
fn target(context: &Context<'_>, name: &str, finds: &[&str]) -> Result<(), String> {
    let target = TargetRuntime::find(name).ok_or_else(|| format!("no runtime is called `{name}`"))?;
    let case = context.case;
    if context.file().is_some() {
        let model = context.model()?;
        let found = targets::check(&model, registry_of(&model), target);
        return claims::compare_without_places(&found, finds);
    }
    let Checked { syntax, model } = sound(&case.text)?;
    let found = targets::check(&model, registry_of(&model), target);
    let map = SourceMap::new(&case.text, &syntax.tree, &model);
    let locate = |entity| map.span(entity);
    let source = SourceText::new(&case.name, &case.text, SourceKind::Text).locating(&locate);
    claims::compare(&source, &case.text, &found, finds)
}

/// A text, checked by all rules.
pub fn judged(text: &str, options: &VerifyOptions) -> Parsed<Checked> {
    judged_for(Readers::Ours, text, options)
}

fn judged_for(readers: Readers, text: &str, options: &VerifyOptions) -> Parsed<Checked> {
    let judge = |model: &Model| onnx_ops::check::check(model, registry_of(model), options);
    check_text(readers, text, options.level, judge)
}

/// The text, which must have no errors.
pub(crate) fn sound(text: &str) -> Result<Checked, String> {
    let checked = check_text(Readers::Ours, text, Level::Syntax, |_| Vec::new());
    without_errors(checked, text)
}

/// The value that was read from the text, which must have no errors.
pub(crate) fn without_errors<T>(parsed: Parsed<T>, text: &str) -> Result<T, String> {
    match parsed.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        None => Ok(parsed.value),
        Some(first) => {
            Err(format!("the text has an error: {} at {:?}\n{text}", first.message, first.primary.place))
        }
    }
}

/// Whether a file contains a value instead of a model.
fn is_value(case: &Case) -> bool {
    onnx_text::sniff_text(&case.text) == TextKind::Value
}

fn fmt(context: &Context<'_>) -> Result<(), String> {
    let case = context.case;
    if is_value(case) {
        return fmt_value(context);
    }
    let Checked { syntax, model } = sound(&case.text)?;
    let once = formatted(&case.text, &syntax);
    let again = sound(&once)?;
    let twice = formatted(&once, &again.syntax);
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    if bytes(&model)? != bytes(&again.model)? {
        return Err(format!("formatting has changed the model:\n{once}"));
    }
    snapshot(context, "fmt", once.trim_end())?;
    Ok(())
}

/// Compares the text without expressions, which is the same model.
fn expand(context: &Context<'_>) -> Result<(), String> {
    let text = &context.case.text;
    let checked = sound(text)?;
    let expanded = onnx_text::expanded(text, &checked);
    let again = sound(&expanded)?;
    if again.syntax.tree.statements().any(|statement| statement.sugar.is_some()) {
        return Err(format!("an expression is left:\n{expanded}"));
    }
    if bytes(&checked.model)? != bytes(&again.model)? {
        return Err(format!("the expanded text is another model:\n{expanded}"));
    }
    snapshot(context, "expand", formatted(&expanded, &again.syntax).trim_end())?;
    Ok(())
}

fn fmt_value(context: &Context<'_>) -> Result<(), String> {
    let case = context.case;
    let formatted = |text: &str| {
        let syntax = without_errors(onnx_text::parse_value(text), text)?.transpose();
        let syntax = syntax.ok_or_else(|| format!("the text has no value\n{text}"))?;
        Ok::<_, String>(onnx_text::format_value_file(text, &syntax, &FormatOptions::default()))
    };
    let once = formatted(&case.text)?;
    let twice = formatted(&once)?;
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    snapshot(context, "fmt", once.trim_end())?;
    Ok(())
}

fn formatted(text: &str, syntax: &Syntax<ast::File>) -> String {
    format(text, syntax, &FormatOptions::default())
}

pub(crate) fn print(model: &Model, options: &RaiseOptions) -> String {
    let raised = raise(model, options);
    format(&raised.source, &raised.syntax, &FormatOptions::default())
}

fn roundtrip(model: &Model) -> Result<(), String> {
    let first = bytes(model)?;
    let (read, diagnostics) = onnx_proto::read(first.clone().into()).into_parts();
    if let Some(diagnostic) = diagnostics.first() {
        return Err(format!("the written model cannot be read: {}", diagnostic.message));
    }
    let text = print(&read, &RaiseOptions::default());
    let second = bytes(&sound(&text)?.model)?;
    if first == second { Ok(()) } else { Err(format!("the model is another one after printing it:\n{text}")) }
}

pub(crate) fn bytes(model: &Model) -> Result<Vec<u8>, String> {
    onnx_proto::write(model).map_err(|error| error.to_string())
}

/// Compares an output with the `# CHECK:` lines for its directive, or else with its snapshot.
pub(crate) fn snapshot(context: &Context<'_>, what: &str, content: &str) -> Result<(), String> {
    if checks::has_checks(context.checked_lines()) {
        return checks::compare(context.checked_lines(), content).map_err(|why| format!("`{what}`: {why}"));
    }
    context.case.host.compare(context.case, what, content)
}
