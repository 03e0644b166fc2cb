//! Runs a nest.

use super::{Form, Nest, Reduction, StencilPlan};
use crate::budget::spend;
use crate::epilogue::Numbers;
use crate::failure::{Failure, fail};
use crate::lanes::access::store;
use crate::lanes::multiversion::{Body, widest};
use crate::lanes::strip::Strip;
use crate::lanes::view::Operands;
use crate::lanes::{Class, LANES, Reg, Registers, SLACK, short_of, wrap_all};
use crate::pipeline::Out;
use crate::program::Instr;
use crate::program::interpret::{numbers, run, run_into};
use crate::reduce::sums::Columns;
use crate::reduce::{Strips, Totals};
use crate::scratch::AlignedFloats;
use crate::stencil::StencilBuffers;
use crate::tensor::{advance, width};
use onnx_formula::Combine;
use onnx_ir::ElemType;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

impl Nest {
    /// Computes some elements of the result, in row-major order; for a matrix product, all elements at some positions of the
    /// first axis.
    pub fn run(
        &self,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
        workers: &Workers,
    ) -> Result<(), Failure> {
        if elements.is_empty() {
            return Ok(());
        }
        let mut worker = workers.take(self);
        let done = worker.run(self, operands, elements, out);
        workers.give_back(self, worker);
        done
    }

    /// Whether a worker is kept for the next run; for long nests its memory would be cold.
    pub fn keeps_worker(&self) -> bool {
        self.steps() <= MAX_KEPT_STEPS
    }
}

/// The registers, accumulators and buffers of a nest, for any number of runs, one at a time.
pub struct Worker(WorkerState);

enum WorkerState {
    /// Products and copies allocate in the run.
    None,
    Pieces(Vec<Worker>),
    Loops(Box<Loops>),
}

impl Worker {
    /// A worker with the registers and buffers of a nest.
    pub fn new(nest: &Nest) -> Self {
        Worker(match &nest.form {
            Form::Product(_) | Form::Copy(_) => WorkerState::None,
            Form::Pieces(pieces) => {
                WorkerState::Pieces(pieces.pieces.iter().map(|piece| Worker::new(&piece.nest)).collect())
            }
            Form::Loops(_) | Form::Stencil(_) => WorkerState::Loops(Box::new(Loops::new(nest))),
        })
    }

    /// [`Nest::run`] for the nest of this worker.
    pub fn run(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        if elements.is_empty() {
            return Ok(());
        }
        match &nest.form {
            Form::Product(contraction) => contraction.run(operands, elements, out),
            Form::Copy(moved) => moved.run(operands, elements, out),
            Form::Pieces(pieces) => {
                let WorkerState::Pieces(each) = &mut self.0 else { fail!("a worker of another nest") };
                pieces.run(each, operands, width(nest.elem).unwrap_or(1), elements, out)
            }
            Form::Loops(_) | Form::Stencil(_) => {
                let WorkerState::Loops(loops) = &mut self.0 else { fail!("a worker of another nest") };
                loops.run(nest, operands, elements, out)
            }
        }
    }
}

/// Unused workers of a nest.
#[derive(Default)]
pub struct Workers(Mutex<Vec<Worker>>);

/// Workers of nests with more steps are not kept.
const MAX_KEPT_STEPS: usize = 1 << 15;
/// The most workers that are kept.
const MAX_KEPT_WORKERS: usize = 4;

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Workers")
    }
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An unused worker, or a new one.
    pub fn take(&self, nest: &Nest) -> Worker {
        let kept = self.lock().pop();
        kept.unwrap_or_else(|| Worker::new(nest))
    }

    /// Keeps a worker for the next run.
    pub fn give_back(&self, nest: &Nest, worker: Worker) {
        if nest.keeps_worker() {
            let mut kept = self.lock();
            if kept.len() < MAX_KEPT_WORKERS {
                kept.push(worker);
            }
        }
    }
}

