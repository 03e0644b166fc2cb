//! The data of a training: arrays by the names of inputs, with as many examples each.

use super::csv;
use crate::execution::inputs::cast::cast;
use crate::execution::inputs::fits::Extents;
use crate::execution::inputs::{files, named};
use crate::npy::{self, Arrays, Wanted};
use crate::read_files::{self, Unreadable};
use crate::session::Session;
use anyhow::{Context as _, bail, ensure};
use onnx_exec::{Tensor, Value};
use onnx_ir::diag::{Diagnostic, Place, code, counted, did_you_mean};
use onnx_ir::{DimValue, Model, Port, TensorType, TypeKind};
use onnxtxt::train::{Batch, Trainer};
use std::path::Path;

/// An array and how it is used.
struct Array {
    name: String,
    tensor: Tensor,
    /// Whether its first axis has the examples; otherwise it is the same in every step.
    has_rows: bool,
}

/// The data of a training.
pub(super) struct Data {
    arrays: Vec<Array>,
    /// The number of examples.
    pub(super) rows: usize,
    /// The number of examples of a step, if the model declares it.
    pub(super) declared: Option<usize>,
}

/// The declared type of an input.
fn declared<'m>(model: &'m Model, port: &Port) -> Option<&'m TensorType> {
    match &model.types[port.ty?].kind {
        TypeKind::Tensor(tensor) => Some(tensor),
        _ => None,
    }
}

impl Data {
    /// Reads the arguments of `-i` or `--eval`, or says what does not fit.
    pub(super) fn open(
        given: &[String],
        trainer: &Trainer<'_>,
        casts: bool,
        session: &Session,
    ) -> anyhow::Result<Result<Data, Vec<Diagnostic>>> {
        let inputs = trainer.inputs();
        let mut read: Vec<(String, Tensor)> = Vec::new();
        for given in given {
            take(given, &inputs, trainer, &mut read, session)?;
        }
        // The arrays of the inputs, in their types.
        let (mut arrays, mut found) = (Vec::new(), Vec::new());
        let mut wrong = |message: String| {
            found.push(Diagnostic::new(&code::RUN_FAILED, Place::Nowhere, message));
        };
        for (model, port) in &inputs {
            let name = model.text(port.name);
            // Of several files with an array, the last one counts.
            let Some((_, tensor)) = read.iter().rfind(|(known, _)| known == name) else {
                if !trainer.has_default(name) {
                    wrong(format!("the data has no array for input `{name}`"));
                }
                continue;
            };
            let ty = declared(model, port);
            let mut tensor = tensor.clone();
            if let Some(elem) = ty.and_then(|ty| ty.elem).filter(|elem| casts && *elem != tensor.elem())
                && let Some(Value::Tensor(converted)) = cast(&Value::Tensor(tensor.clone()), elem)
            {
                tensor = converted;
            }
            let is_scalar = ty.and_then(|ty| ty.shape.as_ref()).is_some_and(|shape| shape.is_empty());
            let has_rows = tensor.rank() > 0 && !is_scalar;
            arrays.push(Array { name: name.to_owned(), tensor, has_rows });
        }
        // One number of rows for all arrays.
        let mut rows: Option<(usize, &str)> = None;
        for array in arrays.iter().filter(|array| array.has_rows) {
            let count = array.tensor.dims().first().copied().unwrap_or(0);
            match rows {
                None => rows = Some((count, &array.name)),
                Some((known, other)) if known != count => wrong(format!(
                    "`{other}` has {}, but `{}` has {count}",
                    counted(known, "example"),
                    array.name
                )),
                Some(_) => {}
            }
        }
        let rows = rows.map_or(1, |(rows, _)| rows);
        if rows == 0 {
            wrong("the data has no examples".to_owned());
        }
        // The number of rows of a step, where the model declares it.
        let fixed = inputs.iter().filter_map(|(model, port)| {
            let name = model.text(port.name);
            arrays.iter().find(|array| array.has_rows && array.name == name)?;
            match declared(model, port)?.shape.as_ref()?.first()?.value {
                DimValue::Value(size) => usize::try_from(size).ok(),
                DimValue::Param(_) | DimValue::Unknown => None,
            }
        });
        let declared = fixed.max();
        if !found.is_empty() {
            return Ok(Err(found));
        }
        let data = Data { arrays, rows, declared };
        let first = Batch { rows: (0..data.declared.unwrap_or(rows).min(rows)).collect(), is_last: true };
        let found = data.misfits(&first, &inputs)?;
        Ok(if found.is_empty() { Ok(data) } else { Err(found) })
    }

