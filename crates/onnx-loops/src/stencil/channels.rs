//! Stencils vectorized over channels: depthwise convolutions and pooling of channels-last images.
//!
//! ```text
//! y[h, w, c] = sum over k < 3, l < 3 of x[h + k - 1, w + l - 1, c] * weight[k, l, c]
//! ```
//! No element is read by two lanes, so nothing is packed: each step reads whole vectors of the operand.
//! Which steps are in bounds depends only on the pixel; adjacent pixels with the same steps are computed four at a time, with
//! accumulators in registers from the first step to the last. Elements narrower than `float` are widened once for all lines of results
//! that read them.

#![allow(
    unsafe_code,
    reason = "loads through pointers, of places that were looked at before: to look at each again takes longer than to compute with it"
)]

use super::tiles::{Combining, Greatest, GreatestOrNone, Least, LeastOrNone, Stretch, Sums, WIDE};
use super::widened::Widened;
use super::windows::steps_of;
use super::{Elements, Stencil, TapLoad, TapStep};
use crate::lanes::multiversion::Body;
use crate::lanes::strip::Strip;
use crate::program::Bound;
use crate::scratch::AlignedFloats;
use crate::zip::zip;
use onnx_formula::Combine;
use smallvec::SmallVec;
use std::ops::Range;

/// Pixels per iteration.
const PIXELS: usize = 4;

/// Whether each step reads the channels as contiguous lanes, with no element for two lanes.
pub(crate) fn are_channels(x: &TapLoad, steps: &[TapStep], along: usize, extent: usize) -> bool {
    let is_of_lane = |bound: &Bound| bound.function.by[along] != 0;
    let extent = extent as i64;
    let mut places: SmallVec<[i64; 16]> = steps.iter().map(|step| step.x).collect();
    places.sort_unstable();
    let are_apart = places.windows(2).all(|pair| pair[1] - pair[0] >= extent);
    let [_, pixel, lane] = steps_of(&x.place, along);
    lane == 1 && along > 0 && pixel >= extent && are_apart && !x.bounds.iter().any(is_of_lane)
}

/// The factors of all steps for all channels, in the order of the steps, gathered if their operand has another layout.
#[derive(Default)]
pub(crate) struct Factors {
    numbers: AlignedFloats,
    /// The offset of the first factor.
    of: Option<i64>,
}

/// The factors for the lanes of a strip, with an offset for each step.
pub(crate) struct Weights<'w> {
    numbers: &'w [f32],
    /// The offset for the first lane, and the number of factors per step if they are gathered.
    first: i64,
    gathered: Option<usize>,
}

impl Factors {
    /// Invalidates the gathered factors.
    pub(crate) fn clear(&mut self) {
        self.of = None;
    }

    /// The factors of `count` channels from an offset on, `by` apart, for the lanes from one on. Gathered factors have the zero
    /// point of their channel subtracted.
    pub(crate) fn of<'f>(
        &'f mut self,
        elements: Elements<'f>,
        (first, by): (i64, i64),
        steps: &[TapStep],
        (lane, channels): (usize, usize),
        zero: impl Fn(usize) -> Option<f32>,
    ) -> Option<Weights<'f>> {
        if let (Elements::Single(numbers), 1) = (elements, by) {
            return Some(Weights { numbers, first: first + lane as i64, gathered: None });
        }
        if self.of != Some(first) {
            self.numbers.resize(steps.len() * channels);
            let zeros: Vec<f32> = (0..channels).map(zero).collect::<Option<_>>()?;
            for (step, numbers) in steps.iter().zip(self.numbers.chunks_exact_mut(channels.max(1))) {
                let first = usize::try_from(first + step.factor).ok()?;
                let by = usize::try_from(by).ok()?;
                for (channel, (number, zero)) in numbers.iter_mut().zip(&zeros).enumerate() {
                    *number = elements.get(first + by * channel)? - zero;
                }
            }
            self.of = Some(first);
        }
        Some(Weights { numbers: &self.numbers, first: lane as i64, gathered: Some(channels) })
    }
}

impl Weights<'_> {
    /// The offset of the factors of a step.
    #[inline(always)]
    fn place(&self, at: usize, step: &TapStep) -> Option<usize> {
        let behind = match self.gathered {
            Some(channels) => (at * channels) as i64,
            None => step.factor,
        };
        usize::try_from(self.first + behind).ok()
    }
}

