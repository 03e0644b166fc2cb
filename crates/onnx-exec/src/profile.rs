//! Profiles: the time and the work of each kernel of a run.

use onnx_ir::{ElemType, NodeId};
use std::time::Duration;

/// The work of a kernel. For a node that runs outside plans, only the bytes are known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Work {
    /// Single-precision operations, and integer operations outside matrix products; a multiply-add counts as two, a function such
    /// as `Exp` as eight.
    pub singles: u64,
    /// Double-precision operations.
    pub doubles: u64,
    /// Operations on products of bytes and their sums.
    pub byte_products: u64,
    /// Bytes read of inputs and of results of other kernels.
    pub read: u64,
    /// Bytes read of constants.
    pub constants: u64,
    /// Bytes written.
    pub written: u64,
}

impl Work {
    /// All operations.
    pub fn operations(&self) -> u64 {
        self.singles.saturating_add(self.doubles).saturating_add(self.byte_products)
    }

    /// All bytes.
    pub fn bytes(&self) -> u64 {
        self.read + self.constants + self.written
    }
}

/// The kernels of a run of the main graph, in order.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The kernels, and the nodes that run outside plans.
    pub kernels: Vec<KernelProfile>,
}

/// The profile of one kernel.
#[derive(Clone, Debug)]
pub struct KernelProfile {
    /// Its operator, or the operators that are fused into it.
    pub op: String,
    /// The name of its last node, which may be empty.
    pub name: String,
    /// Its nodes in [`Executable::model`](crate::Executable::model).
    pub nodes: Vec<NodeId>,
    /// The tensors that it computes: element types and shapes.
    pub results: Vec<(ElemType, Vec<usize>)>,
    /// The time from the start of the first run to the start of the kernel.
    pub start: Duration,
    /// Its duration in each run, in order.
    pub times: Vec<Duration>,
    /// Its work.
    pub work: Work,
}

impl KernelProfile {
    /// The median duration.
    pub fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

impl Profile {
    /// The bytes of constants that all kernels read.
    pub fn constants(&self) -> u64 {
        self.kernels.iter().map(|kernel| kernel.work.constants).sum()
    }

    /// Adds the times of other runs, if they have the same kernels.
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
