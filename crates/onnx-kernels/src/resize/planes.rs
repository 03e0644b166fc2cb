//! Interpolation of the last two axes of images of single floats, line by line.
//!
//! ```text
//! line of the result = what the axis along gives for (sum over taps down of weight * line of the image)
//!                  or = sum over taps down of weight * (what the axis along gives for a line of the image)
//! ```
//! Elements along a line are gathered, lines are added in vectors: the second form, which gathers for each line of the image, is for
//! results of more lines. Lines between both passes have 64-bit floats and stay in the first-level cache. The sums are those of one axis
//! after the other, in the same order.

use super::along::ResizeAxis;
use super::threads_for;
use onnx_loops::budget::spend;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::{Body, widest};

/// The interpolation of a plane.
pub(super) struct Planes<'p> {
    /// The lines of a plane of the image and of the result, and their elements.
    pub(super) from: [usize; 2],
    pub(super) to: [usize; 2],
    /// The axes that change.
    pub(super) down: Option<&'p ResizeAxis>,
    pub(super) along: Option<&'p ResizeAxis>,
    pub(super) extrapolation: f64,
}

impl<'p> Planes<'p> {
    /// The axes down and along, if that along is first.
    fn along_first(&self) -> Option<[&'p ResizeAxis; 2]> {
        let [down, along] = [self.down?, self.along?];
        let is_inside = down.outside().is_empty() && along.outside().is_empty();
        (is_inside && self.from[0] < self.to[0]).then_some([down, along])
    }

    /// Interpolates all planes of `x`, on the threads of the pool.
    pub(super) fn run(&self, x: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        let (from, to) = (self.from.iter().product::<usize>(), self.to.iter().product::<usize>());
        if from == 0 || to == 0 {
            return Ok(());
        }
        let planes = out.len() / to;
        let pairs = self.along.map(Pairs::of).transpose()?.flatten();
        let each = planes.div_ceil(threads_for(out.len(), planes)).max(1);
        let parts = x.chunks(each * from).zip(out.chunks_mut(each * to)).collect();
        let along_first = self.along_first();
        let slots = along_first.map_or(0, |[down, _]| down.taps());
        parallel(parts, |(x, out): (&[f32], &mut [f32])| {
            // The last number is the zero that elements with fewer taps add.
            let mut line = filled(self.from[1] + 1, 0.0)?;
            let mut lines = Lines { held: filled(slots, NONE)?, all: filled(slots * self.to[1], 0.0)? };
            let mut sum = filled(along_first.map_or(0, |_| self.to[1]), 0.0)?;
            for (x, out) in x.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
                let taps = |axis: Option<&ResizeAxis>| axis.map_or(1, ResizeAxis::taps);
                spend(self.to[0].saturating_mul(self.from[1]).saturating_mul(taps(self.down)))?;
                spend(to.saturating_mul(taps(self.along)))?;
                let pairs = pairs.as_ref();
                match along_first {
                    None => widest(Plane { it: self, pairs, x, line: &mut line, out }),
                    Some([down, along]) => {
                        lines.held.fill(NONE);
                        let lines = &mut lines;
                        widest(WidePlane {
                            down,
                            along,
                            pairs,
                            x,
                            line: &mut line,
                            lines,
                            sum: &mut sum,
                            out,
                        });
                    }
                }
            }
            Ok(())
        })
    }
}

/// The taps of elements that have at most two.
struct Pairs(List<([usize; 2], [f64; 2])>);

impl Pairs {
    fn of(axis: &ResizeAxis) -> Result<Option<Pairs>, Failure> {
        let zero = (axis.extent(), 0.0);
        if axis.rows().any(|row| row.len() > 2) {
            return Ok(None);
        }
        let mut pairs = List::with_room(axis.rows().count())?;
        pairs.extend(axis.rows().map(|row| {
            let [a, b] = [0, 1].map(|at| row.get(at).copied().unwrap_or(zero));
            ([a.0, b.0], [a.1, b.1])
        }))?;
        Ok(Some(Pairs(pairs)))
    }
}

/// Interpolates one plane.
struct Plane<'p> {
    it: &'p Planes<'p>,
    pairs: Option<&'p Pairs>,
    x: &'p [f32],
    line: &'p mut [f64],
    out: &'p mut [f32],
}

