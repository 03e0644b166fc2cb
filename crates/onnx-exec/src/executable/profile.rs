//! Profiles of runs.

use super::Executable;
use crate::options::{RunOptions, TimedStep};
use crate::profile::{KernelProfile, Profile};
use crate::sync::lock;
use onnx_ir::diag::Diagnostic;
use onnx_kernels::Value;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

impl Executable<'_> {
    /// Runs the model at least once, until `is_enough` returns true for the number of runs, and returns the times of each kernel.
    ///
    /// # Errors
    ///
    /// The run fails.
    pub fn profile(
        &self,
        inputs: &[Option<Value>],
        options: &RunOptions<'_>,
        is_enough: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Profile, Box<Diagnostic>> {
        let mut profile = self.profile_once(inputs, options)?;
        let mut runs = 1;
        while !is_enough(runs) {
            profile.add(self.profile_once(inputs, options)?);
            runs += 1;
        }
        Ok(profile)
    }

    fn profile_once(
        &self,
        inputs: &[Option<Value>],
        options: &RunOptions<'_>,
    ) -> Result<Profile, Box<Diagnostic>> {
        let kernels = Mutex::new(Vec::new());
        let begin = Instant::now();
        let time = |step: &TimedStep<'_>| {
            lock(&kernels).push(KernelProfile {
                op: step.op.to_owned(),
                name: step.name.to_owned(),
                nodes: step.nodes.to_vec(),
                results: step.results.to_vec(),
                start: step.start.saturating_duration_since(begin),
                times: vec![step.took],
                work: step.work,
            });
        };
        self.run(inputs.to_vec(), &RunOptions { time: Some(&time), ..options.clone() })?;
        Ok(Profile { kernels: kernels.into_inner().unwrap_or_else(PoisonError::into_inner) })
    }
}
