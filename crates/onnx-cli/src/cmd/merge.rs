//! `onnxtxt merge`: merges the changes of two versions of a model.

use super::diff::open_as_it_is;
use crate::args::profile::ProfileArg;
use crate::emit::{Destination, emit};
use crate::input::operators::Operators;
use crate::input::{Form, Input, Loaded};
use crate::output::numbers::count;
use crate::output::{self, OutputTarget};
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail};
use onnx_ir::diag::Diagnostic;
use onnx_ir::{Model, VerifyOptions};
use onnx_text::RaiseOptions;
use onnxtxt::files::Derived;
use onnxtxt::merge::{Merged, merge};
use onnxtxt::{Text, Weights};
use similar::{ChangeTag, TextDiff};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Merge the changes of two versions of a model
///
/// Nodes, attributes, weights, metadata and imports are merged one by one. If both sides changed the same thing, the result has
/// conflict markers if it is text; for a binary model, OUT is our version and the conflicts are in a text beside it,
/// OUT.conflict.onnxtxt, which `onnxtxt convert` converts to a model when they are resolved.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt merge base.onnx ours.onnx theirs.onnx -o merged.onnx
  onnxtxt merge base.onnxtxt ours.onnxtxt theirs.onnxtxt > merged.onnxtxt
  onnxtxt git install                             git merges models this way

Exit status: 0 merged · 1 conflicts, or the result has errors that neither side has · 2 wrong usage, or a file cannot be read
or written.")]
pub(crate) struct Args {
    /// The common base
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// Our version
    #[arg(value_name = "OURS")]
    ours: PathBuf,
    /// Their version
    #[arg(value_name = "THEIRS")]
    theirs: PathBuf,
    /// Where to write; may be OURS, which is replaced. Default: text on stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Name of the model if OUT is a temporary file (git's %P): conflicts of a binary model are written beside it
    #[arg(long, value_name = "PATH")]
    path: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let work = Work::begin(session, format!("merging {}", args.ours.display()));
    let mut models = Vec::new();
    for path in [&args.base, &args.ours, &args.theirs] {
        let (input, loaded) = open_as_it_is(path, session)?;
        if loaded.is_partial() {
            return Ok(Status::Findings);
        }
        models.push((input, loaded));
    }
    let [(_, base), (input, ours), (_, theirs)] = &models[..] else { return Ok(Status::Findings) };
    let target = args.output.as_deref().map_or(OutputTarget::Stdout, OutputTarget::new);
    let form = match &target {
        OutputTarget::Stdout => Form::Text,
        OutputTarget::File(path) => Form::of_name(path).unwrap_or(input.form),
    };
    let merged = merge(&base.model, &ours.model, &theirs.model).context("cannot merge")?;
    if !merged.conflicts.is_empty() {
        return conflicts(args, session, (input, ours), &merged, &target, form, &work);
    }
    let broken = broken(&merged.ours, [&ours.model, &theirs.model]);
    let mut loaded = ours.became(merged.ours);
    let status = write(input, &mut loaded, &target, form, session, &work)?;
    if broken.is_empty() {
        return Ok(status);
    }
    findings::report(session, &loaded, &broken);
    session.note("the changes do not overlap, but the merged model has errors");
    Ok(Status::Findings.and(status))
}

fn write(
    input: &Input,
    loaded: &mut Loaded,
    target: &OutputTarget,
    form: Form,
    session: &mut Session,
    work: &Work,
) -> anyhow::Result<Status> {
    let destination = Destination {
        target: target.clone(),
        to: form,
        weights: Some(Weights::Keep),
        profile: ProfileArg::Onnx,
        verify_checksums: false,
    };
    emit(&destination, input, loaded, session, work)
}

/// Errors of the result that neither side has.
fn broken(model: &Model, sides: [&Model; 2]) -> Vec<Diagnostic> {
    let errors = |model: &Model| {
        let found = onnx_ops::check::check(model, Operators::BuiltIn.of(model), &VerifyOptions::default());
        found.into_iter().filter(Diagnostic::is_error).collect::<Vec<_>>()
    };
    let found = errors(model);
    if found.is_empty() {
        return found;
    }
    let key = |diagnostic: &Diagnostic| (diagnostic.code.id, diagnostic.message.clone());
    let known: HashSet<_> = sides.into_iter().flat_map(errors).map(|diagnostic| key(&diagnostic)).collect();
    found.into_iter().filter(|diagnostic| !known.contains(&key(diagnostic))).collect()
}

