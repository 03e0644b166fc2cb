//! `onnxtxt weights export` and `import`

use super::{WeightsOut, ensure_form};
use crate::edit::{EditArgs, edit};
use crate::execution::inputs::safe;
use crate::execution::prepared::Prepared;
use crate::input::operators::OpsetArgs;
use crate::npy::{self, Arrays, Wanted};
use crate::output::numbers::count;
use crate::output::{self, OutputTarget};
use crate::read_files::{self, Unreadable};
use crate::session::{Session, Status};
use anyhow::{Context as _, bail, ensure};
use onnx_exec::Tensor;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, Model, ValueId};
use onnx_proto::external::{Folder, Which, internalize, is_stored_outside};
use onnxtxt::edit::{
    Edited, Selection, Weight, forget_known_weights, no_weights, set_weights, weight_name, weights,
};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(super) struct ExportArgs {
    /// The model; - is stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    out: WeightsOut,
    /// The weights to write: a name, or /glob*/; may be repeated; default: all
    #[arg(long, value_name = "WEIGHT")]
    only: Vec<Selection>,
    #[command(flatten)]
    opset: OpsetArgs,
}

#[derive(clap::Args)]
pub(super) struct ImportArgs {
    #[command(flatten)]
    edit: EditArgs,
    /// The weights: .npz or .safetensors
    #[arg(value_name = "WEIGHTS")]
    weights: PathBuf,
}

pub(super) fn export(args: &ExportArgs, session: &mut Session) -> anyhow::Result<Status> {
    let target = OutputTarget::new(&args.out.output);
    ensure_form(&target)?;
    let prepared = Prepared::open(&args.file, &args.opset, session)?;
    let model = &prepared.loaded.model;
    ensure!(model.main_body().is_some(), "{} has no graph", prepared.input.name);
    let OutputTarget::File(path) = &target else { return Ok(Status::Clean) };
    let written = export_to(path, model, &args.only)?;
    session.note(&format!("weights export: {} in {}", count(written, "weight"), path.display()));
    Ok(Status::Clean)
}

/// Writes the weights of a model that are selected (all) into a file in the form that its name says. Returns their number.
pub(crate) fn export_to(path: &Path, model: &Model, only: &[Selection]) -> anyhow::Result<usize> {
    ensure_weights(path)?;
    let mut requested: HashSet<ValueId> = HashSet::new();
    for selection in only {
        requested.extend(selection.values(model)?);
    }
    let mut arrays = Vec::new();
    for weight in weights(model) {
        let Some(body) = model.main_body() else { continue };
        if !only.is_empty() && !requested.contains(&weight.value) {
            continue;
        }
        let name = weight_name(model, weight);
        let tensor =
            Tensor::stored(&body.tensors[weight.tensor]).with_context(|| format!("weight `{name}`"))?;
        arrays.push((name.to_owned(), tensor));
    }
    write_weights(path, &arrays)?;
    Ok(arrays.len())
}

/// Refuses a file whose name says no form of weights.
fn ensure_weights(path: &Path) -> anyhow::Result<()> {
    ensure!(is_weights(path), "{} does not end in .npz or .safetensors", path.display());
    Ok(())
}

/// Elements of four bits or fewer have a byte each in an array.
const UNPACKED_ELEMENTS: u64 = 4;
/// Arrays that do not fit are read as well if they are small: the finding about them says more.
const UNPACKED_ANYWAY: u64 = 1 << 20;

/// Whether the name of a file is that of a form of weights.
pub(crate) fn is_weights(path: &Path) -> bool {
    safe::is_safetensors(path) || npy::is_archive(path)
}

/// Writes weights in the form that the name of the file says.
pub(crate) fn write_weights(path: &Path, arrays: &[(String, Tensor)]) -> anyhow::Result<()> {
    if safe::is_safetensors(path) {
        let content = safe::write_all(arrays)?;
        return output::to_file(path, |out| out.write_all(&content));
    }
    output::to_file(path, |out| npy::write_all(arrays, out))
}

