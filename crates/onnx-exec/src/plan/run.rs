//! Runs plans.

use super::room::{Access, Around, Desk, Load, Outs, Own, Room, workers_at};
use super::{Kernel, Member, Plan, PlanStep, Slot, SlotSource, root};
use crate::budget::{Charge, spend};
use crate::failure::{Failure, fail};
use crate::loops::{Results, View, Worker};
use crate::parallel::share;
use crate::pool;
use crate::recycle::ALIGN;
use crate::run::Run;
use crate::scratch::scratch;
use crate::tensor::{Tensor, width};
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use smallvec::SmallVec;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Kernels with fewer steps are not worth several threads.
const LEAST_STEPS: usize = 1 << 15;

/// Why a plan stopped.
pub(crate) enum Stopped {
    /// Running node by node finds the node that fails.
    Failed(Failure),
    Told(Box<Diagnostic>),
}

impl From<Failure> for Stopped {
    fn from(why: Failure) -> Self {
        Stopped::Failed(why)
    }
}

impl From<Box<Diagnostic>> for Stopped {
    fn from(finding: Box<Diagnostic>) -> Self {
        Stopped::Told(finding)
    }
}

impl Plan {
    /// Runs the plan and stores its results as values of the run.
    pub(crate) fn run(&self, run: &mut Run<'_, '_>) -> Result<(), Stopped> {
        let mut room = self.rooms.take(self)?;
        let _charge = Charge::of(self.arena + room.local.bytes().len())?;
        if room.arena.bytes().len() < self.arena {
            let mut arena = run.executable.recycler.take(self.arena)?;
            self.steps(run, arena.bytes_mut(), &mut room)?;
        } else {
            let mut arena = std::mem::take(&mut room.arena);
            self.steps(run, arena.bytes_mut(), &mut room)?;
            room.arena = arena;
        }
        self.rooms.give_back(room);
        Ok(())
    }

    fn steps(&self, run: &mut Run<'_, '_>, arena: &mut [u8], room: &mut Room) -> Result<(), Stopped> {
        let Room { own, desks, local, .. } = room;
        let mut accesses = self.rooms.accesses(self).iter().zip(desks);
        for step in &self.steps {
            match step {
                PlanStep::Kernel(kernel) => {
                    run.limits_of(&kernel.nodes)?;
                    let start = run.is_timed().then(Instant::now);
                    let Some((access, desk)) = accesses.next() else { return Err(no_room().into()) };
                    let memory = Memory { arena, own, desk, local: local.bytes_mut() };
                    let done = spend(access.steps).and_then(|()| self.kernel(kernel, access, run, memory));
                    done.map_err(|why| match kernel.node() {
                        // Running node by node would need at least as much.
                        Some(node) if why.is_limit() => {
                            Stopped::Told(run.failed(node, why.code(), &why.to_string()))
                        }
                        Some(_) | None => Stopped::Failed(why),
                    })?;
                    if let Some(start) = start {
                        self.tell(kernel, run, start, start.elapsed());
                    }
                }
                PlanStep::Node(node) => {
                    run.limits(*node)?;
                    run.single(*node)?;
                    self.is_as_expected(run, *node)?;
                }
                PlanStep::Publish(value, slot) => {
                    let tensor = self.tensor(*slot, run, own)?.reshaped(&self.slots[*slot].dims)?;
                    run.set(*value, Value::Tensor(tensor));
                }
                PlanStep::Release(values, slots) => {
                    values.iter().for_each(|value| run.forget(*value));
                    slots.iter().for_each(|slot| own[*slot] = None);
                }
            }
        }
        Ok(())
    }

    /// Checks the results of a node against inference.
    fn is_as_expected(&self, run: &Run<'_, '_>, node: onnx_ir::NodeId) -> Result<(), Failure> {
        for value in run.executable.body().nodes[node].outputs.iter().flatten() {
            let Some(slot) = self.expected.get(value) else { continue };
            let Slot { elem, dims, .. } = &self.slots[*slot];
            let is_same = match run.get(*value) {
                Some(Value::Tensor(tensor)) => tensor.elem() == *elem && tensor.dims() == &dims[..],
                Some(_) | None => false,
            };
            if !is_same {
                fail!("a result has another type than inference has said");
            }
        }
        Ok(())
    }

