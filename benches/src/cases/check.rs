//! Models that are checked: the rules, the signatures, types and shapes. The peer is the package's checker with
//! `full_check`, which infers shapes, on the same bytes.

use super::{NODES, bytes_of, wire};
use crate::clock::time;
use crate::corpus;
use crate::generate;
use crate::pair::{Bench, Row};
use anyhow::Result;
use bytes::Bytes;
use onnx_ir::VerifyOptions;
use onnx_ir::diag::{Diagnostic, Level};
use onnx_ops::schema::Registry;
use onnx_proto::{file, read};
use std::path::PathBuf;

/// Larger models are mostly weights.
const SMALL: u64 = 4 << 20;

fn check(bytes: Bytes) -> Vec<Diagnostic> {
    let options = VerifyOptions { level: Level::Types, ..VerifyOptions::default() };
    onnx_ops::check::check(&read(bytes).value, Registry::builtin(), &options)
}

pub(super) fn nodes(bench: &mut Bench) -> Result<Row> {
    let (path, bytes) = bench.file("nodes.onnx", bytes_of(&generate::nodes(NODES))?)?;
    bench.pairs("check", &[path], None, || time(|| check(bytes.clone())).0)
}

/// The small models, without those that the peer rejects. `None`: the corpus is missing.
fn small(bench: &mut Bench) -> Result<Option<Vec<PathBuf>>> {
    let mut paths = corpus::models(&bench.corpus);
    paths.retain(|path| path.metadata().is_ok_and(|metadata| metadata.len() < SMALL));
    if paths.is_empty() {
        return Ok(None);
    }
    if let Some(peer) = &mut bench.peer {
        let refused = peer.prepare("check", &paths)?.refused;
        paths.retain(|path| !refused.contains(path));
    }
    Ok(Some(paths))
}

pub(super) fn real(bench: &mut Bench) -> Result<Row> {
    let Some(paths) = small(bench)? else { return Ok(wire::no_corpus()) };
    let models = paths.iter().map(|path| file::open(path)).collect::<Result<Vec<_>, _>>()?;
    let all = || models.iter().map(|bytes| check(bytes.clone())).collect::<Vec<_>>();
    let row = bench.pairs("check", &paths, None, || time(all).0)?;
    Ok(row.on(format!("{} models", paths.len())))
}

/// The peer has a model in Python first, as the programs that use it have.
pub(super) fn real_loaded(bench: &mut Bench) -> Result<Row> {
    let Some(paths) = small(bench)? else { return Ok(wire::no_corpus()) };
    let all = || paths.iter().map(|path| file::open(path).map(check)).collect::<Vec<_>>();
    let row = bench.pairs("check_loaded", &paths, None, || time(all).0)?;
    Ok(row.on(format!("{} models", paths.len())))
}

pub(super) fn large(bench: &mut Bench) -> Result<Row> {
    let Some(path) = wire::largest(bench) else { return Ok(wire::no_corpus()) };
    let load = || file::open(&path).map(check);
    let row = bench.pairs("check_file", std::slice::from_ref(&path), None, || time(load).0)?;
    row.on_file(&path)
}