/// The most lanes of a strip of pixels.
fn of_pixels(nest: &Nest) -> usize {
    let row = nest.dims.iter().rev().take(2).product();
    let is_widened = nest.stencil().is_some_and(|stencil| stencil.taps.is_widened());
    if is_widened && row <= MAX_PIXEL_ROW_LANES { MAX_PIXEL_LANES.max(row) } else { MAX_PIXEL_LANES }
}

/// The most lanes of pixels that are computed together: their accumulators fit into the first-level cache.
const MAX_PIXEL_LANES: usize = 4 * LANES;
/// The most lanes of a whole row of pixels, whose elements are widened for the rows of results around it too: with those rows, they
/// fit into the second-level cache.
const MAX_PIXEL_ROW_LANES: usize = 16 * LANES;

/// The most lanes of a strip of a single pipeline, which uses no registers in memory.
const MAX_STREAMED_LANES: usize = 16 * LANES;
/// The most lanes of a strip of a single pipeline whose lanes are reduced next.
const MAX_REDUCED_LANES: usize = 4 * LANES;

/// The state of running a nest of loops.
struct Loops {
    body: Registers,
    then: Registers,
    totals: Option<Totals>,
    /// The register of the accumulator.
    total: Reg,
    /// The most lanes of a strip.
    most: usize,
    /// Buffers of stencils.
    laid: StencilBuffers,
    /// Sums of products of bytes, before their conversion to integers.
    sums: AlignedFloats,
    /// WorkerState for numbers of columns.
    numbers: Numbers,
}

/// The columns of a strip that are summed in place: single floats with contiguous lanes, row by row along the reduction.
fn columns<'o>(
    nest: &Nest,
    reduction: Reduction,
    operands: &Operands<'o>,
    strip: Strip,
    at: &[usize],
) -> Option<Columns<'o>> {
    let (last, body) = (nest.dims.len() - 1, nest.run_body());
    let [Instr::Load { to, operand, elem: ElemType::FLOAT, place }] = &body.instrs[..] else { return None };
    let is_sum = reduction.combine == Combine::Sum && body.result == Some(*to) && to.class == Class::Single;
    let is_line = strip.lanes() == strip.n() && strip.is_along(last) && place.by[last] == 1;
    let [rows] = nest.over[..] else { return None };
    if !is_sum || !is_line || rows < MIN_COLUMN_ROWS {
        return None;
    }
    let view = operands.get(*operand).copied().flatten()?;
    let first = usize::try_from(place.at(at) - view.first).ok()?;
    let by = usize::try_from(place.by[nest.dims.len()]).ok()?;
    Columns::of(view.words(), first, by, [rows, strip.n()])
}

/// Columns of fewer rows are summed by strips.
const MIN_COLUMN_ROWS: usize = 4;

/// Converts integers in single floats to integer lanes.
struct ToInts<'t> {
    sums: &'t [f32],
    lanes: &'t mut [i64],
}

impl Body for ToInts<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        // Sums of stencils have at most 24 bits, which are split into twice 12.
        const HALF: f32 = 4096.0;
        self.lanes.iter_mut().zip(self.sums).for_each(|(lane, sum)| {
            let high = (sum / HALF).trunc();
            *lane = i64::from(short_of(high)) * HALF as i64 + i64::from(short_of(sum - high * HALF));
        });
    }
}

impl Nest {
    /// The most lanes of a strip of the body.
    fn most_lanes(&self) -> usize {
        let body = self.run_body();
        let extents: SmallVec<[usize; 8]> = match self.reduction {
            None => SmallVec::from_slice(&self.dims),
            // For a reduction along strips, the rows of a strip are positions of the last axis of the result.
            Some(reduction) if reduction.is_inner && self.over.len() == 1 => {
                self.dims.last().into_iter().chain(&self.over).copied().collect()
            }
            Some(_) => return LANES,
        };
        // Operands that are reduced in place need no register.
        let is_as_it_lies = |instr: &Instr, rows: i64| match instr {
            Instr::Load { elem: ElemType::FLOAT, place, to, .. } => {
                place.by[body.along] == 1 && place.by[self.dims.len() - 1] == rows && body.result == Some(*to)
            }
            _ => false,
        };
        match (&body.instrs[..], self.reduction) {
            ([load], Some(_)) if is_as_it_lies(load, self.over[0] as i64) => MAX_REDUCED_LANES,
            (_, Some(_)) if body.is_streamed_in(self.dims.len() - 1, &extents) => MAX_REDUCED_LANES,
            (_, None) if body.is_streamed_in(0, &extents) && Out::is_of(self.elem) => MAX_STREAMED_LANES,
            (_, _) => LANES,
        }
    }
}

