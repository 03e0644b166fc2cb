//! How a model is run.

use crate::budget::{Budget, Memory};
use crate::pool;
use crate::profile::Work;
use crate::recycle::Recycler;
use crate::value::Value;
use onnx_ir::{ElemType, NodeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// How a model is run.
#[derive(Clone)]
pub struct RunOptions<'o> {
    /// What random operators without a seed of their own draw from.
    pub seed: u64,
    /// The most bytes that tensors, and what is computed with, may take at a time.
    pub max_memory: usize,
    /// What the memory is charged to, in the place of `max_memory`: for inputs that are charged before the run, see
    /// [`within`](Self::within).
    pub memory: Option<Memory>,
    /// The most nodes that are run, each iteration of a loop counted as eight; and all together they take no more than a million steps
    /// for each of these, a step being an operation on numbers.
    pub fuel: u64,
    /// How many threads compute. What is computed does not depend on it.
    pub threads: usize,
    /// Ends the run when it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Is told every result of the main graph, under its name. Nodes are run one by one then.
    pub observe: Option<&'o Observe<'o>>,
    /// Is told how long each kernel, and each node, of the main graph took.
    pub time: Option<&'o Time<'o>>,
    /// Takes the most bytes that tensors took at a time.
    pub peak: Option<&'o AtomicUsize>,
    /// Takes the steps that planning and running took; planning takes some for each part of an expression that it looks at.
    pub steps: Option<&'o AtomicU64>,
}

/// Is told the name of a result and the result.
pub type Observe<'o> = dyn Fn(&str, &Value) + 'o;

/// Is told of a node that has been run.
pub type Time<'o> = dyn Fn(&Step<'_>) + 'o;

/// A kernel, or a node, that has been run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    /// Its operator; of a kernel, those that it stands for.
    pub op: &'s str,
    /// Its name, which may be empty; of a kernel, that of the last node.
    pub name: &'s str,
    /// The nodes that it stands for, of the model that is run.
    pub nodes: &'s [NodeId],
    /// The tensors that it has computed: element types and extents.
    pub results: &'s [(ElemType, Vec<usize>)],
    /// When it began.
    pub start: Instant,
    /// How long it took.
    pub took: Duration,
    /// What it did.
    pub work: Work,
}

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            seed: 0,
            max_memory: usize::MAX,
            memory: None,
            fuel: 20_000_000,
            threads: pool::cores(),
            cancel: None,
            observe: None,
            time: None,
            peak: None,
            steps: None,
        }
    }
}

/// Steps that a node may take on average.
const STEPS: u64 = 1_000_000;

impl RunOptions<'_> {
    pub(super) fn steps_at_most(&self) -> u64 {
        self.fuel.saturating_mul(STEPS)
    }

    /// Charges the tensors that `work` makes to the memory of the run, until they are dropped.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.memory {
            Some(memory) => memory.within(work),
            None => work(),
        }
    }

    pub(super) fn budget(&self, recycler: &Arc<Recycler>) -> Arc<Budget> {
        let (steps, cancel) = (self.steps_at_most(), self.cancel.clone());
        let budget = match &self.memory {
            Some(memory) => Budget::with_memory(memory, steps, cancel),
            None => Budget::new(self.max_memory, steps, cancel),
        };
        budget.with_recycler(recycler)
    }
}
