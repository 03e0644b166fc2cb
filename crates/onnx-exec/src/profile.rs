//! How long each kernel of a run takes, and what it does in that time.

use crate::compile::Executable;
use crate::run::{RunOptions, Step};
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, NodeId};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// What a kernel does. Of a node that is run as it is, only the bytes are known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Work {
    /// Operations on single floats, and on integers that are no factors of a matrix product; a product that is added to a sum is two,
    /// a function such as `Exp` counts as eight.
    pub singles: u64,
    /// Operations on double floats.
    pub doubles: u64,
    /// Products of bytes, and sums of them.
    pub byte_products: u64,
    /// Bytes that it reads of what other kernels have computed, and of inputs.
    pub read: u64,
    /// Bytes that it reads of what is the same in every run.
    pub constants: u64,
    /// Bytes that it writes.
    pub written: u64,
}

impl Work {
    /// All operations together.
    pub fn operations(&self) -> u64 {
        self.singles.saturating_add(self.doubles).saturating_add(self.byte_products)
    }

    /// All bytes together.
    pub fn bytes(&self) -> u64 {
        self.read + self.constants + self.written
    }
}

/// The kernels of a run of the main graph, in order.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The kernels, and the nodes that are run as they are.
    pub kernels: Vec<KernelProfile>,
}

/// What is known of one kernel.
#[derive(Clone, Debug)]
pub struct KernelProfile {
    /// Its operator, or those that it stands for.
    pub op: String,
    /// The name of its last node, which may be empty.
    pub name: String,
    /// The nodes that it stands for, of [`Executable::model`].
    pub nodes: Vec<NodeId>,
    /// The tensors that it computes: element types and extents.
    pub results: Vec<(ElemType, Vec<usize>)>,
    /// When it began in the first run, since that began.
    pub start: Duration,
    /// How long it took in each run, in order.
    pub times: Vec<Duration>,
    /// What it does.
    pub work: Work,
}

impl KernelProfile {
    /// The time that half of the runs did not exceed.
    pub fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

impl Profile {
    /// The bytes of what is the same in every run, as far as kernels read it.
    pub fn constants(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.work.constants).sum()
    }

    /// Takes the times of other runs, if they had the same kernels.
    pub fn add(&mut self, other: Profile) {
        let is_same = self.kernels.len() == other.kernels.len()
            && self.kernels.iter().zip(&other.kernels).all(|(a, b)| a.nodes == b.nodes);
        if is_same {
            for (kernel, other) in self.kernels.iter_mut().zip(other.kernels) {
                kernel.times.extend(other.times);
            }
        }
    }
}

impl Executable<'_> {
    /// Runs the model until `is_enough` says so of the number of runs, at least once, and says how long each kernel took.
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
        let kernels = RefCell::new(Vec::new());
        let begin = Instant::now();
        let time = |step: &Step<'_>| {
            kernels.borrow_mut().push(KernelProfile {
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
        Ok(Profile { kernels: kernels.into_inner() })
    }
}