    /// The parts of a batch that do not fit the declared types.
    fn misfits(&self, batch: &Batch, inputs: &[(&Model, &Port)]) -> anyhow::Result<Vec<Diagnostic>> {
        let mut extents = Extents::default();
        let mut found = Vec::new();
        for (name, value) in self.of(batch)? {
            let Some((model, port)) = inputs.iter().find(|(model, port)| model.text(port.name) == name)
            else {
                continue;
            };
            let Some(ty) = port.ty else { continue };
            found.extend(extents.check(model, name, ty, &value, Place::Nowhere));
        }
        Ok(found)
    }

    /// The inputs of a step.
    pub(super) fn of(&self, batch: &Batch) -> anyhow::Result<Vec<(&str, Value)>> {
        let is_all = batch.rows.len() == self.rows && batch.rows.iter().enumerate().all(|(i, &row)| i == row);
        let mut inputs = Vec::with_capacity(self.arrays.len());
        for array in &self.arrays {
            let tensor = if !array.has_rows || is_all {
                array.tensor.clone()
            } else {
                batch.of(&array.tensor).with_context(|| format!("input `{}`", array.name))?
            };
            inputs.push((array.name.as_str(), tensor.into()));
        }
        Ok(inputs)
    }
}

/// Reads the arrays of one argument.
fn take(
    given: &str,
    inputs: &[(&Model, &Port)],
    trainer: &Trainer<'_>,
    read: &mut Vec<(String, Tensor)>,
    session: &Session,
) -> anyhow::Result<()> {
    let find = |name: &str| {
        let mut known = inputs.iter();
        known.find(|(model, port)| {
            let of_port = model.text(port.name);
            of_port == name || npy::member(of_port) == name
        })
    };
    let names = || inputs.iter().map(|(model, port)| model.text(port.name));
    // `NAME=FILE`: one array.
    let path = Path::new(given);
    if let Some((name, file)) = named::split(given, |name| find(name).is_some())
        && (find(name).is_some() || !path.exists())
    {
        let Some((model, port)) = find(name) else {
            let like = did_you_mean(name, names()).map(|like| format!(": did you mean `{like}`?"));
            bail!("the training has no input `{name}`{}", like.unwrap_or_default());
        };
        let value = files::read(Path::new(file), model, port.ty)?;
        read.push((model.text(port.name).to_owned(), tensor_of(value, file)?));
        return Ok(());
    }
    // A folder: `input_0.pb`, `input_1.pb` and so on.
    if path.is_dir() {
        let Some((model, _)) = inputs.first() else { return Ok(()) };
        let ports: Vec<Port> = inputs.iter().map(|(_, port)| (*port).clone()).collect();
        ensure!(
            inputs.iter().all(|(of, _)| std::ptr::eq(*of, *model)),
            "several algorithms have inputs: name each array with NAME=FILE"
        );
        let has_default = |i: usize| trainer.has_default(model.text(ports[i].name));
        let values = files::set(path, "input", model, &ports, has_default)?;
        for (port, value) in ports.iter().zip(values) {
            if let Some(value) = value {
                read.push((model.text(port.name).to_owned(), tensor_of(value, given)?));
            }
        }
        return Ok(());
    }
    // A file of several arrays: a table or an archive.
    let cannot = || Unreadable::new(path);
    read_files::note(path);
    let bytes = onnx_proto::file::open(path).with_context(cannot)?;
    let is_table = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
    let arrays = if is_table {
        Arrays { read: csv::read(&bytes, inputs).with_context(cannot)?, skipped: Vec::new() }
    } else if npy::is_archive(path) {
        let requested = |name: &str| match find(name) {
            Some((model, port)) => Wanted::As(declared(model, port).and_then(|tensor| tensor.elem)),
            None => Wanted::No,
        };
        npy::read_all(&bytes, requested).with_context(cannot)?
    } else {
        bail!("the format of {given} is not known: expected .npz, .csv, NAME=FILE.npy or a folder")
    };
    let mut others: Vec<String> = arrays.skipped.iter().map(|name| format!("`{name}`")).collect();
    for (name, tensor) in arrays.read {
        match find(&name) {
            Some((model, port)) => read.push((model.text(port.name).to_owned(), tensor)),
            None => others.push(format!("`{name}`")),
        }
    }
    if !others.is_empty() {
        session.note(&format!("no input is named like {} in {given}", others.join(", ")));
    }
    Ok(())
}

fn tensor_of(value: Value, file: &str) -> anyhow::Result<Tensor> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        other => bail!("{file} is {}, not a tensor", other.kind()),
    }
}
