//! The results of a run: written as an archive of arrays, as files of values, or to stdout.

use crate::npy;
use crate::output::{self, OutputTarget};
use crate::read_files;
use anyhow::{Context as _, ensure};
use onnx_exec::arrays::to_arrays;
use onnx_exec::{Tensor, Value};
use onnx_ir::{Data, ElemType, Names};
use onnx_proto::FileKind;
use onnx_text::{Profile, RaiseOptions, number_text, print_value, visible};
use onnxtxt::files::{Derived, Guard};
use serde_json::{Value as Json, json};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Named values.
pub(crate) type Results = Vec<(String, Value)>;

/// How much of large tensors is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shown {
    /// All elements.
    Full,
    /// The first N elements.
    First(usize),
    /// The ends of each axis, for tensors of more than [`MANY`] elements.
    Summary,
}

/// Number of elements from which on a tensor is summarized, as in NumPy.
const MANY: usize = 1000;

/// Prints values as text.
pub(crate) fn print(results: &Results, shown: Shown) -> anyhow::Result<()> {
    let (elide, summarize) = match shown {
        Shown::Full => (None, usize::MAX),
        Shown::First(max) => (Some(max), usize::MAX),
        Shown::Summary => (None, MANY),
    };
    // Names that are not identifiers are quoted.
    let profile = Profile::Extended;
    let options = RaiseOptions { profile, elide, summarize: Some(summarize), metadata: false, visible: true };
    for (name, value) in results {
        let mut names = Names::new();
        let data = named(value, name, &mut names)?;
        output::to_stdout(|out| writeln!(out, "{}", print_value(&data, &names, &options)))?;
    }
    Ok(())
}

/// A value as text with all its elements, without annotations.
pub(crate) fn literal(name: &str, value: &Value) -> anyhow::Result<String> {
    let options = RaiseOptions {
        profile: Profile::Extended,
        summarize: Some(usize::MAX),
        metadata: false,
        visible: true,
        ..RaiseOptions::default()
    };
    let mut names = Names::new();
    let data = named(value, name, &mut names)?;
    Ok(print_value(&data, &names, &options).trim_end().to_owned())
}

/// Prints values as JSON, an object a line.
pub(crate) fn print_json(results: &Results) -> anyhow::Result<()> {
    output::to_stdout(|out| {
        for (name, value) in results {
            let mut object = to_json(value);
            object["name"] = name.as_str().into();
            writeln!(out, "{}", visible(&object.to_string()))?;
        }
        Ok(())
    })
}

/// A value with all its elements: numbers as they are printed; NaN and infinity as strings.
fn to_json(value: &Value) -> Json {
    match value {
        Value::Tensor(tensor) => {
            let ty = tensor.type_text();
            json!({ "type": ty, "shape": tensor.dims(), "elements": elements(tensor) })
        }
        Value::Sequence(values) => {
            json!({ "type": "sequence", "values": values.iter().map(to_json).collect::<Vec<_>>() })
        }
        Value::Map(map) => {
            let values = map.values.iter().map(to_json).collect::<Vec<_>>();
            json!({ "type": "map", "keys": elements(&map.keys), "values": values })
        }
        Value::Optional(Some(value)) => to_json(value),
        Value::Optional(None) => json!({ "type": "optional" }),
    }
}

fn elements(tensor: &Tensor) -> Json {
    let elem = tensor.elem();
    if let Ok(strings) = tensor.string_slice() {
        return strings.into();
    }
    let number = |elem, x: f64| match number_text(elem, x).parse::<f64>() {
        Ok(x) if x.is_finite() => Json::from(x),
        Ok(_) | Err(_) => number_text(elem, x).into(),
    };
    match (elem, tensor.ints(), tensor.floats()) {
        (ElemType::BOOL, Ok(ints), _) => ints.iter().map(|&n| n != 0).collect(),
        (ElemType::UINT64, ..) => {
            let words = tensor.bytes().chunks_exact(8).filter_map(|word| word.try_into().ok());
            words.map(u64::from_le_bytes).collect()
        }
        (_, Ok(ints), _) => ints.iter().copied().collect(),
        (_, Err(_), Ok(floats)) => floats.iter().map(|&x| number(elem, x)).collect(),
        (ElemType::COMPLEX64, ..) => {
            let words = tensor.bytes().chunks_exact(4).filter_map(|word| word.try_into().ok());
            words.map(f32::from_le_bytes).map(|x| number(ElemType::FLOAT, x.into())).collect()
        }
        // Real and imaginary parts alternate.
        (_, Err(_), Err(_)) => {
            let words = tensor.bytes().chunks_exact(8).filter_map(|word| word.try_into().ok());
            words.map(f64::from_le_bytes).map(|x| number(ElemType::DOUBLE, x)).collect()
        }
    }
}

