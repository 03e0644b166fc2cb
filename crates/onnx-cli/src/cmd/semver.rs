//! `onnxtxt semver`: compares two versions of a model for its users, and checks `model_version`.

use crate::comparison::operator_sets::{self, Question};
use crate::input::{Input, Loaded};
use crate::output;
use crate::session::findings;
use crate::session::{Session, Status};
use onnx_ir::semver::{Difference, Impact, Side, Version, differences};
use onnx_text::render::Position;
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
    let mut found = differences(&old.1.model, &new.1.model);
    if found.is_empty() && differs_inside(&old.1, &new.1)? {
        let message = "the interface has not changed, but the implementation has".to_owned();
        found.push(Difference { impact: Impact::Patch, message, place: None });
    }
    let version = |loaded: &Loaded| Version::of(loaded.model.header.model_version);
    let versions = (version(&old.1), version(&new.1));
    let needed = found.iter().map(|difference| difference.impact).max();
    let is_enough = versions.0.announces(versions.1, needed);
    let of = |side| if side == Side::Old { old } else { new };
    let places: Vec<Option<Spot>> =
        found.iter().map(|d| d.place.map(|(side, entity)| Spot::of(of(side), entity))).collect();
    let files = [old, new].map(|(input, _)| &input.name[..]);
    let report = Report { files, found: &found, places: &places, versions, needed, is_enough };
    let text = if is_json { report.json() } else { report.text() };
    output::to_people(&text)?;
    Ok(Status::of(is_enough))
}

fn load(path: &Path, session: &mut Session) -> anyhow::Result<(Input, Loaded)> {
    let input = Input::open(path)?;
    input.ensure_model()?;
    let loaded = input.load();
    findings::report(session, &loaded, &loaded.diagnostics);
    Ok((input, loaded))
}

/// Whether the models differ in something other than their versions.
fn differs_inside(old: &Loaded, new: &Loaded) -> anyhow::Result<bool> {
    let bytes = |loaded: &Loaded| {
        let mut model = loaded.model.clone();
        model.header.model_version = None;
        onnx_proto::write(&model)
    };
    Ok(bytes(old)? != bytes(new)?)
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
    found: &'r [Difference],
    places: &'r [Option<Spot>],
    versions: (Version, Version),
    needed: Option<Impact>,
    is_enough: bool,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for (Difference { impact, message, .. }, place) in self.found.iter().zip(self.places) {
            let place = place.as_ref().map_or(String::new(), |place| format!("{place}: "));
            _ = writeln!(out, "{}  {place}{message}", impact.name());
        }
        let (old, new) = self.versions;
        let verdict = match (self.needed, self.is_enough) {
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
        let differences = self.found.iter().zip(self.places).map(|(difference, place)| {
            let [_, new] = self.files;
            let mut object = json!({ "step": difference.impact.name(), "message": difference.message });
            // A difference in the implementation is reported for the new model.
            let file = place.as_ref().map_or(new, |place| &place.file);
            object["file"] = file.into();
            object["place"] = place.as_ref().map_or(file.to_owned(), Spot::to_string).into();
            if let Some(at) = place.as_ref().and_then(|place| place.at) {
                object["line"] = at.line.into();
                object["column"] = at.column.into();
            }
            object
        });
        let (old, new) = self.versions;
        let document = json!({
            "files": self.files,
            "old": old.to_string(),
            "new": new.to_string(),
            "needed": self.needed.map(Impact::name),
            "least": self.needed.map(|impact| old.next(impact).to_string()),
            "enough": self.is_enough,
            "differences": differences.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }
}
