//! One backend test case: a model, inputs, and expected outputs.

use crate::execution::inputs::files;
use crate::input::Input;
use crate::output::junit::Outcome;
use anyhow::bail;
use onnx_exec::{CompileOptions, RunOptions, compile};
use onnx_ir::diag::Diagnostic;
use onnx_ops::opset::registry_of;
use onnxtxt::compare::{Tolerance, difference};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The folder of a case.
pub(super) struct Case {
    pub(super) folder: PathBuf,
    pub(super) model: PathBuf,
    pub(super) sets: Vec<PathBuf>,
}

/// The outcome of a case.
pub(super) enum Verdict {
    Passed,
    Failed(String),
}

impl Case {
    /// Runs the case with a time limit.
    pub(super) fn run(&self, tolerance: &Tolerance, limit: Duration) -> Verdict {
        let end = Arc::new(AtomicBool::new(false));
        let (done, is_done) = mpsc::channel::<()>();
        let watch = {
            let end = Arc::clone(&end);
            thread::spawn(move || match is_done.recv_timeout(limit) {
                Err(RecvTimeoutError::Timeout) => end.store(true, Ordering::Relaxed),
                Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
            })
        };
        let result = self.try_run(tolerance, &end);
        drop(done);
        _ = watch.join();
        match result {
            Ok(()) => Verdict::Passed,
            Err(_) if end.load(Ordering::Relaxed) => {
                Verdict::Failed(format!("takes longer than {} s", limit.as_secs_f64()))
            }
            Err(why) => Verdict::Failed(format!("{why:#}")),
        }
    }

    /// The outcome, for a report.
    pub(super) fn outcome(&self, verdict: &Verdict, time: Duration) -> Outcome {
        let failure = match verdict {
            Verdict::Passed => None,
            Verdict::Failed(why) => Some(why.clone()),
        };
        let (name, file) = (self.folder.display().to_string(), self.model.display().to_string());
        Outcome { name, file, failure, time }
    }

    fn try_run(&self, tolerance: &Tolerance, end: &Arc<AtomicBool>) -> anyhow::Result<()> {
        let input = Input::open(&self.model)?;
        let loaded = input.load();
        if let Some(error) = loaded.diagnostics.iter().find(|d| d.is_error()) {
            bail!("{}", told(error));
        }
        let registry = registry_of(&loaded.model);
        // Expected results are computed with rounding after every operator.
        let options = CompileOptions { exact: true, ..CompileOptions::default() };
        let executable = compile(&loaded.model, registry, &options).map_err(|found| {
            let all: Vec<String> = found.iter().map(told).collect();
            anyhow::anyhow!("{}", all.join("; "))
        })?;
        let has_default = |i: usize| executable.has_default(&executable.inputs()[i]);
        for set in &self.sets {
            let inputs = files::set(set, "input", executable.model(), executable.inputs(), has_default)?;
            let expected = files::set(set, "output", executable.model(), executable.outputs(), |_| false)?;
            let options = RunOptions { cancel: Some(Arc::clone(end)), ..RunOptions::default() };
            let results = executable.run(inputs, &options).map_err(|d| anyhow::anyhow!(told(&d)))?;
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

/// A finding as one line.
fn told(finding: &Diagnostic) -> String {
    format!("{}: {}", finding.code.id, finding.message)
}
