//! Single-precision strip reductions: maxima, and sums of products with a scalar factor per strip.
//!
//! Depthwise convolutions, row-times-matrix products and pooling have this form. The offsets of steps are static, so for each
//! strip only the in-bounds range is computed before combining.

pub(super) mod channels;
pub(super) mod tiles;
pub(super) mod widened;
pub(super) mod windows;

use super::lanes::multiversion::{Body, widest};
use super::lanes::narrow::{bf16_to_f32, f16_to_f32};
use super::lanes::strip::Strip;
use super::lanes::view::{Operands, View};
use super::lanes::{Class, Linear};
use super::product::recognize::Factor;
use super::program::{Bound, Instr, Program};
use crate::failure::{Failure, fail};
use crate::tensor::advance;
use crate::zip::zip;
use channels::{Factors, Pixels, are_channels};
use onnx_formula::{Binary, Combine};
use onnx_ir::ElemType;
use smallvec::SmallVec;
use std::ops::Range;
use widened::Widened;
use windows::{Window, Windows, steps_of};

/// The most steps whose offsets are stored.
const MAX_STEPS: usize = 1 << 16;
/// Products that are summed in single floats before the sum is added to a double.
const BLOCK: usize = 256;
/// The most steps of a stencil, whose accumulators are single floats.
pub(super) const MAX_STENCIL_STEPS: usize = BLOCK;
/// Steps that are combined at once, so that their loads overlap.
const TOGETHER: usize = 4;

/// A reduction at statically known offsets.
#[derive(Clone, Debug)]
pub(super) struct Stencil {
    pub(super) x: TapLoad,
    /// The factor of elements.
    pub(super) factor: Option<TapLoad>,
    pub(super) combine: Combine,
    /// The axis of the strips.
    pub(super) along: usize,
    pub(super) steps: Vec<TapStep>,
    /// The number of lanes along that axis.
    channels: usize,
    shared: Shared,
}

/// How neighbouring results share operands.
#[derive(Clone, Debug)]
enum Shared {
    /// They do not, or it is not used.
    Nothing,
    /// Adjacent elements along a strip, copied into patches first.
    Windows(Windows),
    /// Lanes are channels, and neighbours along the axis before read the same elements.
    Channels,
}

/// Buffers of stencils.
#[derive(Default)]
pub(super) struct StencilBuffers {
    patches: Vec<f32>,
    factors: Factors,
    widened: Widened,
}

impl StencilBuffers {
    /// Invalidates what depends on operands.
    pub(super) fn clear(&mut self) {
        self.factors.clear();
        self.widened.clear();
    }
}

/// A load of single floats, narrower floats, or bytes minus a zero point.
#[derive(Clone, Debug)]
pub(super) struct TapLoad {
    operand: usize,
    elem: ElemType,
    pub(super) place: Linear,
    pub(super) bounds: Vec<Bound>,
    /// The padding value, before a zero point is subtracted.
    pub(super) otherwise: f32,
    /// The zero point of bytes: operand and offset.
    zero: Option<(usize, Linear)>,
}

