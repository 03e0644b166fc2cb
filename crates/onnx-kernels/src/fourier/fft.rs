//! Discrete Fourier transforms of any length, in the precision of their input.
//!
//! A length is factored, and each factor has a pass of small transforms with twiddle factors (Cooley and Tukey 1965; Temperton
//! 1983 for out-of-place passes in order). Lengths with large prime factors become a convolution whose length is a power of two
//! (Bluestein 1970). Sums are computed in the order of PocketFFT, the library behind NumPy, so results equal the reference bit
//! for bit for lengths with factors 2, 3, 4 and 5.

use crate::real::Real;
use onnx_ir::diag::counted;
use onnx_loops::failure::{Failure, fail};
use onnx_loops::list::{List, Listed as _, filled};

/// A complex number.
pub(super) type Complex<T> = [T; 2];

/// Larger prime factors use Bluestein's algorithm.
const MAX_FACTOR: usize = 50;

fn plus<T: Real>([a, b]: Complex<T>, [c, d]: Complex<T>) -> Complex<T> {
    [a + c, b + d]
}

fn minus<T: Real>([a, b]: Complex<T>, [c, d]: Complex<T>) -> Complex<T> {
    [a - c, b - d]
}

fn times<T: Real>([a, b]: Complex<T>, [c, d]: Complex<T>) -> Complex<T> {
    [a * c - b * d, a * d + b * c]
}

fn scaled<T: Real>([a, b]: Complex<T>, by: T) -> Complex<T> {
    [a * by, b * by]
}

/// A clockwise quarter turn, scaled.
fn quarter<T: Real>([a, b]: Complex<T>, by: T) -> Complex<T> {
    [-(b * by), a * by]
}

/// The root of unity for a clockwise fraction of a turn. Quarter turns are exact, and roots have exact symmetries.
fn root<T: Real>(part: usize, of: usize) -> Complex<T> {
    let [n, part] = [of, part % of].map(|x| x as f64);
    // The nearest multiple of an eighth turn, and the distance from it, in eighths of parts.
    let eighth = (part * 8.0 / n).floor();
    let from = if eighth % 2.0 == 0.0 { part * 8.0 - eighth * n } else { (eighth + 1.0) * n - part * 8.0 };
    let (sin, cos) = (std::f64::consts::FRAC_PI_4 * (from / n)).sin_cos();
    let [re, im] = match eighth as u32 {
        0 => [cos, sin],
        1 => [sin, cos],
        2 => [-sin, cos],
        3 => [-cos, sin],
        4 => [-cos, -sin],
        5 => [-sin, -cos],
        6 => [sin, -cos],
        _ => [cos, -sin],
    };
    [T::of(re), T::of(-im)]
}

/// The plan for one length.
pub(super) struct FftPlan<T> {
    length: usize,
    algorithm: Algorithm<T>,
}

enum Algorithm<T> {
    Passes(Vec<Pass<T>>),
    Chirp(Box<Chirp<T>>),
}

/// A pass: small transforms of `factor` numbers each.
struct Pass<T> {
    factor: usize,
    /// The product of the factors before, and the distance of the inputs of a small transform.
    done: usize,
    apart: usize,
    /// The twiddle factors of all results but the first, for all positions but the first.
    turns: List<Complex<T>>,
    /// The roots of unity of the factor.
    roots: List<Complex<T>>,
}

/// Bluestein's algorithm.
struct Chirp<T> {
    power: FftPlan<T>,
    factors: List<Complex<T>>,
    /// The transform of the convolution filter.
    filter: List<Complex<T>>,
}

/// The factors of a length: fours, a two in front, odd ones.
fn factors(length: usize) -> Vec<usize> {
    let (mut rest, mut factors) = (length, Vec::new());
    while rest.is_multiple_of(4) && rest > 0 {
        factors.push(4);
        rest /= 4;
    }
    if rest.is_multiple_of(2) && rest > 0 {
        factors.insert(0, 2);
        rest /= 2;
    }
    let mut odd = 3;
    while odd * odd <= rest {
        while rest.is_multiple_of(odd) {
            factors.push(odd);
            rest /= odd;
        }
        odd += 2;
    }
    if rest > 1 {
        factors.push(rest);
    }
    factors
}

