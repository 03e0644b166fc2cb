//! `onnxtxt check`: every finding in one run.

use super::fmt::diff;
use crate::input::{Form, Input, Loaded};
use crate::progress::Work;
use crate::session::{Session, Status, count};
use crate::{files, fixes, locate, output};
use anyhow::{bail, ensure};
use onnx_ir::diag::{self, Code, Place, Span, code};
use onnx_ir::{Diagnostic, Level, Severity, VerifyOptions, verify};
use onnx_proto::FileKind;
use onnx_proto::external::{Folder, external_tensors};
use onnx_text::SourceMap;
use std::path::PathBuf;

/// Find everything that is wrong with models
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt check model.onnx
  onnxtxt check --fix model.onnxtxt            mend what is certain
  onnxtxt check --fix --diff model.onnxtxt     show what would be mended
  onnxtxt check --level strict --ignore G11,W06 models/
  onnxtxt check --deny warnings --format github models/")]
pub(crate) struct Args {
    /// Models of any form, and folders; - is stdin
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
    /// How much to look at; each level has those before it
    #[arg(long, value_enum, default_value = "types")]
    level: LevelArg,
    /// Apply the fixes that are certain to keep the meaning (text only)
    #[arg(long)]
    fix: bool,
    /// Show what would be fixed and change nothing
    #[arg(long)]
    diff: bool,
    /// Findings that count as errors: `warnings`, or codes
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    deny: Vec<String>,
    /// Report these codes only: E0203, value-undefined, G03, or all that begin with E02
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not report these codes
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Compare the SHA-1 of external data with the checksums that the model states
    #[arg(long)]
    verify_checksums: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum LevelArg {
    /// Whether the file can be read
    Syntax,
    /// The rules of the specification that need no types
    Spec,
    /// Operator signatures, types and shapes
    Types,
    /// What is legal and still not good style
    Strict,
}

impl LevelArg {
    fn level(self) -> Level {
        match self {
            LevelArg::Syntax => Level::Syntax,
            LevelArg::Spec => Level::Spec,
            LevelArg::Types => Level::Types,
            LevelArg::Strict => Level::Strict,
        }
    }
}

/// The extensions of models that folders are searched for.
const EXTENSIONS: &[&str] = &["onnx", "onnxtxt", "onnxtext"];

/// Fixing can bring up findings with fixes of their own; more rounds than this are a circle.
const MAX_ROUNDS: usize = 20;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    for key in args.select.iter().chain(&args.ignore).chain(args.deny.iter().filter(|key| *key != "warnings"))
    {
        ensure!(diag::ALL.iter().any(|code| is_meant(key, code)), "there is no code `{key}`");
    }
    if args.level.level() >= Level::Types {
        session.detail(
            "operator signatures, types and shapes are not checked yet: the rules of the specification are",
        );
    }
    let files = files::expand(&args.files, EXTENSIONS)?;
    let work = Work::begin(session, "checking");
    let mut status = Status::Clean;
    for path in &files {
        work.now(format!("checking {}", path.display()));
        let input = Input::open(path)?;
        let input = if args.fix || args.diff { fix(args, session, input, &mut status)? } else { input };
        let (loaded, found) = findings(args, &input);
        status = status.and(Status::of(!found.iter().any(Diagnostic::is_error)));
        locate::report(session, &input, &loaded, &found);
    }
    drop(work);
    session.summary(files.len());
    Ok(status)
}

/// Everything that is wrong with a file, as far as it was asked for, in the order of the text.
fn findings(args: &Args, input: &Input) -> (Loaded, Vec<Diagnostic>) {
    if input.kind != FileKind::Model {
        return other_message(input);
    }
    let mut loaded = input.load();
    let mut found = std::mem::take(&mut loaded.diagnostics);
    let level = args.level.level();
    let is_read = loaded.tree.is_some() || !found.iter().any(Diagnostic::is_error);
    if level > Level::Syntax && is_read {
        let mut judged = verify(&loaded.model, &VerifyOptions { level, ..VerifyOptions::default() });
        judged.extend(external(args, input, &loaded));
        found = merge(input, &loaded, found, judged);
    }
    loaded.diagnostics.clone_from(&found);
    found.retain(|diagnostic| {
        let is_selected =
            args.select.is_empty() || args.select.iter().any(|key| is_meant(key, diagnostic.code));
        let is_ignored = args.ignore.iter().any(|key| is_meant(key, diagnostic.code));
        (diagnostic.code.level <= level || diagnostic.is_error()) && is_selected && !is_ignored
    });
    for diagnostic in &mut found {
        let is_denied = |key: &String| key == "warnings" || is_meant(key, diagnostic.code);
        if args.deny.iter().any(is_denied) {
            diagnostic.severity = Severity::Error;
        }
    }
    (loaded, found)
}

/// A message that is no model: whether it can be read.
fn other_message(input: &Input) -> (Loaded, Vec<Diagnostic>) {
    let mut names = onnx_ir::Names::new();
    let (_, found) = onnx_proto::read_data(input.bytes.clone(), input.kind, &mut names);
    (Loaded::default(), found)
}