/// Elements of an operand as single floats.
#[derive(Clone, Copy)]
pub(super) enum Elements<'e> {
    Single(&'e [f32]),
    F16(&'e [u16]),
    Bf16(&'e [u16]),
    /// Minus a zero point.
    Unsigned(&'e [u8], f32),
    Signed(&'e [i8], f32),
}

impl<'e> Elements<'e> {
    #[inline(always)]
    pub(super) fn get(self, at: usize) -> Option<f32> {
        match self {
            Elements::Single(all) => all.get(at).copied(),
            Elements::F16(all) => all.get(at).map(|bits| f16_to_f32(*bits)),
            Elements::Bf16(all) => all.get(at).map(|bits| bf16_to_f32(*bits)),
            Elements::Unsigned(all, zero) => all.get(at).map(|byte| f32::from(*byte) - zero),
            Elements::Signed(all, zero) => all.get(at).map(|byte| f32::from(*byte) - zero),
        }
    }

    /// The zero point that is subtracted.
    #[inline(always)]
    pub(super) fn zero(self) -> f32 {
        match self {
            Elements::Unsigned(_, zero) | Elements::Signed(_, zero) => zero,
            Elements::Single(_) | Elements::F16(_) | Elements::Bf16(_) => 0.0,
        }
    }

    fn singles(self) -> Result<&'e [f32], Failure> {
        match self {
            Elements::Single(all) => Ok(all),
            Elements::F16(_) | Elements::Bf16(_) | Elements::Unsigned(..) | Elements::Signed(..) => {
                fail!("internal error: f16 and byte operands need the window path")
            }
        }
    }
}

/// The contribution of a step to offsets and to functions with bounds.
#[derive(Clone, Debug)]
pub(super) struct TapStep {
    pub(super) x: i64,
    pub(super) factor: i64,
    pub(super) bounds: SmallVec<[i64; 2]>,
}

impl TapLoad {
    fn of(instr: &Instr) -> Option<TapLoad> {
        let (to, operand, elem, place, bounds, otherwise) = match instr {
            Instr::Load { to, operand, elem, place } => (to, operand, elem, place, Vec::new(), 0.0),
            Instr::LoadWhere { to, operand, elem, place, bounds, otherwise } => {
                (to, operand, elem, place, bounds.clone(), otherwise.0)
            }
            _ => return None,
        };
        let is_float = matches!(*elem, ElemType::FLOAT | ElemType::FLOAT16 | ElemType::BFLOAT16);
        let is_it = is_float && to.class == Class::Single;
        let (operand, elem, place, otherwise) = (*operand, *elem, place.clone(), otherwise as f32);
        is_it.then_some(TapLoad { operand, elem, place, bounds, otherwise, zero: None })
    }

    /// A byte minus a zero point that is constant in a plane, and 0 out of bounds.
    fn of_byte(byte: &Program, zero: Option<&Program>) -> Option<TapLoad> {
        let (operand, elem, place, bounds, otherwise) = match &byte.instrs[..] {
            [Instr::Load { operand, elem, place, .. }] => (operand, elem, place, Vec::new(), 0),
            [Instr::LoadWhere { operand, elem, place, bounds, otherwise, .. }] => {
                (operand, elem, place, bounds.clone(), otherwise.1)
            }
            _ => return None,
        };
        let zero = match zero.map(|zero| &zero.instrs[..]) {
            None => None,
            Some([Instr::Load { operand, elem: of_zero, place, .. }]) if of_zero == elem => {
                Some((*operand, place.clone()))
            }
            Some(_) => return None,
        };
        let (operand, elem, place) = (*operand, *elem, place.clone());
        let is_byte = matches!(elem, ElemType::UINT8 | ElemType::INT8);
        let otherwise = if zero.is_some() { 0.0 } else { otherwise as f32 };
        is_byte.then_some(TapLoad { operand, elem, place, bounds, otherwise, zero })
    }

    /// The elements, and the offset of the first.
    fn elements<'v>(&self, operands: &Operands<'v>, zero: f32) -> Result<(Elements<'v>, i64), Failure> {
        let from = view(operands, self.operand)?;
        let all = match self.elem {
            ElemType::UINT8 => Elements::Unsigned(from.words(), zero),
            ElemType::INT8 => Elements::Signed(from.words(), zero),
            ElemType::FLOAT16 => Elements::F16(from.words()),
            ElemType::BFLOAT16 => Elements::Bf16(from.words()),
            _ => Elements::Single(from.words()),
        };
        Ok((all, from.first))
    }

    /// The zero point at a position, `plane` planes further.
    fn zero(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        along: usize,
        plane: usize,
    ) -> Result<f32, Failure> {
        let Some((operand, place)) = &self.zero else { return Ok(0.0) };
        let from = view(operands, *operand)?;
        let place = place.at(at) - from.first + steps_of(place, along)[0] * plane as i64;
        match usize::try_from(place).ok().and_then(|place| from.bytes.get(place)) {
            Some(bits) if self.elem == ElemType::INT8 => Ok(f32::from(*bits as i8)),
            Some(bits) => Ok(f32::from(*bits)),
            None => fail!("an index is out of bounds"),
        }
    }

    /// The zero point of a channel at a position; `None` if it is out of range.
    fn zero_of_lane(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        along: usize,
        channel: usize,
    ) -> Option<f32> {
        let Some((operand, place)) = &self.zero else { return Some(0.0) };
        let from = operands.get(*operand).copied().flatten()?;
        let place = place.at(at) - from.first + place.by[along] * (channel as i64 - at[along] as i64);
        let bits = *from.bytes.get(usize::try_from(place).ok()?)?;
        Some(if self.elem == ElemType::INT8 { f32::from(bits as i8) } else { f32::from(bits) })
    }

    /// Orders two loads as operand and factor: a factor has no bounds, and is constant in a strip or per lane in all its rows.
    fn pair(a: TapLoad, b: TapLoad, along: usize) -> Option<(TapLoad, TapLoad)> {
        let stands = |source: &TapLoad| source.bounds.is_empty() && source.place.by[along] == 0;
        let is_of_lane = |source: &TapLoad| source.bounds.is_empty() && is_of_lane(&source.place, along);
        match [stands(&a), stands(&b), is_of_lane(&a), is_of_lane(&b)] {
            [_, true, ..] => Some((a, b)),
            [true, ..] => Some((b, a)),
            [.., true] => Some((a, b)),
            [_, _, true, _] => Some((b, a)),
            [..] => None,
        }
    }

    /// Whether its zero point is constant along the axes from one on.
    fn is_even_from(&self, axis: usize) -> bool {
        self.zero.as_ref().is_none_or(|(_, place)| place.by[axis..].iter().all(|by| *by == 0))
    }
}

/// Whether a function depends only on the lane axis of a strip.
fn is_of_lane(function: &Linear, along: usize) -> bool {
    steps_of(function, along)[..2] == [0, 0]
}

fn view<'v>(operands: &Operands<'v>, operand: usize) -> Result<View<'v>, Failure> {
    match operands.get(operand).copied().flatten() {
        Some(view) => Ok(view),
        None => fail!("input {operand} is left out"),
    }
}