impl<T: Real> FftPlan<T> {
    pub(super) fn new(length: usize) -> Result<FftPlan<T>, Failure> {
        let factors = factors(length);
        if factors.iter().any(|factor| *factor > MAX_FACTOR) {
            return Ok(FftPlan { length, algorithm: Algorithm::Chirp(Box::new(Chirp::new(length)?)) });
        }
        let mut passes = Vec::with_capacity(factors.len());
        let mut done = 1;
        for factor in factors {
            let apart = length / (done * factor);
            let mut turns = List::with_room((factor - 1) * (apart - 1))?;
            for (j, i) in (1..factor).flat_map(|j| (1..apart).map(move |i| (j, i))) {
                turns.push(root(j * i * done, length))?;
            }
            let roots = (0..factor).map(|i| root(i, factor)).listed()?;
            passes.push(Pass { factor, done, apart, turns, roots });
            done *= factor;
        }
        Ok(FftPlan { length, algorithm: Algorithm::Passes(passes) })
    }

    /// Transforms as many numbers as the plan's length, in place.
    pub(super) fn forward(&self, x: &mut [Complex<T>]) -> Result<(), Failure> {
        let passes = match &self.algorithm {
            Algorithm::Passes(passes) => passes,
            Algorithm::Chirp(chirp) => return chirp.forward(x),
        };
        let mut other = filled(x.len(), [T::of(0.0); 2])?;
        for (i, pass) in passes.iter().enumerate() {
            if i.is_multiple_of(2) { pass.run(x, &mut other) } else { pass.run(&other, x) }
        }
        if !passes.len().is_multiple_of(2) {
            x.copy_from_slice(&other);
        }
        Ok(())
    }

    /// The first half of the transform of real numbers (up to the middle); the rest are conjugates.
    pub(super) fn real(&self, x: &[T], out: &mut [Complex<T>]) -> Result<(), Failure> {
        let zero = T::of(0.0);
        let mut now: List<Complex<T>> = List::with_room(x.len() * 2)?;
        now.extend(x.iter().map(|x| [*x, zero]))?;
        let is_small = |pass: &Pass<T>| pass.factor <= 5;
        match &self.algorithm {
            Algorithm::Passes(passes) if passes.iter().all(is_small) => {
                let mut next = filled(x.len() * 2, [zero; 2])?;
                // Starts with transforms of length 1; each pass merges them into longer ones.
                for pass in passes.iter().rev() {
                    let parts = pass.done;
                    next.resize(parts * (x.len() / parts / 2 + 1), [zero; 2])?;
                    pass.merge(&now, &mut next);
                    std::mem::swap(&mut now, &mut next);
                }
            }
            Algorithm::Passes(_) | Algorithm::Chirp(_) => self.forward(&mut now)?,
        }
        out.copy_from_slice(&now[..out.len()]);
        Ok(())
    }

    /// The inverse, divided by the length.
    pub(super) fn inverse(&self, x: &mut [Complex<T>]) -> Result<(), Failure> {
        // The inverse transform is the conjugate of the transform of the conjugates.
        x.iter_mut().for_each(|x| x[1] = -x[1]);
        self.forward(x)?;
        let scale = T::of(1.0) / T::of(self.length.max(1) as f64);
        x.iter_mut().for_each(|x| *x = [x[0] * scale, -(x[1] * scale)]);
        Ok(())
    }
}

impl<T: Real> Pass<T> {
    fn run(&self, from: &[Complex<T>], to: &mut [Complex<T>]) {
        match self.factor {
            2 => self.all(from, to, |[a, b]| [plus(a, b), minus(a, b)]),
            3 => self.all(from, to, |x| three(x, self.roots[1])),
            4 => self.all(from, to, four),
            5 => self.all(from, to, |x| five(x, self.roots[1], self.roots[2])),
            _ => self.any(from, to),
        }
    }

    /// Multiplies with a twiddle factor.
    fn turned(&self, x: Complex<T>, j: usize, i: usize) -> Complex<T> {
        if i == 0 || j == 0 { x } else { times(x, self.turns[(j - 1) * (self.apart - 1) + i - 1]) }
    }

