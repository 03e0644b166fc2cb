//! One case: a model, inputs, and what has to come out.

use crate::close::{Tolerance, difference};
use crate::feed::files;
use crate::input::Input;
use anyhow::bail;
use onnx_exec::{CompileOptions, RunOptions, compile};
use onnx_ir::Diagnostic;
use onnx_ops::opset::registry_of;
use std::path::PathBuf;

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
        let has_default = |i: usize| executable.has_default(&executable.inputs()[i]);
        for set in &self.sets {
            let inputs = files::set(set, "input", executable.model(), executable.inputs(), has_default)?;
            let expected = files::set(set, "output", executable.model(), executable.outputs(), |_| false)?;
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