impl Body for Plane<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Plane { it, pairs, x, line, out } = self;
        let wide = it.from[1];
        let lines = out.chunks_exact_mut(it.to[1]);
        match it.down {
            Some(down) => {
                for (at, (row, out)) in down.rows().zip(lines).enumerate() {
                    if down.is_outside(at) {
                        line[..wide].fill(it.extrapolation);
                    } else {
                        combine(row, x, &mut line[..wide]);
                    }
                    spread(it, pairs, line, out);
                }
            }
            None => {
                for (x, out) in x.chunks_exact(wide).zip(lines) {
                    line.iter_mut().zip(x).for_each(|(y, x)| *y = f64::from(*x));
                    spread(it, pairs, line, out);
                }
            }
        }
    }
}

/// Lines of an image after the axis along, by their index modulo the number of slots.
struct Lines {
    /// Which line each slot holds.
    held: List<usize>,
    all: List<f64>,
}

/// No line.
const NONE: usize = usize::MAX;

/// Interpolates one plane, the axis along first.
struct WidePlane<'p> {
    down: &'p ResizeAxis,
    along: &'p ResizeAxis,
    pairs: Option<&'p Pairs>,
    x: &'p [f32],
    /// A line of the image, and a zero.
    line: &'p mut [f64],
    lines: &'p mut Lines,
    /// A line of the result.
    sum: &'p mut [f64],
    out: &'p mut [f32],
}

impl Body for WidePlane<'_> {
    type Out = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let WidePlane { down, along, pairs, x, line, lines: Lines { held, all }, sum, out } = self;
        let (wide, slots) = (line.len() - 1, held.len());
        let to = all.len() / slots.max(1);
        for (row, out) in down.rows().zip(out.chunks_exact_mut(to)) {
            for (tap, _) in row {
                let slot = tap % slots;
                if held[slot] != *tap {
                    held[slot] = *tap;
                    let x = &x[tap * wide..][..wide];
                    line.iter_mut().zip(x).for_each(|(y, x)| *y = f64::from(*x));
                    let spread = &mut all[slot * to..][..to];
                    gather(along, pairs, line, spread, |y| y);
                }
            }
            let of = |(tap, weight): (usize, f64)| (&all[tap % slots * to..][..to], weight);
            match *row {
                [a] => {
                    let (p, a) = of(a);
                    out.iter_mut().zip(p).for_each(|(out, p)| *out = (0.0 + a * p) as f32);
                }
                [a, b] => {
                    let [(p, a), (q, b)] = [a, b].map(of);
                    let both = p.iter().zip(q);
                    out.iter_mut().zip(both).for_each(|(out, (p, q))| *out = (0.0 + a * p + b * q) as f32);
                }
                [a, b, c, d] => {
                    let [(p, a), (q, b), (r, c), (s, d)] = [a, b, c, d].map(of);
                    let all = p.iter().zip(q).zip(r.iter().zip(s));
                    for (out, ((p, q), (r, s))) in out.iter_mut().zip(all) {
                        *out = (0.0 + a * p + b * q + c * r + d * s) as f32;
                    }
                }
                _ => {
                    let sum = &mut sum[..to];
                    sum.fill(0.0);
                    for step in row {
                        let (line, weight) = of(*step);
                        sum.iter_mut().zip(line).for_each(|(sum, y)| *sum += weight * y);
                    }
                    out.iter_mut().zip(&*sum).for_each(|(out, sum)| *out = *sum as f32);
                }
            }
        }
    }
}

/// The sum of weighted lines of an image.
#[inline(always)]
fn combine(row: &[(usize, f64)], x: &[f32], line: &mut [f64]) {
    let wide = line.len();
    let of = |tap: usize| x[tap * wide..][..wide].iter().map(|x| f64::from(*x));
    match row {
        [(tap, weight)] => line.iter_mut().zip(of(*tap)).for_each(|(y, x)| *y = 0.0 + weight * x),
        [(first, a), (second, b)] => {
            let both = of(*first).zip(of(*second));
            line.iter_mut().zip(both).for_each(|(y, (p, q))| *y = 0.0 + a * p + b * q);
        }
        _ => {
            line.fill(0.0);
            for (tap, weight) in row {
                line.iter_mut().zip(of(*tap)).for_each(|(y, x)| *y += weight * x);
            }
        }
    }
}