impl Stencil {
    /// Renumbers its operands.
    pub(super) fn renumber(&mut self, to: &dyn Fn(usize) -> usize) {
        for load in [Some(&mut self.x), self.factor.as_mut()].into_iter().flatten() {
            load.operand = to(load.operand);
            load.zero.iter_mut().for_each(|(operand, _)| *operand = to(*operand));
        }
    }

    /// The reduction of a body over the axes after those of the result, if it has this form.
    pub(super) fn of(combine: Combine, body: &Program, dims: &[usize], over: &[usize]) -> Option<Stencil> {
        let along = body.along;
        let (x, factor) = match (&body.instrs[..], combine) {
            ([x], Combine::Max | Combine::Min) => {
                (TapLoad::of(x).or_else(|| TapLoad::of_byte(body, None))?, None)
            }
            ([x], Combine::Sum) => (TapLoad::of(x)?, None),
            ([a, b, Instr::Binary { to, op: Binary::Mul, a: left, b: right }], Combine::Sum) => {
                let is_all = body.result == Some(*to) && left != right;
                let (x, factor) =
                    TapLoad::pair(TapLoad::of(a)?, TapLoad::of(b)?, along).filter(|_| is_all)?;
                (x, Some(factor))
            }
            _ => return None,
        };
        Stencil::new(combine, x, factor, along, dims, over)
    }

    /// A sum of products of bytes minus zero points, in single floats, which are exact up to a number of steps.
    pub(super) fn of_bytes(
        [a, b]: [&Factor; 2],
        along: usize,
        dims: &[usize],
        over: &[usize],
    ) -> Option<Stencil> {
        let source = |factor: &Factor| {
            let (byte, zero) = factor.byte()?;
            TapLoad::of_byte(byte, zero)
        };
        let (x, factor) = TapLoad::pair(source(a)?, source(b)?, along)?;
        // A strip may have several planes, each with its own zero point of factors.
        let is_even = match factor.place.by[along] {
            0 => factor.is_even_from(along.saturating_sub(1)),
            _ => factor.zero.as_ref().is_none_or(|(_, place)| is_of_lane(place, along)),
        };
        if !x.is_even_from(along.saturating_sub(2)) || !is_even {
            return None;
        }
        Stencil::new(Combine::Sum, x, Some(factor), along, dims, over).filter(Stencil::has_windows)
    }

