//! `onnxtxt repro`: a model with inputs and a command, for a report that others can reproduce.

mod readme;

use crate::args::limits::{LimitArgs, stored};
use crate::execution::inputs::InputArgs;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::output::numbers::count;
use crate::output::results::{self, Results};
use crate::output::{self, OutputTarget};
use crate::programs::scratch::Scratch;
use crate::programs::user_command::{Exit, MODEL, UserCommand};
use crate::read_files;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use onnx_exec::{Random, Value};
use onnx_ir::Model;
use onnxtxt::edit::{Anonymize, anonymize, main_graph, new_errors, randomized};
use onnxtxt::{Error, Loaded, SaveOptions, Saved, Weights};
use readme::Readme;
use std::io::{self, Cursor, Write as _};
use std::path::{Path, PathBuf};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Bundle a model with inputs and a command, for a report that others can reproduce
///
/// OUT gets the model with all its weights, the inputs (those of -i, or random ones) and a README with versions and the command.
///
/// With --anonymize, names of values, nodes, functions, symbols and unknown operators, documentation, metadata and strings become
/// numbered words, and weights become random numbers of about the same range, also those in attributes of ai.onnx.ml; operators,
/// types, sizes and other attributes with numbers stay. So do integers of shapes and axes, and tensors of up to four floats. Paths in
/// the command become words. With a command, the README tells whether the result is still the same, and what it depends on;
/// `onnxtxt reduce` makes the model small first.
#[derive(clap::Args)]
#[command(
    override_usage = "onnxtxt repro [OPTIONS] FILE -o OUT [-- COMMAND... {}]",
    after_help = "\
Examples:
  onnxtxt repro model.onnx --anonymize -o report.zip -- python run.py {}
  onnxtxt repro model.onnx --anonymize -D N=1 -o report/
  onnxtxt repro small.onnx -i x=x.npy -o report.zip                 as it is, with this input"
)]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A .zip file, or a folder that does not exist yet
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Replace names, texts and numbers
    #[arg(long)]
    anonymize: bool,
    /// Do not replace weights
    #[arg(long, requires = "anonymize")]
    keep_weights: bool,
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    opset: OpsetArgs,
    /// The command that shows the problem, with {} in place of the model
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Larger models have their weights in a file beside them: the wire format cannot hold more than 2 GiB.
const MAX_INLINE: usize = 1 << 30;

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    // The arguments, the model and its inputs.
    let user_command = if args.command.is_empty() { None } else { Some(UserCommand::new(&args.command)?) };
    let is_archive = args.output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    ensure!(is_archive || !args.output.exists(), "{} exists: choose another name", args.output.display());
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    let Some(mut inputs) = inputs(args, &prepared, session)? else { return Ok(Status::Findings) };
    let work = Work::begin(session, "preparing the report");
    // The model of the report, with other names and weights if it is to be anonymous.
    let form = prepared.input.form;
    let mut loaded = match args.anonymize {
        false => prepared.loaded.clone(),
        true => {
            work.now("replacing names and weights");
            let mut model = prepared.loaded.model.clone();
            let options = Anonymize { keep_weights: args.keep_weights, seed: args.inputs.seed };
            match anonymize(&mut model, prepared.registry(), options) {
                Ok(report) => session.note(&format!("repro: {report}")),
                Err(found) => return Ok(prepared.report(session, &found)),
            }
            let (new, _) = new_errors(&prepared.loaded.model, &model);
            if !new.is_empty() {
                let loaded = Loaded::from(model);
                findings::report(session, &loaded, &new);
                session.note("repro: nothing written, because the anonymous model has errors that the model does not have");
                return Ok(Status::Findings);
            }
            rename_inputs(&mut inputs, [&prepared.loaded.model, &model], args)?;
            Loaded::from(model)
        }
    };
    // The folder with the model and its inputs.
    let parent =
        args.output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = if is_archive { Scratch::new()? } else { Scratch::in_folder(parent)? };
    work.now("writing the model");
    let name = format!("model.{}", form.ending());
    let path = folder.path().join(&name);
    let weights = (stored(&loaded.model) > MAX_INLINE).then_some(Weights::Sidecar);
    let options =
        SaveOptions { form: Some(form), weights, reads: read_files::all(), ..SaveOptions::default() };
    match loaded.save_with(&path, &options) {
        Ok(Saved { is_written: true, .. }) => {}
        Ok(Saved { losses: found, .. }) | Err(Error::Model(found)) => {
            findings::report(session, &loaded, &found);
            return Ok(Status::Findings);
        }
        Err(error) => return Err(error.into()),
    }
    if !inputs.is_empty() {
        results::to_archive(&folder.path().join("inputs.npz"), &inputs, true)?;
    }
    // How the command ends for both models, and what the difference depends on.
    let ends = match &user_command {
        None => None,
        Some(user_command) => {
            work.now("running the command");
            Some(ends(user_command, &prepared, &path)?)
        }
    };
    let mut depends = None;
    if let (Some([original, now]), Some(user_command)) =
        (ends.filter(|[original, now]| original != now), &user_command)
    {
        session.note(&format!(
            "repro: the command {now} for the model in {}, but it {original} for {}",
            args.output.display(),
            prepared.input.name
        ));
        if args.anonymize && !args.keep_weights {
            let is_same = with_weights(user_command, &prepared, &path, args)? == original;
            depends =
                Some(if is_same { "the weights" } else { "names, texts, or both these and the weights" });
        } else if args.anonymize {
            depends = Some("names or texts");
        }
    }
    if let Some(part) = depends {
        let help = if part == "the weights" { ": `--keep-weights` keeps them" } else { "" };
        session.note(&format!("repro: how the command ends depends on {part}{help}"));
    }
    // The readme, with a command that readers can repeat.
    let mut has_paths = false;
    let command = match &user_command {
        Some(_) if args.anonymize => {
            let words = without_paths(&args.command);
            has_paths = words != args.command;
            UserCommand::new(&words)?.line(&name)
        }
        Some(user_command) => user_command.line(&name),
        None if inputs.is_empty() => format!("onnxtxt check {name}"),
        None => format!("onnxtxt run {name} -i inputs.npz"),
    };
    let readme = Readme {
        name: &name,
        model: &loaded.model,
        inputs: &inputs,
        command: &command,
        ends,
        depends,
        has_paths,
        args,
    };
    output::to_file(&folder.path().join("README.md"), |out| out.write_all(readme.text().as_bytes()))?;
    // The folder gets its final name, or becomes an archive.
    if is_archive {
        let content = archive(folder.path())?;
        output::put(&OutputTarget::new(&args.output), None, &content)?;
    } else {
        folder.persist(&args.output)?;
    }
    drop(work);
    session.note(&format!(
        "repro: model, {} and README in {}",
        count(inputs.len(), "input"),
        args.output.display()
    ));
    Ok(Status::Clean)
}

