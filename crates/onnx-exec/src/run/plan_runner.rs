//! Runs plans.

use super::Run;
use super::workspace::{
    Access, KernelWorkers, Load, Operands, OwnedResult, Results, Workspace, WorkspacePool, workers_at,
};
use crate::budget::{Charge, spend};
use crate::failure::Failure;
use crate::loops::{self, View, Worker};
use crate::options::TimedStep;
use crate::parallel::share;
use crate::plan::{Kernel, Member, Plan, PlanStep, Slot, SlotSource, root};
use crate::pool;
use crate::program::Action;
use crate::recycle::ALIGN;
use crate::scratch::scratch;
use crate::tensor::Tensor;
use onnx_ir::diag::{Diagnostic, code};
use onnx_ir::{NodeId, ValueId, dense_type_text};
use onnx_kernels::Value;
use smallvec::SmallVec;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Why a plan stopped.
pub(super) enum Stop {
    /// Running node by node finds the node that fails.
    RetryByNode(Failure),
    Reported(Box<Diagnostic>),
}

impl From<Failure> for Stop {
    fn from(why: Failure) -> Self {
        Stop::RetryByNode(why)
    }
}

impl From<Box<Diagnostic>> for Stop {
    fn from(finding: Box<Diagnostic>) -> Self {
        Stop::Reported(finding)
    }
}

/// A plan and the memory of its runs.
pub(crate) struct PlanRunner {
    pub(crate) plan: Plan,
    workspaces: WorkspacePool,
}

impl PlanRunner {
    pub(super) fn new(plan: Plan) -> PlanRunner {
        PlanRunner { plan, workspaces: WorkspacePool::default() }
    }

    /// Runs the plan and stores its results as values of the run.
    pub(super) fn run(&self, run: &mut Run<'_, '_>) -> Result<(), Stop> {
        let plan = &self.plan;
        let mut workspace = self.workspaces.take(plan)?;
        let _charge = Charge::of(plan.arena + workspace.block_memory.bytes().len())?;
        if workspace.arena.bytes().len() < plan.arena {
            let mut arena = run.caches.recycler.take(plan.arena)?;
            self.steps(run, arena.bytes_mut(), &mut workspace)?;
        } else {
            let mut arena = std::mem::take(&mut workspace.arena);
            self.steps(run, arena.bytes_mut(), &mut workspace)?;
            workspace.arena = arena;
        }
        self.workspaces.give_back(workspace);
        Ok(())
    }

    fn steps(&self, run: &mut Run<'_, '_>, arena: &mut [u8], workspace: &mut Workspace) -> Result<(), Stop> {
        let plan = &self.plan;
        let Workspace { owned, workers, block_memory, .. } = workspace;
        let mut accesses = self.workspaces.accesses(plan).iter().zip(workers);
        for step in &plan.steps {
            match step {
                PlanStep::Kernel(kernel) => {
                    run.limits_of(&kernel.nodes)?;
                    let start = run.is_timed().then(Instant::now);
                    let Some((access, workers)) = accesses.next() else { return Err(no_workspace().into()) };
                    let blocks = block_memory.bytes_mut();
                    let memory = Memory { arena, owned, workers, blocks };
                    let done =
                        spend(access.steps).and_then(|()| plan.run_kernel(kernel, access, run, memory));
                    done.map_err(|why| match kernel.last_node() {
                        // Running node by node would need at least as much.
                        Some(node) if why.is_limit() => {
                            Stop::Reported(run.failed(node, why.code(), &why.to_string()))
                        }
                        Some(_) | None => Stop::RetryByNode(why),
                    })?;
                    if let Some(start) = start {
                        plan.report_time(kernel, run, start, start.elapsed());
                    }
                }
                PlanStep::Node(step) => {
                    run.limits(step.node)?;
                    run.single(step.node)?;
                    plan.is_as_expected(run, step.node, &step.results)?;
                }
                PlanStep::Publish(value, slot) => {
                    let tensor = plan.tensor(*slot, run, owned)?.reshaped(&plan.slots[*slot].dims)?;
                    run.set(*value, Value::Tensor(tensor));
                }
                PlanStep::Release(values, slots) => {
                    values.iter().for_each(|value| run.forget(*value));
                    slots.iter().for_each(|slot| owned[*slot] = None);
                }
            }
        }
        Ok(())
    }
}

