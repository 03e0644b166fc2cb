//! `onnxtxt check`: reports all findings in one run.

use crate::args::operators::{Operators, OpsetArgs};
use crate::input::document::Document;
use crate::input::paths;
use crate::input::read_files::Unreadable;
use crate::input::{Form, Input, Loaded, STDIN};
use crate::output;
use crate::output::numbers::count;
use crate::output::unified_diff::diff;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_ir::diag::{self, Code, Diagnostic, Level, Parsed, Severity};
use onnx_ir::{Model, VerifyOptions};
use onnx_ops::targets::{self, TargetRuntime};
use onnx_proto::external::{Folder, external_tensors};
use onnx_text::{Fixes, Readers, apply_fixes};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Find all problems of models
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt check model.onnx
  onnxtxt check < model.onnx                   stdin
  onnxtxt check --fix model.onnxtxt            apply the safe fixes
  onnxtxt check --fix --diff model.onnxtxt     show what would be fixed
  onnxtxt check --fix --unsafe-fixes model.onnxtxt   apply unsafe fixes, too
  onnxtxt check --level strict --ignore G11,W06 models/
  onnxtxt check --deny warnings --format github models/
  onnxtxt check --target ort,tract model.onnx     what these runtimes do not take
  onnxtxt check --profile reference model.onnxtxt   what the reference parser would reject
  onnxtxt check --opset acme.onnxtxt model.onnx   with operators of a domain of your own")]
