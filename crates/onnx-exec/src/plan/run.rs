//! Plans, run.

use super::{Kernel, Member, Place, Plan, Slot, Source, Step, root};
use crate::budget::{Charge, spend};
use crate::failure::{Failure, fail};
use crate::list::filled;
use crate::loops::{View, Worker, parallel};
use crate::pool;
use crate::run::Run;
use crate::tensor::{Tensor, width};
use crate::value::Value;
use onnx_ir::diag::Diagnostic;
use smallvec::SmallVec;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Steps of a kernel for which it is not worth it to ask other threads.
const LEAST_STEPS: usize = 1 << 15;

/// Why a plan was not carried out.
pub(crate) enum Stopped {
    /// The plain way says what is wrong, and of which node.
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
    /// Computes what the nodes of the plan compute, as values of the run.
    pub(crate) fn run(&self, run: &mut Run<'_, '_>) -> Result<(), Stopped> {
        let _charge = Charge::of(self.arena)?;
        let mut arena = run.executable.recycler.take(self.arena)?;
        self.steps(run, arena.bytes_mut())
    }

    fn steps(&self, run: &mut Run<'_, '_>, arena: &mut [u8]) -> Result<(), Stopped> {
        let mut own: Vec<Option<Tensor>> = vec![None; self.slots.len()];
        for step in &self.steps {
            match step {
                Step::Kernel(kernel) => {
                    kernel.nodes.iter().try_for_each(|node| run.limits(*node))?;
                    let start = run.is_timed().then(Instant::now);
                    let done = spend(kernel.steps()).and_then(|()| self.kernel(kernel, run, arena, &mut own));
                    done.map_err(|why| match kernel.node() {
                        // Nobody needs less.
                        Some(node) if why.is_limit() => {
                            Stopped::Told(run.failed(node, why.code(), &why.to_string()))
                        }
                        Some(_) | None => Stopped::Failed(why),
                    })?;
                    if let Some(start) = start {
                        self.tell(kernel, run, start, start.elapsed());
                    }
                }
                Step::Node(node) => {
                    run.limits(*node)?;
                    run.single(*node)?;
                    self.is_as_expected(run, *node)?;
                }
                Step::Publish(value, slot) => {
                    let tensor = self.tensor(*slot, run, &own)?.reshaped(&self.slots[*slot].dims)?;
                    run.set(*value, Value::Tensor(tensor));
                }
                Step::Release(values, slots) => {
                    values.iter().for_each(|value| run.forget(*value));
                    slots.iter().for_each(|slot| own[*slot] = None);
                }
            }
        }
        Ok(())
    }

    /// Inference may have been wrong about a node.
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

