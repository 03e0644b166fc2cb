//! `onnxtxt check`: reports all findings in one run.

use crate::args::config::Configs;
use crate::input::document::Document;
use crate::input::operators::OpsetArgs;
use crate::input::paths;
use crate::input::{Input, Loaded};
use crate::output;
use crate::output::numbers::count;
use crate::output::unified_diff::diff;
use crate::read_files::{STDIN, Unreadable};
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::watch::watch;
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Level, counted};
use onnx_ops::targets;
use onnxtxt::check::{
    CheckOptions, CodePattern, Filter, Fixes, Grouped, LintGroup, Readers, TargetRuntime, UnknownCode, bound,
    group_lints,
};
use onnxtxt::config::Config;
use std::path::{Path, PathBuf};

/// Find all problems of models
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt check model.onnx
  onnxtxt check --fix model.onnxtxt            apply the safe fixes
  onnxtxt check --fix --diff model.onnxtxt     show what would be fixed
  onnxtxt check --fix --unsafe-fixes model.onnxtxt   apply unsafe fixes, too
  onnxtxt check --level strict --ignore G11,W06 models/
  onnxtxt check --deny warnings --format github models/
  onnxtxt check --target ort,tract model.onnx     what these runtimes do not take
  onnxtxt check --profile reference model.onnxtxt   what the reference parser would reject
  onnxtxt check < model.onnx                   stdin
  onnxtxt check --watch model.onnxtxt          again after each change
  onnxtxt check --opset acme.onnxtxt model.onnx   with operators of a domain of your own")]
pub(crate) struct Args {
    /// Models in any format, and folders; - (or none) is stdin
    #[arg(value_name = "FILES", default_value = "-")]
    files: Vec<PathBuf>,
    /// Level of the check; each level includes those before it [default: types, or what `onnxtxt.toml` says]
    #[arg(long, value_enum)]
    level: Option<LevelArg>,
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
    /// Check again whenever a file changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
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

impl From<ReadersArg> for Readers {
    fn from(readers: ReadersArg) -> Readers {
        match readers {
            ReadersArg::Onnx => Readers::Ours,
            ReadersArg::Reference => Readers::Reference,
        }
    }
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
    match args.watch {
        true => watch(&args.files, EXTENSIONS, session, |session| check(args, session)),
        false => check(args, session),
    }
}

/// Checks all files once.
fn check(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let asked = args.filter()?;
    ensure!(args.fix || args.diff || !args.unsafe_fixes, "`--unsafe-fixes` requires `--fix` or `--diff`");
    let targets = args.target.iter().map(|name| target(name)).collect::<anyhow::Result<Vec<_>>>()?;
    let operators = args.opset.load(session)?;
    paths::ensure_given(&args.files)?;
    let has_text_on_stdout = args.diff || args.fix && args.files.iter().any(|path| path == Path::new("-"));
    if !has_text_on_stdout {
        session.findings_are_the_result();
    }
    let files = files(&args.files)?;
    let mut configs = Configs::default();
    let work = Work::begin(session, "checking");
    let mut status = Status::Clean;
    work.now_counted("checking", files.len());
    for (index, path) in files.iter().enumerate() {
        work.at(index, &format!("checking {}", path.display()));
        let input = match Input::open(path) {
            Ok(input) => input,
            Err(error) => {
                session.unread(path, &error);
                status = Status::Unread;
                continue;
            }
        };
        session.detail(&format!("checking {}, {}", input.name, input.form.name()));
        let settings = configs.of(path)?;
        let options = CheckOptions {
            filter: args.filter_in(&asked, &settings.config),
            readers: args.profile.into(),
            targets: if targets.is_empty() { settings.config.targets.clone() } else { targets.clone() },
            verify_checksums: args.verify_checksums,
            registry: operators.loaded().or(settings.registry.as_ref()),
        };
        let input = if args.fix || args.diff {
            let (fixed, of_fixes) = fix(args, &options, session, input)?;
            status = status.and(of_fixes);
            fixed
        } else {
            input
        };
        if let Some(document) = input.document() {
            status = status.and(check_document(&options, session, &input, &document));
            continue;
        }
        let loaded = options.check(&input);
        let found = options.filter.apply(loaded.diagnostics.clone());
        status = status.and(Status::of(!found.iter().any(Diagnostic::is_error)));
        report(args, session, &loaded, found);
        if files.last() == Some(path) && !args.watch {
            // The process ends soon and frees everything at once: dropping a large model takes time.
            std::mem::forget(loaded);
        }
    }
    drop(work);
    session.summary(files.len());
    Ok(status)
}

impl Args {
    /// The findings that the command line and the settings of a folder ask for: the level of the command line, and the codes of both.
    fn filter_in(&self, asked: &Filter, config: &Config) -> Filter {
        let mut filter = config.filter();
        if self.level.is_some() {
            filter.level = asked.level;
        }
        filter.select.clone_from(&asked.select);
        filter.ignore.extend(asked.ignore.iter().cloned());
        filter.deny.extend(asked.deny.iter().cloned());
        filter.deny_warnings |= asked.deny_warnings;
        filter
    }

