//! The caches of a program: plans, prepared loops, packed constants, and memory to use again.

use super::plan_runner::PlanRunner;
use super::prepared::{Prepared, Signature};
use crate::options::CompileOptions;
use crate::plan::{PackedConstants, Recorder, ScheduleFile};
use crate::program::Program;
use crate::recycle::Recycler;
use foldhash::HashMap;
use onnx_ir::{GraphId, NodeId, SecondaryMap, ValueId};
use onnx_kernels::Keep;
use onnx_kernels::Value;
use onnx_ops::infer::Ty;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// The caches of a program, which all its runs share.
#[derive(Default)]
pub(crate) struct Caches<'r> {
    /// Plans of subgraphs, by their graph and first node.
    pub(crate) plans: Mutex<Plans>,
    /// A schedule supplied by the user, which plans follow.
    pub(crate) given: Mutex<Option<Arc<ScheduleFile>>>,
    /// Records the formulas after each stage of planning.
    pub(crate) recorder: Recorder,
    /// Packed constants of nodes, shared by all input types.
    pub(crate) packed: PackedConstants,
    /// Loops of single nodes; `None` for nodes that have no formula.
    pub(super) prepared: Mutex<HashMap<Signature, Option<Arc<Prepared>>>>,
    /// Compiled function bodies, by node and input types.
    pub(super) functions: Mutex<Functions<'r>>,
    /// Results of kernels that depend only on constants.
    pub(super) keep: Keep,
    /// Memory that is reused by later runs.
    pub(crate) recycler: Arc<Recycler>,
    /// Emptied value tables, reused by later runs.
    pub(super) value_tables: Mutex<Vec<Values>>,
    /// Whether sizes of a symbol that differ have been reported.
    pub(super) is_warned: AtomicBool,
}

/// Plans, by their graph and first node.
pub(crate) type Plans = HashMap<(GraphId, usize), Vec<Arc<PlanRunner>>>;

/// Compiled function bodies, by node and input types.
type Functions<'r> = HashMap<(NodeId, Vec<Ty>), Arc<Function<'r>>>;

/// The values of a run.
pub(super) type Values = SecondaryMap<ValueId, Option<Value>>;

/// A compiled function body with caches of its own.
pub(super) struct Function<'r> {
    pub(super) program: Program<'r>,
    pub(super) caches: Caches<'r>,
}

impl Caches<'_> {
    /// Empty caches for a program with these options.
    pub(crate) fn new(options: &CompileOptions) -> Self {
        Caches { keep: Keep::new(options.packed_store.as_ref()), ..Caches::default() }
    }

    /// Empty caches for a function body of a program with these: both use the same memory.
    pub(super) fn of_function<'f>(&self, program: &Program<'_>) -> Caches<'f> {
        let recycler = Arc::clone(&self.recycler);
        let keep = Keep::new(program.options.packed_store.as_ref());
        Caches { recycler, keep, ..Caches::default() }
    }
}