impl Loops {
    fn new(nest: &Nest) -> Self {
        // An empty reduction still has results.
        let lanes = LANES.min(nest.steps().max(nest.dims.iter().product()));
        let class = nest.run_body().result.map_or(Class::Single, |result| result.class);
        let totals = nest.reduction.map(|reduction| Totals::new(reduction.combine, class, lanes));
        let class = nest.reduction.map_or(class, |reduction| reduction.total);
        let mut counts = nest.run_then().map_or([0; 3], |then| then.counts);
        counts[class as usize] += 1;
        let own = Reg { class, at: counts[class as usize] - 1 };
        let total = nest.run_then().and_then(|then| then.total).unwrap_or(own);
        let most = nest.most_lanes();
        let of_body = if nest.reduction.is_some() { most.min(nest.steps()).max(lanes) } else { lanes };
        let body = Registers::new(nest.run_body().counts, of_body);
        let then = Registers::new(counts, lanes);
        let (laid, sums) = (StencilBuffers::default(), AlignedFloats::default());
        let mut loops = Loops { body, then, totals, total, most, laid, sums, numbers: Numbers::default() };
        numbers(nest.run_body(), &mut loops.body);
        if let Some(then) = nest.run_then() {
            numbers(then, &mut loops.then);
        }
        loops
    }

    fn run(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        elements: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let Some(width) = width(nest.elem) else { return Ok(()) };
        let mut at: SmallVec<[usize; 8]> = smallvec![0; nest.dims.len() + nest.over.len()];
        let split = nest.dims.len();
        let mut place = elements.start;
        for (at, d) in at[..split].iter_mut().zip(&nest.dims).rev() {
            (*at, place) = (place % d, place / d);
        }
        self.laid.clear();
        // Wide strips of pixels with all their channels share more operands.
        let is_wide =
            nest.stencil().is_some_and(|stencil| stencil.taps.are_channels()) && !nest.over.contains(&0);
        let most = match nest.reduction {
            _ if is_wide => of_pixels(nest),
            None => self.most,
            Some(_) => LANES,
        };
        let is_by_row = nest.stencil().is_some_and(|stencil| !stencil.taps.has_windows());
        let mut rest = out;
        let mut left = elements.len();
        while left > 0 {
            spend(0)?;
            let strip = Strip::at_most(&at[..split], &nest.dims, left, most);
            let strip = if is_by_row { strip.first_row() } else { strip };
            let n = strip.n();
            let Some((out, behind)) = rest.split_at_mut_checked(n * width) else {
                fail!("the result has fewer elements than are computed")
            };
            self.strip(nest, operands, strip, &mut at, out)?;
            (rest, left) = (behind, left - n);
            strip.pass(&mut at[..split], &nest.dims);
        }
        Ok(())
    }

    /// Computes the elements of a strip.
    fn strip(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        strip: Strip,
        at: &mut [usize],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let n = strip.n();
        if let Some(StencilPlan { taps, epilogue, .. }) = nest.stencil()
            && (epilogue.is_some() || taps.are_channels())
            && !nest.over.contains(&0)
        {
            at[nest.dims.len()..].fill(0);
            self.sums.resize(n + SLACK);
            taps.run_windows(operands, at, strip, &mut self.laid, &mut self.sums)?;
            return self.totals_of_stencil(nest, operands, strip, at, out);
        }
        if let Some(reduction) = nest.reduction {
            self.reduce(nest, reduction, operands, strip, at)?;
        }
        self.finish(nest, operands, strip, at, out)
    }

