//! `onnxtxt diff`: compares two models by names and structure.

use crate::args::global::Format;
use crate::comparison::operator_sets::{self, Question};
use crate::input::{Input, Loaded};
use crate::output::{self, OutputTarget};
use crate::read_files;
use crate::session::findings;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::ensure;
use onnx_ir::Model;
use onnx_ops::opset::registry_of;
use onnx_proto::external::{Folder, Which, internalize, is_stored_outside};
use onnxtxt::diff::{ModelDiff, Options, diff, render};
use onnxtxt::draw;
use std::path::{Path, PathBuf};

/// Show the differences between two models, by names and structure
///
/// Renamed and moved nodes are recognized; weights are compared by their elements. The file format (text, binary, JSON,
/// textproto) and the storage of weights make no difference. `--format` is human, json, markdown (for a comment on a pull request)
/// or html (a page of its own).
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt diff old.onnx new.onnx
  onnxtxt diff --stat old.onnx new.onnxtxt               one line of numbers
  onnxtxt diff --interface old.onnx new.onnx             inputs, outputs, operator sets
  onnxtxt diff --format markdown old.onnx new.onnx       for a comment on a pull request
  onnxtxt diff --format html old.onnx new.onnx > diff.html
  onnxtxt diff --draw diff.svg old.onnx new.onnx         one drawing of both; .html is a page, .dot and .mmd are text

Exit status: 0 equal · 1 different, or a model cannot be decoded · 2 wrong usage, or a file cannot be read.")]
pub(crate) struct Args {
    /// The old model
    #[arg(value_name = "A")]
    old: PathBuf,
    /// The new model
    #[arg(value_name = "B")]
    new: PathBuf,
    /// Print only the numbers of differences
    #[arg(long)]
    stat: bool,
    /// Compare only what users of the model see: inputs, outputs, operator sets, header
    #[arg(long)]
    interface: bool,
    /// Also draw both models as one: added green, removed red, changed amber; the format follows from the name
    #[arg(long, value_name = "OUT", conflicts_with = "interface")]
    draw: Option<PathBuf>,
    /// Print a JSON object; the same as --format json
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let is_stdin = |path: &PathBuf| path.as_path() == Path::new("-");
    ensure!(
        !(is_stdin(&args.old) && is_stdin(&args.new)),
        "only one of the two models can be read from stdin"
    );
    let is_json = args.json || session.wants_json();
    if let Some(status) = operator_sets::of_files([&args.old, &args.new], Question::Differ, is_json, session)?
    {
        return Ok(status);
    }
    let work = Work::begin(session, format!("comparing {} and {}", args.old.display(), args.new.display()));
    let mut models = Vec::new();
    for path in [&args.old, &args.new] {
        let (input, loaded) = open(path, session)?;
        if loaded.is_partial() {
            return Ok(Status::Findings);
        }
        models.push((input.name.clone(), loaded.model));
    }
    let [(a, old), (b, new)] = &models[..] else { return Ok(Status::Findings) };
    let found = diff(old, new, &Options { interface: args.interface });
    drop(work);
    if let Some(out) = &args.draw {
        drawing(out, [old, new], [a, b], &found)?;
    }
    let style = render::DiffStyle {
        color: session.colors_data(),
        stat: args.stat,
        names: Some([a.clone(), b.clone()]),
    };
    let text = match session.format() {
        _ if args.json => render::json(&found),
        Format::Json => render::json(&found),
        Format::Markdown => render::markdown(&found, &style),
        Format::Html => render::html(&found, &style),
        Format::Human | Format::Short | Format::Sarif | Format::Github => {
            if session.is_quiet() {
                return Ok(Status::of(found.is_empty()));
            }
            let names = style.names.clone().filter(|_| !args.stat);
            let text = render::human(&found, &render::DiffStyle { names, ..style });
            output::to_stdout(|out| out.write_all(text.as_bytes()))?;
            return Ok(Status::of(found.is_empty()));
        }
    };
    output::to_people(&text)?;
    Ok(Status::of(found.is_empty()))
}

/// Draws two models as one.
fn drawing(out: &Path, models: [&Model; 2], [a, b]: [&String; 2], found: &ModelDiff) -> anyhow::Result<()> {
    let (target, form) = super::draw::target(Some(out), None)?;
    ensure!(target != OutputTarget::Stdout, "`--draw` writes a file: stdout has the differences");
    let title = format!("{} → {}", super::draw::title(a), super::draw::title(b));
    let options = draw::Options { title, ..draw::Options::default() };
    let drawing = draw::draw_diff(models, models.map(registry_of), found, &options);
    output::put(&target, None, form.text(&drawing).as_bytes())
}

/// Reads a model without its external data.
pub(super) fn open_as_it_is(path: &Path, session: &mut Session) -> anyhow::Result<(Input, Loaded)> {
    let input = Input::open(path)?;
    input.ensure_model()?;
    let loaded = input.load();
    findings::report(session, &loaded, &loaded.diagnostics);
    Ok((input, loaded))
}

/// Reads a model with its external data. If that cannot be read, file names and offsets are compared.
fn open(path: &Path, session: &mut Session) -> anyhow::Result<(Input, Loaded)> {
    let (input, mut loaded) = open_as_it_is(path, session)?;
    if let (false, true, Some(path)) = (loaded.is_partial(), is_stored_outside(&loaded.model), &input.path) {
        read_files::note_external(&loaded.model, path);
        let mut folder = Folder::of(path);
        let mut whole = loaded.model.clone();
        let missing = internalize(&mut whole, Which::All, &mut |model, tensor, entity| {
            folder.load(model, tensor, entity, false)
        });
        read_files::note_read(&folder);
        match missing.first() {
            None => loaded.model = whole,
            Some(first) => session.note(&format!(
                "external weights of {} cannot be read ({}): comparing file names and offsets",
                input.name, first.message
            )),
        }
    }
    Ok((input, loaded))
}
