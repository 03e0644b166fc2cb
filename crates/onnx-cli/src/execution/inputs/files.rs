//! Reads values from files, for the inputs and outputs of a model: `.pb` and its other formats, `.npy`, test data sets.

use crate::input::Input;
use crate::npy;
use crate::read_files::Unreadable;
use anyhow::{Context as _, bail};
use onnx_exec::Value;
use onnx_ir::{ElemType, Model, Names, Port, TypeId, TypeKind};
use onnx_proto::FileKind;
use std::path::Path;

/// Reads the value of a file; `ty` is its declared type.
pub(crate) fn read(path: &Path, model: &Model, ty: Option<TypeId>) -> anyhow::Result<Value> {
    named(path, model, ty).map(|(value, _)| value)
}

/// Reads the value of a file, and the name in the file.
pub(crate) fn named(
    path: &Path,
    model: &Model,
    ty: Option<TypeId>,
) -> anyhow::Result<(Value, Option<String>)> {
    let cannot = || Unreadable::new(path);
    if npy::is_array(path) {
        crate::read_files::note(path);
        let bytes = onnx_proto::file::open(path).with_context(cannot)?;
        return Ok((npy::read(&bytes, elem(model, ty)).with_context(cannot)?.into(), None));
    }
    let input = Input::open(path)?;
    let kind = ty.map(|ty| FileKind::from(&model.types[ty].kind)).unwrap_or(FileKind::Tensor);
    // A binary file does not name its message type: the declared type decides.
    let (data, names, found) = match input.form {
        crate::input::Form::Binary => {
            let mut names = Names::new();
            let (data, found) = onnx_proto::read_data(input.bytes.clone(), kind, &mut names).into_parts();
            (data, names, found)
        }
        _ => match input.value() {
            Some(value) => value.into_parts(),
            None => bail!("{} is not a value", input.name),
        },
    };
    if let Some(error) = found.iter().find(|d| d.is_error()) {
        bail!("{}: {}: {}", path.display(), error.code.id, error.message);
    }
    let data = data.with_context(cannot)?;
    let name = data.name().map(|name| names[name].to_owned());
    let value = Value::stored(data.data_ref()).map_err(anyhow::Error::from).with_context(cannot)?;
    Ok((value, name))
}

/// The element type of a declared tensor.
pub(crate) fn elem(model: &Model, ty: Option<TypeId>) -> Option<ElemType> {
    match &model.types[ty?].kind {
        TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => tensor.elem,
        TypeKind::Unset
        | TypeKind::Sequence(_)
        | TypeKind::Optional(_)
        | TypeKind::Map { .. }
        | TypeKind::Opaque { .. } => None,
    }
}

/// The values `input_0.pb`, `input_1.pb` … of a folder; `None` for missing files. Ports that already have a value are not
/// counted, unless there are files for all.
pub(crate) fn set(
    folder: &Path,
    stem: &str,
    model: &Model,
    ports: &[Port],
    has_default: impl Fn(usize) -> bool,
) -> anyhow::Result<Vec<Option<Value>>> {
    let file = |i: usize| folder.join(format!("{stem}_{i}.pb"));
    let is_for_all = ports.len().checked_sub(1).is_some_and(|last| file(last).is_file());
    let mut count = 0..;
    let read = |(i, port): (usize, &Port)| {
        if has_default(i) && !is_for_all {
            return Ok(None);
        }
        let path = file(count.next().unwrap_or(usize::MAX));
        if path.is_file() { read(&path, model, port.ty).map(Some) } else { Ok(None) }
    };
    ports.iter().enumerate().map(read).collect()
}