    /// The tensor that is a value, a constant, or has memory of its own.
    fn tensor<'t>(
        &'t self,
        slot: usize,
        run: &'t Run<'_, '_>,
        own: &'t [Option<Tensor>],
    ) -> Result<&'t Tensor, Failure> {
        let slot = root(&self.slots, slot);
        let tensor = match &self.slots[slot].source {
            Source::Value(value) => run.get(*value).and_then(|value| value.tensor().ok()),
            Source::Constant(tensor) => Some(tensor),
            Source::Formula | Source::Alias(_) => own[slot].as_ref(),
        };
        tensor.ok_or_else(|| Failure::new("a value that is read is not there"))
    }

    fn kernel(
        &self,
        kernel: &Kernel,
        run: &Run<'_, '_>,
        arena: &mut [u8],
        own: &mut [Option<Tensor>],
    ) -> Result<(), Failure> {
        // What it computes, apart from what it reads.
        let mut mine: SmallVec<[Option<Tensor>; 4]> = SmallVec::new();
        for member in &kernel.members {
            let slot = member.assignment.slot;
            mine.push(match self.places[slot] {
                Place::Own => {
                    let Slot { elem, dims, .. } = &self.slots[slot];
                    Some(Tensor::recycled(*elem, dims, &run.executable.recycler)?)
                }
                Place::Elsewhere | Place::Arena(_) | Place::Local => None,
            });
        }
        let mut regions = Regions::of(self, kernel, arena)?;
        let mut outs: Outs<'_> = SmallVec::new();
        for (member, mine) in kernel.members.iter().zip(&mut mine) {
            outs.push(match (mine, member.is_local) {
                (Some(tensor), _) => Some(tensor.bytes_mut()?),
                (None, true) => None,
                (None, false) => Some(regions.take(member.assignment.slot)?),
            });
        }
        let mut around: SmallVec<[Option<View<'_>>; 8]> = SmallVec::new();
        for &slot in &kernel.loads {
            let of = root(&self.slots, slot);
            let elem = self.slots[slot].elem;
            around.push(if kernel.members.iter().any(|m| m.assignment.slot == of) {
                None
            } else if matches!(self.places[of], Place::Arena(_)) {
                Some(View { elem, bytes: regions.read(of)?, first: 0 })
            } else {
                Some(View::of(self.tensor(of, run, own)?))
            });
        }
        kernel.run(&around, outs)?;
        drop(around);
        for (member, mine) in kernel.members.iter().zip(mine) {
            if let Some(tensor) = mine {
                own[member.assignment.slot] = Some(tensor);
            }
        }
        Ok(())
    }

    fn tell(&self, kernel: &Kernel, run: &Run<'_, '_>, start: Instant, took: Duration) {
        let Some(node) = kernel.node() else { return };
        let results = kernel.members.iter().filter(|m| !m.is_local).map(|m| &self.slots[m.assignment.slot]);
        let results: Vec<_> = results.map(|slot| (slot.elem, slot.dims.clone())).collect();
        let name = run.executable.model.text(run.executable.body().nodes[node].name);
        let (op, nodes, work) = (&*kernel.label(run.executable), &kernel.nodes[..], self.work(kernel));
        run.tell(&crate::run::Step { op, name, nodes, results: &results, start, took, work });
    }
}

impl Kernel {
    /// The last of its nodes.
    fn node(&self) -> Option<onnx_ir::NodeId> {
        self.nodes.last().copied()
    }

    /// How many elements are computed, those that are combined counted.
    fn steps(&self) -> usize {
        self.members.iter().map(|member| member.nest.steps()).fold(0, usize::saturating_add)
    }

    /// Whether blocks of rows are worth more than one thread.
    pub(super) fn is_parallel(&self) -> bool {
        self.steps() >= LEAST_STEPS
    }

