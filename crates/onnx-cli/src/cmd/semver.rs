//! `onnxtxt semver`: what a new version of a model changes for its users, and whether `model_version` says so.

use crate::input::{Input, Loaded};
use crate::session::{Session, Status};
use crate::{locate, output};
use anyhow::{Context as _, ensure};
use onnx_ir::semver::{Difference, Side, Step, Version, differences};
use onnx_proto::FileKind;
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Compare two versions of a model as those who use it see them
///
/// Lists what is different in inputs, outputs, imports and functions, with the part of the version that this asks to raise, and says
/// whether `model_version` has been raised enough. The rules are those that ONNX's Versioning.md recommends.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt semver old.onnx new.onnx
  onnxtxt semver --json old.onnxtxt new.onnx

Exit status 1: the version of the new model does not announce what has changed.")]
pub(crate) struct Args {
    /// The model as it was
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The model as it is to be
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
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
        let message = "the interface is the same, and something inside is not".to_owned();
        found.push(Difference { step: Step::Patch, message, place: None });
    }
    let version = |loaded: &Loaded| {
        let number = loaded.model.header.model_version;
        Version::of(number).with_context(|| format!("a negative version: {}", number.unwrap_or_default()))
    };
    let versions = (version(&old.1)?, version(&new.1)?);
    let needed = found.iter().map(|difference| difference.step).max();
    let is_enough = versions.0.announces(versions.1, needed);
    let places: Vec<Option<String>> = {
        let of = |side| if side == Side::Old { old } else { new };
        found.iter().map(|d| d.place.map(|(side, entity)| place(of(side), entity))).collect()
    };
    let report = Report { found: &found, places: &places, versions, needed, is_enough };
    let text = if args.json { report.json() } else { report.text() };
    output::to_people(&text)?;
    Ok(Status::of(is_enough))
}

fn load(path: &Path, session: &mut Session) -> anyhow::Result<(Input, Loaded)> {
    let input = Input::open(path)?;
    ensure!(
        input.kind == FileKind::Model && input.document().is_none(),
        "{} is no model: it has no version",
        input.name
    );
    let loaded = input.load();
    locate::report(session, &input, &loaded, &loaded.diagnostics);
    Ok((input, loaded))
}

/// Whether the models are not the same but for their versions.
fn differs_inside(old: &Loaded, new: &Loaded) -> anyhow::Result<bool> {
    let bytes = |loaded: &Loaded| {
        let mut model = loaded.model.clone();
        model.header.model_version = None;
        onnx_proto::write(&model)
    };
    Ok(bytes(old)? != bytes(new)?)
}

/// `m.onnxtxt:2:4`
fn place((input, loaded): &(Input, Loaded), entity: onnx_ir::diag::Entity) -> String {
    locate::with_source(input, loaded, true, |source| match source.span(entity.into()) {
        Some(span) => {
            let at = source.position(span.start);
            format!("{}:{}:{}", source.name(), at.line, at.column)
        }
        None => source.name().to_owned(),
    })
}

struct Report<'r> {
    found: &'r [Difference],
    places: &'r [Option<String>],
    versions: (Version, Version),
    needed: Option<Step>,
    is_enough: bool,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut out = String::new();
        for (Difference { step, message, .. }, place) in self.found.iter().zip(self.places) {
            let place = place.as_deref().map_or(String::new(), |place| format!("{place}: "));
            _ = writeln!(out, "{}  {place}{message}", step.name());
        }
        let (old, new) = self.versions;
        let verdict = match (self.needed, self.is_enough) {
            (None, true) => "nothing has changed".to_owned(),
            (None, false) => "nothing has changed, and the version goes back".to_owned(),
            (Some(step), true) => format!("{} has changed, and the version says so", step.name()),
            (Some(step), false) => {
                format!(
                    "{} has changed, which the version does not say: {} would",
                    step.name(),
                    old.next(step)
                )
            }
        };
        _ = writeln!(out, "model_version {old} to {new}: {verdict}");
        out
    }

    fn json(&self) -> String {
        let differences = self.found.iter().zip(self.places).map(|(difference, place)| {
            json!({ "step": difference.step.name(), "message": difference.message, "place": place })
        });
        let (old, new) = self.versions;
        let document = json!({
            "old": old.to_string(),
            "new": new.to_string(),
            "needed": self.needed.map(Step::name),
            "least": self.needed.map(|step| old.next(step).to_string()),
            "enough": self.is_enough,
            "differences": differences.collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }
}