/// The inputs that the report has: none if the model cannot be run, and `None` if those of the command line are wrong.
fn inputs(args: &Args, prepared: &Prepared, session: &mut Session) -> anyhow::Result<Option<Results>> {
    let is_given = args.inputs.is_given();
    let options = args.limits.options(args.inputs.seed, &prepared.loaded.model);
    let compile_options = args.limits.compile_options(&|text| session.note(text));
    let executable = match options.within(|| prepared.executable(&compile_options)) {
        Ok(executable) => executable,
        Err(found) if is_given => {
            prepared.report(session, &found);
            return Ok(None);
        }
        Err(_) => {
            session.note("repro: no inputs, because the model cannot be run");
            return Ok(Some(Results::new()));
        }
    };
    let values = match options.within(|| args.inputs.or_random().values(prepared, &executable, session)) {
        Ok(Ok(values)) => values,
        Ok(Err(found)) => {
            prepared.report(session, &found);
            return Ok(None);
        }
        Err(error) if is_given => return Err(error),
        Err(error) => {
            session.note(&format!("repro: no inputs: {error:#}"));
            return Ok(Some(Results::new()));
        }
    };
    let names = executable.inputs().iter().map(|port| executable.model().text(port.name).to_owned());
    Ok(Some(names.zip(values).filter_map(|(name, value)| Some((name, value?))).collect()))
}

/// Gives inputs the names of the anonymous model; those of the command line become random numbers.
fn rename_inputs(inputs: &mut Results, models: [&Model; 2], args: &Args) -> anyhow::Result<()> {
    let names = |model: &Model| -> Vec<String> {
        let ports = main_graph(model).map(|(id, graph)| &model.bodies[id].graphs[graph].inputs);
        ports.into_iter().flatten().map(|port| model.text(port.name).to_owned()).collect()
    };
    let [old, new] = models.map(names);
    let mut random = Random::new(args.inputs.seed);
    for (name, value) in inputs.iter_mut() {
        let at = old.iter().position(|known| known == name);
        let Some(new) = at.and_then(|at| new.get(at)) else { bail!("input `{name}` is not in the model") };
        new.clone_into(name);
        if let (Value::Tensor(tensor), true) = (&*value, args.inputs.is_given()) {
            *value = randomized(tensor, &mut random)?.into();
        }
    }
    Ok(())
}

