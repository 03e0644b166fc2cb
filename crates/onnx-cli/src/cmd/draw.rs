//! `onnxtxt draw`: draws the graph of a model.

use crate::edit::steps::open;
use crate::input::operators::OpsetArgs;
use crate::output::numbers::count;
use crate::output::{self, OutputTarget};
use crate::read_files;
use crate::session::progress::Work;
use crate::session::{Session, Status};
use anyhow::{bail, ensure};
use clap::ValueEnum;
use onnx_ir::{Model, NodeId, ValueDef, ValueId};
use onnx_proto::external::is_stored_outside;
use onnxtxt::draw::{Collapse, Drawing, Options, around, between, draw};
use onnxtxt::edit::Selection;
use std::path::{Path, PathBuf};

/// Draw the graph of a model
///
/// Each node is a box with its weights as lines; functions, nested graphs, common prefixes of names and repeated blocks are groups. The
/// HTML page zooms, searches, opens and closes groups, and shows attributes, types, statistics of weights and the text of what is
/// clicked; it needs no network. Both pictures and pages are light or dark, as the viewer prefers.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt draw model.onnx -o model.html                        a page to look around in
  onnxtxt draw model.onnx -o model.svg                         a picture
  onnxtxt draw model.onnx -o model.mmd                         Mermaid, for Markdown; .dot is for Graphviz
  onnxtxt draw model.onnx --around conv1 --depth 2 -o near.svg  what is near a node or value
  onnxtxt draw model.onnx --select '/encoder/*' -o part.svg    some nodes: name, #17, op:Conv, /glob*/
  onnxtxt draw model.onnx --from features --to scores -o head.svg
  onnxtxt draw model.onnx --to-format dot | dot -Tpng > m.png")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write; the format follows from the name: .svg .html .dot .mmd; default: stdout
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Format, if the name of OUT does not determine it
    #[arg(long, value_enum, value_name = "FORM")]
    to_format: Option<Form>,
    /// Draw what is near these nodes or values: name, #17, op:Conv, /glob*/
    #[arg(long, value_name = "SELECTION", num_args = 1.., conflicts_with_all = ["select", "from", "to"])]
    around: Vec<Selection>,
    /// How many edges away from --around
    #[arg(long, value_name = "N", default_value_t = 2, requires = "around")]
    depth: usize,
    /// Draw these nodes only: name, #17, op:Conv, /glob*/
    #[arg(long, value_name = "SELECTION", num_args = 1.., conflicts_with_all = ["from", "to"])]
    select: Vec<Selection>,
    /// Draw what depends on these values
    #[arg(long, value_name = "VALUE", num_args = 1..)]
    from: Vec<Selection>,
    /// Draw what these values depend on
    #[arg(long, value_name = "VALUE", num_args = 1..)]
    to: Vec<Selection>,
    /// Which groups are closed at first
    #[arg(long, value_enum, value_name = "WHICH", default_value = "auto")]
    collapse: Collapse,
    #[command(flatten)]
    opset: OpsetArgs,
}

/// A format of drawings.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Form {
    Svg,
    Html,
    Dot,
    Mermaid,
}

impl Form {
    /// The format that a file name says.
    pub(super) fn of_name(path: &Path) -> Option<Form> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match &*extension {
            "svg" => Form::Svg,
            "html" | "htm" => Form::Html,
            "dot" | "gv" => Form::Dot,
            "mmd" | "mermaid" => Form::Mermaid,
            _ => return None,
        })
    }

    /// A drawing in this format.
    pub(super) fn text(self, drawing: &Drawing) -> String {
        match self {
            Form::Svg => drawing.svg(),
            Form::Html => drawing.html(),
            Form::Dot => drawing.dot(),
            Form::Mermaid => drawing.mermaid(),
        }
    }
}