/// Writes an archive of arrays.
pub(crate) fn to_archive(path: &Path, results: &Results, is_forced: bool) -> anyhow::Result<()> {
    let arrays = arrays(path, results)?;
    match OutputTarget::new(path) {
        OutputTarget::Stdout => {
            ensure!(
                is_forced || !output::is_terminal(),
                "refusing to write binary data to a terminal: add `-o FILE.npz` or `--force`"
            );
            output::to_stdout(|out| npy::write_all(&arrays, out))
        }
        OutputTarget::File(path) => {
            ensure!(npy::is_archive(&path), "{} does not end in .npz", path.display());
            output::to_file(&path, |out| npy::write_all(&arrays, out))
        }
    }
}

/// An archive of arrays for a file of this name.
pub(crate) fn archive(path: &Path, results: &Results) -> anyhow::Result<Vec<u8>> {
    ensure!(npy::is_archive(path), "{} does not end in .npz", path.display());
    let mut content = Vec::new();
    npy::write_all(&arrays(path, results)?, &mut content)?;
    Ok(content)
}

/// The arrays of an archive of this name.
fn arrays(path: &Path, results: &Results) -> anyhow::Result<Vec<(String, Tensor)>> {
    let mut arrays = Vec::new();
    for (i, (name, value)) in results.iter().enumerate() {
        // A value that is several outputs is written once.
        if !results[..i].iter().any(|(earlier, _)| earlier == name) {
            to_arrays(name, value, &mut arrays)?;
        }
    }
    let mut members = HashSet::new();
    for (name, _) in &arrays {
        ensure!(
            members.insert(npy::member(name)),
            "two arrays would have the name `{}` in {}: write the values as files with `--output-dir`",
            npy::member(name),
            path.display()
        );
    }
    Ok(arrays)
}

/// Writes a file for each value, `output_0.pb` and so on, as in ONNX test data.
pub(crate) fn to_folder(folder: &Path, results: &Results) -> anyhow::Result<()> {
    let names: Vec<PathBuf> = (0..results.len()).map(|i| format!("output_{i}.pb").into()).collect();
    let files = || names.iter().map(|name| Derived::below(folder, name, is_value));
    // None is written if another one cannot be.
    files().try_for_each(|file| file.check(Guard::new(&read_files::all())))?;
    for ((name, value), file) in results.iter().zip(files()) {
        let mut names = Names::new();
        let bytes = onnx_proto::write_data(&named(value, name, &mut names)?, &names)?;
        output::derived(file, |out| out.write_all(&bytes))?;
    }
    Ok(())
}

/// Whether a file is an output of a test, which the results of now replace.
fn is_value(file: &mut File) -> io::Result<bool> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(matches!(
        onnx_proto::sniff(&bytes),
        Some(
            FileKind::Tensor
                | FileKind::Sequence
                | FileKind::Optional
                | FileKind::Map
                | FileKind::SparseTensor
        )
    ))
}

/// A value as stored in a file, with its name.
fn named(value: &Value, name: &str, names: &mut Names) -> anyhow::Result<Data> {
    let mut data = value.to_stored().with_context(|| format!("output `{name}`"))?;
    let name = Some(names.intern(name));
    match &mut data {
        Data::Tensor(tensor) => tensor.name = name,
        Data::SparseTensor(sparse) => sparse.values.iter_mut().for_each(|values| values.name = name),
        Data::Sequence(sequence) => sequence.name = name,
        Data::Map(map) => map.name = name,
        Data::Optional(optional) => optional.name = name,
    }
    Ok(data)
}