/// The reduction for one strip.
pub(crate) struct Pixels<'p> {
    pub(crate) taps: &'p Stencil,
    pub(crate) strip: Strip,
    pub(crate) x: Elements<'p>,
    pub(crate) factors: Option<Weights<'p>>,
    /// The offset of the elements for the first lane, and the values of bounds there.
    pub(crate) start: i64,
    pub(crate) values: SmallVec<[i64; 4]>,
    pub(crate) widened: &'p mut Widened,
    pub(crate) out: &'p mut [f32],
}

/// A step for the pixels of a line: its offset for the first pixel, the pixels for which it is in bounds, and its number.
struct Reach {
    place: i64,
    pixels: Range<usize>,
    step: usize,
}

impl Body for Pixels<'_> {
    /// Whether all reads are inside the operands.
    type Out = bool;

    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let Pixels { taps, strip, x, factors, start, values, widened, out } = self;
        let (lanes, pixels) = (strip.lanes(), strip.height());
        let [of_line, of_pixel, _] = steps_of(&taps.x.place, taps.along);
        let of_bounds: SmallVec<[[i64; 3]; 4]> =
            taps.x.bounds.iter().map(|bound| steps_of(&bound.function, taps.along)).collect();
        let mut reach: SmallVec<[Reach; 16]> = SmallVec::new();
        for (line, out) in out[..strip.n()].chunks_exact_mut((pixels * lanes).max(1)).enumerate() {
            reach.clear();
            for (at, step) in taps.steps.iter().enumerate() {
                let mut inside = 0..pixels;
                for (((bound, value), add), by) in
                    taps.x.bounds.iter().zip(&values).zip(&step.bounds).zip(&of_bounds)
                {
                    let mine = bound.of(value + add + by[0] * line as i64, by[1], pixels);
                    inside = inside.start.max(mine.start)..inside.end.min(mine.end);
                }
                if !inside.is_empty() {
                    let place = start + step.x + of_line * line as i64;
                    reach.push(Reach { place, pixels: inside, step: at });
                }
            }
            let of = PixelLine { taps, factors: factors.as_ref(), lanes, of_pixel: of_pixel as usize };
            if !matches!(x, Elements::Single(_)) && of.widen(x, &mut reach, widened).is_none() {
                return false;
            }
            let x = match x {
                Elements::Single(x) => x,
                _ => widened.numbers(),
            };
            // Called, and inlined, once: it has the loops of all combinations.
            if of.all::<FUSED>(x, &reach, out).is_none() {
                return false;
            }
        }
        true
    }
}

struct PixelLine<'l> {
    taps: &'l Stencil,
    factors: Option<&'l Weights<'l>>,
    lanes: usize,
    /// The distance between pixels in the operand.
    of_pixel: usize,
}