/// Writes the result with conflicts, and reports them.
fn conflicts(
    args: &Args,
    session: &mut Session,
    (input, ours): (&Input, &Loaded),
    merged: &Merged,
    target: &OutputTarget,
    form: Form,
    work: &Work,
) -> anyhow::Result<Status> {
    let Some(theirs) = &merged.theirs else { bail!("internal error: conflicts without the other version") };
    let options = RaiseOptions::default();
    let comments = ours.comments();
    let text = |model: &Model| Text::commented(model, &options, &comments).to_text();
    let marked = marked(&text(&merged.ours), &text(theirs), input.form == Form::Text && form == Form::Text);
    match (form, target) {
        (Form::Text, OutputTarget::Stdout) => output::model_text(&marked)?,
        (Form::Text, OutputTarget::File(path)) => replace(path, target.is(&args.ours), &marked)?,
        (Form::Binary | Form::Json | Form::Textproto, _) => {
            let shown = args.path.clone().or_else(|| args.output.clone()).unwrap_or_default();
            let mut name = shown.into_os_string();
            name.push(".conflict.onnxtxt");
            let beside = PathBuf::from(name);
            output::derived(Derived::beside(&beside, has_conflicts), |out| out.write_all(marked.as_bytes()))?;
            let mut loaded = ours.became(merged.ours.clone());
            write(input, &mut loaded, target, form, session, work)?;
            session.note(&format!(
                "conflicts written to {}: resolve them, then convert that file to the model",
                beside.display()
            ));
        }
    }
    for conflict in &merged.conflicts {
        session.note(&format!("conflict: {}", conflict.path));
    }
    let name = args.path.as_deref().unwrap_or(&args.ours);
    session.note(&format!("{} in {}", count(merged.conflicts.len(), "conflict"), name.display()));
    Ok(Status::Findings)
}

fn replace(path: &Path, may_be_read: bool, text: &str) -> anyhow::Result<()> {
    if may_be_read {
        output::rewrite(path, |out| out.write_all(text.as_bytes()))
    } else {
        output::to_file(path, |out| out.write_all(text.as_bytes()))
    }
}

/// The first line of conflicts beside a model.
const HEAD: &str =
    "# Resolve the conflicts below, then convert this text to the model: onnxtxt convert THIS -o MODEL\n";

/// Whether a file is one that a merge has written.
fn has_conflicts(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(HEAD.len() as u64).read_to_end(&mut head)?;
    Ok(head == HEAD.as_bytes())
}

/// Both texts merged, with markers around the differences.
fn marked(ours: &str, theirs: &str, is_text: bool) -> String {
    let mut out = String::with_capacity(ours.len() + 1024);
    if !is_text {
        out += HEAD;
    }
    let diff = TextDiff::from_lines(ours, theirs);
    let (mut left, mut right) = (String::new(), String::new());
    let flush = |out: &mut String, left: &mut String, right: &mut String| {
        if !(left.is_empty() && right.is_empty()) {
            *out += &format!("<<<<<<< ours\n{left}=======\n{right}>>>>>>> theirs\n");
            left.clear();
            right.clear();
        }
    };
    for change in diff.iter_all_changes() {
        let line = change.value();
        match change.tag() {
            ChangeTag::Delete => left += line,
            ChangeTag::Insert => right += line,
            ChangeTag::Equal => {
                flush(&mut out, &mut left, &mut right);
                out += line;
            }
        }
    }
    flush(&mut out, &mut left, &mut right);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_marked() {
        let text = marked("a\nb\nc\n", "a\nd\nc\n", true);
        assert_eq!(text, "a\n<<<<<<< ours\nb\n=======\nd\n>>>>>>> theirs\nc\n");
        assert_eq!(marked("a\n", "a\n", true), "a\n");
    }
}
