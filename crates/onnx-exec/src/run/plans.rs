//! Runs graphs plan by plan: finds the plan for the current values, or makes it.

use super::Run;
use super::plan_runner::{PlanRunner, Stop};
use crate::define::define;
use crate::plan::{Packing, Plan, PlanContext};
use crate::sync::lock;
use onnx_ir::GraphId;
use onnx_ir::diag::{Diagnostic, code};
use std::sync::Arc;

/// The most plans for one subgraph; with more different types it is run node by node.
const MAX_PLANS: usize = 64;
/// The most of them that depend on elements.
const MAX_SPECIAL_PLANS: usize = 8;

impl Run<'_, '_> {
    /// Runs the nodes of a graph: plan by plan, or one by one if every result is observed.
    pub(super) fn nodes(&mut self, graph: GraphId) -> Result<(), Box<Diagnostic>> {
        let (program, caches) = (self.program, self.caches);
        let count = program.body().graphs[graph].nodes.len();
        if self.options.observe.is_some() || program.options.is_plain() {
            return self.plain(graph, 0..count);
        }
        let mut at = 0;
        while at < count {
            let Some(runner) = self.plan(graph, at)? else {
                return self.plain(graph, at..count);
            };
            let nodes = runner.plan.nodes.clone();
            let before = self.taken.take();
            let done = runner.run(self);
            let taken = std::mem::replace(&mut self.taken, before);
            match done {
                Ok(()) => {
                    if let Some(sizes) = &mut self.sizes {
                        sizes.results(graph, runner.plan.tensors());
                    }
                }
                Err(Stop::Reported(finding)) => return Err(finding),
                // The inputs of the plan still exist, so running node by node finds the node that fails.
                Err(Stop::RetryByNode(why)) => {
                    if let Some(node) = taken {
                        return Err(self.failed(node, why.code(), &format!("a later node fails: {why}")));
                    }
                    if !why.is_limit() && lock(&caches.given).is_some() {
                        let why =
                            format!("the schedule of nodes {}..{} fails: {why}", nodes.start, nodes.end);
                        let first = program.body().graphs[graph].nodes[nodes.start];
                        return Err(program.failed(first, &code::SCHEDULE_ILLEGAL, &why));
                    }
                    self.plain(graph, nodes.clone())?;
                    debug_assert!(why.is_limit(), "a plan has failed, its nodes have not: {why}");
                }
            }
            at = nodes.end;
        }
        Ok(())
    }

    /// The plan for the nodes of a graph from `at` on, for the current values; `None` if too many different plans were made for
    /// these nodes.
    pub(crate) fn plan(
        &mut self,
        graph: GraphId,
        at: usize,
    ) -> Result<Option<Arc<PlanRunner>>, Box<Diagnostic>> {
        self.plan_for(graph, at, true)
    }

    /// The same; without `are_elements_known`, the plan must not depend on the elements of current values.
    pub(crate) fn plan_for(
        &mut self,
        graph: GraphId,
        at: usize,
        are_elements_known: bool,
    ) -> Result<Option<Arc<PlanRunner>>, Box<Diagnostic>> {
        let caches = self.caches;
        let may_assume = {
            let kept = lock(&caches.plans);
            let known = kept.get(&(graph, at)).map_or(&[][..], |plans| plans);
            if let Some(runner) = known.iter().find(|it| it.plan.fits(|value| self.get(value))) {
                return Ok(Some(Arc::clone(runner)));
            }
            if known.len() >= MAX_PLANS {
                return Ok(None);
            }
            are_elements_known && known.iter().filter(|it| it.plan.is_special()).count() < MAX_SPECIAL_PLANS
        };
        let Some(plan) = self.new_plan(graph, at, may_assume)? else { return Ok(None) };
        let runner = Arc::new(PlanRunner::new(plan));
        lock(&caches.plans).entry((graph, at)).or_default().push(Arc::clone(&runner));
        Ok(Some(runner))
    }

    /// Plans the nodes of a graph from `at` on, as the schedule of the user says if there is one.
    fn new_plan(
        &mut self,
        graph: GraphId,
        at: usize,
        may_assume: bool,
    ) -> Result<Option<Plan>, Box<Diagnostic>> {
        let (program, caches) = (self.program, self.caches);
        let nodes = &program.body().graphs[graph].nodes;
        let options = &program.options;
        let packing = Packing {
            packed: &caches.packed,
            is_exact: options.exact,
            store: options.packed_store.as_ref(),
            release: options.release,
        };
        let context = PlanContext { names: program, graph, nodes, recorder: &caches.recorder, packing };
        let given = lock(&caches.given).clone();
        if let Some(given) = given {
            let mut partition = |may_assume| define(program, self, graph, at, may_assume);
            if let Some(plan) = given.plan(&context, at, &mut partition)? {
                return Ok(Some(plan));
            }
        }
        let partition = define(program, self, graph, at, may_assume)?;
        let Some(&last) = nodes.get(partition.last()) else { return Ok(None) };
        Plan::new(partition, &context).map_err(|why| {
            self.failed(last, why.code(), &format!("planning up to this node was stopped: {why}"))
        })
    }
}