    /// Computes the results of a stencil from its accumulators.
    fn totals_of_stencil(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        strip: Strip,
        at: &[usize],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let n = strip.n();
        if let Some(epilogue) = nest.epilogue() {
            let Some(axes) = epilogue.of_one_row() else {
                let size = [n / strip.lanes(), strip.lanes()];
                let (from, to) = ((&self.sums[..n], size[1], None), (out, size[1], 0));
                return epilogue.store(operands, at, from, to, size, &mut self.numbers);
            };
            let part = if axes == 1 { strip.first_row() } else { strip.first_plane() };
            let mut at: SmallVec<[usize; 8]> = SmallVec::from_slice(at);
            let width = out.len() / n.max(1);
            let parts = self.sums[..n].chunks_exact(part.n()).zip(out.chunks_exact_mut(part.n() * width));
            for (sums, out) in parts {
                let (from, to) = ((sums, sums.len(), None), (out, sums.len(), 0));
                epilogue.store(operands, &at, from, to, [1, sums.len()], &mut self.numbers)?;
                part.pass(&mut at[..nest.dims.len()], &nest.dims);
            }
            return Ok(());
        }
        let (split, each) = (nest.dims.len(), out.len() / n.max(1));
        let mut at: SmallVec<[usize; 8]> = SmallVec::from_slice(at);
        let (mut done, mut out) = (0, out);
        while !out.is_empty() {
            let part = Strip::at(&at[..split], &nest.dims, n - done);
            let (now, later) = std::mem::take(&mut out).split_at_mut(part.n() * each);
            let sums = &self.sums[done..done + part.n()];
            match self.total.class {
                Class::Int => widest(ToInts { sums, lanes: &mut self.then.int[self.total.at][..part.n()] }),
                Class::Single => self.then.own(self.total)[..part.n()].copy_from_slice(sums),
                Class::Double => fail!("the total of a stencil is not a double"),
            }
            self.finish(nest, operands, part, &at, now)?;
            part.pass(&mut at[..split], &nest.dims);
            (done, out) = (done + part.n(), later);
        }
        Ok(())
    }

    /// Computes the elements of a strip, after its reduction if it has one.
    fn finish(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        strip: Strip,
        at: &[usize],
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let n = strip.n();
        let (program, regs, result) = match nest.reduction {
            None => (Some(nest.run_body()), &mut self.body, nest.run_body().result),
            Some(_) => {
                let result = nest.run_then().map_or(Some(self.total), |then| then.result);
                (nest.run_then(), &mut self.then, result)
            }
        };
        let Some(result) = result else { fail!("a program has no result") };
        if let Some(program) = program {
            let wanted = Out::of(nest.elem, out);
            if run_into(program, regs, operands, strip, at, wanted)? {
                return Ok(());
            }
        }
        regs.settle(n, result, operands);
        store(out, nest.elem, regs, result);
        Ok(())
    }