impl PixelLine<'_> {
    /// Widens the elements that the steps read, overlapping ranges as one, and updates the offsets of the steps.
    #[inline(always)]
    fn widen(&self, x: Elements<'_>, reach: &mut [Reach], widened: &mut Widened) -> Option<()> {
        let mut ranges: SmallVec<[Range<usize>; 8]> = SmallVec::new();
        let mut order: SmallVec<[usize; 16]> = (0..reach.len()).collect();
        order.sort_unstable_by_key(|at| self.read(&reach[*at]).map_or(0, |read| read.start));
        for at in order {
            let read = self.read(&reach[at])?;
            match ranges.last_mut() {
                // A range that begins where the last one ends is another line of the image, which other lines of results read too.
                Some(last) if read.start < last.end => last.end = last.end.max(read.end),
                Some(_) | None => ranges.push(read),
            }
        }
        widened.read(x, &ranges)?;
        for reach in reach {
            // The offset for pixel 0, which may lie outside.
            reach.place += widened.shift(&self.read(reach)?)?;
        }
        Some(())
    }

    /// The range of the operand that a step reads.
    #[inline(always)]
    fn read(&self, reach: &Reach) -> Option<Range<usize>> {
        let first = usize::try_from(reach.place + (reach.pixels.start * self.of_pixel) as i64).ok()?;
        Some(first..first + (reach.pixels.len() - 1) * self.of_pixel + self.lanes)
    }

    /// The totals of all pixels.
    #[inline(always)]
    fn all<const FUSED: bool>(&self, x: &[f32], reach: &[Reach], out: &mut [f32]) -> Option<()> {
        match self.taps.combine {
            Combine::Sum => self.pixels::<Sums, FUSED>(x, reach, out),
            _ => {
                let mut are_numbers = true;
                for reach in reach {
                    are_numbers &= x.get(self.read(reach)?)?.iter().fold(true, |all, x| all & !x.is_nan());
                }
                match (self.taps.combine, are_numbers) {
                    (Combine::Max, true) => self.pixels::<Greatest, FUSED>(x, reach, out),
                    (Combine::Max, false) => self.pixels::<GreatestOrNone, FUSED>(x, reach, out),
                    (_, true) => self.pixels::<Least, FUSED>(x, reach, out),
                    (_, false) => self.pixels::<LeastOrNone, FUSED>(x, reach, out),
                }
            }
        }
    }

    /// The totals of pixels, processing adjacent pixels with equal steps together.
    #[inline(always)]
    fn pixels<C: Combining, const FUSED: bool>(
        &self,
        x: &[f32],
        reach: &[Reach],
        out: &mut [f32],
    ) -> Option<()> {
        let mut steps = Reads::default();
        let (mut pixel, count) = (0, out.len() / self.lanes.max(1));
        while pixel < count {
            steps.clear();
            let mut end = count;
            for reach in reach {
                if reach.pixels.contains(&pixel) {
                    let factors = match self.factors {
                        Some(factors) => factors.place(reach.step, self.taps.steps.get(reach.step)?)?,
                        None => 0,
                    };
                    steps.push(reach.place, factors);
                    end = end.min(reach.pixels.end);
                } else if reach.pixels.start > pixel {
                    end = end.min(reach.pixels.start);
                }
            }
            while pixel < end {
                let n = if end - pixel >= PIXELS { PIXELS } else { 1 };
                let out = out.get_mut(pixel * self.lanes..(pixel + n) * self.lanes)?;
                let before = (pixel * self.of_pixel) as i64;
                match n {
                    PIXELS => self.lanes::<C, FUSED, PIXELS>(x, before, &steps, out)?,
                    _ => self.lanes::<C, FUSED, 1>(x, before, &steps, out)?,
                }
                pixel += n;
            }
        }
        Some(())
    }

    /// The totals of all lanes of four pixels, or of one.
    #[inline(always)]
    fn lanes<C: Combining, const FUSED: bool, const N: usize>(
        &self,
        x: &[f32],
        before: i64,
        steps: &Reads,
        out: &mut [f32],
    ) -> Option<()> {
        // Also of pixels without steps, which read padding only.
        let last = match self.lanes.checked_sub(WIDE) {
            Some(last) if !steps.all.is_empty() => last,
            Some(_) | None => return self.few::<C, FUSED>(x, before, steps, out),
        };
        // Each step reads at most so many elements from its place on.
        let span = (N - 1) * self.of_pixel + self.lanes;
        let numbers = self.factors.map_or(&[][..], |weights| weights.numbers);
        let [least, most] = steps.places;
        let (least, most) = (usize::try_from(least + before), usize::try_from(most + before));
        (least.is_ok() && most.ok()?.checked_add(span)? <= x.len()).then_some(())?;
        let of_factors = steps.most_factor.checked_add(self.lanes)?;
        (self.factors.is_none() || of_factors <= numbers.len()).then_some(())?;
        let mut lane = 0;
        while lane < self.lanes {
            // The last vectors end with the last lane and overlap the ones before.
            let (places, factors) = if N == PIXELS {
                let at = lane.min(last);
                ([at, self.of_pixel + at, 2 * self.of_pixel + at, 3 * self.of_pixel + at], [at; PIXELS])
            } else {
                let at = [lane, lane + WIDE, lane + 2 * WIDE, lane + 3 * WIDE];
                let at = [at[0].min(last), at[1].min(last), at[2].min(last), at[3].min(last)];
                (at, at)
            };
            let numbers = self.factors.map(|_| numbers.as_ptr());
            // SAFETY: the places of all steps are between the least and the most, from which on there are `span` elements. A vector
            // ends within these, and within the `lanes` factors from that of its step on, as was checked.
            let totals = unsafe {
                match N {
                    PIXELS => totals::<C, FUSED, true>((x.as_ptr(), numbers), before, steps, places, factors),
                    _ => totals::<C, FUSED, false>((x.as_ptr(), numbers), before, steps, places, factors),
                }
            };
            for (n, (totals, at)) in zip(&totals, &factors).into_iter().enumerate() {
                let pixel = if N == PIXELS { n } else { 0 };
                *out.get_mut(pixel * self.lanes + at..)?.first_chunk_mut::<WIDE>()? = *totals;
            }
            lane += if N == PIXELS { WIDE } else { PIXELS * WIDE };
        }
        Some(())
    }

    /// The totals of fewer lanes than a register has.
    #[inline(always)]
    fn few<C: Combining, const FUSED: bool>(
        &self,
        x: &[f32],
        before: i64,
        steps: &Reads,
        out: &mut [f32],
    ) -> Option<()> {
        out.fill(C::NEUTRAL);
        for (place, factors) in steps.all.iter() {
            let first = usize::try_from(place + before).ok()?;
            let factors = match self.factors {
                Some(weights) => weights.numbers.get(*factors..factors + self.lanes)?,
                None => &[1.0; WIDE][..self.lanes],
            };
            for (n, out) in out.chunks_exact_mut(self.lanes).enumerate() {
                let x = x.get(first + n * self.of_pixel..)?.get(..self.lanes)?;
                for ((total, x), factor) in zip(zip(out, x), factors) {
                    *total = C::combine::<FUSED>(*total, *x, *factor);
                }
            }
        }
        Some(())
    }
}

