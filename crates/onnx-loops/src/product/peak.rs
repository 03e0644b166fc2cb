//! Peak arithmetic of the processor: multiply-adds in registers with the instructions of the micro-kernels, or tiles of the plain
//! micro-kernel.

use super::micro::{self, Columns, Factor, Micro, Rows, Steps, Tile};
use std::hint::black_box;

/// Runs products of single floats, and returns the number of operations.
pub fn singles(rounds: usize) -> u64 {
    micro::peak_of_floats(rounds).unwrap_or_else(|| tiles::<f32>(rounds))
}

/// Runs products of bytes, and returns the number of operations.
pub fn bytes(rounds: usize) -> u64 {
    micro::peak_of_bytes(rounds).unwrap_or_else(|| tiles::<u8>(rounds))
}

/// Computes tiles of a matrix product with about as many operations as `rounds` rounds in registers.
fn tiles<T: Factor>(rounds: usize) -> u64 {
    const GROUPS: usize = 128;
    let micro = Micro::<T>::best();
    let _session = micro.session();
    let rounds = (rounds / GROUPS).max(1);
    let a = vec![T::ONE; GROUPS * micro.rows * T::GROUP];
    let b = vec![T::ONE; GROUPS * micro.columns * T::GROUP];
    let mut c = vec![T::NO_TOTAL; micro.rows * micro.columns];
    let steps = |apart: usize| (0..GROUPS).map(|group| group * apart).collect::<Vec<_>>();
    let (of_a, of_b) = (steps(T::GROUP), steps(micro.columns * T::GROUP));
    let a = Rows::of(&a, GROUPS * T::GROUP, Steps::of(&of_a));
    let b = Columns::of(&b, Steps::of(&of_b));
    for _ in 0..rounds {
        let (stride, size) = (micro.columns, [micro.rows, micro.columns]);
        micro.run(Tile { a, b, c: black_box(&mut c), stride, size, is_first: true, end: None });
    }
    (2 * rounds * micro.rows * micro.columns * GROUPS * T::GROUP) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted() {
        // At least one lane and twelve accumulators, two operations each; or whole tiles of the plain kernel.
        for (count, group) in [(singles(1000), 1), (bytes(1000), u8::GROUP as u64)] {
            assert!(count >= 24 * 1000 * group && count.is_multiple_of(2 * group), "{count}");
        }
        assert_eq!(tiles::<f32>(256), 2 * tiles::<f32>(128));
    }
}