    /// Computes all rows, on the threads that there are.
    fn run(&self, around: &[Option<View<'_>>], outs: Outs<'_>) -> Result<(), Failure> {
        if let ([member], [Some(_)]) = (&self.members[..], &outs[..]) {
            let mut out = outs.into_iter().flatten();
            return out.next().map_or(Ok(()), |out| member.nest.run_all(around, out, &member.workers));
        }
        let blocks = self.rows.div_ceil(self.block.max(1));
        let threads = if self.is_parallel() { pool::threads().min(blocks).max(1) } else { 1 };
        if threads == 1 {
            return self.rows(around, 0..self.rows, outs);
        }
        let mut rest = outs;
        let mut parts = Vec::with_capacity(threads);
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
        parallel(parts, |(rows, outs)| self.rows(around, rows, outs))
    }

    /// Computes some rows, block by block.
    fn rows(&self, around: &[Option<View<'_>>], rows: Range<usize>, outs: Outs<'_>) -> Result<(), Failure> {
        let local: usize =
            self.members.iter().filter(|m| m.is_local).map(|m| words(m.bytes(self.block))).sum();
        let mut local = filled(local, 0u128)?;
        let mut local: &mut [u128] = &mut local;
        let mut outs: SmallVec<[&mut [u8]; 8]> = (self.members.iter().zip(outs))
            .map(|(member, out)| match out {
                Some(out) => out,
                None => {
                    let bytes = member.bytes(self.block);
                    let (now, later) = std::mem::take(&mut local).split_at_mut(words(bytes));
                    local = later;
                    &mut bytemuck::cast_slice_mut(now)[..bytes]
                }
            })
            .collect();
        let mut workers: SmallVec<[Worker; 4]> =
            self.members.iter().map(|member| member.workers.take(&member.nest)).collect();
        let done = self.blocks(around, rows, &mut outs, &mut workers);
        for (member, worker) in self.members.iter().zip(workers) {
            member.workers.give_back(&member.nest, worker);
        }
        done
    }

    /// The same with memory for all members: what only this kernel reads has a block.
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
            // The row that the memory of a member begins with.
            let begin = |member: &Member| if member.is_local { block.start } else { rows.start };
            for (i, (member, worker)) in self.members.iter().zip(&mut *workers).enumerate() {
                let (before, rest) = outs.split_at_mut(i);
                let mut operands: SmallVec<[Option<View<'_>>; 8]> = SmallVec::from_slice(around);
                for &(at, by) in &member.inner {
                    let from = &self.members[by];
                    operands[at] = Some(View {
                        elem: from.assignment.formula.elem,
                        bytes: before.get(by).map_or(&[], |out| &**out),
                        first: (begin(from) * from.each) as i64,
                    });
                }
                let Some(out) = rest.first_mut() else { fail!("a formula has no place") };
                let from = member.bytes(block.start - begin(member));
                let Some(out) = out.get_mut(from..from + member.bytes(block.len())) else {
                    fail!("a result has fewer elements than are computed")
                };
                worker.run(
                    &member.nest,
                    &operands,
                    block.start * member.each..block.end * member.each,
                    out,
                )?;
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

fn words(bytes: usize) -> usize {
    bytes.div_ceil(size_of::<u128>())
}

/// The memory of the results of a kernel that are not local.
type Outs<'o> = SmallVec<[Option<&'o mut [u8]>; 4]>;

/// The parts of the arena that a kernel reads and writes.
struct Regions<'a> {
    parts: SmallVec<[(usize, Part<'a>); 8]>,
}

enum Part<'a> {
    Written(Option<&'a mut [u8]>),
    Read(&'a [u8]),
}

impl<'a> Regions<'a> {
    fn of(plan: &Plan, kernel: &Kernel, arena: &'a mut [u8]) -> Result<Self, Failure> {
        let mut wanted: SmallVec<[(Range<usize>, usize, bool); 8]> = SmallVec::new();
        let mut want = |slot: usize, is_written: bool| {
            if let Place::Arena(start) = plan.places[slot]
                && wanted.iter().all(|(_, other, _)| *other != slot)
            {
                wanted.push((start..start + plan.slots[slot].bytes(), slot, is_written));
            }
        };
        kernel.members.iter().for_each(|member| want(member.assignment.slot, true));
        kernel.loads.iter().for_each(|slot| want(root(&plan.slots, *slot), false));
        wanted.sort_by_key(|(range, slot, _)| (range.start, range.end, *slot));
        let mut rest = arena;
        let mut begin = 0;
        let mut parts = SmallVec::new();
        for (range, slot, is_written) in wanted {
            let Some(skipped) =
                range.start.checked_sub(begin).filter(|skipped| skipped + range.len() <= rest.len())
            else {
                fail!("two tensors of a kernel overlap")
            };
            let (now, later) = std::mem::take(&mut rest).split_at_mut(skipped + range.len());
            let now = &mut now[skipped..];
            (rest, begin) = (later, range.end);
            parts.push((slot, if is_written { Part::Written(Some(now)) } else { Part::Read(now) }));
        }
        Ok(Regions { parts })
    }

    fn take(&mut self, slot: usize) -> Result<&'a mut [u8], Failure> {
        let found = self.parts.iter_mut().find(|(other, _)| *other == slot);
        match found {
            Some((_, Part::Written(part))) if part.is_some() => Ok(part.take().unwrap_or_default()),
            Some(_) | None => fail!("a result has no place"),
        }
    }

    fn read(&self, slot: usize) -> Result<&'a [u8], Failure> {
        match self.parts.iter().find(|(other, _)| *other == slot) {
            Some((_, Part::Read(part))) => Ok(part),
            Some(_) | None => fail!("what is read has no place"),
        }
    }
}