    /// The findings that the command line asks for.
    fn filter(&self) -> anyhow::Result<Filter> {
        let patterns = |keys: &[String]| -> Result<Vec<CodePattern>, UnknownCode> {
            keys.iter().map(|key| key.parse()).collect()
        };
        let (warnings, deny): (Vec<String>, Vec<String>) =
            self.deny.iter().cloned().partition(|key| key == "warnings");
        Ok(Filter {
            level: self.level.map_or_else(Level::default, LevelArg::level),
            select: patterns(&self.select)?,
            ignore: patterns(&self.ignore)?,
            deny: patterns(&deny)?,
            deny_warnings: !warnings.is_empty(),
        })
    }
}

/// The runtime of this name.
fn target(name: &str) -> anyhow::Result<&'static TargetRuntime> {
    TargetRuntime::find(name).with_context(|| {
        let names: Vec<&str> = targets::targets().iter().map(|target| target.name).collect();
        format!("unknown runtime `{name}`: expected one of {}", names.join(", "))
    })
}

/// All files to check.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
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
    Ok(files)
}

/// Checks a file that is not a model.
fn check_document(
    options: &CheckOptions<'_>,
    session: &mut Session,
    input: &Input,
    document: &Document,
) -> Status {
    let level = options.filter.level;
    let verify = VerifyOptions { level, ..VerifyOptions::default() };
    let found = options.filter.apply(document.check(input, &verify));
    document.report(session, input, &found);
    if let (Document::Part(part), true) = (document, level > Level::Spec)
        && part.lacks_imports()
    {
        let kind = input.kind.name();
        session.note(&format!(
            "{}: operators and types are not checked, because a {kind} does not import operator sets",
            input.name
        ));
    }
    Status::of(!found.iter().any(Diagnostic::is_error))
}

/// Prints the findings of a model. Frequent lints get one line each with their number.
fn report(args: &Args, session: &mut Session, loaded: &Loaded, found: Vec<Diagnostic>) {
    let is_grouped = session.counts_many() && args.select.is_empty();
    let Grouped { listed, groups } =
        if is_grouped { group_lints(found) } else { Grouped { listed: found, groups: Vec::new() } };
    let bounded = bound(listed);
    findings::report(session, loaded, &bounded.listed);
    session.errors += bounded.unlisted_errors;
    session.warnings += bounded.unlisted_warnings;
    if groups.is_empty() {
        return;
    }
    loaded.with_source(true, |source| {
        for LintGroup { mut first, count } in groups {
            first.message = format!(
                "{}, the first one: {} (`--select {}` lists all)",
                counted(count, "finding"),
                first.message,
                first.code.id,
            );
            first.help = None;
            session.report_many(source, &first, count);
        }
    });
}

/// Applies the fixes of a file, or shows them.
fn fix(
    args: &Args,
    options: &CheckOptions<'_>,
    session: &Session,
    mut input: Input,
) -> anyhow::Result<(Input, Status)> {
    let fixes = if args.unsafe_fixes { Fixes::Unsafe } else { Fixes::Safe };
    let Some(fixed) = options.fix(&input, fixes) else {
        let is_model = input.document().is_none();
        let how = if is_model { "; `onnxtxt convert` converts a model to text" } else { "" };
        session.note(&format!("fixes apply only to models as text: nothing fixed in {}{how}", input.name));
        return Ok((input, Status::Clean));
    };
    if fixed.fixed == 0 {
        return Ok((input, Status::Clean));
    }
    if args.diff {
        output::to_people(&diff(input.text(), &fixed.text, &input.name))?;
        return Ok((input, Status::Findings));
    }
    input.replace(fixed.text.into());
    match &input.path {
        Some(path) => output::rewrite_named(path, &args.files, input.text().as_bytes())?,
        None if input.name == STDIN => output::model_text(input.text())?,
        None => bail!("{} cannot be written", input.name),
    }
    session.note(&format!("fixed {} in {}", count(fixed.fixed, "finding"), input.name));
    Ok((input, Status::Clean))
}