/// The elements of a line of the result.
#[inline(always)]
fn spread(it: &Planes<'_>, pairs: Option<&Pairs>, line: &[f64], out: &mut [f32]) {
    let Some(along) = it.along else {
        return out.iter_mut().zip(line).for_each(|(out, y)| *out = *y as f32);
    };
    gather(along, pairs, line, out, |y| y as f32);
    along.outside().iter().for_each(|at| out[*at] = it.extrapolation as f32);
}

/// The sums along a line.
#[inline(always)]
fn gather<T>(along: &ResizeAxis, pairs: Option<&Pairs>, line: &[f64], out: &mut [T], of: impl Fn(f64) -> T) {
    match pairs {
        Some(Pairs(pairs)) => {
            for (out, ([p, q], [a, b])) in out.iter_mut().zip(pairs.iter()) {
                *out = of(0.0 + a * line[*p] + b * line[*q]);
            }
        }
        None => {
            for (out, row) in out.iter_mut().zip(along.rows()) {
                *out = of(row.iter().fold(0.0, |sum, (tap, weight)| sum + weight * line[*tap]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::{Axis, Coordinates, Filter};
    use super::super::{interpolated, planes};
    use super::*;
    use onnx_loops::pool;
    use onnx_loops::tensor::Tensor;

    #[test]
    fn lines_are_those_of_one_axis_after_the_other() {
        use Coordinates as C;
        let filters = [Filter::Linear, Filter::Cubic { a: -0.75 }];
        let cases = [
            (vec![2, 3, 5, 7], [9, 20], C::HalfPixel, false),
            (vec![2, 3, 8, 8], [8, 15], C::AlignCorners, false),
            (vec![3, 8, 9], [4, 9], C::Asymmetric, true),
            (vec![9, 17], [3, 40], C::HalfPixel, true),
            (vec![4, 6, 6], [13, 12], C::TfCropAndResize, false),
            // Elements at the edges have one, two or three taps.
            (vec![2, 2, 3], [7, 9], C::HalfPixel, false),
            (vec![2, 1, 3], [4, 3], C::Asymmetric, false),
            (vec![2, 3, 1], [8, 5], C::AlignCorners, false),
            // Enough for several threads.
            (vec![5, 20, 30], [80, 101], C::PytorchHalfPixel, false),
        ];
        for ((dims, to, coordinates, is_antialiased), filter) in
            cases.iter().flat_map(|case| filters.map(|filter| (case, filter)))
        {
            let number = |at: usize| match at % 97 {
                13 => f32::INFINITY,
                14 => -0.0,
                at => (at * 37 % 101) as f32 / 7.0 - 5.0,
            };
            let numbers: Vec<f32> = (0..dims.iter().product()).map(number).collect();
            let x = Tensor::of(dims, &numbers).expect("small");
            let first = dims.len() - 2;
            let axes = [0, 1].map(|at| {
                let (from, to) = (dims[first + at], to[at]);
                let scale = to as f64 / from as f64;
                Axis { from, to, scale, roi: (0.1, 1.2), coordinates: *coordinates }
            });
            let changed = axes.iter().enumerate().filter(|(_, axis)| axis.from != axis.to);
            let lead = changed.clone().map(|(at, _)| at).next().expect("an axis changes");
            let steps: Vec<ResizeAxis> = changed
                .map(|(at, axis)| {
                    let weights = axis.weights(filter, *is_antialiased, false).expect("small");
                    ResizeAxis::new(at - lead, axis, weights).expect("small")
                })
                .collect();
            let result: Vec<usize> = dims[..first].iter().copied().chain(*to).collect();
            let is_inside = steps.iter().all(|step| step.outside().is_empty());
            let mut in_order: Vec<&ResizeAxis> = steps.iter().collect();
            if is_inside && dims[first] < to[0] {
                in_order.reverse();
            }
            let expected = interpolated::<f32>(&x, &result, first + lead, in_order, 0.5).expect("small");
            for threads in 1..4 {
                let of = || planes(&x, &result, first + lead, &steps, 0.5).expect("small");
                let lines = pool::with_threads(threads, of);
                let bits = |it: &Tensor| it.words::<u32>().to_vec();
                assert_eq!(bits(&lines), bits(&expected), "{dims:?} {coordinates:?} {filter:?} {threads}");
            }
        }
    }
}
