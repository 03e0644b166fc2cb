//! Real models, from the corpus.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use onnx_ir::{AttrValue, DataLocation, Entry, Model};
use std::path::{Path, PathBuf};

/// Tensors of more bytes are weights; smaller ones (shapes, scalars) are structure.
const WEIGHT: usize = 256;
/// Models with less structure, as text, say more about starting than about speed.
const SMALL: usize = 20_000;

/// The `.onnx` files of the corpus, largest first.
pub(crate) fn models(corpus: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(corpus.join("models")).into_iter().flatten().flatten();
    let mut files: Vec<(u64, PathBuf)> = folders
        .filter_map(|folder| {
            let path = folder.path().join(folder.file_name()).with_extension("onnx");
            Some((path.metadata().ok()?.len(), path))
        })
        .collect();
    files.sort_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path).collect()
}

/// A list of an attribute with more entries is data: ensembles of trees hold what they have learned in such lists.
const LONG: usize = 1000;

/// Which models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Graphs of many nodes.
    Networks,
    /// Few nodes, with long lists as attributes.
    Trees,
}

/// A model without its weights, as bytes and as text that the reference reads.
pub(crate) struct Structure {
    pub(crate) binary: (PathBuf, Bytes),
    pub(crate) text: (PathBuf, String),
}

/// Real models without weights, written to `folder`.
pub(crate) fn structures(corpus: &Path, folder: &Path, kind: Kind) -> Result<Vec<Structure>> {
    let folder = folder.join("structures");
    std::fs::create_dir_all(&folder)?;
    let mut structures = Vec::new();
    for path in models(corpus) {
        let bytes = onnx_proto::file::open(&path)?;
        let mut model = onnx_proto::read(bytes).value;
        if kind_of(&model) != kind {
            continue;
        }
        drop_weights(&mut model);
        let text = crate::cases::reference_text(&model);
        if text.len() < SMALL {
            continue;
        }
        let bytes = onnx_proto::write(&model)?;
        let stem = path.file_stem().context("a model's file has a name")?;
        let (binary, source) =
            (folder.join(stem).with_extension("onnx"), folder.join(stem).with_extension("onnxtxt"));
        std::fs::write(&binary, &bytes)?;
        std::fs::write(&source, &text)?;
        structures.push(Structure { binary: (binary, bytes.into()), text: (source, text) });
    }
    Ok(structures)
}

fn kind_of(model: &Model) -> Kind {
    let nodes = model.bodies.values().flat_map(|body| body.nodes.values());
    let mut values = nodes.flat_map(|node| &node.attrs).flat_map(|attr| &attr.values);
    let is_long = |value: &AttrValue| {
        matches!(value, AttrValue::Floats(list) if list.len() > LONG)
            || matches!(value, AttrValue::Ints(list) if list.len() > LONG)
            || matches!(value, AttrValue::Strings(list) if list.len() > LONG)
    };
    if values.any(is_long) { Kind::Trees } else { Kind::Networks }
}

/// Leaves only a reference to weights, as if they were in a file of their own.
fn drop_weights(model: &mut Model) {
    let (location, file) = (model.names.intern("location"), model.names.intern("weights"));
    for body in model.bodies.values_mut() {
        for tensor in body.tensors.values_mut() {
            let is_weight = |payload: &onnx_ir::Payload| match payload {
                onnx_ir::Payload::Entries { bytes, .. } => bytes.len() > WEIGHT,
                onnx_ir::Payload::Strings(strings) => strings.len() > WEIGHT / 8,
            };
            if tensor.data.iter().any(is_weight) {
                tensor.data.clear();
                let extra = tensor.extra.get_or_insert_default();
                extra.location = Some(DataLocation::EXTERNAL);
                extra.external = vec![Entry { key: Some(location), value: Some(file) }];
            }
        }
    }
}