    fn new(
        combine: Combine,
        x: TapLoad,
        factor: Option<TapLoad>,
        along: usize,
        dims: &[usize],
        over: &[usize],
    ) -> Option<Stencil> {
        let neutral = match combine {
            Combine::Sum => 0.0,
            Combine::Max => f32::NEG_INFINITY,
            _ => f32::INFINITY,
        };
        let is_backward = x.place.by[along] < 0;
        // For bytes, the limit of the type serves as the identity as well.
        let least_or_most = match (x.elem, combine) {
            (ElemType::UINT8, Combine::Max) => 0.0,
            (ElemType::UINT8, Combine::Min) => 255.0,
            (ElemType::INT8, Combine::Max) => -128.0,
            (ElemType::INT8, Combine::Min) => 127.0,
            _ => neutral,
        };
        let is_neutral = x.bounds.is_empty() || x.otherwise == neutral || x.otherwise == least_or_most;
        let count = over.iter().fold(1, |n: usize, d| n.saturating_mul(*d));
        if is_backward || !is_neutral || !(1..=MAX_STEPS).contains(&count) {
            return None;
        }
        // The offsets of all steps, in the order of the reduction.
        let split = dims.len();
        let mut at = vec![0; split + over.len()];
        let mut steps = Vec::with_capacity(count);
        let from = |function: &Linear, at: &[usize]| function.at(at) - function.base;
        loop {
            steps.push(TapStep {
                x: from(&x.place, &at),
                factor: factor.as_ref().map_or(0, |factor| from(&factor.place, &at)),
                bounds: x.bounds.iter().map(|bound| from(&bound.function, &at)).collect(),
            });
            if !advance(&mut at[split..], over) {
                break;
            }
        }
        // How neighbouring results share what they read.
        let is_few = steps.len() <= MAX_STENCIL_STEPS;
        let stands = factor.as_ref().is_none_or(|factor| factor.place.by[along] == 0);
        let is_of_channel = factor.as_ref().is_none_or(|factor| is_of_lane(&factor.place, along));
        let shared = if is_few && is_of_channel && are_channels(&x, &steps, along, dims[along]) {
            Shared::Channels
        } else if is_few && stands {
            Windows::of(&x, factor.as_ref(), &steps, along).map_or(Shared::Nothing, Shared::Windows)
        } else {
            Shared::Nothing
        };
        // Sums that share nothing need doubles, and only stencils read narrow floats.
        let is_sum = combine == Combine::Sum && factor.is_none();
        let is_single = |source: &TapLoad| source.elem == ElemType::FLOAT;
        let are_single = is_single(&x) && factor.as_ref().is_none_or(is_single);
        let is_shared = !matches!(shared, Shared::Nothing);
        (!is_sum && are_single && stands || is_shared).then_some(Stencil {
            x,
            factor,
            combine,
            along,
            steps,
            channels: dims[along],
            shared,
        })
    }

    /// Whether accumulators are single floats.
    pub(super) fn is_single(&self) -> bool {
        self.combine != Combine::Sum || self.steps.len() <= BLOCK
    }

    /// Whether neighbouring results share operands.
    pub(super) fn has_windows(&self) -> bool {
        !matches!(self.shared, Shared::Nothing)
    }

    /// Whether lanes are channels, so that strips can have any length.
    pub(super) fn are_channels(&self) -> bool {
        matches!(self.shared, Shared::Channels)
    }

    /// Whether elements are widened, once for all lines of results that read them.
    pub(super) fn is_widened(&self) -> bool {
        self.x.elem != ElemType::FLOAT
    }

