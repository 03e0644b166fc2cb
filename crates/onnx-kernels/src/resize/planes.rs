//! Interpolation of the last two axes of images of single floats, line by line.
//!
//! ```text
//! line of the result = what the axis along gives for (sum over taps down of weight * line of the image)
//! ```
//! A line between both passes has 64-bit floats and stays in the first-level cache. The sums are those of one axis after the other, in
//! the same order.

use super::along::ResizeAxis;
use onnx_loops::budget::spend;
use onnx_loops::failure::Failure;
use onnx_loops::list::{List, filled};
use onnx_loops::parallel::parallel;
use onnx_loops::{Body, pool, widest};

/// Results with fewer elements are computed on one thread.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 15;

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

impl Planes<'_> {
    /// Interpolates all planes of `x`, on the threads of the pool.
    pub(super) fn run(&self, x: &[f32], out: &mut [f32]) -> Result<(), Failure> {
        let (from, to) = (self.from.iter().product::<usize>(), self.to.iter().product::<usize>());
        if from == 0 || to == 0 {
            return Ok(());
        }
        let planes = out.len() / to;
        let threads = if out.len() < MIN_PARALLEL_ELEMENTS { 1 } else { pool::threads().min(planes).max(1) };
        let pairs = self.along.map(Pairs::of).transpose()?.flatten();
        let each = planes.div_ceil(threads).max(1);
        let parts = x.chunks(each * from).zip(out.chunks_mut(each * to)).collect();
        parallel(parts, |(x, out): (&[f32], &mut [f32])| {
            // The last number is the zero that elements with fewer taps add.
            let mut line = filled(self.from[1] + 1, 0.0)?;
            for (x, out) in x.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
                let taps = |axis: Option<&ResizeAxis>| axis.map_or(1, ResizeAxis::taps);
                spend(self.to[0].saturating_mul(self.from[1]).saturating_mul(taps(self.down)))?;
                spend(to.saturating_mul(taps(self.along)))?;
                widest(Plane { it: self, pairs: pairs.as_ref(), x, line: &mut line, out });
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
    match pairs {
        Some(Pairs(pairs)) => {
            for (out, ([p, q], [a, b])) in out.iter_mut().zip(pairs.iter()) {
                *out = (0.0 + a * line[*p] + b * line[*q]) as f32;
            }
        }
        None => {
            for (out, row) in out.iter_mut().zip(along.rows()) {
                *out = row.iter().fold(0.0, |sum, (tap, weight)| sum + weight * line[*tap]) as f32;
            }
        }
    }
    along.outside().iter().for_each(|at| out[*at] = it.extrapolation as f32);
}

#[cfg(test)]
mod tests {
    use super::super::axis::{Axis, Coordinates, Filter};
    use super::super::{interpolated, planes};
    use super::*;
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
            let expected = interpolated::<f32>(&x, &result, first + lead, &steps, 0.5).expect("small");
            for threads in 1..4 {
                let of = || planes(&x, &result, first + lead, &steps, 0.5).expect("small");
                let lines = pool::with_threads(threads, of);
                let bits = |it: &Tensor| it.words::<u32>().to_vec();
                assert_eq!(bits(&lines), bits(&expected), "{dims:?} {coordinates:?} {filter:?} {threads}");
            }
        }
    }
}
