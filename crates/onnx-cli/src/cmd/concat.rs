//! `onnxtxt concat`: concatenates models.

use crate::edit::steps::open;
use crate::edit::{EditOut, edit_with};
use crate::read_files;
use crate::session::{Session, Status};
use onnx_ir::pass::Report;
use onnxtxt::edit::{Concat, concat};
use std::path::PathBuf;

/// Join models: outputs of the first become inputs of the second, and so on
///
/// Without --map, outputs become the inputs of the same names. Inputs that no output becomes stay inputs of the result, and outputs
/// that become none stay outputs. Operator sets are converted to the newest version that one of them has.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt concat backbone.onnx head.onnx -o whole.onnx
  onnxtxt concat pre.onnxtxt model.onnx post.onnxtxt -o app.onnx
  onnxtxt concat a.onnx b.onnx --map features=x -o ab.onnx")]
pub(crate) struct Args {
    /// The first model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The models that follow it
    #[arg(value_name = "NEXT", required = true)]
    next: Vec<PathBuf>,
    /// An output of one model and the input of the next that it becomes; may be repeated
    #[arg(long, value_name = "OUTPUT=INPUT", value_parser = pair)]
    map: Vec<(String, String)>,
    /// Let outputs that become inputs stay outputs as well
    #[arg(long)]
    keep_outputs: bool,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    anyhow::ensure!(
        args.map.is_empty() || args.next.len() == 1,
        "--map is about two models: join others one by one"
    );
    let mut others = Vec::new();
    for file in &args.next {
        let Some((input, mut loaded)) = open(file, session)? else { return Ok(Status::Findings) };
        if let Some(path) = &input.path {
            read_files::note_external(&loaded.model, path);
        }
        // Places of weights are those beside the first model.
        let found = loaded.load_weights();
        if !found.is_empty() {
            crate::session::findings::report(session, &loaded, &found);
            return Ok(Status::Findings);
        }
        others.push(loaded);
    }
    let options = Concat { map: args.map.clone(), keep_outputs: args.keep_outputs };
    edit_with(&args.file, &args.out, others, session, "concat", |model, others| {
        let mut all = Report::default();
        for other in others {
            match concat(model, other, &options) {
                Ok(report) => all.changes.extend(report.changes),
                Err(found) => return Ok(Err(found)),
            }
        }
        Ok(Ok(all))
    })
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(a, b)| !a.is_empty() && !b.is_empty());
    pair.map(|(a, b)| (a.to_owned(), b.to_owned())).ok_or_else(|| "expected OUTPUT=INPUT".to_owned())
}