    /// Combines all steps for a strip from a position on, if it [has windows](Self::has_windows), into the first floats of `out`.
    /// Floats after them, up to a whole hardware register, become unspecified.
    pub(super) fn run_windows(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        strip: Strip,
        laid: &mut StencilBuffers,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let (x, first) = self.x.elements(operands, self.x.zero(operands, at, self.along, 0)?)?;
        let start = self.x.place.at(at) - first;
        let values = self.x.bounds.iter().map(|bound| bound.function.at(at)).collect();
        let StencilBuffers { patches, factors, widened } = laid;
        let is_in = match &self.shared {
            Shared::Nothing => fail!("a reduction has no windows"),
            Shared::Windows(windows) => {
                let mut zeros = SmallVec::<[f32; 4]>::new();
                let mut factors = None;
                if let Some(factor) = &self.factor {
                    let (elements, first) = factor.elements(operands, 0.0)?;
                    factors = Some((elements, factor.place.at(at) - first));
                    for plane in 0..strip.n() / (strip.height() * strip.lanes()).max(1) {
                        zeros.push(factor.zero(operands, at, self.along, plane)?);
                    }
                }
                widest(Window { windows, taps: self, strip, x, factors, zeros, start, values, patches, out })
            }
            Shared::Channels => {
                let mut weights = None;
                if let Some(factor) = &self.factor {
                    let (elements, first) = factor.elements(operands, 0.0)?;
                    let (lane, by) = (at[self.along], factor.place.by[self.along]);
                    let place = (factor.place.at(at) - first - by * lane as i64, by);
                    let zero = |channel: usize| factor.zero_of_lane(operands, at, self.along, channel);
                    weights = factors.of(elements, place, &self.steps, (lane, self.channels), zero);
                    if weights.is_none() {
                        fail!("an index is out of bounds")
                    }
                }
                let factors = weights;
                widest(Pixels { taps: self, strip, x, factors, start, values, widened, out })
            }
        };
        if is_in { Ok(()) } else { fail!("an index is out of bounds") }
    }

    /// Combines all steps for the strip from a position on, into single floats, or into doubles if it is not
    /// [`is_single`](Self::is_single).
    pub(super) fn run(
        &self,
        operands: &Operands<'_>,
        at: &[usize],
        single: &mut [f32],
        double: &mut [f64],
    ) -> Result<(), Failure> {
        let (x, first) = self.x.elements(operands, 0.0)?;
        let factors = self.factor.as_ref().map(|factor| {
            let (elements, first) = factor.elements(operands, 0.0)?;
            Ok::<_, Failure>((elements.singles()?, factor.place.at(at) - first))
        });
        let (factors, of_factors) = factors.transpose()?.unwrap_or_default();
        let of = StripOperands {
            taps: self,
            x: x.singles()?,
            start: self.x.place.at(at) - first,
            values: self.x.bounds.iter().map(|bound| bound.function.at(at)).collect(),
        };
        let is_in = widest(StripReduction { of, factors, first: of_factors, single, double });
        if is_in { Ok(()) } else { fail!("an index is out of bounds") }
    }
}

/// The operands of a strip.
struct StripOperands<'s> {
    taps: &'s Stencil,
    x: &'s [f32],
    start: i64,
    /// The values of functions with bounds.
    values: SmallVec<[i64; 4]>,
}

/// A strip reduction; returns whether all loads are in range.
struct StripReduction<'s> {
    of: StripOperands<'s>,
    factors: &'s [f32],
    first: i64,
    single: &'s mut [f32],
    double: &'s mut [f64],
}

impl Body for StripReduction<'_> {
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        match self.of.taps.combine {
            Combine::Sum => self.sum::<FUSED>(),
            Combine::Max => self.best(f32::NEG_INFINITY, |x, best| x > best),
            _ => self.best(f32::INFINITY, |x, best| x < best),
        }
    }
}

impl StripOperands<'_> {
    /// The lanes of `0..n` for which a step is in bounds, with their elements and stride.
    #[inline(always)]
    fn stretch(&self, step: &TapStep, n: usize) -> Option<(Range<usize>, &[f32], usize)> {
        let Stencil { x, along, .. } = self.taps;
        let mut lanes = 0..n;
        for ((bound, value), add) in x.bounds.iter().zip(&self.values).zip(&step.bounds) {
            let mine = bound.of(value + add, bound.function.by[*along], n);
            lanes = lanes.start.max(mine.start)..lanes.end.min(mine.end);
        }
        if lanes.is_empty() {
            return Some((0..0, &[], 1));
        }
        let by = usize::try_from(x.place.by[*along]).ok()?;
        let start = self.start + step.x + (by * lanes.start) as i64;
        let length = (lanes.len() - 1) * by + 1;
        let stretch = self.x.get(usize::try_from(start).ok()?..)?.get(..length)?;
        Some((lanes, stretch, by))
    }
}