/// The offsets in the operand and in the factors at which the steps of some pixels read for the first pixel of a line.
struct Reads {
    all: SmallVec<[(i64, usize); 16]>,
    /// The least and the most place, and the most of the factors.
    places: [i64; 2],
    most_factor: usize,
}

impl Default for Reads {
    #[inline]
    fn default() -> Self {
        Reads { all: SmallVec::new(), places: [i64::MAX, i64::MIN], most_factor: 0 }
    }
}

impl Reads {
    #[inline]
    fn clear(&mut self) {
        *self = Reads::default();
    }

    #[inline]
    fn push(&mut self, place: i64, factor: usize) {
        let [least, most] = self.places;
        self.places = [least.min(place), most.max(place)];
        self.most_factor = self.most_factor.max(factor);
        self.all.push((place, factor));
    }
}

/// The totals of four registers, of which each reads from a place on and has factors from another on: the same, or not.
///
/// # Safety
/// For each step, at least [`WIDE`] numbers are readable from each of the places on, `before` further, and likewise of the factors.
// Names rather than an array of registers: then they become some.
#[inline(always)]
unsafe fn totals<C: Combining, const FUSED: bool, const SAME: bool>(
    (x, numbers): (*const f32, Option<*const f32>),
    before: i64,
    steps: &Reads,
    places: [usize; PIXELS],
    factors: [usize; PIXELS],
) -> [Stretch; PIXELS] {
    let [mut a, mut b, mut c, mut d] = [[C::NEUTRAL; WIDE]; PIXELS];
    for (place, of) in steps.all.iter() {
        let x = x.wrapping_offset((place + before) as isize);
        // SAFETY: the caller has checked that the numbers and factors of each step are within their slices. No closures: what is in one is compiled for every processor.
        unsafe {
            let [f, g, h, i] = match numbers {
                None => [[1.0; WIDE]; PIXELS],
                Some(numbers) if SAME => [load(numbers, of + factors[0]); PIXELS],
                Some(numbers) => [
                    load(numbers, of + factors[0]),
                    load(numbers, of + factors[1]),
                    load(numbers, of + factors[2]),
                    load(numbers, of + factors[3]),
                ],
            };
            a = combined::<C, FUSED>(a, load(x, places[0]), f);
            b = combined::<C, FUSED>(b, load(x, places[1]), g);
            c = combined::<C, FUSED>(c, load(x, places[2]), h);
            d = combined::<C, FUSED>(d, load(x, places[3]), i);
        }
    }
    [a, b, c, d]
}

/// The numbers of a register.
///
/// # Safety
/// `from.add(at)` must be readable for a whole [`Stretch`].
#[inline(always)]
unsafe fn load(from: *const f32, at: usize) -> Stretch {
    // SAFETY: the caller has checked that a whole `Stretch` from `at` on is within the slice.
    unsafe { from.wrapping_add(at).cast::<Stretch>().read_unaligned() }
}

#[inline(always)]
fn combined<C: Combining, const FUSED: bool>(total: Stretch, x: Stretch, factor: Stretch) -> Stretch {
    let mut combined = total;
    for lane in 0..WIDE {
        combined[lane] = C::combine::<FUSED>(total[lane], x[lane], factor[lane]);
    }
    combined
}
