//! Encoded models and IR. The peer is protobuf's own decoder and encoder for Python, which are in C.

use super::{NODES, bytes_of};
use crate::clock::time;
use crate::corpus;
use crate::generate;
use crate::pair::{Bench, Row};
use anyhow::{Context as _, Result};
use onnx_proto::{file, read, write};
use std::path::PathBuf;

pub(super) fn nodes_read(bench: &mut Bench) -> Result<Row> {
    let (path, bytes) = bench.file("nodes.onnx", bytes_of(&generate::nodes(NODES))?)?;
    bench.pairs("decode", &[path], bytes.len(), || time(|| read(bytes.clone())).0)
}

pub(super) fn nodes_write(bench: &mut Bench) -> Result<Row> {
    let (path, bytes) = bench.file("nodes.onnx", bytes_of(&generate::nodes(NODES))?)?;
    let model = read(bytes.clone()).value;
    bench.pairs("encode", &[path], bytes.len(), || time(|| write(&model)).0)
}

/// Nothing looks at the weights, so they are not read, and a speed would say nothing.
pub(super) fn large_read(bench: &mut Bench) -> Result<Row> {
    let Some(path) = largest(bench) else { return Ok(no_corpus()) };
    let load = || file::open(&path).map(read);
    let row = bench.pairs("load", std::slice::from_ref(&path), None, || time(load).0)?;
    row.on_file(&path)
}

pub(super) fn large_write(bench: &mut Bench) -> Result<Row> {
    let Some(path) = largest(bench) else { return Ok(no_corpus()) };
    let bytes = file::open(&path)?;
    let model = read(bytes.clone()).value;
    let row = bench.pairs("encode", std::slice::from_ref(&path), bytes.len(), || time(|| write(&model)).0)?;
    row.on_file(&path)
}

pub(super) fn largest(bench: &Bench) -> Option<PathBuf> {
    corpus::models(&bench.corpus).into_iter().next()
}

pub(super) fn no_corpus() -> Row {
    Row::LeftOut("no models (`cargo xtask corpus` fetches them)".to_owned())
}

impl Row {
    pub(super) fn on_file(self, path: &std::path::Path) -> Result<Row> {
        let name = path.file_stem().context("a model's file has a name")?;
        Ok(self.on(name.to_string_lossy().into_owned()))
    }
}
