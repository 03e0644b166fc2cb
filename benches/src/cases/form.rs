//! JSON and textproto. The peer is `google.protobuf`, by way of its message objects.

use super::bytes_of;
use crate::clock::time;
use crate::generate;
use crate::pair::{Bench, Row};
use anyhow::{Result, anyhow};
use bytes::Bytes;
use onnx_proto::{FileKind, FormatError, json, textproto};
use std::path::PathBuf;

/// As many nodes as make 10 MB.
const NODES: usize = 58_000;

type ToText = fn(&[u8], FileKind) -> Result<String, FormatError>;
type FromText = fn(&[u8], FileKind) -> Result<Vec<u8>, FormatError>;

pub(super) fn json_write(bench: &mut Bench) -> Result<Row> {
    write(bench, "to_json", json::to_json)
}

pub(super) fn json_read(bench: &mut Bench) -> Result<Row> {
    read(bench, "from_json", json::to_json, json::from_json)
}

pub(super) fn textproto_write(bench: &mut Bench) -> Result<Row> {
    write(bench, "to_textproto", textproto::to_text)
}

pub(super) fn textproto_read(bench: &mut Bench) -> Result<Row> {
    read(bench, "from_textproto", textproto::to_text, textproto::from_text)
}

fn model(bench: &Bench) -> Result<(PathBuf, Bytes)> {
    bench.file("form.onnx", bytes_of(&generate::nodes(NODES))?)
}

fn write(bench: &mut Bench, job: &str, to_text: ToText) -> Result<Row> {
    let (path, bytes) = model(bench)?;
    bench.pairs(job, &[path], bytes.len(), || time(|| to_text(&bytes, FileKind::Model)).0)
}

fn read(bench: &mut Bench, job: &str, to_text: ToText, from_text: FromText) -> Result<Row> {
    let (_, bytes) = model(bench)?;
    let text = to_text(&bytes, FileKind::Model).map_err(|error| anyhow!("{error}"))?;
    let (path, text) = bench.file(&format!("form.{job}"), text)?;
    bench.pairs(job, &[path], bytes.len(), || time(|| from_text(text.as_bytes(), FileKind::Model)).0)
}