    /// Small transforms of `N` numbers.
    #[inline(always)]
    fn all<const N: usize>(
        &self,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
        small: impl Fn([Complex<T>; N]) -> [Complex<T>; N],
    ) {
        let Pass { done, apart, .. } = *self;
        for (k, from) in from.chunks_exact(apart * N).enumerate() {
            for i in 0..apart {
                let results = small(std::array::from_fn(|j| from[i + apart * j]));
                for (j, result) in results.into_iter().enumerate() {
                    to[i + apart * (k + done * j)] = self.turned(result, j, i);
                }
            }
        }
    }

    /// Merges half spectra of real transforms into longer ones.
    fn merge(&self, from: &[Complex<T>], to: &mut [Complex<T>]) {
        match self.factor {
            2 => self.merge_all(from, to, |[a, b]| [plus(a, b), minus(a, b)]),
            3 => self.merge_all(from, to, |x| three(x, self.roots[1])),
            4 => self.merge_all(from, to, four),
            _ => self.merge_all(from, to, |x| five(x, self.roots[1], self.roots[2])),
        }
    }

    #[inline(always)]
    fn merge_all<const N: usize>(
        &self,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
        small: impl Fn([Complex<T>; N]) -> [Complex<T>; N],
    ) {
        // `parts` transforms of length `size` come from `N` transforms of length `apart` each.
        let Pass { done: parts, apart, .. } = *self;
        let (size, half, half_before) = (apart * N, apart * N / 2 + 1, apart / 2 + 1);
        for (part, to) in to.chunks_exact_mut(half).enumerate() {
            for i in 0..half_before {
                let of = |j: usize| self.turned(from[(part + parts * j) * half_before + i], j, i);
                for (m, y) in small(std::array::from_fn(of)).into_iter().enumerate() {
                    let at = i + apart * m;
                    if at < half {
                        to[at] = y;
                    } else if i > 0 && 2 * i != apart {
                        to[size - at] = [y[0], -y[1]];
                    }
                }
            }
        }
    }

    /// Small transforms of any length by the definition.
    fn any(&self, from: &[Complex<T>], to: &mut [Complex<T>]) {
        let Pass { factor, done, apart, .. } = *self;
        for (k, from) in from.chunks_exact(apart * factor).enumerate() {
            for (i, j) in (0..apart).flat_map(|i| (0..factor).map(move |j| (i, j))) {
                let mut sum = from[i];
                for t in 1..factor {
                    sum = plus(sum, times(from[i + apart * t], self.roots[j * t % factor]));
                }
                to[i + apart * (k + done * j)] = self.turned(sum, j, i);
            }
        }
    }
}

fn three<T: Real>([a, b, c]: [Complex<T>; 3], [re, im]: Complex<T>) -> [Complex<T>; 3] {
    let (sum, difference) = (plus(b, c), minus(b, c));
    let (near, far) = (plus(a, scaled(sum, re)), quarter(difference, im));
    [plus(a, sum), plus(near, far), minus(near, far)]
}

fn four<T: Real>([a, b, c, d]: [Complex<T>; 4]) -> [Complex<T>; 4] {
    let (even, odd) = (plus(a, c), plus(b, d));
    let (near, [re, im]) = (minus(a, c), minus(b, d));
    let far = [im, -re];
    [plus(even, odd), plus(near, far), minus(even, odd), minus(near, far)]
}

fn five<T: Real>(
    [a, b, c, d, e]: [Complex<T>; 5],
    [re1, im1]: Complex<T>,
    [re2, im2]: Complex<T>,
) -> [Complex<T>; 5] {
    let (outer, outer_difference) = (plus(b, e), minus(b, e));
    let (inner, inner_difference) = (plus(c, d), minus(c, d));
    let near = |p: T, q: T| plus(plus(a, scaled(outer, p)), scaled(inner, q));
    let far = |p: T, q: T| {
        let [re, im] = plus(scaled(outer_difference, p), scaled(inner_difference, q));
        [-im, re]
    };
    let (near1, near2) = (near(re1, re2), near(re2, re1));
    let (far1, far2) = (far(im1, im2), far(im2, -im1));
    [
        plus(plus(a, outer), inner),
        plus(near1, far1),
        plus(near2, far2),
        minus(near2, far2),
        minus(near1, far1),
    ]
}

