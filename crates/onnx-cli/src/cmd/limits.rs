//! `onnxtxt limits`: prints limits and their reasons.

use crate::output;
use crate::session::{Session, Status};
use serde_json::json;

/// Print the limits of what the program reads and writes
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  onnxtxt limits
  onnxtxt limits --format json")]
pub(crate) struct Args {}

/// Name, value, unit, and the reason.
fn table() -> Vec<(&'static str, u64, &'static str, &'static str)> {
    let number = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
    vec![
        ("text size", u64::from(u32::MAX), "bytes", "places in a text are 32-bit numbers"),
        ("text nesting", number(onnx_text::MAX_NESTING), "brackets", "the parser recurses on brackets"),
        ("binary size", i32::MAX as u64, "bytes", "protobuf readers refuse more; use --weights sidecar"),
        (
            "binary nesting",
            number(onnx_proto::MAX_DEPTH),
            "messages",
            "protobuf readers stop there: 32 nested graphs",
        ),
        ("stream size", onnx_proto::file::MAX_STREAM, "bytes", "a pipe or a device may have no end"),
        ("unpacked size", crate::npy::MAX_UNPACKED, "bytes", "archives may hold little that unpacks to much"),
        ("inline weights", onnxtxt::LARGE, "bytes", "a larger tensor goes into a file beside a text"),
    ]
}

pub(crate) fn run(_: &Args, session: &mut Session) -> anyhow::Result<Status> {
    if session.wants_json() {
        let row =
            |(name, limit, unit, why)| json!({ "name": name, "limit": limit, "unit": unit, "why": why });
        output::json(&table().into_iter().map(row).collect())?;
        return Ok(Status::Clean);
    }
    output::to_stdout(|out| {
        for (name, limit, unit, why) in table() {
            writeln!(out, "{name:<16}{limit:>12} {unit:<10}{why}")?;
        }
        Ok(())
    })?;
    Ok(Status::Clean)
}
