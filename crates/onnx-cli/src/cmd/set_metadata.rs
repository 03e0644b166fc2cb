//! `onnxtxt set-metadata`: changes metadata in the header of a model.

use crate::edit::{EditOut, edit};
use crate::session::{Session, Status};
use onnx_ir::semver::Version;
use onnxtxt::edit::{Metadata, set_metadata};
use std::path::PathBuf;

/// Set metadata of a model: entries, producer, domain, version, documentation
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt set-metadata model.onnx author=ada license=MIT -o tagged.onnx
  onnxtxt set-metadata model.onnx --remove author --model-version 3 --in-place
  onnxtxt set-metadata model.onnx --model-version 1.2.345 -o released.onnx
  onnxtxt set-metadata model.onnx --doc 'Detects faces' --producer acme -o named.onnx")]
pub(crate) struct Args {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Entries of metadata_props
    #[arg(value_name = "KEY=VALUE", value_parser = entry)]
    entries: Vec<(String, String)>,
    /// Remove the entry of this key; may be repeated
    #[arg(long, value_name = "KEY")]
    remove: Vec<String>,
    /// The name of the producer; empty: none
    #[arg(long, value_name = "NAME")]
    producer: Option<String>,
    /// The version of the producer
    #[arg(long, value_name = "VERSION")]
    producer_version: Option<String>,
    /// The domain of the model
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    /// The version of the model, a number or MAJOR.MINOR.PATCH
    #[arg(long, value_name = "VERSION", value_parser = Version::parse)]
    model_version: Option<Version>,
    /// The documentation; empty: none
    #[arg(long, value_name = "TEXT")]
    doc: Option<String>,
    #[command(flatten)]
    out: EditOut,
}

pub(crate) fn run(args: &Args, session: &mut Session) -> anyhow::Result<Status> {
    let options = Metadata {
        set: args.entries.clone(),
        remove: args.remove.clone(),
        producer: args.producer.clone(),
        producer_version: args.producer_version.clone(),
        domain: args.domain.clone(),
        version: args.model_version.map(Version::number),
        doc: args.doc.clone(),
    };
    edit(&args.file, &args.out, session, "set-metadata", |model| Ok(set_metadata(model, &options)))
}

fn entry(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    pair.map(|(key, value)| (key.to_owned(), value.to_owned())).ok_or_else(|| "expected KEY=VALUE".to_owned())
}
