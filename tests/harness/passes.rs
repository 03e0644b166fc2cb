//! `#! pass NAME...` and `#! inline`: what passes make of a file, and what they say of it.

use crate::run::{bytes, print, snapshot, sound};
use crate::{Case, claims};
use onnx_ir::Model;
use onnx_ir::pass::{self, Inline, Pass, Report};
use onnx_ops::schema::Registry;
use onnx_text::render::{Of, Source};
use onnx_text::{Checked, RaiseOptions, SourceMap};

/// One directive.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Step {
    /// Passes by name, one after the other.
    Passes(Vec<String>),
    /// `#! inline [--only F]... [--depth N] [--limit N]`
    Inline { only: Vec<String>, depth: Option<u32>, limit: Option<u64> },
}

/// The rest of a line that begins with `verb`, if that is one of ours.
pub(crate) fn parse(verb: &str, words: &[&str]) -> Option<Result<Step, String>> {
    let words = words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    match verb {
        "pass" => Some(match words.iter().find(|name| pass::find(name).is_none()) {
            None => Ok(Step::Passes(words)),
            Some(unknown) => Err(format!("no pass is called `{unknown}`")),
        }),
        "inline" => Some(inlining(&words)),
        _ => None,
    }
}

fn inlining(words: &[String]) -> Result<Step, String> {
    let (mut only, mut depth, mut limit) = (Vec::new(), None, None);
    for pair in words.chunks(2) {
        match pair {
            [option, name] if option == "--only" => only.push(name.clone()),
            [option, number] if option == "--depth" => depth = number.parse().ok(),
            [option, number] if option == "--limit" => limit = number.parse().ok(),
            _ => return Err(format!("`#! inline` does not know {pair:?}")),
        }
    }
    Ok(Step::Inline { only, depth, limit })
}

/// Runs the step and compares the result with the snapshot, and what is said with the claims of the file.
pub(crate) fn run(case: &Case, step: &Step, finds: &[&str]) -> Result<(), String> {
    let Checked { parsed, mut model, .. } = sound(&case.text)?;
    let before = model.clone();
    let report = apply(&mut model, step);
    let map = SourceMap::new(&case.text, &parsed.tree, &before);
    let locate = |entity| map.span(entity);
    let source = Source::new(&case.name, &case.text, Of::Text).locating(&locate);
    claims::compare(&source, &case.text, &report.diagnostics, finds)?;

    let text = print(&model, &RaiseOptions::default());
    if bytes(&sound(&text)?.model)? != bytes(&model)? {
        return Err(format!("the model is another one after printing it:\n{text}"));
    }
    let is_limited = matches!(step, Step::Inline { depth: Some(_), .. });
    let again = if is_limited { Report::default() } else { apply(&mut model, step) };
    if again.is_changed() || print(&model, &RaiseOptions::default()) != text {
        return Err(format!("the second time there is something left to do: {again}"));
    }
    snapshot(case, "pass", &format!("{report}\n\n{}", text.trim_end()));
    Ok(())
}

fn apply(model: &mut Model, step: &Step) -> Report {
    let mut all = Report::default();
    match step {
        Step::Passes(names) => {
            let passes: Vec<&Pass> = names.iter().filter_map(|name| pass::find(name)).collect();
            for pass in passes {
                let report = pass.run(model, Registry::builtin());
                all.changes.extend(report.changes);
                all.diagnostics.extend(report.diagnostics);
            }
        }
        Step::Inline { only, depth, limit } => {
            let is_wanted = |model: &Model, f| only.iter().any(|name| pass::is_function(model, f, name));
            let options = Inline {
                select: &|model, f| only.is_empty() || is_wanted(model, f),
                depth: *depth,
                max_nodes: limit.unwrap_or(pass::MAX_NODES),
                others: None,
            };
            all = pass::inline(model, Registry::builtin(), options);
            pass::compact(model);
        }
    }
    all
}
