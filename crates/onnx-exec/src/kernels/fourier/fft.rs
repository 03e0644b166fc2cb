//! Discrete Fourier transforms of any length.
//!
//! Powers of two by Cooley and Tukey (1965), other lengths as a convolution of such a length (Bluestein 1970).

use crate::budget::{filled, room_for};
use crate::failure::{Failure, fail};

/// A complex number.
pub(super) type Complex = [f64; 2];

fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

/// The root of unity of this part of a turn, clockwise.
fn root(part: f64) -> Complex {
    let (sin, cos) = (std::f64::consts::TAU * part).sin_cos();
    [cos, -sin]
}

/// Transforms of one length.
pub(super) struct Plan {
    length: usize,
    /// The length of what is transformed by halving: the length itself, or that of the convolution.
    power: usize,
    /// The first half of the roots of unity of `power`.
    roots: Vec<Complex>,
    chirp: Option<Chirp>,
}

struct Chirp {
    factors: Vec<Complex>,
    /// The transform of what is convolved with.
    filter: Vec<Complex>,
}

impl Plan {
    pub(super) fn new(length: usize) -> Result<Plan, Failure> {
        let is_power = length.is_power_of_two() || length == 0;
        let long = length.checked_mul(2).and_then(usize::checked_next_power_of_two);
        let power = if is_power { Some(length) } else { long };
        let Some(power) = power else { fail!("a transform of {length} numbers is too much") };
        let mut roots = room_for(power / 2)?;
        roots.extend((0..power / 2).map(|i| root(i as f64 / power as f64)));
        let mut plan = Plan { length, power, roots, chirp: None };
        if !is_power {
            let mut factors = room_for(length)?;
            // i² modulo 2n, without forming i².
            let mut square = 0usize;
            for i in 0..length {
                factors.push(root(square as f64 / (2 * length) as f64));
                square = (square + 2 * i + 1) % (2 * length);
            }
            let mut filter = filled(power, [0.0; 2])?;
            for (i, &[re, im]) in factors.iter().enumerate() {
                filter[i] = [re, -im];
                if i > 0 {
                    filter[power - i] = [re, -im];
                }
            }
            plan.halving(&mut filter);
            plan.chirp = Some(Chirp { factors, filter });
        }
        Ok(plan)
    }

    /// Transforms as many numbers as the length says.
    pub(super) fn forward(&self, x: &mut [Complex]) -> Result<(), Failure> {
        let Some(chirp) = &self.chirp else {
            self.halving(x);
            return Ok(());
        };
        let mut padded = filled(self.power, [0.0; 2])?;
        for ((to, x), factor) in padded.iter_mut().zip(&*x).zip(&chirp.factors) {
            *to = times(*x, *factor);
        }
        self.halving(&mut padded);
        // The inverse transform is that of the conjugates.
        for (x, filter) in padded.iter_mut().zip(&chirp.filter) {
            let [re, im] = times(*x, *filter);
            *x = [re, -im];
        }
        self.halving(&mut padded);
        let scale = 1.0 / self.power as f64;
        for ((x, [re, im]), factor) in x.iter_mut().zip(&padded).zip(&chirp.factors) {
            *x = times([re * scale, -im * scale], *factor);
        }
        Ok(())
    }

    /// The inverse: divided by the length.
    pub(super) fn inverse(&self, x: &mut [Complex]) -> Result<(), Failure> {
        x.iter_mut().for_each(|x| x[1] = -x[1]);
        self.forward(x)?;
        let scale = 1.0 / self.length.max(1) as f64;
        x.iter_mut().for_each(|x| *x = [x[0] * scale, -x[1] * scale]);
        Ok(())
    }

    /// A power of two of numbers, in place.
    fn halving(&self, x: &mut [Complex]) {
        let n = x.len();
        if n < 2 {
            return;
        }
        let shift = usize::BITS - n.trailing_zeros();
        for i in 0..n {
            let j = i.reverse_bits() >> shift;
            if i < j {
                x.swap(i, j);
            }
        }
        let mut size = 2;
        while size <= n {
            let step = n / size;
            for block in x.chunks_exact_mut(size) {
                let (low, high) = block.split_at_mut(size / 2);
                for (k, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let turned = times(*b, self.roots[k * step]);
                    *b = [a[0] - turned[0], a[1] - turned[1]];
                    *a = [a[0] + turned[0], a[1] + turned[1]];
                }
            }
            size *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_length_is_transformed_as_its_definition_says() {
        for n in [1usize, 2, 3, 5, 8, 12, 17, 60, 64, 97] {
            let x: Vec<Complex> = (0..n).map(|i| [(i * i % 7) as f64 - 3.0, (i % 3) as f64]).collect();
            let plan = Plan::new(n).expect("small");
            let mut y = x.clone();
            plan.forward(&mut y).expect("small");
            for (k, y) in y.iter().enumerate() {
                let mut sum = [0.0, 0.0];
                for (i, &x) in x.iter().enumerate() {
                    let [re, im] = times(x, root((i * k % n) as f64 / n as f64));
                    sum = [sum[0] + re, sum[1] + im];
                }
                assert!(
                    (sum[0] - y[0]).abs() < 1e-9 && (sum[1] - y[1]).abs() < 1e-9,
                    "{n} {k}: {sum:?} {y:?}"
                );
            }
            plan.inverse(&mut y).expect("small");
            for (x, y) in x.iter().zip(&y) {
                assert!((x[0] - y[0]).abs() < 1e-12 && (x[1] - y[1]).abs() < 1e-12, "{n}");
            }
        }
    }
}