impl Plan {
    /// Checks the results of a node against inference.
    fn is_as_expected(&self, run: &Run<'_, '_>, node: NodeId, results: &[ValueId]) -> Result<(), Stop> {
        for value in results {
            let Some(slot) = self.expected.get(value) else { continue };
            let Slot { elem, dims, .. } = &self.slots[*slot];
            let is = match run.get(*value) {
                Some(Value::Tensor(tensor)) if tensor.elem() == *elem && tensor.dims() == &dims[..] => {
                    continue;
                }
                Some(other) => other.type_text(),
                None => "missing".to_owned(),
            };
            let (name, expected) = (run.program.value_name(*value), dense_type_text(*elem, dims));
            // An operator of the caller does not become right when it is run by itself.
            if matches!(run.program.actions[node], Some(Action::Custom(_))) {
                let why = format!("its result `{name}` is {is}, but its inference says {expected}");
                return Err(Stop::Reported(run.failed(node, &code::RUN_FAILED, &why)));
            }
            return Err(Stop::RetryByNode(Failure::new(format!(
                "`{name}` is {is}, inference says {expected}"
            ))));
        }
        Ok(())
    }

    /// The tensor of a slot that is a value, a constant, or has memory of its own.
    fn tensor<'t>(
        &'t self,
        slot: usize,
        run: &'t Run<'_, '_>,
        owned: &'t [Option<Tensor>],
    ) -> Result<&'t Tensor, Failure> {
        let slot = root(&self.slots, slot);
        let tensor = match &self.slots[slot].source {
            SlotSource::Value(value) => run.get(*value).and_then(|value| value.tensor().ok()),
            SlotSource::Constant(tensor) => Some(tensor),
            SlotSource::Formula | SlotSource::Alias(_) => owned[slot].as_ref(),
        };
        tensor.ok_or_else(missing)
    }

    /// Runs a kernel on the memory of its operands and results.
    fn run_kernel(
        &self,
        kernel: &Kernel,
        access: &Access,
        run: &mut Run<'_, '_>,
        memory: Memory<'_>,
    ) -> Result<(), Failure> {
        let Memory { arena, owned, workers, blocks } = memory;
        // Results with memory of their own, separate from the operands.
        let mut results: SmallVec<[(usize, OwnedResult, Tensor); 4]> = SmallVec::new();
        for (member, it) in access.owned.iter().enumerate() {
            let Some(it) = it else { continue };
            let Slot { elem, dims, .. } = &self.slots[it.slot];
            let tensor = match it.value.and_then(|value| run.destination(value, *elem, dims)) {
                Some(tensor) => tensor,
                None => Tensor::recycled(*elem, dims, &run.caches.recycler)?,
            };
            results.push((member, *it, tensor));
        }
        let mut outs: Results<'_> = kernel.members.iter().map(|_| None).collect();
        let mut operands: Operands<'_> = kernel.loads.iter().map(|_| None).collect();
        access.cut(kernel, &self.slots, arena, &mut operands, &mut outs)?;
        for (member, _, tensor) in &mut results {
            outs[*member] = Some(tensor.bytes_mut()?);
        }
        // Operands outside of the arena.
        for (operand, load) in operands.iter_mut().zip(&access.loads) {
            let tensor = match load {
                Load::Arena => continue,
                Load::Value(value) => run.get(*value).and_then(|value| value.tensor().ok()),
                Load::Constant(slot) => match &self.slots[*slot].source {
                    SlotSource::Constant(tensor) => Some(tensor),
                    SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => None,
                },
                Load::Owned(slot) => owned[*slot].as_ref(),
            };
            *operand = Some(View::of(tensor.ok_or_else(missing)?));
        }
        kernel.run(access, &operands, outs, workers, blocks)?;
        drop(operands);
        for (_, it, tensor) in results {
            owned[it.slot] = Some(tensor);
        }
        Ok(())
    }

    fn report_time(&self, kernel: &Kernel, run: &Run<'_, '_>, start: Instant, took: Duration) {
        let Some(node) = kernel.last_node() else { return };
        let results = kernel.members.iter().filter(|m| !m.is_local).map(|m| &self.slots[m.assignment.slot]);
        let results: Vec<_> = results.map(|slot| (slot.elem, slot.dims.clone())).collect();
        let name = run.program.model.text(run.program.body().nodes[node].name);
        let (op, nodes, work) = (&*kernel.label(run.program), &kernel.nodes[..], self.work(kernel));
        run.tell(&TimedStep { op, name, nodes, results: &results, start, took, work });
    }
}

