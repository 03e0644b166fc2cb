//! Runs the directives of a file.

use super::directives::{self, Directive, Expected};
use super::{Case, checks, claims, execute, opsets, passes, schedules};
use onnx_ir::{Diagnostic, Level, Model, VerifyOptions};
use onnx_ops::infer::{InferOptions, apply, infer};
use onnx_ops::opset::registry_of;
use onnx_ops::targets::{self, Target};
use onnx_text::render::{Of, Source, Style, human, json};
use onnx_text::{
    Checked, FormatOptions, Parsed, RaiseOptions, SourceMap, TextKind, ast, check, check_value, check_with,
    format, mend, raise,
};

/// Runs the directives of a test; the error says what is not as expected.
///
/// # Errors
///
/// A directive that is not understood, a text that cannot be read, or an expectation that does not hold.
pub fn run(case: &Case) -> Result<(), String> {
    let directives = directives::parse(&case.text)?;
    let finds: Vec<&str> = directives
        .iter()
        .filter_map(|directive| match directive {
            Directive::Finds(claim) => Some(claim.as_str()),
            _ => None,
        })
        .collect();
    if opsets::is_set(&case.text) {
        return directives.iter().try_for_each(|directive| opsets::run(case, directive, &finds));
    }
    for directive in &directives {
        match directive {
            Directive::Check(level) => {
                found(case, *level, |source, found| claims::compare(source, &case.text, found, &finds))?;
            }
            Directive::Render(level) => {
                let style = Style { color: false, width: 100 };
                let text = found(case, *level, |source, found| {
                    found.iter().map(|diagnostic| human(diagnostic, source, style) + "\n").collect::<String>()
                });
                snapshot(case, "render", text.trim_end())?;
            }
            Directive::Json(level) => {
                let text = found(case, *level, |source, found| {
                    found.iter().map(|diagnostic| json(diagnostic, source) + "\n").collect::<String>()
                });
                snapshot(case, "json", text.trim_end())?;
            }
            Directive::Fix(level, fixes) => {
                let options = VerifyOptions { level: *level, ..VerifyOptions::default() };
                let mended = mend(&case.text, *fixes, |text| {
                    let checked = judged(text, &options);
                    let is_partial = checked.is_partial();
                    (checked.diagnostics, !is_partial)
                });
                snapshot(case, "fix", mended.text.trim_end())?;
            }
            Directive::Fmt => fmt(case)?,
            Directive::Print { profile, elide, metadata } => {
                let model = sound(&case.text)?.model;
                let options = RaiseOptions {
                    profile: *profile,
                    elide: *elide,
                    metadata: *metadata,
                    ..RaiseOptions::default()
                };
                snapshot(case, "print", print(&model, &options).trim_end())?;
            }
            Directive::Roundtrip => roundtrip(case)?,
            Directive::Infer => {
                let mut model = sound(&case.text)?.model;
                let mut inference = infer(&model, registry_of(&model), &InferOptions::default());
                apply(&mut model, &mut inference.facts);
                snapshot(case, "infer", print(&model, &RaiseOptions::default()).trim_end())?;
            }
            Directive::Schedule => schedules::run(case)?,
            Directive::Target(name) => target(case, name, &finds)?,
            Directive::Pass(step) => passes::run(case, step, &finds)?,
            Directive::Run => execute::run(case, &directives)?,
            Directive::Expect(Expected::SameAsBefore) => execute::same_after_passes(case, &directives)?,
            Directive::Expect(Expected::Value { .. }) | Directive::Input(..) => {
                if !directives.contains(&Directive::Run) {
                    return Err("`#! input` and `#! expect` need a directive `#! run`".to_owned());
                }
            }
            Directive::Finds(_) => {}
        }
    }
    Ok(())
}

