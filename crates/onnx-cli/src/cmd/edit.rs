//! `onnxtxt edit`: opens a model as text in an editor, checks the result and writes it back.

use crate::args::profile::ProfileArg;
use crate::emit::{Destination, emit};
use crate::input::{Form, Input, Loaded};
use crate::output::unified_diff::diff;
use crate::output::{self, OutputTarget};
use crate::programs::scratch::Scratch;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status, to_stderr};
use anyhow::{Context as _, bail, ensure};
use onnx_ir::Model;
use onnx_ir::diag::Diagnostic;
use onnx_text::RaiseOptions;
use onnxtxt::edit::KeptWeights;
use onnxtxt::edit::new_errors;
use onnxtxt::{File, Text, Weights};
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Edit a model as text in $VISUAL or $EDITOR
///
/// Opens the text of the model, of whatever format it is, and writes the model back in its format when the editor is closed. Weights of
/// a binary model stay where they are: the text has a reference `["location": "kept-N"]` in place of more than 32 elements. A text is
/// written as the editor leaves it.
///
/// The file stays as it is if the text is unchanged, or if it has errors that the model did not have: then the editor can be
/// opened again, at the line of the first of them if it is one of the usual editors. A changed text that is not written is kept in a file that is named, also if the editor fails.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt edit model.onnx                            a binary model, too: it is checked and written back
  EDITOR='code --wait' onnxtxt edit model.onnx --print-diff
  onnxtxt edit model.onnx -o changed.onnx
  EDITOR=\"sed -i s/Relu/LeakyRelu/\" onnxtxt edit model.onnx --dry-run")]
pub(crate) struct Args {
    /// The model
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write; the format follows from the name; default: FILE
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Write nothing; show the changes as a diff of the text
    #[arg(long)]
    dry_run: bool,
    /// Show the changes as a diff of the text, and write them
    #[arg(long)]
    print_diff: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    ensure!(args.file != Path::new("-"), "stdin cannot be edited: name a file");
    let input = Input::open(&args.file)?;
    input.ensure_model()?;
    let target = OutputTarget::new(args.output.as_ref().unwrap_or(&args.file));
    let named = if let OutputTarget::File(path) = &target { Form::of_name(path) } else { Some(Form::Text) };
    let to = if args.output.is_some() { named.unwrap_or(input.form) } else { input.form };
    let old = input.load();
    // A text with errors can be edited, too.
    if old.is_partial() && (input.form != Form::Text || input.no_text().is_some()) {
        findings::report(session, &old, &old.diagnostics);
        return Ok(Status::Findings);
    }
    let (kept, shown) = match input.form {
        Form::Text => (KeptWeights::default(), input.text().to_owned()),
        Form::Binary | Form::Json | Form::Textproto => {
            let (kept, model) = KeptWeights::of(&old.model);
            let text = Text::new(&model, &RaiseOptions::default());
            findings::report(session, &old, text.losses());
            (kept, text.to_text())
        }
    };
    let scratch = Scratch::new()?;
    let stem = args.file.file_stem().unwrap_or_default().to_string_lossy();
    let path = scratch.write(format!("{stem}.onnxtxt"), shown.as_bytes())?;
    let done =
        edited(args, session, &Edit { input: &input, target, to, old, kept, shown: &shown, path: &path });
    // The work of the user is kept, whatever went wrong.
    let is_changed = std::fs::read(&path).is_ok_and(|text| text != shown.as_bytes());
    if is_changed && !matches!(done, Ok(Status::Clean)) {
        let text = scratch.keep().join(path.file_name().unwrap_or_default());
        session.note(&format!(
            "edit: {} stays as it is; the edited text is in {}",
            input.name,
            text.display()
        ));
    }
    done
}

/// A text that is edited.
struct Edit<'e> {
    input: &'e Input,
    target: OutputTarget,
    to: Form,
    old: Loaded,
    kept: KeptWeights,
    shown: &'e str,
    /// The file that the editor gets.
    path: &'e Path,
}

/// Opens the editor, and writes the model when its text is in order.
fn edited(args: &Args, session: &mut Session, edit: &Edit<'_>) -> anyhow::Result<Status> {
    let Edit { input, target, to, old, kept, shown, path } = edit;
    let modified = std::fs::metadata(&args.file).and_then(|metadata| metadata.modified()).ok();
    let mut line = None;
    let (text, mut new) = loop {
        open_editor(path, line)?;
        let text = std::fs::read(path).context("cannot read the edited text")?;
        if text == shown.as_bytes() {
            session.note("edit: nothing changed");
            return Ok(Status::Clean);
        }
        let (new, found) = read(input, &text, &old.model, kept);
        findings::report(session, &new, &found);
        if !found.iter().any(Diagnostic::is_error) {
            break (text, new);
        }
        if !asks_again()? {
            return Ok(Status::Findings);
        }
        line = first_line(&new, &found);
    };
    let text = std::str::from_utf8(&text).context("cannot read the edited text")?;
    if args.dry_run || args.print_diff {
        output::to_people(&diff(shown, text, &input.name))?;
    }
    if args.dry_run {
        return Ok(Status::Clean);
    }
    let now = std::fs::metadata(&args.file).and_then(|metadata| metadata.modified()).ok();
    if args.output.is_none() && now != modified {
        bail!("{} was changed meanwhile", input.name);
    }
    if input.form == Form::Text && *to == Form::Text {
        output::put(target, Some(&args.file), text.as_bytes())?;
    } else {
        let work = Work::begin(session, format!("writing {}", target.name()));
        let profile = ProfileArg::Onnx;
        let weights = Some(Weights::Keep).filter(|_| *to != Form::Text);
        let destination =
            Destination { target: target.clone(), to: *to, weights, profile, verify_checksums: false };
        if emit(&destination, input, &mut new, session, &work)? != Status::Clean {
            return Ok(Status::Findings);
        }
    }
    session.note(&format!("edit: {} written", target.name()));
    Ok(Status::Clean)
}