    /// Reduces a strip.
    fn reduce(
        &mut self,
        nest: &Nest,
        reduction: Reduction,
        operands: &Operands<'_>,
        strip: Strip,
        at: &mut [usize],
    ) -> Result<(), Failure> {
        let (total, n) = (self.total, strip.n());
        let Some(result) = nest.run_body().result else { fail!("a program has no result") };
        let Some(totals) = &mut self.totals else { fail!("a reduction has no totals") };
        let split = nest.dims.len();
        let is_empty = nest.over.contains(&0);
        if totals.is_missing(is_empty) {
            fail!("the maximum or minimum of an empty tensor is undefined");
        }
        // Empty reductions and stencils have ways of their own.
        at[split..].fill(0);
        if is_empty {
            self.nothing(nest, n, total);
        } else if let Some(StencilPlan { taps, .. }) = nest.stencil() {
            if taps.has_windows() && total.class == Class::Int {
                self.sums.resize(n + SLACK);
                taps.run_windows(operands, at, strip, &mut self.laid, &mut self.sums)?;
                widest(ToInts { sums: &self.sums, lanes: &mut self.then.int[total.at][..n] });
            } else if taps.has_windows() {
                taps.run_windows(operands, at, strip, &mut self.laid, self.then.own(total))?;
            } else {
                let (single, double) = totals.first(n);
                taps.run(operands, at, single, double)?;
                totals.put(n, &mut self.then, total, 0);
            }
            return Ok(());
        } else if reduction.is_inner {
            self.along(nest, operands, strip, at, result)?;
        } else if let Some(columns) = columns(nest, reduction, operands, strip, at) {
            totals.clear(n);
            totals.add_columns(columns, n);
            totals.put(n, &mut self.then, total, 0);
        } else {
            totals.clear(n);
            // If rows have few lanes, several steps are combined at once.
            let (inner, last) = (nest.over.len() - 1, nest.dims.len() - 1);
            let is_line = strip.lanes() == n && strip.is_along(last);
            let most = if is_line { (LANES / n.max(1)).max(1) } else { 1 };
            loop {
                spend(0)?;
                let steps = most.min(nest.over[inner] - at[split + inner]);
                let these = if steps > 1 { Strip::rows(split + inner, last, steps, n) } else { strip };
                run(nest.run_body(), &mut self.body, operands, these, at, None)?;
                let x = Strips::of(&mut self.body, steps * n, result, operands);
                for step in 0..steps {
                    totals.push(n, x.part(step * n..(step + 1) * n));
                }
                at[split + inner] += steps - 1;
                if !advance(&mut at[split..], &nest.over) {
                    break;
                }
            }
            totals.put(n, &mut self.then, total, 0);
        }
        // Sums of integers wrap around in their type.
        if total.class == Class::Int && matches!(reduction.combine, Combine::Sum | Combine::Product) {
            wrap_all(&mut self.then.int[total.at][..n], reduction.elem);
        }
        at[split..].fill(0);
        Ok(())
    }

    /// Reduces along the last reduction axis, for each lane of a strip.
    fn along(
        &mut self,
        nest: &Nest,
        operands: &Operands<'_>,
        strip: Strip,
        at: &mut [usize],
        result: Reg,
    ) -> Result<(), Failure> {
        let total = self.total;
        let Some(totals) = &mut self.totals else { fail!("a reduction has no totals") };
        let split = nest.dims.len();
        let (outer, inner) = nest.over.split_at(nest.over.len() - 1);
        let along = split + outer.len();
        let (body, then) = (&mut self.body, &mut self.then);
        let first = at[split - 1];
        strip.each_row(|row, moved| {
            strip.moved(at, moved);
            let mut done = 0;
            while done < row.len() {
                at[split - 1] = first + done;
                let mut rows = 1;
                if outer.is_empty() && inner[0] <= self.most {
                    // As many rows as fit into a strip.
                    rows = (self.most / inner[0]).min(row.len() - done);
                    let strip = Strip::rows(split - 1, along, rows, inner[0]);
                    run(nest.run_body(), body, operands, strip, at, None)?;
                    let x = Strips::of(body, strip.n(), result, operands);
                    totals.rows(inner[0], x, then, total, row.start + done);
                } else {
                    at[split..].fill(0);
                    totals.clear(1);
                    loop {
                        let mut start = 0;
                        while start < inner[0] {
                            spend(0)?;
                            let m = self.most.min(inner[0] - start);
                            at[along] = start;
                            run(nest.run_body(), body, operands, Strip::line(along, m), at, None)?;
                            totals.push_along(Strips::of(body, m, result, operands));
                            start += m;
                        }
                        if !advance(&mut at[split..along], outer) {
                            break;
                        }
                    }
                    totals.fold(then, total, row.start + done);
                    at[split..].fill(0);
                }
                done += rows;
            }
            at[split - 1] = first;
            strip.back(at, moved);
            Ok(())
        })
    }

    /// Writes the results of an empty reduction.
    fn nothing(&mut self, nest: &Nest, n: usize, total: Reg) {
        let Some(reduction) = nest.reduction else { return };
        let neutral = reduction.combine.neutral(reduction.elem);
        let (float, int) = match neutral {
            Some(onnx_formula::Number::Float(x)) => (x, 0),
            Some(onnx_formula::Number::Int(i)) => (i as f64, i as i64),
            None => (0.0, 0),
        };
        self.then.spread(n, total, float, int);
    }
}