pub(super) fn import(args: &ImportArgs, session: &mut Session) -> anyhow::Result<Status> {
    let path = &args.weights;
    read_files::note(path);
    let content = onnx_proto::file::open(path).with_context(|| Unreadable::new(path))?;
    edit(&args.edit.file, &args.edit.out, session, "weights import", |model| {
        let mut new = match read_for(path, &content, model)? {
            Ok(new) => new,
            Err(found) => return Ok(Err(vec![found])),
        };
        if is_stored_outside(model) && args.edit.file != Path::new("-") {
            let mut whole = model.clone();
            let mut folder = Folder::of(&args.edit.file);
            let found = internalize(&mut whole, Which::All, &mut |model, tensor, entity| {
                folder.load(model, tensor, entity, false)
            });
            // Otherwise, all weights are replaced.
            if found.is_empty() {
                forget_known_weights(&whole, &mut new);
            }
        }
        Ok(set_weights(model, &new))
    })
}

/// Replaces weights of a model by those of the same names in a file.
pub(crate) fn import_from(path: &Path, model: &mut Model) -> anyhow::Result<Edited> {
    let content = onnx_proto::file::open(path).with_context(|| Unreadable::new(path))?;
    Ok(match read_for(path, &content, model)? {
        Ok(new) => set_weights(model, &new),
        Err(found) => Err(vec![found]),
    })
}

/// The stored tensors of a file for the weights of a model.
fn read_for(
    path: &Path,
    content: &[u8],
    model: &Model,
) -> anyhow::Result<Result<BTreeMap<String, onnx_ir::Tensor>, Diagnostic>> {
    let arrays = read(path, content, model)?;
    if !arrays.skipped.is_empty() {
        return Ok(Err(no_weights(model, &arrays.skipped)));
    }
    let mut new = BTreeMap::new();
    for (name, tensor) in arrays.read {
        let stored = tensor.to_stored().with_context(|| format!("weight `{name}`"))?;
        new.insert(name, stored);
    }
    Ok(Ok(new))
}

/// The weights of a model in a file, under the names that the model has for them, and the names of other tensors.
fn read(path: &Path, content: &[u8], model: &Model) -> anyhow::Result<Arrays> {
    let in_file = || format!("{}", path.display());
    let body = model.main_body();
    let elem = |weight: &Weight| body.and_then(|body| body.tensors[weight.tensor].elem);
    let all = weights(model);
    if safe::is_safetensors(path) {
        let known: HashSet<&str> = all.iter().map(|weight| weight_name(model, *weight)).collect();
        return safe::read_all(content, |name| known.contains(name)).with_context(in_file);
    }
    if !npy::is_archive(path) {
        bail!("{} does not end in .npz or .safetensors", path.display());
    }
    // An archive escapes what is special in names.
    let mut known: BTreeMap<String, (String, Option<ElemType>)> = BTreeMap::new();
    for weight in &all {
        let name = weight_name(model, *weight).to_owned();
        known.insert(npy::member(&name), (name, elem(weight)));
    }
    // An array fits if it has the shape of the weight; strings have any length.
    let size = |weight: &Weight| {
        let tensor = &body?.tensors[weight.tensor];
        tensor.elem?.raw_size(tensor.element_count()?)
    };
    let sizes = all.iter().map(|weight| size(weight).map(|size| size.saturating_mul(UNPACKED_ELEMENTS)));
    let most = sizes.fold(UNPACKED_ANYWAY, |sum, size| sum.saturating_add(size.unwrap_or(u64::MAX)));
    let requested = |name: &str| known.get(name).map_or(Wanted::No, |(_, elem)| Wanted::As(*elem));
    let mut arrays = npy::read_at_most(content, most, requested).with_context(in_file)?;
    for (name, _) in &mut arrays.read {
        if let Some((real, _)) = known.get(name) {
            real.clone_into(name);
        }
    }
    Ok(arrays)
}