/// The model of the edited text with the weights that it had, and what is wrong with it that was right before.
fn read(input: &Input, text: &[u8], old: &Model, kept: &KeptWeights) -> (Loaded, Vec<Diagnostic>) {
    let mut file = File::new(format!("{} (edited)", input.name), input.path.clone(), text.to_vec().into());
    file.form = Form::Text;
    let mut new = file.load();
    let mut found = std::mem::take(&mut new.diagnostics);
    if found.iter().any(Diagnostic::is_error) {
        return (new, found);
    }
    found.extend(kept.put_back(&mut new.model));
    found.extend(new_errors(old, &new.model).0);
    (new, found)
}

/// The line of the first error, from 1.
fn first_line(loaded: &Loaded, found: &[Diagnostic]) -> Option<u32> {
    loaded.with_source(false, |source| {
        let errors = found.iter().filter(|found| found.is_error());
        let place =
            errors.filter_map(|error| source.span(error.primary.place)).map(|span| span.start).min()?;
        Some(source.position(place).line)
    })
}

/// How an editor is asked to open a file at a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AtLine {
    /// `vi +7 FILE`
    Plus,
    /// `hx FILE:7`
    Colon,
    /// `code --goto FILE:7`
    Goto,
    /// It is not known.
    Never,
}

impl AtLine {
    /// For an editor with its arguments, as `$EDITOR` has it.
    fn of(editor: &str) -> AtLine {
        let program = editor.split_whitespace().next().unwrap_or_default();
        let name = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        match name {
            "vi" | "vim" | "nvim" | "gvim" | "view" | "nano" | "emacs" | "emacsclient" | "kak" | "micro"
            | "joe" | "mg" | "ne" | "gedit" => AtLine::Plus,
            "hx" | "helix" | "subl" | "zed" => AtLine::Colon,
            "code" | "codium" | "code-insiders" | "cursor" => AtLine::Goto,
            _ => AtLine::Never,
        }
    }

    /// The arguments for a file.
    fn arguments(self, path: &Path, line: Option<u32>) -> Vec<OsString> {
        let colon = |line: u32| {
            let mut place = path.as_os_str().to_owned();
            place.push(format!(":{line}"));
            place
        };
        match (self, line) {
            (AtLine::Plus, Some(line)) => vec![format!("+{line}").into(), path.into()],
            (AtLine::Colon, Some(line)) => vec![colon(line)],
            (AtLine::Goto, Some(line)) => vec!["--goto".into(), colon(line)],
            (AtLine::Never, Some(_)) | (_, None) => vec![path.into()],
        }
    }
}

/// Lets the user edit a file, from a line on if that is possible.
fn open_editor(path: &Path, line: Option<u32>) -> anyhow::Result<()> {
    let given = |name: &str| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let editor = given("VISUAL").or_else(|| given("EDITOR")).unwrap_or_else(|| usual.to_owned());
    let arguments = AtLine::of(&editor).arguments(path, line);
    let mut command = if cfg!(unix) {
        // The variable may have arguments and quotes.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor);
        command
    } else {
        let mut words = editor.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or(usual));
        command.args(words);
        command
    };
    let status =
        command.args(arguments).status().with_context(|| format!("cannot run the editor `{editor}`"))?;
    ensure!(status.success(), "the editor `{editor}` failed ({status}): nothing is changed");
    Ok(())
}

/// Whether the user wants to continue editing a text that has errors.
fn asks_again() -> anyhow::Result<bool> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(false);
    }
    to_stderr("Edit again? [Y/n] ")?;
    let mut answer = String::new();
    let length = io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(length > 0 && !answer.trim().to_ascii_lowercase().starts_with('n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editors_open_at_a_line() {
        let arguments = |editor: &str, line| {
            let arguments = AtLine::of(editor).arguments(Path::new("m.onnxtxt"), line);
            arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(arguments("vi", None), ["m.onnxtxt"]);
        assert_eq!(arguments("/usr/bin/nvim -u NONE", Some(7)), ["+7", "m.onnxtxt"]);
        assert_eq!(arguments("hx", Some(7)), ["m.onnxtxt:7"]);
        assert_eq!(arguments("code --wait", Some(7)), ["--goto", "m.onnxtxt:7"]);
        assert_eq!(arguments("sed -i s/a/b/", Some(7)), ["m.onnxtxt"]);
    }
}