impl Kernel {
    /// Computes all rows on the threads of the pool.
    fn run<'o>(
        &'o self,
        access: &Access,
        operands: &[Option<View<'_>>],
        mut outs: Results<'_>,
        kept: &'o mut KernelWorkers,
        block_memory: &mut [u8],
    ) -> Result<(), Failure> {
        let blocks = self.rows.div_ceil(self.block.max(1));
        let threads = if access.is_small { 1 } else { pool::threads() };
        // A single formula divides its elements itself.
        if let ([member], [Some(out)]) = (&self.members[..], &mut outs[..]) {
            let count = member.nest.count();
            if threads > 1 {
                return member.nest.run_all(operands, out, &member.workers);
            }
            if !member.nest.keeps_worker() {
                return member.nest.run(operands, 0..count, out, &member.workers);
            }
            let workers = workers_at(kept, self.members.iter().map(|member| &member.nest));
            return match workers {
                [worker] => worker.run(&member.nest, operands, 0..count, out),
                _ => Err(no_workspace()),
            };
        }
        // Several formulas on one thread use the kept workers.
        let threads = threads.min(blocks).max(1);
        if threads == 1 {
            let workers = workers_at(kept, self.members.iter().map(|member| &member.nest));
            self.rows(operands, 0..self.rows, outs, block_memory, workers)?;
            if !self.members.iter().all(|member| member.nest.keeps_worker()) {
                kept.clear();
            }
            return Ok(());
        }
        // Each thread gets whole blocks of rows.
        let mut rest = outs;
        let mut parts: SmallVec<[_; 4]> = SmallVec::with_capacity(threads);
        let mut first = 0;
        for thread in 1..=threads {
            let last = (blocks * thread / threads).saturating_mul(self.block).min(self.rows);
            let (mut now, mut later) = (Results::new(), Results::new());
            for (member, out) in self.members.iter().zip(rest) {
                let (a, b) = match out {
                    Some(out) => {
                        let (a, b) = out.split_at_mut(member.bytes(last - first).min(out.len()));
                        (Some(a), Some(b))
                    }
                    None => (None, None),
                };
                now.push(a);
                later.push(b);
            }
            parts.push((first..last, now));
            (rest, first) = (later, last);
        }
        share(parts, |(rows, outs)| {
            let mut block_memory = scratch::<u8>(access.block_bytes)?;
            let members = self.members.iter();
            let mut workers: KernelWorkers =
                members.map(|member| member.workers.take(&member.nest)).collect();
            let done = self.rows(operands, rows, outs, &mut block_memory, &mut workers);
            for (member, worker) in self.members.iter().zip(workers) {
                member.workers.give_back(&member.nest, worker);
            }
            done
        })
    }