pub(crate) struct Args {
    /// Models in any format, and folders; - (or none) is stdin
    #[arg(value_name = "FILES", default_value = "-")]
    files: Vec<PathBuf>,
    /// What to check; each level includes those before it
    #[arg(long, value_enum, default_value = "types")]
    level: LevelArg,
    /// Apply the fixes that are certain to preserve the meaning (text only)
    #[arg(long)]
    fix: bool,
    /// Also apply fixes that are only likely to be right
    #[arg(long)]
    unsafe_fixes: bool,
    /// Show fixes as a diff and change nothing
    #[arg(long)]
    diff: bool,
    /// Findings to treat as errors: `warnings`, or codes
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    deny: Vec<String>,
    /// Report only these codes: E0203, value-undefined, G03, or all that begin with E02
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not report these codes
    #[arg(long, value_name = "CODES", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Compare the SHA-1 of external data with the checksums in the model, as is always done for a text
    #[arg(long)]
    verify_checksums: bool,
    /// Report nodes that these runtimes do not support: candle, ort, rten, tract
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    target: Vec<String>,
    /// The readers of a text: with `reference`, also report syntax that the reference parser rejects
    #[arg(long, value_enum, default_value = "onnx")]
    profile: ReadersArg,
    #[command(flatten)]
    opset: OpsetArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum ReadersArg {
    /// onnxtxt
    Onnx,
    /// The parser of the package onnx, too
    Reference,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum LevelArg {
    /// Whether the file can be read
    Syntax,
    /// The rules of the specification that need no types
    Spec,
    /// Operator signatures, types and shapes
    Types,
    /// Style findings for legal models
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

/// File name extensions of models in folders.
const EXTENSIONS: &[&str] = &["onnx", "onnxtxt", "onnxtext"];

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    for key in args.select.iter().chain(&args.ignore).chain(args.deny.iter().filter(|key| *key != "warnings"))
    {
        ensure!(diag::ALL.iter().any(|code| is_meant(key, code)), "unknown code `{key}`");
    }
    ensure!(args.fix || args.diff || !args.unsafe_fixes, "`--unsafe-fixes` requires `--fix` or `--diff`");
    for name in &args.target {
        ensure_target(name)?;
    }
    let operators = args.opset.load(session)?;
    paths::ensure_given(&args.files)?;
    let has_text_on_stdout = args.diff || args.fix && args.files.iter().any(|path| path == Path::new("-"));
    if !has_text_on_stdout {
        session.findings_are_the_result();
    }
    let mut files = Vec::new();
    for path in &args.files {
        let found = paths::expand(std::slice::from_ref(path), EXTENSIONS)?;
        // Nothing was checked, which must not look like a folder without findings.
        if found.is_empty() {
            let name = path.display().to_string();
            let endings: Vec<String> = EXTENSIONS.iter().map(|extension| format!(".{extension}")).collect();
            let message =
                format!("folder {name} contains no models: no file name ends in {}", endings.join(", "));
            bail!(Unreadable::because(&name, message));
        }
        files.extend(found);
    }
    let work = Work::begin(session, "checking");
    let mut status = Status::Clean;
    for path in &files {
        work.now(format!("checking {}", path.display()));
        let input = match Input::open(path) {
            Ok(input) => input,
            Err(error) => {
                session.unread(path, &error);
                status = Status::Unread;
                continue;
            }
        };
        session.detail(&format!("checking {}, {}", input.name, input.form.name()));
        let input =
            if args.fix || args.diff { fix(args, &operators, session, input, &mut status)? } else { input };
        if let Some(document) = input.document() {
            let options = VerifyOptions { level: args.level.level(), ..VerifyOptions::default() };
            let found = asked_for(args, document.check(&input, &options));
            status = status.and(Status::of(!found.iter().any(Diagnostic::is_error)));
            document.report(session, &input, &found);
            if let (Document::Part(part), true) = (&document, options.level > Level::Spec)
                && part.lacks_imports()
            {
                let kind = input.kind.name();
                session.note(&format!(
                    "{}: operators and types are not checked, because a {kind} does not import operator sets",
                    input.name
                ));
            }
            continue;
        }
        let (loaded, found) = findings(args, &operators, &input);
        status = status.and(Status::of(!found.iter().any(Diagnostic::is_error)));
        report(args, session, &loaded, found);
        if files.last() == Some(path) {
            // The process ends soon and frees everything at once: dropping a large model takes time.
            std::mem::forget(loaded);
        }
    }
    drop(work);
    session.summary(files.len());
    Ok(status)
}

/// Lints with more findings than this in one file are counted instead of listed.
const NOISE: usize = 5;

/// Prints the findings of a model. Frequent lints get one line each with their number.
fn report(args: &Args, session: &mut Session, loaded: &Loaded, mut found: Vec<Diagnostic>) {
    let mut many: Vec<(Diagnostic, usize)> = Vec::new();
    if session.counts_many() && args.select.is_empty() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for diagnostic in found.iter().filter(|d| d.code.level == Level::Strict) {
            *counts.entry(diagnostic.code.id).or_default() += 1;
        }
        found.retain(|diagnostic| {
            let is_noise = counts.get(diagnostic.code.id).is_some_and(|&count| count > NOISE);
            if is_noise && !many.iter().any(|(first, _)| first.code == diagnostic.code) {
                many.push((diagnostic.clone(), counts[diagnostic.code.id]));
            }
            !is_noise
        });
    }
    let (shown, more) = bounded(found);
    findings::report(session, loaded, &shown);
    session.errors += more.errors;
    session.warnings += more.warnings;
    if many.is_empty() {
        return;
    }
    loaded.with_source(true, |source| {
        for (mut first, count) in many {
            first.message = format!(
                "{count} findings, the first one: {} (`--select {}` lists all)",
                first.message, first.code.id
            );
            first.help = None;
            session.report_many(source, &first, count);
        }
    });
}

/// All findings of a file that the options ask for, in the order of the text.
fn findings(args: &Args, operators: &Operators, input: &Input) -> (Loaded, Vec<Diagnostic>) {
    let refused = |model: &Model| refused(args, operators, model);
    let readers = match args.profile {
        ReadersArg::Onnx => Readers::Ours,
        ReadersArg::Reference => Readers::Reference,
    };
    let loaded = judged(readers, operators, input, args.level.level(), args.verify_checksums, &refused);
    let found = asked_for(args, loaded.diagnostics.clone());
    (loaded, found)
}

/// A model with its findings, those of its external data, and those of `more`.
pub(super) fn judged(
    readers: Readers,
    operators: &Operators,
    input: &Input,
    level: Level,
    checksums: bool,
    more: &dyn Fn(&Model) -> Vec<Diagnostic>,
) -> Loaded {
    let options = VerifyOptions { level, ..VerifyOptions::default() };
    Loaded::judged_for(readers, input, level, |model| {
        let mut found = onnx_ops::check::check(model, operators.of(model), &options);
        found.extend(more(model));
        found.extend(external(input, model, checksums));
        found
    })
}

/// Fails if the name of a runtime is unknown.
fn ensure_target(name: &str) -> anyhow::Result<()> {
    let names: Vec<&str> = targets::targets().iter().map(|target| target.name).collect();
    ensure!(names.contains(&name), "unknown runtime `{name}`: expected one of {}", names.join(", "));
    Ok(())
}

/// The nodes that the requested runtimes do not support.
fn refused(args: &Args, operators: &Operators, model: &Model) -> Vec<Diagnostic> {
    let targets = args.target.iter().filter_map(|name| TargetRuntime::find(name));
    targets.flat_map(|target| targets::check(model, operators.of(model), target)).collect()
}

/// The findings that were asked for, with the requested severity.
fn asked_for(args: &Args, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let level = args.level.level();
    found.retain(|diagnostic| {
        let is_selected =
            args.select.is_empty() || args.select.iter().any(|key| is_meant(key, diagnostic.code));
        let is_ignored = args.ignore.iter().any(|key| is_meant(key, diagnostic.code));
        (diagnostic.code.level <= level || diagnostic.is_error()) && is_selected && !is_ignored
    });
    for diagnostic in &mut found {
        let is_denied = |key: &String| key == "warnings" || is_meant(key, diagnostic.code);
        if args.deny.iter().any(is_denied) {
            diagnostic.deny();
        }
    }
    found
}

/// Findings of one kind that are printed per file; others are counted.
const MOST_OF_A_KIND: usize = 100;

/// Findings that are only counted in the summary.
#[derive(Default)]
struct More {
    errors: usize,
    warnings: usize,
}

/// The first findings of each kind, with a finding that counts the rest, and the findings that were left out.
fn bounded(found: Vec<Diagnostic>) -> (Vec<Diagnostic>, More) {
    let mut counts: HashMap<(&str, bool), usize> = HashMap::new();
    let mut shown = Vec::new();
    let mut more: Vec<Diagnostic> = Vec::new();
    for diagnostic in found {
        let count = counts.entry((diagnostic.code.id, diagnostic.is_error())).or_default();
        *count += 1;
        match *count {
            ..=MOST_OF_A_KIND => shown.push(diagnostic),
            _ if *count == MOST_OF_A_KIND + 1 => more.push(diagnostic),
            _ => {}
        }
    }
    let mut unshown = More::default();
    for first in more {
        let rest = counts[&(first.code.id, first.is_error())] - MOST_OF_A_KIND;
        // The finding that is made here is counted where it is printed.
        match first.severity {
            Severity::Error => unshown.errors += rest - 1,
            Severity::Warning => unshown.warnings += rest - 1,
        }
        let message = format!("{} of this kind", count(rest, "more finding"));
        let mut diagnostic = Diagnostic::new(first.code, first.primary.place, message);
        diagnostic.severity = first.severity;
        shown.push(diagnostic.label("the first one"));
    }
    (shown, unshown)
}

/// Whether a key of the command line selects a code: by id, name or rule, or by a prefix of its id.
fn is_meant(key: &str, code: &Code) -> bool {
    let is = |text: &str| text.eq_ignore_ascii_case(key);
    let begins = key.len() >= 3 && code.id.get(..key.len()).is_some_and(is);
    is(code.id) || is(code.name) || code.rule.is_some_and(is) || begins
}

/// Findings about the external data of a model.
fn external(input: &Input, model: &Model, checksums: bool) -> Vec<Diagnostic> {
    let Some(path) = &input.path else { return Vec::new() };
    // The external data of a text may belong to another text.
    let is_summed = checksums || input.form == Form::Text;
    let mut folder = Folder::of(path);
    let check = |(tensor, entity)| folder.check(model, tensor, entity, is_summed);
    external_tensors(model).into_iter().flat_map(check).collect()
}

/// Applies the fixes of a file, or shows them.
fn fix(
    args: &Args,
    operators: &Operators,
    session: &Session,
    input: Input,
    status: &mut Status,
) -> anyhow::Result<Input> {
    if input.form != Form::Text || input.no_text().is_some() || input.document().is_some() {
        let what =
            if input.document().is_some() { "" } else { "; `onnxtxt convert` converts a model to text" };
        session.note(&format!("fixes apply only to models as text: nothing fixed in {}{what}", input.name));
        return Ok(input);
    }
    let original = input.text().to_owned();
    let mut fixed = input;
    let wanted = if args.unsafe_fixes { Fixes::Unsafe } else { Fixes::Safe };
    let result = apply_fixes(&original, wanted, |text| {
        fixed.replace(text.to_owned().into());
        let (loaded, found) = findings(args, operators, &fixed);
        // Findings that were not asked for are not fixed, but they say whether the text could be read.
        let unfixed = loaded.diagnostics.into_iter().map(|d| Diagnostic { fixes: Vec::new(), ..d });
        Parsed::new((), found.into_iter().chain(unfixed).collect())
    });
    fixed.replace(result.text.into());
    if result.fixed == 0 {
        return Ok(fixed);
    }
    if args.diff {
        let diff = diff(&original, fixed.text(), &fixed.name);
        output::to_people(&diff)?;
        *status = Status::Findings;
        fixed.replace(original.into());
        return Ok(fixed);
    }
    match &fixed.path {
        Some(path) => output::rewrite_named(path, &args.files, fixed.text().as_bytes())?,
        None if fixed.name == STDIN => output::model_text(fixed.text())?,
        None => bail!("{} cannot be written", fixed.name),
    }
    session.note(&format!("fixed {} in {}", count(result.fixed, "finding"), fixed.name));
    Ok(fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onnx_ir::diag::{Place, code};

    #[test]
    fn findings_of_one_kind_are_counted_beyond_a_hundred() {
        let one = |code: &'static Code| Diagnostic::new(code, Place::Nowhere, "x");
        let mut found: Vec<Diagnostic> = (0..100_000).map(|_| one(&code::VALUE_UNDEFINED)).collect();
        found.push(one(&code::RUN_FAILED));
        let (shown, more) = bounded(found);
        assert_eq!((shown.len(), more.errors, more.warnings), (102, 99_899, 0));
        assert_eq!(shown[100].code.id, code::RUN_FAILED.id);
        assert_eq!(shown[101].message, "99,900 more findings of this kind");
        assert!(shown[101].is_error());
    }

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
