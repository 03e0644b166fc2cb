//! `onnxtxt semver`: compares two versions of a model for its users, and checks `model_version`.

use crate::comparison::operator_sets::{self, Question};
use crate::input::{Input, Loaded};
use crate::output;
use crate::session::findings;
use crate::session::{Session, Status};
use onnx_ir::semver::{Difference, Side};
use onnx_text::render::Position;
use onnxtxt::describe::VersionChange;
use serde_json::json;
use std::fmt::{self, Display, Formatter, Write as _};
use std::path::{Path, PathBuf};

/// Check whether `model_version` reflects the changes of a model
///
/// Lists the changes of inputs, outputs, imports and functions with the part of the version that each requires to raise, and
/// checks whether `model_version` has been raised enough. The rules for inputs and outputs are those of ONNX's Versioning.md. It
/// leaves two policies open, which are a choice of this program: newer imports raise MINOR, because a runtime must support them;
/// changed weights and nodes raise PATCH, because nothing tells whether their meaning is the same.
///
/// Of two operator sets, the changes that break the rules for operator versions are listed: a changed signature needs a new
/// version of the operator, and an added or removed operator needs a new version of the set.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt semver old.onnx new.onnx
  onnxtxt semver --format json old.onnxtxt new.onnx
  onnxtxt semver acme-1.onnxtxt acme-2.onnxtxt    operator sets

Exit status 1: the version of the new model does not announce what has changed.")]
pub(crate) struct Args {
    /// The old model
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The new model
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Print a JSON object; the same as --format json
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let is_json = args.json || session.wants_json();
    if let Some(status) =
        operator_sets::of_files([&args.old, &args.new], Question::Versions, is_json, session)?
    {
        return Ok(status);
    }
    let mut files = Vec::new();
    for path in [&args.old, &args.new] {
        let (input, loaded) = load(path, session)?;
        if loaded.is_partial() {
            return Ok(Status::Findings);
        }
        files.push((input, loaded));
    }
    let [old, new] = &files[..] else { return Ok(Status::Findings) };
    let change = VersionChange::between(&old.1.model, &new.1.model)?;
    let of = |side| if side == Side::Old { old } else { new };
    let places: Vec<Option<Spot>> =
        change.differences.iter().map(|d| d.place.map(|(side, entity)| Spot::of(of(side), entity))).collect();
    let files = [old, new].map(|(input, _)| &input.name[..]);
    let report = Report { files, change: &change, places: &places };
    let text = if is_json { report.json() } else { report.text() };
    output::to_people(&text)?;
    Ok(Status::of(change.is_enough()))
}

fn load(path: &Path, session: &mut Session) -> anyhow::Result<(Input, Loaded)> {
    let input = Input::open(path)?;
    input.ensure_model()?;
    let loaded = input.load();
    findings::report(session, &loaded, &loaded.diagnostics);
    Ok((input, loaded))
}

/// The place of a difference.
struct Spot {
    file: String,
    at: Option<Position>,
}

impl Spot {
    fn of((_, loaded): &(Input, Loaded), entity: onnx_ir::diag::Entity) -> Spot {
        loaded.with_source(true, |source| {
            let at = source.span(entity.into()).map(|span| source.position(span.start));
            Spot { file: source.name().to_owned(), at }
        })
    }
}

/// `m.onnxtxt:2:4`
impl Display for Spot {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "{}:{}:{}", self.file, at.line, at.column),
            None => f.write_str(&self.file),
        }
    }
}

struct Report<'r> {
    /// The old and the new file.
    files: [&'r str; 2],
    change: &'r VersionChange,
    /// The place of each difference.
    places: &'r [Option<Spot>],
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for (Difference { impact, message, .. }, place) in self.change.differences.iter().zip(self.places) {
            let place = place.as_ref().map_or(String::new(), |place| format!("{place}: "));
            _ = writeln!(out, "{}  {place}{message}", impact.name());
        }
        let VersionChange { old, new, .. } = self.change;
        let verdict = match (self.change.needed(), self.change.is_enough()) {
            (None, true) => "nothing has changed".to_owned(),
            (None, false) => "nothing has changed, but the version decreases".to_owned(),
            (Some(impact), true) => {
                format!("this is a {} change, and the version reflects it", impact.name())
            }
            (Some(impact), false) => {
                format!("this is a {} change: raise `model_version` to {}", impact.name(), old.next(impact))
            }
        };
        _ = writeln!(out, "model_version {old} to {new}: {verdict}");
        out
    }

    fn json(&self) -> String {
        let mut places = self.places.iter();
        let mut document = self.change.json(|difference| {
            let place = places.next().and_then(Option::as_ref);
            let [_, new] = self.files;
            let mut object = json!({ "step": difference.impact.name(), "message": difference.message });
            // A difference in the implementation is reported for the new model.
            let file = place.map_or(new, |place| &place.file);
            object["file"] = file.into();
            object["place"] = place.map_or(file.to_owned(), Spot::to_string).into();
            if let Some(at) = place.and_then(|place| place.at) {
                object["line"] = at.line.into();
                object["column"] = at.column.into();
            }
            object
        });
        document["files"] = self.files.into();
        format!("{document:#}\n")
    }
}
