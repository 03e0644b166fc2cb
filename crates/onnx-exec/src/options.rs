//! Options of compiling and of a run.

use crate::budget::{Budget, Interrupt, Memory};
use crate::custom::CustomOperators;
use crate::loops::PackedStore;
use crate::pool;
use crate::profile::Work;
use crate::recycle::Recycler;
use onnx_ir::diag::Diagnostic;
use onnx_ir::{ElemType, NodeId};
use onnx_kernels::Value;
use onnx_ops::gradient::Results;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

/// Options of [`compile()`](crate::compile()).
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Prepares a model that has been checked already, or in spite of its errors. Otherwise, a model whose meaning is unclear is
    /// refused ([`ensure_clear`](onnx_ops::check::ensure_clear)).
    pub unchecked: bool,
    /// Checks the results of small formulas, element by element, against the reference evaluation after each run of their loops.
    /// Slow; finds mistakes of this crate.
    pub check_loops: bool,
    /// Runs nodes one by one without fusion: the slow reference.
    pub node_by_node: bool,
    /// Rounds every result to its type, as the operators define it. Otherwise `float16` and `bfloat16` values stay in single
    /// precision between the nodes of a plan, and convolutions may use algorithms that round differently.
    pub exact: bool,
    /// The treatment of intermediate results that nodes `Gradient` need: kept, or computed again to save memory.
    pub gradient_results: Results,
    /// Called with the bytes of stored tensors that will not be read again because a packed copy was made: a program that maps
    /// files can release their pages.
    pub release: Option<fn(&[u8])>,
    /// Where large packed weights are kept, so that they are packed once and all programs of a machine share their memory. Without a
    /// store, each executable packs its own.
    pub packed_store: Option<Arc<dyn PackedStore>>,
    /// Operators that the caller provides.
    pub custom: CustomOperators,
}

impl CompileOptions {
    /// Whether planning is disabled.
    pub(crate) fn is_plain(&self) -> bool {
        self.check_loops || self.node_by_node
    }
}

/// Options of a run.
#[derive(Clone)]
pub struct RunOptions<'o> {
    /// The seed for random operators without a `seed` attribute.
    pub seed: u64,
    /// The most bytes for tensors and working memory at any time.
    pub max_memory: usize,
    /// A memory account to use instead of `max_memory`, which can include inputs charged before the run; see
    /// [`within`](Self::within).
    pub memory: Option<Memory>,
    /// The most nodes that are run; an iteration of a loop counts as eight. All nodes together may take a million steps per unit
    /// of fuel; a step is an arithmetic operation.
    pub fuel: u64,
    /// The number of threads. Results do not depend on it.
    pub threads: usize,
    /// Cancels the run when set to true.
    pub cancel: Option<Arc<AtomicBool>>,
    /// Asked now and then, by the thread that runs, whether to cancel the run: at each kernel, and in long ones many times a second.
    pub interrupt: Option<Arc<Interrupt>>,
    /// Called with each result of the main graph and its name. Disables plans: nodes are run one by one.
    pub observe: Option<&'o Observe<'o>>,
    /// Called with the time of each kernel and node of the main graph.
    pub time: Option<&'o Time<'o>>,
    /// Called once with a warning if sizes of one symbol differ (W1605): of inputs, outputs and declared values inside the graph.
    pub warn: Option<&'o Warn<'o>>,
    /// Receives the peak of the bytes in use.
    pub peak: Option<&'o AtomicUsize>,
    /// Receives the steps of planning and running; planning counts the parts of expressions that it visits.
    pub steps: Option<&'o AtomicU64>,
}

/// A callback for results: name and value. It may be called from any thread.
pub type Observe<'o> = dyn Fn(&str, &Value) + Send + Sync + 'o;

/// A callback for times. It may be called from any thread.
pub type Time<'o> = dyn Fn(&TimedStep<'_>) + Send + Sync + 'o;

/// A callback for warnings.
pub type Warn<'o> = dyn Fn(Diagnostic) + Send + Sync + 'o;

/// A kernel or node that has been run.
#[derive(Clone, Copy, Debug)]
pub struct TimedStep<'s> {
    /// Its operator, or the operators that are fused into the kernel.
    pub op: &'s str,
    /// Its name, which may be empty; of a kernel, the name of its last node.
    pub name: &'s str,
    /// Its nodes in the executed model.
    pub nodes: &'s [NodeId],
    /// The tensors that it has computed: element types and shapes.
    pub results: &'s [(ElemType, Vec<usize>)],
    /// When it began.
    pub start: Instant,
    /// How long it took.
    pub took: Duration,
    /// Its work.
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
            interrupt: None,
            observe: None,
            time: None,
            warn: None,
            peak: None,
            steps: None,
        }
    }
}

/// The average limit of steps per node.
const STEPS: u64 = 1_000_000;

impl RunOptions<'_> {
    pub(crate) fn steps_at_most(&self) -> u64 {
        self.fuel.saturating_mul(STEPS)
    }

    /// Charges the tensors that `work` allocates to the memory of the run, until they are dropped.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.memory {
            Some(memory) => memory.within(work),
            None => work(),
        }
    }

    pub(crate) fn budget(&self, recycler: &Arc<Recycler>) -> Arc<Budget> {
        let (steps, cancel) = (self.steps_at_most(), self.cancel.clone());
        let budget = match &self.memory {
            Some(memory) => Budget::with_memory(memory, steps, cancel),
            None => Budget::new(self.max_memory, steps, cancel),
        };
        budget.with_interrupt(self.interrupt.clone()).with_recycler(recycler)
    }
}