/// Everything that is wrong with a file.
fn found<T>(case: &Case, level: Level, show: impl FnOnce(&Source<'_>, &[Diagnostic]) -> T) -> T {
    let options = VerifyOptions { level, ..VerifyOptions::default() };
    let name = format!("{}.onnxtxt", case.name.rsplit('/').next().unwrap_or_default());
    let is_wanted = |diagnostic: &Diagnostic| diagnostic.code.level <= level || diagnostic.is_error();
    if is_value(case) {
        let mut diagnostics = check_value(&case.text, &options).diagnostics;
        diagnostics.retain(is_wanted);
        return show(&Source::new(&name, &case.text, Of::Text), &diagnostics);
    }
    let Checked { parsed, model, mut diagnostics } = judged(&case.text, &options);
    diagnostics.retain(is_wanted);
    let map = SourceMap::new(&case.text, &parsed.tree, &model);
    let locate = |entity| map.span(entity);
    let source = Source::new(&name, &case.text, Of::Text).locating(&locate);
    show(&source, &diagnostics)
}

/// What a runtime does not take of a file is what the file claims.
fn target(case: &Case, name: &str, finds: &[&str]) -> Result<(), String> {
    let target = Target::find(name).ok_or_else(|| format!("no runtime is called `{name}`"))?;
    let Checked { parsed, model, .. } = sound(&case.text)?;
    let found = targets::check(&model, registry_of(&model), target);
    let map = SourceMap::new(&case.text, &parsed.tree, &model);
    let locate = |entity| map.span(entity);
    let source = Source::new(&case.name, &case.text, Of::Text).locating(&locate);
    claims::compare(&source, &case.text, &found, finds)
}

/// A text, judged by every rule.
pub fn judged(text: &str, options: &VerifyOptions) -> Checked {
    check_with(text, options.level, |model| onnx_ops::check::check(model, registry_of(model), options))
}

/// The text, read without errors.
pub(crate) fn sound(text: &str) -> Result<Checked, String> {
    let checked = check(text, &VerifyOptions { level: Level::Syntax, ..VerifyOptions::default() });
    match checked.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        None => Ok(checked),
        Some(first) => {
            Err(format!("the text has an error: {} at {:?}\n{text}", first.message, first.primary.place))
        }
    }
}

/// Whether a file holds a value and no model.
fn is_value(case: &Case) -> bool {
    onnx_text::sniff_text(&case.text) == TextKind::Value
}

fn fmt(case: &Case) -> Result<(), String> {
    if is_value(case) {
        return fmt_value(case);
    }
    let Checked { parsed, model, .. } = sound(&case.text)?;
    let once = formatted(&case.text, &parsed);
    let again = sound(&once)?;
    let twice = formatted(&once, &again.parsed);
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    if bytes(&model)? != bytes(&again.model)? {
        return Err(format!("formatting has changed the model:\n{once}"));
    }
    snapshot(case, "fmt", once.trim_end())?;
    Ok(())
}

fn fmt_value(case: &Case) -> Result<(), String> {
    let formatted = |text: &str| {
        let parsed = onnx_text::parse_value(text);
        match (&parsed.tree, parsed.diagnostics.first()) {
            (Some(tree), None) => {
                let options = FormatOptions::default();
                Ok(onnx_text::format_value_file(text, tree, &parsed.comments, parsed.annotated, &options))
            }
            (_, first) => Err(format!("the text has an error: {first:?}\n{text}")),
        }
    };
    let once = formatted(&case.text)?;
    let twice = formatted(&once)?;
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    snapshot(case, "fmt", once.trim_end())?;
    Ok(())
}

fn formatted(text: &str, parsed: &Parsed<ast::File>) -> String {
    format(text, &parsed.tree, &parsed.comments, parsed.annotated, &FormatOptions::default())
}

pub(crate) fn print(model: &Model, options: &RaiseOptions) -> String {
    let raised = raise(model, options);
    format(&raised.source, &raised.tree, &[], raised.annotated, &FormatOptions::default())
}

fn roundtrip(case: &Case) -> Result<(), String> {
    let first = bytes(&sound(&case.text)?.model)?;
    let (read, diagnostics) = onnx_proto::read(first.clone().into());
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

/// Compares an output with the `# CHECK:` lines of the test, or else with its snapshot.
pub(crate) fn snapshot(case: &Case, what: &str, content: &str) -> Result<(), String> {
    if checks::has_checks(&case.text) {
        return checks::compare(&case.text, content).map_err(|why| format!("`{what}`: {why}"));
    }
    (case.compare)(case, what, content)
}