/// Where a drawing is written, and in which format.
pub(super) fn target(output: Option<&Path>, form: Option<Form>) -> anyhow::Result<(OutputTarget, Form)> {
    let target = output.map_or(OutputTarget::Stdout, OutputTarget::new);
    let named = if let OutputTarget::File(path) = &target { Form::of_name(path) } else { None };
    match form.or(named) {
        Some(form) => Ok((target, form)),
        None if target == OutputTarget::Stdout => Ok((target, Form::Svg)),
        None => bail!(
            "format of {} unknown: end its name with .svg, .html, .dot or .mmd, or add `--to-format FORM`",
            target.name()
        ),
    }
}

/// The name of a file without its folders.
pub(super) fn title(name: &str) -> String {
    let file = Path::new(name).file_name();
    file.map_or_else(|| name.to_owned(), |file| file.to_string_lossy().into_owned())
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let (target, form) = target(args.output.as_deref(), args.to_format)?;
    ensure!(!target.is(&args.file), "{} is the input", target.name());
    let operators = args.opset.load(session)?;
    let work = Work::begin(session, format!("reading {}", args.file.display()));
    let Some((input, mut loaded)) = open(&args.file, session)? else { return Ok(Status::Findings) };
    let nodes = nodes(args, &loaded.model)?;
    let statistics = form == Form::Html;
    if let (true, true, Some(path)) = (statistics, is_stored_outside(&loaded.model), &input.path) {
        read_files::note_external(&loaded.model, path);
        let mut whole = loaded.clone();
        match whole.load_weights().first() {
            None => loaded = whole,
            Some(first) => session.note(&format!("no statistics of weights: {}", first.message)),
        }
    }
    work.now("drawing");
    let title = title(&input.name);
    let options = Options { title, nodes, collapse: args.collapse, statistics };
    let drawing = draw(&loaded.model, operators.of(&loaded.model), &options);
    let text = form.text(&drawing);
    drop(work);
    output::put(&target, input.path.as_deref(), text.as_bytes())?;
    if let OutputTarget::File(_) = &target {
        let boxes = count(drawing.len(), "box");
        session.note(&format!("{boxes} written to {}", target.name()));
    }
    Ok(Status::Clean)
}

/// The nodes that are asked for; `None` for all of them.
fn nodes(args: &Args, model: &Model) -> anyhow::Result<Option<Vec<NodeId>>> {
    if !args.around.is_empty() {
        let mut nodes = Vec::new();
        for selection in &args.around {
            nodes.extend(nodes_or_readers(selection, model)?);
        }
        return Ok(Some(around(model, &nodes, args.depth)));
    }
    if !args.select.is_empty() {
        args.select.iter().try_for_each(|selection| selection.ensure_some(model))?;
        return Ok(Some(args.select.iter().flat_map(|selection| selection.nodes(model)).collect()));
    }
    if args.from.is_empty() && args.to.is_empty() {
        return Ok(None);
    }
    let values = |selections: &[Selection]| -> anyhow::Result<Vec<ValueId>> {
        let found: Result<Vec<Vec<ValueId>>, _> = selections.iter().map(|s| s.values(model)).collect();
        Ok(found?.concat())
    };
    let nodes = between(model, &values(&args.from)?, &values(&args.to)?);
    ensure!(!nodes.is_empty(), "no node is on a path between these values");
    Ok(Some(nodes))
}

/// The selected nodes; of inputs and initializers, the nodes that read them.
fn nodes_or_readers(selection: &Selection, model: &Model) -> anyhow::Result<Vec<NodeId>> {
    let found = selection.nodes(model);
    if !found.is_empty() {
        return Ok(found);
    }
    let Ok(values) = selection.values(model) else {
        selection.ensure_some(model)?;
        return Ok(found);
    };
    let Some(body) = model.main_body() else { bail!("the model has no graph") };
    let is_stored = |value: &ValueId| !matches!(body.values[*value].def, ValueDef::Output(..));
    let stored: Vec<ValueId> = values.into_iter().filter(is_stored).collect();
    let reads = |node: &NodeId| body.nodes[*node].inputs.iter().flatten().any(|value| stored.contains(value));
    Ok(body.walk().nodes().filter(reads).collect())
}
