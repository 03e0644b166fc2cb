//! What is to be done with a file: its `#!` lines.

use crate::passes;
use onnx_ir::Level;
use onnx_text::{Fixes, Profile};

/// One `#!` line.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Directive {
    Check(Level),
    Render(Level),
    Json(Level),
    Fix(Level, Fixes),
    Fmt,
    Print {
        profile: Profile,
        elide: Option<usize>,
        metadata: bool,
    },
    Roundtrip,
    Infer,
    /// How it is run.
    Schedule,
    /// What a runtime does not take.
    Target(String),
    /// What passes do.
    Pass(passes::Step),
    /// A finding without a place, as `error[E0303]: message`.
    Finds(String),
}

/// The `#!` lines among the comments that a file begins with.
pub(crate) fn parse(text: &str) -> Result<Vec<Directive>, String> {
    let head = text.lines().take_while(|line| line.starts_with('#') || line.trim().is_empty());
    let directives: Result<Vec<_>, _> =
        head.filter_map(|line| line.strip_prefix("#!")).map(directive).collect();
    match directives {
        Ok(none) if none.is_empty() => Err("the file has no directive (`#! check`)".to_owned()),
        other => other,
    }
}

fn directive(line: &str) -> Result<Directive, String> {
    let mut words = line.split_whitespace();
    let unknown = |word: &str| format!("unknown in a directive: `{word}`");
    let verb = words.next().unwrap_or_default();
    if verb == "finds" {
        return Ok(Directive::Finds(line.trim().trim_start_matches("finds").trim().to_owned()));
    }
    let rest: Vec<&str> = words.clone().collect();
    if let ("target", [name]) = (verb, &rest[..]) {
        return Ok(Directive::Target((*name).to_owned()));
    }
    if let Some(step) = passes::parse(verb, &rest) {
        return step.map(Directive::Pass);
    }
    let mut fixes = Fixes::Safe;
    let (mut level, mut profile, mut elide, mut metadata) = (Level::Types, Profile::Onnx, None, true);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_default();
        match (verb, word) {
            ("check" | "render" | "json" | "fix", "--level") => {
                level = match value() {
                    "syntax" => Level::Syntax,
                    "spec" => Level::Spec,
                    "types" => Level::Types,
                    "strict" => Level::Strict,
                    other => return Err(unknown(other)),
                }
            }
            ("print", "--profile") => {
                profile = match value() {
                    "onnx" => Profile::Onnx,
                    "extended" => Profile::Extended,
                    "reference" => Profile::Reference,
                    other => return Err(unknown(other)),
                }
            }
            ("print", "--elide") => {
                elide = Some(value().parse().map_err(|_| "--elide takes a number".to_owned())?);
            }
            ("fix", "--unsafe") => fixes = Fixes::Unsafe,
            ("print", "--no-metadata") => metadata = false,
            _ => return Err(unknown(word)),
        }
    }
    match verb {
        "check" => Ok(Directive::Check(level)),
        "render" => Ok(Directive::Render(level)),
        "json" => Ok(Directive::Json(level)),
        "fix" => Ok(Directive::Fix(level, fixes)),
        "fmt" => Ok(Directive::Fmt),
        "print" => Ok(Directive::Print { profile, elide, metadata }),
        "roundtrip" => Ok(Directive::Roundtrip),
        "infer" => Ok(Directive::Infer),
        "schedule" => Ok(Directive::Schedule),
        other => Err(unknown(other)),
    }
}
