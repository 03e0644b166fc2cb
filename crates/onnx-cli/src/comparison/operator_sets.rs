//! Two operator sets, compared by `semver` and `diff`.

use crate::input::Input;
use crate::input::operator_set::OperatorSetFile;
use crate::output;
use crate::session::{Reported, Session, Status};
use anyhow::ensure;
use onnx_ir::semver::Side;
use onnx_ops::opset::{SetDifference, compare};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// The question that the exit status answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    /// Whether the sets differ.
    Differ,
    /// Whether a difference breaks the rules of versions.
    Versions,
}

/// Compares two files, if both are operator sets; `None` if neither is.
///
/// # Errors
///
/// Only one of them is a set.
pub(crate) fn of_files(
    files: [&Path; 2],
    asked: Question,
    is_json: bool,
    session: &mut Session,
) -> anyhow::Result<Option<Status>> {
    // Stdin can be read once: a set on stdin is compared by name only.
    if files.iter().any(|path| *path == Path::new("-")) {
        return Ok(None);
    }
    let [old, new] = files.map(Input::open);
    let (Ok(old), Ok(new)) = (old, new) else { return Ok(None) };
    let (old, new) = match (old.operator_set(), new.operator_set()) {
        (Some(a), Some(b)) => ((old, a), (new, b)),
        (None, None) => return Ok(None),
        (was, is) => {
            ensure!(was.is_none(), "{} is an operator set, but {} is not", old.name, new.name);
            ensure!(is.is_none(), "{} is an operator set, but {} is not", new.name, old.name);
            return Ok(None);
        }
    };
    for (input, set) in [&old, &new] {
        set.report(session, input, &set.diagnostics);
        if set.is_partial() {
            return Err(Reported(Status::Findings).into());
        }
    }
    let found = compare(&old.1.set, &new.1.set);
    let files = [&old.0.name, &new.0.name];
    let text = if is_json { as_json(files, &found) } else { as_text(files, &found, [&old.1, &new.1], asked) };
    output::to_people(&text)?;
    Ok(Some(Status::of(match asked {
        Question::Differ => found.is_empty(),
        Question::Versions => found.iter().all(|difference| difference.broken.is_none()),
    })))
}

fn as_text(
    files: [&String; 2],
    found: &[SetDifference],
    sets: [&OperatorSetFile; 2],
    asked: Question,
) -> String {
    let mut out = String::new();
    for difference in found {
        let [old, new] = files;
        let file = if difference.place.0 == Side::Old { old } else { new };
        _ = write!(out, "{file}: {}", difference.message);
        match &difference.broken {
            Some(broken) if asked == Question::Versions => _ = writeln!(out, " ({broken})"),
            _ => out.push('\n'),
        }
    }
    let [old, new] = sets.map(|set| set.set.opset_version.unwrap_or(0));
    if asked == Question::Versions {
        let broken = found.iter().filter(|difference| difference.broken.is_some()).count();
        let verdict = match (found.len(), broken) {
            (0, _) => "nothing has changed",
            (_, 0) => "the versions reflect the changes",
            _ => "the versions do not reflect the changes",
        };
        _ = writeln!(out, "opset_version {old} to {new}: {verdict}");
    }
    out
}

fn as_json(files: [&String; 2], found: &[SetDifference]) -> String {
    let differences: Vec<_> = found
        .iter()
        .map(|difference| {
            let file = if difference.place.0 == Side::Old { files[0] } else { files[1] };
            json!({ "file": file, "message": difference.message, "needed": difference.broken })
        })
        .collect();
    let is_enough = found.iter().all(|difference| difference.broken.is_none());
    let document =
        json!({ "kind": "operator set", "files": files, "enough": is_enough, "differences": differences });
    format!("{document:#}\n")
}