    /// The tensor of a slot that is a value, a constant, or has memory of its own.
    fn tensor<'t>(
        &'t self,
        slot: usize,
        run: &'t Run<'_, '_>,
        own: &'t [Option<Tensor>],
    ) -> Result<&'t Tensor, Failure> {
        let slot = root(&self.slots, slot);
        let tensor = match &self.slots[slot].source {
            SlotSource::Value(value) => run.get(*value).and_then(|value| value.tensor().ok()),
            SlotSource::Constant(tensor) => Some(tensor),
            SlotSource::Formula | SlotSource::Alias(_) => own[slot].as_ref(),
        };
        tensor.ok_or_else(missing)
    }

    fn kernel(
        &self,
        kernel: &Kernel,
        access: &Access,
        run: &mut Run<'_, '_>,
        memory: Memory<'_>,
    ) -> Result<(), Failure> {
        let Memory { arena, own, desk, local } = memory;
        // Results with memory of their own, separate from the operands.
        let mut mine: SmallVec<[(usize, Own, Tensor); 4]> = SmallVec::new();
        for (member, it) in access.own.iter().enumerate() {
            let Some(it) = it else { continue };
            let Slot { elem, dims, .. } = &self.slots[it.slot];
            let tensor = match it.value.and_then(|value| run.destination(value, *elem, dims)) {
                Some(tensor) => tensor,
                None => Tensor::recycled(*elem, dims, &run.executable.recycler)?,
            };
            mine.push((member, *it, tensor));
        }
        let mut outs: Outs<'_> = kernel.members.iter().map(|_| None).collect();
        let mut around: Around<'_> = kernel.loads.iter().map(|_| None).collect();
        access.cut(kernel, &self.slots, arena, &mut around, &mut outs)?;
        for (member, _, tensor) in &mut mine {
            outs[*member] = Some(tensor.bytes_mut()?);
        }
        for (around, load) in around.iter_mut().zip(&access.loads) {
            let tensor = match load {
                Load::Here => continue,
                Load::Value(value) => run.get(*value).and_then(|value| value.tensor().ok()),
                Load::Constant(slot) => match &self.slots[*slot].source {
                    SlotSource::Constant(tensor) => Some(tensor),
                    SlotSource::Value(_) | SlotSource::Formula | SlotSource::Alias(_) => None,
                },
                Load::Own(slot) => own[*slot].as_ref(),
            };
            *around = Some(View::of(tensor.ok_or_else(missing)?));
        }
        kernel.run(access, &around, outs, desk, local)?;
        drop(around);
        for (_, it, tensor) in mine {
            own[it.slot] = Some(tensor);
        }
        Ok(())
    }

    fn tell(&self, kernel: &Kernel, run: &Run<'_, '_>, start: Instant, took: Duration) {
        let Some(node) = kernel.node() else { return };
        let results = kernel.members.iter().filter(|m| !m.is_local).map(|m| &self.slots[m.assignment.slot]);
        let results: Vec<_> = results.map(|slot| (slot.elem, slot.dims.clone())).collect();
        let name = run.executable.model.text(run.executable.body().nodes[node].name);
        let (op, nodes, work) = (&*kernel.label(run.executable), &kernel.nodes[..], self.work(kernel));
        run.tell(&crate::run::TimedStep { op, name, nodes, results: &results, start, took, work });
    }
}

impl Kernel {
    /// Its last node.
    fn node(&self) -> Option<onnx_ir::NodeId> {
        self.nodes.last().copied()
    }

    /// The number of evaluated elements, counting the elements of reductions.
    pub(super) fn steps(&self) -> usize {
        self.members.iter().map(|member| member.nest.steps()).fold(0, usize::saturating_add)
    }

    /// Whether its blocks are worth several threads.
    pub(super) fn is_parallel(&self) -> bool {
        self.steps() >= LEAST_STEPS
    }