impl StripOperands<'_> {
    /// The elements and factors of some steps without bounds.
    #[inline(always)]
    fn rows(
        &self,
        steps: &[TapStep; TOGETHER],
        factors: &[f32],
        first: i64,
        n: usize,
    ) -> Option<[(&[f32], f32); TOGETHER]> {
        let mut rows = [(&[][..], 0.0); TOGETHER];
        for (row, step) in rows.iter_mut().zip(steps) {
            let factor = factors.get(usize::try_from(first + step.factor).ok()?)?;
            *row = (self.x.get(usize::try_from(self.start + step.x).ok()?..)?.get(..n)?, *factor);
        }
        Some(rows)
    }
}

impl StripReduction<'_> {
    #[inline(always)]
    fn sum<const FUSED: bool>(self) -> bool {
        let n = self.double.len();
        let StripReduction { of, factors, first, single: sums, double } = self;
        let mut is_first = true;
        for steps in of.taps.steps.chunks(BLOCK) {
            sums.fill(0.0);
            let (together, steps) = match &of.taps.x {
                TapLoad { bounds, place, .. } if bounds.is_empty() && place.by[of.taps.along] == 1 => {
                    steps.as_chunks::<TOGETHER>()
                }
                _ => (&[][..], steps),
            };
            for steps in together {
                let Some(rows) = of.rows(steps, factors, first, n) else { return false };
                let [(a, fa), (b, fb), (c, fc), (d, fd)] = rows;
                for (sum, ((a, b), (c, d))) in zip(&mut *sums, zip(zip(a, b), zip(c, d))) {
                    let add = |sum: f32, x: f32, f: f32| if FUSED { x.mul_add(f, sum) } else { x * f + sum };
                    *sum = add(add(add(add(*sum, *a, fa), *b, fb), *c, fc), *d, fd);
                }
            }
            for step in steps {
                let factor = usize::try_from(first + step.factor).ok().and_then(|at| factors.get(at));
                let (Some(&factor), Some((lanes, stretch, by))) = (factor, of.stretch(step, n)) else {
                    return false;
                };
                let add = |sum: f32, x: f32| if FUSED { x.mul_add(factor, sum) } else { x * factor + sum };
                each(&mut sums[lanes], stretch, by, add);
            }
            if of.taps.is_single() {
                return true;
            }
            for (total, sum) in zip(&mut *double, &*sums) {
                *total = if is_first { f64::from(*sum) } else { *total + f64::from(*sum) };
            }
            is_first = false;
        }
        true
    }

    #[inline(always)]
    fn best(self, worst: f32, is_better: impl Fn(f32, f32) -> bool) -> bool {
        let n = self.single.len();
        let best = self.single;
        best.fill(worst);
        for step in &self.of.taps.steps {
            let Some((lanes, stretch, by)) = self.of.stretch(step, n) else { return false };
            let choose = |best: f32, x: f32| if is_better(x, best) | x.is_nan() { x } else { best };
            each(&mut best[lanes], stretch, by, choose);
        }
        true
    }
}

/// Combines accumulators with every `by`-th element.
#[inline(always)]
fn each(totals: &mut [f32], x: &[f32], by: usize, combine: impl Fn(f32, f32) -> f32) {
    match by {
        1 => zip(totals, x).for_each(|(total, x)| *total = combine(*total, *x)),
        2 => {
            let (pairs, last) = x.as_chunks::<2>();
            let (now, later) = totals.split_at_mut(pairs.len().min(totals.len()));
            zip(now, pairs).for_each(|(total, [x, _])| *total = combine(*total, *x));
            zip(later, last).for_each(|(total, x)| *total = combine(*total, *x));
        }
        0 => {
            let Some(x) = x.first() else { return };
            totals.iter_mut().for_each(|total| *total = combine(*total, *x));
        }
        _ => totals.iter_mut().zip(x.iter().step_by(by)).for_each(|(total, x)| *total = combine(*total, *x)),
    }
}