/// How the command ends for copies of the original and of the model of the report.
fn ends(user_command: &UserCommand<'_>, prepared: &Prepared, path: &Path) -> anyhow::Result<[Exit; 2]> {
    let original = prepared.input.load();
    let report = onnxtxt::open(path)?;
    let end = |loaded: &Loaded| {
        Ok::<_, anyhow::Error>(user_command.run_copy(loaded.file(), &loaded.model, None)?.end)
    };
    Ok([end(&original)?, end(&report)?])
}

/// How the command ends for the anonymous model with the original weights.
fn with_weights(
    user_command: &UserCommand<'_>,
    prepared: &Prepared,
    path: &Path,
    args: &Args,
) -> anyhow::Result<Exit> {
    let mut model = prepared.loaded.model.clone();
    let options = Anonymize { keep_weights: true, seed: args.inputs.seed };
    if anonymize(&mut model, prepared.registry(), options).is_err() {
        bail!("the model cannot be made anonymous without its weights");
    }
    let scratch = Scratch::new()?;
    let copy = scratch.path().join(path.file_name().unwrap_or_default());
    let weights = (stored(&model) > MAX_INLINE).then_some(Weights::Sidecar);
    let options = SaveOptions { form: Some(prepared.input.form), weights, ..SaveOptions::default() };
    let saved = Loaded::from(model).save_with(&copy, &options)?;
    ensure!(saved.is_written, "the anonymous model cannot be written with its weights");
    Ok(user_command.run(&copy, None)?.end)
}

/// The words of a command with other words in place of paths: they say who ran it, and where. What is left of a program is its
/// name.
fn without_paths(words: &[String]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    let mut word = |at: usize, word: &String| {
        let is_separator = |c: char| c.is_whitespace() || "'\"=:,;()<>|&`".contains(c);
        let mut out = String::new();
        for part in word.split_inclusive(is_separator) {
            let end =
                part.char_indices().last().filter(|(_, c)| is_separator(*c)).map_or(part.len(), |(i, _)| i);
            let (path, separator) = part.split_at(end);
            let is_path = path.contains(['/', '\\']) || !path.is_empty() && Path::new(path).exists();
            if path.contains(MODEL) || !is_path || path.chars().all(|c| "/\\".contains(c)) {
                out += path;
            } else if at == 0 {
                out += path.rsplit(['/', '\\']).next().unwrap_or(path);
            } else {
                let number = known.iter().position(|known| known == path).unwrap_or_else(|| {
                    known.push(path.to_owned());
                    known.len() - 1
                });
                let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
                out += &format!("PATH_{number}{}", ending.map(|e| format!(".{e}")).unwrap_or_default());
            }
            out += separator;
        }
        out
    };
    words.iter().enumerate().map(|(at, text)| word(at, text)).collect()
}

/// The files of a folder as an archive.
fn archive(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.sort();
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = std::fs::read(&file)?;
        // No date: the same report is the same file.
        archive.start_file(name, SimpleFileOptions::default().large_file(content.len() >= 1 << 31))?;
        archive.write_all(&content)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::without_paths;

    #[test]
    fn paths_in_commands_become_words() {
        let words =
            |words: &[&str]| without_paths(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            words(&["/opt/acme/bin/python3", "/opt/acme/run.py", "{}"]),
            ["python3", "PATH_0.py", "{}"]
        );
        assert_eq!(
            words(&[
                "sh",
                "-c",
                "cd /srv/acme && PYTHONPATH=lib/acme:../x run {} --to=./out/{} --data ./d.npz"
            ]),
            ["sh", "-c", "cd PATH_0 && PYTHONPATH=PATH_1:PATH_2 run {} --to=./out/{} --data PATH_3.npz"]
        );
        // Equal paths become equal words; a file that exists is a path without a separator too.
        assert_eq!(
            words(&["run", "a/b", "a/b", "Cargo.toml", "x", "1/", "/"])[1..],
            ["PATH_0", "PATH_0", "PATH_1.toml", "x", "PATH_2", "/"]
        );
        assert_eq!(words(&["run", "C:\\ann\\x.py", "{}"])[1], "C:PATH_0.py");
    }
}