    /// Computes some rows; takes the blocks for local results from `block_memory`.
    fn rows(
        &self,
        operands: &[Option<View<'_>>],
        rows: Range<usize>,
        outs: Results<'_>,
        mut block_memory: &mut [u8],
        workers: &mut [Worker],
    ) -> Result<(), Failure> {
        let mut memory: SmallVec<[&mut [u8]; 64]> = SmallVec::new();
        for (member, out) in self.members.iter().zip(outs) {
            memory.push(match out {
                Some(out) => out,
                None => {
                    let bytes = member.bytes(self.block);
                    let Some((now, later)) = block_memory.split_at_mut_checked(bytes.next_multiple_of(ALIGN))
                    else {
                        return Err(no_workspace());
                    };
                    block_memory = later;
                    &mut now[..bytes]
                }
            });
        }
        self.blocks(operands, rows, &mut memory, workers)
    }

    /// Computes some rows, block by block, into memory for all members, including blocks for local results.
    fn blocks(
        &self,
        operands: &[Option<View<'_>>],
        rows: Range<usize>,
        outs: &mut [&mut [u8]],
        workers: &mut [Worker],
    ) -> Result<(), Failure> {
        let mut first = rows.start;
        while first < rows.end {
            let block = first..rows.end.min(first.saturating_add(self.block.max(1)));
            // The first row in the memory of a member.
            let begin = |member: &Member| if member.is_local { block.start } else { rows.start };
            let mut operands: Operands<'_> = SmallVec::from_slice(operands);
            let mut results: SmallVec<[&[u8]; 64]> = SmallVec::new();
            // The elements of a member in this block.
            let elements = |member: &Member| block.start * member.each..block.end * member.each;
            let part = |member: &Member| {
                let from = member.bytes(block.start - begin(member));
                from..from + member.bytes(block.len())
            };
            // The members, one after the other; those of a softmax together.
            let mut softmaxes = self.softmaxes.iter().peekable();
            let mut outs = outs.iter_mut();
            let mut workers = workers.iter_mut();
            let mut members = self.members.iter().enumerate();
            while let (Some((at, member)), Some(worker), Some(out)) =
                (members.next(), workers.next(), outs.next())
            {
                for &(number, by) in &member.inner {
                    let from = &self.members[by];
                    operands[number] = Some(View {
                        elem: from.assignment.formula.elem,
                        bytes: results.get(by).copied().unwrap_or_default(),
                        first: (begin(from) * from.each) as i64,
                    });
                }
                let Some((_, softmax)) = softmaxes.next_if(|(first, _)| *first == at) else {
                    let Some(to) = out.get_mut(part(member)) else { return Err(too_few()) };
                    worker.run(&member.nest, &operands, elements(member), to)?;
                    results.push(out);
                    continue;
                };
                let mut next = || {
                    workers.next();
                    members.next().map(|(_, member)| member).zip(outs.next())
                };
                let (Some((exps, of_exps)), Some((sums, of_sums))) = (next(), next()) else {
                    return Err(no_workspace());
                };
                let mut quotient = if softmax.is_divided() { next() } else { None };
                let to = loops::Results {
                    most: out.get_mut(part(member)).ok_or_else(too_few)?,
                    exps: of_exps.get_mut(part(exps)).ok_or_else(too_few)?,
                    sums: of_sums.get_mut(part(sums)).ok_or_else(too_few)?,
                    quotients: match &mut quotient {
                        Some((member, out)) => Some(out.get_mut(part(member)).ok_or_else(too_few)?),
                        None => None,
                    },
                };
                softmax.run(&operands, elements(member), to)?;
                results.extend([&**out, &**of_exps, &**of_sums]);
                results.extend(quotient.map(|(_, out)| &**out));
            }
            first = block.end;
        }
        Ok(())
    }
}

/// The memory of a kernel.
struct Memory<'m> {
    arena: &'m mut [u8],
    owned: &'m mut [Option<Tensor>],
    workers: &'m mut KernelWorkers,
    /// Blocks of local results.
    blocks: &'m mut [u8],
}

fn missing() -> Failure {
    Failure::new("a value that is read is not there")
}

fn too_few() -> Failure {
    Failure::new("a result has fewer elements than are computed")
}

fn no_workspace() -> Failure {
    Failure::new("a kernel has no memory in its plan")
}
