//! Runs the directives of a file that holds a part of a model: a graph, a function, a node, a type, a declaration or an attribute.

use super::claims;
use super::context::Context;
use super::directives::Directive;
use super::run::snapshot;
use crate::{File, Form, Part};
use bytes::Bytes;
use onnx_text::render::{RenderOptions, human, json};
use onnx_text::{FormatOptions, RaiseOptions};

/// The part in a text; `None` if it holds something else.
pub(crate) fn part(text: &str) -> Option<Part> {
    let mut file = File::new("<text>".to_owned(), None, Bytes::copy_from_slice(text.as_bytes()));
    file.form = Form::Text;
    file.part()
}

pub(crate) fn run(context: &Context<'_>, directive: &Directive, finds: &[&str]) -> Result<(), String> {
    let case = context.case;
    let mut file = File::new(
        format!("{}.onnxtxt", case.name.rsplit('/').next().unwrap_or_default()),
        None,
        Bytes::copy_from_slice(case.text.as_bytes()),
    );
    file.form = Form::Text;
    let part = file.part().ok_or("the text is not a part of a model")?;
    match directive {
        Directive::Check(level) | Directive::Render(level) | Directive::Json(level) => {
            let mut found = part.check(*level);
            found.retain(|diagnostic| diagnostic.code.level <= *level || diagnostic.is_error());
            let style = RenderOptions { color: false, width: 100 };
            part.loaded().with_source(true, |source| {
                let shown = |show: &dyn Fn(&onnx_ir::diag::Diagnostic) -> String| {
                    found.iter().map(|diagnostic| show(diagnostic) + "\n").collect::<String>()
                };
                match directive {
                    Directive::Render(_) => {
                        snapshot(context, "render", shown(&|d| human(d, source, style)).trim_end())
                            .map(|_| ())
                    }
                    Directive::Json(_) => {
                        snapshot(context, "json", shown(&|d| json(d, source)).trim_end()).map(|_| ())
                    }
                    _ => claims::compare(source, &case.text, &found, finds),
                }
            })
        }
        Directive::Fmt => fmt(context, &part),
        Directive::Print { profile, elide, metadata } => {
            let options = RaiseOptions {
                profile: *profile,
                elide: *elide,
                metadata: *metadata,
                ..RaiseOptions::default()
            };
            snapshot(context, "print", part.text(&options).trim_end())?;
            Ok(())
        }
        Directive::Roundtrip => roundtrip(&part),
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

fn sound(text: &str) -> Result<Part, String> {
    let part = part(text).ok_or_else(|| format!("the text is not a part of a model:\n{text}"))?;
    match part.loaded().diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        None => Ok(part),
        Some(first) => Err(format!("the text has an error: {}\n{text}", first.message)),
    }
}

fn fmt(context: &Context<'_>, part: &Part) -> Result<(), String> {
    let formatted = |part: &Part| {
        part.formatted(&FormatOptions::default()).value.ok_or("nothing could be parsed".to_owned())
    };
    let once = formatted(part)?;
    let again = sound(&once)?;
    let twice = formatted(&again)?;
    if once != twice {
        return Err(format!("formatting twice is not formatting once:\n{once}\n--- twice:\n{twice}"));
    }
    if encoded(part)? != encoded(&again)? {
        return Err(format!("formatting has changed the part:\n{once}"));
    }
    snapshot(context, "fmt", once.trim_end())?;
    Ok(())
}

/// Text, message, text, message; and the message is recognized.
fn roundtrip(part: &Part) -> Result<(), String> {
    let first = encoded(part)?;
    let read = File::new("<bytes>".to_owned(), None, first.clone());
    let Some(read) = read.part().filter(|read| read.loaded().file().kind == part.loaded().file().kind) else {
        return Err(format!("the message is taken for a {}", read.kind.name()));
    };
    let text = read.text(&RaiseOptions::default());
    let second = encoded(&sound(&text)?)?;
    if first == second { Ok(()) } else { Err(format!("the part is another one after printing it:\n{text}")) }
}

fn encoded(part: &Part) -> Result<Bytes, String> {
    part.encode().map(Bytes::from).map_err(|error| error.to_string())
}