/// Whether a key of the command line means a code: by id, name or rule, or by the beginning of its id.
fn is_meant(key: &str, code: &Code) -> bool {
    let is = |text: &str| text.eq_ignore_ascii_case(key);
    let begins = key.len() >= 3 && code.id.get(..key.len()).is_some_and(is);
    is(code.id) || is(code.name) || code.rule.is_some_and(is) || begins
}

/// What is wrong with the files beside the model.
fn external(args: &Args, input: &Input, loaded: &Loaded) -> Vec<Diagnostic> {
    let Some(path) = &input.path else { return Vec::new() };
    let mut folder = Folder::of(path);
    let check = |(tensor, entity)| folder.check(&loaded.model, tensor, entity, args.verify_checksums);
    external_tensors(&loaded.model).into_iter().flat_map(check).collect()
}

/// Both lists in the order of the text. Where the text has mistakes, a part of the model is missing, and what only
/// follows from that is left out.
fn merge(
    input: &Input,
    loaded: &Loaded,
    mut read: Vec<Diagnostic>,
    judged: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let Some(parsed) = &loaded.tree else {
        read.extend(judged);
        return read;
    };
    let map = SourceMap::new(input.text(), &parsed.tree, &loaded.model);
    let span = |diagnostic: &Diagnostic| match diagnostic.primary.place {
        Place::Source(span) => Some(span),
        Place::Entity(entity) => map.span(entity),
        Place::Nowhere => None,
    };
    let damage = Damage::of(input.text(), &read);
    read.extend(judged.into_iter().filter(|diagnostic| damage.spares(diagnostic, span(diagnostic))));
    // Stable: what was found first at a place comes first.
    read.sort_by_key(|diagnostic| span(diagnostic).map_or(u32::MAX, |span| span.start));
    read
}

/// The lines of a text that were not understood.
struct Damage<'t> {
    text: &'t str,
    lines: Vec<std::ops::Range<usize>>,
}

impl<'t> Damage<'t> {
    fn of(text: &'t str, read: &[Diagnostic]) -> Self {
        let line = |place: Place| {
            let Place::Source(span) = place else { return None };
            let start = text.get(..span.start as usize)?.rfind('\n').map_or(0, |at| at + 1);
            let end =
                text.get(span.end as usize..)?.find('\n').map_or(text.len(), |at| span.end as usize + at);
            Some(start..end)
        };
        let syntax = read.iter().filter(|diagnostic| diagnostic.is_error() && diagnostic.code.id < "E0111");
        let lines = syntax.filter_map(|diagnostic| line(diagnostic.primary.place)).collect();
        Damage { text, lines }
    }

    /// Whether a finding cannot be a consequence: it is an error about names, and neither it nor the name that it is
    /// about is on a damaged line.
    fn spares(&self, diagnostic: &Diagnostic, span: Option<Span>) -> bool {
        if self.lines.is_empty() {
            return true;
        }
        let Some(span) = span.filter(|_| diagnostic.is_error() && diagnostic.code.id.starts_with("E02"))
        else {
            return false;
        };
        let is_damaged = self.lines.iter().any(|line| line.contains(&(span.start as usize)));
        let name = self.text.get(span.range()).unwrap_or_default();
        let is_lost = diagnostic.code == &code::VALUE_UNDEFINED
            && self.lines.iter().any(|line| self.text[line.clone()].contains(name));
        !is_damaged && !is_lost
    }
}

/// The file with its fixes, applied or shown.
fn fix(args: &Args, session: &Session, input: Input, status: &mut Status) -> anyhow::Result<Input> {
    if input.form != Form::Text || input.no_text().is_some() {
        session.note(&format!("{} is not text: nothing is fixed in it", input.name));
        return Ok(input);
    }
    let original = input.text().to_owned();
    let mut fixed =
        Input { bytes: input.bytes.clone(), name: input.name.clone(), path: input.path.clone(), ..input };
    let mut total = 0;
    for _ in 0..MAX_ROUNDS {
        let (_, found) = findings(args, &fixed);
        let (text, applied) = fixes::apply(fixed.text(), &found);
        if applied == 0 {
            break;
        }
        total += applied;
        fixed.bytes = text.into();
    }
    if total == 0 {
        return Ok(fixed);
    }
    if args.diff {
        let diff = diff(&original, fixed.text(), &fixed.name);
        output::to_stdout(|out| out.write_all(diff.as_bytes()))?;
        *status = Status::Findings;
        fixed.bytes = original.into();
        return Ok(fixed);
    }
    match &fixed.path {
        Some(path) => output::to_file(path, |out| out.write_all(fixed.text().as_bytes()))?,
        None if fixed.name == "<stdin>" => output::to_stdout(|out| out.write_all(fixed.text().as_bytes()))?,
        None => bail!("{} has no place to write to", fixed.name),
    }
    session.note(&format!("fixed {} in {}", count(total, "finding"), fixed.name));
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_meant_by_id_name_rule_and_prefix() {
        let code = &code::VALUE_UNDEFINED;
        for key in ["E0203", "e0203", "value-undefined", "G03", "E02", "e020"] {
            assert!(is_meant(key, code), "{key}");
        }
        for key in ["E", "E0", "G0", "W02", "value", "E02033"] {
            assert!(!is_meant(key, code), "{key}");
        }
    }
}
