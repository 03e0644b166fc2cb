//! One case: a model, inputs, and what has to come out.

use super::close::{Tolerance, difference};
use crate::input::Input;
use anyhow::{Context as _, bail};
use onnx_exec::{CompileOptions, Executable, RunOptions, Value, compile};
use onnx_ir::{Diagnostic, Names, Port, TypeKind};
use onnx_ops::opset::registry_of;
use onnx_proto::FileKind;
use std::path::{Path, PathBuf};

/// A folder of a test.
pub(super) struct Case {
    pub(super) folder: PathBuf,
    pub(super) model: PathBuf,
    pub(super) sets: Vec<PathBuf>,
}

/// How a case went.
pub(super) enum Verdict {
    Passed,
    Failed(String),
}

impl Case {
    pub(super) fn run(&self, tolerance: &Tolerance) -> Verdict {
        match self.try_run(tolerance) {
            Ok(()) => Verdict::Passed,
            Err(why) => Verdict::Failed(format!("{why:#}")),
        }
    }

    fn try_run(&self, tolerance: &Tolerance) -> anyhow::Result<()> {
        let input = Input::open(&self.model)?;
        let loaded = input.load();
        if let Some(error) = loaded.diagnostics.iter().find(|d| d.is_error()) {
            bail!("{}", told(error));
        }
        let registry = registry_of(&loaded.model);
        let executable = compile(&loaded.model, registry, &CompileOptions::default()).map_err(|found| {
            let all: Vec<String> = found.iter().map(told).collect();
            anyhow::anyhow!("{}", all.join("; "))
        })?;
        for set in &self.sets {
            let inputs = values(set, "input", &executable, executable.inputs())?;
            let expected = values(set, "output", &executable, executable.outputs())?;
            let results =
                executable.run(inputs, &RunOptions::default()).map_err(|d| anyhow::anyhow!(told(&d)))?;
            for (i, (result, expected)) in results.iter().zip(&expected).enumerate() {
                let Some(expected) = expected else { continue };
                if let Some(difference) = difference(result, expected, tolerance) {
                    bail!("output {i} of {}: {difference}", set.file_name().unwrap_or_default().display());
                }
            }
        }
        Ok(())
    }
}

/// A finding on one line.
fn told(finding: &Diagnostic) -> String {
    format!("{}: {}", finding.code.id, finding.message)
}

/// The values `input_0.pb`, `input_1.pb` … of a data set; `None` where there is no file, or it is empty.
fn values(
    set: &Path,
    stem: &str,
    executable: &Executable<'_>,
    ports: &[Port],
) -> anyhow::Result<Vec<Option<Value>>> {
    // Files are counted without the inputs that have a value, unless there are files for all.
    let is_given = |i: usize| set.join(format!("{stem}_{i}.pb")).is_file();
    let required = ports.iter().filter(|port| !executable.has_default(port)).count();
    let is_for_all = required < ports.len() && is_given(ports.len() - 1);
    let mut all = Vec::new();
    let mut count = 0;
    for port in ports {
        if executable.has_default(port) && !is_for_all {
            all.push(None);
            continue;
        }
        let i = count;
        count += 1;
        let path = set.join(format!("{stem}_{i}.pb"));
        if !path.is_file() {
            all.push(None);
            continue;
        }
        let kind = port.ty.map(|ty| &executable.model().types[ty].kind);
        let kind = match kind {
            Some(TypeKind::Sequence(_)) => FileKind::Sequence,
            Some(TypeKind::Map { .. }) => FileKind::Map,
            Some(TypeKind::Optional(_)) => FileKind::Optional,
            Some(TypeKind::SparseTensor(_)) => FileKind::SparseTensor,
            Some(TypeKind::Unset | TypeKind::Tensor(_) | TypeKind::Opaque { .. }) | None => FileKind::Tensor,
        };
        all.push(Some(value(&path, kind)?));
    }
    Ok(all)
}

/// The value that a file holds.
fn value(path: &Path, kind: FileKind) -> anyhow::Result<Value> {
    let name = || format!("cannot read {}", path.display());
    let bytes = onnx_proto::file::open(path).with_context(name)?;
    let (data, found) = onnx_proto::read_data(bytes, kind, &mut Names::new());
    if let Some(error) = found.iter().find(|d| d.is_error()) {
        bail!("{}: {}", path.display(), told(error));
    }
    let data = data.with_context(name)?;
    Value::stored(data.held()).map_err(anyhow::Error::from).with_context(name)
}
