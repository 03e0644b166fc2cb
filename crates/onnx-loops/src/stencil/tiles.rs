//! Accumulators of four chunks of lanes at once, in hardware registers.
//!
//! Chunks are spaced so that the second step of one reads what the first step of the next has read: a chunk is loaded once for up
//! to three steps.

use smallvec::SmallVec;

/// Lanes of a chunk.
pub(crate) const WIDE: usize = 16;
/// Chunks that are accumulated at once, which hides the latency of additions.
pub(crate) const HIGH: usize = 4;

/// The lanes of a chunk.
pub(crate) type Stretch = [f32; WIDE];

/// A combining operation of an accumulator with an element and its factor.
pub(crate) trait Combining {
    const NEUTRAL: f32;

    fn combine<const FUSED: bool>(total: f32, x: f32, factor: f32) -> f32;
}

/// Sums of products.
pub(crate) struct Sums;
/// Maximum, for elements without NaN.
pub(crate) struct Greatest;
/// Minimum, for elements without NaN.
pub(crate) struct Least;
/// Maximum that propagates NaN.
pub(crate) struct GreatestOrNone;
/// Minimum that propagates NaN.
pub(crate) struct LeastOrNone;

impl Combining for Sums {
    const NEUTRAL: f32 = 0.0;

    #[inline(always)]
    fn combine<const FUSED: bool>(total: f32, x: f32, factor: f32) -> f32 {
        if FUSED { x.mul_add(factor, total) } else { x * factor + total }
    }
}

impl Combining for Greatest {
    const NEUTRAL: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn combine<const FUSED: bool>(total: f32, x: f32, _: f32) -> f32 {
        if x > total { x } else { total }
    }
}

impl Combining for Least {
    const NEUTRAL: f32 = f32::INFINITY;

    #[inline(always)]
    fn combine<const FUSED: bool>(total: f32, x: f32, _: f32) -> f32 {
        if x < total { x } else { total }
    }
}

impl Combining for GreatestOrNone {
    const NEUTRAL: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn combine<const FUSED: bool>(total: f32, x: f32, _: f32) -> f32 {
        let total = if x > total { x } else { total };
        if x.is_nan() { x } else { total }
    }
}

impl Combining for LeastOrNone {
    const NEUTRAL: f32 = f32::INFINITY;

    #[inline(always)]
    fn combine<const FUSED: bool>(total: f32, x: f32, _: f32) -> f32 {
        let total = if x < total { x } else { total };
        if x.is_nan() { x } else { total }
    }
}

/// The steps of a reduction: the offset of the first for the first chunk, and all factors. Each further step reads one chunk
/// further.
#[derive(Default)]
pub(crate) struct Steps {
    pub(crate) threes: SmallVec<[(usize, [f32; 3]); 8]>,
    pub(crate) twos: SmallVec<[(usize, [f32; 2]); 8]>,
    pub(crate) ones: SmallVec<[(usize, [f32; 1]); 16]>,
}

impl Steps {
    /// The accumulators of chunks; `None` if an offset is out of range.
    #[inline(always)]
    pub(crate) fn totals<C: Combining, const FUSED: bool>(
        &self,
        from: &[f32],
        pitch: usize,
    ) -> Option<[Stretch; HIGH]> {
        let mut totals = [[C::NEUTRAL; WIDE]; HIGH];
        for (at, factors) in self.threes.iter() {
            totals = threes::<C, FUSED>(from.get(*at..)?, pitch, factors, totals)?;
        }
        for (at, factors) in self.twos.iter() {
            totals = twos::<C, FUSED>(from.get(*at..)?, pitch, factors, totals)?;
        }
        for (at, factors) in self.ones.iter() {
            totals = ones::<C, FUSED>(from.get(*at..)?, pitch, factors, totals)?;
        }
        Some(totals)
    }
}

// Separate variables instead of arrays, and new chunks, so that all of them stay in registers.

#[inline(always)]
fn ones<C: Combining, const FUSED: bool>(
    from: &[f32],
    pitch: usize,
    [factor]: &[f32; 1],
    [a, b, c, d]: [Stretch; HIGH],
) -> Option<[Stretch; HIGH]> {
    let from = from.get(..3 * pitch + WIDE)?;
    Some([
        one::<C, FUSED>(a, load(from, 0)?, *factor),
        one::<C, FUSED>(b, load(from, pitch)?, *factor),
        one::<C, FUSED>(c, load(from, 2 * pitch)?, *factor),
        one::<C, FUSED>(d, load(from, 3 * pitch)?, *factor),
    ])
}

#[inline(always)]
fn twos<C: Combining, const FUSED: bool>(
    from: &[f32],
    pitch: usize,
    factors: &[f32; 2],
    [a, b, c, d]: [Stretch; HIGH],
) -> Option<[Stretch; HIGH]> {
    let from = from.get(..4 * pitch + WIDE)?;
    let (p, q, r) = (load(from, 0)?, load(from, pitch)?, load(from, 2 * pitch)?);
    let (s, t) = (load(from, 3 * pitch)?, load(from, 4 * pitch)?);
    Some([
        two::<C, FUSED>(a, [p, q], factors),
        two::<C, FUSED>(b, [q, r], factors),
        two::<C, FUSED>(c, [r, s], factors),
        two::<C, FUSED>(d, [s, t], factors),
    ])
}

#[inline(always)]
fn threes<C: Combining, const FUSED: bool>(
    from: &[f32],
    pitch: usize,
    factors: &[f32; 3],
    [a, b, c, d]: [Stretch; HIGH],
) -> Option<[Stretch; HIGH]> {
    let from = from.get(..5 * pitch + WIDE)?;
    let (p, q, r) = (load(from, 0)?, load(from, pitch)?, load(from, 2 * pitch)?);
    let (s, t, u) = (load(from, 3 * pitch)?, load(from, 4 * pitch)?, load(from, 5 * pitch)?);
    Some([
        three::<C, FUSED>(a, [p, q, r], factors),
        three::<C, FUSED>(b, [q, r, s], factors),
        three::<C, FUSED>(c, [r, s, t], factors),
        three::<C, FUSED>(d, [s, t, u], factors),
    ])
}

#[inline(always)]
fn load(from: &[f32], at: usize) -> Option<Stretch> {
    from.get(at..)?.first_chunk::<WIDE>().copied()
}

#[inline(always)]
fn one<C: Combining, const FUSED: bool>(total: Stretch, x: Stretch, factor: f32) -> Stretch {
    let mut combined = total;
    for lane in 0..WIDE {
        combined[lane] = C::combine::<FUSED>(total[lane], x[lane], factor);
    }
    combined
}

#[inline(always)]
fn two<C: Combining, const FUSED: bool>(total: Stretch, [x, y]: [Stretch; 2], [f, g]: &[f32; 2]) -> Stretch {
    one::<C, FUSED>(one::<C, FUSED>(total, x, *f), y, *g)
}

#[inline(always)]
fn three<C: Combining, const FUSED: bool>(
    total: Stretch,
    [x, y, z]: [Stretch; 3],
    [f, g, h]: &[f32; 3],
) -> Stretch {
    one::<C, FUSED>(one::<C, FUSED>(one::<C, FUSED>(total, x, *f), y, *g), z, *h)
}