impl<T: Real> Chirp<T> {
    fn new(length: usize) -> Result<Chirp<T>, Failure> {
        let Some(power) = length.checked_mul(2).and_then(usize::checked_next_power_of_two) else {
            fail!("a transform of {} is too much", counted(length, "number"))
        };
        let mut factors = List::with_room(length)?;
        // i² modulo 2n without overflow.
        let mut square = 0usize;
        for i in 0..length {
            factors.push(root(square, 2 * length))?;
            square = (square + 2 * i + 1) % (2 * length);
        }
        let mut filter = filled(power, [T::of(0.0); 2])?;
        for (i, &[re, im]) in factors.iter().enumerate() {
            filter[i] = [re, -im];
            if i > 0 {
                filter[power - i] = [re, -im];
            }
        }
        let power = FftPlan::new(power)?;
        power.forward(&mut filter)?;
        Ok(Chirp { power, factors, filter })
    }

    fn forward(&self, x: &mut [Complex<T>]) -> Result<(), Failure> {
        let mut padded = filled(self.filter.len(), [T::of(0.0); 2])?;
        for ((to, x), factor) in padded.iter_mut().zip(&*x).zip(&self.factors) {
            *to = times(*x, *factor);
        }
        self.power.forward(&mut padded)?;
        padded.iter_mut().zip(&self.filter).for_each(|(x, filter)| *x = times(*x, *filter));
        self.power.inverse(&mut padded)?;
        for ((x, padded), factor) in x.iter_mut().zip(&padded).zip(&self.factors) {
            *x = times(*padded, *factor);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_transformed<T: Real + Into<f64>>(n: usize, precision: f64) {
        let x: Vec<[f64; 2]> = (0..n).map(|i| [(i * i % 7) as f64 - 3.0, (i % 3) as f64]).collect();
        let plan = FftPlan::<T>::new(n).expect("small");
        let mut y: Vec<Complex<T>> = x.iter().map(|x| x.map(T::of)).collect();
        let near = |a: [f64; 2], b: Complex<T>| {
            a.iter().zip(b).all(|(a, b)| (a - b.into()).abs() < precision * (n as f64).max(4.0))
        };
        plan.forward(&mut y).expect("small");
        for (k, y) in y.iter().enumerate() {
            let turns = x.iter().enumerate().map(|(i, x)| times(*x, root(i * k % n, n)));
            let sum = turns.fold([0.0; 2], plus);
            assert!(near(sum, *y), "{n} {k}: {sum:?}");
        }
        plan.inverse(&mut y).expect("small");
        for (x, y) in x.iter().zip(&y) {
            assert!(near(*x, *y), "{n}");
        }
        let real: Vec<T> = x.iter().map(|x| T::of(x[0])).collect();
        let mut half = vec![[T::of(0.0); 2]; n / 2 + 1];
        plan.real(&real, &mut half).expect("small");
        for (k, y) in half.iter().enumerate() {
            let turns = x.iter().enumerate().map(|(i, x)| scaled(root(i * k % n, n), x[0]));
            let sum = turns.fold([0.0; 2], plus);
            assert!(near(sum, *y), "{n} {k}: {sum:?}");
        }
    }

    #[test]
    fn any_length_is_transformed_as_its_definition_says() {
        for n in [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 17, 49, 53, 60, 64, 97, 121, 122, 400, 512] {
            is_transformed::<f64>(n, 1e-12);
            is_transformed::<f32>(n, 1e-6);
        }
    }

    #[test]
    fn sums_are_formed_in_the_order_of_the_reference() {
        // numpy.fft.ifft(numpy.arange(0, 100, 10, dtype=numpy.complex64)), whose imaginary rounding errors reveal the order of
        // operations.
        let mut x: Vec<Complex<f32>> = (0..10).map(|i| [10.0 * i as f32, 0.0]).collect();
        FftPlan::new(10).expect("small").inverse(&mut x).expect("small");
        assert_eq!(x[5], [-5.0, 1.907_348_7e-7]);
    }
}
