//! Text and IR. The peer is the package's C++ core, between text and an encoded model: it has no IR.

use super::{NODES, bytes_of, model_of, text_of};
use crate::clock::time;
use crate::corpus::{Kind, Structure, structures};
use crate::generate;
use crate::pair::{Bench, Row};
use anyhow::Result;
use onnx_ir::{Field, Payload};
use onnx_text::{FormatOptions, format, parse_model, read_model};
use std::path::PathBuf;

fn nodes(bench: &Bench) -> Result<(PathBuf, String)> {
    bench.file("nodes.onnxtxt", generate::nodes(NODES))
}

pub(super) fn nodes_parse(bench: &mut Bench) -> Result<Row> {
    let (path, text) = nodes(bench)?;
    model_of(&text)?;
    bench.pairs("parse", &[path], text.len(), || time(|| read_model(&text)).0)
}

pub(super) fn nodes_parse_bytes(bench: &mut Bench) -> Result<Row> {
    let (path, text) = nodes(bench)?;
    bench.pairs("parse", &[path], text.len(), || time(|| onnx_proto::write(&read_model(&text).value)).0)
}

pub(super) fn nodes_print(bench: &mut Bench) -> Result<Row> {
    let text = generate::nodes(NODES);
    let model = model_of(&text)?;
    let (path, _) = bench.file("nodes.onnx", onnx_proto::write(&model)?)?;
    bench.pairs("print", &[path], text_of(&model).len(), || time(|| text_of(&model)).0)
}

pub(super) fn nodes_print_bytes(bench: &mut Bench) -> Result<Row> {
    let (path, bytes) = bench.file("nodes.onnx", bytes_of(&generate::nodes(NODES))?)?;
    let to_text = || text_of(&onnx_proto::read(bytes.clone()).value);
    bench.pairs("print", &[path], to_text().len(), || time(to_text).0)
}

pub(super) fn nodes_format(bench: &mut Bench) -> Result<Row> {
    let (path, text) = nodes(bench)?;
    let formatted = || {
        let syntax = parse_model(&text).value;
        format(&text, &syntax, &FormatOptions::default())
    };
    bench.pairs("format", &[path], text.len(), || time(formatted).0)
}

/// The peer's refusals are omitted on both sides.
fn understood(bench: &mut Bench, kind: Kind) -> Result<Vec<Structure>> {
    let mut models = structures(&bench.corpus, &bench.folder, kind)?;
    let paths: Vec<PathBuf> = models.iter().map(|model| model.text.0.clone()).collect();
    if let (Some(peer), false) = (&mut bench.peer, paths.is_empty()) {
        let refused = peer.prepare("parse", &paths)?.refused;
        models.retain(|model| !refused.contains(&model.text.0));
    }
    Ok(models)
}

const NO_CORPUS: &str = "no models (`cargo xtask corpus` fetches them)";

pub(super) fn real_parse(bench: &mut Bench, kind: Kind) -> Result<Row> {
    let models = understood(bench, kind)?;
    if models.is_empty() {
        return Ok(Row::LeftOut(NO_CORPUS.to_owned()));
    }
    let (paths, texts): (Vec<_>, Vec<_>) = models.into_iter().map(|model| model.text).unzip();
    let size: usize = texts.iter().map(String::len).sum();
    let parse = || texts.iter().map(|text| read_model(text)).collect::<Vec<_>>();
    let row = bench.pairs("parse", &paths, size, || time(parse).0)?;
    Ok(row.on(format!("{} models", paths.len())))
}

pub(super) fn real_print(bench: &mut Bench, kind: Kind) -> Result<Row> {
    let models = understood(bench, kind)?;
    if models.is_empty() {
        return Ok(Row::LeftOut(NO_CORPUS.to_owned()));
    }
    let (paths, bytes): (Vec<_>, Vec<_>) = models.into_iter().map(|model| model.binary).unzip();
    let models: Vec<_> = bytes.into_iter().map(|bytes| onnx_proto::read(bytes).value).collect();
    let print = || models.iter().map(text_of).collect::<Vec<_>>();
    let size: usize = print().iter().map(String::len).sum();
    let row = bench.pairs("print", &paths, size, || time(print).0)?;
    Ok(row.on(format!("{} models", paths.len())))
}

/// Elements of a tensor.
const ELEMENTS: u64 = 2_000_000;

fn tensor(bench: &Bench, elem: &str) -> Result<(PathBuf, String)> {
    let text = match elem {
        "float" => generate::tensor(elem, ELEMENTS, generate::weight),
        "int64" => generate::tensor(elem, ELEMENTS, |i| generate::random(i) % 100_000),
        _ => generate::tensor(elem, ELEMENTS, |i| generate::random(i) as i8),
    };
    bench.file(&format!("{elem}.onnxtxt"), text)
}

pub(super) fn tensor_parse(bench: &mut Bench, elem: &str) -> Result<Row> {
    let (path, text) = tensor(bench, elem)?;
    model_of(&text)?;
    bench.pairs("parse", &[path], text.len(), || time(|| read_model(&text)).0)
}

/// From `raw_data`, which is where most files have their tensors.
pub(super) fn tensor_print(bench: &mut Bench, elem: &str) -> Result<Row> {
    let (_, text) = tensor(bench, elem)?;
    let mut model = model_of(&text)?;
    let tensors = model.bodies.values_mut().flat_map(|body| body.tensors.values_mut());
    for payload in tensors.flat_map(|tensor| tensor.data.iter_mut()) {
        if let Payload::Entries { field, bytes } = payload {
            if *field == Field::Int32 {
                // int8 in entries of four bytes.
                *bytes = bytes.iter().step_by(4).copied().collect();
            }
            *field = Field::Raw;
        }
    }
    let (path, _) = bench.file(&format!("{elem}.onnx"), onnx_proto::write(&model)?)?;
    let print = || text_of(&model);
    bench.pairs("print", &[path], print().len(), || time(print).0)
}