    /// Computes all rows on the threads of the pool.
    fn run<'o>(
        &'o self,
        access: &Access,
        around: &[Option<View<'_>>],
        mut outs: Outs<'_>,
        desk: &'o mut Desk,
        local: &mut [u8],
    ) -> Result<(), Failure> {
        let blocks = self.rows.div_ceil(self.block.max(1));
        let threads = if access.is_little { 1 } else { pool::threads() };
        if let ([member], [Some(out)]) = (&self.members[..], &mut outs[..]) {
            let count = member.nest.count();
            if threads > 1 {
                return member.nest.run_all(around, out, &member.workers);
            }
            if !member.nest.keeps_worker() {
                return member.nest.run(around, 0..count, out, &member.workers);
            }
            let workers = workers_at(desk, self.members.iter().map(|member| &member.nest));
            return match workers {
                [worker] => worker.run(&member.nest, around, 0..count, out),
                _ => Err(no_room()),
            };
        }
        let threads = threads.min(blocks).max(1);
        if threads == 1 {
            let workers = workers_at(desk, self.members.iter().map(|member| &member.nest));
            self.rows(around, 0..self.rows, outs, local, workers)?;
            if !self.members.iter().all(|member| member.nest.keeps_worker()) {
                desk.clear();
            }
            return Ok(());
        }
        let mut rest = outs;
        let mut parts: SmallVec<[_; 4]> = SmallVec::with_capacity(threads);
        let mut first = 0;
        for thread in 1..=threads {
            let last = (blocks * thread / threads).saturating_mul(self.block).min(self.rows);
            let (mut now, mut later) = (Outs::new(), Outs::new());
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
            let mut local = scratch::<u8>(access.local)?;
            let members = self.members.iter();
            let mut workers: Desk = members.map(|member| member.workers.take(&member.nest)).collect();
            let done = self.rows(around, rows, outs, &mut local, &mut workers);
            for (member, worker) in self.members.iter().zip(workers) {
                member.workers.give_back(&member.nest, worker);
            }
            done
        })
    }

    /// Computes some rows, block by block.
    fn rows(
        &self,
        around: &[Option<View<'_>>],
        rows: Range<usize>,
        outs: Outs<'_>,
        mut local: &mut [u8],
        workers: &mut [Worker],
    ) -> Result<(), Failure> {
        let mut memory: SmallVec<[&mut [u8]; 64]> = SmallVec::new();
        for (member, out) in self.members.iter().zip(outs) {
            memory.push(match out {
                Some(out) => out,
                None => {
                    let bytes = member.bytes(self.block);
                    let Some((now, later)) = local.split_at_mut_checked(bytes.next_multiple_of(ALIGN)) else {
                        return Err(no_room());
                    };
                    local = later;
                    &mut now[..bytes]
                }
            });
        }
        self.blocks(around, rows, &mut memory, workers)
    }

    /// The same with memory for all members, including blocks for local results.
    fn blocks(
        &self,
        around: &[Option<View<'_>>],
        rows: Range<usize>,
        outs: &mut [&mut [u8]],
        workers: &mut [Worker],
    ) -> Result<(), Failure> {
        let mut first = rows.start;
        while first < rows.end {
            let block = first..rows.end.min(first.saturating_add(self.block.max(1)));
            // The first row in the memory of a member.
            let begin = |member: &Member| if member.is_local { block.start } else { rows.start };
            let mut operands: Around<'_> = SmallVec::from_slice(around);
            let mut results: SmallVec<[&[u8]; 64]> = SmallVec::new();
            // The elements of a member in this block.
            let elements = |member: &Member| block.start * member.each..block.end * member.each;
            let part = |member: &Member| {
                let from = member.bytes(block.start - begin(member));
                from..from + member.bytes(block.len())
            };
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
                    return Err(no_room());
                };
                let mut quotient = if softmax.is_divided() { next() } else { None };
                let to = Results {
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

impl Member {
    fn width(&self) -> usize {
        width(self.assignment.formula.elem).unwrap_or(1)
    }

    pub(super) fn bytes(&self, rows: usize) -> usize {
        rows * self.each * self.width()
    }
}

/// The memory of a kernel.
struct Memory<'m> {
    arena: &'m mut [u8],
    own: &'m mut [Option<Tensor>],
    desk: &'m mut Desk,
    local: &'m mut [u8],
}

fn missing() -> Failure {
    Failure::new("a value that is read is not there")
}

fn too_few() -> Failure {
    Failure::new("a result has fewer elements than are computed")
}

fn no_room() -> Failure {
    Failure::new("a kernel has no room in its plan")
}
